"""The look of charts: colours for the colour-blind, and sizes that print well.

The colours are those of Okabe and Ito (Color Universal Design, 2008) without their yellow, which is
too faint on white. Each colour comes with a shape or a dash.
"""

from __future__ import annotations

import itertools
from typing import Any

import altair as alt

VERMILLION, BLUE, GREEN = "#D55E00", "#0072B2", "#009E73"
PURPLE, ORANGE, SKY, BLACK = "#CC79A7", "#E69F00", "#56B4E9", "#000000"
COLOURS = (VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY, BLACK)
GREYS = ("#8c8c8c", "#bfbfbf")
"""Colours for series beyond `COLOURS`."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [10, 4], [4, 1, 1, 1], [1, 3])
INK, FAINT, GRID = "#1b1f24", "#59636e", "#e3e6ea"
SHADES = ("#c6dbef", "#9ecae1", "#6baed6", "#3f8fc5", "#1c6cb1", "#08306b")
"""Shades of one hue, from an idle link to a link that is always busy."""
FONT = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"

WIDTH, HEIGHT = 640, 260
"""The size of a chart without cells, in CSS pixels."""
WHOLE = alt.Scale(domain=[0, 1])
"""The scale of shares, up to 100 % even if a curve ends below."""
APART = alt.Axis(labelOverlap="greedy", labelSeparation=6)
"""A logarithmic axis, without labels that would touch."""
LABELS = 52
"""Width of the numbers of a vertical axis, so that the titles of stacked charts line up."""

NAME = "backwater"


@alt.theme.register(NAME, enable=False)
def _theme() -> alt.theme.ThemeConfig:
    return {
        "config": {
            "font": FONT,
            "background": "white",
            "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
            "axis": {
                "labelColor": INK,
                "titleColor": INK,
                "labelFontSize": 12,
                "titleFontSize": 13,
                "titleFontWeight": "normal",
                "titlePadding": 8,
                "gridColor": GRID,
                "domainColor": FAINT,
                "tickColor": FAINT,
                "labelLimit": 260,
            },
            "axisX": {"grid": False, "labelFlush": False},
            "axisY": {"domain": False, "ticks": False},
            "legend": {
                "labelColor": INK,
                "titleColor": INK,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "orient": "top",
                "symbolSize": 110,
                "symbolStrokeWidth": 2,
                "labelLimit": 320,
            },
            "header": {
                "labelColor": INK,
                "titleColor": INK,
                "labelFontSize": 13,
                "titleFontSize": 13,
                "labelFontWeight": "bold",
            },
            "title": {
                "font": FONT,
                "subtitleFont": FONT,
                "fontSize": 16,
                "subtitleFontSize": 12.5,
                "anchor": "start",
                "color": INK,
                "subtitleColor": FAINT,
                "subtitlePadding": 6,
                "offset": 12,
            },
            "line": {"strokeWidth": 2},
            "bar": {"color": BLUE},
            "range": {"category": list(COLOURS)},
        }
    }


def enable() -> None:
    """Use the theme `backwater` for every chart of this session."""
    alt.theme.enable(NAME)


def colour(field: str, shown: list[str], among: list[str] | None = None) -> alt.Color:
    """Colour a field; each name `shown` has the colour that it has `among` all names."""
    return alt.Color(f"{field}:N", title=None, scale=scale(shown, COLOURS, among), sort=shown)


def shape(field: str, shown: list[str], among: list[str] | None = None) -> alt.Shape:
    """Return the shapes of a field, in addition to its colours."""
    return alt.Shape(f"{field}:N", title=None, scale=scale(shown, SHAPES, among), sort=shown)


def dash(field: str, shown: list[str], among: list[str] | None = None) -> alt.StrokeDash:
    """Return the dashes of a field, in addition to its colours."""
    return alt.StrokeDash(f"{field}:N", title=None, scale=scale(shown, DASHES, among), sort=shown)


def scale(shown: list[str], values: tuple[Any, ...], among: list[str] | None = None) -> alt.Scale:
    """Return a scale that assigns a value to each name; values repeat if names are more."""
    return alt.Scale(domain=shown, range=[of(name, values, among or shown) for name in shown])


def of(name: str, values: tuple[Any, ...], among: list[str]) -> Any:  # noqa: ANN401 - a colour, a shape, a dash
    """Return the value of a name among others."""
    return values[among.index(name) % len(values)]


def apart(names: list[str], own: str, mechanism: str, among: list[str]) -> list[str]:
    """Return colours of a mechanism's setups: the mechanism's own for `own`, others for the rest.

    If setups are more than the colours free `among` mechanisms, the last setups share one. Bars
    have names as well.
    """
    taken = {of(name, COLOURS, among) for name in among}
    # Black comes last: whiskers are hardly visible on it.
    every = (*(one for one in COLOURS if one != BLACK), *GREYS, BLACK)
    left = [one for one in every if one not in taken] or list(GREYS)
    others = [name for name in names if name != own]
    shades = dict(zip(others, itertools.chain(left, itertools.repeat(left[-1])), strict=False))
    return [shades.get(name) or of(mechanism, COLOURS, among) for name in names]


def title(text: str, *below: str) -> alt.TitleParams:
    """Return a chart's title, with small lines below it."""
    return alt.TitleParams(text, subtitle=list(below)) if below else alt.TitleParams(text)


def clock(end_ps: float) -> tuple[float, str]:
    """Return a unit of time, in ps and as a name, that suits a chart that ends at `end_ps`."""
    for factor, unit in ((1e12, "s"), (1e9, "ms"), (1e6, "us")):
        if end_ps >= 10 * factor:
            return factor, unit
    return (1e6, "us") if end_ps >= 1e6 else (1e3, "ns")
