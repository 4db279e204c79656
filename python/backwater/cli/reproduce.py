"""`backwater reproduce`: rerun published experiments beside the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from backwater.cli.arguments import Force, Json, Out, Set, overrides
from backwater.cli.output import console, message, percent, show, table, us, writable, write_json
from backwater.cli.progress import Display, Reporter, reporting
from backwater.errors import Interrupted
from backwater.results import free_name
from backwater.study import Outcome, Row, names
from backwater.study import reproduce as reproduce_study
from backwater.study.definition import INCAST, VICTIM
from backwater.study.execute import Plan

FAILED, INTERRUPTED = 1, 130
SHORT = {INCAST: "incast", VICTIM: "victim"}


def reproduce(
    study: Annotated[
        str, typer.Argument(help="A study (`backwater list studies`), or all.", metavar="[STUDY]")
    ] = "all",
    case: Annotated[
        str | None, typer.Option("--case", metavar="C", help="Only this case of the study.")
    ] = None,
    settings: Set = None,
    out: Out = None,
    json: Json = None,
    force: Force = False,
) -> int:
    """Rerun a published study and compare: published, measured, deviation, verdict.

    Ends with code 1 if a number or claim that the study marks as required is off. --set overrides a
    value in every case, for example --set switch.architecture=voq.
    """
    writable(json)
    pairs = overrides(settings)
    wanted = names() if study == "all" else [study]
    rows: list[dict[str, Any]] = []
    met = True
    for name in wanted:
        base = free_name(Path("results") / name) if out is None else Path(out)
        if out is not None and len(wanted) > 1:
            base /= name
        try:
            with reporting() as display:
                outcome = reproduce_study(
                    name, case, pairs, base, force=force, progress=_listener(display)
                )
        except Interrupted:
            message(f"stopped; what was simulated by then is in {base}")
            return INTERRUPTED
        rows += [row.as_dict() for row in outcome.rows]
        met = met and outcome.met
        if json != "-":
            show_outcome(outcome, pairs)
        message(f"results: {base}")
    if json is not None:
        write_json(json, rows)
    return 0 if met else FAILED


def _listener(display: Display) -> Any:  # noqa: ANN401 - a function of a plan
    def listener(plan: Plan) -> Reporter:
        return Reporter(len(plan.jobs), display)

    return listener


def show_outcome(outcome: Outcome, pairs: list[tuple[str, str]]) -> None:
    """Print a study's tables."""
    study = outcome.study
    screen = console()
    changed = "".join(f", {key} = {value}" for key, value in pairs)
    screen.print(f"{study.title}{changed}", style="bold", markup=False)
    screen.print(f"Published: {study.document}\n", style="dim", markup=False)
    show(_numbers(outcome), None, "", *_remarks(outcome))
    claims = [row for row in outcome.rows if row.is_claim]
    if claims:
        show(_claims(claims), "\nClaims")
    if outcome.beside:
        texts = {beside.id: beside.text for beside in study.beside}
        used = dict.fromkeys(row["setup"] for row in outcome.beside)
        show(
            _beside(outcome),
            "\nBeside the table: nothing published to compare with",
            "",
            *(f"{one}: {texts[one]}" for one in used),
        )
    screen.print(f"\n{outcome.summary}.", style="bold")
    if outcome.summary.required_off:
        screen.print(f"{outcome.summary.required_off} of the required rows and claims are off.")


def _remarks(outcome: Outcome) -> list[str]:
    """What each column is, and what there is to say about single numbers."""
    remarks = [f"{SHORT[quantity]}: {text}" for quantity, text in outcome.study.statistics.items()]
    remarks.append("bound: no congestion control can take less (links, sizes and latencies alone)")
    remarks += [
        f"case {row.case} {row.mechanism} {SHORT[row.quantity]}: {row.note}"
        for row in outcome.rows
        if row.note and not row.is_claim
    ]
    return remarks


def _verdict(row: Row) -> Text:
    style = "green" if row.good else "red" if row.required else "yellow"
    return Text(row.verdict, style=style)


def _numbers(outcome: Outcome) -> Any:  # noqa: ANN401 - a rich table
    study = outcome.study
    rows = [row for row in outcome.rows if not row.is_claim]
    view = table()
    view.add_column("case")
    view.add_column("mechanism")
    view.add_column("flow")
    for column in ("published", "measured"):
        view.add_column(f"{column}\n{study.unit}", justify="right")
    view.add_column("deviation", justify="right")
    view.add_column("band", justify="right")
    view.add_column(f"bound\n{study.unit}", justify="right")
    view.add_column("verdict")
    before: tuple[str, str] | None = None
    for row in rows:
        here = (row.case, row.mechanism)
        if before is not None and before[0] != row.case:
            view.add_section()
        view.add_row(
            "" if before is not None and before[0] == row.case else row.case,
            "" if here == before else row.mechanism,
            SHORT[row.quantity],
            us(row.published),
            us(row.measured),
            percent(row.deviation),
            f"±{percent(row.band, signed=False)}",
            us(row.lower_bound),
            _verdict(row),
        )
        before = here
    return view


def _claims(rows: list[Row]) -> Any:  # noqa: ANN401 - a rich table
    view = table()
    view.add_column("claim", no_wrap=True)
    view.add_column("in the document's words: what was measured")
    view.add_column("verdict")
    for row in rows:
        view.add_row(row.quantity, row.note or "", _verdict(row))
    return view


def _beside(outcome: Outcome) -> Any:  # noqa: ANN401 - a rich table
    """Lay out what was run beside the table; nothing published to compare it with."""
    view = table()
    unit = outcome.study.unit
    view.add_column("setup")
    view.add_column("case")
    view.add_column("mechanism")
    view.add_column(f"incast\n{unit}", justify="right")
    view.add_column(f"victim\n{unit}", justify="right")
    view.add_column("ports\npaused", justify="right")
    view.add_column("SFC\nmessages", justify="right")
    for row in outcome.beside:
        view.add_row(
            row["setup"],
            row["case"],
            row["mechanism"],
            us(row[INCAST]),
            us(row[VICTIM]),
            str(row["ports_paused"]),
            str(row["sfc_messages"]),
        )
    return view
