"""Measures of open-loop traffic: messages by size, isolation queues, and pauses by tier.

A message is a flow of a group. Messages that start before `after` are left out as warm-up, since
they meet an emptier network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from backwater.errors import InputError
from backwater.numbers.units import PS_PER_US, size_bytes, time_ps
from backwater.samples import needed, share_of
from backwater.study.measures import NotThereError, Observed, Reading, kind, statistic_of

if TYPE_CHECKING:
    from collections.abc import Sequence

# Messages that must lie beyond a percentile for a reading.
BEYOND = 5


def chosen(
    run: Observed,
    group: str,
    sizes: Sequence[str] | None,
    after: str | None,
    before: str | None = None,
) -> pa.Table:
    """Return the messages of a group that start from `after` on and before `before`.

    `sizes` is the least size and, if two are given, the size that all messages stay below. Raises
    `InputError` for any other number of sizes.
    """
    wanted = pc.field("group") == group
    if after is not None:
        wanted &= pc.field("start_ps") >= time_ps(after)
    if before is not None:
        wanted &= pc.field("start_ps") < time_ps(before)
    if sizes is not None:
        if not 1 <= len(sizes) <= 2:
            hint = 'sizes are ["LEAST"] or ["LEAST", "BELOW"]'
            raise InputError(f"sizes = {list(sizes)}", hint)
        least, *below = (size_bytes(size, "sizes") for size in sizes)
        wanted &= pc.field("bytes") >= least
        if below:
            wanted &= pc.field("bytes") < below[0]
    return run.completions.filter(wanted)


@kind("message_time", "us")
def message_time(
    run: Observed,
    group: str,
    sizes: Sequence[str] | None = None,
    after: str | None = None,
    before: str | None = None,
    of: str = "mean",
    until: str = "last_ack",
    unfinished: str = "none",
    each: bool = False,
) -> Reading:
    """Completion times of a group's messages of some sizes, in us.

    If messages are not complete at the end of the run, `unfinished` decides: with `none` the
    reading has no value; with `age` they count with their time so far, and the reading is a lower
    bound; with `omit` only complete ones count. A percentile needs five messages beyond it. With
    `each` the reading also has the time of every message that counts.
    """
    if unfinished not in ("none", "age", "omit"):
        raise InputError(f"message_time: unfinished = {unfinished!r}", "it is none, age or omit")
    found = chosen(run, group, sizes, after, before)
    times_of = f"fct_{until}_ps"
    times = found[times_of]
    if times.null_count and unfinished == "age":
        ages = pc.subtract(pa.scalar(run.end_ps, times.type), found["start_ps"].cast(times.type))
        times = pc.coalesce(times, ages)
    if times.null_count and unfinished == "omit":
        found = found.filter(pc.is_valid(times))
        times = found[times_of]
    if times.null_count:
        return Reading(None, f"{times.null_count} of {len(times)} {group} messages not complete")
    share = share_of(of)
    least = 1 if share is None else needed(share, BEYOND)
    if len(times) < least:
        return Reading(None, f"{of} of {len(times)} messages; it takes {least}")
    # A series spares a Python number for each of a million messages.
    took = pl.Series(times) / PS_PER_US
    flows = zip(pl.Series(found["flow_id"]), took, strict=True) if each else ()
    return Reading(statistic_of(took, of), each=tuple(flows))


@kind("messages", "messages", None, counts=True)
def messages(
    run: Observed,
    group: str,
    sizes: Sequence[str] | None = None,
    after: str | None = None,
    before: str | None = None,
    state: str | None = None,
) -> Reading:
    """Number of a group's messages of some sizes, of all or in one state, such as `unfinished`."""
    found = chosen(run, group, sizes, after, before)
    if state is not None:
        found = found.filter(pc.field("state") == state)
    return Reading(found.num_rows)


@kind("held", "KB")
def held(run: Observed, tier: str, of: str = "p99.9") -> Reading:
    """Bytes in isolation queues of one switch, at the switch of a tier with most of them, in KB.

    `of` is mean, p99, p99.9 or max, weighted by time over the whole run.
    """
    columns = {"mean": "mean", "p99": "p99", "p99.9": "p999", "max": "max"}
    if of not in columns:
        raise InputError(f"held: of = {of!r}", f"there are {', '.join(columns)}")
    switches = run.run.switches.filter(pc.field("tier") == tier)
    if switches.num_rows == 0:
        raise NotThereError(f"there is no switch of tier {tier!r}")
    most = pc.max(switches[f"held_{columns[of]}_bytes"]).as_py()
    return Reading(float(most or 0) / 1e3)


@kind("pauses", "pauses", counts=True)
def pauses(run: Observed, at: str) -> Reading:
    """Pauses that were obeyed by `hosts`, or by `switches`, which is congestion spreading."""
    if at not in ("hosts", "switches"):
        raise InputError(f"pauses at {at!r}", "they are obeyed by hosts or by switches")
    ports = run.run.ports
    if ports.num_rows == 0:
        raise NotThereError("the run has no table of ports")
    is_host = pc.field("tier") == "host"
    obeying = ports.filter(is_host if at == "hosts" else ~is_host)
    return Reading(int(pc.sum(obeying["pauses_received"]).as_py() or 0))
