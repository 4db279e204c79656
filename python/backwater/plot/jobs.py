"""Charts of a run's jobs: how long their collectives and rounds took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.numbers.rows import scan
from backwater.plot.flows import FlowPlots
from backwater.plot.theme import HEIGHT, WIDTH, colour, dash, shape, title
from backwater.plot.timeline import timelines

if TYPE_CHECKING:
    from altair.typing import ChartType


class JobPlots(FlowPlots):
    """Charts of a run's tables of jobs."""

    def timeline(self, job: str | None = None, *, most: int | None = None) -> ChartType:
        """When each rank took part in what, and the critical path across them: of the first job.

        Of a job with several instances, the one that was complete last. `most` ranks have a row,
        those on the critical path before others; without it 32, or as many as that path has, 96
        at most.
        """
        every = timelines(self._run, most)
        chosen = [one for one in every if job in (None, one.job)]
        if not chosen:
            raise InputError(
                f"there is no job {job!r}", f"there are {', '.join(one.job for one in every)}"
            )
        return chosen[0].chart

    def collectives(self) -> ChartType:
        """Share of each step's collectives complete within a time, in us.

        Of complete collectives only; the mark is the median. A step whose collectives all took
        the same time has the mark only.
        """
        frame = scan(self._run, "collectives")
        if frame is None:
            raise InputError("the run has no collectives", "its scenario has no [[job]]")
        took = (
            frame.filter(pl.col("duration_ps").is_not_null())
            .select(
                step=pl.col("job").cast(pl.String) + "/" + pl.col("step").cast(pl.String),
                time=pl.col("duration_ps") / 1e6,
                start="start_ps",
            )
            .collect()
        )
        if not took.height:
            raise InputError("no collective of the run is complete", "see its table of collectives")
        order = took.sort("start")["step"].unique(maintain_order=True).to_list()
        counts = dict(took.group_by("step").len().iter_rows())
        ranked = took.sort("step", "time").with_columns(
            share=pl.col("time").rank("max").over("step") / pl.len().over("step")
        )
        # From the first completion on: none is complete before it.
        first = ranked.group_by("step").agg(pl.col("time").min(), share=pl.lit(0.0))
        curves = pl.concat([ranked.select("step", "time", "share").unique(), first])
        curves = curves.filter(pl.len().over("step") > 2).sort("step", "time", "share")
        marks = took.group_by("step").agg(pl.col("time").median(), share=pl.lit(0.5))
        room = alt.Scale(zero=False, padding=12)
        x = alt.X("time:Q", title="collective completion time (us)", scale=room)
        y = alt.Y("share:Q", title="share of complete collectives", axis=alt.Axis(format="%"))
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
        numbers = ", ".join(f"{name} {counts[name]:,}" for name in order)
        below = f"complete collectives: {numbers}; marks: median"
        return alt.layer(*([lines] if curves.height else []), points).properties(
            width=WIDTH, height=HEIGHT, title=title("Collective completion times", below)
        )
