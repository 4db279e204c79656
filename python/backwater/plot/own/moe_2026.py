"""Bandwidth of dispatch over the number of GPUs: published, and measured with each host model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.plot.theme import INK, colour, dash, shape, title
from backwater.study.key import TABLE, Key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from altair.typing import ChartType

    from backwater.study import Outcome

CELL, HEIGHT = 250, 150
"""Width and height of a panel, such that two panels side by side fit a page."""

FRAME = pl.Schema({"mechanism": pl.String, "gpus": pl.Float64, "bandwidth": pl.Float64})


def draw(
    outcome: Outcome,
    series: Mapping[str, str],
    quantity: str,
    mechanisms: Sequence[str] | None = None,
) -> ChartType:
    """Draw a panel for each of `series`: set-ups by the prefix of their cases, with its title.

    `quantity` is the measure to draw, in GB/s. Raises `InputError` if no case was run.
    """
    known = list(outcome.study.mechanisms)
    cells = []
    for prefix, heading in series.items():
        measured, published = _points(outcome, prefix, quantity, mechanisms or known)
        if not measured.is_empty():
            cells.append(_cell(measured, published, heading, known))
    if not cells:
        raise InputError("nothing to draw: none of these points was run")
    note = "Hollow diamonds: published. Lines: simulated. The axis of GPUs is logarithmic."
    # Pairs, since a narrow page puts the panels of a row below each other.
    rows = [alt.hconcat(*cells[at : at + 2], spacing=26) for at in range(0, len(cells), 2)]
    return alt.vconcat(*rows, spacing=20).properties(title=title("Bandwidth by GPUs", note))


def _points(
    outcome: Outcome, prefix: str, quantity: str, mechanisms: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the measured and the published bandwidths of a set-up, in GB/s."""
    measured: list[dict[str, Any]] = []
    published: dict[float, float] = {}
    for case in outcome.study.cases:
        match = re.fullmatch(re.escape(prefix) + r"-ep(\d+)", case.id)
        if match is None:
            continue
        gpus = float(match[1])
        for mechanism in mechanisms:
            point = outcome.points.get(Key(case.id, mechanism, TABLE))
            rate = None if point is None else point[quantity].statistic("mean", None)
            if rate is None:
                continue
            measured.append({"mechanism": mechanism, "gpus": gpus, "bandwidth": rate})
            told = outcome.study.published(case.id, mechanism, quantity)
            if told is not None:
                published[gpus] = told
    numbers = [{"mechanism": "", "gpus": n, "bandwidth": rate} for n, rate in published.items()]
    return pl.DataFrame(measured, schema=FRAME), pl.DataFrame(numbers, schema=FRAME)


def _cell(
    measured: pl.DataFrame, published: pl.DataFrame, heading: str, known: list[str]
) -> ChartType:
    shown = [name for name in known if name in set(measured["mechanism"].to_list())]
    ticks = sorted(set(measured["gpus"].to_list()))
    across = alt.X(
        "gpus:Q",
        title="GPUs",
        scale=alt.Scale(type="log", base=2, domain=[ticks[0] / 1.1, ticks[-1] * 1.1], nice=False),
        axis=alt.Axis(values=ticks, format="d"),
    )
    up = alt.Y("bandwidth:Q", title="GB/s", scale=alt.Scale(domainMin=0))
    tips: list[str | alt.Tooltip] = ["mechanism", "gpus", alt.Tooltip("bandwidth", format=".4")]
    base = alt.Chart(measured).encode(
        x=across, y=up, color=colour("mechanism", shown, known), tooltip=tips
    )
    told = (
        alt.Chart(published)
        .mark_point(shape="diamond", size=85, color=INK, fill="white", strokeWidth=1.8, opacity=1)
        .encode(x=across, y=up, tooltip=tips[1:])
    )
    return alt.layer(
        base.mark_line().encode(strokeDash=dash("mechanism", shown, known)),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            shape=shape("mechanism", shown, known)
        ),
        told,
    ).properties(width=CELL, height=HEIGHT, title=heading)


CHARTS = {"by-ep": draw}
