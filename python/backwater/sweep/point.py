"""Runs points of a sweep, in a worker or in this process.

A worker receives a `Recipe` once, and for each point its variant, values and seed. It returns Arrow
tables with one row per point.
"""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError, ResultError
from backwater.experiments.builds import check_code
from backwater.experiments.pilot import Cut, slices
from backwater.experiments.unwanted import unwanted
from backwater.results import Run
from backwater.speaking import as_command
from backwater.stored import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from backwater.scenario import Scenario

# Tables of a run that its usual numbers need; others stay in memory only if a metric needs them.
_NEEDED = ("flows", "ports", "counters", "jobs", "rounds", "collectives")
DONE, FAILED = "done", "failed"

Task = tuple[str, str, tuple[str | float | None, ...], tuple[tuple[str, str], ...], int]
"""A point: its id, variant, values of its columns, settings, seed."""


@dataclass(frozen=True)
class Recipe:
    """The data that all points of a sweep share."""

    scenarios: Mapping[str, Scenario]
    """Scenarios by variant, without values of the axes."""
    columns: tuple[tuple[str, str | None], ...]
    """Key and unit of each axis; unit None: its values are texts."""
    metrics: tuple[str, ...]
    """Metrics beside the usual numbers."""
    flows: bool
    """Whether to keep the tables of flows."""
    code: Mapping[str, str]
    """The required version and build."""

    def packed(self) -> bytes:
        """Return the recipe as bytes for workers."""
        return pickle.dumps(self)


@lru_cache(maxsize=4)
def _recipe(packed: bytes) -> Recipe:
    recipe: Recipe = pickle.loads(packed)
    return recipe


def run_batch(
    packed: bytes, wanted: Mapping[str, str], tasks: Sequence[Task]
) -> dict[str, pa.Table]:
    """Run points one after the other; return their rows: `points`, `timings`, perhaps `flows`.

    Raises `OtherCodeError` if the build of this process is not that of the sweep.
    """
    # Before unpacking, since another build may define the pickled classes differently.
    check_code(wanted)
    return run_points(_recipe(packed), tasks, unwanted().is_set)


def run_points(
    recipe: Recipe, tasks: Sequence[Task], stop: Callable[[], bool] | None = None
) -> dict[str, pa.Table]:
    """Run points one after the other; return their rows. Raises `Cut` if `stop` ends a point."""
    from backwater.sweep.tables import Rows

    rows = Rows(recipe)
    cases = _Cases(recipe, _tables(recipe.metrics))
    for task in tasks:
        began = time.perf_counter()
        with as_command():
            outcome = _outcome(cases, task, stop)
        rows.add(task, outcome, time.perf_counter() - began)
    return rows.tables()


def lost(recipe: Recipe, task: Task, reason: str) -> dict[str, pa.Table]:
    """Return the rows of a point whose worker died."""
    from backwater.sweep.tables import Rows

    rows = Rows(recipe)
    rows.add(task, Outcome(FAILED, reason), 0.0)
    return rows.tables()


@dataclass
class Outcome:
    """The outcome of a point."""

    status: str
    error: str | None = None
    run: Run | None = None
    warnings: Sequence[str] = ()


@dataclass
class _Cases:
    """Makes the scenarios of points. Keeps the last one: often only the seed changes."""

    recipe: Recipe
    tables: frozenset[str]
    """Tables that the numbers of the runs need."""
    _last: tuple[object, tuple[_core.Scenario, list[dict[str, str]]]] | None = None

    def of(self, task: Task) -> tuple[_core.Scenario, list[dict[str, str]]]:
        """Return the scenario of a point and the warnings of its check."""
        _, variant, _, settings, _ = task
        if self._last is None or self._last[0] != (variant, settings):
            case = self.recipe.scenarios[variant]
            for key, text in settings:
                case = case.set(key, text)
            core = case.complete()
            self._last = (variant, settings), (core, core.check())
        return self._last[1]


def _tables(metrics: Sequence[str]) -> frozenset[str]:
    if not metrics:
        return frozenset(_NEEDED)
    from backwater.numbers.metrics import metric

    return frozenset([*_NEEDED, *(metric(name).quantity.table for name in metrics)])


def _outcome(cases: _Cases, task: Task, stop: Callable[[], bool] | None) -> Outcome:
    try:
        core, warnings = cases.of(task)
        run = _run(core, warnings, task[-1], stop, cases.tables)
    except (_core.ScenarioError, _core.RunError, InputError, ResultError) as error:
        return Outcome(FAILED, str(error))
    except MemoryError:
        return Outcome(FAILED, "out of memory")
    except Cut:
        raise
    except Exception as error:  # the other points go on
        return Outcome(FAILED, f"Backwater is at fault: {type(error).__name__}: {error}")
    return Outcome(DONE, None, run, [str(one["message"]) for one in run.warnings])


def _run(
    core: _core.Scenario,
    warnings: Sequence[dict[str, str]],
    seed: int,
    stop: Callable[[], bool] | None,
    tables: frozenset[str],
) -> Run:
    """Run one point in memory."""
    batches: dict[str, list[_core.Batch]] = {}
    for simulation in slices(core, seed, stop):
        for table, batch in simulation.batches(False):
            if table in tables and len(batch):
                batches.setdefault(table, []).append(batch)
    summary = simulation.summary()
    manifest = {
        "status": DONE,
        "seed": seed,
        "summary": summary,
        "warnings": [*warnings, *summary["findings"]],
    }
    if tables - {*_NEEDED}:
        # Metrics of other tables need it: what is sampled, how often, and who sends CNPs. To write
        # it takes time, so other points go without.
        manifest["scenario"] = core.resolved_toml()
    return Run(manifest, None, Kept(batches))
