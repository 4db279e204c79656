"""How many samples a number needs before it is told: the one place for percentiles and winners.

The percentile of share q is a sample of its own only if at least one lies beyond it: it needs
1 / (1 - q) samples, p99 100 of them, and below the median 1 / q. Of fewer, interpolation gives
little but the greatest or the least one under another name. Any sample has a median.

A winner needs `PAIRS` seeds that all scenarios have run, and a difference of at least a share
(`LEAST`, unless the user says otherwise) of the greater of both values: with enough seeds any
difference is significant.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

MOST_SEEDS = 100_000
"""More seeds than anybody means: refused before anything is built of them."""
PAIRS = 5
"""Paired seeds that a winner needs."""


def too_few(seeds: int) -> str | None:
    """Say that so few seeds name no winner; None: they may."""
    if seeds >= PAIRS:
        return None
    these = "One seed is" if seeds == 1 else f"{seeds} seeds are"
    return f"{these} too few to name a winner: --seeds {PAIRS} or more."


RUNS = 5
"""Runs of our own that a prediction interval needs: with two it holds nearly everything."""
INTERVAL = 3
"""Seeds that a claim needs which rests on the interval of a mean. One seed has no interval. That
of two is nine standard deviations either way (Student's t of one degree of freedom is 12.7), by
which nothing can be told; that of three is two and a half."""
LEAST = 0.01
"""The difference that matters, as a share of the greater value."""

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")


@lru_cache
def share_of(statistic: str) -> float | None:
    """Give the share below a percentile, 0.99 of `p99`; None of any other statistic."""
    match = _PERCENTILE.fullmatch(statistic)
    share = None if match is None else float(match[1]) / 100
    return share if share is not None and share <= 1 else None


def needed(share: float, beyond: int = 1) -> int:
    """Give how many samples the percentile of a share needs for so many beyond it, 100 of 0.99."""
    rest = min(share, 1 - share)
    # p0 and p100 are the least and the greatest one, and decimals such as 0.999 are not exact.
    return 1 if share == 0.5 or rest <= 0 else math.ceil(beyond / rest - 1e-6)


def has(share: float, count: int) -> bool:
    """Whether so many samples have the percentile of a share."""
    return count >= needed(share)


def why_not(statistic: str, count: int, what: str = "samples") -> str | None:
    """Say why so many samples have no such statistic: `p99 of 3 flows: it takes 100`."""
    share = share_of(statistic)
    least = 1 if share is None else needed(share)
    return None if count >= least else f"{statistic} of {count} {what}: it takes {least}"
