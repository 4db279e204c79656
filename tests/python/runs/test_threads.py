"""`--threads` changes only the time of a run; the run reports if it used one thread, and why."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import backwater
from backwater import running
from backwater.errors import InputError
from kit.command import Command
from kit.scenarios import flow

TREE = f"""
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 3
rate = "100 Gb/s"
link_delay = "150 ns"
{flow("3..11", "h0", "200 KB", "incast")}
[[flow]]
label = "background"
pattern = "random"
size = "30 KB"
arrivals = "poisson"
load = "50 %"
until = "30 us"
[switch]
buffer = "400 KB"
buffer_per = "ingress"
[pfc]
xoff = "60 KB"
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tree.toml"
    path.write_text(TREE, encoding="utf-8")
    return path


@pytest.mark.parametrize("threads", [2, 3, 4, 8, 16])
def test_results_are_the_same_on_any_number_of_threads(threads: int) -> None:
    case = backwater.parse(TREE)
    one, many = case.run(), case.run(threads=threads)
    # Four leaves make four parts at most.
    assert many.summary["threads"] == min(threads, 4)
    assert many.summary["one_thread_because"] is None
    assert "threads" not in one.summary
    assert one.fingerprint == many.fingerprint
    assert one.flows.num_rows > 50
    for table in ("flows", "control", "ports"):
        assert getattr(one, table).equals(getattr(many, table)), table
    # The number of events may differ.
    apart = {"threads", "one_thread_because", "events"}
    assert {key: value for key, value in many.summary.items() if key not in apart} == {
        key: value for key, value in one.summary.items() if key not in apart
    }


def test_the_command_runs_on_threads(command: Command, tree: Path) -> None:
    said = command("run", str(tree), "--threads", "2", "--out", "two", "--json", "two.json", code=0)
    assert said.err.splitlines().count("threads: 2 of 2") == 2, "at the beginning and at the end"
    summary = json.loads(Path("two.json").read_text(encoding="utf-8"))["summary"]
    assert summary["threads"] == 2
    # The run equals that of one thread, so it is not repeated.
    again = command("run", str(tree), "--out", "two")
    assert "the run is in two already" in again.err


def test_a_run_that_cannot_be_split_says_why(command: Command, tree: Path) -> None:
    said = command("run", str(tree), "--threads", "2", "--set", "ack.enabled=false", code=0)
    expected = (
        "threads: one, not 2: without acknowledgements a sender knows at once what has arrived"
    )
    assert said.err.splitlines().count(expected) == 2, "before hours have passed, and at the end"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--threads 0", "--threads 0: not from 1 to 64"),
        ("--threads 65", "--threads 65: not from 1 to 64"),
        ("--threads 2 --seeds 2", "--threads and --seeds exclude each other"),
    ],
)
def test_bad_numbers_of_threads_do_nothing(
    command: Command, tree: Path, options: str, reason: str
) -> None:
    said = command("run", str(tree), "--out", "r", *options.split(), code=2)
    assert said.err.startswith(f"error: {reason}")
    assert "hint: " in said.err
    assert not Path("r").exists()
    command("run", str(tree), *options.split(), code=2)
    assert not Path("results").exists()


def test_bad_numbers_of_threads_in_python() -> None:
    with pytest.raises(InputError, match="threads = 0: not from 1 to 64"):
        backwater.parse(TREE).run(threads=0)


@pytest.mark.parametrize(("threads", "again"), [(1, False), (3, False), (3, True)])
def test_a_run_that_is_stopped_on_threads_agrees_with_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, again: bool
) -> None:
    """Also if it had started again on one thread after it had handed out rows."""
    # Small slices: the run checks often whether to stop, however fast the machine is.
    monkeypatch.setattr(running, "SLICE_MS", 1)
    text = TREE.replace("30 us", "4 ms")
    if again:
        text = text.replace(
            '"400 KB"\nbuffer_per = "ingress"\n[pfc]\nxoff = "60 KB"\n', '"30 KB"\n'
        )
        text += '[transport]\nrecovery = "go-back-n"\ntimeout = "300 us"\nretries = 0\n'
        text += 'loss = "expected"\n'
    case = backwater.parse(text)

    def stop(status: backwater.Status) -> None:
        if status.flows_done > 100:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(backwater.Interrupted) as stopped:
        case.run(out=tmp_path / "there", threads=threads, progress=stop)
    [run] = stopped.value.runs
    assert run.status == "interrupted"
    assert ("began again" in str(run.summary.get("one_thread_because"))) == again
    flows = run.flows.to_pylist()
    complete = [row for row in flows if row["fct_last_ack_ps"] is not None]
    assert len(complete) == run.summary["flows_done"] > 100
    end = run.summary["time_ps"]
    assert all(row["start_ps"] + row["fct_last_ack_ps"] <= end for row in complete)
    whole = case.run()
    first = {row["flow_id"]: row for row in whole.flows.to_pylist()}
    assert end < whole.summary["time_ps"]
    assert all(row == first[row["flow_id"]] for row in complete)
