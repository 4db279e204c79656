"""The data of charts: columns of a run's tables, aggregated before they are drawn.

Tables are read lazily, and only the columns that a chart needs. So a run of ten million flows takes
a few hundred megabytes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from backwater.errors import InputError
from backwater.numbers.queues import end_ps, flows_end_ps
from backwater.numbers.rows import scan
from backwater.numbers.statistics import quantile
from backwater.numbers.units import BITS, PS_PER_S, size_bytes, time_ps, window_ps
from backwater.samples import has
from backwater.wording import three

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.results import Run

MOST_STEPS = 600
"""The most time steps in a chart; more are merged."""


def sampling_ps(run: Run) -> int | None:
    """Return the time between two samples of a run in ps; None if it took none."""
    interval = run.scenario.get("output", {}).get("interval")
    return None if interval is None else time_ps(interval)


def port_names(run: Run) -> pl.DataFrame:
    """Return all ports, named by node and peer: columns node, port, link, rate_bps, tier."""
    frame = scan(run, "ports")
    if frame is None:
        raise InputError("the run has no table of ports", "a killed run has none")
    ports = frame.select("node", "port", "peer", "rate_bps", "tier").collect()
    several = pl.len().over("node", "peer") > 1
    number = pl.format(" ({})", "port")
    name = pl.format("{} → {}", "node", "peer")
    return ports.with_columns(
        link=pl.when(several).then(pl.concat_str(name, number)).otherwise(name)
    )


def series(run: Run, quantity: str) -> pl.LazyFrame:
    """Return the samples of one quantity.

    Raises `InputError` with the keys that record it if the run did not sample this quantity.
    """
    if not recorded(run, quantity):
        raise _unsampled(quantity)
    return samples(run, quantity)


def samples(run: Run, quantity: str) -> pl.LazyFrame:
    """Return the samples of one quantity; the result is empty if only others were sampled.

    Raises `InputError` with the keys that record it if the run has no samples at all.
    """
    frame = scan(run, "series")
    if frame is None:
        raise _unsampled(quantity)
    return frame.filter(pl.col("quantity") == quantity)


def received(run: Run, flows: pl.LazyFrame, interval: int) -> pl.LazyFrame:
    """Return the bytes that flows received between two samples: columns line, time_ps, new.

    `flows` are rows of the table with a column `line`, by which flows are summed. `time_ps` is that
    of the later sample.
    """
    sampled = series(run, "flow_received_bytes").select(
        flow_id="flow", time_ps=pl.col("time_ps").cast(pl.Int64), got="value"
    )
    up = ((pl.col("time_ps") + interval - 1) // interval) * interval
    by = ["line", up.alias("time_ps")]
    new = pl.col("got").diff().over("flow_id").fill_null(pl.col("got"))
    between = (
        sampled.sort("flow_id", "time_ps")
        .with_columns(new=new)
        .join(flows.select("flow_id", "line"), on="flow_id")
        .group_by(by)
        .agg(pl.col("new").sum().cast(pl.Int64))
    )
    # What a flow received after its last sample is only in its own row.
    last = sampled.group_by("flow_id").agg(pl.col("got").max())
    ended = pl.col("start_ps").cast(pl.Int64) + pl.col("fct_last_byte_ps").cast(pl.Int64)
    rest = pl.col("received").cast(pl.Int64) - pl.col("got").cast(pl.Int64).fill_null(0)
    after = (
        flows.filter(pl.col("fct_last_byte_ps").is_not_null())
        .join(last, on="flow_id", how="left")
        .select("line", time_ps=ended, new=rest)
        .group_by(by)
        .agg(pl.col("new").sum())
    )
    return pl.concat([between, after])


def _unsampled(quantity: str) -> InputError:
    return InputError(f"the run has no samples of {quantity}", f"run it with {sampling(quantity)}")


KEYS = {
    "queue_bytes": "queues",
    "sent_bytes": "links",
    "paused": "pauses",
    "flow_received_bytes": "flows",
    "flow_rate_bps": "flows",
}


def sampling(quantity: str) -> str:
    """Return the options with which a run samples a quantity."""
    return f'--set "output.interval=1 us" --set output.{KEYS[quantity]}=true'


def window_of(run: Run, window: Sequence[str] | None) -> tuple[int, int]:
    """Return begin and end in ps of a window; by default, it lasts until all flows are complete."""
    if window is not None:
        begin, end = window_ps(window)
        return begin, min(end, max(end_ps(run), begin + 1))
    return 0, flows_end_ps(run)


def grid(begin: int, end: int, interval: int, most: int) -> tuple[pl.DataFrame, int]:
    """Return the sampling times within a window, in at most `most` steps, and samples per step.

    The column `time_ps` is a sample's time, and `step` the start of its step.
    """
    first = begin // interval + 1
    times = pl.DataFrame({"time_ps": pl.int_range(first, end // interval + 1, eager=True)})
    together = max(1, -(-times.height // most))
    index = (pl.col("time_ps") - first) // together
    return (
        times.with_columns(
            time_ps=pl.col("time_ps") * interval,
            step=(first - 1 + index * together) * interval,
        ),
        together,
    )


SAMPLED: dict[str, str | bool] = {
    "output.interval": "1 us",
    **{f"output.{key}": True for key in ("queues", "links", "pauses", "flows")},
}
"""Values with which a run samples everything that reports draw."""
EVERYTHING = " ".join(
    f"--set {key}=true" if value is True else f'--set "{key}={value}"'
    for key, value in SAMPLED.items()
)
"""The same as options."""


def recorded(run: Run, quantity: str) -> bool:
    """Whether a run sampled a quantity. Its rows do not show that: samples of 0 have none."""
    output = run.scenario.get("output", {})
    return "interval" in output and bool(output.get(KEYS[quantity]))


def ordered(frame: pl.LazyFrame, column: str) -> pl.Series:
    """Return the sorted values of a column, without nulls."""
    values = frame.select(pl.col(column).drop_nulls().cast(pl.Float64)).collect(engine="streaming")
    return values.to_series().sort()


MOST_POINTS = 400
"""The most steps of a distribution in a chart."""


def distribution(values: pl.Series, of: int) -> tuple[list[float | None], list[float]]:
    """Return sorted values and the share of `of` up to each: all of few values, quantiles of many.

    If `of` exceeds the number of values, since some are unknown, the shares end below 1.
    """
    count = values.len()
    if count <= MOST_POINTS + 1:
        return values.to_list(), [(i + 1) / of for i in range(count)]
    shares = [i / MOST_POINTS for i in range(MOST_POINTS + 1)]
    return [quantile(values, share) for share in shares], [one * count / of for one in shares]


def reached(values: pl.Series, of: int, share: float) -> float | None:
    """Return the quantile of a share of `of`, where missing values count as the greatest.

    None if the quantile is among the missing ones.
    """
    place = share * (of - 1)
    if math.ceil(place) >= values.len():
        return None
    return quantile(values, place / (values.len() - 1)) if values.len() > 1 else float(values[0])


def complete(count: int, of: int) -> str:
    """Return the number of complete ones as text, with the total if that is more."""
    return f"{count:,}" if count == of else f"{count:,} of {of:,}"


PACKETS = 20
"""With so many packets per time step at the rate of a host, one more or less matters little."""


def coarse(run: Run, step_ps: float) -> str | None:
    """Return a warning if so few packets pass in a time step that one more changes the rate.

    The step in which a packet counts depends on when samples are taken.
    """
    frame = scan(run, "ports")
    if frame is None:
        return None
    fastest = frame.filter(pl.col("tier") == "host").select(pl.col("rate_bps").max())
    rate = fastest.collect().item()
    payload = run.scenario.get("packet", {}).get("payload")
    if not rate or payload is None:
        return None
    packets = rate * step_ps / (BITS * PS_PER_S * size_bytes(payload, "packet.payload"))
    if packets >= PACKETS:
        return None
    return (
        f"{three(packets)} packets of {payload} in that time at {rate / 1e9:g} Gb/s, and one more "
        "or less, depending on when samples are taken"
    )


SHARES = (0.5, 0.9, 0.99)
"""The percentiles that charts mark."""


def shares(count: int) -> list[float]:
    """Return those of SHARES for which so many values suffice: the 99th percentile needs 100."""
    return [share for share in SHARES if has(share, count)]
