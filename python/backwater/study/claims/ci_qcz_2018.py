"""The claims of the study ci-qcz-2018: reductions in %, seed by seed, times in us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.claims.base import Claims, Finding, Numbers, reduction, with_interval

if TYPE_CHECKING:
    from backwater.stats import Spread

NONE, LOCAL, ISOLATION = "none", "local", "isolation"
MAIN, LOSSY = "main", "lossy"
SIZES = ("288 hosts", "578 hosts", "1152 hosts")

CLAIMS = Claims()


def _reduction(
    n: Numbers, quantity: str, case: str = MAIN, kind: str = "", since: str = NONE
) -> Spread:
    """By how many % isolation is below `since`, over the seeds; `kind` as in ", 3 queues"."""
    return reduction(n, case, quantity, ISOLATION + kind, since + kind)


def _said(spread: Spread) -> str:
    return with_interval(spread, " %", 0)


def _finding(
    holds: bool, value: float, unit: str, detail: str, cases: str = MAIN, mechanism: str = ISOLATION
) -> Finding:
    return Finding(holds, value, unit, detail, cases, mechanism)


@CLAIMS.claim("signs")
def signs(n: Numbers) -> Finding:
    """All five reductions are above 0, each with its interval."""
    names = {"fct_mice": "mice", "fct_elephants": "elephants", "fct_all": "all"}
    found = {label: _reduction(n, name) for name, label in names.items()}
    found["pause frames"] = _reduction(n, "pause_frames")
    found["loss"] = _reduction(n, "loss_rate", case=LOSSY, kind=", lossy")
    least = min(spread.low for spread in found.values())
    detail = ", ".join(f"{label} {_said(spread)}" for label, spread in found.items())
    return _finding(least > 0, least, "%", detail, f"{MAIN},{LOSSY}")


@CLAIMS.claim("mice-most")
def mice_most(n: Numbers) -> Finding:
    """Mice gain more than elephants."""
    mice, elephants = (_reduction(n, name) for name in ("fct_mice", "fct_elephants"))
    more = mice.mean - elephants.mean
    detail = f"mice {_said(mice)}, elephants {_said(elephants)}"
    return _finding(more > 0, more, "percentage points", detail)


@CLAIMS.claim("three-queues")
def three_queues(n: Numbers) -> Finding:
    """With a queue of their own mice gain less than half of what they gain without."""
    two, three = (_reduction(n, "fct_mice", kind=kind) for kind in ("", ", 3 queues"))
    detail = f"two queues {_said(two)}, three {_said(three)}"
    return _finding(three.mean < 0.5 * two.mean, three.mean, "%", detail)


@CLAIMS.claim("xoff-less")
def xoff_less(n: Numbers) -> Finding:
    """The time of pauses falls, and by less than their number."""
    time, frames = (_reduction(n, name) for name in ("pause_time", "pause_frames"))
    detail = f"XOFF duration {_said(time)}, pause frames {_said(frames)}"
    return _finding(0 < time.mean < frames.mean, time.mean, "%", detail)


@CLAIMS.claim("monitored-queue")
def monitored_queue(n: Numbers) -> Finding:
    """A fifth at most is left of the pause frames that stop flows which do not congest.

    Without isolation these wait in both queues, by the hash of their destination.
    """
    before = n.value(MAIN, NONE, "pause_frames")
    after = n.value(MAIN, ISOLATION, "monitored_pauses")
    left = after / before if before else float("inf")
    return _finding(left <= 0.2, left, "ratio", f"{after:.0f} frames instead of {before:.0f}")


@CLAIMS.claim("upstream-best")
def upstream_best(n: Numbers) -> Finding:
    """Told neighbours help beyond what isolation does alone."""
    none, local, told = (n.value(MAIN, name, "fct_all") for name in (NONE, LOCAL, ISOLATION))
    detail = f"none {none:.0f}, local only {local:.0f}, coordinated {told:.0f} us"
    return _finding(told < local < none, 100 * (1 - told / local), "%", detail)


@CLAIMS.claim("scale")
def scale(n: Numbers) -> Finding:
    """The gain of the largest network is at least 0.9 of that of the smallest."""
    found = [_reduction(n, "fct_all", case=size) for size in SIZES]
    detail = ", ".join(f"{size} {_said(s)}" for size, s in zip(SIZES, found, strict=True))
    holds = found[-1].mean >= 0.9 * found[0].mean > 0
    return _finding(holds, found[-1].mean, "%", detail, ",".join(SIZES))
