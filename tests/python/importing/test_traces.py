"""Imported schedules and traces of messages take as long as computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import backwater
from kit.tree import ROOT

FILES = ROOT / "crates/backwater-import/tests/files"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to the test's directory."""
    monkeypatch.chdir(tmp_path)


def time_of(name: str, *files: Path, command: str = "") -> int:
    """Return how long the job of imported files takes, in ps."""
    done = backwater.import_(list(files), f"{name}.toml", command=command)
    (job,) = backwater.load(done.path).run().jobs.to_pylist()
    return int(job["duration_ps"])


@pytest.mark.parametrize("ending", ["goal", "bin"])
def test_a_tree_takes_its_depth_times_a_hop(ending: str) -> None:
    # 1 B with 62 B of headers and 20 B of gap at 400 Gb/s, twice; 500 ns a link and 300 ns in the
    # switch. Each rank on the deepest path, 0 1 3 7 15 31, is the first that its sender serves. The
    # acknowledgement, of 66 B and the gap, leaves a rank before the data that it sends on.
    octet = 20
    hop = 2 * (1 + 62 + 20) * octet + 2 * 500_000 + 300_000
    acknowledgement = (66 + 20) * octet
    expected = 5 * hop + 4 * acknowledgement
    assert time_of("tree", FILES / f"goal/binary_tree_32.{ending}") == expected


def test_msccl_and_chakra_forms_of_an_all_reduce_take_as_long() -> None:
    # astra-sim's converter made the traces of the algorithm, with 7 us for each reduction.
    command = "et_converter --coll_size 1048576 --reduce_us 7"
    msccl = time_of("msccl", FILES / "msccl/custom_allreduce.xml", command=command)
    traces = [FILES / f"chakra/custom_allreduce.{rank}.et" for rank in range(8)]
    assert time_of("chakra", *traces) == msccl
    # 14 transfers of 128 KiB, at 20 ps an octet, and 7 reductions.
    assert msccl > 14 * 131_072 * 20 + 7 * 7_000_000


def test_a_collective_of_a_trace_takes_as_long_as_the_step_of_a_job() -> None:
    traces = [FILES / f"chakra/all_reduce.{rank}.et" for rank in range(4)]
    step = {"label": "all-reduce", "kind": "all-reduce", "size": "1 MiB"}
    topology = {"kind": "star", "hosts": 4, "rate": "400 Gb/s", "link_delay": "500 ns"}
    job = [{"label": "job", "ranks": 4, "step": [step]}]
    built = backwater.build({"topology": topology, "switch": {"buffer_per": "none"}, "job": job})
    (row,) = built.run().jobs.to_pylist()
    assert time_of("ring", *traces) == row["duration_ps"]
