"""Exports for the ns-3 code of HPCC and ConWeave: compared with lines by hand and other tables."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater.exporting.network import Network
from kit.exports import STAR, TWO_TIERS, build, exported, flow, run_of


# Both flows in order of completion. The first: propagation there and back 2 x 1000 ns, 1000 B on
# two links 2 x 80 ns, and 10 frames of 1048 B 838.4 ns. The second: 3 frames, 2644 B, 211.52 ns.
# In the idle network its last frame (548 B, 43.84 ns) waits at the switch for the one before it:
# 167.68 ns to send two frames, 500 propagation, 83.84 + 43.84 at the switch, 500 propagation:
# 1295.36 ns. On each link, its acknowledgement takes 8 ns and 500 propagation: 2311.36 ns.
def test_completion_times(tmp_path: Path) -> None:
    scenario = build(
        STAR,
        flow("long", 1, 2, "10 KB", start="10 us"),
        flow("short", 3, 0, "2500 B"),
        flow("cut", 1, 0, "1 MB", start="20 us"),
        stop={"at": "50 us"},
    )
    run = scenario.run()
    took = {row["group"]: row["fct_last_ack_ps"] for row in run.flows.to_pylist()}
    assert took["short"] == 2_311_360
    assert took["cut"] is None
    # 9 frames of 83.84 ns precede the last one, which takes that time on two links.
    assert took["long"] == 10 * 83_840 + 500_000 + 83_840 + 500_000 + 2 * 508_000
    assert exported(run, "fct", tmp_path) == (
        "0b000301 0b000001 10000 100 2500 2000000000 2311 2371\n"
        "0b000101 0b000201 10000 100 10000 2000010000 2938 2998\n"
    )
    # ConWeave: the third flow is the second of its sender, and of its receiver.
    assert exported(run, "fct", tmp_path, ids="node", offset="0 s").splitlines() == [
        "3 0 10000 100 2500 0 2311 2371",
        "1 2 10000 100 10000 10000 2938 2998",
    ]
    ideal = exported(run, "fct", tmp_path, standalone="ideal").splitlines()
    assert [line.split()[7] for line in ideal] == ["1295", "1922"]
    incast = exported(run, "fct", tmp_path, incast=["short"]).splitlines()
    assert [line.split()[3] for line in incast] == ["200", "100"]
    [left_out] = backwater.export(run, "fct", tmp_path / "f", offset="0 s")
    assert left_out == "flows that are not complete and are left out: 1"


def test_ports_count_pairs_or_ends(tmp_path: Path) -> None:
    # Flows complete in the order of their sizes, and are counted in the order of their starts.
    scenario = build(
        STAR,
        flow("a", 1, 0, "30 KB"),
        flow("b", 1, 0, "10 KB", start="1 ns"),
        flow("c", 1, 2, "20 KB", start="2 ns"),
        flow("d", 3, 0, "1 KB", start="3 ns"),
    )
    run = scenario.run()

    def ports(ids: str) -> dict[str, str]:
        lines = [line.split() for line in exported(run, "fct", tmp_path, ids=ids).splitlines()]
        return {line[4]: f"{line[2]} {line[3]}" for line in lines}

    assert ports("ip") == {
        "30000": "10000 100",
        "10000": "10001 100",
        "20000": "10000 100",
        "1000": "10000 100",
    }
    assert ports("node") == {
        "30000": "10000 100",
        "10000": "10001 101",
        "20000": "10002 100",
        "1000": "10000 102",
    }


def test_time_alone_over_two_tiers() -> None:
    run = build(TWO_TIERS, flow("a", 0, 2, "10 KB")).run()
    network = Network.of(run)
    assert network.names == ["h0", "h1", "h2", "h3", "leaf0", "leaf1", "spine0", "spine1"]
    # Within a leaf; across: 4 links, two of 40 Gb/s, on which 1000 B take 200 ns, and 10480 B
    # 2096 ns.
    assert network.standalone_ns(0, 1, 10_000) == 2 * 1000 + 2 * 80 + 838
    assert network.standalone_ns(0, 2, 10_000) == 2 * 4000 + 2 * 80 + 2 * 200 + 2096
    # 7 B are a frame of 55 B, 11 ns.
    assert network.standalone_ns(3, 1, 7) == 2 * 4000 + 2 * 80 + 2 * 200 + 11


def test_topology_and_flows(tmp_path: Path) -> None:
    scenario = build(
        TWO_TIERS,
        flow("late", 0, 3, "10 KB", start="1500 ps", via=["spine1"]),
        flow("early", 2, 1, "7 B", **{"class": 5}),
    )
    told = backwater.export(scenario.run(), "ns3", tmp_path / "new")
    assert (tmp_path / "new" / "topology.txt").read_text() == (
        "8 4 8\n"
        "4 5 6 7\n"
        "0 4 100Gbps 500ns 0.000000\n"
        "1 4 100Gbps 500ns 0.000000\n"
        "2 5 100Gbps 500ns 0.000000\n"
        "3 5 100Gbps 500ns 0.000000\n"
        "4 6 40Gbps 1500ns 0.000000\n"
        "4 7 40Gbps 1500ns 0.000000\n"
        "5 6 40Gbps 1500ns 0.000000\n"
        "5 7 40Gbps 1500ns 0.000000\n"
    )
    assert (tmp_path / "new" / "flow.txt").read_text() == (
        "2\n2 1 5 100 7 2.000000000\n0 3 3 100 10000 2.000000001\n"
    )
    assert any("pinned" in line and "late" in line for line in told)
    assert told[-1] == "starts that are no whole nanosecond and are cut off: 1"
    assert (tmp_path / "new" / "notes.txt").read_text().splitlines() == told
    backwater.export(scenario.run(), "ns3", tmp_path / "new", ids="node", force=True)
    assert (tmp_path / "new" / "flow.txt").read_text() == (
        "2\n2 1 5 7 2.000000000\n0 3 3 10000 2.000000001\n"
    )


def links(*pairs: tuple[str, str]) -> dict[str, Any]:
    """Return an explicit topology of hosts a and b, switches s and t, and these links."""
    link = [{"a": a, "b": b, "rate": "100 Gb/s", "delay": "500 ns"} for a, b in pairs]
    nodes = [{"name": name, "kind": "host" if name in "ab" else "switch"} for name in "abst"]
    topology = {"kind": "explicit", "node": nodes, "link": link}
    return STAR | {"topology": topology}


def test_ns3_has_hosts_of_several_links(tmp_path: Path) -> None:
    scenario = links(("a", "s"), ("a", "t"), ("s", "t"), ("b", "t"))
    run = build(scenario, flow("x", "a", "b", "1 KB")).run()
    said = "hosts with several links: ns-3 hashes flows over those towards a receiver: 1"
    assert said in backwater.export(run, "ns3", tmp_path / "two")
    written = (tmp_path / "two/topology.txt").read_text()
    assert [line[:4] for line in written.splitlines()[2:]] == ["0 2 ", "0 3 ", "2 3 ", "1 3 "]
    # The import reads what the export writes.
    done = backwater.import_(tmp_path / "two/topology.txt", tmp_path / "back.toml")
    topology = tomllib.loads(done.path.read_text(encoding="utf-8"))["topology"]
    ends = [(one["a"], one["b"]) for one in topology["link"]]
    assert ends == [("h0", "s2"), ("h0", "s3"), ("s2", "s3"), ("h1", "s3")]
    # A link that is down is left out, so the host has a single link.
    down = {"between": ["a", "s"], "down": True}
    run = build(scenario, flow("x", "a", "b", "1 KB"), link={"at": [down]}).run()
    notes = backwater.export(run, "ns3", tmp_path / "new")
    assert (tmp_path / "new/topology.txt").read_text() == (
        "4 2 3\n2 3\n0 3 100Gbps 500ns 0.000000\n2 3 100Gbps 500ns 0.000000\n"
        "1 3 100Gbps 500ns 0.000000\n"
    )
    assert "links that are down from the start and are left out: 1" in notes
    assert said not in notes


def test_ns3_leaves_out_links_that_are_down(tmp_path: Path) -> None:
    at = [
        {"between": ["tier leaf", "spine1"], "down": True, "delay": "1 us"},
        {"between": ["leaf1", "spine1"], "down": False, "loss": 0.1},
        {"from": "leaf1", "to": "spine0", "rate": "10 Gb/s"},
    ]
    run = build(TWO_TIERS, flow("x", 0, 1, "1 KB"), link={"at": at}).run()
    notes = backwater.export(run, "ns3", tmp_path / "new")
    written = (tmp_path / "new/topology.txt").read_text().splitlines()
    assert [line[:4] for line in written[6:]] == ["4 6 ", "5 6 ", "5 7 "]
    assert written[0] == "8 4 7"
    assert written[-1] == "5 7 40Gbps 1000ns 0.000000"
    assert "links that are down from the start and are left out: 1" in notes
    assert "keys of [[link.at]] that are in neither file: loss, rate of one direction" in notes
    assert not any("link" in line for line in notes if line.startswith("tables of the scenario"))


def test_ns3_notes_parallel_links(tmp_path: Path) -> None:
    run = build(
        links(("a", "s"), ("s", "t"), ("t", "s"), ("b", "t")), flow("x", "a", "b", "1 KB")
    ).run()
    assert (
        "links parallel to another one: between two nodes ns-3 uses the last link only: 1"
        in backwater.export(run, "ns3", tmp_path / "new")
    )


def test_ns3_notes_other_paths_of_a_dragonfly(tmp_path: Path) -> None:
    dragonfly = {
        "kind": "dragonfly",
        "groups": 3,
        "routers_per_group": 2,
        "hosts_per_router": 2,
        "global_links_per_router": 1,
        "rate": "100 Gb/s",
        "link_delay": "1 us",
    }
    run = build({"topology": dragonfly}, flow("x", 0, 5, "1 KB")).run()
    notes = backwater.export(run, "ns3", tmp_path / "new")
    assert any(note.startswith("paths: ns-3 takes those with the fewest links") for note in notes)


INCAST: dict[str, Any] = {
    "switch": {"buffer": "200 KB", "buffer_per": "ingress", "latency": "0 s"},
    "output": {"pause_causes": True},
}


@pytest.mark.parametrize("signal", ["on-off", "ideal"])
def test_pauses_where_they_arrive(signal: str, tmp_path: Path) -> None:
    scenario = build(
        TWO_TIERS,
        flow("hot", [1, 2, 3], 0, "400 KB"),
        **INCAST,
        pfc={"xoff": "40 KB", "signal": signal},
    )
    run = scenario.run()
    network = Network.of(run)
    lines = [list(map(int, line.split())) for line in exported(run, "pfc", tmp_path).splitlines()]
    assert lines == sorted(lines, key=lambda line: line[0])
    assert {line[4] for line in lines} == {0, 1}
    # Each pause as it reached the paused node: at most one frame on the wire delayed it, 1048 B at
    # 40 Gb/s.
    met = defaultdict(list)
    for row in run.pauses.sort_by("start_ps").to_pylist():
        met[network.numbers[row["peer"]], row["peer_port"] + 1].append(row["start_ps"])
    said = defaultdict(list)
    for time, node, kind, port, pauses in lines:
        assert kind == (0 if network.is_host(node) else 1)
        if pauses:
            said[node, port].append(time - 2_000_000_000)
    assert said.keys() == met.keys()
    assert any(node >= 4 for node, _ in said)
    slack = 0 if signal == "ideal" else 210
    for place, times in met.items():
        assert len(times) == len(said[place])
        for told, truth in zip(said[place], times, strict=True):
            assert told <= truth // 1000 <= told + slack


def test_pauses_come_in_order_of_arrival(tmp_path: Path) -> None:
    # The first leaves leaf0 for a spine (1500 ns + 12.8 ns), the second h0 for leaf0 50 ns later
    # (500 ns + 5.12 ns).
    like = build(TWO_TIERS, flow("a", 0, 2, "10 KB"), pfc={"xoff": "40 KB"}, **INCAST).run()
    facts = {"kind": "mac-control", "class": 3, "to": None}
    control = [
        {"time_ps": 1_000_000, "node": "leaf0", "port": 3, "value": 65535, **facts},
        {"time_ps": 1_050_000, "node": "h0", "port": 0, "value": 0, **facts},
        {"time_ps": 1_060_000, "node": "h0", "port": None, "value": 7, **facts, "kind": "cnp"},
    ]
    ports = like.ports.to_pylist()
    run = run_of({"control": control, "ports": ports}, like)
    assert exported(run, "pfc", tmp_path, offset="0 s") == "1555 4 1 1 0\n2512 7 1 1 1\n"


def test_histograms_of_queues(tmp_path: Path) -> None:
    output = {"interval": "100 ns", "queues": True, "nodes": ["s0"]}
    like = build(STAR, flow("a", 1, 0, "10 KB"), output=output).run()

    def row(time: int, port: int, queue: int, value: int, what: str = "queue_bytes") -> Any:  # noqa: ANN401 - a row
        facts = {"time_ps": time, "node": "s0", "port": port, "queue": queue, "flow": None}
        return facts | {"quantity": what, "value": value}

    series = [
        row(100_000, 0, 3, 999),
        row(200_000, 0, 3, 1500),
        row(200_000, 0, 5, 1500),
        row(200_000, 2, 3, 1000),
        row(300_000, 2, 3, 5000, "held_bytes"),
        row(600_000, 0, 3, 1048),
    ]
    run = run_of({"series": series, "ports": like.ports.to_pylist()}, like)
    run.manifest["summary"]["time_ps"] = 700_000
    # In samples: port 0 has 0.999 KB, 3 KB (both queues), nothing; then also 1.048 KB of 6.
    assert exported(run, "qlen", tmp_path, every="300 ns", offset="1 ms") == (
        "time: 1000300\n4 1 2 0 0 1\n4 2 3\n4 3 2 1\n4 4 3\n"
        "time: 1000600\n4 1 4 1 0 1\n4 2 6\n4 3 5 1\n4 4 6\n"
        "time: 1000700\n4 1 5 1 0 1\n4 2 7\n4 3 6 1\n4 4 7\n"
    )


def test_a_histogram_needs_samples(tmp_path: Path) -> None:
    run = build(STAR, flow("a", 1, 0, "10 KB")).run()
    with pytest.raises(backwater.InputError, match="no samples of queue") as error:
        backwater.export(run, "qlen", tmp_path / "q")
    assert "output.queues=true" in str(error.value)
    assert not (tmp_path / "q").exists()
