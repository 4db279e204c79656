"""Estimates the cost of points from measured ones, for the time left and the size of batches.

The expected cost of a point is the mean of all measured points, times a factor for its variant and
for each of its values: the mean cost of points with it, over the mean of all. Two more points of
mean cost count in each factor, so that factors of few points stay near 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.sweep.plan import Plan, Point

# Points of mean cost that count in each factor.
_PRIOR = 2.0


class Costs:
    """Measured and expected seconds of the points of a sweep, by their place in the plan."""

    def __init__(self, plan: Plan, points: Sequence[Point]) -> None:
        variants = {name: number for number, name in enumerate(plan.scenarios)}
        columns = [[variants[point.variant] for point in points]]
        columns += [
            [point.values[number] + 1 for point in points] for number in range(len(plan.axes))
        ]
        self._levels = [np.array(column, dtype=np.int32) for column in columns]
        self._sums = [np.zeros(int(level.max(initial=0)) + 1) for level in self._levels]
        self._counts = [np.zeros(len(sums)) for sums in self._sums]
        self._total, self._measured = 0.0, 0

    def took(self, place: int, seconds: float) -> None:
        """Record the cost of a point."""
        self._total += seconds
        self._measured += 1
        for level, sums, counts in zip(self._levels, self._sums, self._counts, strict=True):
            sums[level[place]] += seconds
            counts[level[place]] += 1

    @property
    def mean(self) -> float | None:
        """The mean cost of a point so far, in s; None: no point was measured."""
        return self._total / self._measured if self._measured else None

    def expected(self, places: Sequence[int] | np.ndarray) -> np.ndarray | None:
        """Return the expected cost of points, in s; None: no point was measured."""
        mean = self.mean
        if mean is None:
            return None
        chosen = np.asarray(places, dtype=np.int64)
        found = np.full(len(chosen), mean)
        for level, sums, counts in zip(self._levels, self._sums, self._counts, strict=True):
            factors = (sums + _PRIOR * mean) / (counts + _PRIOR) / mean if mean else counts * 0 + 1
            found *= factors[level[chosen]]
        return found
