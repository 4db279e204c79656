"""One run, as Python asks for it: to its end, or to where it is saved."""

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
    """Lets a plain function listen to the one run it is given to."""

    def __init__(self, call: Callable[[_core.Status], None]) -> None:
        """Listen with this function."""
        self._call = call

    def advanced(self, job: int, status: Standing) -> None:  # noqa: ARG002 - there is one
        """Tell it how far the run is."""
        self._call(cast("_core.Status", status))

    def finished(self, job: int) -> None:
        """Tell nothing: the results are there."""

    def noticed(self, job: int, what: str) -> None:
        """Tell nothing: the results have it among their warnings."""


def run_to_end(job: Job, call: Callable[[_core.Status], None] | None, *, force: bool) -> Run:
    """Give a job's results: those that are there already, unless `force`, or a run's.

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
    """Run a job up to a time, that time included, and save it to a file.

    Raises `backwater.Interrupted` if a signal comes before.
    """
    with interruptible() as stop:
        if save_at(job, until, path, None, stop) is None:
            raise stop.interrupted(None)
