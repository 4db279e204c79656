"""`backwater bench`: the benchmark suite of the IETF drafts for AI fabrics."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backwater.cli import arguments, completing
from backwater.cli.arguments import Force, Json, JsonProgress, Out, Selection
from backwater.cli.options import exclusive, words
from backwater.cli.output import message, write_json
from backwater.cli.targets import Kind, writable
from backwater.cli.workers import Cluster
from backwater.errors import Interrupted, stopped_by

if TYPE_CHECKING:
    from backwater.bench.outcome import Benchmark

FAILED, INCOMPLETE = 1, 3


@exclusive("--list", "--dry-run", "--list runs nothing")
def bench(
    categories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CATEGORY",
            help="Categories or tests (--list); all without one.",
            autocompletion=completing.tests_of_bench,
        ),
    ] = None,
    *,
    fabric: Annotated[
        str | None,
        typer.Option(
            "--fabric",
            metavar="FILE",
            help="The fabric under test: a scenario, whose flows, jobs and faults are left out, or "
            "leaf-spine-64, the default.",
        ),
    ] = None,
    selection: Selection,
    many: Annotated[
        str,
        typer.Option(
            "--seeds", metavar="N|A..B", help="Repetitions: N seeds, or those from A to B."
        ),
    ] = "3",
    out: Out = None,
    show_list: Annotated[bool, typer.Option("--list", help="List all tests, and stop.")] = False,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Count runs, estimate their time, write nothing.")
    ] = False,
    cluster: Cluster,
    json: Json = None,
    force: Force = False,
    json_progress: JsonProgress = False,
) -> int:
    """Run the benchmark suite of the IETF BMWG drafts for AI fabrics on a simulated fabric.

    Tests have the drafts' sections, parameters, metrics and definitions; sizes are smaller where a
    simulator would take hours, and the report lists all differences. The fabric is 64 GPUs in two
    tiers, or the topology, links, switches, interfaces and mechanisms of a scenario: one that you
    wrote, or that `backwater import` made of a switch's files. Values that the fabric is too small
    for become the largest that it allows.

    The same command continues after Ctrl-C: complete runs in --out are not repeated. `backwater
    report DIR` makes a page of the results. The command ends with code 1 if a run failed, and with
    3 if a run is incomplete.
    """
    from backwater.bench import carry_out, planned
    from backwater.bench.fabric import NAMED, USUAL, load
    from backwater.cli.bench_table import show_outcome, show_suite, told_plan
    from backwater.cli.progress import listening, reporting
    from backwater.directory import free_name

    writable(json, Kind.JSON, fabric)
    chosen = tuple(categories or ())
    if show_list:
        show_suite(chosen, json)
        return 0
    workers = None if dry else cluster.workers()
    name = fabric or USUAL
    if name in NAMED:
        case = load(name) if selection.variant is None else load(name).variant(selection.variant)
        pairs = arguments.overrides(selection.settings)
        case = arguments.changed(case, pairs, selection.mechanisms)
    else:
        case = arguments.read(name, selection)
    usual = free_name(Path("results") / f"{'stdin' if name == '-' else Path(name).stem}-bench")
    base = usual if out is None else Path(out)
    asked = planned(case, name, chosen, tuple(arguments.seeds(many, 1)), base)
    told = told_plan(asked, base, dry=dry, force=force)
    if dry:
        if json is not None:
            write_json(json, told)
        return 0
    try:
        with reporting(json=json_progress) as display:
            outcome = carry_out(
                asked, base, force=force, workers=workers, progress=listening(display)
            )
    except Interrupted as stop:
        again = ["backwater", "bench", *chosen, *([] if fabric is None else ["--fabric", fabric])]
        again += ["--seeds", many, *words(selection), *words(cluster), "--out", str(base)]
        again += [] if json is None else ["--json", json]
        message(
            f"{stopped_by(stop.number)}; what was simulated by then is in {base}",
            f"hint: to continue: {shlex.join(again)}",
        )
        return stop.exit_code
    if json is not None:
        write_json(json, outcome.as_dict())
    if json != "-":
        show_outcome(outcome)
    page = shlex.quote(str(base))
    message(f"results: {base}", f"hint: a page of them: backwater report {page} -o report.html")
    return _code(outcome)


def _code(outcome: Benchmark) -> int:
    if outcome.failed:
        return FAILED
    return INCOMPLETE if outcome.unfinished else 0
