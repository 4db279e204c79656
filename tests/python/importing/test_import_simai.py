"""Files of SimAI: the time of an imported collective matches its closed form."""

from __future__ import annotations

from pathlib import Path

import pytest

import backwater
from kit.scenarios import bare, star

FABRIC = f"""
{bare("1000 B")}
[switch]
buffer_per = "none"
latency = "300 ns"
"""
PACKET, WAY = 80_000, 2 * 500_000 + 300_000
"""Time of a packet at 100 Gb/s, and of the path without it, in ps."""
PACKETS = 16
"""Packets of a rank's part."""


def micro_test(folder: Path, ranks: int, kind: str) -> backwater.Run:
    """Import and run a micro test of one collective on an idle star."""
    (folder / "star.toml").write_text(star(ranks) + FABRIC)
    size = ranks * PACKETS * 1000
    line = f"micro_test -1 1 NONE 0 1 NONE 0 1 {kind} {size} 1"
    (folder / "micro.txt").write_text(f"MICRO all_gpus: {ranks}\n1\n{line}\n")
    done = backwater.import_(
        folder / "micro.txt", folder / "ours.toml", fabric=folder / "star.toml"
    )
    return backwater.load(done.path).run()


@pytest.mark.parametrize("ranks", [2, 4, 7])
@pytest.mark.parametrize(
    ("kind", "passes"), [("ALLREDUCE", 2), ("ALLGATHER", 1), ("REDUCESCATTER", 1)]
)
def test_a_micro_test_takes_the_closed_form_of_a_ring(
    tmp_path: Path, ranks: int, kind: str, passes: int
) -> None:
    run = micro_test(tmp_path, ranks, kind)
    # A phase ends when its last packet has crossed both links after the others.
    phase = (PACKETS + 1) * PACKET + WAY
    (collective,) = run.collectives.to_pylist()
    assert collective["end_ps"] - collective["start_ps"] == passes * (ranks - 1) * phase


def test_all_to_all_fills_the_links(tmp_path: Path) -> None:
    ranks = 4
    run = micro_test(tmp_path, ranks, "ALLTOALL")
    sent = run.flows.to_pylist()
    assert sorted((flow["src"], flow["dst"]) for flow in sent) == [
        (a, b) for a in range(ranks) for b in range(ranks) if a != b
    ]
    assert {flow["bytes"] for flow in sent} == {PACKETS * 1000}


SERVERS = """9 2 2 3 10 H100
4 5 6 7 8
0 4 2400Gbps 25ns 0
1 4 2400Gbps 25ns 0
2 5 2400Gbps 25ns 0
3 5 2400Gbps 25ns 0
0 6 400Gbps 500ns 0
1 7 400Gbps 500ns 0
2 6 400Gbps 500ns 0
3 7 400Gbps 500ns 0
6 8 400Gbps 500ns 0
7 8 400Gbps 500ns 0
"""
"""Two servers of two GPUs, each with NVLink and a link to a switch by its number."""


def test_a_server_sums_by_nvlink_and_servers_by_the_network(tmp_path: Path) -> None:
    (tmp_path / "servers.txt").write_text(SERVERS)
    size = 2 * PACKETS * 3000
    layer = f"layer -1 1 ALLREDUCE {size} 1 NONE 0 1 ALLREDUCE {size} 1"
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4"
    (tmp_path / "w.txt").write_text(f"{head}\n1\n{layer}\n")
    files = [tmp_path / "w.txt", tmp_path / "servers.txt"]
    scenario = backwater.load(backwater.import_(files, tmp_path / "ours.toml").path)
    changed = {"packet.payload": "3000 B", "packet.header": "0 B", "packet.gap": "0 B"}
    for key, value in {**changed, "ack.enabled": "false", "switch.latency": "300 ns"}.items():
        scenario = scenario.set(key, value)
    run = scenario.run()
    # Two phases each, of half the buffer: a packet takes 10 ns by NVLink, 60 ns in the network.
    nvlink = 2 * ((PACKETS + 1) * 10_000 + 2 * 25_000 + 300_000)
    network = 2 * ((PACKETS + 1) * 60_000 + 2 * 500_000 + 300_000)
    took = {(row["step"], row["end_ps"] - row["start_ps"]) for row in run.collectives.to_pylist()}
    assert took == {
        ("0 layer forward all-reduce", nvlink),
        ("0 layer weight gradient all-reduce", network),
    }
