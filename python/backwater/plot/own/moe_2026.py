"""Bandwidth of dispatch over the number of GPUs: published, and measured with each host model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.plot.panels import grid, panel
from backwater.study.key import TABLE, Key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from altair.typing import ChartType

    from backwater.study import Outcome

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
            cells.append(panel(measured, published, _axes(measured), heading, known))
    return grid(cells, "Bandwidth by GPUs", "The axis of GPUs is logarithmic.")


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


def _axes(measured: pl.DataFrame) -> tuple[alt.X, alt.Y]:
    ticks = sorted(set(measured["gpus"].to_list()))
    across = alt.X(
        "gpus:Q",
        title="GPUs",
        scale=alt.Scale(type="log", base=2, domain=[ticks[0] / 1.1, ticks[-1] * 1.1], nice=False),
        axis=alt.Axis(values=ticks, format="d"),
    )
    up = alt.Y("bandwidth:Q", title="GB/s", scale=alt.Scale(domainMin=0))
    return across, up


CHARTS = {"by-ep": draw}
