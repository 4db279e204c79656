"""Charts of one run, such as `run.plot.queue()` and `run.plot.completion()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.numbers.queues import end_ps
from backwater.numbers.rows import scan
from backwater.plot import data
from backwater.plot.jobs import JobPlots
from backwater.plot.rows import CAPPED, RATE_STEPS
from backwater.plot.theme import INK, SKY, WIDTH, clock, title
from backwater.wording import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair.typing import ChartType


class RunPlots(JobPlots):
    """Charts of a run. Times begin at the run's start. A chart names what it leaves out."""

    def queue(
        self,
        *links: str,
        most: int = 4,
        window: Sequence[str] | None = None,
    ) -> ChartType:
        """Draw the queues of ports over time, in KB: those named, or the `most` deepest.

        A link is written as `"leaf0 → h0"` or `"leaf0->h0"`. If a step has several samples, the
        line is their mean and the band their range. Needs `output.queues`.
        """
        names = data.port_names(self._run)
        depths = (
            data.series(self._run, "queue_bytes")
            .group_by("time_ps", "node", "port")
            .agg(pl.col("value").sum())
            .collect()
            .join(names, on=["node", "port"])
        )
        chosen = self._links(links, depths, names, most)
        return self._over_time(
            depths.filter(pl.col("link").is_in(chosen)).select("time_ps", "link", "value"),
            chosen,
            window,
            1e-3,
            "waiting for the port (KB)",
            title("Queues over time"),
        )

    def throughput(
        self, *groups: str, window: Sequence[str] | None = None, each: bool = False
    ) -> ChartType:
        """Draw the payload that the receivers of each group got over time, in Gb/s.

        `each` draws one line per flow instead of one per group. Needs `output.flows`. A group is
        left out if `output.nodes` leaves out one of its senders.
        """
        sampled = data.series(self._run, "flow_received_bytes").select(flow_id="flow").unique()
        interval = self._interval()
        drawn = self._sampled_groups(sampled, interval, *groups)
        lines = self._groups(*drawn)
        flows = self._lazy(*drawn).with_columns(line=pl.col("group"))
        if each:
            first = self._first_flows(*drawn)
            lines = first["line"].to_list()
            flows = flows.drop("line").join(first.lazy(), on="flow_id")
        got = (
            data.received(self._run, flows, interval)
            .group_by("time_ps", link="line")
            .agg(value=pl.col("new").sum())
            .collect(engine="streaming")
        )
        return self._over_time(
            got,
            lines[:CAPPED],
            window,
            8e3 / interval,
            "payload received (Gb/s)",
            title("Throughput over time"),
            RATE_STEPS,
        )

    def _sampled_groups(self, sampled: pl.LazyFrame, interval: int, *groups: str) -> list[str]:
        """Return the groups in which all flows were sampled that last until a sampling time."""
        start = pl.col("start_ps").cast(pl.Int64)
        end = (start + pl.col("fct_last_byte_ps").cast(pl.Int64)).fill_null(end_ps(self._run))
        missed = (
            self._lazy(*groups)
            .filter((start // interval + 1) * interval < end)
            .join(sampled, on="flow_id", how="anti")
            .select(pl.col("group").unique())
            .collect(engine="streaming")["group"]
        )
        drawn = [group for group in self._groups(*groups) if group not in set(missed.to_list())]
        if not drawn:
            raise InputError(
                "no group has samples of all its flows", "output.nodes leaves out their senders"
            )
        return drawn

    def sent(self, *links: str, most: int = 4, window: Sequence[str] | None = None) -> ChartType:
        """Draw what ports sent over time, in Gb/s of frames. Needs `output.links`."""
        names = data.port_names(self._run)
        sent = data.series(self._run, "sent_bytes").collect().join(names, on=["node", "port"])
        chosen = self._links(links, sent, names, most)
        return self._over_time(
            sent.filter(pl.col("link").is_in(chosen)).select("time_ps", "link", "value"),
            chosen,
            window,
            8e3 / self._interval(),
            "sent (Gb/s)",
            title("Links over time"),
            RATE_STEPS,
        )

    def paused(self, *, window: Sequence[str] | None = None, most: int = CAPPED) -> ChartType:
        """Which ports were held by their neighbours, and when. Needs `output.pauses`.

        A bar spans samples in a row that found the port paused.
        """
        interval = self._interval()
        begin, end = data.window_of(self._run, window)
        scale, factor, unit = self._clock(begin, end)
        held = (
            data.series(self._run, "paused")
            .filter((pl.col("time_ps") > begin) & (pl.col("time_ps") <= end))
            .select("time_ps", "node", "port")
            .unique()
            .sort("node", "port", "time_ps")
            .collect()
        )
        if held.is_empty():
            raise InputError(
                "no sample found a port paused",
                f"there is one every {time_text(interval)}; pauses() has the whole run's",
            )
        breaks = (pl.col("time_ps").diff().fill_null(0) != interval).cum_sum()
        spans = (
            held.with_columns(span=breaks.over("node", "port"))
            .group_by("node", "port", "span")
            .agg(begin=pl.col("time_ps").min() - interval, end=pl.col("time_ps").max())
            .join(data.port_names(self._run), on=["node", "port"])
        )
        total = spans.group_by("link").agg(whole=(pl.col("end") - pl.col("begin")).sum())
        rows = total.sort("whole", "link", descending=[True, False])["link"].to_list()
        shown = spans.filter(pl.col("link").is_in(rows[:most])).select(
            "link", begin=pl.col("begin") / factor, end=pl.col("end") / factor
        )
        left = f"; the {most} longest of {len(rows)}" if len(rows) > most else ""
        drawn: ChartType = (
            alt.Chart(shown.sort("link", "begin"))
            .mark_bar(color=INK, height={"band": 0.6})
            .encode(
                x=alt.X("begin:Q", title=f"time ({unit})", scale=scale),
                x2="end",
                y=alt.Y("link:N", title=None, sort=rows[:most]),
                tooltip=[
                    "link",
                    alt.Tooltip("begin", format=".6"),
                    alt.Tooltip("end", format=".6"),
                ],
            )
            .properties(
                width=WIDTH,
                height=alt.Step(18),
                title=title(
                    "Ports paused by their neighbours",
                    f"sampled every {time_text(interval)}{left}",
                ),
            )
        )
        return drawn

    def pauses(self, *, most: int = CAPPED) -> ChartType:
        """Draw how often and for how long each port was paused, over the whole run."""
        names = data.port_names(self._run)
        frame = scan(self._run, "ports")
        assert frame is not None
        ports = (
            frame.filter(pl.col("pauses_received") > 0)
            .select("node", "port", "pauses_received", "paused_ps")
            .collect()
            .join(names, on=["node", "port"])
            .sort("paused_ps", "link", descending=[True, False])
        )
        if ports.is_empty():
            raise InputError("no port was paused", "none received a pause")
        factor, unit = clock(float(ports["paused_ps"].max() or 1))  # type: ignore[arg-type]
        rows = ports["link"].to_list()[:most]
        shown = ports.head(most).select(
            "link", pauses="pauses_received", paused=pl.col("paused_ps") / factor
        )
        y = alt.Y("link:N", title=None, sort=rows)
        bars = alt.Chart(shown).mark_bar(height={"band": 0.7}).encode(y=y)
        left = f"the {most} longest of {ports.height} ports" if ports.height > most else ""
        tips = ["link", "pauses", alt.Tooltip("paused", title=f"paused ({unit})", format=".6")]
        time = bars.encode(x=alt.X("paused:Q", title=f"time paused ({unit})"), tooltip=tips)
        counts = bars.encode(
            x=alt.X("pauses:Q", title="pauses received", axis=alt.Axis(tickMinStep=1)),
            y=y.axis(None),
            tooltip=tips,
            color=alt.value(SKY),
        )
        half = {"width": 250, "height": alt.Step(18)}
        return alt.hconcat(time.properties(**half), counts.properties(**half)).properties(
            title=title("Pauses, port by port", *([left] if left else []))
        )

    def control(self, *, window: Sequence[str] | None = None) -> ChartType:
        """Draw the control messages sent over time, by kind."""
        frame = scan(self._run, "control")
        if frame is None:
            raise InputError("the run sent no control message", "none of its mechanisms has acted")
        begin, end = data.window_of(self._run, window)
        scale, factor, unit = self._clock(begin, end)
        width = max(1, (end - begin) // 100)
        counts = (
            frame.filter((pl.col("time_ps") >= begin) & (pl.col("time_ps") <= end))
            .group_by("kind", at=((pl.col("time_ps") - begin) // width))
            .len("messages")
            .collect()
            .with_columns(
                begin=(begin + pl.col("at") * width) / factor,
                end=(begin + (pl.col("at") + 1) * width) / factor,
            )
            .sort("kind", "at")
        )
        kinds = counts["kind"].unique().sort().to_list()
        tips = [alt.Tooltip(edge, format=".6") for edge in ("begin", "end")]
        drawn: ChartType = (
            alt.Chart(counts)
            .mark_bar(color=INK, clip=True)
            .encode(
                x=alt.X("begin:Q", title=f"time ({unit})", scale=scale),
                x2="end",
                y=alt.Y("messages:Q", title="messages", axis=alt.Axis(tickMinStep=1, tickCount=4)),
                y2=alt.datum(0),
                row=alt.Row("kind:N", title=None, sort=kinds),
                tooltip=["kind", "messages", *tips],
            )
            .resolve_scale(y="independent")
            .properties(
                width=WIDTH,
                height=90,
                title=title("Control messages", f"sent in each {time_text(width)}"),
            )
        )
        return drawn
