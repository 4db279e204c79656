"""Marks that several charts of a study share: whiskers, diamonds, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from backwater.plot.theme import INK

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


def whiskers(base: alt.Chart, rows: pl.DataFrame, axis: str | None = None) -> list[alt.Chart]:
    """Draw confidence intervals, if there are any; `axis` is the title of the shared axis."""
    if rows["low"].is_null().all():
        return []
    y = alt.Y("low:Q", title=axis)
    return [base.mark_rule(color=INK, strokeWidth=1.5).encode(y=y, y2="high")]


def diamonds(
    base: alt.Chart, rows: pl.DataFrame, tips: list[Any], axis: str | None = None
) -> list[alt.Chart]:
    """Draw published numbers, if there are any; `axis` is the title of the shared axis."""
    if rows["published"].is_null().all():
        return []
    mark = base.mark_point(
        shape="diamond", size=85, color=INK, fill="white", strokeWidth=1.8, opacity=1
    )
    return [mark.encode(y=alt.Y("published:Q", title=axis), tooltip=tips)]


def tooltips(name: str, form: str = ".5") -> list[Any]:
    """Return the tooltip of a mark."""
    numbers = [alt.Tooltip(column, format=form) for column in ("value", "published", "low", "high")]
    return ["case", name, "what", *numbers, "seeds"]


def header(cases: Sequence[str]) -> alt.Header:
    """Return a header with case names that are not turned."""
    return alt.Header(labelAngle=0, labelAlign="left" if max(map(len, cases)) > 8 else "center")


def angle(cases: Sequence[str]) -> int:
    """Return the angle of case names: long ones are slanted."""
    return 0 if max(map(len, cases)) <= 10 else -30
