"""Topologies of NCCL: transfers between GPUs match their closed form on each kind of path."""

from __future__ import annotations

import tomllib
from pathlib import Path

import backwater
from kit.command import Command
from kit.scenarios import bare, flow
from kit.tree import ROOT

FILES = ROOT / "crates/backwater-import/tests/files/nccl"
PACKETS = 20
FLOWS = f"""
{bare("3708 B")}

{flow(0, 1, "74160 B")}

{flow(0, 4, "74160 B")}
start = "1 ms"

{flow(0, 5, "74160 B")}
start = "2 ms"
"""


def test_transfers_take_their_closed_form(tmp_path: Path) -> None:
    done = backwater.import_(FILES / "dump.xml", tmp_path / "ours.toml", servers=2)
    assert done.kinds == ["nccl-topology"]
    text = done.path.read_text()
    text = text.replace('buffer_per = "none"', 'buffer_per = "none"\nlatency = "300 ns"')
    done.path.write_text(text + FLOWS)
    flows = backwater.load(done.path).run().flows.sort_by("flow_id").to_pylist()
    # A packet takes 10 ns by 18 NVLinks of 20.6 GB/s, and 74.16 ns at 400 Gb/s. A path by NVLink or
    # on one rail has one switch; one across rails has a leaf, a spine and a leaf.
    nvlink, port, switch = 10_000, 74_160, 300_000
    expected = [
        (PACKETS + 1) * nvlink + 2 * 25_000 + switch,
        (PACKETS + 1) * port + 2 * 500_000 + switch,
        (PACKETS + 3) * port + 4 * 500_000 + 3 * switch,
    ]
    assert [flow["fct_last_byte_ps"] for flow in flows] == expected


def test_the_command_says_which_nic_serves_which_gpu(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "servers.toml"
    words = ("import", str(FILES / "ndv5-topo.xml"), "-o", str(out), "--servers")
    done = command(*words, "3", code=0)
    said = "verdict: GPU 3 (0008:00:00.0) uses NIC 0104:00:00.0: PIX, 384 Gb/s by NCCL's reckoning"
    assert said in done.err
    # Eight rails of three servers.
    topology = tomllib.loads(out.read_text())["topology"]
    assert (topology["hosts_per_leaf"], topology["rails"]) == (3, 8)
    refused = command(*words, "0", "--force", code=2)
    assert "servers 0: out of range" in refused.err
