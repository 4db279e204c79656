"""The chart of a test of the benchmark: a curve over a number, or bars over choices.

Whiskers are 95 % intervals of means over seeds (Student's t).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.bench.expression import written
from backwater.plot.theme import INK, colour, dash, shape, title
from backwater.wording import short, with_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from altair.typing import ChartType

    from backwater.bench.measure import Row

WIDTH, HEIGHT = 600, 230
GREATEST = "greatest"
BAR = 34
"""Width of a bar with its gap, in CSS pixels."""


def chart(test: Mapping[str, Any], rows: Sequence[Row]) -> ChartType | None:
    """Draw the figure that a test declares; None if no setting has a value."""
    about = test["figure"]
    units = {one["name"]: one["unit"] for one in test["parameters"]}
    metric = next(one for one in test["metrics"] if one["label"] == about["metric"])
    over, apart = about["over"], about["apart"]
    mine = [row for row in rows if row.metric == about["metric"] and row.spread is not None]
    for name, one in about["only"].items():
        # A fabric may be too small for the greatest number that a test has.
        known = [row.setting[name] for row in mine]
        wanted = max(known, default=None) if one == GREATEST else one
        mine = [row for row in mine if row.setting[name] == wanted]
    found = [_point(row, over, apart, units) for row in mine]
    if not found:
        return None
    frame = pl.DataFrame(found, infer_schema_length=None)
    y = alt.Y(
        "value:Q",
        title=with_unit(metric["label"], metric["unit"]),
        scale=alt.Scale(zero=not about["log"] or _near_zero(found), padding=6),
    )
    named = with_unit(over, units[over])
    drawn = _curve if frame["x"].dtype.is_numeric() else _bars
    made = drawn(frame, y, named, log=about["log"])
    heading = title(f"{test['draft'].capitalize()} {test['section']}: {test['title']}")
    return made.properties(title=heading)


def _point(row: Row, over: str, apart: str, units: Mapping[str, str]) -> dict[str, Any]:
    """Return the point of a row: place, line, value and interval."""
    spread = row.spread
    assert spread is not None
    others = [apart] if apart else []
    line = ", ".join(
        f"{name} = {written(row.setting[name])} {units[name]}".rstrip() for name in others
    )
    at = row.setting[over]
    return {
        "x": at if isinstance(at, str) else float(at),
        "line": line,
        "value": spread.mean,
        "low": spread.ci_low,
        "high": spread.ci_high,
        "text": short(spread.mean),
    }


def _near_zero(points: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether values are so different that an axis from 0 hides nothing."""
    values: list[float] = [one["value"] for one in points]
    return min(values) <= max(values) / 4


def _curve(frame: pl.DataFrame, y: alt.Y, named: str, *, log: bool) -> ChartType:
    places = sorted(set(frame["x"].to_list()))
    axis = alt.Axis(values=places, labelOverlap="greedy", labelSeparation=6)
    scale = alt.Scale(type="log", base=2, nice=False, padding=12) if log else alt.Scale(padding=12)
    x = alt.X("x:Q", title=named, axis=axis, scale=scale)
    lines = list(dict.fromkeys(frame["line"].to_list()))
    tips = [alt.Tooltip(one, format=".6") for one in ("x", "value", "low", "high")]
    base = alt.Chart(frame).encode(x=x)
    tint: Any = colour("line", lines)
    form: Any = shape("line", lines)
    strokes: Any = dash("line", lines)
    if len(lines) == 1:
        tint, form, strokes = (one.legend(None) for one in (tint, form, strokes))
    layers: list[Any] = [
        base.mark_line(strokeWidth=1.6).encode(y=y, color=tint, strokeDash=strokes)
    ]
    if frame["low"].is_not_null().any():
        layers.append(
            base.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q"), y2="high", color=tint)
        )
    layers.append(
        base.mark_point(filled=True, size=46, opacity=1).encode(
            y=y, color=tint, shape=form, tooltip=tips
        )
    )
    made: ChartType = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return made


def _bars(frame: pl.DataFrame, y: alt.Y, named: str, *, log: bool) -> ChartType:  # noqa: ARG001 - as `_curve`
    order = list(dict.fromkeys(frame["x"].to_list()))
    lines = list(dict.fromkeys(frame["line"].to_list()))
    x = alt.X("x:N", sort=order, title=named, axis=alt.Axis(labelAngle=0, ticks=False))
    tint: Any = colour("line", lines)
    offset: dict[str, Any] = {}
    if len(lines) == 1:
        tint = tint.legend(None)
    else:
        offset = {"xOffset": alt.XOffset("line:N", sort=lines)}
    y = y.scale(zero=True)
    base = alt.Chart(frame).encode(x=x, **offset)
    tips = [alt.Tooltip(one, format=".6") for one in ("value", "low", "high")]
    layers: list[Any] = [base.mark_bar().encode(y=y, color=tint, tooltip=["x", "line", *tips])]
    if frame["low"].is_not_null().any():
        layers.append(base.mark_rule(color=INK).encode(y=alt.Y("low:Q"), y2="high"))
    top = alt.Y("top:Q")
    texts = frame.with_columns(top=pl.max_horizontal("value", pl.col("high").fill_null(0)))
    layers.append(
        alt.Chart(texts)
        .encode(x=x, **offset)
        .mark_text(dy=-8, fontSize=10.5, color=INK)
        .encode(y=top, text="text:N")
    )
    wide = min(WIDTH, max(240, BAR * 2 * len(order) * len(lines)))
    made: ChartType = alt.layer(*layers).properties(width=wide, height=HEIGHT)
    return made
