"""A run once more, with samples, where the one that is reported has none of what a page draws.

Runs are deterministic and recording moves nothing: the repeated run has the same fingerprint, or it
is not drawn. It is kept beside the results, in `observed/`, so that the next page needs no run.
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
"""What a page draws over time, and the key under `output` that records it."""

SECONDS = 600.0
"""A run that took longer is repeated only for who asks for it."""
STEPS = 300
"""Samples of a repeated run, about."""
CAUSES = 100_000
"""Of more flows it is not recorded what each waited for: that has several rows a flow."""


@dataclass(frozen=True)
class Observed:
    """What is drawn over time of a run."""

    run: Run
    """The run itself, or its repetition."""
    said: str = ""
    """How it was come by, or why it was not; empty if the run itself has all."""
    repeated: bool = False


def observed(
    run: Run,
    repeat: bool | None = None,
    progress: Callable[[int], Progress | None] | None = None,
    every: str | None = None,
) -> Observed:
    """Give a run with samples of all that pages draw over time: itself, or its repetition.

    `every`: the time between two samples, for runs that are shown together.
    `repeat`: None repeats what took at most SECONDS, False nothing. Raises `backwater.Interrupted`
    on Ctrl-C or SIGTERM, `ResultError` if the repeated run is another.
    """
    missing = [key for name, key in QUANTITIES.items() if not data.recorded(run, name)]
    if run.summary.get("flows", 0) <= CAUSES and not run.scenario.get("output", {}).get("waits"):
        missing.append("waits")
    if every is not None and data.sampling_ps(run) not in (None, time_ps(every)):
        missing.append(f"samples every {every}")
    if not missing or repeat is False:
        return Observed(run)
    what = f"The run has recorded no {series(missing)}"
    if (why := _unrepeatable(run, repeat)) is not None:
        return Observed(run, f"{what}, and it was not done again for them: {why}.")
    again, told = _again(run, progress, every)
    if again is None:
        return Observed(run, f"{what}, and it could not be done again for them: {told}.")
    same = (
        f"its fingerprint is the same, {run.fingerprint}"
        if again.fingerprint == run.fingerprint
        else "it left no fingerprint to compare with"
    )
    said = f"{what}: it was done again for this page, with a sample every {told}; {same}."
    return Observed(again, said, repeated=True)


def _unrepeatable(run: Run, repeat: bool | None) -> str | None:
    """Say why a run is not to be repeated; None if it is."""
    if run.manifest.get("changed"):
        return "values were changed under way"
    if run.status not in ("done", "failed") or run.fingerprint is None:
        return "it did not come to its end"
    if groups := given_in_python(run):
        return f"the flows of {series(groups)} came from a table in Python"
    if repeat is None and (took := seconds(run)) > SECONDS:
        return f"it took {duration(took)} (`--rerun` does it all the same)"
    return None


def _again(
    run: Run, progress: Callable[[int], Progress | None] | None, wanted: str | None
) -> tuple[Run | None, str]:
    """Repeat a run; gives it and the time between two samples, or None and why it could not be."""
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
            say_again(run, f"a sample every {every}")
            listener = progress(1) if progress is not None else None
            [done] = run_jobs([job], listener, stop, lambda one: one)
            if stop.is_set():
                raise stop.interrupted()
            there = done.run if isinstance(done, RunError) else done
    if there is None:
        return None, "it left no results"
    if there.fingerprint != run.fingerprint:
        raise ResultError(
            f"{run.directory}: the run cannot be repeated as it was: its fingerprint is "
            f"{run.fingerprint}, and now {there.fingerprint}",
            "it was made by another version or build: run it again, or draw what it has by "
            "`--no-rerun`",
        )
    return there, every


def _place(run: Run) -> Path | None:
    """Where a repeated run is kept; None: in memory, where nothing can be written."""
    base = run.within or run.directory
    if base is None or not os.access(base, os.W_OK):
        return None
    return base / OBSERVED / name_of(run.seed)


def interval(run: Run) -> str:
    """Give a time between samples of which a run has about STEPS: 1, 2 or 5 and zeros."""
    _, end = data.window_of(run, None)
    least = max(1000, end // STEPS)
    digits = 10 ** (len(str(least)) - 1)
    whole = next(n * digits for n in (1, 2, 5, 10) if n * digits >= least)
    return time_text(whole)
