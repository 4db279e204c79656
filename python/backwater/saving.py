"""Saves runs in progress, and starts runs from saved ones.

`backwater.saved` has the format of the file.
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

# Wall time of one slice, in ms: progress is reported, and Ctrl-C noticed, after each.
SLICE_MS = 50


@dataclass(frozen=True)
class GoingOn:
    """A saved run that another one continues."""

    saved: SavedRun
    scenario: _core.Scenario
    """The scenario with which it was saved, including changes during the run."""
    keys: list[str]
    """Keys that have other values from now on."""


LEAST_PS = 10**6
"""Least simulated time between saves, in ps: more often, a run would mostly save."""


@dataclass(frozen=True)
class Saving:
    """The file to which a run is saved during the run, and how often."""

    path: Path
    every_ps: int
    """Simulated time between saves, in ps."""


def saving(path: str | os.PathLike[str] | None, every: str | None) -> Saving | None:
    """Return where a run is to be saved during the run, and how often; None: it is not saved.

    Raises `InputError` for one without the other, and for a file or time that cannot be used.
    """
    if path is None and every is None:
        return None
    if path is None or every is None:
        raise InputError(
            "saving during a run needs both a file and a time", "give both save and every"
        )
    time = _core.base_units("time", every, "--every")
    if time < LEAST_PS:
        raise InputError(
            f"--every {every}: less than 1 us of simulated time",
            'at least 1 us, as in --every "1 ms"',
        )
    check_writable(Path(path))
    return Saving(Path(path), time)


def with_saving(job: Job, where: Saving | None, *, force: bool = False) -> Job:
    """Return a job that is saved during its run.

    Raises `InputError` if it cannot be saved, or, unless `force`, if the file holds this run
    already, which would start again from the beginning.
    """
    if where is None:
        return job
    check_savable(job)
    saved = None if force else last_save(job, where.path)
    if saved is not None and not _is_complete(job):
        raise InputError(
            f"{where.path}: holds this run, saved at {simulated(saved.time_ps)}, and would be "
            "replaced by the run from the beginning",
            f"`backwater run --from {shlex.quote(str(where.path))}` resumes it, also with --save "
            "and --every; --force starts again",
        )
    return dataclasses.replace(job, saving=where)


def _is_complete(job: Job) -> bool:
    """Return whether the place of the results holds the complete run."""
    try:
        return job.out is not None and earlier_run(job.out, job.manifest) is not None
    except InputError:
        return False


def last_save(job: Job, path: Path) -> SavedRun | None:
    """Return the saved run in a file, if it is this run; None otherwise."""
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
    """Raise `InputError` for a run that cannot be saved."""
    if job.capture is not None:
        raise InputError("a run whose frames are captured cannot be saved", "leave out the capture")
    if job.threads > 1:
        raise InputError("a run on several threads cannot be saved", "run it on one thread")
    if any(name.startswith("table of ") for name in job.prepared.facts["inputs"]):
        raise InputError(
            "a run whose flows come from a table in memory cannot be saved",
            "write the table to a Parquet file, and name it as `table` of a [[flow]]",
        )


def drain(
    simulation: _core.Simulation, sink: PartedSink | MemorySink, *, partial: bool = False
) -> None:
    """Move closed batches to the sink, and with `partial` also those that are not full."""
    for table, batch in simulation.batches(partial):
        sink.write(table, batch)
    sink.tick()


def start(job: Job, stop: Stop) -> _core.Simulation:
    """Build a job's network, at rest or in the state of a saved run."""
    going_on, saved = job.prepared.going_on, None
    if going_on is not None:
        saved = going_on.saved.state(), going_on.scenario, going_on.keys
    return job.prepared.scenario.start(job.seed, job.capture, stop.is_set, job.threads, saved)


def adopt(job: Job, sink: PartedSink | MemorySink) -> None:
    """Move the rows of the saved run to the sink of the run that continues it."""
    if job.prepared.going_on is not None and isinstance(sink, OwnSink | MemorySink):
        for part in job.prepared.going_on.saved.parts():
            sink.adopt(part)


LAST_PS = 2**64 - 2
"""The last simulated time, in ps."""


class Saver:
    """Saves a run during the run. If a save fails, the last one stays, and the run continues."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._events = -1
        self._saved_ps: int | None = None
        self.findings: list[dict[str, Any]] = []
        """The finding for the run's end, if the last save failed."""
        self.next_ps: int | None = None
        """The simulated time of the next save, in ps; None: no more saves."""
        if job.saving is not None:
            going_on = job.prepared.going_on
            before = 0 if going_on is None else going_on.saved.time_ps
            self._at(before - before % job.saving.every_ps + job.saving.every_ps)

    def _at(self, time_ps: int) -> None:
        """Save at this time, unless it is beyond the last."""
        self.next_ps = time_ps if time_ps <= LAST_PS else None

    def save(
        self, simulation: _core.Simulation, sink: PartedSink | MemorySink, status: _core.Status
    ) -> str | None:
        """Save the run at the time it has reached, unless nothing has happened since the last save.

        Returns a warning if it could not be saved.
        """
        if self._job.saving is None or self.next_ps is None:
            return None
        warning = None
        if status.events != self._events:
            try:
                save(self._job, simulation, sink, self.next_ps, self._job.saving.path)
                self._events, self._saved_ps, self.findings = status.events, self.next_ps, []
            except ResultError as error:
                warning = self._has_failed(str(error), self.next_ps)
        self._at(self.next_ps + self._job.saving.every_ps)
        return warning

    def _has_failed(self, reason: str, time_ps: int) -> str:
        path = "" if self._job.saving is None else f"{self._job.saving.path} "
        left = (
            "the run is not saved"
            if self._saved_ps is None
            else f"{path}has it as it was at {simulated(self._saved_ps)}"
        )
        message = f"{reason}, at {simulated(time_ps)}; {left}"
        hint = "check that the disk has room, and that the directory exists; saves continue"
        self.findings = [{"kind": "save", "failure": False, "message": message, "hint": hint}]
        return message


def save(
    job: Job, simulation: _core.Simulation, sink: PartedSink | MemorySink, time_ps: int, path: Path
) -> None:
    """Save a run at the time that it has reached, with all its rows so far."""
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
    """Run up to a time, save the run, and return its status; None: it was stopped before.

    Raises `InputError` if the run ends before, and `backwater.RunError` if it breaks a promise.
    """
    until_ps = _core.base_units("time", until, "--until")
    going_on = job.prepared.going_on
    if going_on is not None and until_ps < going_on.saved.time_ps:
        raise InputError(
            f"--until {until}: is before {simulated(going_on.saved.time_ps)}",
            "the run continues from there: give a later time",
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
                    f"the run ends at {simulated(status.time_ps)}: there is nothing to save",
                    "give --until an earlier time",
                )
            if stop.is_set():
                return None
