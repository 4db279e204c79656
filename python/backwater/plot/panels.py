"""Panels beside each other: simulated numbers as lines, the published ones as diamonds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from backwater.errors import InputError
from backwater.plot.theme import INK, colour, dash, shape, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from altair.typing import ChartType

CELL, HEIGHT = 250, 150
"""Width and height of a panel, such that two panels side by side fit a page."""


def grid(panels: Sequence[ChartType], heading: str, axes: str) -> ChartType:
    """Lay panels out in pairs below a title; `axes` is the last sentence of its note.

    Raises `InputError` if there is no panel.
    """
    if not panels:
        raise InputError("nothing to draw: none of these points was run")
    note = f"Hollow diamonds: published. Lines: simulated. {axes}"
    # Pairs, since a narrow page puts the panels of a row below each other.
    rows = [alt.hconcat(*panels[at : at + 2], spacing=26) for at in range(0, len(panels), 2)]
    return alt.vconcat(*rows, spacing=20).properties(title=title(heading, note))


def panel(
    measured: pl.DataFrame,
    published: pl.DataFrame,
    axes: tuple[alt.X, alt.Y],
    heading: str,
    known: list[str],
) -> ChartType:
    """Draw a line for each mechanism, and a diamond for each published number.

    Both tables have the columns `mechanism`, that of the axis across and that of the axis up, in
    this order. `known` has all mechanisms of the study, so that each keeps its colour.
    """
    across, up = axes
    mechanism, x, y = measured.columns
    shown = [name for name in known if name in set(measured[mechanism].to_list())]
    tips: list[str | alt.Tooltip] = [mechanism, x, alt.Tooltip(y, format=".4")]
    base = alt.Chart(measured).encode(
        x=across, y=up, color=colour(mechanism, shown, known), tooltip=tips
    )
    told = (
        alt.Chart(published)
        .mark_point(shape="diamond", size=85, color=INK, fill="white", strokeWidth=1.8, opacity=1)
        .encode(x=across, y=up, tooltip=tips[1:])
    )
    return alt.layer(
        base.mark_line().encode(strokeDash=dash(mechanism, shown, known)),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            shape=shape(mechanism, shown, known)
        ),
        told,
    ).properties(width=CELL, height=HEIGHT, title=heading)
