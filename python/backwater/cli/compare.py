"""`backwater compare`: scenarios side by side, over the same seeds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backwater._core import ScenarioError
from backwater.cli import completing
from backwater.cli.arguments import (
    Allow,
    Force,
    Json,
    JsonProgress,
    Selection,
    error_text,
    overrides,
    seeds,
)
from backwater.cli.output import message, put, warn, write_json
from backwater.cli.targets import Kind, writable
from backwater.cli.workers import Cluster
from backwater.errors import InputError
from backwater.samples import LEAST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.cli.subjects import Subject, Wrong

REFUSED = 1
"""The exit code if a scenario was left out."""

Subjects = Annotated[
    list[str],
    typer.Argument(
        metavar="A B ...",
        help="Two or more of FILE, FILE@VARIANT, or a directory of `backwater run --out`. Each may "
        "have changes of its own, as in FILE@VARIANT+MECHANISM,KEY=VALUE.",
    ),
]


def compare(
    scenarios: Subjects,
    *,
    selection: Selection,
    many: Annotated[
        str,
        typer.Option(
            "--seeds",
            metavar="N|A..B",
            help="N seeds, the first scenario's own and the next, or the seeds A to B.",
        ),
    ] = "5",
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="A metric, as p99_fct:victim or pause_time; may be given more than once.",
            autocompletion=completing.metrics,
        ),
    ] = None,
    least: Annotated[
        str,
        typer.Option(
            "--least",
            metavar="SHARE",
            help="The least difference that matters, as in 1% or 0.01.",
        ),
    ] = f"{100 * LEAST:g}%",
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Where runs are kept and reused.")
    ] = "results/compare",
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Print the plan of runs, and stop.")
    ] = False,
    cluster: Cluster,
    json: Json = None,
    force: Force = False,
    allow: Allow = False,
    json_progress: JsonProgress = False,
) -> int:
    """Compare scenarios: which is better in which metric, and by how much.

    All scenarios run with the same seeds. Differences are formed seed by seed, and their mean has a
    95 % interval (Student's t). A winner needs 5 seeds, intervals without zero, and a difference of
    at least --least. The plan is printed first. Earlier runs are reused, so the same command
    continues after Ctrl-C. With --scheduler or --slurm, workers of a cluster do the runs and return
    their rows. A run is not compared if its flows or jobs did not complete although its scenario
    sets no earlier end: the output reports it first, and the command ends with code 3.

    mine.toml@sfc,sfc.threshold=150KB sets a value for one scenario, and mine.toml+ecn switches a
    mechanism on for one. --set and --with apply to all: a setting of a mechanism applies where the
    mechanism is on, and is skipped elsewhere. --variant applies to files that name no variant.
    """
    from backwater.cli.comparing import Plan
    from backwater.cli.comparison_table import beginning, show_rows
    from backwater.cli.subjects import GRAMMAR, files, folders, subjects
    from backwater.manifest import judging
    from backwater.numbers.metrics import metric

    matters = share(least)
    workers = cluster.workers()
    wanted = [metric(name) for name in metrics or ()]
    if len(scenarios) < 2:
        raise InputError(
            "compare: needs two or more scenarios, not one",
            f"give two or more of {GRAMMAR}",
        )
    with judging(*folders(scenarios), Path(out)):
        wrong: dict[str, Wrong] = {}
        asked = subjects(scenarios, selection, wrong=wrong)
        labels = [one.label for one in asked]
        if (twice := next((one for one in labels if labels.count(one) > 1), None)) is not None:
            raise InputError(f"{twice}: is given twice", "each name is one column")
        cases, refused = _checked(asked, wrong)
        settings = dict(overrides(selection.settings))
        given = {"with": selection.mechanisms or [], "set": settings}
        plan = Plan.of(cases, seeds(many, cases[0].seed), Path(out), given, force=force)
        plan.check_groups(wanted)
        writable(json, Kind.JSON, *files(scenarios))
        message(*plan.words(elsewhere=workers is not None))
        if plan_only:
            return 0
        code, rows, document = plan.carry_out(
            wanted, matters, workers, allow=allow, json_progress=json_progress
        )
    if rows is not None and document is not None:
        if json is not None:
            write_json(json, document)
        if json != "-":
            show_rows(plan, rows, document["scenarios"], matters, put, every=bool(wanted))
        else:
            message(*beginning(plan, document["scenarios"]))
    return code or (REFUSED if refused else 0)


def _checked(cases: Sequence[Subject], wrong: dict[str, Wrong]) -> tuple[list[Subject], list[str]]:
    """Return the scenarios that can run, and the labels of the others, whose errors are shown.

    A bad scenario does not keep the others from being compared. `wrong` has those that could not be
    read. Raises the first error if fewer than two scenarios are left.
    """
    good: list[Subject] = []
    for one in cases:
        try:
            warn(one.scenario.check())
        except ScenarioError as error:
            wrong[one.label] = error
        else:
            good.append(one)
    if wrong and len(good) < 2:
        raise next(iter(wrong.values()))
    for label, reason in wrong.items():
        message(error_text(reason), f"{label} is left out, and the others are compared")
    return good, list(wrong)


def share(text: str) -> float:
    """Read a share from 0 to below 1, as in `1%`, `1 %` or `0.01`."""
    number = text.strip().removesuffix("%").strip()
    try:
        value = float(number) / (1 if number == text.strip() else 100)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise InputError(f"--least {text}: is not a share", "from 0 to below 1, as in 1% or 0.01")
    return value
