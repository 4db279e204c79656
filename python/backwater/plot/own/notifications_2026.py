"""How soon a sender reacts, what the victim keeps by that, and how many messages it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.plot.theme import FAINT, INK, WIDTH, colour, shape, title
from backwater.study.key import TABLE, Key
from backwater.wording import short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from altair.typing import ChartType

    from backwater.study import Outcome

HEIGHT = 230
FRAME = pl.Schema(
    {"scheme": pl.String, "reaction": pl.Float64, "keeps": pl.Float64, "label": pl.String}
)


def draw(
    outcome: Outcome,
    fair: Mapping[str, float],
    families: Mapping[str, Sequence[str]],
) -> ChartType:
    """Draw a panel for each case of `fair`, which has the victim's max-min fair time in us.

    `families` has the schemes to draw by the name of their family, which has a colour. Raises
    `InputError` if no case was run.
    """
    named = {case.id: case.text for case in outcome.study.cases}
    panels = []
    for case, time in fair.items():
        rows = [
            {"family": family, **row}
            for family, schemes in families.items()
            for scheme in schemes
            if (row := _row(outcome, case, scheme, time)) is not None
        ]
        if rows:
            points = pl.DataFrame(rows, schema={"family": pl.String, **FRAME})
            panels.append(_panel(points, list(families), f"Case {case}: {named[case]}"))
    if not panels:
        raise InputError("nothing to draw: none of these points was run")
    note = "In brackets: control messages. Up: the victim keeps more of its max-min fair share."
    return alt.vconcat(*panels, spacing=20).properties(
        title=title("Who is told earlier, and what that is worth", note)
    )


def _row(outcome: Outcome, case: str, scheme: str, fair: float) -> dict[str, Any] | None:
    """Return a scheme's means over the seeds; None if it was not run, or did not react."""
    point = outcome.points.get(Key(case, scheme, TABLE))
    if point is None:
        return None
    of = {name: point[name].statistic("mean", None) for name in ("reaction", "victim", "messages")}
    if any(value is None for value in of.values()):
        return None
    return {
        "scheme": scheme,
        "reaction": of["reaction"],
        "keeps": 100 * fair / of["victim"],
        "label": f"{scheme} ({short(of['messages'])})",
    }


def _panel(points: pl.DataFrame, families: list[str], heading: str) -> ChartType:
    shown = [name for name in families if name in set(points["family"].to_list())]
    across = alt.X(
        "reaction:Q",
        title="time from the incast's begin until a sender slows down, us (logarithmic)",
        scale=alt.Scale(type="log", nice=False, padding=30),
        axis=alt.Axis(values=[5, 10, 20, 30, 50, 80], format="d"),
    )
    up = alt.Y("keeps:Q", title="victim's rate, % of its fair share", scale=alt.Scale(zero=False))
    tips: list[str | alt.Tooltip] = ["scheme", alt.Tooltip("keeps", format=".4"), "reaction"]
    base = alt.Chart(points).encode(x=across, y=up, tooltip=tips)
    fair = alt.Chart(pl.DataFrame({"keeps": [100.0]})).mark_rule(color=FAINT, strokeDash=[4, 3])
    return alt.layer(
        fair.encode(y="keeps:Q"),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            color=colour("family", shown, families), shape=shape("family", shown, families)
        ),
        base.mark_text(align="left", dx=8, fontSize=11, color=INK).encode(text="label:N"),
    ).properties(width=WIDTH, height=HEIGHT, title=heading)


CHARTS = {"reaction": draw}
