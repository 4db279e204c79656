"""Conclusions from the points of a sweep: best points, fronts, differences.

The points of one variant and one set of values are a *design*; its seeds are repetitions. Intervals
are 95 % of Student's t over the seeds (`backwater.numbers.repeats`).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater.comparison import Difference, apart, unlike
from backwater.errors import InputError
from backwater.numbers.named import reference
from backwater.numbers.repeats import Spread
from backwater.sweep.effects import CLEAR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Design:
    """The points of one variant and one set of values, over the seeds."""

    variant: str
    values: tuple[Any, ...]
    """The value of each key, in its base unit; None: the key has no value there."""
    rows: tuple[Mapping[str, Any], ...]

    def by_seed(self, metric: str) -> dict[int, float]:
        """Return a metric's value by seed, for seeds that have one."""
        found = {row["seed"]: row.get(metric) for row in self.rows if row["status"] == "done"}
        return {seed: value for seed, value in found.items() if value is not None}

    def references(self, metric: str) -> dict[int, float]:
        """Return the reference of a metric by seed, for seeds that have one."""
        return self.by_seed(reference(metric))

    def spread(self, metric: str) -> Spread | None:
        """Return the spread of a metric over the seeds; None if a seed has no value."""
        values = list(self.by_seed(metric).values())
        return Spread.of(values) if values and len(values) == len(self.rows) else None


def designs(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[Design]:
    """Group the rows of points by variant and values, in the order of their first rows."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["variant"], *(row[key] for key in keys)), []).append(row)
    return [
        Design(variant, tuple(values), tuple(some)) for (variant, *values), some in found.items()
    ]


def is_of_flows(name: str) -> bool:
    """Whether a metric covers complete flows only."""
    from backwater.numbers.metrics import metric

    try:
        return metric(name).quantity.of_flows
    except InputError:
        return False


def takes(name: str) -> str:
    """Return what a metric needs to have a value, as in `takes 100 complete flows`."""
    from backwater.numbers.metrics import metric

    try:
        return metric(name).takes()
    except InputError:
        return "is of no run"


@dataclass(frozen=True)
class Test:
    """A paired test of one design against another, seed by seed."""

    metric: str
    value: Spread
    base: Spread
    difference: Difference
    p: float | None
    """Two-sided, from Student's t of the differences; None: fewer than two, or all are equal."""
    left_out: tuple[tuple[int, str], ...] = ()
    """Seeds that are not in the test, and why."""

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON holds it."""
        return {
            "metric": self.metric,
            "value": spread_json(self.value),
            "base": spread_json(self.base),
            "difference": {
                "n": self.difference.n,
                "mean": self.difference.mean,
                "ci_low": self.difference.ci_low,
                "ci_high": self.difference.ci_high,
            },
            "p": self.p,
            "left_out": [{"seed": seed, "why": why} for seed, why in self.left_out],
        }


def spread_json(one: Spread) -> dict[str, Any]:
    """Return a spread as JSON holds it."""
    return {"n": one.n, "mean": one.mean, "ci_low": one.ci_low, "ci_high": one.ci_high}


def paired(one: Design, base: Design, metric: str) -> Test | None:
    """Test whether a metric differs between two designs; None: they share no seed."""
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
    """Return why a seed makes no pair."""
    reasons = []
    for some, where in ((one, "here"), (base, "at the base")):
        row = next((row for row in some.rows if row["seed"] == seed), None)
        if row is None:
            reasons.append(f"not run {where}")
        elif row["status"] != "done":
            reasons.append(f"failed {where}")
        elif row.get(metric) is None:
            reasons.append(f"no value {where}")
    return ", ".join(reasons)


@dataclass(frozen=True)
class Unlike:
    """A metric that cannot rank designs, since its reference differs between them."""

    metric: str
    of: str
    """The reference, in words."""
    unit: str
    least: float
    most: float
    instead: str | None
    """The metric without a reference to use in its place."""

    @staticmethod
    def of_designs(found: Sequence[Design], name: str) -> Unlike | None:
        """Return how far a metric's references differ; None: they do not, or it has none."""
        from backwater.numbers.metrics import metric

        try:
            asked = metric(name)
        except InputError:
            return None
        values = [one.by_seed(name) for one in found]
        ends = apart(asked, values, [one.references(name) for one in found])
        if ends is None or asked.held_against is None:
            return None
        return Unlike(name, *asked.held_against, *ends, asked.instead)

    def as_json(self) -> dict[str, Any]:
        """Return the metric and its references as JSON holds them."""
        return dataclasses.asdict(self)


def referred(found: Sequence[Design], name: str) -> bool:
    """Whether a metric has no reference, or designs have kept it, as they do on request."""
    from backwater.numbers.metrics import metric

    try:
        held = metric(name).held_against is not None
    except InputError:
        return True
    return not held or any(one.references(name) for one in found)


def chosen(
    found: Sequence[Design], wanted: Sequence[tuple[str, bool]]
) -> tuple[list[Design], list[Unlike]]:
    """Choose the best design by one metric, or those that no other beats in two.

    `wanted`: metrics, and whether the least value is sought. All marks of best points use this
    function. If the choice depends on differing references, no design is chosen, and the second
    list has those metrics. A design with a seed without a value is ignored; the first of equal
    designs is the best.
    """
    from backwater.numbers.metrics import metric

    known = [one for one in found if all(one.spread(name) for name, _ in wanted)]
    values = [[one.by_seed(name) for one in known] for name, _ in wanted]
    least = [low for _, low in wanted]

    def numbers(of: Sequence[Sequence[Mapping[int, float]]]) -> list[int]:
        means = [[math.fsum(one.values()) / len(one) for one in some] for some in of]
        if len(means) == 1:
            sign = 1.0 if least[0] else -1.0
            return sorted(range(len(known)), key=lambda n: sign * means[0][n])[:1]
        return front(list(zip(*means, strict=True)), least)

    without = []
    for at, (name, _) in enumerate(wanted):
        differs = Unlike.of_designs(known, name)

        def judge(some: Sequence[Mapping[int, float]], at: int = at) -> list[int]:
            return numbers([*values[:at], some, *values[at + 1 :]])

        against = [one.references(name) for one in known]
        if differs is not None and unlike(metric(name), values[at], against, judge):
            without.append(differs)
    return [] if without else [known[n] for n in numbers(values)], without


def alike(one: Design, others: Sequence[Design], metric: str) -> dict[str, int]:
    """Count the designs that can be tested against one, and those that do not differ from it.

    Designs with equal values for every seed do not differ. One seed shows no noise, so it allows
    no test.
    """
    tests = [test for other in others if (test := paired(one, other, metric)) is not None]
    tested = [test for test in tests if test.difference.n > 1]
    same = sum(test.difference.mean == 0 if test.p is None else test.p >= CLEAR for test in tested)
    return {"tested": len(tested), "alike": same}


def front(values: Sequence[Sequence[float]], least: Sequence[bool]) -> list[int]:
    """Return the numbers of the pairs that no other beats: as good in both, and better in one.

    The time is that of a sort.
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
