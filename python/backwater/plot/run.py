"""Charts of one run: `run.plot.queue()`, `run.plot.completion()` and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.plot import data
from backwater.plot.rows import CAPPED, RATE_STEPS, RunRows
from backwater.plot.theme import HEIGHT, INK, SKY, WIDTH, clock, colour, dash, shape, title
from backwater.study.measures import SIZES, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair.typing import ChartType


UNTIL = {"last_ack": "last ACK", "last_byte": "last byte"}
QUANTILES = [i / 400 for i in range(401)]
SLOWEST = (0.5, 0.9, 0.99)
# Least sizes of the buckets of the mechanisms' own documents: small, medium, large messages.
BUCKETS = ("0 B", "10 KB", "1 MB")


class RunPlots(RunRows):
    """Charts of a run. Times begin at the run's start; what a chart leaves out, it says."""

    def queue(
        self,
        *links: str,
        most: int = 4,
        window: Sequence[str] | None = None,
    ) -> ChartType:
        """What waited for ports over time, in KB: `queue("leaf0 → h0")`, or the deepest `most`.

        A link is written as NODE → PEER or NODE->PEER. Where steps stand for several samples, the
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
        """Payload that the receivers of each group got, over time, in Gb/s.

        `each` draws a line a flow instead of one a group. Needs `output.flows`.
        """
        lines = self._groups(*groups)
        flows = self._lazy(*groups).with_columns(line=pl.col("group"))
        if each:
            first = self._first_flows(*groups)
            lines = first["line"].to_list()
            flows = flows.drop("line").join(first.lazy(), on="flow_id")
        sampled = data.series(self._run, "flow_received_bytes").select(
            flow_id="flow", time_ps=pl.col("time_ps").cast(pl.Int64), got="value"
        )
        interval = self._interval()
        up = ((pl.col("time_ps") + interval - 1) // interval) * interval
        by = [up.alias("time_ps"), pl.col("line").alias("link")]
        new = pl.col("got").diff().over("flow_id").fill_null(pl.col("got"))
        between = (
            sampled.sort("flow_id", "time_ps")
            .with_columns(new=new)
            .join(flows.select("flow_id", "line"), on="flow_id")
            .group_by(by)
            .agg(value=pl.col("new").sum().cast(pl.Int64))
        )
        # What a flow got after its last sample is in no sample, but in its own row.
        last = sampled.group_by("flow_id").agg(pl.col("got").max())
        ended = pl.col("start_ps").cast(pl.Int64) + pl.col("fct_last_byte_ps").cast(pl.Int64)
        rest = pl.col("received").cast(pl.Int64) - pl.col("got").cast(pl.Int64).fill_null(0)
        after = (
            flows.filter(pl.col("fct_last_byte_ps").is_not_null())
            .join(last, on="flow_id", how="left")
            .select("line", time_ps=ended, new=rest)
            .group_by(by)
            .agg(value=pl.col("new").sum())
        )
        got = (
            pl.concat([between, after])
            .group_by("time_ps", "link")
            .agg(pl.col("value").sum())
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

    def sent(self, *links: str, most: int = 4, window: Sequence[str] | None = None) -> ChartType:
        """What ports sent over time, in Gb/s of frames. Needs `output.links`."""
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
        if not data.recorded(self._run, "paused"):
            raise InputError(
                "the run has no samples of paused", f"run it with {data.sampling('paused')}"
            )
        begin, end = data.window_of(self._run, window)
        factor, unit = clock(end)
        held = (
            data.series(self._run, "paused")
            .filter((pl.col("time_ps") > begin) & (pl.col("time_ps") <= end))
            .select("time_ps", "node", "port")
            .unique()
            .sort("node", "port", "time_ps")
            .collect()
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
                x=alt.X("begin:Q", title=f"time ({unit})"),
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
                    "Ports that their neighbours held",
                    f"looked at every {data.time_text(interval)}{left}",
                ),
            )
        )
        return drawn

    def pauses(self, *, most: int = CAPPED) -> ChartType:
        """How often and for how long each port was paused, over the whole run."""
        names = data.port_names(self._run)
        frame = data.scan(self._run, "ports")
        assert frame is not None
        ports = (
            frame.filter(pl.col("pauses_received") > 0)
            .select("node", "port", "pauses_received", "paused_ps")
            .collect()
            .join(names, on=["node", "port"])
            .sort("paused_ps", "link", descending=[True, False])
        )
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
            x=alt.X("pauses:Q", title="pauses received"),
            y=y.axis(None),
            tooltip=tips,
            color=alt.value(SKY),
        )
        half = {"width": 250, "height": alt.Step(18)}
        return alt.hconcat(time.properties(**half), counts.properties(**half)).properties(
            title=title("Pauses, port by port", *([left] if left else []))
        )

    def completion(self, *groups: str, until: str = "last_ack") -> ChartType:
        """Share of each group's flows complete within a time, in us.

        Of complete flows only. `until` is `last_ack` (at the sender) or `last_byte` (at the
        receiver); without acknowledgements it is the latter.
        """
        frame = self._lazy(*groups)
        column = f"fct_{until}_ps"
        if (
            until == "last_ack"
            and not frame.select(pl.col(column).is_not_null().any()).collect().item()
        ):
            until, column = "last_byte", "fct_last_byte_ps"
        order = self._groups(*groups)
        parts, marks, counts = [], [], {}
        for group in order:
            times = data.ordered(frame.filter(pl.col("group") == group), column)
            counts[group] = times.len()
            if times.len() == 0:
                continue
            few = times.len() <= len(QUANTILES)
            shares = [(i + 1) / times.len() for i in range(times.len())] if few else QUANTILES
            values = times.to_list() if few else data.quantiles(times, shares)
            # From the first completion on: no flow is complete before it.
            values, shares = [times[0], *values], [0.0, *shares]
            parts.append(pl.DataFrame({"group": group, "time": values, "share": shares}))
            at = [0.5] if times.len() < 10 else [0.5, 0.9, 0.99]
            marked = data.quantiles(times, at)
            marks.append(pl.DataFrame({"group": group, "time": marked, "share": at}))
        if not parts:
            raise InputError(
                "no flow of the run is complete", "see `waits_for` in its table of flows"
            )
        us = pl.col("time") / 1e6
        curve, spots = (pl.concat(one).with_columns(us) for one in (parts, marks))
        wide = float(curve["time"].max()) > 20 * max(float(curve["time"].min()), 1e-9)  # type: ignore[arg-type]
        x = alt.X(
            "time:Q",
            title=f"completion time to the {UNTIL[until]} (us)",
            scale=alt.Scale(type="log") if wide else alt.Scale(zero=False, nice=False),
        )
        y = alt.Y("share:Q", title="share of complete flows", axis=alt.Axis(format="%"))
        tips = [
            "group",
            alt.Tooltip("time", title="us", format=".6"),
            alt.Tooltip("share", format=".1%"),
        ]
        numbers = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        return alt.layer(
            alt.Chart(curve)
            .mark_line(interpolate="step-after")
            .encode(
                x=x,
                y=y,
                color=colour("group", order),
                strokeDash=dash("group", order),
                tooltip=tips,
            ),
            alt.Chart(spots)
            .mark_point(filled=True, size=70, opacity=1)
            .encode(
                x=x, y=y, color=colour("group", order), shape=shape("group", order), tooltip=tips
            ),
        ).properties(
            width=WIDTH,
            height=HEIGHT,
            title=title("Completion times", f"complete flows: {numbers}; marks at 50, 90 and 99 %"),
        )

    def slowdown(self, *groups: str, sizes: Sequence[str] = BUCKETS) -> ChartType:
        """Completion over what an idle network takes, by size of flow: three percentiles."""
        frame = self._lazy(*groups).filter(pl.col("slowdown").is_not_null())
        order = self._groups(*groups)
        least = [round(quantity(size, SIZES, "a size")) for size in sizes]
        labels = [_bucket(sizes, i) for i in range(len(sizes))]
        names = [f"p{round(100 * q)}" for q in SLOWEST]
        found = []
        for group in order:
            own = frame.filter(pl.col("group") == group)
            for label, low, high in zip(labels, least, [*least[1:], 1 << 63], strict=True):
                inside = (pl.col("bytes") >= low) & (pl.col("bytes") < high)
                values = data.ordered(own.filter(inside), "slowdown")
                about = {"group": group, "size": label, "flows": values.len()}
                if values.len():
                    at = zip(names, data.quantiles(values, SLOWEST), strict=True)
                    found += [about | {"percentile": name, "value": value} for name, value in at]
        if not found:
            raise InputError("no flow of the run is complete", "see `waits_for` of its flows")
        rows = pl.DataFrame(found)
        drawn: ChartType = (
            alt.Chart(rows)
            .mark_point(filled=True, size=90, opacity=1)
            .encode(
                x=alt.X("percentile:N", title=None, sort=names, axis=alt.Axis(labelAngle=0)),
                y=alt.Y("value:Q", title="slowdown (ratio)", scale=alt.Scale(type="log")),
                color=colour("group", order),
                shape=shape("group", order),
                column=alt.Column("size:N", title="size of flow", sort=labels),
                tooltip=["group", "size", "flows", "percentile", alt.Tooltip("value", format=".4")],
            )
            .properties(
                width=150,
                height=HEIGHT,
                title=title("Slowdown: completion over that in an idle network"),
            )
        )
        return drawn

    def control(self, *, window: Sequence[str] | None = None) -> ChartType:
        """Control messages sent, by kind, over time."""
        frame = data.scan(self._run, "control")
        if frame is None:
            raise InputError("the run sent no control message", "none of its mechanisms has acted")
        begin, end = data.window_of(self._run, window)
        factor, unit = clock(end)
        width = max(1, (end - begin) // 100)
        counts = (
            frame.filter((pl.col("time_ps") >= begin) & (pl.col("time_ps") <= end))
            .group_by("kind", at=((pl.col("time_ps") - begin) // width))
            .len("messages")
            .collect()
            .with_columns(time=(begin + pl.col("at") * width) / factor)
            .sort("kind", "at")
        )
        kinds = counts["kind"].unique().sort().to_list()
        drawn: ChartType = (
            alt.Chart(counts)
            .mark_bar(color=INK, width=4)
            .encode(
                x=alt.X("time:Q", title=f"time ({unit})"),
                y=alt.Y("messages:Q", title="messages", axis=alt.Axis(tickMinStep=1, tickCount=4)),
                row=alt.Row("kind:N", title=None, sort=kinds),
                tooltip=["kind", "messages", alt.Tooltip("time", format=".6")],
            )
            .resolve_scale(y="independent")
            .properties(
                width=WIDTH,
                height=90,
                title=title("Control messages", f"sent in each {data.time_text(width)}"),
            )
        )
        return drawn


def _bucket(sizes: Sequence[str], number: int) -> str:
    if number == 0:
        return f"below {sizes[1]}" if len(sizes) > 1 else "all"
    if number + 1 == len(sizes):
        return f"from {sizes[number]}"
    return f"{sizes[number]} to {sizes[number + 1]}"
