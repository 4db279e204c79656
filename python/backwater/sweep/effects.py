"""Which keys a metric depends on over the points of a sweep, and which effects may be noise.

A full factorial gets an analysis of variance by keys and pairs of keys. All points have the same
seeds, so a seed is a block: its mean effect is no noise, and what remains within points is. Other
points get Spearman's rank correlations; if points are few, p is that of a permutation test. The
procedure of Benjamini and Hochberg corrects every p for the number of tests. An effect whose p is
5 % or more does not differ clearly from noise.
"""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater.wording import chance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.sweep.findings import Design

CLEAR = 0.05
"""An effect whose p is below this differs clearly from noise."""
# Rounding may change this many last bits of the greatest value.
_BITS = 8
# From this many points on, Student's t approximates the distribution of a rank correlation.
_MANY = 30


@dataclass(frozen=True)
class Effect:
    """The share of a metric's variance that one key, or two together, explain."""

    keys: tuple[str, ...]
    """One key: its main effect. Two: their interaction."""
    share: float
    """Omega squared, 0 to 1: share of the variance without that of seeds, corrected for noise."""
    p: float | None
    """The corrected p of the F test; None: one seed, so the noise is unknown."""
    low: tuple[Any, float]
    """The level with the least mean, and that mean: a value, or two of an interaction."""
    high: tuple[Any, float]

    @property
    def clear(self) -> bool:
        """Whether the effect differs clearly from noise."""
        return self.p is not None and self.p < CLEAR


@dataclass(frozen=True)
class Analysis:
    """The effects on a metric over a full factorial."""

    effects: list[Effect]
    """Clear effects first, then by share, the largest first."""
    seeds: int
    """The number of seeds that all points share."""


def effects(found: Sequence[Design], keys: Sequence[str], metric: str) -> Analysis | None:
    """Divide a metric's variance over a full factorial by keys and by pairs of keys.

    None if a combination is missing or occurs twice, if a seed has no value of the metric, if no
    seed is common to all points, or if the metric does not vary.
    """
    cells: dict[tuple[Any, ...], dict[int, float]] = {}
    for one in found:
        values = one.by_seed(metric)
        if len(values) < len(one.rows) or not values or one.values in cells:
            return None
        cells[one.values] = values
    levels = [{cell[n] for cell in cells} for n in range(len(keys))]
    if len(cells) < 2 or math.prod(map(len, levels)) != len(cells):
        return None
    seeds = sorted(set.intersection(*(set(values) for values in cells.values())))
    if not seeds:
        return None
    table = _Table({cell: [values[s] for s in seeds] for cell, values in cells.items()})
    if table.between <= 0:
        return None
    varied = [n for n, some in enumerate(levels) if len(some) > 1]
    parts = [table.part((n,)) for n in varied]
    parts += [table.part(pair) for pair in itertools.combinations(varied, 2)]
    tested = [
        Effect(tuple(keys[n] for n in part.at), table.share(part), p, part.low, part.high)
        for part, p in zip(parts, table.tested(parts), strict=True)
    ]
    return Analysis(sorted(tested, key=lambda one: (not one.clear, -one.share)), len(seeds))


@dataclass(frozen=True)
class _Part:
    """A part of the sum of squares: that of a key, or the interaction of two."""

    at: tuple[int, ...]
    squares: float
    freedom: int
    low: tuple[Any, float]
    high: tuple[Any, float]


class _Table:
    """Values of a metric by cell and seed, and their sums of squares."""

    def __init__(self, cells: Mapping[tuple[Any, ...], Sequence[float]]) -> None:
        self._seeds = len(next(iter(cells.values())))
        self._cells = {cell: math.fsum(some) / self._seeds for cell, some in cells.items()}
        self._mean = math.fsum(self._cells.values()) / len(cells)
        blocks = [math.fsum(some) / len(cells) for some in zip(*cells.values(), strict=True)]
        greatest = max(abs(value) for some in cells.values() for value in some)
        bit = _BITS * sys.float_info.epsilon * greatest
        # Sums of squares up to this count as zero.
        self._none = self._seeds * len(cells) * bit**2
        self.between = self._seen(
            self._seeds * math.fsum((mean - self._mean) ** 2 for mean in self._cells.values())
        )
        self._rest = self._seen(
            math.fsum(
                (value - self._cells[cell] - block + self._mean) ** 2
                for cell, some in cells.items()
                for value, block in zip(some, blocks, strict=True)
            )
        )
        self._freedom = (len(cells) - 1) * (self._seeds - 1)

    def _seen(self, squares: float) -> float:
        return squares if squares > self._none else 0.0

    @property
    def _noise(self) -> float:
        """The mean square within points, without seeds."""
        return self._rest / self._freedom if self._freedom else 0.0

    def part(self, at: tuple[int, ...]) -> _Part:
        """Return the part of one key, or of the interaction of two."""
        means = self._means(at)
        apart = {level: mean - self._mean for level, mean in means.items()}
        for one in at if len(at) > 1 else ():
            alone = self._means((one,))
            for level in apart:
                apart[level] -= alone[level[at.index(one)],] - self._mean
        each = self._seeds * len(self._cells) / len(means)
        freedom = math.prod(len({level[n] for level in means}) - 1 for n in range(len(at)))
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        ends = [(level[0] if len(at) == 1 else level, means[level]) for level in (low, high)]
        squares = self._seen(each * math.fsum(value**2 for value in apart.values()))
        return _Part(at, squares, freedom, ends[0], ends[1])

    def _means(self, at: tuple[int, ...]) -> dict[tuple[Any, ...], float]:
        sums: dict[tuple[Any, ...], list[float]] = {}
        for cell, value in self._cells.items():
            sums.setdefault(tuple(cell[n] for n in at), []).append(value)
        return {level: math.fsum(values) / len(values) for level, values in sums.items()}

    def share(self, part: _Part) -> float:
        """Return the share of a part: omega squared, whose mean is 0 for pure noise."""
        over = part.squares - part.freedom * self._noise
        return max(0.0, over / (self.between + self._rest + self._noise))

    def tested(self, parts: Sequence[_Part]) -> list[float | None]:
        """Return the p of each part, from F tests against the mean square within points."""
        if not self._freedom:
            return [None] * len(parts)
        from scipy.special import fdtrc

        found = []
        for part in parts:
            if self._noise:
                ratio = part.squares / part.freedom / self._noise
                found.append(float(fdtrc(part.freedom, self._freedom, ratio)))
            else:
                # No seed changes anything, so every difference is an effect.
                found.append(0.0 if part.squares else 1.0)
        return list(corrected(found))


def corrected(p: Sequence[float]) -> list[float]:
    """Correct several p for their number: at most 5 % of those below 5 % are false, on average."""
    from scipy.stats import false_discovery_control

    return [float(one) for one in false_discovery_control(p)] if p else []


@dataclass(frozen=True)
class Rank:
    """Spearman's rank correlation of a metric with a key, over points that are no factorial."""

    key: str
    rho: float
    p: float
    """Corrected for the number of keys."""

    @property
    def clear(self) -> bool:
        """Whether the correlation differs clearly from noise."""
        return self.p < CLEAR


def ranks(found: Sequence[Design], keys: Sequence[str], metric: str) -> list[Rank]:
    """Correlate a metric by ranks with each numeric key, over designs with values of both."""
    correlations = []
    for n, key in enumerate(keys):
        pairs = [
            (one.values[n], spread.mean)
            for one in found
            if isinstance(one.values[n], int | float) and (spread := one.spread(metric)) is not None
        ]
        if len({x for x, _ in pairs}) < 2 or len({y for _, y in pairs}) < 2:
            continue
        correlations.append((key, *_rank([x for x, _ in pairs], [y for _, y in pairs])))
    adjusted = corrected([p for _, _, p in correlations])
    some = [Rank(key, rho, p) for (key, rho, _), p in zip(correlations, adjusted, strict=True)]
    return sorted(some, key=lambda one: (not one.clear, -abs(one.rho)))


def _rank(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return the rank correlation and its p: the share of all, or 9,999, orders as extreme."""
    from scipy.stats import permutation_test, rankdata, spearmanr

    if len(x) >= _MANY:
        rho, p = spearmanr(x, y)
        return float(rho), float(p)
    by_x, by_y = rankdata(x), rankdata(y)
    apart, below = by_x - by_x.mean(), by_y - by_y.mean()
    scale = math.sqrt((apart**2).sum() * (below**2).sum())

    def far(order: Any, axis: int = -1) -> Any:  # noqa: ANN401 - arrays of numpy
        # The absolute value makes the test two-sided. Twice the p of one side would be wrong if
        # ties leave no order as extreme on the other side.
        return abs(((order - by_x.mean()) * below).sum(axis=axis)) / scale

    found = permutation_test(
        (by_x,), far, permutation_type="pairings", alternative="greater", rng=1
    )
    return float((apart * below).sum() / scale), float(found.pvalue)


def written(p: float) -> str:
    """Format a p for people."""
    return "p < 0.001" if p < 0.001 else f"p = {chance(p)}"
