"""Prediction intervals: where one more result of the same kind would lie, by our own seeds.

A band states how near a reproduction should come. A prediction interval answers another question:
could a published number result from our own model? If 100 documents had our model, 95 of them would
print a number inside.

For one run, and for the mean of m runs, runs are independent draws from a normal distribution. Its
mean and variance are known from n runs only (Hahn and Meeker, *Statistical Intervals*, 1991,
section 4.7): x +- t(n - 1; .975) s sqrt(1/m + 1/n), with our mean x and deviation s.

Least, greatest, median and standard deviation of m runs depend on the shape of the distribution,
and a normal one may be plainly wrong: the fairness index of 2006 cannot be below 0. A bootstrap of
our own values gives their intervals (Efron and Tibshirani, *An Introduction to the Bootstrap*,
1993). It draws n of our n values with replacement, draws m runs from those, and does so 20 000
times. This interval never reaches beyond our own least and greatest value. With m further runs, one
of them does so with a chance of m / (n + m). For extremes, fewer than 95 of 100 documents therefore
lie inside: about a half if m is n. "Outside" means only beyond all values of our own runs.

A printed number stands for all values that round to it. The interval is therefore wider by half a
unit of the last printed digit on either side, which matters where our runs do not vary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from backwater.numbers.repeats import Spread, student_t
from backwater.samples import RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence

DRAWS = 20_000
AT_ONCE = 1000
"""Draws that are in memory at once."""


def interval(
    values: Sequence[float], over: str = "mean", runs: int = 1, least: float = float("-inf")
) -> tuple[float, float] | None:
    """Return the 95 % prediction interval of a statistic over `runs` further runs.

    `over` is mean, median, min, max or std, as in `definition.STATISTICS`; `least` is the least
    possible value. None for fewer than `RUNS` values, and for the deviation of one run.
    """
    if len(values) < RUNS or (over == "std" and runs < 2):
        return None
    known = Spread.of(values)
    assert known.std is not None
    if known.std == 0:
        return (0.0, 0.0) if over == "std" else (known.mean, known.mean)
    if over != "mean" and runs > 1:
        return _bootstrap(values, over, runs)
    half = student_t(known.n - 1) * known.std * math.sqrt(1 / runs + 1 / known.n)
    return max(known.mean - half, least), known.mean + half


def _bootstrap(values: Sequence[float], over: str, runs: int) -> tuple[float, float]:
    """Return the interval of a statistic other than the mean over `runs` further runs."""
    import numpy as np

    # Sorted, so that the interval does not depend on the order of seeds.
    known, draw = np.sort(np.asarray(values, dtype=float)), np.random.default_rng(0)
    found = []
    for _ in range(DRAWS // AT_ONCE):
        ours = draw.integers(0, known.size, (AT_ONCE, known.size))
        further = known[np.take_along_axis(ours, draw.integers(0, known.size, (AT_ONCE, runs)), 1)]
        if over == "std":
            found.append(further.std(axis=1, ddof=1))
        else:
            found.append(getattr(np, over)(further, axis=1))
    low, high = np.quantile(np.concatenate(found), (0.025, 0.975))
    return float(low), float(high)
