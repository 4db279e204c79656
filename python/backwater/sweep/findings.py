"""What the points of a sweep come to: curves, best points, effects, fronts, differences.

Points of one variant and one set of values are a *design*; its values over the seeds are repeats of
one another. Intervals are 95 % of Student's t over the seeds (`backwater.numbers.repeats`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater.comparison import Difference
from backwater.numbers.repeats import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Design:
    """The points of one variant and one set of values, over the seeds."""

    variant: str
    values: tuple[Any, ...]
    """Of each key, in its base unit; None: the key has no value there."""
    rows: tuple[Mapping[str, Any], ...]

    def by_seed(self, metric: str) -> dict[int, float]:
        """Give a metric's value of each seed that has one."""
        found = {row["seed"]: row.get(metric) for row in self.rows if row["status"] == "done"}
        return {seed: value for seed, value in found.items() if value is not None}

    def spread(self, metric: str) -> Spread | None:
        """Sum a metric up over the seeds; None if a seed has no value of it."""
        values = list(self.by_seed(metric).values())
        return Spread.of(values) if values and len(values) == len(self.rows) else None


def designs(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[Design]:
    """Put the rows of points together by variant and values, in the order in which they come."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["variant"], *(row[key] for key in keys)), []).append(row)
    return [
        Design(variant, tuple(values), tuple(some)) for (variant, *values), some in found.items()
    ]


@dataclass(frozen=True)
class Test:
    """A paired test: the differences of one design against another, seed by seed."""

    metric: str
    value: Spread
    base: Spread
    difference: Difference
    p: float | None
    """Two-sided, of Student's t on the differences; None: they do not vary, or there is one."""
    left_out: tuple[tuple[int, str], ...] = ()
    """Seeds without a part in it, and why."""

    def told(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return {
            "metric": self.metric,
            "value": spread_told(self.value),
            "base": spread_told(self.base),
            "difference": {
                "n": self.difference.n,
                "mean": self.difference.mean,
                "ci_low": self.difference.ci_low,
                "ci_high": self.difference.ci_high,
            },
            "p": self.p,
            "left_out": [{"seed": seed, "why": why} for seed, why in self.left_out],
        }


def spread_told(one: Spread) -> dict[str, Any]:
    """Give a spread as JSON has it."""
    return {"n": one.n, "mean": one.mean, "ci_low": one.ci_low, "ci_high": one.ci_high}


def paired(one: Design, base: Design, metric: str) -> Test | None:
    """Test whether a metric differs between two designs; None if they share no seed."""
    mine, others = one.by_seed(metric), base.by_seed(metric)
    common = sorted(mine.keys() & others.keys())
    difference = Difference.of(mine, others)
    if difference is None:
        return None
    apart = {mine[seed] - others[seed] for seed in common}
    p = None
    if len(common) > 1 and len(apart) > 1:
        from scipy.stats import ttest_rel

        p = float(ttest_rel([mine[s] for s in common], [others[s] for s in common]).pvalue)
    here, there = (Spread.of([some[seed] for seed in common]) for some in (mine, others))
    seeds = sorted({row["seed"] for some in (one, base) for row in some.rows} - {*common})
    left = tuple((seed, _why_left(one, base, seed, metric)) for seed in seeds)
    return Test(metric, here, there, difference, p, left)


def _why_left(one: Design, base: Design, seed: int, metric: str) -> str:
    """Say why a seed makes no pair."""
    told = []
    for some, where in ((one, "here"), (base, "at the base")):
        row = next((row for row in some.rows if row["seed"] == seed), None)
        if row is None:
            told.append(f"not run {where}")
        elif row["status"] != "done":
            told.append(f"failed {where}")
        elif row.get(metric) is None:
            told.append(f"no value {where}")
    return ", ".join(told)


def best(found: Sequence[Design], metric: str, *, least: bool) -> Design | None:
    """Give the design with the least, or greatest, mean of a metric; the first of equal ones."""
    sign = 1.0 if least else -1.0
    known = [(one, spread.mean) for one in found if (spread := one.spread(metric)) is not None]
    return min(known, key=lambda pair: sign * pair[1])[0] if known else None


def front(values: Sequence[Sequence[float]], least: Sequence[bool]) -> list[int]:
    """Give the numbers of those that no other beats: as good in all, and better in one.

    Of two numbers each, in the time of a sort.
    """
    signed = [tuple(v if low else -v for v, low in zip(one, least, strict=True)) for one in values]
    order = sorted(range(len(signed)), key=signed.__getitem__)
    found: list[int] = []
    lowest, last = math.inf, None
    for number in order:
        first, second = signed[number]
        if second < lowest or (second == lowest and first == last):
            found.append(number)
            lowest, last = second, first
    return sorted(found)


@dataclass(frozen=True)
class Effect:
    """How much of what a metric varies is due to one key, or to two together."""

    keys: tuple[str, ...]
    """One: its main effect; two: their interaction."""
    share: float
    """Of the sum of squares of the means of designs about their mean, 0 to 1."""
    low: tuple[Any, float]
    """The value of the key with the least mean, and that mean; of interactions the least one."""
    high: tuple[Any, float]


def effects(found: Sequence[Design], keys: Sequence[str], metric: str) -> list[Effect] | None:
    """Part what a metric varies over a full factorial by keys and by pairs of keys.

    The shares of all keys and pairs, and of what three keys and more do together, make 1 (analysis
    of variance of the means, balanced). None unless all combinations are there, once each.
    """
    cells: dict[tuple[Any, ...], float] = {}
    for one in found:
        spread = one.spread(metric)
        if spread is None or one.values in cells:
            return None
        cells[one.values] = spread.mean
    levels = [sorted({cell[n] for cell in cells}, key=str) for n in range(len(keys))]
    if len(cells) < 2 or math.prod(map(len, levels)) != len(cells):
        return None
    whole = math.fsum(cells.values()) / len(cells)
    total = math.fsum((value - whole) ** 2 for value in cells.values())
    if total <= 0:
        return None
    varied = [n for n, some in enumerate(levels) if len(some) > 1]
    means = {n: _means(cells, (n,)) for n in varied}
    told = [_effect(keys, (n,), means[n], lambda _: whole, cells, total) for n in varied]
    for a, b in itertools.combinations(varied, 2):
        both = _means(cells, (a, b))

        def added(at: tuple[Any, ...], a: int = a, b: int = b) -> float:
            return means[a][at[:1]] + means[b][at[1:]] - whole

        told.append(_effect(keys, (a, b), both, added, cells, total))
    return sorted(told, key=lambda one: -one.share)


def _means(cells: Mapping[tuple[Any, ...], float], at: tuple[int, ...]) -> dict[Any, float]:
    sums: dict[tuple[Any, ...], list[float]] = {}
    for cell, value in cells.items():
        sums.setdefault(tuple(cell[n] for n in at), []).append(value)
    return {level: math.fsum(values) / len(values) for level, values in sums.items()}


def _effect(
    keys: Sequence[str],
    at: tuple[int, ...],
    means: Mapping[tuple[Any, ...], float],
    expected: Any,  # noqa: ANN401 - a function
    cells: Mapping[tuple[Any, ...], float],
    total: float,
) -> Effect:
    each = len(cells) / len(means)
    apart = math.fsum((mean - expected(level)) ** 2 for level, mean in means.items())
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)

    def named(level: tuple[Any, ...]) -> Any:  # noqa: ANN401 - a value of a key
        return level[0] if len(at) == 1 else level

    return Effect(
        tuple(keys[n] for n in at),
        each * apart / total,
        (named(low), means[low]),
        (named(high), means[high]),
    )


@dataclass(frozen=True)
class Rank:
    """How a metric goes with a key over points that are no factorial: Spearman's rank."""

    key: str
    rho: float
    p: float


def ranks(found: Sequence[Design], keys: Sequence[str], metric: str) -> list[Rank]:
    """Correlate a metric with each key of numbers, by ranks, over designs that have both."""
    from scipy.stats import spearmanr

    told = []
    for n, key in enumerate(keys):
        pairs = [
            (one.values[n], spread.mean)
            for one in found
            if isinstance(one.values[n], int | float) and (spread := one.spread(metric)) is not None
        ]
        if len({x for x, _ in pairs}) < 3 or len({y for _, y in pairs}) < 2:
            continue
        rho, p = spearmanr([x for x, _ in pairs], [y for _, y in pairs])
        told.append(Rank(key, float(rho), float(p)))
    return sorted(told, key=lambda one: -abs(one.rho))
