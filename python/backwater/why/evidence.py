"""Gets a run with its causes recorded: the run itself where it has them, else the run repeated.

Runs are deterministic, and recording moves nothing: the fingerprint of the repeated run says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.errors import InputError
from backwater.findings import ending
from backwater.running import Job, interruptible, run_job

if TYPE_CHECKING:
    from backwater.results import Run
    from backwater.running import Progress
    from backwater.scenario import Scenario


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


def evidence(
    scenario: Scenario, seed: int, earlier: Run | None, progress: Progress | None = None
) -> Evidence:
    """Give a run of `scenario` with the waits of all flows and all pauses recorded.

    `earlier` is a run of it that was done before, perhaps without. Raises `InputError` if the run
    cannot be repeated as it was, and `backwater.Interrupted` on Ctrl-C or SIGTERM.
    """
    if earlier is not None and earlier.status == "done" and _has_causes(earlier):
        return Evidence(earlier, scenario, seed, False, None)
    recording = scenario.set("output.waits", ["all"]).set("output.pause_causes", True)
    job = Job(recording.prepare(), seed, None)
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


def _has_causes(run: Run) -> bool:
    origins: list[dict[str, Any]] = run.manifest.get("origins") or []
    values = {origin["key"]: origin["value"] for origin in origins}
    waits = values.get("output.waits", values.get("output.waits.0", ""))
    return "all" in waits and values.get("output.pause_causes") == "true"


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
