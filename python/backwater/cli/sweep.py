"""`backwater sweep`: run a scenario at many points, and keep all results in one dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater.cli.arguments import FORMS, Force, Json, JsonProgress, Out
from backwater.cli.figures import DONE, Figures
from backwater.cli.options import exclusive
from backwater.cli.output import message, show, write, write_json
from backwater.cli.sweep_estimate import counted, foresee, searching
from backwater.cli.sweep_plan import PlanOptions, sweeping
from backwater.cli.targets import Kind, writable
from backwater.cli.views import View
from backwater.cli.workers import Cluster, here
from backwater.errors import InputError
from backwater.experiments.hands import MOST_WORKERS

if TYPE_CHECKING:
    from backwater.experiments.hands import Workers
    from backwater.experiments.pilot import Estimate
    from backwater.sweep.drive import State
    from backwater.sweep.run import Sweeping

FAILED = 1
# The least time in which worker processes start, in s.
_ALONE = 1.5
# Different errors of points that are shown.
_ERRORS = 5


@exclusive("--workers --memory", "--scheduler", "a cluster has its own workers")
@exclusive("--workers --memory", "--slurm", "a cluster has its own workers")
@exclusive("--figure", "--dry-run", "nothing is run to be drawn")
def sweep(
    file: Annotated[
        str, typer.Argument(help=f"A scenario or the file of a sweep, {FORMS}.", metavar="FILE")
    ],
    *,
    options: PlanOptions,
    out: Out = None,
    force: Force = False,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Count points, estimate time and disk, write nothing.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", help="Processes on this machine; by default one per core."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="Memory limit of each process, as in 2GB."),
    ] = None,
    cluster: Cluster,
    figures: Figures,
    json_progress: JsonProgress = False,
    json: Json = None,
) -> int:
    """Run a scenario at many points of its parameters, with several seeds, into one dataset.

    All combinations of the values run, with each variant and seed; --zip varies keys together,
    --sample draws points, --where omits points. FILE is a scenario, or a file with a table `sweep`,
    which names a scenario and may have the same entries as the options. Points run in processes on
    this machine, on a Dask cluster (--scheduler), or in jobs of SLURM (--slurm).

    The same command resumes a sweep that was stopped or killed. With more values or seeds it runs
    only new and failed points. A directory of another scenario or build is refused; --force repeats
    all points. A point that fails is a row with its error, and the other points continue.

    With --goal only points that lead to an answer run. Thresholds are bisected, with all seeds at
    each value. If intervals are varied or --trials is set, Optuna searches the best point;
    otherwise all points run. The answer has its 95 % interval, and is compared with a base.

    `backwater query` and `backwater.open_sweep` read the dataset, `backwater status` shows its
    progress. --figure draws a figure of it for a paper or a slide.
    """
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise InputError(
            f"--workers {workers}: not from 1 to {MOST_WORKERS}", "the default is one per core"
        )
    asked = sweeping(file, options, out)
    writable(json, Kind.JSON, file)
    drawing = figures.drawing(file)
    jobs = cluster.jobs()
    if dry:
        estimate = foresee(asked, workers or _processors(), force=force)
        if jobs is not None:
            write("-", jobs.script())
        if json is not None:
            write_json(json, estimate)
        return 0
    elsewhere = cluster.workers()
    if workers is None and memory is None and elsewhere is None:
        asked.alone = _ALONE
    code = _carry_out(
        asked,
        elsewhere or here(workers, memory),
        json,
        force=force,
        json_progress=json_progress,
        workers=workers or (_processors() if elsewhere is None else None),
    )
    if drawing is not None and code in DONE:
        drawing.draw_of(asked.directory)
    return code


def _processors() -> int:
    from backwater.experiments.clusters import processors

    return processors()


def _carry_out(
    asked: Sweeping,
    engine: Workers,
    json: str | None,
    *,
    force: bool,
    json_progress: bool,
    workers: int | None,
) -> int:
    from backwater.cli.sweep_goal import show_answer
    from backwater.cli.sweep_progress import watching
    from backwater.stopping import interruptible

    message(searching(asked) if asked.seeking is not None else counted(asked.plan))

    def announce(estimate: Estimate) -> None:
        there = len(asked.plan.points) - estimate.runs
        if there and asked.seeking is None:
            message(f"{there} of them are in {asked.directory} already")
        message(estimate.words("point", 1 if asked.small(estimate) else workers))

    with interruptible() as stop, watching(json=json_progress) as display:
        state = asked.carry_out(engine, display, stop, announce, force=force)
    outcome = _outcome(asked, state)
    if json is not None and asked.answer is None:
        write_json(json, outcome)
    if json != "-":
        _show(outcome)
    if stop.is_set() and not asked.over(state):
        message(
            f"{stop}; {state.done} of {state.points} points are done in {asked.directory}",
            "hint: the same command resumes it",
        )
        return stop.exit_code
    if asked.answer is not None:
        if json is not None:
            write_json(json, outcome | {"goal": asked.answer})
        found = show_answer(asked.directory, asked.answer, loud=json != "-")
        message(f"results: {asked.directory}")
        return 0 if found else FAILED
    if state.failed:
        message(
            f"{state.failed} of {state.points} points have failed; "
            "the same command tries them again"
        )
    message(f"results: {asked.directory}")
    if json != "-" and state.done:
        from backwater.cli.sweep_numbers import show_numbers

        show_numbers(asked.directory)
    return FAILED if state.failed else 0


def carry_out_here(asked: Sweeping) -> None:
    """Carry a sweep out on this machine, and report nothing of its points."""
    from backwater.cli.sweep_progress import watching
    from backwater.stopping import interruptible

    message(searching(asked))
    asked.alone = _ALONE
    with interruptible() as stop, watching(json=False) as display:
        asked.carry_out(here(None, None), display, stop, lambda _: None)


def _outcome(asked: Sweeping, state: State) -> dict[str, Any]:
    """Return the outcome of a sweep, as it is in JSON."""
    from backwater.manifest import SWEEP, read_manifest
    from backwater.sweep.dataset import Sweep

    errors: dict[str, int] = {}
    if state.failed:
        errors = Sweep(read_manifest(asked.directory, SWEEP), asked.directory).errors
    return {
        "directory": str(asked.directory),
        "points": state.points,
        "done": state.done,
        "failed": state.failed,
        "fresh": state.fresh,
        "seconds": round(state.fresh / state.rate, 3) if state.fresh else 0.0,
        "errors": [{"error": error, "points": many} for error, many in errors.items()],
    }


def _show(outcome: dict[str, Any]) -> None:
    view = View()
    for name in ("points", "done", "failed", "fresh"):
        header = "run now" if name == "fresh" else name
        view.add_column(header, [str(outcome[name])], justify="right")
    show(view)
    for one in outcome["errors"][:_ERRORS]:
        message(f"{one['points']} failed: {one['error']}")
