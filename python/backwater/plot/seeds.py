"""Charts over the seeds of repeated runs: means with 95 % intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.numbers.repeats import Spread
from backwater.numbers.rows import scan
from backwater.plot import data
from backwater.plot.theme import BLUE, FAINT, HEIGHT, INK, WHOLE, WIDTH, clock, colour, dash, title
from backwater.wording import series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from altair.typing import ChartType

    from backwater.results import Run

SHARES = [*(i / 50 for i in range(46)), *(0.9 + i / 200 for i in range(1, 21))]
"""Shares of flows at which runs are averaged: closer at the tail."""
WIDE, LINEAR = 5.0, 0.1
"""Differences above `WIDE` get a logarithmic axis, which is linear up to `LINEAR` (shares)."""
GROUPS = 12
"""The most groups in a chart."""


def completion(lines: Mapping[str, tuple[Sequence[Run], str]], head: str) -> ChartType:
    """Draw the share of flows complete within a time: the mean over runs, its interval as a band.

    `lines` has the runs and the group of flows of each line. At each share of all flows, the line
    is the mean of the times by which the runs had completed so many. It ends where the first run
    has no more complete flows. Raises `InputError` if every line is empty.
    """
    found: dict[str, list[tuple[pl.Series, int]]] = {}
    reached: dict[str, float] = {}
    until = "byte"
    for name, (runs, group) in lines.items():
        times = []
        for run in runs:
            column, values, of = _times(run, group)
            until = "ACK" if column == "fct_last_ack_ps" else until
            times += [(values, of)] if of else []
        if times:
            reached[name] = min(values.len() / of for values, of in times)
        if reached.get(name):
            found[name] = times
    if not found:
        raise InputError("no flow is complete in all runs", "see their tables of flows")
    last = max(float(one[-1]) for times in found.values() for one, _ in times)
    factor, unit = clock(last)
    rows: list[dict[str, Any]] = []
    for name, times in found.items():
        ends = reached[name]
        for number, share in enumerate([*(one for one in SHARES if one < ends), ends]):
            spread = Spread.of([float(one[_place(share, of)]) / factor for one, of in times])
            high = spread.mean if spread.ci_high is None else spread.ci_high
            rows.append(
                {"line": name, "number": number, "share": share, "time": spread.mean}
                | {"low": max(0.0, spread.low), "high": high}
            )
    names = list(found)
    # Symbols of the legend are lines, not as faint as the bands.
    shade = colour("line", names).legend(symbolOpacity=1, symbolType="stroke")
    axis = f"completion time to the last {until} ({unit})"
    room = alt.Scale(zero=False, padding=12)
    x = alt.X("time:Q", title=axis, scale=room)
    y = alt.Y("share:Q", title="share of flows", axis=alt.Axis(format="%"), scale=WHOLE)
    tips: list[Any] = [
        "line",
        alt.Tooltip("share", format=".1%"),
        *(alt.Tooltip(f"{edge}:Q", title=said, format=".6") for edge, said in _EDGES),
    ]
    base = alt.Chart(pl.DataFrame(rows)).encode(y=y)
    band = base.mark_area(opacity=0.25, orient="horizontal", line=False).encode(
        x=alt.X("low:Q", title=axis, scale=room),
        x2="high:Q",
        color=shade,
        tooltip=tips,
    )
    line = base.mark_line(strokeWidth=1.8).encode(
        x=x, order="number:Q", color=shade, strokeDash=dash("line", names), tooltip=tips
    )
    counts = {name: len(times) for name, times in found.items()}
    told = [f"{n} of {name}" for name, n in counts.items()]
    over = series(told) if len({*counts.values()}) > 1 else str(next(iter(counts.values())))
    below = [f"mean over {over} runs at each share of flows; band: its 95 % interval (Student's t)"]
    short = [f"{name} {100 * ends:.3g}" for name, ends in reached.items() if ends < 1]
    if short:
        below.append(f"% of flows that are complete in all runs: {', '.join(short)}")
    drawn: ChartType = alt.layer(band, line).properties(
        width=WIDTH, height=HEIGHT, title=title(head, *below)
    )
    return drawn


def _place(share: float, count: int) -> int:
    """Return the index of the first of `count` sorted values by which the share is reached."""
    return min(count - 1, max(0, math.ceil(share * count - 1e-9) - 1))


_EDGES = (("time", "mean"), ("low", "from"), ("high", "to"))


def _times(run: Run, group: str) -> tuple[str, pl.Series, int]:
    """Return the column of a group's completion times, the sorted times, and its flows."""
    frame = scan(run, "flows")
    if frame is None:
        return "fct_last_byte_ps", pl.Series([], dtype=pl.Float64), 0
    mine = frame.filter(pl.col("group") == group)
    of = mine.select(pl.len()).collect().item()
    for column in ("fct_last_ack_ps", "fct_last_byte_ps"):
        values = data.ordered(mine, column)
        if values.len():
            return column, values, of
    return column, values, of


def intervals(rows: Sequence[Mapping[str, Any]], head: str, below: str) -> ChartType:
    """Draw means with their intervals: one panel per quantity, one line per group.

    A row has `panel` (quantity and unit), `of`, `mean`, `ci_low`, `ci_high`, `min` and `max`. Grey
    bars go from the least run to the greatest. Raises `InputError` without rows.
    """
    if not rows:
        raise InputError("no number has an interval", "an interval needs two runs")
    panels = list(dict.fromkeys(str(row["panel"]) for row in rows))
    charts = []
    for panel in panels:
        mine = [dict(row) for row in rows if row["panel"] == panel][:GROUPS]
        names = [row["of"] for row in mine]
        y = alt.Y("of:N", title=None, sort=names)
        room = alt.Scale(zero=False, padding=10)

        def x(field: str, panel: str = panel, room: alt.Scale = room) -> alt.X:
            return alt.X(f"{field}:Q", title=panel, scale=room)

        tips: list[Any] = ["of", *(alt.Tooltip(name, format=".6") for name in _TOLD)]
        base = alt.Chart(pl.DataFrame(mine)).encode(y=y, tooltip=tips)
        charts.append(
            alt.layer(
                base.mark_rule(color=FAINT, opacity=0.45, strokeWidth=7).encode(
                    x=x("min"), x2="max:Q"
                ),
                base.mark_rule(color=BLUE, strokeWidth=2.5).encode(x=x("ci_low"), x2="ci_high:Q"),
                base.mark_point(filled=True, size=70, color=INK, opacity=1).encode(x=x("mean")),
            ).properties(width=WIDTH, height=alt.Step(24))
        )
    drawn: ChartType = alt.vconcat(*charts, spacing=14).properties(title=title(head, below))
    return drawn


_TOLD = ("mean", "ci_low", "ci_high", "min", "max")


def differences(
    rows: Sequence[Mapping[str, Any]], shown: Sequence[str], base: str, among: Sequence[str]
) -> ChartType:
    """Draw by how many percent scenarios differ from a base, with intervals: one line per metric.

    A row has `metric`, `scenario`, `share`, `low`, `high` (shares of the base's mean). Each
    scenario keeps the colour that it has `among` all.
    """
    if not rows:
        raise InputError("nothing differs", "all metrics that can be compared are the same")
    frame = pl.DataFrame([dict(row) for row in rows])
    metrics = frame["metric"].unique(maintain_order=True).to_list()
    y = alt.Y("metric:N", title=None, sort=metrics)
    most = max(abs(float(row[end])) for row in rows for end in ("low", "high", "share"))
    ticks = [-1.0, -LINEAR, 0.0, LINEAR, *(10.0**n for n in range(int(math.log10(most)) + 1))]
    percent = alt.Axis(format="+,.0%", values=ticks if most > WIDE else alt.Undefined)
    # On a linear axis, a difference of a hundred times would leave no room for others. Padding
    # keeps points at the ends apart from the labels of metrics.
    scale = (
        alt.Scale(type="symlog", constant=LINEAR, padding=12, nice=False)
        if most > WIDE
        else alt.Scale(padding=12)
    )
    tips: list[Any] = [
        "metric",
        "scenario",
        *(alt.Tooltip(n, format="+.2%") for n in ("share", "low", "high")),
    ]
    base_chart = alt.Chart(frame).encode(
        y=y,
        yOffset=alt.YOffset("scenario:N", sort=list(shown)),
        color=colour("scenario", list(shown), list(among)),
        tooltip=tips,
    )
    whiskers = base_chart.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", title=f"against {base}", axis=percent, scale=scale), x2="high:Q"
    )
    points = base_chart.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("share:Q", title=f"against {base}", axis=percent, scale=scale)
    )
    zero = alt.Chart(pl.DataFrame({"x": [0.0]})).mark_rule(color=INK).encode(x="x:Q")
    below = "differences seed by seed; bars: their 95 % intervals"
    if most > WIDE:
        below += f"; linear up to {LINEAR:.0%}, logarithmic beyond"
    drawn: ChartType = alt.layer(zero, whiskers, points).properties(
        width=WIDTH,
        height=alt.Step(max(24, 14 * len(shown))),
        title=title("What differs", below),
    )
    return drawn
