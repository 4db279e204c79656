"""Charts of a run's jobs: timelines, and completion times of collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.numbers.rows import scan
from backwater.numbers.units import PS_PER_US
from backwater.plot import data
from backwater.plot.flows import FlowPlots
from backwater.plot.theme import HEIGHT, INK, WHOLE, WIDTH, colour, dash, shape, title
from backwater.plot.timeline import timelines

if TYPE_CHECKING:
    from altair.typing import ChartType

    from backwater.results import Run


class JobPlots(FlowPlots):
    """Charts of a run's tables of jobs."""

    def timeline(self, job: str | None = None, *, most: int | None = None) -> ChartType:
        """Draw when each rank took part in collectives, and the critical path, of one job.

        The default is the first job. If it has several instances, the one that ended last is drawn.
        `most` ranks have a row, those on the critical path before others. The default is 32, or as
        many as that path has, up to 96.
        """
        every = timelines(self._run, most)
        chosen = [one for one in every if job in (None, one.job)]
        if not chosen:
            raise InputError(
                f"there is no job {job!r}", f"there are {', '.join(one.job for one in every)}"
            )
        return chosen[0].chart

    def collectives(self) -> ChartType:
        """Draw the share of each step's collectives that are complete within a time, in us.

        If a step has incomplete collectives, its curve ends below 100 %. The mark is the median of
        all of them, if half are complete. If all collectives of a step took the same time, it has a
        mark only; if that holds for every step, each has a bar.
        """
        took = collective_times(self._run)
        order = took.sort("start")["step"].unique(maintain_order=True).to_list()
        counts = _counts(self._run)
        numbers = ", ".join(f"{name} {data.complete(*counts[name])}" for name in order)
        below = f"complete collectives: {numbers}"
        spans = took.group_by("step", maintain_order=True).agg(
            pl.col("time").max(), least=pl.col("time").min()
        )
        if spans["time"].equals(spans["least"]):
            return _bars(spans, order, below)
        every = pl.col("step").replace_strict({name: of for name, (_, of) in counts.items()})
        ranked = took.sort("step", "time").with_columns(
            share=pl.col("time").rank("max").over("step") / every
        )
        # The curve begins at 0 with the first completion.
        first = ranked.group_by("step").agg(pl.col("time").min(), share=pl.lit(0.0))
        curves = pl.concat([ranked.select("step", "time", "share").unique(), first])
        curves = curves.filter(pl.len().over("step") > 2).sort("step", "time", "share")
        times = {str(step): one["time"].sort() for (step,), one in took.group_by("step")}
        middle = [
            {"step": name, "time": time, "share": 0.5}
            for name in order
            if (time := data.reached(times[name], counts[name][1], 0.5)) is not None
        ]
        marks = pl.DataFrame(middle, schema={"step": pl.String, "time": float, "share": float})
        room = alt.Scale(zero=False, padding=12)
        x = alt.X("time:Q", title=TIME, scale=room)
        y = alt.Y(
            "share:Q",
            title="share of collectives",
            axis=alt.Axis(format="%"),
            scale=WHOLE,
        )
        tips = [
            "step",
            alt.Tooltip("time", title="us", format=".6"),
            alt.Tooltip("share", format=".1%"),
        ]
        line = alt.Chart(curves).mark_line(interpolate="step-after")
        lines = line.encode(
            x=x,
            y=y,
            color=colour("step", order),
            strokeDash=dash("step", order),
            tooltip=tips,
        )
        spots = alt.Chart(marks).mark_point(filled=True, size=70, opacity=1)
        points = spots.encode(
            x=x, y=y, color=colour("step", order), shape=shape("step", order), tooltip=tips
        )
        return alt.layer(lines, points).properties(
            width=WIDTH,
            height=HEIGHT,
            title=title(TITLE, f"{below}; marks: median" if middle else below),
        )


TITLE, TIME = "Collective completion times", "collective completion time (us)"
STEP = pl.col("job").cast(pl.String) + "/" + pl.col("step").cast(pl.String)


def collective_times(run: Run) -> pl.DataFrame:
    """Return complete collectives: step (JOB/STEP), time in us, start in ps.

    Raises `InputError` if no collective is complete.
    """
    frame = scan(run, "collectives")
    if frame is None:
        raise InputError("the run has no collectives", "its scenario has no [[job]]")
    took = (
        frame.filter(pl.col("duration_ps").is_not_null())
        .select(
            step=STEP,
            time=pl.col("duration_ps") / PS_PER_US,
            start="start_ps",
        )
        .collect()
    )
    if not took.height:
        raise InputError("no collective of the run is complete", "see its table of collectives")
    return took


def _counts(run: Run) -> dict[str, tuple[int, int]]:
    """Return how many collectives of each step are complete, and how many it has."""
    frame = scan(run, "collectives")
    assert frame is not None
    found = frame.group_by(step=STEP).agg(pl.col("duration_ps").count(), of=pl.len()).collect()
    return {step: (done, of) for step, done, of in found.iter_rows()}


def _bars(spans: pl.DataFrame, order: list[str], below: str) -> ChartType:
    """Draw one bar per step, if all collectives of each step took the same time."""
    x = alt.X("time:Q", title=TIME, scale=alt.Scale(nice=True, padding=0))
    y = alt.Y("step:N", title=None, sort=order)
    tip = alt.Tooltip("time", title="us", format=".6")
    bars = alt.Chart(spans).encode(x=x, y=y, tooltip=["step", tip])
    drawn = bars.mark_bar(height={"band": 0.6}).encode(color=colour("step", order).legend(None))
    text = bars.mark_text(align="left", dx=5, color=INK).encode(
        text=alt.Text("time:Q", format=",.6")
    )
    layers: ChartType = alt.layer(drawn, text).properties(
        width=WIDTH,
        height=alt.Step(34),
        title=title(TITLE, f"{below}; those of a step all took the same time"),
    )
    return layers
