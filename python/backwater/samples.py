"""How many samples a statistic needs to be reported: for percentiles and winners alike.

The percentile of share q is meaningful only if at least one sample lies beyond it. So it needs
1 / (1 - q) samples (p99: 100), and below the median 1 / q. From fewer, interpolation returns little
but the greatest or the least sample under another name. Any samples have a median.

A winner needs `PAIRS` seeds common to all scenarios, and a difference of at least a share (`LEAST`,
unless the user names another) of the greater value: with enough seeds, any difference is
significant.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

MOST_SEEDS = 100_000
"""Most seeds of a series: more are a mistake, and are refused at once."""
PAIRS = 5
"""Common seeds that a winner needs."""


def too_few(seeds: int) -> str | None:
    """Return a message that so few seeds cannot name a winner; None: they can."""
    if seeds >= PAIRS:
        return None
    these = "One seed is" if seeds == 1 else f"{seeds} seeds are"
    return f"{these} too few to name a winner: --seeds {PAIRS} or more."


RUNS = 5
"""Runs that a prediction interval needs: with two, nearly any value lies within it."""
INTERVAL = 3
"""Seeds that a claim about the interval of a mean needs. One seed has no interval. With two it is
nine standard deviations either way (Student's t of one degree of freedom is 12.7), which is of no
use; with three it is two and a half."""
LEAST = 0.01
"""The least difference that matters, as a share of the greater value."""

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")


@lru_cache
def share_of(statistic: str) -> float | None:
    """Return the share below a percentile, such as 0.99 for `p99`; None for other statistics."""
    match = _PERCENTILE.fullmatch(statistic)
    share = None if match is None else float(match[1]) / 100
    return share if share is not None and share <= 1 else None


def needed(share: float, beyond: int = 1) -> int:
    """Return how many samples a share's percentile needs, with `beyond` beyond it: 100 for 0.99."""
    rest = min(share, 1 - share)
    # p0 and p100 are the least and the greatest sample. Decimals such as 0.999 are not exact.
    return 1 if share == 0.5 or rest <= 0 else math.ceil(beyond / rest - 1e-6)


def has(share: float, count: int) -> bool:
    """Return whether `count` samples suffice for the percentile of a share."""
    return count >= needed(share)


def why_not(statistic: str, count: int, what: str = "samples") -> str | None:
    """Return why samples are too few: `p99 of 3 flows: it takes 100`; None: they suffice."""
    share = share_of(statistic)
    least = 1 if share is None else needed(share)
    return None if count >= least else f"{statistic} of {count} {what}: it takes {least}"
