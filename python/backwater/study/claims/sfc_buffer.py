"""The claims of the study sfc-buffer: PFC pauses of an incast under Source Flow Control.

The document's formula and this project's bound come from `backwater advise sfc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.study.claims.base import Claims, Finding, Numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

CLAIMS = Claims()
INGRESS, EGRESS = "ingress", "egress"
SENDERS = (3, 4, 5, 6, 8)
FACTORS = (0.75, 1.0, 1.2, 1.3, 1.35, 1.4, 1.6)
"""Pauses of the first map, in multiples of the document's least pause."""
THRESHOLDS = (40, 100, 160, 200, 230, 260, 320)
INTERVALS = (0.5, 2, 6, 12, 20)
PAUSES = (3, 5, 6, 7, 9, 14)


def advice(senders: int, interval: float | None = None, threshold: str = "200 KB") -> Any:  # noqa: ANN401 - the dictionary of the core
    """Return the advice of `advise sfc` for the study's network."""
    return _core.advise(
        "sfc",
        {
            "senders": senders,
            "rate": "200 Gb/s",
            "links": 3,
            "switches": 3,
            "link_delay": "150 ns",
            "switch_latency": "300 ns",
            "pfc_threshold": "380 KB",
            "threshold": threshold,
            "packet": "4064 B",
            "message": "64 B",
            "interval": None if interval is None else f"{interval} us",
        },
    )


def _pause(senders: int, factor: float) -> float:
    return round((senders - 1) * 2.4 * factor, 3)


def _fires(n: Numbers, cases: Iterable[str], mechanism: str = INGRESS) -> dict[str, float]:
    return {case: n.value(case, mechanism, "pfc_pauses") for case in cases}


def _silent(counts: dict[str, float], cases: str, mechanism: str = INGRESS) -> Finding:
    """Judge whether none of these cases has a PFC pause."""
    loud = {case: number for case, number in counts.items() if number > 0}
    detail = "no PFC pause"
    if loud:
        named = ", ".join(f"{case} {number:.0f}" for case, number in loud.items())
        detail = f"PFC pauses in {len(loud)} of {len(counts)} cases: {named}"
    return Finding(not loud, float(len(loud)), "cases", detail, cases, mechanism)


def _sides(below: dict[str, float], above: dict[str, float], cases: str, by: str) -> Finding:
    """Judge whether PFC pauses in all cases below a bound and in none above it."""
    quiet = [case for case, number in below.items() if number == 0]
    loud = [case for case, number in above.items() if number > 0]
    detail = (
        f"fires in {len(below) - len(quiet)} of {len(below)} cases that should, "
        f"in {len(loud)} of {len(above)} that should not"
    )
    wrong = ", ".join((*quiet, *loud))
    detail += f" ({wrong})" if wrong else ""
    return Finding(
        not quiet and not loud, float(len(quiet) + len(loud)), "cases", detail, cases, by
    )


@CLAIMS.claim("advice")
def the_documents_numbers(n: Numbers) -> Finding:
    """The document's eight numbers follow from its formula."""
    del n
    three, six = advice(3), advice(6, threshold="80 KB")
    found = [
        (a["headroom_bytes"], a["threshold_max_bytes"], a["pause_min_ps"], a["pause_max_ps"])
        for a in (three, six)
    ]
    published = [
        (120_000, 260_000, 4_800_000, 12_800_000),
        (300_000, 80_000, 12_000_000, 15_200_000),
    ]
    detail = "; ".join(
        f"{senders} senders: headroom {headroom / 1e3:g} KB, threshold at most {most / 1e3:g} KB, "
        f"pause {low / 1e6:g} to {high / 1e6:g} us"
        for senders, (headroom, most, low, high) in zip((3, 6), found, strict=True)
    )
    return Finding(found == published, 8.0, "numbers", detail, "3 and 6 senders", "-")


@CLAIMS.claim("least-pause")
def least_pause(n: Numbers) -> Finding:
    """Pauses between the document's least and greatest keep PFC silent."""
    cases = [
        f"n{senders}-{pause:g}"
        for senders in SENDERS
        for factor in FACTORS
        if (pause := _pause(senders, factor)) > advice(senders)["pause_min_ps"] / 1e6
        and pause < advice(senders)["pause_max_ps"] / 1e6
    ]
    return _silent(_fires(n, cases), "n3 to n8")


@CLAIMS.claim("own-settings")
def own_settings(n: Numbers) -> Finding:
    """The document's own settings keep PFC silent."""
    return _silent(_fires(n, ("doc-case-1", "doc-case-2", "doc-6")), "doc-case-1, -2, doc-6")


@CLAIMS.claim("largest-threshold")
def largest_threshold(n: Numbers) -> Finding:
    """Thresholds up to 260 KB keep PFC silent where it counts the queue."""
    cases = [f"th{t}-{p}" for t in THRESHOLDS if t <= 260 for p in (8, 10)]
    return _silent(_fires(n, cases, EGRESS), "thresholds to 260 KB", EGRESS)


@CLAIMS.claim("our-count")
def our_count(n: Numbers) -> Finding:
    """The document's own settings keep PFC silent by its own count of latencies."""
    cases = ("doc-case-1-output", "doc-case-2-output", "doc-6-output")
    return _silent(_fires(n, cases), "doc-case-1, -2, doc-6, latency at output")


@CLAIMS.claim("our-least-pause")
def our_least_pause(n: Numbers) -> Finding:
    """Our bound separates the cases in which PFC pauses from the others."""
    below, above = [], []
    for senders in SENDERS:
        least = advice(senders)["our_bound"]["pause_min_ps"] / 1e6
        for factor in FACTORS:
            pause = _pause(senders, factor)
            if pause < 0.97 * least:
                below.append(f"n{senders}-{pause:g}")
            elif pause >= least:
                above.append(f"n{senders}-{pause:g}")
    return _sides(_fires(n, below), _fires(n, above), "n3 to n8", INGRESS)


@CLAIMS.claim("our-threshold")
def our_threshold(n: Numbers) -> Finding:
    """Our headroom separates the thresholds, where PFC counts the queue."""
    most = advice(3)["our_bound"]["threshold_max_bytes"] / 1e3
    cases = [(t, f"th{t}-{p}") for t in THRESHOLDS for p in (8, 10)]
    below = _fires(n, [case for t, case in cases if t > most], EGRESS)
    above = _fires(n, [case for t, case in cases if t <= most], EGRESS)
    return _sides(below, above, "thresholds of 40 to 320 KB", EGRESS)


@CLAIMS.claim("our-interval")
def our_interval(n: Numbers) -> Finding:
    """Our bound separates the cases at other intervals between messages."""
    below, above = [], []
    for interval in INTERVALS:
        least = advice(3, interval)["our_bound"]["pause_min_ps"] / 1e6
        for pause in PAUSES:
            if pause < 0.9 * least:
                below.append(f"i{interval:g}-{pause:g}")
            elif pause >= least:
                above.append(f"i{interval:g}-{pause:g}")
    return _sides(_fires(n, below), _fires(n, above), "intervals of 0.5 to 20 us", INGRESS)
