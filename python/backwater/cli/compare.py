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
    overrides,
    seeds,
    told,
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
"""The exit code where a scenario was left out."""

Subjects = Annotated[
    list[str],
    typer.Argument(
        metavar="A B ...",
        help="Two or more of FILE, FILE@VARIANT, or a directory of `backwater run --out`; each "
        "perhaps with changes of its own, as in FILE@VARIANT+MECHANISM,KEY=VALUE.",
    ),
]


def compare(
    scenarios: Subjects,
    *,
    selection: Selection,
    many: Annotated[
        str,
        typer.Option(
            "--seeds", metavar="N|A..B", help="N seeds from the first's own on, or A to B."
        ),
    ] = "5",
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Such as p99_fct:victim, mean_slowdown, pause_time; may be given more than once.",
            autocompletion=completing.metrics,
        ),
    ] = None,
    least: Annotated[
        str,
        typer.Option(
            "--least", metavar="SHARE", help="The difference that matters, as in 1% or 0.01."
        ),
    ] = f"{100 * LEAST:g}%",
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Where runs are kept, and found again.")
    ] = "results/compare",
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Say what would be run, and stop.")
    ] = False,
    cluster: Cluster,
    json: Json = None,
    force: Force = False,
    allow: Allow = False,
    json_progress: JsonProgress = False,
) -> int:
    """Compare scenarios: who is better in what, and by how much.

    All run with the same seeds, and differences are taken seed by seed: each has its 95 % interval
    (Student's t). A winner takes 5 seeds, intervals clear of zero, and --least. The plan comes
    first; what has been run before is not run again, and Ctrl-C may stop it at any time. With
    --scheduler or --slurm workers of a cluster do the runs, and their rows come back.
    A run whose flows or jobs are not complete, though its scenario asked for no such end, is no
    value to compare: the output says so first, and the command ends with code 3.

    mine.toml@sfc,sfc.threshold=150KB sets a value for one scenario, and mine.toml+ecn switches a
    mechanism on for one. --set and --with go for all: a setting of a mechanism applies where the
    mechanism is on, and is skipped elsewhere. --variant is of the files that name none.
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
            "compare: one scenario is given, and it takes two or more",
            f"give two or more of {GRAMMAR}",
        )
    with judging(*folders(scenarios), Path(out)):
        wrong: dict[str, Wrong] = {}
        asked = subjects(scenarios, selection, wrong=wrong)
        labels = [one.label for one in asked]
        if (twice := next((one for one in labels if labels.count(one) > 1), None)) is not None:
            raise InputError(f"{twice}: is given twice", "a name stands for one column")
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
    """Give the scenarios that may be run, and the labels of others, whose errors are shown.

    What is wrong with one says nothing against the others; `wrong` are those that could not even be
    read. Raises the first error if fewer than two are left.
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
        message(told(reason), f"{label} is left out, and the others are compared")
    return good, list(wrong)


def share(text: str) -> float:
    """Read a share from 0 to below 1, as in `1%`, `1 %` or `0.01`."""
    number = text.strip().removesuffix("%").strip()
    try:
        value = float(number) / (1 if number == text.strip() else 100)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise InputError(f"--least {text} is no share", "as in 1% or 0.01, from 0 to below 1")
    return value
