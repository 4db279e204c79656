"""Measures of open-loop traffic: messages by size, and where a network pauses whom.

A message is a flow of a group. Those that start before `after` are the warm-up and are left out:
they met a network that was emptier than the one that is asked about.
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

# How many messages must lie beyond a percentile for it to say something.
BEYOND = 5


def chosen(
    run: Observed,
    group: str,
    sizes: Sequence[str] | None,
    after: str | None,
    before: str | None = None,
) -> pa.Table:
    """Give the messages of a group from the first size on, and below the second if there is one.

    Of those only what starts from `after` on, and before `before`.
    """
    wanted = pc.field("group") == group
    if after is not None:
        wanted &= pc.field("start_ps") >= time_ps(after)
    if before is not None:
        wanted &= pc.field("start_ps") < time_ps(before)
    if sizes is not None:
        if not 1 <= len(sizes) <= 2:
            hint = 'they are ["LEAST"] or ["LEAST", "BELOW"]'
            raise InputError(f"{list(sizes)} are no sizes", hint)
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
) -> Reading:
    """Completion times of a group's messages of some sizes, in us.

    `unfinished` says what is read where some are not complete at the end of the run: `none`,
    nothing; `age`, they count with the time that they have taken so far, so that the reading is a
    lower bound. A percentile needs five messages beyond it.
    """
    if unfinished not in ("none", "age"):
        raise InputError(f"message_time: unfinished = {unfinished!r}", "it is none or age")
    found = chosen(run, group, sizes, after, before)
    times = found[f"fct_{until}_ps"]
    if times.null_count and unfinished == "age":
        ages = pc.subtract(pa.scalar(run.end_ps, times.type), found["start_ps"].cast(times.type))
        times = pc.coalesce(times, ages)
    if times.null_count:
        return Reading(None, f"{times.null_count} of {len(times)} {group} messages not complete")
    share = share_of(of)
    least = 1 if share is None else needed(share, BEYOND)
    if len(times) < least:
        return Reading(None, f"{of} of {len(times)} messages; it takes {least}")
    # A series, without a Python number for each of a million messages until it is asked for.
    return Reading(statistic_of(pl.Series(times) / PS_PER_US, of))


@kind("messages", "messages", None, counts=True)
def messages(
    run: Observed,
    group: str,
    sizes: Sequence[str] | None = None,
    after: str | None = None,
    before: str | None = None,
    state: str | None = None,
) -> Reading:
    """How many messages of some sizes a group has, or has in a state, such as `unfinished`."""
    found = chosen(run, group, sizes, after, before)
    if state is not None:
        found = found.filter(pc.field("state") == state)
    return Reading(found.num_rows)


@kind("held", "KB")
def held(run: Observed, tier: str, of: str = "p99.9") -> Reading:
    """What one switch of a tier let wait in isolation queues, at the switch with most of it, in KB.

    Weighted by time over the whole run: mean, p99, p99.9, max.
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
    """Pauses that were obeyed: by `hosts`, or by `switches`, which is congestion spreading."""
    if at not in ("hosts", "switches"):
        raise InputError(f"pauses at {at!r}", "they are obeyed by hosts or by switches")
    ports = run.run.ports
    if ports.num_rows == 0:
        raise NotThereError("the run has no table of ports")
    is_host = pc.field("tier") == "host"
    obeying = ports.filter(is_host if at == "hosts" else ~is_host)
    return Reading(int(pc.sum(obeying["pauses_received"]).as_py() or 0))
