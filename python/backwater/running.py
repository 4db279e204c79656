"""Drives simulations to their end: one after another or several at a time, with progress and stop.

The simulator works in slices of wall time without holding the interpreter's lock, so threads are
enough to use every core, and a run's result does not depend on how many run beside it.
"""

from __future__ import annotations

import contextlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from backwater import _core
from backwater.directory import locked
from backwater.errors import InputError, ResultError
from backwater.files import digest
from backwater.journal import name_of
from backwater.results import DirectorySink, MemorySink, Run, opening
from backwater.saving import SLICE_MS, Saver, adopt, drain, start
from backwater.stopping import keeping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from backwater.results import PartedSink
    from backwater.saving import GoingOn, Saving
    from backwater.scenario import Scenario
    from backwater.series import SeriesWriter
    from backwater.stopping import Stop

    Sink = PartedSink | MemorySink

# Each thread holds a network of its own.
MOST_THREADS = 64


def check_threads(threads: int, said: str) -> None:
    """Refuse a number of threads that no run can have; `said` is how it was asked for."""
    if not 1 <= threads <= MOST_THREADS:
        raise InputError(
            f"{said}: not from 1 to {MOST_THREADS}", "more threads than processors gain nothing"
        )


class Standing(Protocol):
    """Where a run stands, as `_core.Status` says it, or a worker elsewhere."""

    @property
    def time_ps(self) -> int: ...  # noqa: D102 - as there
    @property
    def end_ps(self) -> int | None: ...  # noqa: D102
    @property
    def hops(self) -> int: ...  # noqa: D102
    @property
    def flows_done(self) -> int: ...  # noqa: D102
    @property
    def flows_total(self) -> int | None: ...  # noqa: D102


class Progress(Protocol):
    """Told how runs advance; called from the threads that run them."""

    def advanced(self, job: int, status: Standing) -> None:
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
    source: Scenario | None = None
    """What it was made of, which may travel to a worker; None: it goes on from a saved run."""
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
        source: Scenario | None = None,
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
            source,
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
    with keeping_in(job, series) as sink:
        return simulate(job, number, progress, stop, sink)


@contextlib.contextmanager
def keeping_in(job: Job, series: SeriesWriter | None) -> Iterator[Callable[[], Sink]]:
    """Have the place of a job's results alone; gives what makes the sink that they go to."""

    def sink() -> Sink:
        if series is not None:
            return series.sink(job.seed)
        if job.out is not None:
            return DirectorySink(job.out, job.manifest, job.prepared.recorded)
        return MemorySink(job.manifest)

    # Who writes a series has locked it, or what it is part of.
    mine = contextlib.nullcontext() if job.out is None or series is not None else locked(job.out)
    with keeping(), mine:
        yield sink


def simulate(
    job: Job,
    number: int,
    progress: Progress | None,
    stop: Stop,
    opened: Callable[[], Sink],
) -> Run | None:
    """Run one job as `run_job` does, into a sink that is made once the network is built."""
    try:
        simulation = start(job, stop)
    except KeyboardInterrupt:
        if stop.is_set():
            return None
        raise
    sink = opened()
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


def fraction(status: Standing) -> float | None:
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
