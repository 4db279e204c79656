"""Drives simulations to their end: one after another or several at a time, with progress and stop.

The simulator works in slices of wall time without holding the interpreter's lock, so threads are
enough to use every core, and a run's result does not depend on how many run beside it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from backwater import _core
from backwater.results import DirectorySink, MemorySink, Run, opening

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# Wall time of one slice: how often progress moves and how late Ctrl-C may be noticed.
SLICE_MS = 100


class Progress(Protocol):
    """Told how runs advance; called from the threads that run them."""

    def advanced(self, job: int, status: _core.Status) -> None:
        """One slice of job number `job` has passed."""

    def finished(self, job: int) -> None:
        """Job number `job` has ended."""


@dataclass(frozen=True)
class Job:
    """One run to be done: a checked scenario, a seed, and where the results go (None: memory)."""

    scenario: _core.Scenario
    seed: int
    out: Path | None
    facts: dict[str, Any]
    """What the manifest says beside what the scenario itself tells: file, variant, overrides."""


@contextlib.contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C (or SIGTERM) into an event that running simulations look at.

    The second one interrupts at once. Outside the main thread signals cannot be caught, and the
    event is never set.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def request(number: int, _frame: object) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    try:
        for number in before:
            signal.signal(number, request)
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_job(job: Job, number: int, progress: Progress | None, stop: threading.Event) -> Run:
    """Run one job to its end, or to where `stop` was seen set; what was simulated is kept.

    Raises `backwater.RunError` if the run broke a promise; its rows up to then are kept too.
    """
    resolved = job.scenario.resolved_toml()
    warnings = job.scenario.check()
    simulation = job.scenario.start(job.seed)
    manifest = opening(
        title=job.scenario.title,
        seed=job.seed,
        **job.facts,
        versions=_core.version(),
        warnings=warnings,
        scenario=resolved,
        origins=job.scenario.values(),
    )
    sink: DirectorySink | MemorySink = (
        MemorySink(manifest) if job.out is None else DirectorySink(job.out, manifest, resolved)
    )
    try:
        while True:
            status = simulation.advance(SLICE_MS)
            _drain(simulation, sink)
            if progress is not None:
                progress.advanced(number, status)
            if status.done:
                run = sink.finish("done", simulation.summary())
                break
            if stop.is_set():
                simulation.stop()
                _drain(simulation, sink)
                run = sink.finish("interrupted", simulation.summary())
                break
    except _core.RunError as error:
        _drain(simulation, sink)
        sink.finish("failed", {}, str(error))
        raise
    if progress is not None:
        progress.finished(number)
    return run


def _drain(simulation: _core.Simulation, sink: DirectorySink | MemorySink) -> None:
    for table, batch in simulation.batches():
        sink.write(table, pa.record_batch(batch))
    sink.tick()


def run_jobs(
    jobs: Sequence[Job],
    progress: Progress | None,
    stop: threading.Event,
    workers: int | None = None,
) -> list[Run | _core.RunError | None]:
    """Run jobs over the cores; gives, in the order of `jobs`, a run or the error that ended it.

    None stands for a job that `stop` kept from starting.
    """

    def work(number: int) -> Run | _core.RunError | None:
        if stop.is_set():
            return None
        try:
            return run_job(jobs[number], number, progress, stop)
        except _core.RunError as error:
            return error
        except BaseException:
            # Whatever else went wrong (a full disk) would go wrong for the others too.
            stop.set()
            raise

    if len(jobs) == 1:
        return [work(0)]
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        return list(pool.map(work, range(len(jobs))))
