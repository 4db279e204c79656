"""The tables of a sweep: columns with meaning and unit, and the rows of points.

points    one row per point: id, variant, values, seed, status, error, fingerprint, numbers
timings   one row per point: wall time, worker, end; separate, since it differs on each run
flows     the flows of all points, each with its point, with `--keep flows`
"""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from backwater.numbers.arrays import array, table
from backwater.numbers.metrics import Tables, metric
from backwater.numbers.named import REFERENCE, named, reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.sweep.point import Outcome, Recipe, Task

POINT = "point"
_NUMBERS = {"B": pa.int64(), "ps": pa.int64(), "b/s": pa.int64()}


def column(
    name: str, kind: pa.DataType, about: str, unit: str = "", role: str = ""
) -> pa.Field[Any]:
    """Make a column with its meaning and unit."""
    facts = {"description": about, "unit": unit, "role": role}
    return pa.field(name, kind, metadata=facts)


_BEGIN = (
    column(POINT, pa.string(), "id of the point, from variant, values and seed"),
    column("variant", pa.string(), "variant of the scenario; empty: none"),
)
_END = (
    column("seed", pa.int64(), "seed of the run"),
    column("status", pa.string(), "done or failed"),
    column("error", pa.string(), "why the point failed"),
    column("fingerprint", pa.string(), "hash of the trajectory"),
    column("warnings", pa.list_(pa.string()), "warnings of the check and of the run"),
)
TIMINGS = pa.schema(
    [
        column(POINT, pa.string(), "the point"),
        column("seconds", pa.float64(), "wall time of the run and of its numbers", "s"),
        column("worker", pa.string(), "host and process that ran the point"),
        column("ended", pa.string(), "end of the run, UTC"),
    ]
)


def parameters(columns: Sequence[tuple[str, str | None]]) -> list[pa.Field[Any]]:
    """Return the columns of axes with these keys and units."""
    found = []
    for key, unit in columns:
        kind = pa.string() if unit is None else _NUMBERS.get(unit, pa.float64())
        found.append(column(key, kind, f"value of {key}", unit or "", "parameter"))
    return found


class Number(NamedTuple):
    """A number of a point."""

    name: str
    unit: str
    about: str
    value: float | None


class Rows:
    """Gathers the rows of points."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._tasks: list[Task] = []
        self._outcomes: list[Outcome] = []
        self._numbers: dict[str, tuple[Number, list[float | None]]] = {}
        self._timings: dict[str, list[Any]] = {name: [] for name in TIMINGS.names}
        self._flows: list[pa.Table] = []

    def add(self, task: Task, outcome: Outcome, seconds: float) -> None:
        """Add a point and its outcome."""
        place = len(self._tasks)
        self._tasks.append(task)
        self._outcomes.append(outcome)
        for one in self._named(outcome):
            known = self._numbers.setdefault(one.name, (one, []))[1]
            known += [None] * (place - len(known))
            known.append(None if one.value is None else float(one.value))
        ended = datetime.now(UTC).isoformat(timespec="milliseconds")
        worker = f"{socket.gethostname()}:{os.getpid()}"
        for name, value in zip(TIMINGS.names, (task[0], seconds, worker, ended), strict=True):
            self._timings[name].append(value)
        if self._recipe.flows and outcome.run is not None:
            flows = outcome.run.read("flows")
            ids = array([task[0]] * len(flows), pa.string())
            self._flows.append(flows.add_column(0, _BEGIN[0], ids))

    def _named(self, outcome: Outcome) -> list[Number]:
        if outcome.run is None:
            return []
        tables = Tables(outcome.run)
        found = [Number(one.name, one.unit, one.about, value) for one, value in named(tables)]
        known = {one.name for one in found}
        for name in self._recipe.metrics:
            asked = metric(name)
            if name not in known:
                found.append(Number(name, asked.unit, asked.about, asked.of(tables)))
            if asked.held_against is not None:
                of, unit = asked.held_against
                about = f"{of}: the reference of {name}"
                found.append(Number(reference(name), unit, about, asked.reference(tables)))
        return found

    def tables(self) -> dict[str, pa.Table]:
        """Return all rows so far."""
        tasks, outcomes = self._tasks, self._outcomes
        begin = [[task[0] for task in tasks], [task[1] for task in tasks]]
        axes = parameters(self._recipe.columns)
        values = [[task[2][number] for task in tasks] for number in range(len(axes))]
        end: list[list[Any]] = [
            [task[4] for task in tasks],
            [one.status for one in outcomes],
            [one.error for one in outcomes],
            [one.run.fingerprint if one.run is not None else None for one in outcomes],
            [list(one.warnings) for one in outcomes],
        ]
        fields = [*_BEGIN, *axes, *_END]
        columns: list[list[Any]] = [*begin, *values, *end]
        for one, known in self._numbers.values():
            role = "reference" if one.name.startswith(REFERENCE) else "metric"
            fields.append(column(one.name, pa.float64(), one.about, one.unit, role))
            columns.append(known + [None] * (len(tasks) - len(known)))
        found = {
            "points": table(columns, pa.schema(fields)),
            "timings": table(list(self._timings.values()), TIMINGS),
        }
        if self._flows:
            found["flows"] = pa.concat_tables(self._flows)
        return found
