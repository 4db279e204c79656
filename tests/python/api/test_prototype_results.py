"""Results of a control that is a Python class, read in a process without the class."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import backwater
from kit.command import Command
from kit.scenarios import flow, star

PROGRAM = """
import backwater

class Fixed(backwater.Control):
    window = 20_000

    def on_start(self):
        self.window_bytes = self.window

scenario = backwater.load("plain.toml")
law = lambda scenario: scenario.prototype(Fixed, window=60_000)
law(scenario).run(out="bare", seed=1)
law(scenario.set("output.waits", ["all"])).run(out="waits", seed=1)
causes = scenario.set("output.waits", ["incast"]).set("output.pause_causes", True)
law(causes).run(out="full", seed=1)
"""
PLAIN = f"""{star(5, title="Incast")}
[switch]
buffer = "4 MB"
[pfc]
xoff = "40 KB"
xon = "20 KB"
{flow("1..4", 0, "200 KB", "incast")}
"""


@pytest.fixture
def runs(command: Command) -> None:  # noqa: ARG001 - for its working directory
    Path("plain.toml").write_text(PLAIN, encoding="utf-8")
    Path("program.py").write_text(PROGRAM, encoding="utf-8")
    subprocess.run([sys.executable, "program.py"], check=True, env=os.environ)


@pytest.mark.usefixtures("runs")
def test_why_uses_what_is_recorded(command: Command) -> None:
    for name in ("full", "waits"):
        said = command("why", name, "--json", "w.json", code=0)
        [told] = json.loads(Path("w.json").read_text())["runs"]
        run = backwater.open_run(name)
        assert (told["repeated"], told["fingerprint"]) == (False, run.fingerprint)
        assert told["waits"]["total_ps"] == sum(run.waits["wait_ps"].to_pylist()) > 0
        # A window of 60 KB exceeds xoff: ports are paused, and `waits` has not recorded why.
        assert sum(run.ports["pauses_received"].to_pylist()) > 0
        unrecorded = "First pause: not recorded (output.pause_causes)." in said.out
        assert (unrecorded, told["unrecorded"] != []) == (
            (True, True) if name == "waits" else (0, 0)
        )
    two = command("why", "full", "plain.toml", code=0)
    assert "Where they diverge cannot be found here: full: its control Fixed-" in two.out


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("what", ["bare", "full,pfc.xoff=30KB"])
def test_what_is_not_recorded_is_not_run_here(what: str, command: Command) -> None:
    said = command("why", what, code=2)
    assert "is a class of a Python program, and runs only there" in said.err
    advice = '.set("output.waits", ["all"]).set("output.pause_causes", True).prototype(CLASS).run('
    assert advice in said.err


@pytest.mark.usefixtures("runs")
def test_a_comparison_is_lent_the_run(command: Command) -> None:
    said = command("compare", "bare", "plain.toml", "--seeds", "1..1", "--json", "-", code=0)
    [row] = [r for r in json.loads(said.out)["rows"] if r["metric"] == "mean_fct:incast"]
    times = backwater.open_run("bare").flows["fct_last_ack_ps"].to_pylist()
    assert row["scenarios"][0]["mean"] == pytest.approx(sum(times) / len(times) / 1e6)
    more = command("compare", "plain.toml", "bare", "--seeds", "1..3", code=2)
    assert "bare: lacks 2 runs (seed 2, 3), and none can be done here: its control" in more.err
    assert "--seeds 1..1 takes what is there" in more.err


@pytest.mark.usefixtures("runs", "undrawn")
def test_a_report_advises_python(command: Command) -> None:
    command("report", "bare", "-o", "bare.html", code=0)
    page = html.unescape(Path("bare.html").read_text(encoding="utf-8"))
    assert 'run it in its program: scenario.set("output.interval", "1 us")' in page
    assert 'scenario.prototype(CLASS).run(out="again", seed=1)' in page
    assert "could not be repeated to record them: its control Fixed-" in page
    assert ", window=60000.0: 4 of 4 flows complete" in page
    assert "--set output" not in page
    assert "backwater run scenario.toml" not in page
