"""Several seeds in one call of `run`: of a scenario, and of a control that is a Python class."""

# Hooks have arguments that they may not use.
# ruff: noqa: ARG002

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import backwater
from backwater import Acknowledgement, Control, InputError, RunError, Scenario
from kit.command import Command
from kit.scenarios import star

# Flows with random arrivals, so that seeds differ; the switch has room for a window of each flow.
RANDOM = f"""{star(5, title="Random")}
[switch]
buffer = "4 MB"
[[flow]]
label = "rpc"
pattern = "random"
arrivals = "poisson"
load = "40 %"
size = "100 KB"
until = "40 us"
"""


class Dicing(Control):
    """A window chosen by the flow's random numbers."""

    most = 40

    def on_start(self) -> None:
        self.window_bytes = self.random.randint(2, self.most) * self.payload_bytes


def scenario() -> Scenario:
    return backwater.parse(RANDOM)


def prints(runs: list[backwater.Run]) -> list[tuple[int, str | None]]:
    return [(run.seed, run.fingerprint) for run in runs]


def test_it_is_the_series_of_the_command(command: Command, tmp_path: Path) -> None:
    (tmp_path / "random.toml").write_text(RANDOM, encoding="utf-8")
    command("run", "random.toml", "--seeds", "3", "--out", "told", code=0)
    series = backwater.load("random.toml").run(seeds=3, out="made")
    told = backwater.open_run("told", backwater.Series)
    assert prints(series.runs) == prints(told.runs)
    assert len({run.fingerprint for run in series.runs}) == 3
    assert series.statistics.equals(told.statistics)
    assert series.directory == Path("made")
    assert series.status == "done"
    names = ("kind", "format", "runs", "warnings", "versions")
    assert {name: series.manifest[name] for name in names} == {
        name: told.manifest[name] for name in names
    }
    # Each continues the series that the other has made.
    said = command("run", "random.toml", "--seeds", "3", "--out", "made")
    assert "3 of 3 runs are in made already" in said.err


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    told: list[int] = []
    place = tmp_path / "made"
    first = scenario().run(seeds=2, out=place)
    more = scenario().run(seeds=3, out=place, progress=lambda status: told.append(status.events))
    assert prints(more.runs)[:2] == prints(first.runs)
    begun = len(told)
    assert begun > 0
    scenario().run(seeds=range(1, 4), out=place, progress=lambda status: told.append(status.events))
    assert len(told) == begun
    with pytest.raises(InputError, match="holds runs of another scenario"):
        scenario().set("flow.rpc.size", "50 KB").run(seeds=3, out=place)
    other = scenario().set("flow.rpc.size", "50 KB").run(seeds=3, out=place, force=True)
    assert prints(other.runs) != prints(more.runs)


def test_without_a_directory_it_is_kept_in_memory(tmp_path: Path) -> None:
    series = scenario().run(seeds=[4, 2])
    assert series.directory is None
    assert prints(series.runs) == [(n, scenario().run(seed=n).fingerprint) for n in (4, 2)]
    kept = scenario().run(seeds=[4, 2], out=tmp_path / "kept")
    assert prints(kept.runs) == prints(series.runs)
    assert series.statistics.equals(kept.statistics)
    assert series.status == kept.status == "done"
    assert series.manifest["runs"] == kept.manifest["runs"] == ["seed-4", "seed-2"]


def test_a_number_counts_from_the_scenario_s_own_seed() -> None:
    seven = scenario().set("seed", 7)
    assert [run.seed for run in seven.run(seeds=2).runs] == [7, 8]
    assert [run.seed for run in seven.run(seeds=np.arange(2)).runs] == [0, 1]


@pytest.mark.parametrize(
    ("seeds", "reason"),
    [
        (0, "that is no seed at all"),
        (-1, "that is no seed at all"),
        ([], "that is no seed at all"),
        (100_001, "100001 seeds: more than 100000"),
        (True, "neither a number nor numbers"),
        ("1..3", "neither a number nor numbers"),
        (2.0, "neither a number nor numbers"),
        ([1, "2"], "neither a number nor numbers"),
        ([1, -2], "-2 is not a seed"),
        ([1, 2**64], f"{2**64} is not a seed"),
        ([1, 2, 1], "1 is listed twice"),
    ],
)
def test_what_are_no_seeds_is_refused(seeds: int | list[int], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        scenario().run(seeds=seeds)


@pytest.mark.parametrize(
    "given",
    [{"seed": 1}, {"threads": 2}, {"save": "f", "every": "1 ms"}],
    ids=lambda given: next(iter(given)),
)
def test_what_is_of_one_run_excludes_several(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(given))} and seeds exclude each other"):
        scenario().run(seeds=2, **given)


@pytest.mark.parametrize("out", [None, "made"])
def test_each_run_of_a_class_is_as_it_is_alone(out: str | None, tmp_path: Path) -> None:
    own = scenario().prototype(Dicing)
    series = own.run(seeds=4, out=None if out is None else tmp_path / out)
    assert prints(series.runs) == [(n, own.run(seed=n).fingerprint) for n in range(1, 5)]
    assert len({run.fingerprint for run in series.runs}) == 4


def test_runs_of_a_class_come_one_after_another_in_this_thread() -> None:
    """Two runs never change the attributes of a class at the same time."""

    class Telling(Dicing):
        heard: ClassVar[list[tuple[int, int]]] = []

        def on_ack(self, ack: Acknowledgement) -> None:
            self.heard.append((threading.get_ident(), self.now_ps))

    series = scenario().prototype(Telling).run(seeds=3)
    assert {thread for thread, _ in Telling.heard} == {threading.get_ident()}
    times = [time for _, time in Telling.heard]
    begun = [0, *(n for n in range(1, len(times)) if times[n] < times[n - 1])]
    assert len(begun) == len(series.runs) == 3


def counting(at: int, act: Callable[[], object]) -> type[Control]:
    """Make a class that acts when flow number `at`, counted over all runs, begins."""

    class Counting(Dicing):
        begun: ClassVar[list[int]] = []

        def on_start(self) -> None:
            super().on_start()
            self.begun.append(self.src)
            if len(self.begun) == at:
                act()

    return Counting


def by_hand() -> None:
    raise ZeroDivisionError("by hand")


def test_an_error_of_a_class_leaves_the_runs_that_are_done(tmp_path: Path) -> None:
    first = scenario().run(seed=1).summary["flows"]
    faulty = scenario().prototype(counting(first + 1, by_hand))
    with pytest.raises(RunError, match=r"ZeroDivisionError: by hand") as caught:
        faulty.run(seeds=3, out=tmp_path / "made")
    assert caught.value.run.seed == 2
    series = backwater.open_run(tmp_path / "made", backwater.Series)
    assert series.status == "failed"
    assert [run.status for run in series.runs] == ["done", "failed", "done"]


def test_a_signal_leaves_the_runs_that_are_done(tmp_path: Path) -> None:
    first = scenario().run(seed=1).summary["flows"]
    stopped = counting(first + 1, lambda: os.kill(os.getpid(), signal.SIGINT))
    own = scenario().prototype(stopped)
    with pytest.raises(backwater.Interrupted) as caught:
        own.run(seeds=9, out=tmp_path / "made")
    assert [run.seed for run in caught.value.runs] == [1, 2]
    series = backwater.open_run(tmp_path / "made", backwater.Series)
    assert series.status == "interrupted"
    again = own.run(seeds=9, out=tmp_path / "made")
    assert [run.status for run in again.runs] == ["done"] * 9


PROGRAM = """
import backwater

class Halved(backwater.Control):
    packets = 2

    def on_start(self):
        self.window_bytes = self.packets * self.payload_bytes

backwater.load("random.toml").prototype(Halved).run(seeds=5, out="mine")
"""


@pytest.mark.usefixtures("undrawn")
def test_the_command_compares_the_seeds_of_a_class(command: Command, tmp_path: Path) -> None:
    """It prints intervals and a winner, although the class is in another program."""
    (tmp_path / "random.toml").write_text(RANDOM, encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    subprocess.run([sys.executable, "program.py"], check=True)
    said = command("compare", "random.toml", "mine", "--seeds", "5", "--json", "-", code=0)
    assert "5 are done already, 5 to do" in said.err
    [row] = [r for r in json.loads(said.out)["rows"] if r["metric"] == "mean_fct:rpc"]
    assert (row["verdict"], row["winners"]) == ("winner", ["random.toml"])
    assert row["scenarios"][1]["difference"]["ci_low"] > 0
    command("report", "mine", "-o", "page.html", code=0)
    more = command("compare", "random.toml", "mine", "--seeds", "1..7", code=2)
    assert (
        "scenario.prototype(CLASS).run(out=DIR, seeds=range(1, 8)); --seeds 1..5 takes" in more.err
    )


def test_a_second_seed_into_the_directory_of_a_run_is_told_of_seeds(tmp_path: Path) -> None:
    scenario().run(seed=1, out=tmp_path / "made")
    with pytest.raises(InputError, match=r"of another seed\nhint: .*`--seeds`, or seeds=N in Pyth"):
        scenario().run(seed=2, out=tmp_path / "made")
