"""The claims of the study ci-qcz-2018: reductions in %, seed by seed, times in us.

The verdicts follow our reading of the document's words. The details also name the control, in which
isolation does not change the marking.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from backwater.numbers.repeats import Spread
from backwater.study.claims._sign_map import Cell, hangs_claims
from backwater.study.claims.base import (
    Claims,
    Finding,
    NotMeasuredError,
    Numbers,
    reduction,
    reductions,
    with_interval,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

NONE, LOCAL, ISOLATION = "none", "local", "isolation"
MAIN, LOSSY, LOSSY_AT_FIRST = "main", "lossy", "lossy, 20 ms"
QUEUES, WHOLE, LOST, SINGLE = "3 queues", "no CIM lost", (1, 10, 50), (1, 10)
EQUAL = ", equal"
SIZES = ("288 hosts", "578 hosts", "1152 hosts")

CLAIMS = Claims()

# The sign map: which flows, when a run ends, whose completion times count, what is marked.
AXES = {
    "group": ("elephants", "all"),
    "end": ("arrivals to 5 ms", "arrivals to 10 ms", "arrivals to 20 ms", MAIN),
    "flows": ("complete", "complete in both", "every flow, by its time so far"),
    "marks": (ISOLATION, ISOLATION + EQUAL),
}


def _reduction(n: Numbers, quantity: str, case: str = MAIN, kind: str = "") -> Spread:
    """Return by how many % isolation is below none; `kind` is EQUAL for the control."""
    return reduction(n, case, quantity, ISOLATION + kind, NONE)


def _cell(n: Numbers, values: Sequence[str]) -> Cell:
    """Return a cell of the sign map, by one value of each of `AXES`."""
    group, case, flows, mechanism = values
    name = f"{case}, {mechanism}, {group}, {flows}"
    if flows == "complete in both":
        return Cell(name, Spread.of(n.samples(case, mechanism, f"same_{group}")))
    quantity = f"done_{group}" if flows == "complete" else f"fct_{group}"
    return Cell(name, reduction(n, case, quantity, mechanism, NONE))


hangs_claims(CLAIMS, AXES, _cell, ISOLATION, apart=("group",))


def _said(spread: Spread) -> str:
    return with_interval(spread, " %", 0)


def _finding(
    holds: bool,
    value: float,
    unit: str,
    detail: str,
    cases: str = MAIN,
    mechanism: str = ISOLATION,
    seeds: int | None = None,
) -> Finding:
    return Finding(holds, value, unit, detail, cases, mechanism, seeds)


def _more(n: Numbers, one: str, two: str, kind: str = "") -> Spread:
    """Return by how many points isolation reduces one quantity more than another, seed by seed."""
    first, second = (reductions(n, MAIN, name, ISOLATION + kind, NONE) for name in (one, two))
    return Spread.of([a - b for a, b in zip(first, second, strict=True)])


def _signs(n: Numbers, kind: str) -> tuple[Spread, str]:
    """Return the reduction with the least lower end, of five, and all of them in words."""
    names = {"fct_mice": "mice", "fct_elephants": "elephants", "fct_all": "all"}
    found = {label: _reduction(n, name, kind=kind) for name, label in names.items()}
    found["pause frames"] = _reduction(n, "pause_frames", kind=kind)
    found["loss"] = _reduction(n, "loss_rate", case=LOSSY_AT_FIRST, kind=kind)
    words = ", ".join(f"{label} {_said(spread)}" for label, spread in found.items())
    return min(found.values(), key=lambda spread: spread.low), words


@CLAIMS.claim("signs")
def signs(n: Numbers) -> Finding:
    """The intervals of all five reductions lie above 0."""
    (least, words), (_, control) = _signs(n, ""), _signs(n, EQUAL)
    detail = f"{words}; with equal marking {control}"
    cases = f"{MAIN},{LOSSY_AT_FIRST}"
    return _finding(least.low > 0, least.low, "%", detail, cases, seeds=least.n)


@CLAIMS.claim("mice-most")
def mice_most(n: Numbers) -> Finding:
    """Mice gain more than elephants, by the interval of the difference, seed by seed."""
    mice, elephants = (_reduction(n, name) for name in ("fct_mice", "fct_elephants"))
    storm, after = (_reduction(n, name) for name in ("fct_mice_storm", "fct_mice_after"))
    more = _more(n, "fct_mice", "fct_elephants")
    detail = (
        f"{with_interval(more, ' points', 0)} more: mice {_said(mice)}, in the storm "
        f"{_said(storm)}, after it {_said(after)}; "
        f"elephants {_said(elephants)}; with equal marking mice "
        f"{_said(_reduction(n, 'fct_mice', kind=EQUAL))}, elephants "
        f"{_said(_reduction(n, 'fct_elephants', kind=EQUAL))}"
    )
    return _finding(more.low > 0, more.mean, "percentage points", detail, seeds=more.n)


@CLAIMS.claim("three-queues")
def three_queues(n: Numbers) -> Finding:
    """With a queue of their own, mice gain less than half as much as without it."""
    two, three = (_reduction(n, "fct_mice", case) for case in (MAIN, QUEUES))
    detail = f"two queues {_said(two)}, three {_said(three)}"
    return _finding(three.mean < 0.5 * two.mean, three.mean, "%", detail, f"{MAIN},{QUEUES}")


def _xoff(n: Numbers, kind: str) -> tuple[Spread, str]:
    time, frames = (_reduction(n, name, kind=kind) for name in ("pause_time", "pause_frames"))
    return time, f"XOFF duration {_said(time)}, pause frames {_said(frames)}"


@CLAIMS.claim("xoff-less")
def xoff_less(n: Numbers) -> Finding:
    """The time of pauses falls, but by less than their number, by both intervals."""
    time, words = _xoff(n, "")
    _, control = _xoff(n, EQUAL)
    more = _more(n, "pause_frames", "pause_time")
    detail = (
        f"{words}, {with_interval(more, ' points', 0)} more than the duration; "
        f"with equal marking {control}"
    )
    return _finding(min(time.low, more.low) > 0, time.mean, "%", detail, seeds=time.n)


@CLAIMS.claim("monitored-queue")
def monitored_queue(n: Numbers) -> Finding:
    """At most a fifth of the pause frames of one queue is left, by the interval over seeds.

    Without isolation, the hash of its destination assigns a flow to one of two queues. In the mean
    over hashes, one queue therefore has half of the frames of both. In a single run the queue of
    the incast has nearly all of them.
    """
    both = n.samples(MAIN, NONE, "pause_frames")
    if not all(both):
        raise NotMeasuredError(f"{NONE}: pause_frames is 0 with some seed")

    def left(kind: str) -> Spread:
        after = n.samples(MAIN, ISOLATION + kind, "monitored_pauses")
        return Spread.of([100 * a / (0.5 * b) for a, b in zip(after, both, strict=True)])

    shares, control = left(""), left(EQUAL)
    after, alone = (n.value(MAIN, name, "monitored_pauses") for name in (ISOLATION, NONE))
    detail = (
        f"{after:.0f} frames, {_said(shares)} of a half of {fmean(both):.0f}; of this queue alone "
        f"in the same runs {alone:.0f}; with equal marking {_said(control)}"
    )
    high = shares.mean if shares.ci_high is None else shares.ci_high
    return _finding(high <= 20, shares.mean, "%", detail, seeds=shares.n)


@CLAIMS.claim("upstream-best")
def upstream_best(n: Numbers) -> Finding:
    """Isolation helps more if it also reaches the neighbours."""
    none, local, coordinated = (n.value(MAIN, name, "fct_all") for name in (NONE, LOCAL, ISOLATION))
    alike = [n.value(MAIN, name + EQUAL, "fct_all") for name in (LOCAL, ISOLATION)]
    detail = (
        f"none {none:.0f}, local only {local:.0f}, coordinated {coordinated:.0f} us; "
        f"with equal marking local only {alike[0]:.0f}, coordinated {alike[1]:.0f} us"
    )
    gain = 100 * (1 - coordinated / local)
    return _finding(coordinated < local < none, gain, "%", detail)


@CLAIMS.claim("cim-loss")
def cim_loss(n: Numbers) -> Finding:
    """Single lost CIMs change completion times by 5 % at most; local isolation has no CIMs.

    The document speaks of single losses. An arm that loses half of all CIMs is shown only.
    """
    most, words = 0.0, []
    cases = {share: f"{share} % of CIMs lost" for share in LOST}
    for share, case in cases.items():
        changes = []
        for name in ("fct_mice", "fct_all"):
            lost_some, none_lost = (n.samples(one, ISOLATION, name) for one in (case, WHOLE))
            pairs = zip(lost_some, none_lost, strict=True)
            changes.append(Spread.of([100 * (lost / whole - 1) for lost, whole in pairs]))
        if share in SINGLE:
            most = max(most, *(abs(change.mean) for change in changes))
        mice, everyone = (_said(change) for change in changes)
        words.append(f"{case}: mice {mice}, all {everyone}")
    local = 100 * (n.value(WHOLE, LOCAL, "fct_mice") / n.value(WHOLE, ISOLATION, "fct_mice") - 1)
    detail = (
        f"longer than with none lost by: {'; '.join(words)}; without any CIM mice {local:.0f} %"
    )
    return _finding(most <= 5, most, "%", detail, ",".join((WHOLE, *cases.values())))


@CLAIMS.claim("loss-retransmissions")
def loss_retransmissions(n: Numbers) -> Finding:
    """Flows retransmit less and are complete earlier, by both intervals.

    The difference is in packets, not in %: with some seed, none retransmits nothing.
    """

    def found(kind: str) -> tuple[Spread, Spread]:
        before, after = (n.samples(LOSSY, name, "sent_again") for name in (NONE, ISOLATION + kind))
        fewer = Spread.of([b - a for b, a in zip(before, after, strict=True)])
        return fewer, _reduction(n, "fct_all", LOSSY, kind)

    def words(fewer: Spread, time: Spread) -> str:
        return f"{with_interval(fewer, ' packets', 0)} fewer retransmitted, all flows {_said(time)}"

    (fewer, time), control = found(""), found(EQUAL)
    detail = f"{words(fewer, time)}; with equal marking {words(*control)}"
    holds = min(fewer.low, time.low) > 0
    return _finding(holds, time.mean, "%", detail, LOSSY, seeds=time.n)


@CLAIMS.claim("scale-harder")
def scale_harder(n: Numbers) -> Finding:
    """Pause frames and victims of pauses for each host rise with each size."""
    pauses, victims = (
        [n.value(size, NONE, name) for size in SIZES] for name in ("pauses_per_host", "victims")
    )
    rises = all(list_ == sorted(set(list_)) for list_ in (pauses, victims))
    detail = "; ".join(
        f"{size} {frames:.1f} pause frames and {flows:.3f} victims a host"
        for size, frames, flows in zip(SIZES, pauses, victims, strict=True)
    )
    value = pauses[-1] / pauses[0] if pauses[0] else float("inf")
    return _finding(rises, value, "ratio", detail, ",".join(SIZES), NONE)


@CLAIMS.claim("scale")
def scale(n: Numbers) -> Finding:
    """The gain of the largest network is at least 0.9 times that of the smallest."""
    found = [_reduction(n, "fct_all", case=size) for size in SIZES]
    detail = ", ".join(f"{size} {_said(s)}" for size, s in zip(SIZES, found, strict=True))
    holds = found[-1].mean >= 0.9 * found[0].mean > 0
    return _finding(holds, found[-1].mean, "%", detail, ",".join(SIZES))
