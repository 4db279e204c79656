"""Statistics of the values that one run has of something, such as completion times.

Values are found by their place in ascending order, in a list or in files, so that a percentile
looks at two of them. One that lies between two is interpolated linearly: of n values that of share
q is at (n - 1) q, counted from 0 (type 7 of Hyndman and Fan, Sample Quantiles in Statistical
Packages, 1996).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from backwater.samples import has, share_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    class Searched(Protocol):
        """Values that are looked for by their place."""

        def __len__(self) -> int:
            """Give their number."""

        def __iter__(self) -> Iterator[float]:
            """Go through them in any order."""

        def __getitem__(self, place: int) -> float:
            """Give one by its place in ascending order, from the end below 0."""

    Ordered = Sequence[float] | Sequence[int] | Searched

NAMES = ("mean", "median", "min", "max", "std", "variance")
"""Statistics beside percentiles such as `p99`."""

TOLD = ("mean", "p50", "p99", "min", "max")
"""What is told of the values of a group."""


def mean(values: Ordered) -> float:
    """Give the mean of at least one value."""
    return math.fsum(values) / len(values)


def quantile(ordered: Ordered, share: float) -> float:
    """Give the quantile of a share of at least one value."""
    place = share * (len(ordered) - 1)
    low = int(place)
    rest = place - low
    if not rest:
        return float(ordered[low])
    return (1 - rest) * ordered[low] + rest * ordered[low + 1]


def places(count: int) -> list[int]:
    """Say where in so many values, at least one, the statistics look that are told."""
    shares = [0.0, 1.0, *(share for name in TOLD if (share := share_of(name)) is not None)]
    lower = [int(share * (count - 1)) for share in shares]
    return sorted({min(place, count - 1) for low in lower for place in (low, low + 1)})


def statistic(ordered: Ordered, name: str) -> float:
    """Give a statistic of at least one value by its name; `ValueError` if there is none such."""
    if (share := share_of(name)) is not None:
        return quantile(ordered, share)
    if name == "mean":
        return mean(ordered)
    if name == "median":
        return quantile(ordered, 0.5)
    if name in ("min", "max"):
        return float(ordered[0 if name == "min" else -1])
    if name not in NAMES:
        raise ValueError(f"{name!r} is no statistic")
    middle = mean(ordered)
    # Of the sample: divided by one less than there are.
    variance = math.fsum((value - middle) ** 2 for value in ordered) / max(1, len(ordered) - 1)
    return variance if name == "variance" else math.sqrt(variance)


def jain(values: Ordered) -> float:
    """Give Jain's index of n rates x, (sum x)^2 / (n sum x^2): 1 if all are the same, down to 1/n.

    Raj Jain, Dah-Ming Chiu and William Hawe, A Quantitative Measure of Fairness and Discrimination
    for Resource Allocation in Shared Computer Systems, DEC-TR-301, 1984. At least one is above 0.
    """
    return math.fsum(values) ** 2 / (len(values) * math.fsum(value**2 for value in values))


def spread(ordered: Ordered, divisor: float = 1.0) -> dict[str, Any] | None:
    """Give mean, median, 99th percentile, least and greatest over a divisor; None of nothing.

    A percentile of too few values is None (`backwater.samples`); `n` says how many they are.
    """
    count = len(ordered)
    if count == 0:
        return None
    told: dict[str, Any] = {
        name: None
        if (share := share_of(name)) is not None and not has(share, count)
        else statistic(ordered, name) / divisor
        for name in TOLD
    }
    return told | {"n": count}
