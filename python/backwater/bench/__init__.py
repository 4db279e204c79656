"""The benchmark suite of the two IETF BMWG drafts for AI fabrics, run on a simulated fabric.

from backwater import bench

outcome = bench.run("leaf-spine-64", ["incast"], seeds=3, out="results/bench")
for row in outcome.rows:
    print(row.test, row.setting, row.metric, row.spread, row.unit)
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from backwater._core import RunError
from backwater.bench.definition import suite
from backwater.bench.fabric import USUAL, Fabric, load
from backwater.bench.measure import Read, failed, read, rows, wanted
from backwater.bench.outcome import (
    Benchmark,
    holds_bench,
    open_bench,
    outcome_of,
    write_opening,
    write_outcome,
)
from backwater.bench.plan import Plan, plan
from backwater.directory import clear, locked, replaceable
from backwater.experiments.execute import find_done, run_jobs
from backwater.stopping import interruptible

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from backwater.experiments.hands import Workers
    from backwater.results import Run
    from backwater.running import Progress
    from backwater.scenario import Scenario

__all__ = ["Benchmark", "Fabric", "carry_out", "open_bench", "planned", "run", "suite"]

SEEDS = 3
"""Repetitions of each test by default."""


def run(
    fabric: str | Scenario = USUAL,
    categories: Iterable[str] = (),
    *,
    seeds: int | Iterable[int] = SEEDS,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    workers: int | Workers | None = None,
    progress: Callable[[int], Progress | None] | None = None,
) -> Benchmark:
    """Run the tests of some categories, or all, on a fabric.

    - `fabric`: the name of one that the package has, a scenario file, or a scenario, of which all
      but the workload counts.
    - `categories`: names of categories, or ids of tests such as `training-7.2`.
    - `seeds`: the seeds of each test, or how many from 1 on.
    - `out`: the directory of all runs and the report. Complete runs there are not repeated, unless
      `force` replaces them.
    - `workers`: the number of runs at a time, by default the number of cores, or workers of Dask.
    - `progress`: makes a listener from the number of runs to do.

    Raises `InputError` for a fabric that fits no test, and `Interrupted` at Ctrl-C or SIGTERM.
    """
    from backwater.repetitions import numbers

    case = load(fabric) if isinstance(fabric, str) else fabric
    name = fabric if isinstance(fabric, str) else str(case.facts["file"])
    asked = planned(case, name, tuple(categories), tuple(numbers(seeds, 1)), out)
    return carry_out(asked, out, force=force, workers=workers, progress=progress)


def planned(
    case: Scenario,
    name: str,
    categories: tuple[str, ...],
    seeds: tuple[int, ...],
    out: str | os.PathLike[str] | None,
) -> Plan:
    """Plan the tests of some categories on the fabric of a scenario. Raises `InputError`."""
    tests = suite().chosen(categories)
    return plan(Fabric.of(case, name), tests, seeds, None if out is None else Path(out))


def carry_out(
    asked: Plan,
    out: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
    workers: int | Workers | None = None,
    progress: Callable[[int], Progress | None] | None = None,
) -> Benchmark:
    """Do the runs of a plan that are missing, and measure all of them."""
    directory = None if out is None else Path(out)
    with contextlib.nullcontext() if directory is None else locked(directory):
        return _carry_out(asked, directory, force, workers, progress)


def _carry_out(
    asked: Plan,
    directory: Path | None,
    force: bool,
    workers: int | Workers | None,
    progress: Callable[[int], Progress | None] | None,
) -> Benchmark:
    if directory is not None and (force or not holds_bench(directory)):
        replaceable(directory, force=force)
        clear(directory)
    there = find_done(asked.jobs)
    if directory is not None:
        write_opening(directory, asked)
    # Runs of one scenario and seed are of one test, whose metrics are all that is needed.
    names = {
        (asked.jobs[number].prepared.resolved, asked.jobs[number].seed): wanted(point.test)
        for point in asked.points
        for number in point.jobs
    }

    def digest(done: Run) -> Read | None:
        if done.status != "done":
            return None
        return read(done, names[done.manifest["scenario"], done.seed])

    with interruptible() as stop:
        listener = progress(there.count(None)) if progress is not None else None
        found = run_jobs(asked.jobs, listener, stop, digest, workers, there)
    reads = [failed(one) if isinstance(one, RunError) else one for one in found]
    outcome = outcome_of(asked, rows(asked, reads), reads, directory)
    if directory is not None:
        write_outcome(outcome, asked, "interrupted" if stop.is_set() else "done")
    if stop.is_set():
        raise stop.interrupted()
    return outcome
