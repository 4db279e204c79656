"""Goals of sweeps: their syntax, their searches, and that a search is reproducible."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater.errors import InputError
from backwater.manifest import SWEEP, read_manifest
from backwater.plot.sweep import SweepPlots
from backwater.sweep.bisect import Bisection
from backwater.sweep.conditions import SHOWN, names, sql
from backwater.sweep.goal import Goal
from backwater.sweep.plan import Plan
from backwater.sweep.values import axis
from kit.command import Command, Said
from kit.sweeping import HOT, Cluster, rows, run_here, until


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Return the options of a cluster, for tests that kill commands."""
    one = Cluster(tmp_path / "cluster", workers=1)
    one.start()
    yield "--scheduler", one.address
    one.close()


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run points in the process of the tests, unless the command is a separate one."""
    run_here(monkeypatch)


def searched(holds: list[bool]) -> Bisection:
    """Search among values for which the condition is known."""
    search = Bisection(len(holds))
    while asked := search.ask():
        for number in asked:
            search.tell(number, holds=holds[number])
    return search


@pytest.mark.parametrize("count", [2, 3, 5, 17, 101])
def test_bisection_finds_what_looking_at_every_value_finds(count: int) -> None:
    for first in range(count + 1):
        search = searched([number < first for number in range(count)])
        assert search.low == (first - 1 if first else None)
        assert search.high == (first if first < count else None)
        assert not search.against
        # Five values at first, then halves of a quarter.
        assert len(search.held) <= 5 + (count // 4).bit_length()


def test_bisection_says_where_it_cannot_be_trusted() -> None:
    # It holds at the first fifth and at the last value.
    search = searched([*[True] * 20, *[False] * 80, True])
    assert (search.low, search.high, search.against) == (19, 20, [100])
    # It does not hold at the first value: the search ends.
    search = searched([False, *[True] * 9])
    assert search.low is None
    assert search.high == 0
    assert search.against


def test_what_is_left_is_an_upper_bound() -> None:
    for count, seed in itertools.product((2, 9, 64, 333), range(5)):
        first = random.Random(seed).randrange(count + 1)
        search = Bisection(count)
        bound = search.left
        looked = 0
        while asked := search.ask():
            for number in asked:
                search.tell(number, holds=number < first)
            looked += len(asked)
            assert looked + search.left <= bound
        assert looked <= bound


def test_a_goal_is_read() -> None:
    goal = Goal.of("largest sfc.threshold in 20 KB..40 KB step 10 KB where pauses == 0")
    assert goal.axis is not None
    assert [value.text for value in goal.axis.values] == ["20 KB", "30 KB", "40 KB"]
    assert (goal.largest, goal.threshold, goal.named) == (True, True, ["pauses"])
    goal = Goal.of("smallest  pfc.xoff where drops == 0 and p99_fct:a < 5 us")
    assert (goal.axis, goal.largest, goal.named) == (None, False, ["drops", "p99_fct:a"])
    goal = Goal.of("p99_fct:victim min, busbw:a/b max where drops == 0")
    assert goal.metrics == (("p99_fct:victim", True), ("busbw:a/b", False))
    # An interval without a step has its ends and 127 values between them.
    goal = Goal.of("smallest sfc.pause in 0 us..128 us where pauses == 0")
    assert goal.axis is not None
    assert [value.text for value in goal.axis.values[:3]] == ["0 ps", "1 us", "2 us"]
    assert len(goal.axis.values) == 129


def test_metrics_have_their_own_units_in_conditions() -> None:
    assert sql("p99_fct:victim < 50 us", SHOWN) == "p99_fct_victim < 50.0"
    assert sql("max_fct:a <= 1 ms and mean_goodput:a > 40 Gb/s", SHOWN) == (
        "max_fct_a <= 1000.0 and mean_goodput_a > 40.0"
    )
    assert sql("bytes:a == 2 KB", SHOWN) == "bytes_a = 2000"
    assert sql('"p99_fct:a b" > 1', SHOWN) == "p99_fct_a_b > 1"
    assert names("abs(drops) = 0 and not p99_fct:x is null or variant == 'drops2'") == [
        *("drops", "p99_fct:x", "variant"),
    ]


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        ("victim", "`victim` is not METRIC min or METRIC max"),
        ("max_fct:victim min where", "its condition is empty"),
        ("largest pfc.xoff", "it has no `where CONDITION`"),
        ("drops min, pauses min, unfinished min", "has 3 metrics, and 2 are possible"),
        ("drops min, drops max", "it names drops twice"),
        ("max_fct:victm min", "no group of flows is called victm"),
        ("max_fcts:victim min", "there is no such metric"),
        ("largest pfc.xoff where drops == 0", "has no range of pfc.xoff"),
        ("largest pfc.xoff in 20 KB..10 KB where drops == 0", "is empty, 20 KB is more than 10 KB"),
        ("largest pfc.xoff in 20 KB where drops == 0", "has one value"),
        ("largest pfc.xoff in 3 KB..9 KB where pfc.xon > 2 KB", "pfc.xon is a key"),
        ("largest pfc.xoff in 3 KB..9 KB where drops <", "--goal … where drops <"),
        (
            "largest pfc.xoff in 3 KB..9 KB where avg(pauses) < 3",
            "where avg(pauses) < 3: `avg(pauses)` needs many points",
        ),
        ("max_fct:victim min where drops < MAX(drops)", "`MAX(drops)` needs many points"),
        ("max_fct:victim min where count(*) > 1", "`count(*)` needs many points"),
        ("max_fct:victim min where quantile_cont(drops, 0.5) < 1", "needs many points"),
        ("max_fct:victim min where sum(drops) over () < 1", "`sum(drops)` needs many points"),
        ("max_fct:victim min where drops in (select 1)", "`select` needs many points"),
        ("largest pfc.xof in 3 KB..9 KB where drops == 0", "pfc.xof"),
        ("max_fct:victim min", "nothing is varied"),
    ],
)
def test_invalid_goals_are_refused(command: Command, hot: Path, goal: str, reason: str) -> None:
    variant = [] if goal == "max_fct:victim min" else ["--variant", "pfc"]
    vary = ["--vary", "switch.buffer=200 KB,300 KB"] if goal[:6] in ("max_fc", "victim") else []
    said = command("sweep", str(hot), *variant, *(vary if variant else []), "--goal", goal, code=2)
    assert reason in said.err
    assert "hint: " in said.err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--trials", "5"], "--trials: needs a goal"),
        (["--base", "pfc"], "--base: needs a goal"),
        (["--goal", "drops min", "--trials", "0"], "--trials 0: not from 1"),
        (["--goal", "drops min", "--trials", "3", "--sample", "lhs 3"], "exclude each other"),
        (
            ["--goal", "largest pfc.xoff in 3 KB..9 KB where drops == 0", "--trials", "5"],
            "a threshold is bisected, not drawn",
        ),
        (
            ["--goal", "largest switch.buffer in 3 KB..9 KB where drops == 0"],
            "--vary switch.buffer also has its values",
        ),
    ],
)
def test_options_of_goals_that_exclude_each_other(
    command: Command, hot: Path, options: list[str], reason: str
) -> None:
    said = command("sweep", str(hot), "--variant", "pfc", "--vary", BUFFERS, *options, code=2)
    assert reason in said.err


BUFFERS = "switch.buffer=100 KB,200 KB"
XOFF = "pfc.xoff=5 KB..75 KB step 5 KB"


def answer(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_manifest(directory, SWEEP)["answer"]
    return found


def test_a_threshold_is_the_one_of_the_whole_grid(
    command: Command, hot: Path, tmp_path: Path
) -> None:
    """The expected threshold comes from all points of the grid."""
    goal = "smallest pfc.xoff where pauses <= 4"
    begin = ("sweep", str(hot), "--variant", "pfc", "--seeds", "1..3")
    command(*begin, "--vary", XOFF, "--out", "all", code=0)
    said = command(*begin, "--vary", XOFF, "--goal", goal, "--out", "sought", code=0)
    held: dict[int, bool] = {}
    for row in rows(tmp_path / "all"):
        held[row["pfc.xoff"]] = held.get(row["pfc.xoff"], True) and row["pauses"] <= 4
    [line] = answer(tmp_path / "sought")["lines"]
    least = min(value for value in held if all(held[one] for one in held if one >= value))
    assert line["answer"] == f"{least // 1000} KB"
    assert 5 < least // 1000 < 75
    assert f"smallest pfc.xoff: {line['answer']}, with all of 3 seeds" in said.out
    # The search has fewer points, with the same numbers.
    sought, whole = rows(tmp_path / "sought"), rows(tmp_path / "all")
    assert len(sought) < len(whole)
    by_id = {row["point"]: row["fingerprint"] for row in whole}
    mine = {row["point"]: row["fingerprint"] for row in sought if row["point"] in by_id}
    assert len(mine) >= len(sought) - 3
    assert mine.items() <= by_id.items()
    # Existing points do not run again.
    said = command(*begin, "--vary", XOFF, "--goal", goal, "--out", "all", "--json", "-")
    told = json.loads(said.out)
    assert told["fresh"] == len(sought) - len(mine)
    assert told["goal"]["lines"] == [line]


def test_a_goal_that_nothing_meets_is_reported(command: Command, hot: Path) -> None:
    goal = "largest pfc.xoff in 5 KB..25 KB step 5 KB where unfinished > 0"
    said = command("sweep", str(hot), "--variant", "pfc", "--goal", goal, "--out", "o", code=1)
    assert "no pfc.xoff from 5 KB to 25 KB" in said.out
    goal = "max_fct:victim min where unfinished > 0"
    said = command(
        *(
            "sweep",
            str(hot),
            "--variant",
            "pfc",
            "--vary",
            BUFFERS,
            "--goal",
            goal,
            "--out",
            "p",
        ),
        code=1,
    )
    assert "no point: 2 sets of values were tried, 0 of which meet" in said.out


def test_a_percentile_of_too_few_flows_is_no_goal(command: Command, hot: Path) -> None:
    goal = ["--goal", "p99_fct:victim min"]
    begin = ("sweep", str(hot), "--variant", "pfc", "--vary", BUFFERS)
    said = command(*begin, *goal, "--out", "o", code=2)
    assert "p99_fct:victim has no value at any point" in said.err
    assert "max_" in said.err


def test_the_best_point_is_that_of_all_points(command: Command, hot: Path, tmp_path: Path) -> None:
    command(
        *("sweep", str(hot), "--variant", "pfc", "--vary", XOFF, "--seeds", "1..3"),
        *("--goal", "mean_fct:hot min where drops == 0", "--out", "o"),
        code=0,
    )
    means: dict[str, list[float]] = {}
    for row in rows(tmp_path / "o"):
        means.setdefault(f"{row['pfc.xoff'] // 1000} KB", []).append(row["mean_fct:hot"])
    least = min(means, key=lambda text: sum(means[text]))
    [best] = answer(tmp_path / "o")["points"]
    assert best["values"] == {"pfc.xoff": least}
    # The base is the scenario's own value, 20 KB, which is one of the points.
    assert answer(tmp_path / "o")["base"] == "pfc, pfc.xoff 20 KB"
    assert len(rows(tmp_path / "o")) == 45
    [test] = [one for one in best["tests"] if one["metric"] == "mean_fct:hot"]
    assert test["value"]["mean"] == pytest.approx(sum(means[least]) / 3)
    assert test["base"]["mean"] == pytest.approx(sum(means["20 KB"]) / 3)


def trials(command: Command, hot: Path, *more: str, out: str = "o", many: int = 16) -> Said:
    """Search with Optuna; `more`: options for where it runs."""
    return command(
        *("sweep", str(hot), "--variant", "pfc", "--vary", "pfc.xoff=5 KB..150 KB"),
        *("--vary", "topology.link_delay=100ns..2us", "--seeds", "1..2"),
        *("--goal", "max_fct:victim min where drops == 0", "--out", out),
        *("--trials", str(many), *more),
    )


def test_a_search_is_reproducible_and_continues(
    command: Command, hot: Path, tmp_path: Path
) -> None:
    assert trials(command, hot, out="whole").code == 0
    assert trials(command, hot, out="parts", many=6).code == 0
    assert len(rows(tmp_path / "parts")) == 2 * 6 + 2
    said = trials(command, hot, "--json", "-", out="parts")
    assert json.loads(said.out)["fresh"] == 2 * 10
    keys = ("point", "fingerprint", "pfc.xoff", "topology.link_delay")
    same = [[[row[key] for key in keys] for row in rows(tmp_path / d)] for d in ("whole", "parts")]
    assert same[0] == same[1]
    assert answer(tmp_path / "whole") == answer(tmp_path / "parts")
    # Another seed of the sampler draws other points.
    assert trials(command, hot, "--sample-seed", "2", out="other").code == 0
    assert {row["point"] for row in rows(tmp_path / "other")} != {one[0] for one in same[0]}


@pytest.mark.parametrize(
    ("goal", "more", "most"),
    [
        # Five values, then at most two halvings of a quarter of 14 values; two seeds; the base.
        ("smallest pfc.xoff in 5 KB..75 KB step 5 KB where pauses == 0", [], (5 + 2) * 2 + 2),
        ("max_fct:victim min", ["--vary", XOFF], 15 * 2 + 2),
        ("max_fct:victim min", ["--vary", XOFF, "--trials", "7"], 7 * 2 + 2),
    ],
)
def test_a_search_is_estimated_before_it_runs(
    command: Command, hot: Path, tmp_path: Path, goal: str, more: list[str], most: int
) -> None:
    begin = ("sweep", str(hot), "--variant", "pfc", "--seeds", "1..2", "--goal", goal, *more)
    said = command(*begin, "--dry-run", "--json", "-", "--out", "o", code=0)
    assert json.loads(said.out)["points"] == most
    assert f"at most {most} points" in said.err
    assert not (tmp_path / "o").exists()


def test_optuna_opens_the_trials(command: Command, hot: Path, tmp_path: Path) -> None:
    import optuna
    from optuna.storages.journal import JournalFileBackend

    assert trials(command, hot, many=12).code == 0
    backend = JournalFileBackend(str(tmp_path / "o" / "optuna.log"))
    storage = optuna.storages.JournalStorage(backend)
    study = optuna.load_study(study_name="backwater", storage=storage)
    assert len(study.trials) == 12
    [best] = answer(tmp_path / "o")["points"]
    [test] = [one for one in best["tests"] if one["metric"] == "max_fct:victim"]
    assert study.best_value == pytest.approx(test["value"]["mean"])


def test_a_killed_search_ends_with_the_same_points(
    command: Command, hot: Path, tmp_path: Path, cluster: tuple[str, str]
) -> None:
    begin = ["sweep", str(hot), "--variant", "pfc", "--seeds", "1..8", *cluster]
    begin += ["--goal", "smallest pfc.xoff in 3 KB..130 KB step 1 KB where pauses == 0"]
    command(*begin, "--out", "whole", code=0)
    wanted = rows(tmp_path / "whole")
    for parts in (1, 3):
        process = subprocess.Popen(
            [sys.executable, "-m", "backwater", *begin, "--out", "killed"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        folder = tmp_path / "killed" / "points"
        assert until(120, lambda folder=folder, n=parts: len(list(folder.glob("part-*"))) >= n)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert len(rows(tmp_path / "killed")) < len(wanted)
    command("status", "killed", code=3)
    command(*begin, "--out", "killed", code=0)
    assert rows(tmp_path / "killed") == wanted
    assert answer(tmp_path / "killed") == answer(tmp_path / "whole")
    command("status", "killed", code=0)


def test_a_threshold_is_sought_for_each_other_value(
    command: Command, hot: Path, tmp_path: Path
) -> None:
    goal = "smallest pfc.xoff in 5 KB..75 KB step 5 KB where pauses <= 4"
    said = command(
        *("sweep", str(hot), "--variant", "pfc", "--vary", "topology.link_delay=100ns,5us"),
        *("--goal", goal, "--out", "o", "--json", "-"),
    )
    lines = json.loads(said.out)["goal"]["lines"]
    assert [line["others"] for line in lines] == [
        {"topology.link_delay": "100 ns"},
        {"topology.link_delay": "5 us"},
    ]
    assert all(line["answer"] for line in lines)
    # The base has the scenario's own delay, 500 ns, and figures do not show it.
    plots = SweepPlots(backwater.open_sweep(tmp_path / "o"))
    assert {one.values[0] for one in plots.designs} == {100_000, 5_000_000}
    assert plots.base is not None
    assert plots.base.values == (500_000, 20_000)
    # The same command again finds all points, and the base stays apart.
    again = command(
        *("sweep", str(hot), "--variant", "pfc", "--vary", "topology.link_delay=5us,100ns"),
        *("--goal", goal, "--out", "o", "--json", "-"),
    )
    assert json.loads(again.out)["fresh"] == 0
    assert SweepPlots(backwater.open_sweep(tmp_path / "o")).apart == 1
    said = command("query", "o", "select distinct topology_link_delay d from points where base")
    assert said.out.split() == ["d", "500000"]
    # Points that a later command requests are no longer apart.
    more = ("--vary", "pfc.xoff=20 KB", "--vary", "topology.link_delay=500ns")
    command("sweep", str(hot), "--variant", "pfc", *more, "--out", "o", code=0)
    assert SweepPlots(backwater.open_sweep(tmp_path / "o")).apart == 0
    said = command("query", "o", "select count(*) n from points where base")
    assert said.out.split() == ["n", "0"]


def test_a_file_may_say_the_goal(command: Command, hot: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        f'[sweep]\nscenario = "{hot.name}"\nvariants = ["pfc"]\n'
        'goal = "smallest pfc.xoff in 5 KB..75 KB step 5 KB where pauses <= 4"\n'
    )
    command("sweep", "s.toml", "--out", "o", code=0)
    assert answer(tmp_path / "o")["kind"] == "threshold"


def test_points_of_given_values_are_those_of_a_grid() -> None:
    case = backwater.parse(HOT).variant("pfc")
    grid = Plan(
        {"pfc": case}, (axis("pfc.xoff", "10 KB,20 KB"), axis("switch.buffer", "1 MB")), (1, 2)
    )
    some = [("pfc", (grid.axes[0].values[1], grid.axes[1].values[0]))]
    _, [points] = grid.exactly(some)
    assert [point.id for point in points] == [point.id for point in grid.points[2:]]


def test_a_condition_of_another_unit_than_its_metric_is_refused() -> None:
    with pytest.raises(InputError, match="`3 KB` is a size, and p99_fct:victim is in us"):
        Goal.of("max_fct:victim min where p99_fct:victim < 3 KB").see([])
    assert Goal.of("max_fct:victim min where p99_fct:victim < 3 ms").see([])
