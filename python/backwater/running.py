"""Drives simulations to their end: one after another or several at a time, with progress and stop.

The simulator works in slices of wall time without holding the interpreter's lock, so threads are
enough to use every core, and a run's result does not depend on how many run beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from backwater import _core
from backwater.directory import locked, standing
from backwater.errors import InputError, ResultError
from backwater.files import digest
from backwater.journal import name_of
from backwater.results import DirectorySink, MemorySink, Run, earlier_run, opening
from backwater.saving import SLICE_MS, Saver, adopt, drain, start
from backwater.series import SeriesWriter, earlier_runs
from backwater.stopping import keeping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from backwater.results import PartedSink
    from backwater.saving import GoingOn, Saving
    from backwater.stopping import Stop

T = TypeVar("T")

# Each thread holds a network of its own.
MOST_THREADS = 64


def check_threads(threads: int, said: str) -> None:
    """Refuse a number of threads that no run can have; `said` is how it was asked for."""
    if not 1 <= threads <= MOST_THREADS:
        raise InputError(
            f"{said}: not from 1 to {MOST_THREADS}", "more threads than processors gain nothing"
        )


class Progress(Protocol):
    """Told how runs advance; called from the threads that run them."""

    def advanced(self, job: int, status: _core.Status) -> None:
        """One slice of job number `job` has passed."""

    def finished(self, job: int) -> None:
        """Job number `job` has ended."""

    def noticed(self, job: int, what: str) -> None:
        """Something about job number `job` is to be said at once, and the run goes on."""


@dataclass(frozen=True)
class Prepared:
    """A checked scenario, and all that every manifest of its runs says, worked out once."""

    scenario: _core.Scenario
    resolved: str
    """Every value, as the text of a scenario file: what a run is known by."""
    recorded: str
    """The same to be kept beside results: it names its tables so that they are found."""
    warnings: list[dict[str, str]]
    facts: dict[str, Any]
    """What the manifest says that does not depend on the seed."""
    going_on: GoingOn | None = None
    """The saved run from which its run goes on; None: it begins at rest."""

    @property
    def identity(self) -> str:
        """What its runs are known by, but for seed and version: values, and its files' content."""
        inputs, changed = sorted(self.facts["inputs"].items()), self.facts.get("changed")
        return repr((self.resolved, inputs, changed))

    @property
    def in_python(self) -> bool:
        """Whether a Python class controls flows."""
        named = f"{_core.CONTROL_TABLE}.control"
        return any(one["key"] == named for one in self.facts["origins"])

    @staticmethod
    def of(
        scenario: _core.Scenario,
        facts: Mapping[str, Any],
        capture: _core.Capture | None = None,
        base: Path | None = None,
    ) -> Prepared:
        """Check a scenario; `facts` is where it comes from and what was changed.

        `base` is the directory that the names of its tables are relative to.
        """
        warnings = scenario.check(capture)
        resolved = scenario.resolved_toml()
        return Prepared(
            scenario,
            resolved,
            _findable(scenario, resolved, base),
            warnings,
            {
                "title": scenario.title,
                **facts,
                "inputs": {**facts.get("inputs", {}), **inputs_of(resolved, base)},
                "versions": _core.version(),
                "warnings": warnings,
                "scenario": resolved,
                "origins": scenario.values(),
            },
        )


def _findable(scenario: _core.Scenario, resolved: str, base: Path | None) -> str:
    """Give a scenario's text with its files named by absolute paths.

    They stay where they are, since they may be large; and what a run is known by has the names that
    its author gave, so that it is the same run wherever its files lie.
    """
    files = _named(resolved)
    for key, name in files.items():
        place = ((base or Path()) / name).absolute()
        scenario = scenario.with_set(key, json.dumps(str(place)))
    return scenario.resolved_toml() if files else resolved


# Files that a scenario names: what they are listed in, and their key there.
_FILES = (("flow", "table"), ("flow", "matrix"), ("job", "operations"))


def _named(resolved: str) -> dict[str, str]:
    """Give the files that a scenario names, by the dotted keys that do."""
    if not any(f"\n{key} = " in resolved for _, key in _FILES):
        return {}
    values = tomllib.loads(resolved)
    return {
        f"{of}.{number}.{key}": str(entry[key])
        for of, key in _FILES
        for number, entry in enumerate(values.get(of, []))
        if key in entry
    }


def inputs_of(resolved: str, base: Path | None) -> dict[str, str]:
    """Give the SHA-256 of each file that a scenario's flows come from."""
    names = _named(resolved).values()
    try:
        return {name: digest((base or Path()) / name) for name in dict.fromkeys(names)}
    except OSError as error:
        raise InputError(
            f"{error.filename}: cannot be read: {error.strerror}",
            "the scenario names it: put it back",
        ) from None


def contents(resolved: str, inputs: Mapping[str, str]) -> dict[str, str | None]:
    """Give the SHA-256 of the file of each key that names one; `inputs` are those of names."""
    return {key: inputs.get(name) for key, name in _named(resolved).items()}


@dataclass(frozen=True)
class Job:
    """One run to be done: a checked scenario, a seed, and where the results go (None: memory)."""

    prepared: Prepared
    seed: int
    out: Path | None
    capture: _core.Capture | None = None
    series: Path | None = None
    """The directory of the series that it is a run of; `out` is its name in there then."""
    threads: int = 1
    """As many threads as it may use. What comes of it does not depend on them."""
    saving: Saving | None = None
    """Where it is saved on its way; None: it is not."""

    @staticmethod
    def repeated(prepared: Prepared, seed: int, series: Path | None) -> Job:
        """Make one run of a series in a directory (None: in memory)."""
        out = None if series is None else series / name_of(seed)
        return Job(prepared, seed, out, series=series)

    @property
    def manifest(self) -> dict[str, Any]:
        """Its manifest as far as it is known before the run."""
        return opening(seed=self.seed, **self.prepared.facts)


class _Writers:
    """The series that jobs write into, each open from the first of its jobs to the last."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs: dict[Path, list[Job]] = {}
        for job in jobs:
            if job.series is not None:
                self._jobs.setdefault(job.series, []).append(job)
        self._left = {series: len(mine) for series, mine in self._jobs.items()}
        self._open: dict[Path, SeriesWriter] = {}
        self._lock = threading.Lock()

    def of(self, job: Job) -> SeriesWriter | None:
        """Give the writer of a job's series; None: it writes into a directory of its own."""
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
        """Take note that a job is over."""
        if job.series is None:
            return
        with self._lock:
            self._left[job.series] -= 1
            last = self._left[job.series] == 0
            writer = self._open.pop(job.series, None) if last else None
        if writer is not None:
            writer.close()

    def close(self) -> None:
        """Close what is open, when no job is under way."""
        while self._open:
            self._open.popitem()[1].close()


def run_job(
    job: Job,
    number: int,
    progress: Progress | None,
    stop: Stop,
    series: SeriesWriter | None = None,
) -> Run | None:
    """Run one job to its end, or to where `stop` was seen set; what was simulated is kept.

    None: it was stopped before anything was simulated, and has written nothing. `series` takes the
    results of a run of a series.

    Raises `backwater.RunError` if the run broke a promise; its rows up to then are kept too. What
    an earlier run has left in its directory, which `find_done` has allowed, is removed first.
    """
    # Who writes a series has locked it, or what it is part of.
    mine = contextlib.nullcontext() if job.out is None or series is not None else locked(job.out)
    with keeping(), mine:
        return _run(job, number, progress, stop, series)


def _run(
    job: Job,
    number: int,
    progress: Progress | None,
    stop: Stop,
    series: SeriesWriter | None,
) -> Run | None:
    try:
        simulation = start(job, stop)
    except KeyboardInterrupt:
        if stop.is_set():
            return None
        raise
    sink: PartedSink | MemorySink
    if series is not None:
        sink = series.sink(job.seed)
    elif job.out is not None:
        sink = DirectorySink(job.out, job.manifest, job.prepared.recorded)
    else:
        sink = MemorySink(job.manifest)
    saver = Saver(job)
    if progress is not None and job.threads > 1:
        progress.noticed(number, used_threads(job, simulation.summary()))
    try:
        adopt(job, sink)
        while True:
            with _capturing(job.capture):
                status = simulation.advance(SLICE_MS, saver.next_ps)
            drain(simulation, sink)
            said = saver.save(simulation, sink, status) if status.reached else None
            if progress is not None:
                progress.advanced(number, status)
                if said is not None:
                    progress.noticed(number, f"warning: {said}")
            if status.done:
                run = sink.finish("done", _summary(simulation, saver))
                break
            if stop.is_set():
                with _capturing(job.capture):
                    simulation.stop()
                drain(simulation, sink)
                run = sink.finish("interrupted", _summary(simulation, saver))
                break
    except _core.RunError as error:
        drain(simulation, sink)
        error.run = sink.finish("failed", _summary(simulation, saver), str(error))
        raise
    except BaseException as error:
        # A full disk, a second Ctrl-C, a fault of ours: what lies there is not of a run under way.
        sink.abandon(error)
        raise
    if progress is not None:
        progress.finished(number)
    return run


def fraction(status: _core.Status) -> float | None:
    """How much of a run is done, by flows or by simulated time; None if that cannot be told."""
    parts = []
    if status.end_ps:
        parts.append(status.time_ps / status.end_ps)
    if status.flows_total:
        parts.append(status.flows_done / status.flows_total)
    # A run ends at whichever comes first.
    return max(parts, default=None)


def used_threads(job: Job, summary: Mapping[str, Any]) -> str:
    """Say how many threads a run uses, of those that it might use, and why it is one."""
    why = summary["one_thread_because"]
    if why:
        return f"threads: one, not {job.threads}: {why}"
    return f"threads: {summary['threads']} of {job.threads}"


def _summary(simulation: _core.Simulation, saver: Saver) -> dict[str, Any]:
    summary = simulation.summary()
    return {**summary, "findings": [*summary["findings"], *saver.findings]}


@contextlib.contextmanager
def _capturing(capture: _core.Capture | None) -> Iterator[None]:
    """Name the file that could not be written further, as when a disk is full."""
    try:
        yield
    except OSError as error:
        if capture is None:
            raise
        raise ResultError(
            f"{capture.path}: the capture cannot be written: {error}",
            "frames up to there are in the file",
        ) from None


def run_jobs(
    jobs: Sequence[Job],
    progress: Progress | None,
    stop: Stop,
    digest: Callable[[Run], T],
    workers: int | None = None,
) -> list[T | _core.RunError | None]:
    """Run jobs over the cores; gives, in the order of `jobs`, what `digest` makes of each run.

    An error stands for a run that it ended, None for a job that `stop` kept from starting. A run is
    forgotten once it is digested, so that hundreds of them need no memory. Runs that a Python class
    controls are done one after another, in the thread of the caller: its objects may share state.
    """

    def work(number: int) -> T | _core.RunError | None:
        if stop.is_set():
            return None
        job = jobs[number]
        try:
            run = run_job(job, number, progress, stop, writers.of(job))
            found = None if run is None else digest(run)
            writers.over(job)
            return found
        except _core.RunError as error:
            writers.over(job)
            return error
        except BaseException:
            # Whatever else went wrong (a full disk) would go wrong for the others too.
            stop.set()
            raise

    with contextlib.closing(_Writers(jobs)) as writers:
        if len(jobs) == 1 or any(job.prepared.in_python for job in jobs):
            return [work(number) for number in range(len(jobs))]
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            return list(pool.map(work, range(len(jobs))))


def find_done(jobs: Sequence[Job], *, force: bool = False) -> list[Run | None]:
    """Find, for each job, the complete run of the same scenario, seed and version in its place.

    A run of something else in its place is an error, unless `force` will have it replaced. What
    Backwater did not write is an error always. Nothing is removed here.
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
    """Find, for each job, the complete run that it asks for; None: it is to be run.

    `force` has all run anew; so have a capture, and a run that is to be saved on its way, which
    results do not hold.
    """
    found = zip(jobs, find_done(jobs, force=force), strict=True)
    return [
        None if force or job.capture is not None or job.saving is not None else run
        for job, run in found
    ]
