"""Runs one job for Python: to its end, or to a time at which it is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from backwater.experiments.execute import taken_up
from backwater.running import run_job
from backwater.saving import save_at
from backwater.stopping import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from backwater import _core
    from backwater.results import Run
    from backwater.running import Job, Standing


class Listener:
    """Passes the progress of runs on to a plain function."""

    def __init__(self, call: Callable[[_core.Status], None]) -> None:
        """Pass progress on to `call`."""
        self._call = call

    def advanced(self, job: int, status: Standing) -> None:  # noqa: ARG002 - the function has no use
        """Pass on how far a run is."""
        self._call(cast("_core.Status", status))

    def finished(self, job: int) -> None:
        """Do nothing: the caller gets the results."""

    def noticed(self, job: int, what: str) -> None:
        """Do nothing: the results list it among their warnings."""


def run_to_end(job: Job, call: Callable[[_core.Status], None] | None, *, force: bool) -> Run:
    """Return a job's results: those of an earlier run, unless `force`, or of a new one.

    Raises `backwater.Interrupted` if a signal ends it.
    """
    [there] = taken_up([job], force=force)
    if there is not None:
        return there
    with interruptible() as stop:
        run = run_job(job, 0, None if call is None else Listener(call), stop)
    if run is None or run.status == "interrupted":
        raise stop.interrupted(run)
    return run


def save_there(job: Job, until: str, path: Path) -> None:
    """Run a job up to and including a time, and save it to a file.

    Raises `backwater.Interrupted` if a signal comes before that time.
    """
    with interruptible() as stop:
        if save_at(job, until, path, None, stop) is None:
            raise stop.interrupted(None)
