"""Prepares the points of a sweep for charts and sentences, so that both agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.numbers.metrics import unit_of
from backwater.sweep.effects import Analysis, Rank, effects, ranks
from backwater.sweep.findings import Design, designs, spread_json, takes
from backwater.sweep.values import shown
from backwater.sweep.words import interval
from backwater.wording import digits, many, series, unit_beside, with_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.sweep.dataset import Sweep

BASE = "base"


@dataclass(frozen=True)
class Cells:
    """The means of a metric over two keys."""

    means: dict[tuple[Any, Any], float]
    over: str
    """The other varied keys that the means cover, in words; empty: none."""


@dataclass(frozen=True)
class Depends:
    """The dependence of a metric on keys, over the points of one variant."""

    variant: str
    """Empty if the sweep has one variant only."""
    analysis: Analysis | None
    """The analysis of a full factorial; None for other points."""
    ranks: list[Rank]
    """The rank correlations of other points."""


class SweepPoints:
    """The points of a sweep; those of bases are separate."""

    def __init__(self, sweep: Sweep) -> None:
        """Read the points. Raises `ResultError`."""
        beside = set(sweep.manifest.get("beside") or ())
        rows = sweep.points.to_pylist()
        self._rows = [row for row in rows if row["point"] not in beside]
        self.keys = [axis["key"] for axis in sweep.manifest["axes"]]
        self.units = {column.name: column.unit for column in sweep.columns}
        self.metrics = [column.name for column in sweep.columns if column.role == "metric"]
        self.answer: Mapping[str, Any] | None = sweep.manifest.get("answer")
        self._asked: list[str] = list(sweep.manifest.get("metrics") or ())
        found = designs(self._rows, self.keys)
        # The table has the points in the order of their ids, which has no meaning.
        self.designs = sorted(found, key=lambda one: (one.variant, *map(order, one.values)))
        self.variants = list(dict.fromkeys(one.variant for one in self.designs))
        of_base = beside & set((self.answer or {}).get("base_points") or ())
        apart = designs([row for row in rows if row["point"] in of_base], self.keys)
        self.base: Design | None = apart[0] if apart else None
        """The base of the answer, unless it is one of the other points."""
        self.apart = len(rows) - len(self._rows)
        """The number of points that no figure shows: those of this base and of earlier ones."""

    def varied(self) -> list[str]:
        """Return the keys that have several values."""
        return [
            key
            for n, key in enumerate(self.keys)
            if len({one.values[n] for one in self.designs} - {None}) > 1
        ]

    def _usual(self) -> list[str]:
        """Name the metrics of the goal, completion times of jobs and groups, and counts."""
        times = ("max_jct:", "max_fct:")
        wanted = _goal_metrics(self.answer)
        wanted += [name for of in times for name in self.metrics if name.startswith(of)]
        return wanted + [name for name in ("pauses", "drops") if name in self.metrics]

    def telling(self, most: int | None = None) -> list[str]:
        """Name the most informative metrics: at most `most`, but all requested ones.

        Requested metrics come first, even if they do not vary, as that is a result too. Then come
        metrics that vary between points: those of the goal, completion times of jobs and of groups
        of flows, pauses and drops. Without any of these, all metrics that vary.
        """
        asked = list(dict.fromkeys(name for name in self._asked if name in self.metrics))
        usual = [name for name in dict.fromkeys(self._usual()) if name not in asked]
        usual = [name for name in usual if len(self._means(name)) > 1 or self._some(name)]
        names = [*asked, *usual] or self.varying(self.metrics)
        return names if most is None else names[: max(most, len(asked))]

    def varying(self, metrics: Sequence[str]) -> list[str]:
        """Return those of the metrics whose means differ between points."""
        return [name for name in dict.fromkeys(metrics) if len(self._means(name)) > 1]

    def same(self) -> str:
        """Return a phrase that lists requested and usual metrics with one mean at all points.

        Empty without such metrics, or with fewer than two points to compare.
        """
        if self.compared < 2:
            return ""
        known = {name: self._means(name) for name in dict.fromkeys([*self._asked, *self._usual()])}
        parts = [
            " ".join(part for part in (name, digits(value, 6), self.unit(name)) if part)
            for name, means in known.items()
            if len(means) == 1 and not self._lacking(name)
            for value in means
        ]
        return f"the same at every point: {', '.join(parts)}" if parts else ""

    def lacking(self, metrics: Sequence[str]) -> str:
        """Return a phrase that lists metrics without a value at some points; may be empty.

        A point has a value if all of its seeds have one.
        """
        parts = [
            f"{name} at {lacking} of {self.compared}, as it {takes(name)}"
            for name in dict.fromkeys(metrics)
            if (lacking := self._lacking(name))
        ]
        return f"points without a value: {'; '.join(parts)}" if parts else ""

    def _lacking(self, metric: str) -> int:
        """Count the points without failed runs at which a metric has no value."""
        whole = (one for one in self.designs if all(row["status"] == "done" for row in one.rows))
        return sum(one.spread(metric) is None for one in whole)

    def _some(self, metric: str) -> bool:
        """Whether a metric has values at some points and not at others."""
        return bool(self._means(metric)) and bool(self._lacking(metric))

    @property
    def compared(self) -> int:
        """The number of designs whose seeds are all done; a comparison needs two."""
        whole = [all(row["status"] == "done" for row in one.rows) for one in self.designs]
        return sum(whole)

    def unit(self, metric: str) -> str:
        """Return the unit of a metric; empty if its name contains the unit."""
        return unit_beside(metric, self.units.get(metric, ""))

    def _means(self, metric: str) -> set[float]:
        spreads = [one.spread(metric) for one in self.designs]
        return {spread.mean for spread in spreads if spread is not None}

    def table(self, metrics: Sequence[str]) -> tuple[list[str], list[tuple[Design, list[str]]]]:
        """Return column titles, and the row of each design: varied keys, then means of metrics."""
        varied = self.varied()
        variants = ["variant"] if len(self.variants) > 1 else []
        rows = []
        for one in self.designs:
            spreads = [one.spread(metric) for metric in metrics]
            row = [one.variant or "-"] if variants else []
            row += [shown(key, one.values[self.place(key)]) for key in varied]
            row += ["-" if each is None else interval(spread_json(each)) for each in spreads]
            rows.append((one, row))
        return [*variants, *varied, *(with_unit(name, unit_of(name)) for name in metrics)], rows

    def place(self, key: str) -> int:
        """Return the number of a key. Raises `InputError`."""
        if key not in self.keys:
            raise InputError(f"{key}: is not varied", f"varied: {', '.join(self.keys)}")
        return self.keys.index(key)

    def name(self, one: Design, at: int = -1) -> str:
        """Name a design by its varied keys, except the key number `at`."""
        varied = self.varied()
        parts = [one.variant] if len(self.variants) > 1 else []
        parts += [
            f"{key} {shown(key, one.values[n])}"
            for n, key in enumerate(self.keys)
            if n != at and key in varied and one.values[n] is not None
        ]
        return ", ".join(parts) or one.variant or "points"

    def over(self, some: Sequence[Design], drawn: Sequence[int]) -> str:
        """Return what a mean of designs covers: all that varies, except the drawn keys."""
        parts = []
        for n, key in enumerate(self.keys):
            levels = {one.values[n] for one in some} - {None}
            if n not in drawn and len(levels) > 1:
                parts.append(f"{many(len(levels), 'value')} of {key}")
        variants = {one.variant for one in some}
        if len(variants) > 1:
            parts.append(many(len(variants), "variant"))
        seeds = {row["seed"] for one in some for row in one.rows}
        if len(seeds) > 1:
            parts.append(many(len(seeds), "seed"))
        return f"mean over {series(parts)}" if parts else ""

    def cells(self, across: str, up: str, metric: str) -> Cells:
        """Return a metric over two keys. Raises `InputError` if one has fewer than two values."""
        a, b = self.place(across), self.place(up)
        found: dict[tuple[Any, Any], list[float]] = {}
        used = []
        for one in self.designs:
            spread = one.spread(metric)
            if spread is not None and None not in (one.values[a], one.values[b]):
                found.setdefault((one.values[a], one.values[b]), []).append(spread.mean)
                used.append(one)
        if any(len({cell[n] for cell in found}) < 2 for n in (0, 1)):
            raise InputError(f"{across} and {up}: not two values of each with {metric}")
        counts = sorted({len(some) for some in found.values()})
        over = self.over(used, (a, b))
        if len(counts) > 1:
            over += f"; cells have {counts[0]} to {counts[-1]} sets of values"
        return Cells({cell: sum(some) / len(some) for cell, some in found.items()}, over)

    def depends(self, metric: str) -> Depends:
        """Return the dependence of a metric on keys in the first variant with the most points."""
        variant = max(
            self.variants, key=lambda v: sum(one.variant == v for one in self.designs), default=""
        )
        mine = [one for one in self.designs if one.variant == variant]
        analysis = effects(mine, self.keys, metric)
        rest = ranks(mine, self.keys, metric) if analysis is None else []
        return Depends(variant if len(self.variants) > 1 else "", analysis, rest)


def number(value: object) -> bool:
    """Whether a value of a key is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def order(value: object) -> tuple[int, Any]:
    """Return the sort key of a key's value: numbers first, then words."""
    return (0, value) if number(value) else (1, str(value))


def _goal_metrics(answer: Mapping[str, Any] | None) -> list[str]:
    from backwater.sweep.goal import Goal

    return Goal.of(answer["text"]).named if answer else []
