"""How soon a sender reacts, what victim and incast make of that, and how many messages it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.plot.theme import APART, FAINT, colour, shape, title
from backwater.study.key import TABLE, Key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from altair.typing import ChartType

    from backwater.study import Outcome

CELL, ROW = 210, 18
"""Width of a panel, such that two fit a page, and height of a scheme's row."""
FRAME = pl.Schema({"scheme": pl.String, "case": pl.String, "value": pl.Float64})


def draw(
    outcome: Outcome, fair: Mapping[str, Sequence[float]], schemes: Sequence[str]
) -> ChartType:
    """Draw a panel for each quantity, with a row for each scheme, from the earliest to the latest.

    `fair` has the max-min fair times of the victim and of the last incast flow, in us, for each
    case to draw. Raises `InputError` if no case was run.
    """
    means = _means(outcome, list(fair), schemes)
    if not means:
        raise InputError("nothing to draw: none of these points was run")
    order = sorted(schemes, key=lambda scheme: _first(means, scheme))
    cases = [case for case in fair if any(of == case for of, _ in means)]
    panels = [
        _panel(_rows(means, name, against, fair), order, cases, heading)
        for name, against, heading in (
            ("reaction", None, "reaction, us"),
            ("victim", 0, "victim, % of fair rate"),
            ("incast_last", 1, "incast, % of fair rate"),
            ("messages", None, "control messages"),
        )
    ]
    notes = (
        "Dashed: max-min fairness. Two axes are logarithmic.",
        "Not counted: NACKs and ACKs, by which trimming, NSCC and CSIG signal.",
    )
    # Pairs, since a narrow page puts the panels of a row below each other.
    rows = [alt.hconcat(*panels[at : at + 2], spacing=20) for at in (0, 2)]
    return alt.vconcat(*rows, spacing=16).properties(
        title=title("Who is notified earlier, and what that is worth", *notes)
    )


Means = dict[tuple[str, str], dict[str, float | None]]


def _means(outcome: Outcome, cases: Sequence[str], schemes: Sequence[str]) -> Means:
    """Return the means over the seeds by case and scheme."""
    names = ("reaction", "victim", "incast_last", "messages")
    return {
        (case, scheme): {name: point[name].statistic("mean", None) for name in names}
        for case in cases
        for scheme in schemes
        if (point := outcome.points.get(Key(case, scheme, TABLE))) is not None
    }


def _first(means: Means, scheme: str) -> float:
    times = (of["reaction"] for (_, name), of in means.items() if name == scheme)
    return min((time for time in times if time is not None), default=float("inf"))


def _rows(
    means: Means, name: str, against: int | None, fair: Mapping[str, Sequence[float]]
) -> pl.DataFrame:
    """Return a quantity by scheme and case: itself, or as a rate in % of that of a fair time."""
    rows: list[dict[str, Any]] = []
    for (case, scheme), of in means.items():
        value = of[name]
        if value is None or (against is None and value == 0):
            continue
        shown = value if against is None else 100 * fair[case][against] / value
        rows.append({"scheme": scheme, "case": case, "value": shown})
    return pl.DataFrame(rows, schema=FRAME)


def _panel(rows: pl.DataFrame, order: list[str], cases: list[str], heading: str) -> ChartType:
    """Draw a quantity; a share has the line of what is fair, other axes are logarithmic."""
    names = alt.Axis(grid=True, ticks=False, labelPadding=6)
    up = alt.Y("scheme:N", sort=order, title=None, axis=names, scale=alt.Scale(domain=order))
    share = "%" in heading
    scale = alt.Scale(domainMin=0) if share else alt.Scale(type="log", nice=True)
    across = alt.X("value:Q", title=heading, scale=scale, axis=alt.Axis() if share else APART)
    tips: list[str | alt.Tooltip] = ["scheme", "case", alt.Tooltip("value", format=".4")]
    marks = (
        alt.Chart(rows)
        .mark_point(filled=True, size=62, opacity=0.85)
        .encode(
            x=across,
            y=up,
            color=colour("case", cases).title("case"),
            shape=shape("case", cases).title("case"),
            tooltip=tips,
        )
    )
    fair = alt.Chart(pl.DataFrame({"value": [100.0]})).mark_rule(color=FAINT, strokeDash=[4, 3])
    layers = [fair.encode(x=across), marks] if share else [marks]
    return alt.layer(*layers).properties(width=CELL, height=ROW * len(order))


CHARTS = {"reaction": draw}
