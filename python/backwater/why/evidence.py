"""Gets a run with its causes recorded: the run itself where it has them, else the run repeated.

Runs are deterministic, and recording moves nothing: the fingerprint of the repeated run says so.
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
"""Keys with which a run records its causes."""


@dataclass(frozen=True)
class Evidence:
    """A run whose causes are recorded."""

    run: Run
    scenario: Scenario
    """What was run, without the recording."""
    seed: int
    repeated: bool
    """Whether the run was done again for its causes."""
    error: str | None
    """What ended the run before its time, if anything did."""
    cut_short: str | None = None
    """How the run that was done before ended, if it left nothing to compare the repeated one to."""
    unrecorded: tuple[str, ...] = ()
    """Keys of what is not recorded, where the run cannot be done again."""


def evidence(
    scenario: Scenario,
    seed: int,
    earlier: Run | None,
    progress: Progress | None = None,
    control: str | None = None,
) -> Evidence:
    """Give a run of `scenario` with the waits of all flows and all pauses recorded.

    `earlier` is a run of it that was done before, perhaps without. `control`: a class that only
    another program has, so that nothing is run and what was recorded must do. Raises
    `InputError` if the run cannot be repeated as it was, and `backwater.Interrupted` on Ctrl-C or
    SIGTERM.
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
    """Say how a run ended that has no fingerprint of its whole, and cannot be compared."""
    whole = earlier.status in ("done", "failed") and earlier.fingerprint is not None
    return None if whole else ending(earlier.manifest)


def _recorded(scenario: Scenario, seed: int, earlier: Run | None, control: str) -> Evidence:
    """Give a run that cannot be done again, if it has recorded what its flows waited for."""
    if earlier is None or earlier.status != "done" or not _has_waits(earlier):
        which = "there is no such run"
        if earlier is not None:
            which = f"{earlier.directory}: not all that flows waited for is recorded"
        if earlier is not None and (ended := ending(earlier.manifest)) is not None:
            which = f"{earlier.directory}: {ended}"
        raise InputError(
            f"{which}, and it cannot be done again here: {why_not(control)}",
            f"there: {in_python(CAUSES, f'out=DIR, seed={seed}')}",
        )
    paused = port_totals(earlier).get("pauses_received", 0)
    return Evidence(earlier, scenario, seed, False, None, None, (PAUSE_CAUSES,) if paused else ())


def _has_causes(run: Run) -> bool:
    return _has_waits(run) and bool(run.scenario.get("output", {}).get("pause_causes"))


def _has_waits(run: Run) -> bool:
    """Whether a run has recorded what all its flows waited for."""
    waits = run.scenario.get("output", {}).get("waits") or []
    return "all" in waits or (bool(waits) and set(groups(run)) <= set(waits))


def _compare(earlier: Run, run: Run) -> None:
    """See that a run was repeated as it was."""
    if earlier.fingerprint == run.fingerprint:
        return
    versions = earlier.manifest.get("versions")
    other = "" if versions == _core.version() else "; it was made by another version or build"
    raise InputError(
        f"{earlier.directory}: the run cannot be repeated as it was: its fingerprint is "
        f"{earlier.fingerprint}, and now {run.fingerprint}{other}",
        "run it again with `backwater run`, and ask of that",
    )
