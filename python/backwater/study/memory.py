"""Measures of a switch's memory in frames, as tests of hardware count them.

Frames of equal length arrive without a gap for a host that takes none, or few.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from backwater.numbers.pauses import REQUESTS
from backwater.numbers.units import BITS, PS_PER_S, size_bytes
from backwater.study.measures import NotThereError, Observed, Reading, kind

if TYPE_CHECKING:
    from collections.abc import Iterator


def _flow(run: Observed, group: str, flow: int) -> dict[str, Any]:
    """Return a row of the table `flows`, with the names of its hosts in a star."""
    wanted = (pc.field("group") == group) & (pc.field("flow_id") == flow)
    rows = run.run.flows.filter(wanted).to_pylist()
    if len(rows) != 1:
        raise NotThereError(f"group {group!r} has {len(rows)} flows {flow}")
    return rows[0] | {end: f"h{rows[0][end]}" for end in ("src", "dst")}


def _port(run: Observed, host: str) -> dict[str, Any]:
    """Return the switch's port to a host, a row of the table `ports`."""
    rows = run.run.ports.filter(pc.field("peer") == host).to_pylist()
    if len(rows) != 1:
        raise NotThereError(f"{len(rows)} ports lead to {host}")
    return rows[0]


def _frame_ps(run: Observed, host: str, rate_bps: int) -> Fraction:
    """Return the time that a data frame of a host takes on a link, with its gap."""
    sent = run.run.ports.filter(pc.field("node") == host).to_pylist()[0]
    size = Fraction(sent["tx_bytes"], sent["tx_frames"])
    gap = size_bytes(run.run.scenario["packet"]["gap"])
    return (size + gap) * Fraction(BITS * int(PS_PER_S), rate_bps)


def _pauses(run: Observed, port: dict[str, Any]) -> Iterator[tuple[int, bool]]:
    """Yield the time of each MAC control frame to a host, and whether it pauses."""
    frames = run.run.control.filter(
        (pc.field("kind") == REQUESTS)
        & (pc.field("node") == port["node"])
        & (pc.field("port") == port["port"])
    ).sort_by("time_ps")
    rows = frames.select(["time_ps", "value"]).to_pylist()
    return ((row["time_ps"], row["value"] > 0) for row in rows)


def _at_pause(run: Observed, flow: dict[str, Any]) -> int | None:
    """Return how many frames of a flow have arrived when its source is first paused."""
    port = _port(run, flow["src"])
    frame_ps = _frame_ps(run, flow["src"], port["rate_bps"])
    start = flow["start_ps"]
    first = next((time for time, pauses in _pauses(run, port) if pauses and time > start), None)
    return None if first is None else int((first - start) / frame_ps)


def _kept(run: Observed, flow: dict[str, Any]) -> int:
    """Return how many frames of a flow were not dropped for want of memory."""
    return int(flow["packets"]) - int(_port(run, flow["src"])["drop_frames"])


@kind("frames_at_pause", "frames", counts=True)
def frames_at_pause(run: Observed, group: str, flow: int) -> Reading:
    """Frames of a flow that have arrived when its source is first paused, the last one included."""
    found = _at_pause(run, _flow(run, group, flow))
    return Reading(found, None if found is not None else "its source is never paused")


@kind("first_drop", "frames", counts=True)
def first_drop(run: Observed, group: str, flow: int) -> Reading:
    """Number of a flow's first dropped frame, from 1, if nothing leaves the switch."""
    one = _flow(run, group, flow)
    kept = _kept(run, one)
    if kept == one["packets"]:
        return Reading(None, "none was dropped")
    return Reading(kept + 1)


@kind("headroom_frames", "frames", counts=True)
def headroom_frames(run: Observed, group: str, flows: list[int]) -> Reading:
    """Frames of some flows that are kept although their source was paused before."""
    total = 0
    for number in flows:
        one = _flow(run, group, number)
        paused = _at_pause(run, one)
        if paused is None:
            return Reading(None, "a source is never paused")
        total += _kept(run, one) - paused
    return Reading(total)


@kind("frames_until_resume", "frames", counts=True)
def frames_until_resume(run: Observed, group: str, flow: int) -> Reading:
    """Frames that leave for a flow's receiver from its first pause until that ends."""
    one = _flow(run, group, flow)
    frames = list(_pauses(run, _port(run, one["src"])))
    paused = next((time for time, pauses in frames if pauses), None)
    ended = next((time for time, pauses in frames if not pauses), None)
    if paused is None or ended is None:
        return Reading(None, "no pause began and ended")
    frame_ps = _frame_ps(run, one["src"], _port(run, one["dst"])["rate_bps"])
    return Reading(int((ended - paused) / frame_ps))
