"""The data of a run's charts, and samples drawn as lines over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.numbers.rows import scan
from backwater.plot import data
from backwater.plot.theme import COLOURS, HEIGHT, WIDTH, clock, colour, dash, of, title
from backwater.wording import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair.typing import ChartType

    from backwater.results import Run

# A rate is a mean over a time step, and needs many packets in it. So steps are few.
RATE_STEPS = 90
CAPPED = 24
"""The most ports, links or flows in a chart."""


class RunRows:
    """The flows, links and samples of a run for its charts."""

    def __init__(self, run: Run, whole: tuple[int, int] | None = None) -> None:
        """Take a run; `whole` is the range of time axes in ps, by default the window drawn."""
        self._run = run
        self._whole = whole

    def _clock(self, begin_ps: int, end_ps: int) -> tuple[alt.Scale, float, str]:
        """Return the time scale, its unit in ps, and the name of the unit."""
        low, high = self._whole or (begin_ps, end_ps)
        factor, unit = clock(high)
        return alt.Scale(domain=[low / factor, high / factor], nice=False), factor, unit

    def _interval(self) -> int:
        interval = data.sampling_ps(self._run)
        if interval is None:
            raise InputError(
                "the run took no samples", f"run it with {data.sampling('queue_bytes')}"
            )
        return interval

    def _lazy(self, *groups: str) -> pl.LazyFrame:
        frame = scan(self._run, "flows")
        if frame is None:
            raise InputError("the run has no flows", "it ended before one was complete")
        return frame.filter(pl.col("group").is_in(groups)) if groups else frame

    def _groups(self, *groups: str) -> list[str]:
        """Return the groups in the order of the scenario, which is that of flow numbers."""
        frame = self._lazy(*groups).group_by("group").agg(pl.col("flow_id").min())
        found: list[str] = frame.sort("flow_id").collect()["group"].to_list()
        missing = [group for group in groups if group not in found]
        if missing:
            raise InputError(
                f"there is no flow in group {missing[0]!r}",
                f"there are {', '.join(self._groups())}",
            )
        return found

    def _first_flows(self, *groups: str) -> pl.DataFrame:
        """Name the first flows of the groups, at most `CAPPED`: columns flow_id, line."""
        first = self._lazy(*groups).select("flow_id", "group").bottom_k(CAPPED, by="flow_id")
        number = pl.col("flow_id").rank("dense").over("group")
        return (
            first.sort("flow_id")
            .select("flow_id", line=pl.format("{} {}", "group", number))
            .collect(engine="streaming")
        )

    def _links(
        self, wanted: Sequence[str], values: pl.DataFrame, names: pl.DataFrame, most: int
    ) -> list[str]:
        """Return the requested links, or those with the greatest values."""
        known = set(names["link"].to_list())
        if wanted:
            links = [
                link.replace("->", "→").replace(" ", "").replace("→", " → ") for link in wanted
            ]
            for link in links:
                if link not in known:
                    raise InputError(
                        f"no port leads {link}",
                        "write NODE → PEER, as in the table of ports",
                    )
            return links
        peak = values.group_by("link").agg(pl.col("value").max())
        found: list[str] = (
            peak.sort("value", "link", descending=[True, False]).head(most)["link"].to_list()
        )
        return found

    def _over_time(
        self,
        values: pl.DataFrame,
        lines: list[str],
        window: Sequence[str] | None,
        factor: float,
        axis: str,
        head: alt.TitleParams,
        most: int = data.MOST_STEPS,
    ) -> ChartType:
        """Draw samples as lines; a missing sample is 0."""
        interval = self._interval()
        begin, end = data.window_of(self._run, window)
        times, together = data.grid(begin, end, interval, most)
        if times.is_empty() or not lines:
            raise InputError(
                f"none of the samples, taken every {time_text(interval)}, found anything to draw",
                "a shorter output.interval finds more",
            )
        time, unit_ps, unit = self._clock(begin, end)
        full = (
            times.join(pl.DataFrame({"link": lines}), how="cross")
            .join(values, on=["time_ps", "link"], how="left")
            .with_columns(pl.col("value").fill_null(0) * factor)
            .group_by("link", "step")
            .agg(
                value=pl.col("value").mean(), low=pl.col("value").min(), high=pl.col("value").max()
            )
            .with_columns(time=(pl.col("step") + together * interval / 2) / unit_ps)
            .sort("link", "step")
            .select("link", "time", "value", "low", "high")
        )
        x = alt.X("time:Q", title=f"time ({unit})", scale=time)
        tips = [
            "link",
            alt.Tooltip("time", format=".6"),
            alt.Tooltip("value", title=axis, format=".4"),
        ]
        banded = together > 1 and most != RATE_STEPS
        if banded:
            shades = [of(line, COLOURS, lines) for line in lines]
            shade = pl.col("link").replace_strict(lines, shades, return_dtype=pl.String)
            full = full.with_columns(shade=shade)
        base = alt.Chart(full).encode(x=x)
        line = base.mark_line(strokeWidth=1.6).encode(
            color=colour("link", lines),
            y=alt.Y("value:Q", title=axis),
            strokeDash=dash("link", lines),
            tooltip=tips,
        )
        said, further = f"sampled every {time_text(interval)}", None
        layers: list[Any] = [line]
        if most == RATE_STEPS:
            step = together * interval
            said += f"; mean over {time_text(step)}, shorter bursts are averaged out"
            further = data.coarse(self._run, step)
        elif banded:
            # Without a scale: otherwise the legend shows pale patches instead of dashes.
            band = base.mark_area(opacity=0.22).encode(
                y="low:Q", y2="high:Q", fill=alt.Fill("shade:N", scale=None), detail="link:N"
            )
            layers = [band, line]
            said += f"; line: mean over {time_text(together * interval)}, band: least to greatest"
        before = head.subtitle if isinstance(head.subtitle, list) else []
        below = [*before, said, *([further] if further else [])]
        return alt.layer(*layers).properties(
            width=WIDTH, height=HEIGHT, title=title(str(head.text), *below)
        )
