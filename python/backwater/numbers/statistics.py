"""Statistics of the values of one quantity in one run, such as completion times.

Values are indexed in ascending order, in a list or in files, so that a percentile reads only two of
them. It is interpolated linearly: with n values, the quantile q is at index (n - 1) q, counted from
0 (type 7 of Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996).
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

from backwater.samples import has, share_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    class Searched(Protocol):
        """Values that are searched for by their index in ascending order."""

        def __len__(self) -> int:
            """Return the number of values."""

        def __iter__(self) -> Iterator[float]:
            """Iterate over the values in any order."""

        def __getitem__(self, place: int) -> float:
            """Return the value at an index in ascending order; below 0, from the end."""

    Ordered = Sequence[float] | Sequence[int] | Searched

NAMES = ("mean", "median", "min", "max", "std", "variance")
"""Statistics beside percentiles such as `p99`."""

REPORTED = ("mean", "p50", "p99", "min", "max")
"""Statistics that reports show of the values of a group."""


def quantile(ordered: Ordered, share: float) -> float:
    """Return the quantile `share` (0 to 1) of at least one value."""
    place = share * (len(ordered) - 1)
    low = int(place)
    rest = place - low
    if not rest:
        return float(ordered[low])
    return (1 - rest) * ordered[low] + rest * ordered[low + 1]


def places(count: int) -> list[int]:
    """Return the indices that the statistics `REPORTED` read of `count` values, at least one."""
    shares = [0.0, 1.0, *(share for name in REPORTED if (share := share_of(name)) is not None)]
    lower = [int(share * (count - 1)) for share in shares]
    return sorted({min(place, count - 1) for low in lower for place in (low, low + 1)})


def statistic(ordered: Ordered, name: str) -> float:
    """Return a statistic of at least one value by its name. Raises `ValueError` for other names."""
    if (share := share_of(name)) is not None:
        return quantile(ordered, share)
    if name == "mean":
        return fmean(ordered)
    if name == "median":
        return quantile(ordered, 0.5)
    if name in ("min", "max"):
        return float(ordered[0 if name == "min" else -1])
    if name not in NAMES:
        raise ValueError(f"{name!r} is no statistic")
    middle = fmean(ordered)
    # The variance of a sample: divided by n - 1.
    variance = math.fsum((value - middle) ** 2 for value in ordered) / max(1, len(ordered) - 1)
    return variance if name == "variance" else math.sqrt(variance)


def jain(values: Ordered) -> float:
    """Return Jain's index of n rates x, (sum x)^2 / (n sum x^2): 1 if all are equal, at least 1/n.

    Raj Jain, Dah-Ming Chiu and William Hawe, A Quantitative Measure of Fairness and Discrimination
    for Resource Allocation in Shared Computer Systems, DEC-TR-301, 1984.
    At least one rate is above 0.
    """
    return math.fsum(values) ** 2 / (len(values) * math.fsum(value**2 for value in values))


def spread(ordered: Ordered, divisor: float = 1.0) -> dict[str, Any] | None:
    """Return the statistics `REPORTED` of values, divided by `divisor`; None without values.

    A percentile of too few values is None (`backwater.samples`); `n` is their number.
    """
    count = len(ordered)
    if count == 0:
        return None
    found: dict[str, Any] = {
        name: None
        if (share := share_of(name)) is not None and not has(share, count)
        else statistic(ordered, name) / divisor
        for name in REPORTED
    }
    return found | {"n": count}
