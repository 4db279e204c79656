"""Carries out jobs: finds those that are done, and runs the others here or on workers of Dask.

A run that breaks a promise, or over which workers die, fails alone. Any other error (a full disk,
no worker, another build) ends the command; finished runs are kept.
"""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from backwater import _core
from backwater.directory import standing
from backwater.errors import InputError
from backwater.experiments.builds import code
from backwater.experiments.hands import Work, Workers, hand_out
from backwater.experiments.remote import Standings, lost, packed, run_there, take_in
from backwater.results import Run, earlier_run
from backwater.running import run_job
from backwater.series import SeriesWriter, earlier_runs
from backwater.stopping import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from backwater.running import Job, Progress
    from backwater.stopping import Stop

T = TypeVar("T")


class _Writers:
    """The series that jobs write into; each is open from its first job to its last."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs: dict[Path, list[Job]] = {}
        for job in jobs:
            if job.series is not None:
                self._jobs.setdefault(job.series, []).append(job)
        self._left = {series: len(mine) for series, mine in self._jobs.items()}
        self._open: dict[Path, SeriesWriter] = {}
        self._lock = threading.Lock()

    def of(self, job: Job) -> SeriesWriter | None:
        """Return the writer of a job's series; None if the job has its own directory."""
        series = job.series
        if series is None:
            return None
        with self._lock:
            if series not in self._open:
                seeds = [one.seed for one in self._jobs[series]]
                facts, scenario = job.prepared.facts, job.prepared.recorded
                self._open[series] = SeriesWriter(series, facts, scenario, seeds)
            return self._open[series]

    def over(self, job: Job) -> None:
        """Count a job as over, and close its series after the last one."""
        if job.series is None:
            return
        with self._lock:
            self._left[job.series] -= 1
            last = self._left[job.series] == 0
            writer = self._open.pop(job.series, None) if last else None
        if writer is not None:
            writer.close()

    def tick(self) -> None:
        """Write the rows that have waited long enough; the caller calls this regularly."""
        with self._lock:
            for writer in self._open.values():
                writer.tick()

    def close(self) -> None:
        """Close all open series; no job may be in progress."""
        while self._open:
            self._open.popitem()[1].close()


def run_jobs(
    jobs: Sequence[Job],
    progress: Progress | None,
    stop: Stop,
    digest: Callable[[Run], T],
    workers: int | Workers | None = None,
    there: Sequence[Run | None] = (),
) -> list[T | _core.RunError | None]:
    """Run jobs on all cores, or on `workers`; returns what `digest` makes of each run, in order.

    The entry of a run that failed is its error. The entry of a job that `stop` prevented is None:
    here it did not start, on workers it did not end. `there` has finished runs by job; they are
    only digested. A run is released once it is digested, so that hundreds of runs need no memory.
    Runs that a Python class controls come one after another, in the thread of the caller, since
    their objects may share state; a cluster refuses them (`InputError`), since a worker may have
    another version of the class.
    """
    known = {number: run for number, run in enumerate(there) if run is not None}
    missing = [number for number in range(len(jobs)) if number not in known]

    def work(
        number: int, run: Callable[[SeriesWriter | None], Run | None]
    ) -> T | _core.RunError | None:
        try:
            done = run(writers.of(jobs[number]))
            found = None if done is None else digest(done)
            writers.over(jobs[number])
            return found
        except _core.RunError as error:
            writers.over(jobs[number])
            return error
        except BaseException:
            # Any other error, such as a full disk, would end the other runs too.
            stop.set()
            raise

    def here(number: int) -> T | _core.RunError | None:
        if stop.is_set():
            return None
        return work(number, partial(run_job, jobs[number], number, progress, stop))

    with contextlib.closing(_Writers([jobs[number] for number in missing])) as writers:
        if isinstance(workers, Workers):
            if any(jobs[number].prepared.in_python for number in missing):
                raise InputError(
                    "workers: a Python class controls flows, and a cluster cannot run it",
                    "run it without workers, on this machine",
                )
            fresh = _elsewhere(workers, jobs, missing, progress, stop, work, writers.tick)
        elif len(missing) == 1 or any(jobs[number].prepared.in_python for number in missing):
            fresh = {number: here(number) for number in missing}
        else:
            with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
                fresh = dict(zip(missing, pool.map(here, missing), strict=True))
    return [
        digest(known[number]) if number in known else fresh.get(number)
        for number in range(len(jobs))
    ]


def _elsewhere(
    workers: Workers,
    jobs: Sequence[Job],
    missing: Sequence[int],
    progress: Progress | None,
    stop: Stop,
    work: Callable[[int, Callable[[SeriesWriter | None], Run | None]], T],
    tick: Callable[[], None],
) -> dict[int, T]:
    """Run jobs on workers; threads of this process write and digest the results."""
    taken: dict[int, Future[T]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def take(number: int, run: Run | _core.RunError) -> None:
            taken[number] = pool.submit(work, number, partial(take_in, jobs[number], run))

        runs = _Runs(jobs, missing, progress, take, tick)
        if missing:
            with contextlib.suppress(StoppedError), workers.connect(stop) as client:
                hand_out(client, runs, stop, workers.wait)
        return {number: one.result() for number, one in taken.items()}


class _Runs(Work):
    """Runs as work for workers of Dask."""

    def __init__(
        self,
        jobs: Sequence[Job],
        missing: Sequence[int],
        progress: Progress | None,
        take: Callable[[int, Run | _core.RunError], None],
        tick: Callable[[], None],
    ) -> None:
        super().__init__(len(missing))
        self._jobs, self._missing, self._progress = jobs, missing, progress
        self._take, self._tick = take, tick
        self._code = code()
        self._topic = f"backwater-{uuid.uuid4().hex}"
        self._over: set[int] = set()
        self._failure: Exception | None = None
        """What the listener raised: Dask would swallow it."""

    def begin(self, client: Any) -> None:  # noqa: ANN401 - the library has no types
        """Listen to the progress of runs."""
        if self._progress is not None:
            client.subscribe_topic(self._topic, self._hear)

    def _hear(self, event: tuple[float, tuple[Any, ...]]) -> None:
        _, (number, *said) = event
        if self._progress is not None and number not in self._over:
            try:
                self._progress.advanced(number, Standings(*said))
            except Exception as error:  # raised in the thread of the caller
                self._failure = self._failure or error

    def task(self, places: Sequence[int]) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Return the function that does one run, and its arguments."""
        [number] = (self._missing[place] for place in places)
        job = self._jobs[number]
        return run_there, (self._code, packed(job), job.seed, self._topic, number)

    def came(self, places: Sequence[int], value: Run | _core.RunError) -> None:
        """Have the rows of a finished run written."""
        [number] = (self._missing[place] for place in places)
        self._over.add(number)
        self._take(number, value)
        if self._progress is not None:
            self._progress.finished(number)

    def lost(self, place: int, reason: str) -> None:
        """Record the failure of a run over which workers died."""
        self.came([place], lost(reason))

    def stands(self, running: Sequence[int], workers: int) -> None:  # noqa: ARG002 - of runs
        """Write the rows that have waited long enough; runs report their progress themselves."""
        if self._failure is not None:
            raise self._failure
        self._tick()


def find_done(jobs: Sequence[Job], *, force: bool = False) -> list[Run | None]:
    """Find, for each job, the complete run of the same scenario, seed and build in its directory.

    Another run there is an error unless `force` is set. A directory that Backwater did not write
    is always an error. Nothing is removed here.
    """
    series: dict[Path, dict[int, Run]] = {}
    found: list[Run | None] = []
    for job in jobs:
        run = None
        if job.out is not None:
            try:
                if job.series is None:
                    run = earlier_run(job.out, job.manifest)
                else:
                    if job.series not in series:
                        series[job.series] = {}
                        series[job.series] = earlier_runs(job.series, job.prepared.facts)
                    run = series[job.series].get(job.seed)
            except InputError:
                if not force:
                    raise
                standing(job.series or job.out)
        found.append(run)
    return found


def taken_up(jobs: Sequence[Job], *, force: bool = False) -> list[Run | None]:
    """Find, for each job, its complete run; None if the job has to run.

    With `force` all jobs have to run. So do jobs with a capture, and jobs that save their state
    while they run: results hold neither.
    """
    found = zip(jobs, find_done(jobs, force=force), strict=True)
    return [
        None if force or job.capture is not None or job.saving is not None else run
        for job, run in found
    ]
