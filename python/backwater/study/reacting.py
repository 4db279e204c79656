"""Measures of how soon senders react, to congestion and to failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from backwater.numbers.units import BITS, PS_PER_S, PS_PER_US, time_ps, window_ps
from backwater.study.measures import Observed, Reading, kind, statistic_of

if TYPE_CHECKING:
    from collections.abc import Sequence


@kind("reaction", "us")
def reaction(
    run: Observed, node: str, to: str, window: Sequence[str], below: float = 0.9
) -> Reading:
    """Time of day at which a host that sent at its full rate first sends less, in us.

    It is the end of the first sampling interval of the window in which the port from `node` to
    another node sent less than the share `below` of what it can. Needs `output.links`; the window
    is a whole number of `output.interval`.
    """
    port, bps = run.port(node, to)
    steps = run.steps(window)
    begin, _ = window_ps(window)
    sent = dict(run.over("sent_bytes", node, port, window))
    enough = below * bps * run.sampling_ps
    for end in (begin + step * run.sampling_ps for step in range(1, steps + 1)):
        if BITS * PS_PER_S * sent.get(end, 0) < enough:
            return Reading(end / PS_PER_US)
    return Reading(None, f"{node} sent at its full rate from {window[0]} to {window[1]}")


@kind("first_messages", "us")
def first_messages(run: Observed, message: str, since: str, of: str = "median") -> Reading:
    """Statistic of the times after `since` at which messages of a kind were first sent, in us.

    A message is the first of its sender, its receiver and its value. None before `since` counts.
    """
    begin = time_ps(since, "since")
    sent = run.run.control.filter(pc.field("kind") == message)
    first = sent.group_by(["node", "to", "value"]).aggregate([("time_ps", "min")])
    whole = (time for time in first["time_ps_min"].to_pylist() if time is not None)
    times = [time - begin for time in whole if time >= begin]
    if not times:
        return Reading(None, f"no {message} was sent after {since}")
    return Reading(statistic_of(times, of) / PS_PER_US)
