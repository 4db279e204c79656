"""The map of the study sfc-buffer: where PFC fires, with the lines of two formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater import _core
from backwater.errors import InputError
from backwater.numbers.units import size_bytes, time_ps
from backwater.plot.theme import BLUE, FAINT, INK, VERMILLION, title
from backwater.study.execute import changed
from backwater.study.key import TABLE, Key

if TYPE_CHECKING:
    from altair.typing import ChartType

    from backwater.study import Outcome

FIRES, SILENT = "PFC fires", "PFC stays silent"
DOCUMENT, OURS = "the document's formula", "our bound"
CELL = 240
"""The width of a cell, such that two cells with axes fit a page."""


def draw(outcome: Outcome, senders: str, thresholds: str, mechanisms: tuple[str, str]) -> ChartType:
    """Draw where PFC fires, by senders and pause, and by pause and threshold, and two formulas.

    `senders` and `thresholds` are the prefixes of the cases of the two cells, and `mechanisms` the
    mechanism of each. The lines are the advice of `advise sfc` for each case's own scenario.
    """
    left, asked = _points(outcome, senders, mechanisms[0])
    right, asked_right = _points(outcome, thresholds, mechanisms[1])
    if not asked or not asked_right:
        raise InputError("nothing to draw: none of these points was run")
    pauses: list[tuple[float, float, str, float]] = []
    most = max(row["pause"] for row in right) * 1.06
    by_senders = {row["senders"]: advice for row, advice in zip(left, asked, strict=True)}
    for number, advice in by_senders.items():
        for name, found in ((DOCUMENT, advice), (OURS, advice["our_bound"])):
            pauses.append((number, found["pause_min_ps"] / 1e6, name, number))
    corner: list[tuple[float, float, str, float]] = []
    for name, found in ((DOCUMENT, asked_right[0]), (OURS, asked_right[0]["our_bound"])):
        least, top = found["pause_min_ps"] / 1e6, (found["threshold_max_bytes"] or 0) / 1e3
        corner += [(least, 0.0, name, 0), (least, top, name, 1), (most, top, name, 2)]
    cells = [
        cell(
            pl.DataFrame(left).with_columns(at=pl.col("senders"), value=pl.col("pause")),
            _lines(pauses),
            ("senders", "pause time (us)"),
            "Pause against senders",
            "above a line PFC should stay silent",
        ),
        cell(
            pl.DataFrame(right).with_columns(at=pl.col("pause"), value=pl.col("threshold")),
            _lines(corner),
            ("pause time (us)", "SFC threshold (KB)"),
            "Threshold against pause",
            "silent right of and below a corner",
        ),
    ]
    note = "Lines: what `advise sfc` allows by two formulas; marks: what the simulation does."
    return alt.hconcat(*cells, spacing=28).properties(
        title=title("Where PFC fires behind Source Flow Control", note)
    )


def _lines(rows: list[tuple[float, float, str, float]]) -> pl.DataFrame:
    schema = {"at": pl.Float64, "value": pl.Float64, "line": pl.String, "order": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _points(
    outcome: Outcome, prefix: str, mechanism: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the measured cases with a prefix, and the advice for each."""
    rows, asked = [], []
    for case in outcome.study.cases:
        key = Key(case.id, mechanism, TABLE)
        point = outcome.points.get(key)
        sample = None if point is None else point.get("pfc_pauses")
        if not case.id.startswith(prefix) or sample is None or not sample.values:
            continue
        facts = changed(outcome.study, key, outcome.changes).advice_facts("sfc")
        number = max(sample.values)
        rows.append(
            {
                "case": case.id,
                "senders": float(facts["senders"]),
                "pause": time_ps(facts["pause"]) / 1e6,
                "threshold": size_bytes(facts["threshold"]) / 1e3,
                "pauses": float(number),
                "fires": FIRES if number > 0 else SILENT,
            }
        )
        asked.append(_core.advise("sfc", {**facts, "pause": None}))
    return rows, asked


def cell(
    points: pl.DataFrame, bounds: pl.DataFrame, axes: tuple[str, str], heading: str, below: str
) -> ChartType:
    """Draw one cell of the map: the points `at`, `value` and `fires`, and the bounds."""
    every = pl.concat([points.select("at", "value"), bounds.select("at", "value")])

    def span(name: str) -> list[float]:
        values = every[name].to_list()
        room = (max(values) - min(values)) / 14 or 1.0
        return [max(0.0, min(values) - room), max(values) + room]

    # Half senders and half microseconds are no marks that one reads.
    scale = alt.Scale(domain=span("at"), nice=False)
    across = alt.X("at:Q", title=axes[0], scale=scale, axis=alt.Axis(tickMinStep=1, format="d"))
    up = alt.Y("value:Q", title=axes[1], scale=alt.Scale(domain=span("value"), nice=False))
    shown = [FIRES, SILENT]
    spots = (
        alt.Chart(points)
        .mark_point(size=70, strokeWidth=1.6, opacity=1)
        .encode(
            x=across,
            y=up,
            color=alt.Color(
                "fires:N", title=None, scale=alt.Scale(domain=shown, range=[VERMILLION, BLUE])
            ),
            shape=alt.Shape(
                "fires:N", title=None, scale=alt.Scale(domain=shown, range=["cross", "circle"])
            ),
            tooltip=["case", "at", "value", "pauses"],
        )
    )
    drawn = alt.Scale(domain=[DOCUMENT, OURS], range=[FAINT, INK])
    dashes = alt.Scale(domain=[DOCUMENT, OURS], range=[[4, 3], [1, 0]])
    rules = (
        alt.Chart(bounds)
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(
            x=across,
            y=up,
            stroke=alt.Stroke("line:N", title=None, scale=drawn),
            strokeDash=alt.StrokeDash("line:N", title=None, scale=dashes),
            order="order:Q",
        )
    )
    return alt.layer(rules, spots).properties(width=CELL, height=300, title=title(heading, below))


CHARTS = {"map": draw}
