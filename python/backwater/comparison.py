"""Compares scenarios over the same seeds: differences with their intervals, and winners.

Common random numbers: all scenarios run with the same seeds. Chance then affects all alike, and
differences within a seed vary less than the values. For n differences with mean d and sample
standard deviation s (n - 1), the 95 % interval of the true mean difference is d ± t s / sqrt(n),
with Student's t of n - 1 degrees of freedom (A. M. Law, Simulation Modeling and Analysis, on
paired-t intervals and common random numbers). Intervals are not corrected for their number. A
winner needs enough seeds and a difference that matters (`backwater.samples`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from backwater.numbers.registry import MORE
from backwater.numbers.repeats import Spread
from backwater.samples import LEAST, PAIRS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from backwater.numbers.metrics import Metric, Part


@dataclass(frozen=True)
class Difference:
    """A metric of one scenario minus that of another, over the seeds that both have."""

    n: int
    mean: float
    ci_low: float | None
    ci_high: float | None
    """Ends of the 95 % interval; None for a single seed."""

    @staticmethod
    def of(values: Mapping[int, float], base: Mapping[int, float]) -> Difference | None:
        """Return the difference `values` minus `base`; None if they share no seed."""
        pairs = [values[seed] - base[seed] for seed in sorted(values.keys() & base.keys())]
        if not pairs:
            return None
        spread = Spread.of(pairs)
        return Difference(spread.n, spread.mean, spread.ci_low, spread.ci_high)

    @property
    def sign(self) -> int | None:
        """1: more, -1: less, 0: the interval covers zero; None: a single seed has no interval."""
        if self.ci_low is None or self.ci_high is None:
            return None
        if self.ci_low <= 0 <= self.ci_high:
            return 0
        return 1 if self.mean > 0 else -1


ALIKE, NOT_TOLD = "no difference that matters", "not told apart"
UNLIKE, OTHERS = "references differ", "complete flows differ"
NEITHER = "neither is better"
SAME = 1e-9
"""Share by which equal references may differ, since they are sums of floats."""


def judged(verdict: str, winners: Sequence[str], of: int) -> str:
    """Return a verdict for people: the winner, or which of `of` scenarios no other beats."""
    if verdict == ALIKE:
        return "equal" if len(winners) == of else " = ".join(winners)
    if verdict == NOT_TOLD:
        return NOT_TOLD if len(winners) == of else " or ".join(winners)
    return ", ".join(winners) if verdict == "winner" else verdict


@dataclass(frozen=True)
class Row:
    """One metric of all scenarios, over the seeds common to all scenarios with values."""

    metric: Metric
    seeds: list[int]
    """The common seeds: those of the means, the differences and the verdict."""
    means: list[float | None]
    """The mean of each scenario; None: it has no value, or no seed is common."""
    counts: list[int]
    """How many values each scenario has, over its own seeds."""
    base: int | None
    """The first scenario with values, which the others are compared with."""
    differences: list[Difference | None]
    """The difference of each scenario from `base`; None for `base` itself."""
    winners: list[int]
    """The scenarios that no other beats: one is the winner, several are not told apart, or do not
    differ by anything that matters."""
    verdict: str
    """One of

    - `winner`
    - `no difference that matters`: the whole intervals between the winners are within the least
      difference that matters
    - `not told apart`: the winners may differ by more, which more seeds would show
    - `too few seeds`
    - `no values`: fewer than two scenarios have values
    - `values missing`: no seed has values of all scenarios
    - `complete flows differ`: times are of complete flows, and scenarios complete others; one that
      completes only its fast flows is not faster
    - `references differ`: the bounds or sampled times to which values relate differ, and the winner
      depends on them; less above a higher bound is no merit
    - `neither is better`: the metric is an amount, and neither more nor less is better
    """
    samples: list[int | None]
    """Complete flows behind each scenario's values, in the seed with the fewest; None: the metric
    is not of flows."""
    reasons: list[str | None]
    """Why a scenario has no value: too few complete flows for the statistic, or no such flows,
    jobs or switches."""
    references: list[float | None]
    """The reference of each scenario's values, as a mean over the seeds; None: without one."""
    parts: list[Part | None]
    """The flows behind each scenario's values, in the seed with the fewest complete; None: all of
    the group in every seed, or no flows."""

    def told(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return all of it, for JSON."""
        return {
            "metric": self.metric.name,
            "unit": self.metric.unit,
            "better": self.metric.quantity.better,
            "verdict": self.verdict,
            "winners": [labels[number] for number in self.winners],
            "seeds": self.seeds,
            "against": None if self.base is None else labels[self.base],
            "scenarios": [
                {
                    "scenario": label,
                    "mean": mean,
                    "n": count,
                    "flows": flows,
                    "reason": reason,
                    "reference": reference,
                    "of_flows": None if part is None else part.flows,
                    "difference": None if difference is None else asdict(difference),
                }
                for label, mean, count, flows, reason, reference, part, difference in zip(
                    labels,
                    self.means,
                    self.counts,
                    self.samples,
                    self.reasons,
                    self.references,
                    self.parts,
                    self.differences,
                    strict=True,
                )
            ],
        }


def row(
    metric: Metric,
    values: Sequence[Mapping[int, float]],
    samples: Sequence[int | None] | None = None,
    least: float = LEAST,
    references: Sequence[Mapping[int, float]] | None = None,
    parts: Sequence[Mapping[int, Part]] | None = None,
    lacking: Sequence[str | None] | None = None,
) -> Row:
    """Compare the values of one metric, by seed, of all scenarios.

    `samples`: complete flows of each scenario, in the seed with the fewest. `least`: the least
    difference that matters, as a share of the greater value. `references`: the bounds or sampled
    times to which the values relate, by seed. `parts`: the flows of the values, in seeds where not
    all are complete. `lacking`: why a scenario cannot have values.
    """
    samples = [None] * len(values) if samples is None else list(samples)
    parts = [{}] * len(values) if parts is None else parts
    reasons = [
        why or (None if count is None else metric.why_not(count))
        for count, why in zip(samples, lacking or [None] * len(values), strict=True)
    ]
    known = [number for number, one in enumerate(values) if one]
    # A seed that one scenario lacks may be an easy or a hard one, and would move the others' means.
    common = sorted(set.intersection(*(set(values[number]) for number in known))) if known else []
    paired = [{seed: one[seed] for seed in common if one} for one in values]
    means = [math.fsum(one.values()) / len(one) if one else None for one in paired]
    base = known[0] if known else None
    differences = [
        None if base is None or number == base else Difference.of(one, paired[base])
        for number, one in enumerate(paired)
    ]
    against = [
        math.fsum(found) / len(found)
        if (found := [one[seed] for seed in common if seed in one])
        else None
        for one in references or [{}] * len(values)
    ]
    winners, verdict = _judged(metric, paired, known, least)
    if _others(parts, known, common):
        winners, verdict = [], OTHERS
    elif unlike(
        metric, paired, references, lambda some: _judged(metric, some, known, least), least
    ):
        winners, verdict = [], UNLIKE
    return Row(
        metric,
        common,
        means,
        [len(one) for one in values],
        base,
        differences,
        winners,
        verdict,
        samples,
        reasons,
        against,
        [min(of.values(), key=lambda one: one.complete, default=None) for of in parts],
    )


def unlike(
    metric: Metric,
    values: Sequence[Mapping[int, float]],
    references: Sequence[Mapping[int, float]] | None,
    judge: Callable[[Sequence[Mapping[int, float]]], object],
    least: float = LEAST,
) -> bool:
    """Return whether no values can be called better, since their references differ.

    They can if `judge`, which returns the best of values, returns the same for the absolute values,
    which include the references. All values are by seed. Every ranking of scenarios, points or
    designs by a metric calls this.
    """
    if not references or not apart(metric, values, references, least):
        return False
    whole = _absolute(metric, values, references)
    return whole is None or judge(whole) != judge(values)


def apart(
    metric: Metric,
    values: Sequence[Mapping[int, float]],
    references: Sequence[Mapping[int, float]],
    least: float = LEAST,
) -> tuple[float, float] | None:
    """Return the least and the greatest reference; None: they are equal."""
    means = [
        math.fsum(found) / len(found)
        for mine, against in zip(values, references, strict=True)
        if (found := [against[seed] for seed in mine if seed in against])
    ]
    # A ratio changes by the share by which its reference does, a difference by any larger share.
    room = SAME if metric.quantity.of_jobs and metric.unit else least
    return (min(means), max(means)) if _differ(means, room) else None


def _others(
    parts: Sequence[Mapping[int, Part]], known: Sequence[int], seeds: Sequence[int]
) -> bool:
    """Return whether the scenarios `known` have values of different flows in any of the seeds."""

    def which(number: int, seed: int) -> str | None:
        part = parts[number].get(seed)
        return None if part is None else part.which

    return any(len({which(number, seed) for number in known}) > 1 for seed in seeds)


def _absolute(
    metric: Metric, values: Sequence[Mapping[int, float]], references: Sequence[Mapping[int, float]]
) -> list[dict[int, float]] | None:
    """Return the absolute values, from values and references; None: some cannot be computed."""
    found: list[dict[int, float]] = []
    for mine, against in zip(values, references, strict=True):
        found.append({})
        for seed, value in mine.items():
            whole = metric.absolute(value, against[seed]) if seed in against else None
            if whole is None:
                return None
            found[-1][seed] = whole
    return found


def _differ(references: Sequence[float], room: float) -> bool:
    """Return whether the greatest and the least differ by more than a share of the greatest."""
    return bool(references) and max(references) - min(references) > room * max(references)


def _judged(
    metric: Metric, paired: Sequence[Mapping[int, float]], known: Sequence[int], least: float
) -> tuple[list[int], str]:
    """Return the winners of the scenarios `known`, over their common seeds, and the verdict."""
    if len(known) < 2:
        return [], "no values"
    seeds = len(paired[known[0]])
    if not seeds:
        return [], "values missing"
    if seeds < PAIRS:
        return [], "too few seeds"
    if metric.quantity.better is None:
        return [], NEITHER
    sign = -1.0 if metric.quantity.better == MORE else 1.0

    def beats(one: int, other: int) -> bool:
        found = Difference.of(paired[one], paired[other])
        better = found is not None and sign * found.mean < 0
        return better and _matters(paired[one], paired[other], least)

    first = [one for one in known if not any(beats(other, one) for other in known)]
    others = [one for one in known if one not in first]
    clear = all(beats(one, other) for one in first for other in others)
    if len(first) == 1:
        if clear:
            return first, "winner"
        # The first beats one that beats another, from which the first is not told apart.
        rest = [other for other in others if not beats(first[0], other)]
        return sorted([*first, *rest]), NOT_TOLD
    pairs = itertools.combinations(first, 2)
    alike = clear and all(_alike(paired[one], paired[other], least) for one, other in pairs)
    return first, ALIKE if alike else NOT_TOLD


def _alike(one: Mapping[int, float], best: Mapping[int, float], least: float) -> bool:
    """Return whether the whole interval is within the least difference that matters."""
    found = Difference.of(one, best)
    if found is None:
        return False
    if found.ci_low is None or found.ci_high is None:
        return found.mean == 0
    most = least * _greater(one, best, found.n)
    return max(abs(found.ci_low), abs(found.ci_high)) <= most


def _greater(one: Mapping[int, float], best: Mapping[int, float], n: int) -> float:
    return max(abs(math.fsum(side.values())) for side in (one, best)) / n


def _matters(one: Mapping[int, float], best: Mapping[int, float], least: float) -> bool:
    """Return whether the interval excludes zero, and the difference is large enough to matter."""
    found = Difference.of(one, best)
    if found is None or not found.sign:
        return False
    return abs(found.mean) >= least * _greater(one, best, found.n)
