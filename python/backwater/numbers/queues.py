"""Depths of switch queues from samples, and the time that they cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from backwater.numbers.rows import scan
from backwater.numbers.statistics import statistic
from backwater.numbers.units import time_ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.results import Run


def depths(run: Run, of: str) -> pl.Series:
    """Return all samples, ascending, in bytes, of the switch port with the greatest statistic `of`.

    A sample is the sum of a port's queues, 0 included. There is one every `output.interval`, from
    the start of the run to the end of the last flow, so all have the same weight. The result is
    empty if the run sampled no queues, or if more may have waited at a port that `output.nodes`
    leaves out.
    """
    output = run.scenario.get("output", {})
    if not output.get("queues") or output.get("interval") is None:
        return pl.Series(dtype=pl.Float64)
    interval, until = time_ps(output["interval"]), flows_end_ps(run)
    count = until // interval
    table, ports = scan(run, "series"), scan(run, "ports")
    if ports is None:
        return pl.zeros(count, pl.Float64, eager=True)
    switches = ports.filter(pl.col("tier") != "host")
    left_out = _most(switches, output.get("nodes") or [])
    if table is None:
        return pl.zeros(0 if left_out else count, pl.Float64, eager=True)
    found = (
        table.filter(pl.col("quantity") == "queue_bytes", pl.col("time_ps") <= until)
        .group_by("node", "port", "time_ps")
        .agg(pl.col("value").sum())
        .join(switches.select("node", "port"), on=["node", "port"], how="semi")
        .group_by("node", "port")
        .agg(pl.col("value").cast(pl.Float64))
        .collect()
    )

    def whole(values: pl.Series) -> pl.Series:
        return pl.concat([pl.zeros(count - values.len(), pl.Float64, eager=True), values.sort()])

    def size(values: pl.Series) -> float:
        return float(values.sum()) if of == "mean" else statistic(whole(values), of)

    greatest = whole(max(found["value"], key=size, default=pl.Series(dtype=pl.Float64)))
    # No statistic of a port exceeds the most that waited there.
    known = not left_out or (count > 0 and statistic(greatest, of) >= left_out)
    return greatest if known else pl.Series(dtype=pl.Float64)


def _most(ports: pl.LazyFrame, nodes: Sequence[str]) -> int:
    """Return the most bytes that waited for a port outside `nodes`; 0 if `nodes` is empty: all."""
    if not nodes:
        return 0
    rest = ports.filter(~pl.col("node").is_in(nodes)).select(pl.col("max_egress_bytes").max())
    return int(rest.collect().item() or 0)


def end_ps(run: Run) -> int:
    """Return the simulated time in ps at which a run ended; if killed, that of its last sample."""
    if "time_ps" in run.summary:
        return int(run.summary["time_ps"])
    frame = scan(run, "series")
    return 0 if frame is None else int(frame.select(pl.col("time_ps").max()).collect().item())


def flows_end_ps(run: Run) -> int:
    """Return when the last flow was complete, in ps; if any is not, when the run ended.

    A run may continue after its last flow until its timers have expired.
    """
    frame = scan(run, "flows")
    last = None
    if frame is not None:
        took = pl.coalesce("fct_last_ack_ps", "fct_last_byte_ps")
        ends = (pl.col("start_ps") + took).max()
        row = frame.select(last=ends, open=took.is_null().any()).collect().row(0)
        last = None if row[1] else row[0]
    return end_ps(run) if last is None else min(end_ps(run), int(last))
