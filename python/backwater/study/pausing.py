"""Measures of pause frames, of the time that they request, of loss and of deadlocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from backwater.errors import InputError
from backwater.numbers.pauses import REQUESTS, requested_ps
from backwater.numbers.units import PS_PER_MS, time_ps
from backwater.study.measures import NotThereError, Observed, Reading, count_of, kind

if TYPE_CHECKING:
    from collections.abc import Sequence


def _frames(
    run: Observed,
    classes: Sequence[int] | None,
    after: str | None,
    before: str | None,
    to: str | None = None,
) -> pa.Table:
    """Return the MAC control frames of some classes from `after` on and before `before`, by time.

    `to` selects frames to `hosts` or to `switches`.
    """
    wanted = pc.field("kind") == REQUESTS
    if classes is not None:
        wanted &= pc.field("class").isin(list(classes))
    if after is not None:
        wanted &= pc.field("time_ps") >= time_ps(after)
    if before is not None:
        wanted &= pc.field("time_ps") < time_ps(before)
    frames = run.run.control.filter(wanted).sort_by("time_ps")
    if to is None:
        return frames
    if to not in ("hosts", "switches"):
        raise InputError(f"frames to {to!r}", "they are to hosts or to switches")
    to_hosts = pc.is_in(_names(frames), value_set=_ports_to_hosts(run))
    return frames.filter(to_hosts if to == "hosts" else pc.invert(to_hosts))


def _names(table: pa.Table) -> pa.StringArray:
    """Return the port of each row, as in "leaf0:3"."""
    rows = zip(table["node"].to_pylist(), table["port"].to_pylist(), strict=True)
    return pa.array([f"{node}:{port}" for node, port in rows], pa.string())


def _ports_to_hosts(run: Observed) -> pa.StringArray:
    """Return the names of the ports whose links lead to hosts."""
    ports = run.run.ports
    hosts = pc.unique(ports.filter(pc.field("tier") == "host")["node"])
    return _names(ports.filter(pc.is_in(ports["peer"], value_set=hosts)))


def _hosts(run: Observed) -> int:
    """Return the number of hosts; raises `NotThereError` for a run without a table of ports."""
    ports = run.run.ports
    hosts: int = pc.count_distinct(ports.filter(pc.field("tier") == "host")["node"]).as_py()
    if hosts == 0:
        raise NotThereError("the run has no table of ports")
    return hosts


@kind("pause_frames", "frames", counts=True)
def pause_frames(
    run: Observed,
    classes: Sequence[int] | None = None,
    after: str | None = None,
    before: str | None = None,
    to: str | None = None,
) -> Reading:
    """Frames that requested a neighbour to pause some classes, including repetitions.

    `to` selects requests to `hosts`, or to `switches`, which is congestion spreading.
    """
    frames = _frames(run, classes, after, before, to)
    return Reading(frames.filter(pc.field("value") > 0).num_rows)


@kind("pause_frames_per_host", "frames/host")
def pause_frames_per_host(run: Observed, before: str | None = None) -> Reading:
    """Frames that requested a neighbour to pause, divided by the number of hosts."""
    frames = _frames(run, None, None, before)
    return Reading(frames.filter(pc.field("value") > 0).num_rows / _hosts(run))


@kind("victims_per_host", "flows/host")
def victims_per_host(run: Observed, group: str) -> Reading:
    """Flows of a group that a pause delayed, divided by the number of hosts.

    A delayed flow has a wait for a paused port on its critical path. Needs `output.waits`.
    """
    if group not in run.run.scenario["output"]["waits"]:
        raise NotThereError(f"the scenario has no output.waits of {group!r}")
    paused = (pc.field("group") == group) & (pc.field("cause") == "paused")
    victims = pc.count_distinct(run.run.waits.filter(paused)["flow_id"]).as_py()
    return Reading(victims / _hosts(run))


@kind("pause_time", "ms")
def pause_time(
    run: Observed,
    classes: Sequence[int] | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Reading:
    """Time from the first frame that requested a pause to the frame that ended it, in ms.

    The times of all ports and classes add up. A pause that has not ended by `before` lasts until
    then. A pause that began before `after` counts from `after` on.
    """
    columns = ["time_ps", "node", "port", "class", "value"]
    frames = _frames(run, classes, None, before).select(columns).to_pydict()
    start = 0 if after is None else time_ps(after)
    end = run.end_ps if before is None else min(run.end_ps, time_ps(before))
    requests = zip(*(frames[name] for name in columns), strict=True)
    return Reading(requested_ps(requests, start, end) / PS_PER_MS)


@kind("loss_rate", "%")
def loss_rate(run: Observed) -> Reading:
    """Frames lost for want of memory, in % of the data frames that hosts sent."""
    ports = run.run.ports
    if ports.num_rows == 0:
        raise NotThereError("the run has no table of ports")
    sent = pc.sum(ports.filter(pc.field("tier") == "host")["tx_data_frames"]).as_py() or 0
    if sent == 0:
        return Reading(None, "no host sent a data frame")
    return Reading(100 * (pc.sum(ports["drop_frames"]).as_py() or 0) / sent)


@kind("deadlocks", "", counts=True)
def deadlocks(run: Observed) -> Reading:
    """1 if pauses of switches waited for each other in a cycle, 0 if they never did."""
    return count_of(run, "deadlocks")
