"""`pfc.txt`: a line for each MAC control frame, where and when it arrives.

    time_ns node node_type port type

The format is that of `get_pfc` in `scratch/third.cc` of HPCC's ns-3 code (at 9f4be2a): node type 0
is a host and 1 a switch, type 1 is a pause and 0 a resume, and the port is that of the node that is
paused. The table `control` has the time at which a node requested the frame. The frame arrives
after its serialisation and propagation. It also waits for the end of the frame that its port is
sending, which no table has.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from backwater.exporting.network import PS_PER_NS, Network
from backwater.exporting.ns3_flows import offset_ns
from backwater.exporting.rows import rows
from backwater.numbers.units import BITS, PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backwater.exporting import Options
    from backwater.exporting.place import Place
    from backwater.results import Run

TAKES = ("offset",)
FILES = ()

KIND = "mac-control"
FRAME_BYTES = 64
"""The length of a MAC control frame (IEEE 802.3 clause 31.4.1: the shortest)."""


def write(run: Run, place: Place, options: Options) -> list[str]:
    """Write the file."""
    offset = offset_ns(options)
    with place.text() as out:
        for time, node, is_switch, port, pauses in _arrivals(run):
            out.write(f"{offset + time // PS_PER_NS} {node} {is_switch} {port} {pauses}\n")
    return []


Arrival = tuple[int, int, int, int, int]
"""Time (ps), node, 1 for a switch, port, 1 for a pause."""


def _arrivals(run: Run) -> Iterator[Arrival]:
    """Yield arrivals in the order of time.

    The table is in the order in which frames were requested, and links differ in delay. So an
    arrival waits until no other one can precede it.
    """
    network = Network.of(run)
    ends = network.ends(run)
    delays = _delays(network, framed="ideal" not in _signals(run.scenario))
    least = min(delays, default=0)
    waiting: list[Arrival] = []
    for time, kind, name, port, value in rows(
        run, "control", ("time_ps", "kind", "node", "port", "value")
    ):
        if kind != KIND or port is None:
            continue
        while waiting and waiting[0][0] <= time + least:
            yield heapq.heappop(waiting)
        end = ends[name, port]
        arrival = (time + delays[end.link], end.node, int(not end.host), end.port, int(value > 0))
        heapq.heappush(waiting, arrival)
    while waiting:
        yield heapq.heappop(waiting)


def _delays(network: Network, *, framed: bool) -> list[int]:
    """Return the time on each link from the start of a frame to its arrival, in ps."""
    bits = (FRAME_BYTES + network.gap) * BITS if framed else 0
    clock = network.clock_ps
    sent = [bits * int(PS_PER_S) // rate // clock * clock for _, _, rate, _ in network.links]
    return [time + link[3] for time, link in zip(sent, network.links, strict=True)]


def _signals(scenario: dict[str, Any]) -> set[str]:
    """Return the values of `signal` in all tables of a scenario."""
    tables = (table for table in scenario.values() if isinstance(table, dict))
    return {table["signal"] for table in tables if "signal" in table}
