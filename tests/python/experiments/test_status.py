"""How far series, comparisons and studies are, while they run and when they were killed."""

from __future__ import annotations

import json
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

import backwater
from backwater import study
from backwater.journal import Journal, append
from backwater.study import definition
from kit.command import start
from kit.studies import write_random_study
from kit.sweeping import HOT, until

if TYPE_CHECKING:
    from pathlib import Path

    from kit.command import Command


@pytest.fixture
def hot(tmp_path: Path) -> Path:
    path = tmp_path / "hot.toml"
    path.write_text(HOT, encoding="utf-8")
    return path


def told(command: Command, directory: str) -> tuple[int, dict[str, object]]:
    said = command("status", directory, "--json", "-")
    facts = json.loads(said.out)
    return said.code, {name: facts[name] for name in ("points", "done", "failed", "heard")}


def test_a_series_under_way_and_one_that_was_killed(
    command: Command, hot: Path, tmp_path: Path
) -> None:
    hot.write_text(HOT.replace('"90 KB"', '"30 MB"'), encoding="utf-8")
    with start("run", "hot.toml@pfc", "--seeds", "400", "--out", "s", cwd=tmp_path) as process:
        assert until(30, lambda: (tmp_path / "s" / "runs.jsonl").exists())
        assert until(30, lambda: command("status", "s").out.startswith("s: running, process"))
        assert until(30, lambda: int(str(told(command, "s")[1]["done"])) > 1)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    code, facts = told(command, "s")
    assert (code, facts["points"], facts["heard"]) == (3, 400, "killed")
    assert 1 < int(str(facts["done"])) < 400
    said = command("status", "s").out.splitlines()
    assert said[0] == "s: killed"
    assert said[1].endswith(f"{facts['done']} of 400 runs done")


def test_a_comparison_is_counted_with_all_scenarios(
    command: Command, hot: Path, tmp_path: Path
) -> None:
    assert hot.exists()
    words = ("compare", "hot.toml", "hot.toml@pfc", "--seeds", "2", "--out", "c")
    assert command(*words).code == 0
    whole = {"points": 4, "done": 4, "failed": 0, "heard": "done"}
    assert told(command, "c") == (0, whole)
    shutil.rmtree(next((tmp_path / "c").glob("hot-pfc-*")))
    assert told(command, "c") == (3, whole | {"done": 2})


def test_a_study_is_counted_with_what_was_measured_elsewhere(
    command: Command, tmp_path: Path
) -> None:
    small = definition.read(write_random_study(tmp_path))
    study.reproduce(small, out=tmp_path / "o")
    whole = {"points": 11, "done": 11, "failed": 0, "heard": "done"}
    assert told(command, "o") == (0, whole)
    study.reproduce(small, out=tmp_path / "p", measured=tmp_path / "o" / "measured.jsonl")
    assert not (tmp_path / "p" / "runs").exists()
    assert told(command, "p") == (0, whole)


def test_a_run_that_failed_counts_as_that(command: Command, hot: Path, tmp_path: Path) -> None:
    backwater.load(hot).run(seeds=3, out=tmp_path / "s")
    line = Journal.read(tmp_path / "s").runs[2]
    append(tmp_path / "s", [line | {"status": "failed", "error": "by hand"}])
    assert told(command, "s") == (1, {"points": 3, "done": 2, "failed": 1, "heard": "done"})
    assert "1 runs have failed" in command("status", "s").out


def test_one_run_has_no_status(command: Command, hot: Path, tmp_path: Path) -> None:
    backwater.load(hot).run(out=tmp_path / "r")
    said = command("status", "r")
    assert said.code == 1
    assert "r: holds a run, not a sweep or series of runs" in said.err
