"""Provides a run with recorded causes: the run itself if it has them, or else a repetition.

Runs are deterministic, and recording changes nothing: the repeated run has the same fingerprint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError
from backwater.findings import ending
from backwater.notices import say_again
from backwater.numbers.run import groups, port_totals
from backwater.programs import in_python, why_not
from backwater.running import Job, run_job
from backwater.stopping import interruptible

if TYPE_CHECKING:
    from backwater.results import Run
    from backwater.running import Progress
    from backwater.scenario import Scenario

PAUSE_CAUSES = "output.pause_causes"
CAUSES: dict[str, list[str] | bool] = {"output.waits": ["all"], PAUSE_CAUSES: True}
"""Keys that make a run record its causes."""


@dataclass(frozen=True)
class Evidence:
    """A run with recorded causes."""

    run: Run
    scenario: Scenario
    """The scenario of the run, without the recording."""
    seed: int
    repeated: bool
    """Whether the run was repeated to record its causes."""
    error: str | None
    """The error that ended the run early; None: no error."""
    cut_short: str | None = None
    """How the earlier run ended, if it has no fingerprint of its whole to compare with."""
    unrecorded: tuple[str, ...] = ()
    """Keys of recordings that the run lacks, if it cannot be repeated."""


def evidence(
    scenario: Scenario,
    seed: int,
    earlier: Run | None,
    progress: Progress | None = None,
    control: str | None = None,
) -> Evidence:
    """Return a run of `scenario` with the waits of all flows and all pauses recorded.

    `earlier`: an earlier run, perhaps without recorded causes. `control`: a class that only another
    program has, so that nothing runs here and the records of `earlier` must suffice. Raises
    `InputError` if the repetition differs from the earlier run, or if the records do not suffice;
    `backwater.Interrupted` on Ctrl-C or SIGTERM.
    """
    if earlier is not None and earlier.status == "done" and _has_causes(earlier):
        return Evidence(earlier, scenario, seed, False, None)
    if control is not None:
        return _recorded(scenario, seed, earlier, control)
    recording = scenario
    for key, value in CAUSES.items():
        recording = recording.set(key, value)
    job = Job(recording.prepare(), seed, None)
    if earlier is not None:
        say_again(earlier, "waits and causes of pauses recorded")
    error = None
    with interruptible() as stop:
        try:
            run = run_job(job, 0, progress, stop)
        except _core.RunError as broken:
            run, error = broken.run, str(broken).partition("\n")[0]
    if run is None or stop.is_set():
        raise stop.interrupted(run)
    cut_short = None if earlier is None else uncomparable(earlier)
    if earlier is not None and cut_short is None:
        _compare(earlier, run)
    return Evidence(run, scenario, seed, earlier is not None, error, cut_short)


def uncomparable(earlier: Run) -> str | None:
    """Return how a run without a fingerprint of its whole ended; None: it has one."""
    whole = earlier.status in ("done", "failed") and earlier.fingerprint is not None
    return None if whole else ending(earlier.manifest)


def _recorded(scenario: Scenario, seed: int, earlier: Run | None, control: str) -> Evidence:
    """Return a run that cannot be repeated, if it has recorded the waits of its flows."""
    if earlier is None or earlier.status != "done" or not _has_waits(earlier):
        which = "there is no such run"
        if earlier is not None:
            which = f"{earlier.directory}: some waits of flows are not recorded"
        if earlier is not None and (ended := ending(earlier.manifest)) is not None:
            which = f"{earlier.directory}: {ended}"
        raise InputError(
            f"{which}, and it cannot be repeated here: {why_not(control)}",
            f"there: {in_python(CAUSES, f'out=DIR, seed={seed}')}",
        )
    paused = port_totals(earlier).get("pauses_received", 0)
    return Evidence(earlier, scenario, seed, False, None, None, (PAUSE_CAUSES,) if paused else ())


def _has_causes(run: Run) -> bool:
    return _has_waits(run) and bool(run.scenario.get("output", {}).get("pause_causes"))


def _has_waits(run: Run) -> bool:
    """Whether a run has recorded the waits of all its flows."""
    waits = run.scenario.get("output", {}).get("waits") or []
    return "all" in waits or (bool(waits) and set(groups(run)) <= set(waits))


def _compare(earlier: Run, run: Run) -> None:
    """Refuse a repetition whose fingerprint differs. Raises `InputError`."""
    if earlier.fingerprint == run.fingerprint:
        return
    versions = earlier.manifest.get("versions")
    other = "" if versions == _core.version() else "; it was made by another version or build"
    raise InputError(
        f"{earlier.directory}: the repeated run differs: its fingerprint was "
        f"{earlier.fingerprint}, and is now {run.fingerprint}{other}",
        "make a new run with `backwater run`, and explain that one",
    )
