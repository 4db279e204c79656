"""Errors of options name the option and its value, and their hints show what to do."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import backwater
from kit.command import Command
from kit.results import Shared
from kit.scenarios import flow, star
from kit.sweeping import HOT

MATRIX = "Nodes 2\nConnections 1\n0->1 id 1 start 0 size 1000\n"
ASKED: dict[str, str] = {
    # They have the name of the option, not that of a parameter of Python or the core.
    "run hot.toml --until soon --save f": "--until: `soon` is not a time\nhint: write",
    "run hot.toml --every 1ps --save f": "--every 1ps: less than 1 us of simulated time\nhint: at",
    "run hot.toml --capture nope -o c": "--capture: `nope` names no port\nhint: give all",
    "run hot.toml --capture s0:9 -o c": "--capture: `s0:9` names no port\nhint: s0 has the ports",
    "run hot.toml --capture s0 -o c --capture-kind x": "--capture-kind: `x` is no kind of\nhint: k",
    "run hot.toml --capture s0 -o c --capture-class 9": "--capture-class: 9 is no class\nhint: 0",
    "run hot.toml --capture s0 -o c --capture-snap 0": "--capture-snap: `0` has no unit\nhint: uni",
    "run hot.toml --capture s0 -o c --capture-limit x": "--capture-limit: `x` is not a\nhint: w",
    "run hot.toml --seed x": "--seed x: is not a whole number\nhint: see `backwater run --help`",
    "run hot.toml --seed -1": "--seed -1: is less than 0\nhint: see `backwater run --help`",
    "run --from nope": "--from nope: there is no such file\nhint: `backwater run FILE --until T -",
    "advise pfc --rate x": "--rate: `x` is not a rate\nhint: write",
    "advise pfc --link-delay x": "--link-delay: `x` is not a time\nhint: write",
    "import m.cm -o n.toml --zero-at x": "--zero-at: `x` is not a time\nhint: write",
    "import m.cm -o n.toml --memory x": "--memory: `x` is not a size\nhint: write",
    "import m.cm -o n.toml --response x": "--response: `x` is not a time\nhint: write",
    "import m.cm -o n.toml --response 2s": "--response 2s: too long for a port\nhint: at most 1 s",
    "import m.cm -o n.toml --servers 0": "--servers 0: out of range\nhint: from 1 to 4096",
    "import m.cm -o n.toml --start-unit ms": "--start-unit ms: unknown unit\nhint: us or ps",
    # They have the given value, and values that would do.
    "import nope.cm": "nope.cm: there is no such file\nhint: name files of another tool",
    "import hot.toml": "hot.toml: is a scenario of Backwater\nhint: `backwater run hot.toml` run",
    "import hot.toml -o n.toml": "hot.toml: is a scenario of Backwater\nhint: `backwater run hot",
    "import m.cm -o n.toml --fabric nope.toml": "--fabric nope.toml: there is no such file\nhint: ",
    "import m.cm -o n.toml --fabric hot.toml@pfc": "--fabric hot.toml@pfc: there is no such file\n"
    "hint: the variants of hot.toml come with it: --fabric hot.toml, then n.toml@pfc",
    "compare hot.toml hot.toml@pfc --metric p999_fct": "--metric p999_fct: a percentile is from p0 "
    "to p100\nhint: as in p99_fct or p99.9_fct",
    "compare hot.toml hot.toml@pfc --out run": "run: holds results of a run\nhint: give --out",
    "sweep hot.toml --variant pfc,pfc": "--variant pfc: is named twice\nhint: leave one out",
    "report run --figures hot.toml": "--figures hot.toml: is a file, not a directory\nhint: name",
    "report runs/seed-9": "runs/seed-9: the series has no run with that seed\nhint: its",
    "deck runs/seed-9": "runs/seed-9: the series has no run with that seed\nhint: its",
    "jobs runs/seed-9": "runs/seed-9: the series has no run with that seed\nhint: its",
    "jobs runs": "runs: holds a series of runs, not a run\nhint: its runs are runs/seed-N",
    "jobs points": "points: holds a sweep, not a run\nhint: name a directory that `backwater",
    "jobs nope": "nope: not a result directory, it has no manifest.json\nhint: name a directory "
    "that `backwater run --out` wrote",
    "export nope --to fct": "nope: not a result directory, it has no manifest.json\nhint: name a "
    "directory that `backwater run --out` wrote",
    "export runs --to fct --run 9": "runs/seed-9: the series has no run with that seed\nhint: its ",
    "export run --to goal": "run: the run has no jobs\nhint: GOAL is of jobs",
    "export run --to qlen": "run: the run has no samples of queue lengths\nhint: run it with",
}


@pytest.fixture(autouse=True)
def place(
    command: Command, shared_folders: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work in a directory with a scenario, a matrix, a run, a series and a sweep."""

    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "hot.toml").write_text(HOT, encoding="utf-8")
        (folder / "m.cm").write_text(MATRIX, encoding="utf-8")
        monkeypatch.chdir(folder)
        backwater.load("hot.toml").run(out="run")
        backwater.load("hot.toml").run(out="runs", seeds=2)
        command("sweep", "hot.toml", "--vary", "flow.hot.size=1 KB,2 KB", "--out", "points", code=0)

    folder = shared_folders.folder("option-errors", make)
    for one in folder.iterdir():
        (tmp_path / one.name).symlink_to(one)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("asked", ASKED)
def test_it_names_the_option_and_says_what_to_do(asked: str, command: Command) -> None:
    said = command(*shlex.split(asked))
    assert said.code in (1, 2)
    reason, hint = ASKED[asked].split("\nhint: ")
    assert said.err.startswith(f"error: {reason}"), said.err
    assert f"\nhint: {hint}" in said.err, said.err


def test_what_is_asked_of_no_flow_is_told_before_a_run_is_done_again(command: Command) -> None:
    said = command("why", "run", "--flow", "nope", code=2)
    assert said.err.startswith("error: --flow nope: the run has no such flow or group of flows")


def test_python_hears_the_same(tmp_path: Path) -> None:
    """Arguments in Python have the names of the options."""
    scenario = backwater.load("hot.toml")
    with pytest.raises(backwater.ScenarioError, match="--until: `soon` is not a time"):
        scenario.save(tmp_path / "f", until="soon")
    with pytest.raises(
        backwater.ResultError, match=r"holds a series of runs, not a run\nhint: its"
    ):
        backwater.open_run("runs", backwater.Run)


LOSSLESS = f"""
lossless = true
{star(3)}
[switch]
buffer = "800 KB"
buffer_per = "ingress"
[pfc]
xoff = "340 KB"
xon = "240 KB"
{flow("1..2", 0, "200 KB", "incast")}
"""
MOVED = "caused by --set flow.incast.class=4: without it the scenario is good\nhint: name the"
COMBINED: dict[str, str] = {
    "check a.toml --set flow.incast.class=4": MOVED,
    "check a.toml --set seed=3 --set=flow.incast.class=4": MOVED,
    "run a.toml --set flow.incast.class=4": MOVED,
    "why a.toml --set flow.incast.class=4": MOVED,
    "sweep a.toml --set flow.incast.class=4 --vary pfc.xon=9KB,8KB": MOVED,
    "run a.toml --set pfc.xoff=1KB --set flow.incast.class=4": "caused by --set pfc.xoff=1KB\n",
    # No option sets it.
    "sweep a.toml --vary flow.incast.class=4,5": "caused by flow.incast.class=4: without it",
    "compare a.toml a.toml,flow.incast.class=4": "caused by flow.incast.class=4: without it",
}


@pytest.mark.parametrize("asked", COMBINED)
def test_what_a_combination_makes_wrong_names_the_option(
    asked: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.toml").write_text(LOSSLESS, encoding="utf-8")
    command("check", "a.toml", code=0)
    said = command(*shlex.split(asked), code=2)
    assert "error: a.toml:" in said.err
    assert COMBINED[asked] in said.err
    assert said.err.count("caused by") == 1


def test_what_is_wrong_without_options_names_none(command: Command, tmp_path: Path) -> None:
    text = LOSSLESS.replace('size = "200 KB"', 'size = "200 KB"\nclass = 4')
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    for more in ((), ("--set", "seed=3"), ("--set", "pfc.xoff=300 KB")):
        said = command("check", "a.toml", *more, code=2)
        assert "caused by" not in said.err
