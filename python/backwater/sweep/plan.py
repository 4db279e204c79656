"""The points of a sweep: their variants, values and seeds, and which points conditions exclude.

Variant, values and seed alone identify a point, so values and seeds that are added later add points
and change none. A key of a mechanism that is off at a point has no value there. Points that differ
in nothing else are one: a threshold of SFC multiplies no runs of a baseline without SFC.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.sweep.values import MOST, Axis, Value, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from backwater.scenario import Scenario

ALONE = ""
"""The name for a scenario without a variant."""
# The most combinations of switches to search for keys without effect.
_COMBINATIONS = 256


@dataclass(frozen=True)
class Point:
    """One run of a sweep."""

    id: str
    """16 hexadecimal digits, a hash of variant, values and seed."""
    variant: str
    values: tuple[int, ...]
    """The number of the value on each axis; -1: the key belongs to a mechanism that is off."""
    seed: int


@dataclass(frozen=True)
class Sampling:
    """Random points in place of all combinations."""

    how: str
    """`random` or `lhs`, a Latin hypercube."""
    count: int
    seed: int

    @staticmethod
    def of(text: str, seed: int) -> Sampling:
        """Read `random N` or `lhs N`. Raises `InputError`."""
        match = re.fullmatch(r"\s*(random|lhs)[\s:]+(\d+)\s*", text)
        if match is None or not 1 <= int(match[2]) <= MOST:
            raise InputError(
                f"--sample {text}: not of the form `random N` or `lhs N`, N from 1 to {MOST}",
                '--sample "lhs 200" draws a Latin hypercube of 200 points',
            )
        return Sampling(match[1], int(match[2]), seed)

    def shares(self, dimensions: int) -> list[list[float]]:
        """Draw a number from 0 to 1 for each sample and dimension."""
        if self.how == "lhs":
            from scipy.stats import qmc

            drawn = qmc.LatinHypercube(dimensions, rng=self.seed).random(self.count)
        else:
            import numpy as np

            drawn = np.random.default_rng(self.seed).random((self.count, dimensions))
        shares: list[list[float]] = drawn.tolist()
        return shares


@dataclass(frozen=True)
class Plan:
    """The axes of a sweep, and how their values combine."""

    scenarios: Mapping[str, Scenario]
    """The scenario of each variant, without values of the axes."""
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    zipped: tuple[tuple[str, ...], ...] = ()
    """Groups of keys whose values go together: the first of one with the first of the others."""
    sampling: Sampling | None = None
    where: tuple[str, ...] = ()
    """Conditions that must all hold."""
    searched: bool = False
    """Whether a search chooses points: intervals need no samples, and `points` has one each."""

    def __post_init__(self) -> None:
        """Refuse contradictory requests. Raises `InputError`."""
        if len(self.seeds) != len(set(self.seeds)):
            raise InputError("--seeds: names a seed more than once", "as in --seeds 1..10")
        keys = [axis.key for axis in self.axes]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise InputError(f"--vary {twice}: is given twice", "name all its values in one --vary")
        names = [key for group in self.zipped for key in group]
        for key in names:
            if key not in keys:
                raise InputError(f"--zip {key}: is not varied", f"add --vary {key}=...")
            if names.count(key) > 1:
                raise InputError(f"--zip {key}: is in more than one group")
        for group in self.zipped:
            lengths = {axis.key: len(axis.values) for axis in self.axes if axis.key in group}
            if len(set(lengths.values())) > 1:
                counts = ", ".join(f"{key} has {many}" for key, many in lengths.items())
                raise InputError(
                    f"--zip {','.join(group)}: numbers of values differ: {counts}",
                    "keys that go together need equally many values",
                )
        if self.sampling is not None and self.zipped:
            raise InputError("--zip and --sample exclude each other", "samples draw each key alone")
        if self.sampling is not None and not self.axes:
            raise InputError("--sample: nothing is varied", "add --vary KEY=A..B")
        if self.sampling is None and not self.searched:
            for axis in self.axes:
                if axis.interval is not None:
                    low, high = axis.values
                    raise InputError(
                        f"--vary {axis.key}={low.text}..{high.text}: an interval does not name "
                        "the values to run",
                        f"`{low.text}..{high.text} in 5` runs five values, ` step C` sets their "
                        "distance; or draw samples: --sample 'lhs 200'",
                    )
        self._check_few()

    def _check_few(self) -> None:
        if self.greatest > MOST:
            many = self.greatest if self.greatest < 10**15 else f"{float(self.greatest):.0e}"
            parts = [f"{axis.key} {len(axis.values)}" for axis in self.axes]
            parts = parts if self.sampling is None else [f"samples {self.sampling.count}"]
            parts += [f"variants {len(self.scenarios)}", f"seeds {len(self.seeds)}"]
            raise InputError(
                f"the sweep has {many} points, more than {MOST}: {', '.join(parts)}",
                "larger steps, fewer seeds, --zip, or samples: --sample 'lhs 1000'",
            )

    @property
    def greatest(self) -> int:
        """The number of points before conditions and keys without effect reduce it."""
        designs = 1
        for members in [] if self.sampling or self.searched else self._groups:
            designs *= len(self.axes[members[0]].values)
        if self.sampling is not None:
            designs = self.sampling.count
        return designs * len(self.scenarios) * len(self.seeds)

    @cached_property
    def _groups(self) -> list[list[int]]:
        """Groups of axis numbers that go together, in the order of their first axes."""
        together = {key: number for number, group in enumerate(self.zipped) for key in group}
        groups: dict[object, list[int]] = {}
        for number, axis in enumerate(self.axes):
            groups.setdefault(together.get(axis.key, axis.key), []).append(number)
        return list(groups.values())

    @cached_property
    def drawn(self) -> tuple[Axis, ...]:
        """The axes with the values of the points: for samples, the drawn values."""
        if self.sampling is None:
            return self.axes
        shares = self._shares(self.sampling)
        found = []
        for number, axis in enumerate(self.axes):
            if axis.interval is None:
                found.append(axis)
                continue
            values = dict.fromkeys(axis.interval.at(one[number]) for one in shares)
            found.append(Axis(axis.key, axis.unit, tuple(values), axis.interval))
        return tuple(found)

    def _designs(self) -> Iterator[tuple[int, ...]]:
        """Yield the numbers of the values of each combination or sample."""
        if self.searched:
            yield (0,) * len(self.axes)
            return
        if self.sampling is None:
            many = [range(len(self.axes[group[0]].values)) for group in self._groups]
            place = {axis: n for n, group in enumerate(self._groups) for axis in group}
            order = [place[number] for number in range(len(self.axes))]
            for one in itertools.product(*many):
                yield tuple(one[at] for at in order)
            return
        known = [{value: n for n, value in enumerate(axis.values)} for axis in self.drawn]
        for shares in self._shares(self.sampling):
            yield tuple(
                known[n][axis.share(share)]
                for n, (axis, share) in enumerate(zip(self.drawn, shares, strict=True))
            )

    def _shares(self, sampling: Sampling) -> list[list[float]]:
        """Draw a share of each axis for each sample, independent of the order of keys."""
        ordered = sorted(range(len(self.axes)), key=lambda number: self.axes[number].key)
        at = [ordered.index(number) for number in range(len(self.axes))]
        return [[one[place] for place in at] for one in sampling.shares(len(self.axes))]

    def _off(self) -> dict[tuple[str, tuple[int, ...]], frozenset[int]]:
        """Return the axes without effect, by variant and setting of the switches.

        A switch is a key without a dot, such as the name of a mechanism, which is true or false.
        """
        switches = self._switches
        found = {}
        combinations = itertools.product(*(range(len(self.drawn[n].values)) for n in switches))
        for states in itertools.islice(combinations, _COMBINATIONS):
            for variant, scenario in self.scenarios.items():
                case = scenario
                for number, axis in enumerate(self.drawn):
                    at = states[switches.index(number)] if number in switches else 0
                    case = case.set(axis.key, axis.values[at].text, where_on=True)
                off = {one["key"] for one in case.skipped}
                mine = frozenset(n for n, axis in enumerate(self.axes) if axis.key in off)
                found[variant, states] = mine
        return found

    @cached_property
    def _switches(self) -> list[int]:
        return [n for n, axis in enumerate(self.axes) if "." not in axis.key]

    @cached_property
    def points(self) -> list[Point]:
        """All points, ordered by variant, values and seed.

        Raises `InputError` if a key has no effect anywhere, or if conditions exclude all points.
        """
        off = self._off()
        for number, axis in enumerate(self.axes):
            if off and all(number in mine for mine in off.values()):
                name = axis.key.partition(".")[0]
                raise InputError(
                    f"--vary {axis.key}: `{name}` is off in every variant, and its keys do not "
                    "switch it on",
                    f"--with {name} switches it on",
                )
        designs = list(self._designs())
        texts = [[f"{axis.key}={value.text}" for value in axis.values] for axis in self.drawn]
        found: list[Point] = []
        for variant in self.scenarios:
            known: dict[tuple[int, ...], None] = {}
            for design in designs:
                mine = off.get((variant, tuple(design[n] for n in self._switches)), frozenset())
                known[tuple(-1 if n in mine else at for n, at in enumerate(design))] = None
            for values in known:
                settings = sorted(texts[n][at] for n, at in enumerate(values) if at >= 0)
                found += self._seeded(variant, values, settings)
        return self._held(found)

    def _seeded(self, variant: str, values: tuple[int, ...], settings: list[str]) -> list[Point]:
        """Return the points of all seeds; `settings`: their settings, sorted."""
        begin = hashlib.sha256("\0".join((variant, *settings)).encode())
        found = []
        for seed in self.seeds:
            whole = begin.copy()
            whole.update(f"\0\0{seed}".encode())
            found.append(Point(whole.hexdigest()[:16], variant, values, seed))
        return found

    def exactly(
        self, designs: Sequence[tuple[str, tuple[Value | None, ...]]]
    ) -> tuple[Plan, list[list[Point]]]:
        """Return a plan with these variants and values, and the points of each with all seeds.

        A key without a value is not set. Points at which a condition fails are absent.
        """
        columns = [dict.fromkeys(row[n] for _, row in designs) for n in range(len(self.axes))]
        values = [[value for value in column if value is not None] for column in columns]
        axes = tuple(
            Axis(axis.key, axis.unit, tuple(some))
            for axis, some in zip(self.axes, values, strict=True)
        )
        plan = replace(self, axes=axes, zipped=(), sampling=None, searched=True)
        found = []
        for variant, row in designs:
            case = self.scenarios[variant]
            for axis, value in zip(axes, row, strict=True):
                if value is not None:
                    case = case.set(axis.key, value.text, where_on=True)
            off = {one["key"] for one in case.skipped}
            places = tuple(
                -1 if value is None or axis.key in off else some.index(value)
                for axis, value, some in zip(axes, row, values, strict=True)
            )
            settings = sorted(
                f"{axis.key}={axis.values[at].text}"
                for axis, at in zip(axes, places, strict=True)
                if at >= 0
            )
            points = plan._seeded(variant, places, settings)
            found.append(plan._kept(points) if self.where else points)
        return plan, found

    def _held(self, points: list[Point]) -> list[Point]:
        """Keep the points at which all conditions hold."""
        if not self.where or self.searched:
            return points
        kept = self._kept(points)
        if not kept:
            raise InputError(
                f"--where {' and '.join(self.where)}: leaves no point of {len(points)}",
                "is the comparison reversed, or the unit another?",
            )
        return kept

    def _kept(self, points: list[Point]) -> list[Point]:
        from backwater.sweep.conditions import holding

        units = {"seed": ""} | {plain(axis.key): axis.unit for axis in self.axes}
        return [points[number] for number in holding(self.where, self.frame(points), units)]

    def frame(self, points: Sequence[Point]) -> pl.DataFrame:
        """Return points as a table: variant, keys by their names in SQL, seed.

        A numeric key has numbers in its unit, any other key has texts.
        """
        import polars as pl

        columns: dict[str, Any] = {"variant": [point.variant for point in points]}
        for number, axis in enumerate(self.drawn):
            values = [value.text if axis.unit is None else value.number for value in axis.values]
            values.append(None)
            columns[plain(axis.key)] = [values[point.values[number]] for point in points]
        columns["seed"] = [point.seed for point in points]
        return pl.DataFrame(columns, strict=False)

    def settings(self, point: Point) -> list[tuple[str, str]]:
        """Return the keys and values of a point."""
        pairs = zip(self.drawn, point.values, strict=True)
        return [(axis.key, axis.values[at].text) for axis, at in pairs if at >= 0]

    def at(self, point: Point) -> Scenario:
        """Return the scenario of a point, without its seed."""
        case = self.scenarios[point.variant]
        for key, text in self.settings(point):
            case = case.set(key, text)
        return case
