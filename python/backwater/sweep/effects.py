"""What a metric depends on, over the points of a sweep, and what of it is no more than noise.

Of a full factorial: analysis of variance by keys and pairs of keys. All points have the same seeds,
so a seed is a block: what it adds at every point is no noise, and what is left within points is.
Of other points: Spearman's rank correlations, each with the p of a permutation test where points
are few. Every p is corrected for how many there are, by the procedure of Benjamini and Hochberg; an
effect with 5 % or more is not told from noise.
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
"""An effect whose p is below is told from noise."""
# So many last bits of the greatest value are what rounding leaves in a difference.
_BITS = 8
# From so many points on, Student's t is close to the distribution of a rank correlation.
_MANY = 30


@dataclass(frozen=True)
class Effect:
    """How much of what a metric varies is due to one key, or to two together."""

    keys: tuple[str, ...]
    """One: its main effect; two: their interaction."""
    share: float
    """Of the variance but for that of seeds, 0 to 1, less what noise adds to it (omega squared)."""
    p: float | None
    """Of the F test, corrected; None: there is one seed, and what is noise is not known."""
    low: tuple[Any, float]
    """The value of the key with the least mean, and that mean; of interactions the least one."""
    high: tuple[Any, float]

    @property
    def clear(self) -> bool:
        """Whether it is told from noise."""
        return self.p is not None and self.p < CLEAR


@dataclass(frozen=True)
class Analysis:
    """What a metric depends on over a full factorial."""

    effects: list[Effect]
    """The clear ones first, the largest first."""
    seeds: int
    """Seeds that all points have."""


def effects(found: Sequence[Design], keys: Sequence[str], metric: str) -> Analysis | None:
    """Part what a metric varies over a full factorial by keys and by pairs of keys.

    None unless all combinations are there, once each, with the metric at all of their seeds, and
    at least one seed in common; and if the metric does not vary.
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
    told = [
        Effect(tuple(keys[n] for n in part.at), table.share(part), p, part.low, part.high)
        for part, p in zip(parts, table.tested(parts), strict=True)
    ]
    return Analysis(sorted(told, key=lambda one: (not one.clear, -one.share)), len(seeds))


@dataclass(frozen=True)
class _Part:
    """A part of the sum of squares: of a key, or of two beyond the sum of both."""

    at: tuple[int, ...]
    squares: float
    freedom: int
    low: tuple[Any, float]
    high: tuple[Any, float]


class _Table:
    """Values of a metric by cells and seeds, and their sums of squares."""

    def __init__(self, cells: Mapping[tuple[Any, ...], Sequence[float]]) -> None:
        self._seeds = len(next(iter(cells.values())))
        self._cells = {cell: math.fsum(some) / self._seeds for cell, some in cells.items()}
        self._mean = math.fsum(self._cells.values()) / len(cells)
        blocks = [math.fsum(some) / len(cells) for some in zip(*cells.values(), strict=True)]
        greatest = max(abs(value) for some in cells.values() for value in some)
        bit = _BITS * sys.float_info.epsilon * greatest
        # Sums of squares up to this are none.
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
        """The mean square of what is left within points."""
        return self._rest / self._freedom if self._freedom else 0.0

    def part(self, at: tuple[int, ...]) -> _Part:
        """Give the part of one key, or of two beyond the sum of both."""
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
        """Give the share of a part: omega squared, which is 0 on average of noise alone."""
        over = part.squares - part.freedom * self._noise
        return max(0.0, over / (self.between + self._rest + self._noise))

    def tested(self, parts: Sequence[_Part]) -> list[float | None]:
        """Give the p of each part, of F tests against what is left within points."""
        if not self._freedom:
            return [None] * len(parts)
        from scipy.special import fdtrc

        found = []
        for part in parts:
            if self._noise:
                ratio = part.squares / part.freedom / self._noise
                found.append(float(fdtrc(part.freedom, self._freedom, ratio)))
            else:
                # No seed changes anything: whatever differs does.
                found.append(0.0 if part.squares else 1.0)
        return list(corrected(found))


def corrected(p: Sequence[float]) -> list[float]:
    """Correct several p for each other: of those below 5 % then 5 % are false, on average."""
    from scipy.stats import false_discovery_control

    return [float(one) for one in false_discovery_control(p)] if p else []


@dataclass(frozen=True)
class Rank:
    """How a metric goes with a key over points that are no factorial: Spearman's rank."""

    key: str
    rho: float
    p: float
    """Corrected for the number of keys."""

    @property
    def clear(self) -> bool:
        """Whether it is told from noise."""
        return self.p < CLEAR


def ranks(found: Sequence[Design], keys: Sequence[str], metric: str) -> list[Rank]:
    """Correlate a metric with each key of numbers, by ranks, over designs that have both."""
    told = []
    for n, key in enumerate(keys):
        pairs = [
            (one.values[n], spread.mean)
            for one in found
            if isinstance(one.values[n], int | float) and (spread := one.spread(metric)) is not None
        ]
        if len({x for x, _ in pairs}) < 2 or len({y for _, y in pairs}) < 2:
            continue
        told.append((key, *_rank([x for x, _ in pairs], [y for _, y in pairs])))
    adjusted = corrected([p for _, _, p in told])
    some = [Rank(key, rho, p) for (key, rho, _), p in zip(told, adjusted, strict=True)]
    return sorted(some, key=lambda one: (not one.clear, -abs(one.rho)))


def _rank(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Give the rank correlation and its p: of all orders, or 9,999 of them, how many are as far."""
    from scipy.stats import permutation_test, rankdata, spearmanr

    if len(x) >= _MANY:
        rho, p = spearmanr(x, y)
        return float(rho), float(p)
    by_x, by_y = rankdata(x), rankdata(y)
    apart, below = by_x - by_x.mean(), by_y - by_y.mean()
    scale = math.sqrt((apart**2).sum() * (below**2).sum())

    def far(order: Any, axis: int = -1) -> Any:  # noqa: ANN401 - arrays of numpy
        # As far on either side: the p of two sides is twice that of the one, also where ties leave
        # no order that is as far on the other.
        return abs(((order - by_x.mean()) * below).sum(axis=axis)) / scale

    found = permutation_test(
        (by_x,), far, permutation_type="pairings", alternative="greater", rng=1
    )
    return float((apart * below).sum() / scale), float(found.pvalue)


def written(p: float) -> str:
    """Write a p for people."""
    return "p < 0.001" if p < 0.001 else f"p = {chance(p)}"
