"""Files of HPCC's ns-3 code: their import runs as a scenario written by hand does."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import backwater
from kit.command import Command
from kit.tree import ROOT

FILES = ROOT / "crates/backwater-import/tests/files/hpcc"

# The published run: three flows into host 0 and a victim, and their paths.
FLOWS = """4
8 0 3 100 20000000 2.000000000
16 0 3 101 20000000 2.000000000
25 0 3 102 20000000 2.000000000
10 37 3 100 50000000 2.000000000
"""
WAYS = """0 10000 data 8 129 148 128 0
1 10000 data 16 130 145 128 0
2 10000 data 25 131 147 128 0
3 10000 data 10 129 148 132 37
"""
CHANGED = {
    "TOPOLOGY_FILE": "topology.txt",
    "FLOW_FILE": "flow.txt",
    "RATE_AI": "40Mb/s",
    "RATE_HAI": "400Mb/s",
    "BUFFER_SIZE": "4",
    "LINK_DOWN": "0 0 0",
    "KMIN_MAP": "1 200000000000 800",
    "KMAX_MAP": "1 200000000000 3200",
    "PMAX_MAP": "1 200000000000 0.2",
}


def leaf_spine() -> str:
    """Return 128 hosts under 16 leaves and 8 spines, 200 Gb/s and 1 us a link."""
    links = [(host, 128 + host // 8) for host in range(128)]
    links += [(128 + leaf, 144 + spine) for leaf in range(16) for spine in range(8)]
    switches = " ".join(map(str, range(128, 152)))
    lines = [f"152 24 {len(links)}", switches, *(f"{a} {b} 200Gbps 1000ns 0" for a, b in links)]
    return "\n".join(lines) + "\n"


def test_a_published_run_is_the_scenario_by_hand(tmp_path: Path) -> None:
    own = [line.split(maxsplit=1) for line in (FILES / "config.txt").read_text().splitlines()]
    config = {**dict(own), **CHANGED}
    (tmp_path / "config.txt").write_text("".join(f"{k} {v}\n" for k, v in config.items()))
    (tmp_path / "topology.txt").write_text(leaf_spine())
    (tmp_path / "flow.txt").write_text(FLOWS)
    (tmp_path / "ways.txt").write_text(WAYS)
    files = [tmp_path / "config.txt", tmp_path / "ways.txt"]
    done = backwater.import_(files, tmp_path / "ours.toml")
    assert done.kinds == ["hpcc-config", "hpcc-paths"]
    # Senders have been paused by 200 us.
    runs = [
        backwater.load(path).set("stop.at", "200 us").run()
        for path in (done.path, ROOT / "scenarios/ns3-incast.toml")
    ]
    assert runs[0].fingerprint == runs[1].fingerprint


# The parameters of controls in run.py of that code at 100 Gb/s, with marks at 300 KB.
CONTROLS = {
    "3": {"INT_MULTI": "4", "EWMA_GAIN": "0.00390625"},
    "8": {"DCTCP_RATE_AI": "615Mb/s", "EWMA_GAIN": "0.0625"},
    "10": {"INT_MULTI": "4", "PINT_LOG_BASE": "1.01", "PINT_PROB": "1.0"},
}


@pytest.mark.parametrize(
    ("mode", "mean", "last", "peak"),
    [("3", 187.4, 199.4, 401120), ("8", 173.7, 174.0, 383568), ("10", 180.7, 192.7, 384300)],
)
def test_controls_end_when_those_of_the_code_did(
    tmp_path: Path, mode: str, mean: float, last: float, peak: int
) -> None:
    """Eight flows of 256 KB into a host: times in us and queue in bytes, as in that code."""
    own = [line.split(maxsplit=1) for line in (FILES / "config.txt").read_text().splitlines()]
    config = {
        **dict(own),
        "CC_MODE": mode,
        "HAS_WIN": "1",
        "VAR_WIN": "1",
        "FAST_REACT": "1",
        "MULTI_RATE": "0",
        "MI_THRESH": "0",
        "RATE_AI": "40Mb/s",
        "LINK_DOWN": "0 0 0",
        "TOPOLOGY_FILE": "topology.txt",
        "FLOW_FILE": "flow.txt",
        "KMIN_MAP": "1 100000000000 300",
        "KMAX_MAP": "1 100000000000 300",
        "PMAX_MAP": "1 100000000000 1.0",
        **CONTROLS[mode],
    }
    (tmp_path / "config.txt").write_text("".join(f"{k} {v}\n" for k, v in config.items()))
    links = [f"{host} 16 100Gbps 1000ns 0" for host in range(16)]
    (tmp_path / "topology.txt").write_text("\n".join(["17 1 16", "16", *links]) + "\n")
    flows = [f"{src} 0 3 100 256000 2.{13 * (src - 1):09d}" for src in range(1, 9)]
    (tmp_path / "flow.txt").write_text("\n".join(["8", *flows]) + "\n")
    done = backwater.import_(tmp_path / "config.txt", tmp_path / "ours.toml")
    assert not [warning for warning in done.warnings if "base_rtt" in str(warning)]
    run = backwater.load(done.path).run()
    times = [time / 1e6 for time in pl.DataFrame(run.flows)["fct_last_ack_ps"].to_list()]
    assert sum(times) / len(times) == pytest.approx(mean, rel=0.025)
    assert max(times) == pytest.approx(last, rel=0.0125)
    queues = pl.DataFrame(run.ports)["max_egress_bytes"].to_list()
    # PINT's packets take a nanosecond longer than in that code: one or two more packets wait.
    assert max(queues) == pytest.approx(peak, abs=2100 if mode == "10" else 0)


def test_hosts_of_several_links_run_without_a_timer(tmp_path: Path) -> None:
    """Three senders with two links each send to one receiver: the run ends with them."""
    own = [line.split(maxsplit=1) for line in (FILES / "config.txt").read_text().splitlines()]
    changed = {
        "LINK_DOWN": "0 0 0",
        "SIMULATOR_STOP_TIME": "3.0",
        "TOPOLOGY_FILE": "topology.txt",
        "FLOW_FILE": "flow.txt",
        "KMIN_MAP": "1 25000000000 100",
        "KMAX_MAP": "1 25000000000 400",
        "PMAX_MAP": "1 25000000000 0.2",
    }
    config = {**dict(own), **changed}
    (tmp_path / "config.txt").write_text("".join(f"{k} {v}\n" for k, v in config.items()))
    links = [f"{host} {leaf} 25Gbps 1000ns 0" for host in range(4) for leaf in (4, 5)]
    (tmp_path / "topology.txt").write_text("\n".join(["6 2 8", "4 5", *links]) + "\n")
    flows = [f"{src} 0 3 100 100000 2.0" for src in (1, 2, 3)]
    (tmp_path / "flow.txt").write_text("\n".join(["3", *flows]) + "\n")
    done = backwater.import_(tmp_path / "config.txt", tmp_path / "ours.toml")
    run = backwater.load(done.path).run()
    rows = run.flows.to_pylist()
    assert [row["state"] for row in rows] == ["complete"] * 3
    # 100 packets of 1048 B at 25 Gb/s take 33.5 us, and the network stops at 1 s.
    last = max(row["start_ps"] + row["fct_last_ack_ps"] for row in rows)
    assert run.summary["time_ps"] == last
    assert 33_500_000 < last < 200_000_000


def test_flows_come_back_as_they_went(tmp_path: Path) -> None:
    flows = [(src, (src + 1 + src * 7 % 13) % 16, 1000 + 77 * src, 13 * src) for src in range(16)]
    flows += [(dst, src, size + 1, start + 500) for src, dst, size, start in flows]
    text = [
        f"{src} {dst} 3 100 {size} 2.{start:09d}"
        for src, dst, size, start in sorted(flows, key=lambda f: f[3])
    ]
    (tmp_path / "flow.txt").write_text("\n".join([str(len(text)), *text]) + "\n")
    links = [f"{host} 16 100Gbps 1000ns 0" for host in range(16)]
    (tmp_path / "topology.txt").write_text("\n".join(["17 1 16", "16", *links]) + "\n")
    files = [tmp_path / "topology.txt", tmp_path / "flow.txt"]
    done = backwater.import_(files, tmp_path / "ours.toml")
    backwater.load(done.path).run(out=tmp_path / "run")
    backwater.export(tmp_path / "run", "ns3", tmp_path / "back")
    assert (tmp_path / "back/flow.txt").read_text() == (tmp_path / "flow.txt").read_text()
    written = (tmp_path / "back/topology.txt").read_text().split()
    assert written[:4] == ["17", "1", "16", "16"]


def test_the_caller_says_which_time_is_zero(command: Command, tmp_path: Path) -> None:
    flows = tmp_path / "flow.txt"
    flows.write_text("1\n0 1 3 100 1000 2.000001\n")
    out = str(tmp_path / "ours.toml")
    command("import", str(flows), "-o", out, "--zero-at", "1.5 s", code=0)
    (flow,) = backwater.load(out).run().flows.to_pylist()
    assert flow["start_ps"] == 500_001_000_000
    done = backwater.import_(flows, out, zero_at="2 s", force=True)
    (flow,) = backwater.load(done.path).run().flows.to_pylist()
    assert flow["start_ps"] == 1_000_000
    late = command("import", str(flows), "-o", out, "--zero-at", "3 s", "--force", code=2)
    assert "flow.txt:2: starts at 2000.001 ms, before 3 s" in late.err
    unitless = command("import", str(flows), "-o", out, "--zero-at", "3", "--force", code=2)
    assert "--zero-at" in unitless.err
