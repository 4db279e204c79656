"""Saves runs that are under way, and begins runs where a saved one was.

What is in the file is the matter of `backwater.saved`.
"""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError, ResultError
from backwater.files import temporary_directory
from backwater.results import MemorySink, OwnSink, SpoolSink, earlier_run
from backwater.saved import SavedRun, check_writable, write
from backwater.wording import simulated

if TYPE_CHECKING:
    import os
    from typing import Any

    from backwater.results import PartedSink
    from backwater.running import Job, Progress
    from backwater.stopping import Stop

# Wall time of one slice: how often progress moves and how late Ctrl-C may be noticed.
SLICE_MS = 50


@dataclass(frozen=True)
class GoingOn:
    """A saved run from which another one goes on."""

    saved: SavedRun
    scenario: _core.Scenario
    """The scenario with which it was saved, changes on the way included."""
    keys: list[str]
    """Keys that have other values from now on."""


LEAST_PS = 10**6
"""Simulated time between two saves: within less, a run writes down more than it does."""


@dataclass(frozen=True)
class Saving:
    """Where a run is saved on its way, and how often."""

    path: Path
    every_ps: int


def saving(path: str | os.PathLike[str] | None, every: str | None) -> Saving | None:
    """Read where a run is to be saved on its way, and how often."""
    if path is None and every is None:
        return None
    if path is None or every is None:
        raise InputError(
            "a run that is saved on its way needs a file and a time", "give save and every"
        )
    time = _core.base_units("time", every, "--every")
    if time < LEAST_PS:
        raise InputError(
            f"--every {every}: a run cannot be saved more often than every 1 us of its time",
            'as in --every "1 ms"',
        )
    check_writable(Path(path))
    return Saving(Path(path), time)


def with_saving(job: Job, where: Saving | None, *, force: bool = False) -> Job:
    """Have a job saved on its way.

    Raises `InputError` if it cannot be, or if that run is saved there already, from which it would
    begin anew: with `force` it does.
    """
    if where is None:
        return job
    check_savable(job)
    saved = None if force else last_save(job, where.path)
    if saved is not None and not _is_complete(job):
        raise InputError(
            f"{where.path}: holds this run as it was at {simulated(saved.time_ps)}, and would be "
            "replaced from the beginning",
            f"`backwater run --from {shlex.quote(str(where.path))}` goes on from there, with "
            "--save and --every, too; --force begins anew",
        )
    return dataclasses.replace(job, saving=where)


def _is_complete(job: Job) -> bool:
    """Whether the whole run is where its results go."""
    try:
        return job.out is not None and earlier_run(job.out, job.manifest) is not None
    except InputError:
        return False


def last_save(job: Job, path: Path) -> SavedRun | None:
    """Give what is saved in a file, if that is this very run, not yet at its end."""
    if not path.exists():
        return None
    try:
        saved = SavedRun.open(path)
    except InputError:
        return None
    changed = job.prepared.facts.get("changed", [])
    known = {"scenario": job.prepared.resolved, "seed": job.seed, "changed": changed}
    return saved if all(saved.header[name] == value for name, value in known.items()) else None


def check_savable(job: Job) -> None:
    """Refuse to save what cannot be saved yet. Raises `InputError`."""
    if job.capture is not None:
        raise InputError("a run whose frames are captured cannot be saved", "leave out the capture")
    if job.threads > 1:
        raise InputError("a run on several threads cannot be saved", "run it on one thread")
    if any(name.startswith("table of ") for name in job.prepared.facts["inputs"]):
        raise InputError(
            "a run whose flows come from a table in memory cannot be saved",
            "write the table to a Parquet file, and name that as `table` of a [[flow]]",
        )


def drain(
    simulation: _core.Simulation, sink: PartedSink | MemorySink, *, partial: bool = False
) -> None:
    """Take the batches that are closed, with `partial` also those that are not full."""
    for table, batch in simulation.batches(partial):
        sink.write(table, batch)
    sink.tick()


def start(job: Job, stop: Stop) -> _core.Simulation:
    """Build a job's network, at rest or where a saved run was."""
    going_on, saved = job.prepared.going_on, None
    if going_on is not None:
        saved = going_on.saved.state(), going_on.scenario, going_on.keys
    return job.prepared.scenario.start(job.seed, job.capture, stop.is_set, job.threads, saved)


def adopt(job: Job, sink: PartedSink | MemorySink) -> None:
    """Give a run that goes on the rows that were handed out before."""
    if job.prepared.going_on is not None and isinstance(sink, OwnSink | MemorySink):
        for part in job.prepared.going_on.saved.parts():
            sink.adopt(part)


LAST_PS = 2**64 - 2
"""The last time that there is."""


class Saver:
    """Saves a run on its way. A save that fails leaves the one before it, and the run goes on."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._events = -1
        self._saved_ps: int | None = None
        self.findings: list[dict[str, Any]] = []
        """What there is to say of it at the run's end: that the last save has failed."""
        self.next_ps: int | None = None
        """The time up to which it is to run next; None: to its end."""
        if job.saving is not None:
            going_on = job.prepared.going_on
            before = 0 if going_on is None else going_on.saved.time_ps
            self._at(before - before % job.saving.every_ps + job.saving.every_ps)

    def _at(self, time_ps: int) -> None:
        """Save at this time, if there is such a time."""
        self.next_ps = time_ps if time_ps <= LAST_PS else None

    def save(
        self, simulation: _core.Simulation, sink: PartedSink | MemorySink, status: _core.Status
    ) -> str | None:
        """Save it at the time that it has reached, unless nothing has happened since.

        Gives what is to be said at once: that it could not be saved.
        """
        if self._job.saving is None or self.next_ps is None:
            return None
        said = None
        if status.events != self._events:
            try:
                save(self._job, simulation, sink, self.next_ps, self._job.saving.path)
                self._events, self._saved_ps, self.findings = status.events, self.next_ps, []
            except ResultError as error:
                said = self._has_failed(str(error), self.next_ps)
        self._at(self.next_ps + self._job.saving.every_ps)
        return said

    def _has_failed(self, reason: str, time_ps: int) -> str:
        path = "" if self._job.saving is None else f"{self._job.saving.path} "
        left = (
            "nothing of it is saved"
            if self._saved_ps is None
            else f"{path}has it as it was at {simulated(self._saved_ps)}"
        )
        message = f"{reason}, at {simulated(time_ps)}; {left}"
        hint = "see that there is room, and that the directory is there; the next save is tried"
        self.findings = [{"kind": "save", "failure": False, "message": message, "hint": hint}]
        return message


def save(
    job: Job, simulation: _core.Simulation, sink: PartedSink | MemorySink, time_ps: int, path: Path
) -> None:
    """Save a run that has come to a time, with all its rows so far."""
    if not isinstance(sink, OwnSink | MemorySink):
        return
    drain(simulation, sink, partial=True)
    prepared = job.prepared
    facts = {
        "build": prepared.facts["versions"],
        "seed": job.seed,
        "time_ps": time_ps,
        "scenario": prepared.resolved,
        "recorded": prepared.recorded,
        "facts": prepared.facts,
        "changed": prepared.facts.get("changed", []),
    }
    write(path, facts, simulation.save(), sink.parts())


def save_at(
    job: Job, until: str, path: Path, progress: Progress | None, stop: Stop
) -> _core.Status | None:
    """Run up to a time, and save the run there; None: it was stopped before.

    Raises `InputError` if the run is over by then, and `backwater.RunError` if it broke a promise.
    """
    until_ps = _core.base_units("time", until, "--until")
    going_on = job.prepared.going_on
    if going_on is not None and until_ps < going_on.saved.time_ps:
        raise InputError(
            f"--until {until}: is before {simulated(going_on.saved.time_ps)}",
            "the run goes on from there: give a later time",
        )
    check_savable(job)
    check_writable(path)
    with temporary_directory(".backwater.", path.parent) as spool:
        try:
            simulation = start(job, stop)
        except KeyboardInterrupt:
            if stop.is_set():
                return None
            raise
        sink = SpoolSink(spool)
        adopt(job, sink)
        while True:
            status = simulation.advance(SLICE_MS, until_ps)
            drain(simulation, sink)
            if progress is not None:
                progress.advanced(0, status)
            if status.reached:
                save(job, simulation, sink, until_ps, path)
                if progress is not None:
                    progress.finished(0)
                return status
            if status.done:
                raise InputError(
                    f"the run is over at {simulated(status.time_ps)}: there is nothing to save",
                    "give --until an earlier time",
                )
            if stop.is_set():
                return None
