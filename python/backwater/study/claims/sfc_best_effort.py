"""The claims of the study sfc-best-effort: Source Flow Control without PFC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.claims.base import (
    Claims,
    Finding,
    Numbers,
    changes_text,
    mean_ratios,
    ratio,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

CLAIMS = Claims()
ALL, HOSTS, ECN, PFC = "sfc-all", "sfc-hosts", "dcqcn", "pfc"
CASES = ("1", "2", "3")
# Data packets of 4000 B that the flows of a case have: 3 or 6 senders and the victim.
PACKETS = {"1": 2750, "2": 27_500, "3": 4250}
RARE = 0.001


def _lost(n: Numbers, case: str) -> float:
    """Return the largest share of lost frames over the seeds, under SFC at all queues."""
    lost = n.samples(case, ALL, "drops")
    sent = n.samples(case, ALL, "retransmissions")
    packets = PACKETS[case[0]]
    return max(drops / (packets + again) for drops, again in zip(lost, sent, strict=True))


def _shares(shares: Sequence[float]) -> str:
    return ", ".join(f"{100 * share:.3f} %" for share in shares)


@CLAIMS.claim("our-none-lost")
def next_to_nothing_is_lost(n: Numbers) -> Finding:
    """At most 1 frame in 1,000 is lost with any seed."""
    shares = [_lost(n, case) for case in CASES]
    detail = f"most over the seeds, cases 1 to 3: {_shares(shares)}"
    return Finding(max(shares) <= RARE, 100 * max(shares), "%", detail, "1 to 3", ALL)


@CLAIMS.claim("our-last-hop")
def the_last_hop_alone_collapses(n: Numbers) -> Finding:
    """The incast's last flow takes at least 3 times as long as under PFC."""
    pairs = zip(
        n.samples("2", HOSTS, "incast_last"), n.samples("2", PFC, "incast_last"), strict=True
    )
    times = [hosts / pfc for hosts, pfc in pairs]
    detail = f"{min(times):.1f} to {max(times):.1f} times PFC's"
    return Finding(min(times) >= 3, min(times), "times at least", detail, "2", HOSTS)


@CLAIMS.claim("our-ecn")
def it_ends_before_dcqcn(n: Numbers) -> Finding:
    """Incast and victim end earlier than under ECN with DCQCN."""
    ratios = {
        (case, of): ratio(n.samples(case, ALL, of), n.samples(case, ECN, of))
        for case in CASES
        for of in ("incast_last", "victim")
    }
    worst = max(ratios.values(), key=lambda one: one.high)
    names = {"incast_last": "last", "victim": "victim"}
    detail = ", ".join(
        f"{case} {names[of]} {100 * one.mean:.0f} %" for (case, of), one in ratios.items()
    )
    return Finding(
        worst.high < 1, 100 * worst.high, "% at most", detail, "1 to 3", ALL, worst.seeds
    )


def _against_pfc(n: Numbers, quantity: str, most: float) -> Finding:
    ratios = mean_ratios(n, CASES, quantity, ALL, PFC)
    detail = f"cases 1 to 3: {changes_text(ratios)}"
    return Finding(max(ratios) <= most, 100 * (max(ratios) - 1), "% at most", detail, "1 to 3", ALL)


@CLAIMS.claim("our-victim")
def the_victim_fares_as_well(n: Numbers) -> Finding:
    """The victim takes at most a tenth longer than under PFC."""
    return _against_pfc(n, "victim", 1.1)


@CLAIMS.claim("our-price")
def the_incast_pays_little(n: Numbers) -> Finding:
    """The incast's last flow takes at most a fifth longer than under PFC."""
    return _against_pfc(n, "incast_last", 1.2)


@CLAIMS.claim("our-repeat")
def selective_repeat_repairs(n: Numbers) -> Finding:
    """With selective repeat the last hop alone is enough."""
    share = n.value("2-sr", HOSTS, "incast_last") / n.value("2", PFC, "incast_last")
    return Finding(share <= 1.5, share, "times", f"{share:.2f} times PFC's", "2-sr", HOSTS)


@CLAIMS.claim("our-memory")
def memory_is_what_a_lossless_port_has(n: Numbers) -> Finding:
    """Little is lost from 400 KB on, and no more with 2 MB than with 100 KB."""
    sizes = ("100KB", "200KB", "", "1MB", "2MB")
    shares = {
        case: [_lost(n, f"{case}-{size}" if size else case) for size in sizes]
        for case in ("1", "3")
    }
    holds = all(max(of[2:]) <= RARE and of[0] >= of[-1] for of in shares.values())
    detail = "; ".join(f"case {case}, 100 KB to 2 MB: {_shares(of)}" for case, of in shares.items())
    most = 100 * max(max(of[2:]) for of in shares.values())
    return Finding(holds, most, "% from 400 KB on", detail, "1, 3", ALL)
