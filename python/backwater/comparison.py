"""Compares scenarios over the same seeds: differences with their intervals, and who wins.

Common random numbers: all scenarios run with the same seeds, so that what chance brings to one it
brings to the others, and the differences within a seed vary less than the values. Of n differences
with mean d and standard deviation s (of the sample, n - 1), the 95 % interval of the true mean
difference is d ± t s / sqrt(n), t being Student's with n - 1 degrees of freedom (A. M. Law,
Simulation Modeling and Analysis, on paired-t intervals and common random numbers). Intervals are
not corrected for their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater.stats import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.metrics import Metric


@dataclass(frozen=True)
class Difference:
    """How much one scenario has more of a metric than another, over the seeds that both have."""

    n: int
    mean: float
    ci_low: float | None
    ci_high: float | None
    """The 95 % interval; None of a single seed."""

    @staticmethod
    def of(values: Mapping[int, float], base: Mapping[int, float]) -> Difference | None:
        """Of `values` less `base`; None if they share no seed."""
        pairs = [values[seed] - base[seed] for seed in sorted(values.keys() & base.keys())]
        if not pairs:
            return None
        spread = Spread.of(pairs)
        return Difference(spread.n, spread.mean, spread.ci_low, spread.ci_high)

    @property
    def sign(self) -> int | None:
        """1: more, -1: less, 0: a tie, as the interval covers zero; None: there is no interval."""
        if self.ci_low is None or self.ci_high is None:
            return None
        if self.ci_low <= 0 <= self.ci_high:
            return 0
        return 1 if self.mean > 0 else -1


@dataclass(frozen=True)
class Row:
    """One metric of all scenarios."""

    metric: Metric
    means: list[float | None]
    """Of each scenario, over the seeds that have the metric."""
    counts: list[int]
    differences: list[Difference | None]
    """Of each scenario against the first; None of the first."""
    winners: list[int]
    """The scenarios that no other beats: one is the winner, several are a tie."""
    verdict: str
    """`winner`, `tie`, `no interval` (a single seed) or `no values`."""

    def told(self, labels: Sequence[str]) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "metric": self.metric.name,
            "unit": self.metric.unit,
            "better": "more" if self.metric.quantity.more_is_better else "less",
            "verdict": self.verdict,
            "winners": [labels[number] for number in self.winners],
            "scenarios": [
                {
                    "scenario": label,
                    "mean": mean,
                    "n": count,
                    "difference": None
                    if difference is None
                    else {
                        "n": difference.n,
                        "mean": difference.mean,
                        "ci_low": difference.ci_low,
                        "ci_high": difference.ci_high,
                    },
                }
                for label, mean, count, difference in zip(
                    labels, self.means, self.counts, self.differences, strict=True
                )
            ],
        }


def row(metric: Metric, values: Sequence[Mapping[int, float]]) -> Row:
    """Compare the values of one metric, by seed, of all scenarios."""
    means = [math.fsum(sorted(one.values())) / len(one) if one else None for one in values]
    differences = [None, *(Difference.of(one, values[0]) for one in values[1:])]
    winners, verdict = _judged(metric, values, means)
    return Row(metric, means, [len(one) for one in values], differences, winners, verdict)


def _judged(
    metric: Metric, values: Sequence[Mapping[int, float]], means: Sequence[float | None]
) -> tuple[list[int], str]:
    sign = -1.0 if metric.quantity.more_is_better else 1.0
    known = [number for number, mean in enumerate(means) if mean is not None]
    if len(known) < len(values):
        return [], "no values"
    best = min(known, key=lambda number: sign * (means[number] or 0.0))
    against = {one: Difference.of(values[one], values[best]) for one in known if one != best}
    signs = {one: None if found is None else found.sign for one, found in against.items()}
    same = [one for one, sign in signs.items() if sign == 0]
    if any(sign is None for sign in signs.values()):
        return [], "no interval"
    return ([best], "winner") if not same else (sorted([best, *same]), "tie")
