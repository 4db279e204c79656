"""Where one more result of the same kind would lie, judged by our own runs over seeds.

A band says how near a reproduction should come. Whether a published number could have come out of
our own runs is another question, and a prediction interval answers it: of 100 documents whose
model is ours, 95 would print a number inside. Runs are taken as independent draws from a normal
distribution whose mean and variance are known from n of them only (Hahn and Meeker, *Statistical
Intervals*, 1991, section 4.7). For a published statistic over m runs, with our mean x and standard
deviation s:

    one run (m = 1) or mean    x +- t(n - 1; .975) s sqrt(1/m + 1/n)
    standard deviation         s sqrt(F(m - 1, n - 1; .025)) to s sqrt(F(m - 1, n - 1; .975))
    least, greatest            quantiles of draws: variance, mean, then m runs, of which the extreme

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


def interval(
    values: Sequence[float], over: str = "mean", runs: int = 1
) -> tuple[float, float] | None:
    """Give the 95 % prediction interval of a statistic over so many further runs.

    `over` is mean, min, max or std, as in `definition.STATISTICS`. None of fewer than `RUNS`
    values, and of the standard deviation of one run.
    """
    if len(values) < RUNS or (over == "std" and runs < 2):
        return None
    known = Spread.of(values)
    assert known.std is not None
    if known.std == 0:
        return (0.0, 0.0) if over == "std" else (known.mean, known.mean)
    if over == "std":
        # Imported here: it takes a third of a second that only intervals need.
        from scipy.special import fdtri

        low, high = (fdtri(runs - 1, known.n - 1, share) for share in (0.025, 0.975))
        return known.std * math.sqrt(low), known.std * math.sqrt(high)
    if over == "mean" or runs == 1:
        half = student_t(known.n - 1) * known.std * math.sqrt(1 / runs + 1 / known.n)
        return known.mean - half, known.mean + half
    return _extreme(known, over, runs)


def _extreme(known: Spread, over: str, runs: int) -> tuple[float, float]:
    """Give the interval of the least or greatest of so many further runs."""
    import numpy as np
    from scipy.special import ndtri

    assert known.std is not None
    draw = np.random.default_rng(0)
    freedom = known.n - 1
    std = known.std * np.sqrt(freedom / draw.chisquare(freedom, DRAWS))
    mean = known.mean + std / math.sqrt(known.n) * draw.standard_normal(DRAWS)
    # The greatest of m uniform numbers is one such number to the power 1/m.
    greatest = ndtri(draw.random(DRAWS) ** (1 / runs))
    extreme = mean + std * greatest if over == "max" else mean - std * greatest
    low, high = np.quantile(extreme, (0.025, 0.975))
    return float(low), float(high)
