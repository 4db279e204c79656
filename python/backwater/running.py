"""Runs simulations to their end or to a stop, and reports their progress.

The simulator works in slices of wall time without the interpreter's lock. So threads suffice to use
every core, and a run's results do not depend on the runs beside it.
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

# Each thread has a network of its own in memory.
MOST_THREADS = 64


def check_threads(threads: int, said: str) -> None:
    """Raise `InputError` for an impossible number of threads; `said`: the option, for the error."""
    if not 1 <= threads <= MOST_THREADS:
        raise InputError(
            f"{said}: not from 1 to {MOST_THREADS}", "more threads than processors gain nothing"
        )


class Standing(Protocol):
    """How far a run is, as `_core.Status` or another process's worker reports it."""

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
    """Receives the progress of runs, from the threads that run them."""

    def advanced(self, job: int, status: Standing) -> None:
        """Take the status of job number `job` after a slice."""

    def finished(self, job: int) -> None:
        """Take note that job number `job` has ended."""

    def noticed(self, job: int, what: str) -> None:
        """Take a message to show at once about job number `job`, which continues."""


@dataclass(frozen=True)
class Prepared:
    """A checked scenario, with the part of its runs' manifests that does not depend on the run."""

    scenario: _core.Scenario
    resolved: str
    """Every value, as the text of a scenario file. It identifies the scenario of a run."""
    recorded: str
    """The text to keep beside results: the same, with the absolute paths of its tables."""
    warnings: list[dict[str, str]]
    facts: dict[str, Any]
    """The part of the manifest that does not depend on the seed."""
    source: Scenario | None = None
    """The scenario it was made from, which can travel to a worker; None: it continues a saved
    run."""
    going_on: GoingOn | None = None
    """The saved run that its run continues; None: the run begins at rest."""

    @property
    def identity(self) -> str:
        """Identifies its runs, except for seed and version: all values, and its files' content."""
        inputs, changed = sorted(self.facts["inputs"].items()), self.facts.get("changed")
        return repr((self.resolved, inputs, changed))

    @property
    def in_python(self) -> bool:
        """True if a Python class controls flows."""
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
        """Check a scenario and prepare it.

        `facts`: where it comes from and what was changed. `base`: the directory that the names of
        its tables are relative to.
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
    """Return a scenario's text with absolute paths of its files.

    Results do not copy the files, since they may be large. The text that identifies a run keeps the
    author's names, so that the run is the same wherever its files are.
    """
    files = _named(resolved)
    for key, name in files.items():
        place = ((base or Path()) / name).absolute()
        scenario = scenario.with_set(key, json.dumps(str(place)))
    return scenario.resolved_toml() if files else resolved


# Files that a scenario names: the list that has them, and their key in its entries.
_FILES = (("flow", "table"), ("flow", "matrix"), ("job", "operations"))


def _named(resolved: str) -> dict[str, str]:
    """Return the names of a scenario's files, by the dotted keys that hold them."""
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
    """Return the SHA-256 of each file that a scenario names, by that name."""
    names = _named(resolved).values()
    try:
        return {name: digest((base or Path()) / name) for name in dict.fromkeys(names)}
    except OSError as error:
        raise InputError(
            f"{error.filename}: cannot be read: {error.strerror}",
            "the scenario names it: put it back",
        ) from None


def contents(resolved: str, inputs: Mapping[str, str]) -> dict[str, str | None]:
    """Return the SHA-256 of each file by the key that names it; `inputs`: the same, by name."""
    return {key: inputs.get(name) for key, name in _named(resolved).items()}


@dataclass(frozen=True)
class Job:
    """One run to do: a checked scenario, a seed, and the place of the results (None: memory)."""

    prepared: Prepared
    seed: int
    out: Path | None
    capture: _core.Capture | None = None
    series: Path | None = None
    """The directory of the series that the run is part of; `out` is then its name in it."""
    threads: int = 1
    """Most threads that it may use. Its results do not depend on them."""
    saving: Saving | None = None
    """Where, and how often, it is saved during the run; None: it is not."""

    @staticmethod
    def repeated(prepared: Prepared, seed: int, series: Path | None) -> Job:
        """Return the job of one run of a series in a directory (None: in memory)."""
        out = None if series is None else series / name_of(seed)
        return Job(prepared, seed, out, series=series)

    @property
    def manifest(self) -> dict[str, Any]:
        """The part of its manifest that is known before the run."""
        return opening(seed=self.seed, **self.prepared.facts)


def run_job(
    job: Job,
    number: int,
    progress: Progress | None,
    stop: Stop,
    series: SeriesWriter | None = None,
) -> Run | None:
    """Run one job to its end, or until `stop` is set, and keep what was simulated.

    Returns None if it was stopped before anything was simulated or written. `series` takes the
    results of a run of a series. Earlier results in the directory, which the caller has checked,
    are removed first. Raises `backwater.RunError` if the run broke a promise; its rows up to then
    are kept, too.
    """
    with keeping_in(job, series) as sink:
        return simulate(job, number, progress, stop, sink)


@contextlib.contextmanager
def keeping_in(job: Job, series: SeriesWriter | None) -> Iterator[Callable[[], Sink]]:
    """Lock the place of a job's results, and yield a function that makes their sink."""

    def sink() -> Sink:
        if series is not None:
            return series.sink(job.seed)
        if job.out is not None:
            return DirectorySink(job.out, job.manifest, job.prepared.recorded)
        return MemorySink(job.manifest)

    # The writer of a series has locked it, or the results that it is part of.
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
    """Run one job as `run_job` does, into a sink that `opened` makes once the network is built."""
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
            warning = saver.save(simulation, sink, status) if status.reached else None
            if progress is not None:
                progress.advanced(number, status)
                if warning is not None:
                    progress.noticed(number, f"warning: {warning}")
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
        # A full disk, a second Ctrl-C, a defect: the results must not look like a run in progress.
        sink.abandon(error)
        raise
    if progress is not None:
        progress.finished(number)
    return run


def fraction(status: Standing) -> float | None:
    """Return how much of a run is done, by flows or by simulated time; None if it is unknown."""
    parts = []
    if status.end_ps:
        parts.append(status.time_ps / status.end_ps)
    if status.flows_total:
        parts.append(status.flows_done / status.flows_total)
    # A run ends at whichever comes first.
    return max(parts, default=None)


def used_threads(job: Job, summary: Mapping[str, Any]) -> str:
    """Return how many threads a run uses, of those that it may use, and why if it is one."""
    why = summary["one_thread_because"]
    if why:
        return f"threads: one, not {job.threads}: {why}"
    return f"threads: {summary['threads']} of {job.threads}"


def _summary(simulation: _core.Simulation, saver: Saver) -> dict[str, Any]:
    summary = simulation.summary()
    return {**summary, "findings": [*summary["findings"], *saver.findings]}


@contextlib.contextmanager
def _capturing(capture: _core.Capture | None) -> Iterator[None]:
    """Name the capture in errors of its file, as when a disk is full."""
    try:
        yield
    except OSError as error:
        if capture is None:
            raise
        raise ResultError(
            f"{capture.path}: the capture cannot be written: {error}",
            "frames up to there are in the file",
        ) from None
