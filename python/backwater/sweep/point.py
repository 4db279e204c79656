"""One point of a sweep, or a batch of them, where it is run: in a worker, or here.

What travels to a worker is a `Recipe`, once, and for each point its variant, its values and its
seed; what comes back are Arrow tables with a row a point.
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

# Tables of a run from which its usual numbers come; others are kept in memory for metrics alone.
_NEEDED = ("flows", "ports", "counters", "jobs", "rounds", "collectives")
DONE, FAILED = "done", "failed"

Task = tuple[str, str, tuple[str | float | None, ...], tuple[tuple[str, str], ...], int]
"""A point: its id, variant, values for its columns, what is set, seed."""


@dataclass(frozen=True)
class Recipe:
    """What all points of a sweep have in common."""

    scenarios: Mapping[str, Scenario]
    """By variant, without the values of the axes."""
    columns: tuple[tuple[str, str | None], ...]
    """Key and unit of each axis; None: its values are texts."""
    metrics: tuple[str, ...]
    """Those that are asked for beside the usual numbers."""
    flows: bool
    """Whether the tables of flows are kept."""
    code: Mapping[str, str]
    """The version and build by which it is to be run."""

    def packed(self) -> bytes:
        """Give it as bytes for workers."""
        return pickle.dumps(self)


@lru_cache(maxsize=4)
def _recipe(packed: bytes) -> Recipe:
    # Before anything is unpacked that other code may know otherwise.
    recipe: Recipe = pickle.loads(packed)
    return recipe


def run_batch(
    packed: bytes, wanted: Mapping[str, str], tasks: Sequence[Task]
) -> dict[str, pa.Table]:
    """Run points one after the other; gives their rows: `points`, `timings`, maybe `flows`.

    Raises `OtherCodeError` if this is another build than the sweep's.
    """
    check_code(wanted)
    return run_points(_recipe(packed), tasks, unwanted().is_set)


def run_points(
    recipe: Recipe, tasks: Sequence[Task], stop: Callable[[], bool] | None = None
) -> dict[str, pa.Table]:
    """Run points one after the other. Raises `Cut` if `stop` ends one."""
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
    """Give the rows of a point whose worker ended without a word."""
    from backwater.sweep.tables import Rows

    rows = Rows(recipe)
    rows.add(task, Outcome(FAILED, reason), 0.0)
    return rows.tables()


@dataclass
class Outcome:
    """What came of a point."""

    status: str
    error: str | None = None
    run: Run | None = None
    warnings: Sequence[str] = ()


@dataclass
class _Cases:
    """Makes the scenarios of points; keeps the last: the next often has another seed alone."""

    recipe: Recipe
    tables: frozenset[str]
    """Tables that the numbers of its runs take."""
    _last: tuple[object, tuple[_core.Scenario, list[dict[str, str]]]] | None = None

    def of(self, task: Task) -> tuple[_core.Scenario, list[dict[str, str]]]:
        """Give the scenario of a point, and what its check has to say."""
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
    except Exception as error:  # the others go on
        return Outcome(FAILED, f"Backwater is at fault: {type(error).__name__}: {error}")
    said = [str(one["message"]) for one in run.warnings]
    return Outcome(DONE, None, run, said)


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
        # What is sampled, how often, and who sends CNPs: of other points nobody asks, and it takes
        # its time.
        manifest["scenario"] = core.resolved_toml()
    return Run(manifest, None, Kept(batches))
