"""Repeats a run with samples, if the reported run has not recorded all that a page draws.

Runs are deterministic, and recording changes nothing of what happens: a repeated run with another
fingerprint is an error. It is kept in `observed/` beside the results, so that the next page needs
no run.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import backwater
from backwater._core import RunError
from backwater.directory import OBSERVED
from backwater.errors import InputError, ResultError
from backwater.experiments.execute import find_done, run_jobs
from backwater.journal import name_of
from backwater.notices import say_again, seconds
from backwater.numbers.units import time_ps
from backwater.plot import data
from backwater.programs import STANDING, control_of, why_not
from backwater.report.assumptions import given_in_python, recorded
from backwater.stopping import interruptible
from backwater.wording import duration, series, time_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from backwater.results import Run
    from backwater.running import Progress

QUANTITIES = {
    "queue_bytes": "queues",
    "sent_bytes": "links",
    "paused": "pauses",
    "flow_received_bytes": "flows",
}
"""Quantities that a page draws over time, with the key of `output` that records each."""

SECONDS = 600.0
"""A run that took longer is repeated only on request."""
STEPS = 300
"""Approximate number of samples of a repeated run."""
CAUSES = 100_000
"""With more flows, waits are not recorded: these have several rows for each flow."""


@dataclass(frozen=True)
class Observed:
    """The run whose samples a page draws."""

    run: Run
    """The reported run itself, or its repetition."""
    note: str = ""
    """Why and how the run was repeated, or why not; empty if it has recorded all."""
    repeated: bool = False


def observed(
    run: Run,
    repeat: bool | None = None,
    progress: Callable[[int], Progress | None] | None = None,
    every: str | None = None,
) -> Observed:
    """Return a run with samples of all that pages draw over time: itself, or its repetition.

    `repeat`: None repeats runs that took at most SECONDS, True all, False none. `every` is the time
    between two samples, for runs that are shown together. Raises `backwater.Interrupted` on Ctrl-C
    or SIGTERM, and `ResultError` if the repeated run has another fingerprint.
    """
    missing = [key for name, key in QUANTITIES.items() if not data.recorded(run, name)]
    if run.summary.get("flows", 0) <= CAUSES and not run.scenario.get("output", {}).get("waits"):
        missing.append("waits")
    if every is not None and data.sampling_ps(run) not in (None, time_ps(every)):
        missing.append(f"samples every {every}")
    if not missing or repeat is False:
        return Observed(run)
    what = f"The run did not record {series(missing)}"
    if (why := _unrepeatable(run, repeat)) is not None:
        return Observed(run, f"{what}, and was not repeated to record them: {why}.")
    again, told = _again(run, progress, every)
    if again is None:
        return Observed(run, f"{what}, and could not be repeated to record them: {told}.")
    same = (
        f"its fingerprint is the same, {run.fingerprint}"
        if again.fingerprint == run.fingerprint
        else "there is no fingerprint to compare"
    )
    note = f"{what}: it was repeated for this page, with a sample every {told}; {same}."
    return Observed(again, note, repeated=True)


def _unrepeatable(run: Run, repeat: bool | None) -> str | None:
    """Return why a run is not repeated, or None if it is."""
    if run.manifest.get("changed"):
        return "values were changed during the run"
    if run.status not in ("done", "failed") or run.fingerprint is None:
        return "it did not run to its end"
    if groups := given_in_python(run):
        return f"the flows of {series(groups)} came from a table in Python"
    if repeat is None and (took := seconds(run)) > SECONDS:
        return f"it took {duration(took)} (`--rerun` repeats it nevertheless)"
    return None


def _again(
    run: Run, progress: Callable[[int], Progress | None] | None, wanted: str | None
) -> tuple[Run | None, str]:
    """Repeat a run. Return it with the time between two samples, or None with the reason."""
    control = control_of(run)
    if control in STANDING:
        return None, why_not(control)
    every = wanted or str(run.scenario.get("output", {}).get("interval") or interval(run))
    try:
        scenario = backwater.parse(recorded(run), "<the run's scenario>")
        scenario = scenario.set("output.interval", every).set("output.nodes", [])
        for key in QUANTITIES.values():
            scenario = scenario.set(f"output.{key}", True)
        if run.summary.get("flows", 0) <= CAUSES:
            scenario = scenario.set("output.waits", ["all"])
        job = scenario.job(run.seed, _place(run))
    except (backwater.ScenarioError, InputError) as error:
        return None, str(error).partition("\n")[0] if control is None else why_not(control)
    with interruptible() as stop:
        [there] = find_done([job], force=True)
        if there is None:
            say_again(run, f"a sample every {every}, for figures over time")
            listener = progress(1) if progress is not None else None
            [done] = run_jobs([job], listener, stop, lambda one: one)
            if stop.is_set():
                raise stop.interrupted()
            there = done.run if isinstance(done, RunError) else done
    if there is None:
        return None, "it left no results"
    if there.fingerprint != run.fingerprint:
        raise ResultError(
            f"{run.directory}: the repeated run is another: its fingerprint is "
            f"{there.fingerprint}, not {run.fingerprint}",
            "another version or build made the results: run it again, or draw what they have with "
            "`--no-rerun`",
        )
    return there, every


def _place(run: Run) -> Path | None:
    """Return the directory of a repeated run, or None (in memory) if nothing can be written."""
    base = run.within or run.directory
    if base is None or not os.access(base, os.W_OK):
        return None
    return base / OBSERVED / name_of(run.seed)


def interval(run: Run) -> str:
    """Return a time for about STEPS samples of a run: a digit 1, 2 or 5, and zeros."""
    _, end = data.window_of(run, None)
    least = max(1000, end // STEPS)
    digits = 10 ** (len(str(least)) - 1)
    whole = next(n * digits for n in (1, 2, 5, 10) if n * digits >= least)
    return time_text(whole)
