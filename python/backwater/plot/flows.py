"""Charts of a run's flows: completion times as distributions and percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.numbers.statistics import quantile
from backwater.numbers.units import size_bytes
from backwater.plot import data
from backwater.plot.rows import RunRows
from backwater.plot.theme import APART, HEIGHT, WHOLE, WIDTH, colour, dash, shape, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair.typing import ChartType

UNTIL = {"last_ack": "last ACK", "last_byte": "last byte"}
ONLY = "only flow"
# Lower ends of the size buckets in the documents of mechanisms: small, medium, large messages.
BUCKETS = ("0 B", "10 KB", "1 MB")


class FlowPlots(RunRows):
    """Charts of a run's table of flows."""

    def completion(self, *groups: str, until: str = "last_ack") -> ChartType:
        """Draw the share of each group's flows that are complete within a time, in us.

        If a group has incomplete flows, its curve ends below 100 %. Marks are the median, the 90th
        percentile with 10 flows or more, and the 99th with 100 or more. They are of all flows, and
        left out if they fall on incomplete ones. A single flow has a mark and no curve. `until` is
        `last_ack` (at the sender) or `last_byte` (at the receiver, always if a run has no ACKs).
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
            mine = frame.filter(pl.col("group") == group)
            times, of = data.ordered(mine, column), mine.select(pl.len()).collect().item()
            counts[group] = data.complete(times.len(), of)
            if times.len() < 2:
                # The curve of one flow would be a vertical line.
                if times.len():
                    name = "the only flow" if of == 1 else "the only complete flow"
                    marks.append(_marked(group, [times[0]], [1 / of], [name]))
                continue
            values, shares = data.distribution(times, of)
            # The curve begins at 0 with the first completion.
            values, shares = [times[0], *values], [0.0, *shares]
            parts.append(pl.DataFrame({"group": group, "time": values, "share": shares}))
            at = {
                share: time
                for share in data.shares(of)
                if (time := data.reached(times, of, share)) is not None
            }
            names = [f"{100 * share:.0f} %" for share in at]
            marks.append(_marked(group, list(at.values()), list(at), names))
        if not marks:
            raise InputError(
                "no flow of the run is complete", "see `waits_for` in its table of flows"
            )
        us = pl.col("time") / 1e6
        spots = pl.concat(marks).with_columns(us)
        every = spots["time"].append(pl.concat(parts)["time"] / 1e6) if parts else spots["time"]
        wide = float(every.max()) > 20 * max(float(every.min()), 1e-9)  # type: ignore[arg-type]
        x = alt.X(
            "time:Q",
            title=f"completion time to the {UNTIL[until]} (us)",
            axis=APART,
            scale=alt.Scale(type="log") if wide else alt.Scale(zero=False, padding=12),
        )
        y = alt.Y("share:Q", title="share of flows", axis=alt.Axis(format="%"), scale=WHOLE)
        tips = [
            "group",
            alt.Tooltip("time", title="us", format=".6"),
            alt.Tooltip("share", format=".1%"),
        ]
        numbers = ", ".join(f"{name} {count}" for name, count in counts.items())
        layers = []
        if parts:
            line = alt.Chart(pl.concat(parts).with_columns(us)).mark_line(interpolate="step-after")
            dashes = dash("group", order)
            layers.append(
                line.encode(x=x, y=y, color=colour("group", order), strokeDash=dashes, tooltip=tips)
            )
        layers.append(
            alt.Chart(spots)
            .mark_point(filled=True, size=70, opacity=1)
            .encode(
                x=x,
                y=y,
                color=colour("group", order),
                shape=shape("group", order),
                tooltip=["mark", *tips],
            )
        )
        drawn = dict.fromkeys(spots.sort("share")["mark"])
        below = f"complete flows: {numbers}"
        if drawn:
            below += f"; marks: {', '.join(drawn)}"
        return alt.layer(*layers).properties(
            width=WIDTH, height=HEIGHT, title=title("Completion times", below)
        )

    def slowdown(self, *groups: str, sizes: Sequence[str] = BUCKETS) -> ChartType:
        """Draw percentiles of the slowdown, the time to the last byte over that in an idle network.

        A panel is a bucket of flow sizes; `sizes` are the lower ends of the buckets. The 90th
        percentile needs 10 flows of a group in a bucket, the 99th 100.
        """
        frame = self._lazy(*groups).filter(pl.col("slowdown").is_not_null())
        order = self._groups(*groups)
        least = [size_bytes(size, "sizes") for size in sizes]
        labels = [_bucket(sizes, i) for i in range(len(sizes))]
        names = [ONLY, *(f"p{round(100 * q)}" for q in data.SHARES)]
        found = []
        counts: dict[str, list[str]] = {}
        for group in order:
            own = frame.filter(pl.col("group") == group)
            for label, low, high in zip(labels, least, [*least[1:], 1 << 63], strict=True):
                inside = (pl.col("bytes") >= low) & (pl.col("bytes") < high)
                values = data.ordered(own.filter(inside), "slowdown")
                about = {"group": group, "size": label, "flows": values.len()}
                if not values.len():
                    continue
                counts.setdefault(label, []).append(f"{group} {values.len():,}")
                shares = data.shares(values.len())
                chosen = names[1 : 1 + len(shares)] if values.len() > 1 else [ONLY]
                at = zip(chosen, (quantile(values, share) for share in shares), strict=True)
                found += [about | {"percentile": name, "value": value} for name, value in at]
        if not found:
            raise InputError("no flow of the run is complete", "see `waits_for` of its flows")
        rows = pl.DataFrame(found)
        seen = set(rows["percentile"].to_list())
        names = [name for name in names if name in seen]
        below = [
            f"flows {label}: {', '.join(counts[label])}" for label in labels if label in counts
        ]
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
                # A single bucket is as wide as the title.
                width=max(150, 420 // len(counts)),
                height=HEIGHT,
                title=title("Slowdown: completion time over that in an idle network", *below),
            )
        )
        return drawn


def _marked(
    group: str, times: Sequence[float | None], shares: Sequence[float], names: Sequence[str]
) -> pl.DataFrame:
    """Return the marks of a group's completion times in ps."""
    about = {"group": group, "time": times, "share": shares, "mark": names}
    # A group of which less than half is complete has no marks: types must be given.
    kinds = {"group": pl.String, "time": pl.Float64, "share": pl.Float64, "mark": pl.String}
    return pl.DataFrame(about, schema_overrides=kinds)


def _bucket(sizes: Sequence[str], number: int) -> str:
    if number == 0:
        return f"below {sizes[1]}" if len(sizes) > 1 else "all"
    if number + 1 == len(sizes):
        return f"from {sizes[number]}"
    return f"{sizes[number]} to {sizes[number + 1]}"
