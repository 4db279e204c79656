"""The goal of a sweep, as `--goal` names it.

    largest KEY in RANGE where CONDITION      the largest value at which the condition holds
    smallest KEY in RANGE where CONDITION     the smallest one
    METRIC min|max [where CONDITION]          the point with the least, or greatest, mean
    METRIC min|max, METRIC min|max [where …]  the points that no other beats in both

RANGE has the form of `--vary`, and may be absent if that names the key. A condition uses metrics.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.sweep.conditions import check_units, held, names
from backwater.sweep.values import Axis, Interval, axis, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.numbers.metrics import Metric

FORMS = (
    '"p99_fct:victim min where drops == 0", "largest sfc.threshold in 20 KB..380 KB where '
    'pauses == 0", or "smallest …"'
)
STEPS = 128
"""Steps into which the search for a threshold divides an interval without a step."""
MOST_METRICS = 2
_THRESHOLD = re.compile(
    r"\s*(?P<which>smallest|largest)\s+(?P<key>\S+)(?:\s+in\s+(?P<range>.+?))?"
    r"\s+where\s+(?P<where>.+)",
    re.DOTALL,
)
_BEST = re.compile(r"\s*(?P<metric>\S+)\s+(?P<which>min|max)\s*")


@dataclass(frozen=True)
class Goal:
    """A goal of a sweep."""

    text: str
    where: str
    """The condition; may be empty."""
    metrics: tuple[tuple[str, bool], ...] = ()
    """Metrics, and whether the least value is sought; empty: a threshold is sought."""
    key: str = ""
    largest: bool = False
    """Whether the largest value of the key is sought, and not the smallest."""
    axis: Axis | None = None
    """The key and its range, if the goal has one."""

    @staticmethod
    def of(text: str) -> Goal:
        """Read a goal. Raises `InputError`; `backwater.ScenarioError` for an unknown key."""
        text = " ".join(text.split())
        match = _THRESHOLD.fullmatch(text)
        if match is not None:
            one = None
            if match["range"] is not None:
                one = stepped(axis(match["key"], match["range"], "--goal … of"))
            return Goal(text, match["where"], (), match["key"], match["which"] == "largest", one)
        if text.startswith(("smallest ", "largest ")):
            raise _unclear(text, "it has no `where CONDITION`")
        if text.endswith(" where"):
            raise _unclear(text, "its condition is empty")
        begin, _, where = text.partition(" where ")
        metrics = []
        for part in begin.split(","):
            best = _BEST.fullmatch(part)
            if best is None:
                raise _unclear(text, f"`{part.strip()}` is not METRIC min or METRIC max")
            metrics.append((best["metric"], best["which"] == "min"))
        if len(metrics) > MOST_METRICS:
            raise _unclear(text, f"it has {len(metrics)} metrics, and {MOST_METRICS} are possible")
        if len({name for name, _ in metrics}) < len(metrics):
            raise _unclear(text, f"it names {metrics[0][0]} twice")
        return Goal(text, where, tuple(metrics))

    @property
    def threshold(self) -> bool:
        """Whether a threshold is sought, and not a best point."""
        return not self.metrics

    @property
    def named(self) -> list[str]:
        """The metrics that the goal needs, those of the condition last."""
        return list(dict.fromkeys([*(name for name, _ in self.metrics), *names(self.where)]))

    def see(self, keys: Sequence[str]) -> list[Metric]:
        """Return the metrics that points must record; refuse other names.

        `keys`: the varied keys. Raises `InputError`.
        """
        from backwater.numbers.metrics import metric

        asked = []
        units: dict[str, str | None] = {}
        self.holds([])
        for name in self.named:
            if name in keys or ("." in name and ":" not in name):
                raise InputError(
                    f"--goal {self.text}: {name} is a key, and a condition of a goal uses metrics",
                    f'--where "{name} …" excludes points before they run',
                )
            try:
                wanted = metric(name)
            except InputError as error:
                raise InputError(f"--goal {self.text}: {error.reason}", error.hint) from None
            if wanted.unit == "ps":
                raise InputError(
                    f"--goal {self.text}: {name} is in ps, and a condition has times in us",
                    "metrics of times, such as max_fct, are in us",
                )
            units[plain(name)] = wanted.unit
            # Points always have totals.
            if not wanted.quantity.kept or wanted.quantity.has_statistics:
                asked.append(wanted)
        check_units(self.where, units, f"--goal {self.text}")
        return asked

    def holds(self, rows: Sequence[Mapping[str, Any]]) -> list[bool]:
        """Return for each row of a point whether the condition is known to hold."""
        return [found is True for found in self.judged(rows)]

    def judged(self, rows: Sequence[Mapping[str, Any]]) -> list[bool | None]:
        """Return for each row of a point whether the condition holds; False for a failed point.

        None: the condition depends on a metric without a value.
        """
        import polars as pl

        if not self.where:
            return [row["status"] == "done" for row in rows]
        columns = {plain(name): [row.get(name) for row in rows] for name in names(self.where)}
        frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64), strict=False)
        found = held(self.where, frame)
        return [
            one if row["status"] == "done" else False for one, row in zip(found, rows, strict=True)
        ]

    def without(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Name the metrics whose missing values leave the condition unknown at some rows."""
        judged = zip(rows, self.judged(rows), strict=True)
        unknown = [row for row, found in judged if found is None]
        return [name for name in names(self.where) if any(row.get(name) is None for row in unknown)]


def stepped(one: Axis) -> Axis:
    """Return the values to search for a threshold; those of an interval are evenly spaced."""
    if one.interval is not None:
        one = _evenly(one.key, one.unit, one.interval)
    numbers = [value.number for value in one.values]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or known != sorted(known):
        raise InputError(
            f"--goal … of {one.key}: its values are not numbers from least to greatest",
            f'as in "largest {one.key} in A..B step C where …"',
        )
    if len(known) < 2:
        raise InputError(f"--goal … of {one.key}: has one value", "a range has two ends: A..B")
    return one


def _evenly(key: str, unit: str | None, interval: Interval) -> Axis:
    values = dict.fromkeys(interval.at(number / STEPS) for number in range(STEPS + 1))
    return Axis(key, unit, tuple(values))


def _unclear(text: str, reason: str) -> InputError:
    return InputError(f"--goal {text}: {reason}", f"as in {FORMS}")
