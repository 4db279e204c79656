"""The claims of the study controls-2026: expectations of this project before the first run."""

from __future__ import annotations

from backwater.study.claims.base import (
    Claims,
    Finding,
    Numbers,
    Ratio,
    ratio,
    reduction,
    with_interval,
)
from backwater.wording import share_text

INCASTS = ("1", "2", "3")
PERMUTATION = "permutation"
LOSSLESS = (
    *("pfc", "cbfc", "sfc", "sfc-proxy", "sfc-isolation"),
    *("ci", "dcqcn", "hpcc", "timely"),
)
LOSSY = ("dctcp", "swift", "bbr", "nscc", "nscc-back", "rccc", "nscc-rccc")
SFC = ("sfc", "sfc-proxy", "sfc-isolation")

CLAIMS = Claims()


def _against(n: Numbers, case: str, scheme: str, quantity: str, base: str = "pfc") -> Ratio:
    """Return the ratio of a quantity under a scheme to that under another, seed by seed."""
    return ratio(n.samples(case, scheme, quantity), n.samples(case, base, quantity))


@CLAIMS.claim("lossless")
def lossless(n: Numbers) -> Finding:
    """No lossless scheme drops a frame."""
    drops = {
        (case, scheme): max(n.samples(case, scheme, "drops"))
        for case in (*INCASTS, PERMUTATION)
        for scheme in LOSSLESS
    }
    (case, scheme), most = max(drops.items(), key=lambda item: item[1])
    return Finding(
        holds=most == 0,
        value=most,
        unit="frames",
        detail=f"at most {most:.0f} frames (case {case}, {scheme}) of {len(drops)} points",
        cases=",".join((*INCASTS, PERMUTATION)),
        mechanism="pfc",
    )


@CLAIMS.claim("sfc-victim")
def sfc_victim(n: Numbers) -> Finding:
    """The victim takes less time than under PFC, natively, by proxy and by isolation."""
    found = {
        (case, scheme): _against(n, case, scheme, "victim") for case in INCASTS for scheme in SFC
    }
    worst = max(found.values(), key=lambda one: one.high)
    return Finding(
        holds=worst.high < 1,
        value=worst.mean,
        unit="ratio",
        detail="victim of PFC's: "
        + ", ".join(f"{share_text(one.mean)} {s} in case {c}" for (c, s), one in found.items()),
        cases=",".join(INCASTS),
        mechanism="sfc",
        seeds=worst.seeds,
    )


@CLAIMS.claim("last-flow")
def last_flow(n: Numbers) -> Finding:
    """No scheme ends the last incast flow before 0.99 of PFC's time."""
    schemes = [scheme for scheme in (*LOSSLESS, *LOSSY) if scheme != "pfc"]
    found = {
        (case, scheme): n.value(case, scheme, "incast_last") / n.value(case, "pfc", "incast_last")
        for case in INCASTS
        for scheme in schemes
    }
    (case, scheme), least = min(found.items(), key=lambda item: item[1])
    return Finding(
        holds=least >= 0.99,
        value=least,
        unit="ratio",
        detail=f"least {share_text(least)} of PFC's ({scheme} in case {case})",
        cases=",".join(INCASTS),
        mechanism=scheme,
    )


@CLAIMS.claim("credits-spread")
def credits_spread(n: Numbers) -> Finding:
    """The victim under credits takes as long as under pauses, within 10 %."""
    found = {
        case: n.value(case, "cbfc", "victim") / n.value(case, "pfc", "victim") for case in INCASTS
    }
    furthest = max(found.values(), key=lambda one: abs(one - 1))
    return Finding(
        holds=abs(furthest - 1) <= 0.10,
        value=furthest,
        unit="ratio",
        detail="victim of PFC's: "
        + ", ".join(f"{share_text(one)} in case {case}" for case, one in found.items()),
        cases=",".join(INCASTS),
        mechanism="cbfc",
    )


@CLAIMS.claim("permutation")
def permutation(n: Numbers) -> Finding:
    """Windows and rates at hosts have a lower mean time than PFC alone."""
    schemes = ("dctcp", "swift", "hpcc", "nscc")
    found = {scheme: _against(n, PERMUTATION, scheme, "all_mean") for scheme in schemes}
    worst = max(found.values(), key=lambda one: one.high)
    return Finding(
        holds=worst.high < 1,
        value=worst.mean,
        unit="ratio",
        detail="mean of PFC's: " + ", ".join(f"{s} {one}" for s, one in found.items()),
        cases=PERMUTATION,
        mechanism="hpcc",
        seeds=worst.seeds,
    )


@CLAIMS.claim("back")
def back(n: Numbers) -> Finding:
    """Trimmed packets may go on or back: the last incast flow ends within 5 % of the same time."""
    found = {case: _against(n, case, "nscc-back", "incast_last", "nscc") for case in INCASTS}
    furthest = max(found.values(), key=lambda one: abs(one.mean - 1))
    return Finding(
        holds=abs(furthest.mean - 1) <= 0.05,
        value=furthest.mean,
        unit="ratio",
        detail="last flow of NSCC's: "
        + ", ".join(f"{share_text(one.mean)} in case {case}" for case, one in found.items()),
        cases=",".join(INCASTS),
        mechanism="nscc-back",
    )


@CLAIMS.claim("fifo")
def fifo(n: Numbers) -> Finding:
    """With input FIFOs, SFC saves the victim less than half as much as with output queues."""
    queues = reduction(n, "2", "victim", "sfc", "pfc")
    before, after = (n.value("2", one, "victim", "input-queued") for one in ("pfc", "sfc"))
    fifos = 100 * (1 - after / before)
    return Finding(
        holds=fifos < queues.mean / 2,
        value=fifos,
        unit="%",
        detail=f"{fifos:.1f} % with input queues, {with_interval(queues, ' %')} with output queues",
        cases="2",
        mechanism="sfc",
    )
