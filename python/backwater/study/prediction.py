"""Where one more result of the same kind would lie, judged by our own runs over seeds.

A band says how near a reproduction should come. Whether a published number could have come out of
our own runs is another question, and a prediction interval answers it: of 100 documents whose
model is ours, 95 would print a number inside.

One run, and the mean of m runs: runs are taken as independent draws from a normal distribution
whose mean and variance are known from n of them only (Hahn and Meeker, *Statistical Intervals*,
1991, section 4.7): x +- t(n - 1; .975) s sqrt(1/m + 1/n), with our mean x and deviation s.

Least, greatest, median and standard deviation of m runs depend on the shape of the law, and a
normal one may be plainly wrong: the fairness index of 2006 cannot be below 0. They are taken from a
bootstrap of our own values (Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993): what
is known of the law is redrawn (n of our n values, with replacement), m runs are drawn from that,
and so 20 000 times. Such an interval never reaches beyond our own least and greatest value. With m
further runs one of them does so with a chance of m / (n + m): for extremes fewer than 95 of 100
documents lie inside, of as many runs as ours about a half. "Outside" means beyond what we have
seen, no more.

A printed number stands for all values that round to it, so the interval is half of its last digit
wider on either side: where our runs do not vary, the rounding counts.
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
"""Draws in memory at a time."""


def interval(
    values: Sequence[float], over: str = "mean", runs: int = 1, least: float = float("-inf")
) -> tuple[float, float] | None:
    """Give the 95 % prediction interval of a statistic over so many further runs.

    `over` is mean, median, min, max or std, as in `definition.STATISTICS`; `least` is the least
    value that is possible. None of fewer than `RUNS` values, and of the deviation of one run.
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
    """Give the interval of a statistic other than the mean of so many further runs."""
    import numpy as np

    # Sorted: the interval must not depend on the order of seeds.
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
