"""The claims of the study sfc-aidc-2025; times in us."""

from __future__ import annotations

from backwater.study.claims.base import Claims, Finding, Numbers
from backwater.wording import share_text

PFC, SFC, DCQCN = "pfc", "pfc+sfc", "pfc+dcqcn"

CLAIMS = Claims()


def _incast(n: Numbers, case: str, mechanism: str) -> float:
    return n.value(case, mechanism, "incast_mean_fct")


def _victim(n: Numbers, case: str, mechanism: str) -> float:
    return n.value(case, mechanism, "victim_fct")


@CLAIMS.claim("sfc-helps-victim")
def sfc_helps_victim(n: Numbers) -> Finding:
    """SFC shortens the victim in every case."""
    cases = ("1", "2", "3", "4", "5", "6")
    worst = max(_victim(n, case, SFC) / _victim(n, case, PFC) for case in cases)
    dearest = max(_incast(n, case, SFC) / _incast(n, case, PFC) for case in cases)
    return Finding(
        holds=worst < 1,
        value=worst,
        unit="ratio",
        detail=f"victim at most {share_text(worst)} of PFC's, incast at most {share_text(dearest)}",
        cases="1-6",
        mechanism=SFC,
    )


@CLAIMS.claim("severity")
def severity(n: Numbers) -> Finding:
    """SFC saves the victim at least 10 points more in case 3 (6:1) than in case 1 (3:1)."""
    saved = {c: 1 - _victim(n, c, SFC) / _victim(n, c, PFC) for c in ("1", "3")}
    points = 100 * (saved["3"] - saved["1"])
    return Finding(
        holds=points >= 10,
        value=points,
        unit="percentage points",
        detail=f"saves the victim {share_text(saved['1'])} at 3:1, {share_text(saved['3'])} at 6:1",
        cases="1,3",
        mechanism=SFC,
    )


@CLAIMS.claim("dcqcn-short")
def dcqcn_short(n: Numbers) -> Finding:
    """In case 1, DCQCN lengthens both the incast and the victim."""
    incast = _incast(n, "1", DCQCN) / _incast(n, "1", PFC)
    victim = _victim(n, "1", DCQCN) / _victim(n, "1", PFC)
    return Finding(
        holds=min(incast, victim) > 1,
        value=min(incast, victim),
        unit="ratio",
        detail=f"incast {share_text(incast)} of PFC's, victim {share_text(victim)}",
        cases="1",
        mechanism=DCQCN,
    )


@CLAIMS.claim("dcqcn-duration")
def dcqcn_duration(n: Numbers) -> Finding:
    """The victim's time relative to PFC's falls from case 1 to 2 to 6, and below 1 in 2 and 6."""
    r1, r2, r6 = (_victim(n, c, DCQCN) / _victim(n, c, PFC) for c in ("1", "2", "6"))
    return Finding(
        holds=r1 > r2 > r6 and r2 < 1 and r6 < 1,
        value=r6,
        unit="ratio",
        detail=f"victim {share_text(r1)}, {share_text(r2)}, {share_text(r6)} of PFC's "
        "in cases 1, 2, 6",
        cases="1,2,6",
        mechanism=DCQCN,
    )


@CLAIMS.claim("over-pause")
def over_pause(n: Numbers) -> Finding:
    """Incast time rises by 10 % or more from 12 to 30 to 50 us; other victims differ by 2 %."""
    i12, i30, i50 = (_incast(n, c, SFC) for c in ("7", "8", "8'"))
    victims = [_victim(n, c, SFC) for c in ("2", "7", "9", "10", "11")]
    rises = (i30 / i12 - 1, i50 / i30 - 1)
    width = max(victims) / min(victims) - 1
    return Finding(
        holds=min(rises) >= 0.10 and width <= 0.02,
        value=100 * min(rises),
        unit="percent",
        detail=f"incast {100 * rises[0]:+.1f} % to 30 us, {100 * rises[1]:+.1f} % to 50 us; "
        f"victims within {share_text(width)} elsewhere",
        cases="2,7,8,8',9,10,11",
        mechanism=SFC,
    )


@CLAIMS.claim("short-pause-messages")
def short_pause_messages(n: Numbers) -> Finding:
    """A pause of 3 us (case 9) takes at least 1.5 times as many messages as 6 us (case 2)."""
    short, normal = (n.value(case, SFC, "sfc_messages") for case in ("9", "2"))
    ratio = short / normal if normal else float("inf")
    return Finding(
        holds=normal > 0 and ratio >= 1.5,
        value=ratio,
        unit="ratio",
        detail=f"{short:.0f} messages at 3 us, {normal:.0f} at 6 us",
        cases="2,9",
        mechanism=SFC,
    )


def _fine(n: Numbers, case: str) -> Finding:
    """Judge whether incast and victim take as long in another case as in case 2."""
    by = [of(n, case, SFC) / of(n, "2", SFC) - 1 for of in (_incast, _victim)]
    most = max(abs(change) for change in by)
    return Finding(
        holds=most <= 0.02,
        value=100 * most,
        unit="percent",
        detail=f"incast {100 * by[0]:+.2f} %, victim {100 * by[1]:+.2f} % beside case 2",
        cases=f"2,{case}",
        mechanism=SFC,
    )


@CLAIMS.claim("late-threshold")
def late_threshold(n: Numbers) -> Finding:
    """A threshold of 260 KB (case 10) changes nothing."""
    return _fine(n, "10")


@CLAIMS.claim("early-threshold")
def early_threshold(n: Numbers) -> Finding:
    """A threshold of 100 KB (case 11) changes nothing."""
    return _fine(n, "11")


@CLAIMS.claim("last-flow")
def last_flow(n: Numbers) -> Finding:
    """SFC lengthens the incast's last flow by 2 % at most."""
    found = {
        c: n.value(c, SFC, "incast_last_fct") / n.value(c, PFC, "incast_last_fct")
        for c in ("1", "2", "6")
    }
    dearest = max(found.values())
    return Finding(
        holds=dearest <= 1.02,
        value=dearest,
        unit="ratio",
        detail="last flow of PFC's: "
        + ", ".join(f"{share_text(ratio)} in case {c}" for c, ratio in found.items()),
        cases="1,2,6",
        mechanism=SFC,
    )


@CLAIMS.claim("architecture-oq")
def architecture_oq(n: Numbers) -> Finding:
    """In case 2 under PFC, more ports receive a pause with output queues than with VOQ."""
    oq = n.value("2", PFC, "ports_paused", "output-queued")
    voq = n.value("2", PFC, "ports_paused", "voq")
    return Finding(
        holds=oq > voq,
        value=oq - voq,
        unit="ports",
        detail=f"{oq:.0f} ports with output queues, {voq:.0f} with VOQ",
        cases="2",
        mechanism=PFC,
    )
