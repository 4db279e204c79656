"""Shared parts of the tests against HPCC's ns-3 code: its networks, controls and cases.

The numbers of those tests were measured with that code (alibaba-edu/High-Precision-Congestion-
Control, commit 9f4be2a; ns-3, GPL-2.0). Topologies and flows were written for these tests, which
contain none of the program's text. Links have 1 us and, except a trunk, 100 Gb/s; packets carry
1000 B.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import backwater

INTERVAL_PS = 1_000_000


@dataclass(frozen=True)
class Outcome:
    """The results of a run.

    `mean` and `last`: when flows got their last acknowledgement, in us. `peak` and `queue`: the
    longest queue of the case's port, and its mean from the first byte that waited to the last, in
    bytes.
    """

    mean: float
    last: float
    peak: float
    queue: float


@dataclass(frozen=True)
class Network:
    """A topology, the base round trip of all its flows, and the memory of a switch in MiB."""

    topology: dict[str, Any]
    base_rtt: str
    memory: int = 32
    # Memory, headroom and share of the pause threshold of switches with a port at 400 Gb/s.
    switch: tuple[dict[str, Any], ...] = ()
    pfc: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Case:
    """Flows in a network, and the port (switch, number) at which they meet."""

    network: Network
    flows: tuple[dict[str, Any], ...]
    port: tuple[str, int]


STAR = Network({"kind": "star", "hosts": 16}, "4160 ns")
_DUMBBELL = {"kind": "dumbbell", "left_hosts": 8, "right_hosts": 8}
DUMBBELL = Network(_DUMBBELL, "6240 ns")
LEAF_SPINE = Network(
    {"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 4}, "8320 ns"
)


def wide_trunk(memory: int) -> Network:
    """Return the dumbbell with 400 Gb/s between its switches, which have `memory` MiB.

    That code gives a port at 400 Gb/s 150 KB of headroom and half of the free memory, and ports at
    100 Gb/s 37.5 KB and an eighth. Here a switch gives the same to all its ports: those of the
    ports at which data arrive, eight narrow ones at the left and the wide one at the right. The
    memory makes up for the difference at the other ports.
    """
    total = memory * 2**20 + _RESERVED
    left = {"node": "left", "buffer": f"{total - 112_500} B"}
    right = {
        "node": "right",
        "buffer": f"{total + 8 * 112_500} B",
        "headroom": "150 KB",
        "headroom_above": 0.5,
    }
    topology = {**_DUMBBELL, "trunk_rate": "400 Gb/s"}
    return Network(topology, "6180 ns", memory, (left, right), ({"node": "right", "alpha": 0.5},))


# That code reserves 4096 B for each of nine ports, not for each of their eight classes.
_RESERVED = 7 * 9 * 4096


def incast(network: Network, senders: range, size: int, ways: str = "", back: str = "") -> Case:
    """Return flows of `size` bytes into h0, 13 ns apart.

    A character for each flow is the spine on its path (`ways`) and on that of its acknowledgements
    (`back`); `-` is none.
    """
    flows = [flow(sender, 0, size, 13 * (sender - senders.start)) for sender in senders]
    if ways:
        flows = [{**one, **pinned(one, *two)} for one, *two in zip(flows, ways, back, strict=True)]
    return Case(network, tuple(flows), ("leaf0" if ways else "s0", 0))


def one_by_one(network: Network, senders: int, receiver: int, port: tuple[str, int]) -> Case:
    """Return flows of 5 MB from successive hosts, 50 us apart."""
    first = 1 if receiver == 0 else 0
    row = range(first, first + senders)
    flows = [flow(sender, receiver, 5_000_000, 50_000 * at) for at, sender in enumerate(row)]
    return Case(network, tuple(flows), port)


def victim(memory: int) -> Case:
    """Return four flows into h8, and 20 us later one into h9 that shares only the trunk."""
    flows = [flow(sender, 8, 2_000_000, 13 * sender) for sender in range(4)]
    return Case(wide_trunk(memory), (*flows, flow(4, 9, 2_000_000, 20_000)), ("right", 0))


def mixed() -> Case:
    """Return 80 flows of 1 KB to 2 MB, a third of them into h0 (`ns3_mixed.csv`)."""
    with (Path(__file__).parent / "ns3_mixed.csv").open(newline="") as rows:
        flows = [
            {**one, **pinned(one, row["way"], row["back"])}
            for row in csv.DictReader(rows)
            for one in [flow(*(int(row[key]) for key in ("from", "to", "size", "start_ns")))]
        ]
    return Case(LEAF_SPINE, tuple(flows), ("leaf0", 0))


def flow(sender: int, receiver: int, size: int, start: int) -> dict[str, Any]:
    """Return a flow of `size` bytes that starts at `start` ns."""
    return {"from": f"h{sender}", "to": f"h{receiver}", "size": f"{size} B", "start": f"{start} ns"}


def pinned(flow: dict[str, Any], way: str, back: str) -> dict[str, Any]:
    """Return the keys that pin a flow, and its acknowledgements, to these spines."""
    source, destination = (int(flow[key][1:]) for key in ("from", "to"))
    ends = [f"h{source}", f"leaf{source // 4}"], [f"leaf{destination // 4}", f"h{destination}"]

    def nodes(spine: str) -> list[str]:
        there = [f"spine{spine}"] if spine != "-" else []
        return ends[0] + (there + ends[1] if there else ends[1][1:])

    return {"path": nodes(way), "ack_path": nodes(back)[::-1]}


def control(name: str, network: Network) -> dict[str, Any]:
    """Return the tables of a control with that code's parameters and sizes of frames.

    The controls themselves add HPCC's telemetry and PINT's load. TIMELY's time stamp has 8 B.
    """
    rtt = network.base_rtt
    if name.startswith("hpcc"):
        hpcc: dict[str, Any] = {"preset": "ns3-hpcc", "base_rtt": rtt}
        hpcc |= {"max_stage": 5} if name == "hpcc, 5 stages" else {}
        hpcc |= {"int_multi": 4} if name != "hpcc, to the byte" else {}
        return {"hpcc": hpcc, "ack": {"size": "46 B"}}
    if name == "pint":
        return {"hpcc": {"preset": "ns3-pint", "base_rtt": rtt}, "ack": {"size": "58 B"}}
    if name == "timely":
        return {"timely": {"preset": "ns3-hpcc"}, "header": "56 B", "ack": {"size": "60 B"}}
    ecn: dict[str, Any] = {"reference_rate": "100 Gb/s"}
    if name == "dcqcn":
        ecn |= {"kmin": "400 KB", "kmax": "1600 KB", "pmax": 0.2}
        return {"dcqcn": {"preset": "ns3-hpcc"}, "ecn": ecn, "ack": {"size": "60 B"}}
    k = "30 KB" if name == "dctcp, K 30 KB" else "300 KB"
    ecn |= {"kmin": k, "kmax": k}
    return {"dctcp": {"preset": "ns3-hpcc", "base_rtt": rtt}, "ecn": ecn, "ack": {"size": "60 B"}}


def scenario(case: Case, name: str, seed: int, clock: str | None) -> dict[str, Any]:
    """Return a case with a control, and with that code's memory and pauses."""
    network = case.network
    tables = control(name, network)
    packet = {"payload": "1000 B", "header": tables.pop("header", "48 B"), "gap": "0 B"}
    return {
        "seed": seed,
        "topology": {**network.topology, "rate": "100 Gb/s", "link_delay": "1 us"},
        "packet": {**packet, **({"clock": clock} if clock else {})},
        "switch": {
            "latency": "0 ns",
            "architecture": "shared-memory",
            "buffer": f"{network.memory} MiB",
            "headroom": "37.5 KB",
            "headroom_above": 0.125,
            # In that code a queue does not include the packet that is being sent.
            "release_at": "start",
            **({"reserve": "4096 B", "at": list(network.switch)} if network.switch else {}),
        },
        "pfc": {
            "threshold": "dynamic",
            "alpha": 0.125,
            **({"xon_offset": "3072 B", "signal": "on-off"} if network.pfc else {}),
            **({"at": list(network.pfc)} if network.pfc else {}),
        },
        "output": {"interval": "1 us", "backlogs": True},
        "flow": [{"label": f"f{at}", **one} for at, one in enumerate(case.flows)],
        **tables,
    }


def measured(case: Case, name: str, seed: int = 1, clock: str | None = None) -> Outcome:
    """Run a case. That code's clock has whole nanoseconds; without `clock` times are exact."""
    run = backwater.build(scenario(case, name, seed, clock)).run()
    times = [time / 1e6 for time in pl.DataFrame(run.flows)["fct_last_ack_ps"].to_list()]
    there = (pl.col("node") == case.port[0]) & (pl.col("port") == case.port[1])
    ports = pl.DataFrame(run.ports).filter(there)
    queue = pl.DataFrame(run.series).filter(there & (pl.col("quantity") == "backlog_mean_bytes"))
    # Intervals from the first to the last in which something waited.
    waited = there & (pl.col("quantity") == "backlog_max_bytes") & (pl.col("value") > 0)
    samples = [int(time) for time in pl.DataFrame(run.series).filter(waited)["time_ps"].to_list()]
    intervals = (max(samples) - min(samples)) / INTERVAL_PS + 1
    return Outcome(
        mean=sum(times) / len(times),
        last=max(times),
        peak=max(ports["max_egress_bytes"].to_list()),
        queue=sum(queue["value"].to_list()) / intervals,
    )
