"""Prints the outcome of a reproduction as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from backwater.cli.output import put, show
from backwater.cli.views import View
from backwater.study.record import claims_cell, numbers_cell
from backwater.study.texts import (
    SPREAD,
    as_shown,
    band_text,
    compared,
    conditions,
    deviation_text,
    measured_text,
    null_models,
    null_text,
    over_text,
    spread_text,
    value_text,
    verdict_text,
)
from backwater.study.verdict import OWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.study import Outcome, Row
    from backwater.study.definition import Beside, Measure, Study
    from backwater.study.rows import Summary

MANY = 6
"""More mechanisms than these get a row each, since columns would not fit on a terminal."""


def show_outcome(outcome: Outcome) -> None:
    """Print a study's tables."""
    study = outcome.study
    put(study.title, style="bold")
    put(f"Published: {study.document}\n", style="dim")
    if study.size is not None:
        put(f"Size: {study.size}\n", style="dim")
    for condition in conditions(outcome):
        put(f"{condition}\n", style="yellow")
    numbers = [row for row in outcome.rows if not row.is_claim]
    plain = [row for row in numbers if row.against is None]
    reductions = [row for row in numbers if row.against is not None]
    remarks = ["", *_remarks(outcome)]
    if plain:
        show(_numbers(study, plain), None, *(() if reductions else remarks))
    if reductions:
        against = ", ".join(dict.fromkeys(str(row.against) for row in reductions))
        show(_numbers(study, reductions), f"\nReductions against {against}, seed by seed", *remarks)
    claims = [row for row in outcome.rows if row.is_claim]
    if claims:
        show(_claims(claims), "\nClaims")
    for beside in study.beside:
        rows = [row for row in outcome.beside if row["beside"] == beside.id]
        if rows:
            if beside.setups:
                labels = [
                    (beside.own, beside.own_text),
                    *((s.label, s.text) for s in beside.setups),
                ]
                remarks = [f"{label}: {text}" for label, text in labels]
            else:
                remarks = [f"{m.label}: {m.text}" for m in study.measures if m.name in beside.shows]
            title = f"\n{beside.title} (no published numbers)"
            show(_beside(study, beside, rows), title, "", *remarks)
    put("\n" + "\n".join(outcome.summary.sentences), style="bold")
    if outcome.summary.required_off:
        put(f"{outcome.summary.required_off} of the required rows and claims are off.")


def show_summaries(summaries: Mapping[str, Summary]) -> None:
    """Print the outcomes of several studies, as in the table of the README."""
    view = View()
    view.add_column("study", summaries)
    view.add_column("numbers within spread", map(numbers_cell, summaries.values()))
    view.add_column("claims that hold", map(claims_cell, summaries.values()))
    show(view, "\nAll studies")


def _remarks(outcome: Outcome) -> list[str]:
    """Return remarks on the columns and on single numbers."""
    numbers = [row for row in outcome.rows if not row.is_claim]
    shown = {row.quantity for row in numbers}
    measures = [measure for measure in outcome.study.measures if measure.name in shown]
    remarks = [f"{measure.label}: {measure.text}" for measure in measures]
    if len({row.case for row in numbers}) == 1:
        case = outcome.study.case(numbers[0].case)
        remarks.insert(0, f"case {case.id}: {case.text}")
    for rows in (
        [row for row in numbers if row.against is None],
        [row for row in numbers if row.against is not None],
    ):
        if len({row.mechanism for row in rows}) == 1:
            remarks.append(f"mechanism: {rows[0].mechanism}")
    seeds = sorted({row.seeds for row in numbers if row.over is not None and row.seeds})
    if _differ(numbers):
        remarks.append("over: statistic and number of seeds; a mean has its 95 % interval")
    elif seeds:
        counts = " or ".join(str(count) for count in seeds)
        remarks.append(f"measured: mean over {counts} seeds, with its 95 % interval")
    if any(row.within is not None for row in numbers):
        remarks.append(f"spread: {SPREAD}")
    if any(row.discriminates is not None for row in numbers):
        remarks.append(f"null model: {null_models(outcome.study)}")
    labels = {measure.name: measure.label for measure in measures}
    # The statistics of one measure over the same seeds share their notes.
    remarks += dict.fromkeys(
        f"case {row.case} {row.mechanism} {labels[row.quantity]}: {note}"
        for row in numbers
        for note in (row.note or "").split("; ")
        if note
    )
    return remarks


def _verdict(row: Row) -> Text:
    off = row.required and row.verdict in ("differs", "fails")
    style = "green" if row.good else "red" if off else "yellow"
    return Text(verdict_text(row), style=style)


def _numbers(study: Study, rows: list[Row]) -> View:
    measures = {row.quantity: study.measure(row.quantity) for row in rows}
    units = {row.unit for row in rows}
    unit = units.pop() if len(units) == 1 else None
    shown = {(row.quantity, row.against): as_shown(measures[row.quantity], row) for row in rows}
    # The title names a single mechanism that all rows are compared with.
    one = len({row.against for row in rows}) == 1
    cases = [row.case for row in rows]
    view = View()
    if len(set(cases)) > 1:
        view.add_column("case", _blanked(cases, cases))
    if not one or len({row.mechanism for row in rows}) > 1:
        names = [row.mechanism if one else compared(row) for row in rows]
        lines = [(row.case, row.mechanism, row.against) for row in rows]
        view.add_column("mechanism", _blanked(names, lines))
    view.add_column(study.column, [measures[row.quantity].label for row in rows])
    if _differ(rows):
        view.add_column("over", map(over_text, rows))
    if unit is None:
        view.add_column("unit", [row.unit for row in rows])
    below = "" if unit is None else f"\n{unit}"
    looks = [shown[row.quantity, row.against] for row in rows]
    published = [value_text(row.published, look) for row, look in zip(rows, looks, strict=True)]
    view.add_column(f"published{below}", published, justify="right")
    view.add_column(f"measured{below}", map(measured_text, rows, looks), justify="right")
    view.add_column("deviation", map(deviation_text, rows), justify="right")
    view.add_column("band", map(band_text, rows), justify="right")
    view.add_column("verdict", map(_verdict, rows))
    if any(row.within is not None for row in rows):
        view.add_column("spread", map(spread_text, rows))
    _add_null(view, rows)
    return view


def _blanked(cells: Sequence[str], keys: Sequence[object]) -> list[str]:
    """Return cells that are blank in a row with the same key as the row before."""
    return [
        "" if number and keys[number] == keys[number - 1] else cell
        for number, cell in enumerate(cells)
    ]


def _add_null(view: View, rows: list[Row]) -> None:
    """Add a column of the verdicts of a null model, if rows have one."""
    if any(row.discriminates is not None for row in rows):
        styles = ("" if row.discriminates else "yellow" for row in rows)
        view.add_column("null\nmodel", map(Text, map(null_text, rows), styles))


def _differ(rows: list[Row]) -> bool:
    """Whether rows have statistics other than the mean, so that each must name its own."""
    return any(row.over not in (None, "mean") for row in rows)


def _claims(rows: list[Row]) -> View:
    view = View()
    view.add_column("claim", [row.quantity for row in rows], no_wrap=True)
    notes = [row.note or "" for row in rows]
    view.add_column("the document's words, and the measured values", notes)
    view.add_column("verdict", map(_verdict, rows))
    _add_null(view, rows)
    return view


def _beside(study: Study, beside: Beside, rows: list[dict[str, Any]]) -> View:
    """Return a table of the runs beside a study's table: a column for each setup, its own first.

    With its own setup alone, it has a column for each mechanism: means with their 95 % intervals.
    """
    if not beside.setups:
        many = len(beside.mechanisms) > MANY
        return (_by_measure if many else _by_mechanism)(study, beside, rows)
    setups = {OWN: beside.own, **{setup.id: setup.label for setup in beside.setups}}
    found = {(row["case"], row["mechanism"], row["setup"]): row for row in rows}
    points = list(dict.fromkeys((row["case"], row["mechanism"]) for row in rows))
    measured: dict[tuple[str, str], list[bool]] = {}
    for row in rows:
        for name in beside.shows:
            measured.setdefault((row["case"], name), []).append(row[name] is not None)
    mechanisms = len({mechanism for _, mechanism in points}) > 1
    view = View()
    for column in ("case", *(["mechanism"] if mechanisms else []), "", ""):
        view.add_column(column)
    for label in setups.values():
        view.add_column(label, justify="right")
    before: tuple[str, str] | None = None
    for case, mechanism in points:
        for measure in (study.measure(name) for name in beside.shows):
            runs = [found.get((case, mechanism, setup), {}) for setup in setups]
            if not any(measured.get((case, measure.name), ())):
                # Only other cases have this measure.
                continue
            here = (case, mechanism)
            view.add_row(
                "" if before is not None and before[0] == case else case,
                *(["" if here == before else mechanism] if mechanisms else []),
                measure.label,
                "" if measure.counts else measure.unit,
                *(value_text(run.get(measure.name), measure) for run in runs),
            )
            before = here
    return view


def _by_measure(study: Study, beside: Beside, rows: list[dict[str, Any]]) -> View:
    """Return a table with a row for each mechanism and a column for each measure.

    The intervals are in the JSON.
    """
    found = {(row["case"], row["mechanism"]): row for row in rows}
    measures = [study.measure(name) for name in beside.shows]
    view = View()
    view.add_column("case", no_wrap=True)
    view.add_column("mechanism", width=max(map(len, beside.mechanisms)))
    for measure in measures:
        unit = f", {measure.unit}" if measure.unit and not measure.counts else ""
        words = f"{measure.label}{unit}".replace(", ", " ").split()
        view.add_column("\n".join(words), justify="right")
    for case in dict.fromkeys(row["case"] for row in rows):
        for number, mechanism in enumerate(beside.mechanisms):
            run = found.get((case, mechanism), {})
            view.add_row(
                "" if number else case,
                mechanism,
                *(_rough(run.get(measure.name), measure) for measure in measures),
            )
    return view


def _rough(value: float | None, measure: Measure) -> str:
    """Return a value in few digits, so that a dozen columns fit."""
    if value is None or value < 10:
        return value_text(value, measure)
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def _by_mechanism(study: Study, beside: Beside, rows: list[dict[str, Any]]) -> View:
    found = {(row["case"], row["mechanism"]): row for row in rows}
    view = View()
    for column in ("case", "", ""):
        view.add_column(column)
    for mechanism in beside.mechanisms:
        view.add_column(mechanism, justify="right")
    for case in dict.fromkeys(row["case"] for row in rows):
        for number, measure in enumerate(study.measure(name) for name in beside.shows):
            runs = [found.get((case, mechanism), {}) for mechanism in beside.mechanisms]
            view.add_row(
                "" if number else case,
                measure.label,
                "" if measure.counts else measure.unit,
                *(_mean(run, measure) for run in runs),
            )
    return view


def _mean(run: dict[str, Any], measure: Measure) -> str:
    """Return the mean of a row beside the table, with its 95 % interval if it has one."""
    value, interval = run.get(measure.name), run.get("ci", {}).get(measure.name)
    if value is None or interval is None or measure.counts:
        return value_text(value, measure)
    return f"{value_text(value, measure)} ±{value_text(interval[1] - value, measure)}"
