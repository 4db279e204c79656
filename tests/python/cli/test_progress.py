"""Progress of long runs: a live line on a terminal, JSON lines on request, else nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import backwater
from backwater import Run, notices
from backwater._core import Status
from backwater.cli import progress
from backwater.stopping import Stop
from kit.command import Command

LONG = ["--set", "flow.incast.size=100 GB"]
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_a_log_is_left_alone(command: Command, small: Path) -> None:
    said = command("run", str(small), "--out", "o")
    assert said.err.splitlines() == ["results: o"]


def test_a_program_gets_lines_of_json(
    command: Command, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    said = command(
        "run",
        str(small),
        "--set",
        "flow.incast.size=200 MB",
        "--json-progress",
        "--out",
        "o",
        code=0,
    )
    *lines, last = said.err.splitlines()
    assert last == "results: o"
    told = [json.loads(line) for line in lines]
    assert {line["event"] for line in told} == {"progress"}
    assert told[-1]["runs_done"] == 1
    for key in ("time_ps", "hops", "hops_per_s"):
        assert max(line[key] for line in told) > 0
    flows = len(backwater.open_run(tmp_path / "o").flows)
    assert {line["flows"] for line in told[:-1]} == {flows}
    assert told[-1]["flows_done"] == flows


def test_a_terminal_gets_a_live_line(small: Path, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "backwater", "run", str(small), *LONG, "--out", "o"],
        cwd=tmp_path,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(slave)
    shown = ""
    interrupted = False
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            data = os.read(master, 4096)
        except OSError:
            # Linux reports this error at the end of a terminal that its last user closed.
            break
        shown += ESCAPE.sub("", data.decode("utf-8", "replace"))
        if not interrupted and re.search(r"of \d+ flows", shown):
            os.kill(process.pid, 2)
            interrupted = True
        if not data:
            break
    os.close(master)
    assert process.wait(timeout=60) == 130, shown
    assert re.search(r"simulated \d+\.\d+ [um]s · [\d.]+ [kM] hops/s · \d+ of \d+ flows", shown), (
        shown
    )
    assert "stopped; what was simulated by then is in o" in shown
    assert "unfinished" in backwater.open_run(tmp_path / "o").flows["state"].to_pylist()


def test_time_left_is_told_where_it_can_be() -> None:
    """The last of two flows may be all the work; half of a hundred flows are half of it."""
    told = {}
    for total, done, end in ((2, 1, None), (100, 50, None), (2, 1, 10**6)):
        state = progress.State(1, started=time.monotonic() - 10)
        state.running[0] = cast(
            "Status",
            SimpleNamespace(time_ps=10**5, end_ps=end, hops=1, flows_done=done, flows_total=total),
        )
        told[total, end] = state.seconds_left
    assert told[2, None] is None
    # Half takes ten seconds; with an end, the larger share of flows and time counts.
    assert told[100, None] == pytest.approx(10, abs=1)
    assert told[2, 10**6] == pytest.approx(10, abs=1)


def test_what_runs_again_says_how_long_it_took() -> None:
    """Times of a manifest are whole seconds: a difference of one may be almost no time."""
    said: list[str] = []
    for ended in ("10:00:01", "10:00:02", "10:01:00"):
        times = {"started": "2026-11-28T10:00:00+00:00", "ended": f"2026-11-28T{ended}+00:00"}
        run = cast("Run", SimpleNamespace(manifest=times, directory="r"))
        with notices.heard(said.append):
            notices.say_again(run, "samples")
    assert said == [
        "r: repeats the run with samples",
        "r: repeats the run with samples; the run took 2 s, and recording takes longer",
        "r: repeats the run with samples; the run took 1 min 00 s, and recording takes longer",
    ]


@pytest.mark.usefixtures("undrawn")
def test_what_runs_again_says_so_first(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each appears once, and none if nothing is repeated."""
    # A loaded machine may have taken longer.
    monkeypatch.setattr(notices, "seconds", lambda _: 0.0)
    command("run", str(small), "--out", "r", code=0)
    samples = "r: repeats the run with a sample every 1 us, for figures over time"
    for words, said in (
        (("why", "r"), ["r: repeats the run with waits and causes of pauses recorded"]),
        (("report", "r"), [samples, "report: report.html"]),
        (("report", "r"), ["report: report.html"]),
    ):
        done = command(*words)
        assert (done.code, done.err.splitlines()) == (0, said)


@pytest.mark.usefixtures("undrawn")
def test_a_run_that_was_stopped_is_reported_as_it_is(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not repeated, and the first line reports that it was interrupted."""
    long = backwater.load(small).set("flow.incast.size", "100 GB")
    with monkeypatch.context() as stopping:
        stopping.setattr(Stop, "is_set", lambda _: True)
        with pytest.raises(backwater.Interrupted):
            long.run(out="r")
    for words, last in ((("report",), "report: report.html"), (("deck",), " slides: talk.pptx")):
        done = command(*words, "r")
        first, *_, end = done.err.splitlines()
        assert (done.code, first) == (0, "The run is interrupted.")
        assert end.endswith(last)
