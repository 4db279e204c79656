"""What `backwater reproduce` prints: a study's tables, measured beside published."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from backwater.cli.output import percent, put, show, table, us
from backwater.study import Outcome, Row
from backwater.study.definition import INCAST, VICTIM, Beside
from backwater.study.verdict import OWN

# What is shown of each run beside the table, with its unit; a count has none.
BESIDE = (
    ("incast", INCAST, "{study_unit}"),
    ("victim", VICTIM, "{study_unit}"),
    ("ports paused", "ports_paused", ""),
)
SHORT = {INCAST: "incast", VICTIM: "victim"}


def show_outcome(outcome: Outcome, pairs: list[tuple[str, str]]) -> None:
    """Print a study's tables."""
    study = outcome.study
    changed = "".join(f", {key} = {value}" for key, value in pairs)
    put(f"{study.title}{changed}", style="bold")
    put(f"Published: {study.document}\n", style="dim")
    show(_numbers(outcome), None, "", *_remarks(outcome))
    claims = [row for row in outcome.rows if row.is_claim]
    if claims:
        show(_claims(claims), "\nClaims")
    for beside in study.beside:
        rows = [row for row in outcome.beside if row["beside"] == beside.id]
        if rows:
            labels = [(beside.own, beside.own_text), *((s.label, s.text) for s in beside.setups)]
            remarks = [f"{label}: {text}" for label, text in labels]
            title = f"\n{beside.title}, beside the table: nothing published to compare with"
            show(_beside(beside, rows), title, "", *remarks)
    put("\n" + "\n".join(outcome.summary.sentences), style="bold")
    if outcome.summary.required_off:
        put(f"{outcome.summary.required_off} of the required rows and claims are off.")


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


def _beside(beside: Beside, rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - a rich table
    """Lay out what was run beside the table: a column a setup, the table's own first."""
    setups = {OWN: beside.own, **{setup.id: setup.label for setup in beside.setups}}
    found = {(row["case"], row["mechanism"], row["setup"]): row for row in rows}
    points = list(dict.fromkeys((row["case"], row["mechanism"]) for row in rows))
    view = table()
    for column in ("case", "mechanism", "", ""):
        view.add_column(column, no_wrap=True)
    for label in setups.values():
        view.add_column("\n".join(label.rsplit(" ", 1)), justify="right", no_wrap=True)
    before: tuple[str, str] | None = None
    for case, mechanism in points:
        for name, quantity, unit in BESIDE:
            values = [found.get((case, mechanism, setup), {}).get(quantity) for setup in setups]
            here = (case, mechanism)
            view.add_row(
                "" if before is not None and before[0] == case else case,
                "" if here == before else mechanism,
                name,
                unit.format(study_unit=rows[0]["unit"]),
                *(us(value) if unit else _whole(value) for value in values),
            )
            before = here
    return view


def _whole(value: int | None) -> str:
    return "-" if value is None else str(value)
