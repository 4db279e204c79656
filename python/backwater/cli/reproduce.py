"""`backwater reproduce`: repeat published experiments, and compare with the published numbers.

The libraries that read and write results are imported when a study runs, so that help is quick.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater.cli import arguments, completing
from backwater.cli.arguments import Changes, Force, Json, JsonProgress, Out, overrides
from backwater.cli.figures import Figures
from backwater.cli.options import words
from backwater.cli.output import message, write_json
from backwater.cli.targets import Kind, writable
from backwater.cli.workers import Cluster
from backwater.errors import InputError, Interrupted, stopped_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from backwater.study.rows import Summary

FAILED = 1


def reproduce(
    study: Annotated[
        str,
        typer.Argument(
            help="A study (`backwater list studies`), or all.",
            metavar="[STUDY]",
            autocompletion=completing.studies,
        ),
    ] = "all",
    case: Annotated[
        str | None, typer.Option("--case", metavar="C", help="Only this case of the study.")
    ] = None,
    *,
    changes: Changes,
    many: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            metavar="N|A..B",
            help="Repeat with N seeds, or with the seeds A to B, in place of the study's own.",
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Run a reduced study at its published size."),
    ] = False,
    measured: Annotated[
        str | None,
        typer.Option(
            "--measured",
            metavar="FILE",
            help="The measured.jsonl of an earlier --out: its runs of the same build are not "
            "repeated.",
        ),
    ] = None,
    out: Out = None,
    json: Json = None,
    force: Force = False,
    cluster: Cluster,
    figures: Figures,
    json_progress: JsonProgress = False,
) -> int:
    """Repeat a published study and compare: published, measured, deviation, verdict.

    The command ends with code 1 if a required number or claim of the study does not agree.

    A model is the scenario with the mechanisms of one row. --set overrides a value in every model,
    for example --set switch.architecture=voq; a key of a mechanism applies only where the mechanism
    is on. Models that --set or --with changes are not judged: bands and claims apply to the study's
    own values.

    With the --out of an earlier command, only missing runs are done; --force repeats all. With
    --scheduler or --slurm, workers of a cluster do the runs and return their rows; the results are
    the same. --figure draws a figure of the study's report for a paper or slide.
    """
    from backwater.cli.outcome import show_outcome, show_summaries
    from backwater.cli.progress import listening, reporting
    from backwater.directory import free_name
    from backwater.study import has_full_size, load, names
    from backwater.study import reproduce as reproduce_study

    pairs = overrides(changes.settings)
    seeds = _seeds(many)
    wanted = names() if study == "all" else [study]
    for name in wanted:
        load(name)
    writable(json, Kind.JSON)
    drawing = figures.drawing()
    workers = cluster.workers()
    if measured is not None and len(wanted) > 1:
        raise InputError(
            f"--measured {measured}: belongs to one study, and `all` runs {len(wanted)}",
            "name this study",
        )
    if drawing is not None and len(wanted) > 1:
        raise InputError("--figure: draws one study, and `all` runs several", "name this study")
    rows: list[dict[str, Any]] = []
    summaries: dict[str, Summary] = {}
    met = True
    for name in wanted:
        base = free_name(Path("results") / name) if out is None else Path(out)
        if out is not None and len(wanted) > 1:
            base /= name
        try:
            with reporting(json=json_progress) as display:
                outcome = reproduce_study(
                    name,
                    case,
                    pairs,
                    base,
                    seeds=seeds,
                    mechanisms=changes.mechanisms or (),
                    full=full and (study != "all" or has_full_size(name)),
                    force=force,
                    measured=measured,
                    workers=workers,
                    progress=listening(display),
                )
        except Interrupted as stop:
            place = base if len(wanted) == 1 else base.parent
            again = ["backwater", "reproduce", study, *(["--full"] if full else [])]
            options = {"--case": case, "--seeds": many, "--measured": measured, "--json": json}
            for option, value in options.items():
                again += [] if value is None else [option, value]
            again += [*words(changes), *words(cluster), "--out", str(place)]
            message(
                f"{stopped_by(stop.number)}; what was simulated by then is in {base}",
                f"hint: to continue: {shlex.join(again)}",
            )
            return stop.exit_code
        rows += [row.as_dict() for row in outcome.rows]
        summaries[name] = outcome.summary
        met = met and outcome.met
        if json != "-":
            show_outcome(outcome)
        if outcome.taken:
            message(f"{outcome.taken} runs were not repeated: {measured} has their results")
        message(f"results: {base}")
        if drawing is not None:
            drawing.draw_of(base)
    if json != "-" and len(summaries) > 1:
        show_summaries(summaries)
    if json is not None:
        write_json(json, rows)
    return 0 if met else FAILED


def _seeds(many: str | None) -> Callable[[tuple[int, ...], int], tuple[int, ...]] | None:
    """Read `--seeds`: a number of seeds begins at the first of a point's own seeds."""
    if many is None:
        return None
    arguments.seeds(many, 0)
    return lambda own, scenario: tuple(arguments.seeds(many, own[0] if own else scenario))
