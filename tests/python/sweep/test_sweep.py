"""Sweeps: their points, the stored results, and how a sweep continues."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import multiprocessing
import pickle
import re
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import backwater
from backwater.errors import InputError, ResultError
from backwater.numbers.arrays import array
from backwater.numbers.metrics import metric
from backwater.numbers.named import named
from backwater.sweep.conditions import sql
from backwater.sweep.costs import Costs
from backwater.sweep.plan import Plan, Point, Sampling
from backwater.sweep.store import POINTS, Span, Store, files, read, spans
from backwater.sweep.values import axis, plain
from kit.command import Command, Said, run_apart
from kit.scenarios import star
from kit.sweeping import HOT, Cluster, rows

BUFFERS = "switch.buffer=100 KB..200 KB step 50 KB"
DELAYS = "topology.link_delay=500ns,1us"


class Sweeper:
    """Runs `backwater sweep hot.toml` on the cluster of these tests."""

    def __init__(self, command: Command, cluster: Cluster, file: Path) -> None:
        self.command, self.cluster, self.file = command, cluster, file

    def __call__(self, *arguments: str, code: int | None = None) -> Said:
        where = ("--scheduler", self.cluster.address)
        return self.command("sweep", str(self.file), *arguments, *where, code=code)


@pytest.fixture
def sweep(command: Command, cluster: Cluster, hot: Path) -> Sweeper:
    return Sweeper(command, cluster, hot)


def texts(key: str, values: object) -> list[str]:
    return [value.text for value in axis(key, values).values]


def test_values_are_lists_and_ranges_with_units() -> None:
    assert texts("sfc.threshold", "100 KB..160 KB step 20 KB") == [
        *("100 KB", "120 KB"),
        *("140 KB", "160 KB"),
    ]
    assert texts("sfc.pause", "3us, 6000 ns,0.012 ms") == ["3 us", "6 us", "12 us"]
    assert texts("topology.rate", "10 Gb/s..40 Gb/s in 4") == [
        f"{n} Gb/s" for n in (10, 20, 30, 40)
    ]
    # 1, 10 and 100 are evenly spaced on a logarithmic scale.
    assert texts("sfc.pause", "1 us..100 us in 3 log") == ["1 us", "10 us", "100 us"]
    assert texts("ecn.pmax", "0.1..0.3 step 0.1") == ["0.1", "0.2", "0.3"]
    # The last value is below the end of the range if the step does not reach it.
    assert texts("topology.hosts", "2..9 step 3") == ["2", "5", "8"]
    assert texts("switch.buffer", ["1 MB", "2 MB"]) == ["1 MB", "2 MB"]
    assert texts("flow.0.from", "[1, 2], 3") == ["[1, 2]", "3"]
    assert axis("sfc.pause", "3us").values[0].number == 3_000_000
    assert axis("sfc.pause", "3us").unit == "ps"
    assert axis("pfc.threshold", "static,dynamic").unit is None


@pytest.mark.parametrize(
    ("key", "values", "reason"),
    [
        ("switch.buffer", "3 us", "`us` is not a unit of a size"),
        ("switch.buffer", "30 KB..10 KB", "is empty, 30 KB is more than 10 KB"),
        ("switch.buffer", "1 KB..3 KB step 0 B", "the step is not above 0"),
        ("switch.buffer", "1 KB..5 KB step 1 KB,4 KB..9 KB step 1 KB", "has 4 KB more than once"),
        ("switch.buffer", "1 KB..1 GB step 1 B", "999999001 values, more than 1000000"),
        ("switch.buffer", "1 KB,,2 KB", "a value is empty"),
        ("switch.buffer", "", "has no value"),
        ("switch.buffer", "1 KB..2 KB,3 KB", "is an interval, beside other values"),
        ("sfc.pause", "0 ns..1 us in 3 log", "a logarithmic scale cannot begin at 0 ns"),
        ("topology.hosts", "2.5", "`2.5` is not a whole number"),
        ("switch.bufer", "1 KB", "did you mean `switch.buffer`?"),
    ],
)
def test_invalid_values_are_refused(key: str, values: str, reason: str) -> None:
    with pytest.raises(InputError, match="--vary") as refused:
        axis(key, values)
    assert reason in str(refused.value)
    assert refused.value.hint is not None or "more than 1000000" in reason


def plan(*vary: str, seeds: tuple[int, ...] = (1,), variant: str = "", **more: object) -> Plan:
    case = backwater.parse(HOT)
    cases = {name: case.variant(name) if name else case for name in variant.split("|")}
    axes = tuple(axis(*one.split("=", 1)) for one in vary)
    return Plan(cases, axes, seeds, **more)  # type: ignore[arg-type]


def settings(one: Plan) -> list[tuple[str, ...]]:
    return [
        (point.variant, *(text for _, text in one.settings(point)), str(point.seed))
        for point in one.points
    ]


def test_all_combinations_are_points() -> None:
    assert settings(plan(BUFFERS, DELAYS, seeds=(1, 2))) == [
        ("", buffer, delay, seed)
        for buffer in ("100 KB", "150 KB", "200 KB")
        for delay in ("500 ns", "1 us")
        for seed in ("1", "2")
    ]


def test_keys_go_together() -> None:
    together = plan(
        "switch.buffer=100KB,200KB",
        "topology.hosts=5,6",
        DELAYS,
        zipped=(("switch.buffer", "topology.link_delay"),),
    )
    assert settings(together) == [
        ("", buffer, hosts, delay, "1")
        for buffer, delay in (("100 KB", "500 ns"), ("200 KB", "1 us"))
        for hosts in ("5", "6")
    ]
    with pytest.raises(InputError, match="numbers of values differ"):
        plan(BUFFERS, DELAYS, zipped=(("switch.buffer", "topology.link_delay"),))


def test_conditions_leave_points_out() -> None:
    held = plan(
        BUFFERS,
        DELAYS,
        seeds=(1, 2),
        where=("switch.buffer < 180 KB", "topology.link_delay == 1 us or seed = 2"),
    )
    assert settings(held) == [
        ("", buffer, delay, seed)
        for buffer in ("100 KB", "150 KB")
        for delay, seed in (("500 ns", "2"), ("1 us", "1"), ("1 us", "2"))
    ]
    with pytest.raises(InputError, match="leaves no point"):
        _ = plan(BUFFERS, where=("switch.buffer > 1 GB",)).points
    with pytest.raises(InputError, match="a condition uses variant, switch_buffer, seed"):
        _ = plan(BUFFERS, where=("buffers > 1",)).points
    with pytest.raises(InputError, match=r"there is no switch\.bufer"):
        _ = plan(BUFFERS, where=("switch.bufer > 1 KB",)).points
    # Whether a point is run must not depend on other points.
    with pytest.raises(InputError, match=r"`avg\(switch\.buffer\)` needs many points"):
        _ = plan(BUFFERS, where=("switch.buffer > avg(switch.buffer)",)).points
    some = plan(BUFFERS, where=("greatest(abs(switch.buffer), 1) <= 100 KB and (seed in (1, 2))",))
    assert len(some.points) == 1
    # Quoted text does not change.
    assert sql("sfc.pause >= 3 us and variant == 'a.b == 3 us'") == (
        "sfc_pause >= 3000000 and variant = 'a.b == 3 us'"
    )


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("switch.buffer < 3 us", "`3 us` is a time, and switch.buffer is in B"),
        ("2 Gb/s >= switch_buffer or seed = 1", "`2 Gb/s` is a rate, and switch_buffer is in B"),
        ("seed == 1 and seed < 0 ms", "`0 ms` is a time, and seed is a number"),
    ],
)
def test_conditions_of_units_that_do_not_fit_are_refused(condition: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        _ = plan(BUFFERS, where=(condition,)).points
    assert str(refused.value).startswith(f"--where {condition}: {reason}\nhint: ")


@pytest.mark.parametrize("how", ["random", "lhs"])
def test_samples_are_within_their_intervals_and_reproducible(how: str) -> None:
    def drawn(seed: int) -> list[tuple[str, ...]]:
        sampling = Sampling.of(f"{how} 20", seed)
        return settings(plan("switch.buffer=100 KB..200 KB", DELAYS, sampling=sampling))

    found = drawn(1)
    assert found == drawn(1)
    assert found != drawn(2)
    assert len(found) == 20
    buffers = [int(axis("switch.buffer", one[1]).values[0].number or 0) for one in found]
    assert all(100_000 <= one <= 200_000 for one in buffers)
    assert {one[2] for one in found} == {"500 ns", "1 us"}
    if how == "lhs":
        # A Latin hypercube has one sample in each twentieth of the interval.
        assert sorted((one - 100_000) * 20 // 100_001 for one in buffers) == list(range(20))


def test_more_random_samples_begin_with_the_fewer() -> None:
    few, many = (
        plan("switch.buffer=100 KB..200 KB", DELAYS, sampling=Sampling.of(f"random {n}", 1)).points
        for n in (5, 9)
    )
    assert [one.id for one in many[:5]] == [one.id for one in few]


def test_an_interval_needs_samples() -> None:
    with pytest.raises(InputError, match="an interval does not name the values to run"):
        plan("switch.buffer=100 KB..200 KB")


def test_a_key_of_a_mechanism_that_is_off_multiplies_no_points() -> None:
    both = plan("pfc.xoff=10KB,20KB", BUFFERS, variant="|pfc")
    assert settings(both) == [
        *(("", buffer, "1") for buffer in ("100 KB", "150 KB", "200 KB")),
        *(
            ("pfc", xoff, buffer, "1")
            for xoff in ("10 KB", "20 KB")
            for buffer in ("100 KB", "150 KB", "200 KB")
        ),
    ]
    with pytest.raises(InputError, match="`pfc` is off in every variant"):
        _ = plan("pfc.xoff=10KB,20KB").points


def test_a_switch_that_is_varied_decides_which_keys_count() -> None:
    found = plan("pfc=true,false", "pfc.xoff=10KB,20KB", variant="pfc")
    assert settings(found) == [
        ("pfc", "true", "10 KB", "1"),
        ("pfc", "true", "20 KB", "1"),
        ("pfc", "false", "1"),
    ]


def test_an_id_depends_on_the_point_alone() -> None:
    few = {one.id for one in plan(BUFFERS, seeds=(1, 2)).points}
    more = {one.id for one in plan("switch.buffer=50KB,0.1 MB,150KB,200KB", seeds=(1, 2, 3)).points}
    assert few < more
    assert len(more) == 12


def test_a_billion_points_are_refused_at_once() -> None:
    with pytest.raises(InputError, match="1000000000 points, more than 1000000"):
        plan(
            "switch.buffer=1 KB..1000 KB step 1 KB",
            "topology.link_delay=1 ns..1000 ns step 1 ns",
            seeds=tuple(range(1000)),
        )


def test_the_numbers_of_points_are_those_of_metrics() -> None:
    """Metrics of jobs and of flows have the values that single queries of them return."""
    job = f"""{star(4, rate="10 Gb/s")}
[[job]]
label = "train"
ranks = 4
hosts = "0..3"
[[job.step]]
label = "sum"
kind = "all-reduce"
size = "100 KB"
"""
    checked = 0
    for text in (HOT, job):
        case = backwater.parse(text)
        run = (case.variant("pfc") if case.variants else case).run()
        for one, value in named(run):
            asked = metric(one.name)
            assert asked == one
            assert asked.of(run) == value, one.name
            checked += value is not None
    assert checked > 40


def table(first: int, many: int) -> dict[str, pa.Table]:
    ids = [f"{n:04}" for n in range(first, first + many)]
    return {
        "points": pa.table({"point": ids, "status": ["done"] * many}),
        "timings": pa.table({"point": ids, "seconds": [0.5] * many}),
    }


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, -(2**62)], pa.int64()),
        ([1.5, None, 2, float("inf")], pa.float64()),
        (["a", None, "", "\u00fc\u20ac"], pa.string()),
        ([["a", "b"], [], None, ["c"]], pa.list_(pa.string())),
        ([], pa.list_(pa.string())),
        ([], pa.float64()),
        ([None] * 9, pa.string()),
    ],
)
def test_arrays_are_those_of_the_library(values: list[object], kind: pa.DataType) -> None:
    made = array(values, kind)
    made.validate(full=True)
    assert made.equals(pa.array(values, kind))


def test_a_point_imports_no_library_of_tables(hot: Path) -> None:
    """Their import takes longer than a hundred tiny points, in each worker."""
    script = (
        "import sys, backwater\n"
        "from backwater.experiments.builds import code\n"
        "from backwater.sweep.point import Recipe, run_points\n"
        f"case = backwater.load({str(hot)!r}).variant('pfc')\n"
        "recipe = Recipe({'pfc': case}, (), (), True, code())\n"
        "rows = run_points(recipe, [('0' * 16, 'pfc', (), (), 1)])\n"
        "assert rows['points']['status'].to_pylist() == ['done'], rows\n"
        "print([name for name in ('pandas', 'polars', 'distributed') if name in sys.modules])\n"
    )
    said = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert said.strip() == "[]"


def test_merging_parts_loses_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number in range(70):
        store.add(table(number, 1))
    assert spans(tmp_path, POINTS) == [Span(0, 31), Span(32, 63)] + [
        Span(n, n) for n in range(64, 70)
    ]
    store.close()
    assert spans(tmp_path, POINTS) == spans(tmp_path, "timings") == [Span(0, 69)]
    assert len(list((tmp_path / POINTS).iterdir())) == 1
    expected = [f"{n:04}" for n in range(70)]
    for name in (POINTS, "timings"):
        assert read(files(tmp_path, name))["point"].to_pylist() == expected


def test_leftovers_of_a_kill_are_not_read_twice(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number in range(3):
        store.add(table(number, 1))
    # Killed after the merge and before the merged parts were removed.
    both = read(files(tmp_path, POINTS))
    pq.write_table(both, tmp_path / POINTS / Span(0, 2).name)
    assert read(files(tmp_path, POINTS))["point"].to_pylist() == ["0000", "0001", "0002"]
    # Killed after timings were written and before their points were.
    pq.write_table(table(9, 1)["timings"], tmp_path / "timings" / Span(3, 3).name)
    assert read(files(tmp_path, "timings"))["point"].to_pylist() == ["0000", "0001", "0002"]
    again = Store(tmp_path)
    assert len(list((tmp_path / POINTS).iterdir())) == 1
    again.add(table(3, 1))
    for name in (POINTS, "timings"):
        assert read(files(tmp_path, name))["point"].to_pylist() == [f"{n:04}" for n in range(4)]


def test_costs_depend_on_values() -> None:
    one = plan(BUFFERS, DELAYS)
    costs = Costs(one, one.points)
    assert costs.expected([0, 1]) is None
    for place, point in enumerate(one.points):
        # The last buffer takes nine times as long.
        costs.took(place, 9.0 if point.values[0] == 2 else 1.0)
    expected = costs.expected(range(6))
    assert expected is not None
    assert list(expected[:4]) == pytest.approx([expected[0]] * 4)
    # Two points of 1 s and two of the mean, 11/3 s, against two of 9 s and two of the mean.
    assert expected[4] / expected[0] == pytest.approx((9 + 11 / 3) / (1 + 11 / 3))


def test_a_sweep_keeps_the_numbers_of_single_runs(sweep: Sweeper, tmp_path: Path) -> None:
    said = sweep(
        "--vary", "pfc.xoff=10KB,20KB", "--seeds", "1..2", "--variant", "pfc", "--out", "o", code=0
    )
    assert "4 points: 2 of pfc.xoff, 2 seeds" in said.err
    found = rows(tmp_path / "o")
    assert len(found) == 4
    case = backwater.load(sweep.file).variant("pfc")
    for row in found:
        run = case.set("pfc.xoff", f"{row['pfc.xoff']} B").run(seed=row["seed"])
        assert row["fingerprint"] == run.fingerprint
        assert row["max_fct:victim"] == metric("max_fct:victim").of(run)
        assert row["pauses"] == metric("pauses").of(run)
        assert row["status"] == "done"
        assert row["warnings"] == [one["message"] for one in run.warnings]
    assert {row["pauses"] for row in found} != {0}
    timings = backwater.open_sweep("o").arrow("timings")
    assert {row["point"] for row in timings.to_pylist()} == {row["point"] for row in found}


def test_only_added_points_run(sweep: Sweeper, tmp_path: Path) -> None:
    said = sweep("--vary", BUFFERS, "--out", "o", "--json", "-")
    assert (said.code, json.loads(said.out)["fresh"]) == (0, 3)
    before = rows(tmp_path / "o")
    said = sweep("--vary", BUFFERS, "--out", "o", "--json", "-")
    assert (said.code, json.loads(said.out)["fresh"]) == (0, 0)
    assert rows(tmp_path / "o") == before
    more = "switch.buffer=100KB,150KB,170KB,200KB"
    said = sweep("--vary", more, "--seeds", "1..2", "--out", "o", "--json", "-")
    assert (said.code, json.loads(said.out)["fresh"]) == (0, 5)
    assert "3 of them are in o already" in said.err
    now = rows(tmp_path / "o")
    assert len(now) == 8
    assert [row for row in now if row["seed"] == 1 and row["switch.buffer"] != 170_000] == before


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--set", "topology.rate=20 Gb/s"), "topology.rate is 20 Gb/s, and was 10 Gb/s"),
        (("--vary", DELAYS), "its sweep varies switch.buffer (B), and this one"),
        (("--metric", "p90_fct:hot"), "its points were run without p90_fct:hot"),
    ],
)
def test_another_sweep_is_refused_unless_asked_for(
    sweep: Sweeper, more: tuple[str, ...], reason: str
) -> None:
    sweep("--vary", BUFFERS, "--out", "o", code=0)
    said = sweep("--vary", BUFFERS, *more, "--out", "o", code=2)
    assert reason in said.err
    assert "--force to run all points again" in said.err
    said = sweep("--vary", BUFFERS, *more, "--out", "o", "--force", "--json", "-", code=0)
    assert json.loads(said.out)["fresh"] >= 3


def test_a_file_has_changed_if_its_values_have(sweep: Sweeper) -> None:
    sweep("--vary", BUFFERS, "--out", "o", code=0)
    sweep.file.write_text(f"# A remark.\n{HOT}", encoding="utf-8")
    sweep("--vary", BUFFERS, "--out", "o", code=0)
    sweep.file.write_text(HOT.replace('"90 KB"', '"91 KB"'), encoding="utf-8")
    said = sweep("--vary", BUFFERS, "--out", "o", code=2)
    assert "o: holds points of another scenario: flow.0.size is 91 KB, and was 90 KB" in said.err


def test_keys_in_another_order_are_the_same_sweep(sweep: Sweeper, tmp_path: Path) -> None:
    sweep("--vary", BUFFERS, "--vary", DELAYS, "--out", "o", code=0)
    before = rows(tmp_path / "o")
    said = sweep("--vary", DELAYS, "--vary", BUFFERS, "--out", "o", "--json", "-", code=0)
    assert json.loads(said.out)["fresh"] == 0
    assert rows(tmp_path / "o") == before
    said = sweep("--vary", DELAYS, "--vary", f"{BUFFERS},1 MB", "--out", "o", "--json", "-")
    assert json.loads(said.out)["fresh"] == 2
    assert len(rows(tmp_path / "o")) == len(before) + 2


@pytest.mark.parametrize("how", ["random 5", "lhs 5"])
def test_samples_of_keys_in_another_order_are_the_same(how: str) -> None:
    vary = ("switch.buffer=100 KB..200 KB", "topology.link_delay=100 ns..1 us")
    drawn = [plan(*some, sampling=Sampling.of(how, 1)).points for some in (vary, vary[::-1])]
    assert [one.id for one in drawn[0]] == [one.id for one in drawn[1]]


def refused(sweep: Sweeper, again: tuple[str, ...], change: Callable[[], object]) -> str:
    """Return the error of a command that would continue a sweep after a change."""
    sweep(*again, code=0)
    sweep(*again, code=0)
    change()
    said = sweep(*again, code=2)
    return said.err


def test_a_change_where_a_switch_is_on_is_refused(sweep: Sweeper) -> None:
    # At the first point `pfc` is off and has no keys.
    file = HOT.replace("[variant.pfc.pfc]", "[pfc]")
    sweep.file.write_text(file, encoding="utf-8")
    changed = file.replace('"20 KB"', '"60 KB"')
    again = ("--vary", "pfc=false,true", "--out", "o")
    said = refused(sweep, again, lambda: sweep.file.write_text(changed, encoding="utf-8"))
    assert "pfc.xoff is 60 KB, and was 20 KB" in said


def test_a_changed_file_among_several_is_refused(sweep: Sweeper, tmp_path: Path) -> None:
    head = "id,src,dst,bytes,start\n"
    for name, size in (("a", 50_000), ("b", 60_000)):
        (tmp_path / f"{name}.csv").write_text(f"{head}0,h1,h0,{size},0\n", encoding="utf-8")
    flows = HOT.index("[[flow]]")
    text = HOT[:flows] + '[[flow]]\nlabel = "w"\ntable = "a.csv"\n'
    sweep.file.write_text(text, encoding="utf-8")
    changed = f"{head}0,h1,h0,900000,0\n"
    again = ("--vary", "flow.w.table=a.csv,b.csv", "--out", "o")
    said = refused(sweep, again, lambda: (tmp_path / "b.csv").write_text(changed, encoding="utf-8"))
    assert "files of flows differ" in said


def test_a_changed_base_is_refused(sweep: Sweeper) -> None:
    goal = ("--goal", "largest pfc.xoff in 15 KB..25 KB step 5 KB where pauses >= 1")
    again = ("--variant", "pfc", *goal, "--base", "b", "--out", "o")
    text = f'{HOT}[variant.b.pfc]\nxoff = "10 KB"\nxon = "3 KB"\n'
    changed = text.replace('"3 KB"', '"1 KB"')
    sweep.file.write_text(text, encoding="utf-8")
    said = refused(sweep, again, lambda: sweep.file.write_text(changed, encoding="utf-8"))
    assert "of variant b" in said


@pytest.mark.parametrize("odd", ["40 Kbytes", "200 K", "0.6 usec", "3 kb"])
def test_an_unknown_unit_is_refused(sweep: Sweeper, odd: str) -> None:
    said = sweep("--vary", BUFFERS, "--where", f"switch.buffer > {odd}", "--out", "o", code=2)
    assert f"`{odd}` in a condition is no size, time or rate" in said.err


def test_another_build_is_refused(sweep: Sweeper, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep("--vary", BUFFERS, "--out", "o", code=0)
    monkeypatch.setattr("backwater.sweep.run.code", lambda: {"backwater": "9.9", "build": "x"})
    said = sweep("--vary", BUFFERS, "--out", "o", code=2)
    assert "was made by another version or build" in said.err


def test_a_point_that_fails_is_a_row_and_is_tried_again(sweep: Sweeper, tmp_path: Path) -> None:
    # xoff cannot be below xon, 2 KB.
    vary = ("--variant", "pfc", "--vary", "pfc.xoff=20KB,1KB,10KB", "--out", "o", "--json", "-")
    said = sweep(*vary)
    told = json.loads(said.out)
    assert (said.code, told["done"], told["failed"]) == (1, 2, 1)
    assert "xon (2 KB) is above xoff (1 KB)" in told["errors"][0]["error"]
    failed = [row for row in rows(tmp_path / "o") if row["status"] == "failed"]
    assert [row["pfc.xoff"] for row in failed] == [1000]
    assert failed[0]["fingerprint"] is None
    said = sweep(*vary, "--dry-run")
    assert json.loads(said.out)["missing"] == 1
    said = sweep(*vary)
    assert (said.code, json.loads(said.out)["fresh"]) == (1, 1)
    assert "1 of 3 points have failed; the same command tries them again" in said.err
    assert len(rows(tmp_path / "o")) == 3


def test_a_sweep_of_nothing_but_errors_is_refused(sweep: Sweeper, tmp_path: Path) -> None:
    said = sweep("--variant", "pfc", "--vary", "pfc.xoff=1KB,1500B", "--out", "o", code=2)
    assert "xon (2 KB) is above xoff (1 KB)" in said.err
    assert not (tmp_path / "o").exists()


def test_a_file_says_the_same_as_options(sweep: Sweeper, command: Command, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        """
[sweep]
scenario = "hot.toml"
seeds = "1..2"
where = "switch.buffer > 100 KB"
keep = ["flows"]
[sweep.vary]
"switch.buffer" = "100 KB..200 KB step 50 KB"
"topology.link_delay" = ["500 ns", "1 us"]
""",
        encoding="utf-8",
    )
    command("sweep", str(file), "--out", "a", "--scheduler", sweep.cluster.address, code=0)
    options = ["--vary", BUFFERS, "--vary", DELAYS, "--seeds", "1..2", "--keep", "flows"]
    sweep(*options, "--where", "switch.buffer > 100 KB", "--out", "b", code=0)
    assert rows(tmp_path / "a") == rows(tmp_path / "b")
    assert len(rows(tmp_path / "a")) == 8
    flows = backwater.open_sweep(tmp_path / "a").arrow("flows")
    assert flows.num_rows == 8 * 4
    assert set(flows["point"].to_pylist()) == {row["point"] for row in rows(tmp_path / "a")}
    file.write_text("[sweep]\nscenario = 'hot.toml'\nvery = 3\n", encoding="utf-8")
    said = command("sweep", str(file), code=2)
    assert "very" in said.err
    assert "its keys are scenario, vary, variants" in said.err


def test_a_sweep_is_counted_and_estimated_before_it_runs(sweep: Sweeper, tmp_path: Path) -> None:
    said = sweep("--vary", BUFFERS, "--seeds", "1..4", "--dry-run", "--json", "-")
    told = json.loads(said.out)
    assert (said.code, told["points"], told["missing"]) == (0, 12, 12)
    assert 0 < told["seconds_per_point"] < 10
    assert 0 < told["bytes"] < 12 * 4096
    assert not (tmp_path / "o").exists()


def test_check_knows_a_sweep(sweep: Sweeper, command: Command, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    text = "[sweep]\nscenario = 'hot.toml'\nvary = { 'switch.buffer' = ['1 MB', '2 MB'] }\n"
    file.write_text(text, encoding="utf-8")
    assert sweep.file.exists()
    said = command("check", str(file), code=0)
    assert "2 points: 2 of switch.buffer, 1 seed" in said.err
    assert re.search(
        r"^estimate by pilots: .* a point, .* for 2 on \d+ processors?, .* of disk at most$",
        said.err,
        re.M,
    )


def test_sql_uses_plain_names(sweep: Sweeper, command: Command) -> None:
    sweep("--vary", BUFFERS, "--seeds", "1..2", "--out", "o", code=0)
    ask = 'select switch_buffer, count(*) n, max("drops") d from points group by 1 order by 1'
    said = command("query", "o", ask, "--json", "-")
    answer = json.loads(said.out)
    assert [(one["switch_buffer"], one["n"]) for one in answer] == [
        *((100_000, 2), (150_000, 2)),
        (200_000, 2),
    ]
    one = command("query", "o", "select unit from columns where name = 'switch.buffer'")
    assert one.out.split() == ["unit", "B"]
    said = command("query", "o", "select count(*) n from metrics where metric = 'drops'")
    assert said.out.split() == ["n", "6"]
    listed = command("query", "o")
    assert "p99_fct_victim" in listed.out
    assert "failed points with their errors" in listed.out
    said = command("query", "o", "select nothing from points", code=2)
    assert "hint: views: points, metrics" in said.err
    assert "Traceback" not in said.err


def test_a_sweep_is_a_table_of_polars_and_pandas(sweep: Sweeper) -> None:
    sweep("--vary", BUFFERS, "--out", "o", code=0)
    opened = backwater.open_run("o", of=backwater.Sweep)
    assert opened.status == "done"
    assert sorted(opened.polars()["switch.buffer"]) == [100_000, 150_000, 200_000]
    assert sorted(opened.pandas()["switch.buffer"]) == [100_000, 150_000, 200_000]
    field = opened.points.schema.field("mean_fct:hot")
    assert (field.metadata or {})[b"unit"] == b"us"


def test_a_damaged_part_is_refused(sweep: Sweeper, tmp_path: Path) -> None:
    sweep("--vary", BUFFERS, "--out", "o", code=0)
    [part] = (tmp_path / "o" / "points").iterdir()
    content = bytearray(part.read_bytes())
    content[100] ^= 1
    part.write_bytes(content)
    with pytest.raises(ResultError, match="has changed since it was written"):
        backwater.open_sweep("o")
    said = sweep("--vary", BUFFERS, "--seeds", "1..2", "--out", "o", code=1)
    assert "has changed since it was written" in said.err
    sweep("--vary", BUFFERS, "--seeds", "1..2", "--out", "o", "--force", code=0)


def test_status_says_how_far_it_is(sweep: Sweeper, command: Command, tmp_path: Path) -> None:
    sweep("--vary", BUFFERS, "--out", "o", code=0)
    said = command("status", "o")
    assert (said.code, said.out) == (0, "Hot: done\n100 % · 3 of 3 points done\n")
    file = tmp_path / "o" / "progress.json"
    # The manifest has the number of requested points, the rows that of done ones.
    told = {"points": 9, "done": 1, "updated": "2026-01-01T00:00:00+00:00"}
    left = json.loads(file.read_text()) | told
    file.write_text(json.dumps(left), encoding="utf-8")
    from backwater.manifest import SWEEP, read_manifest, write_manifest

    write_manifest(tmp_path / "o", read_manifest(tmp_path / "o", SWEEP) | {"status": "running"})
    said = command("status", "o", code=3)
    assert "Hot: no progress for" in said.out
    assert "33 % · 3 of 9 points done" in said.out


def test_progress_goes_to_machines_and_not_to_logs(sweep: Sweeper) -> None:
    said = sweep("--vary", BUFFERS, "--out", "a")
    assert "progress" not in said.err
    said = sweep("--vary", BUFFERS, "--out", "b", "--json-progress")
    lines = [json.loads(one) for one in said.err.splitlines() if one.startswith("{")]
    assert lines[-1]["event"] == "progress"
    assert (lines[-1]["points"], lines[-1]["done"], lines[-1]["failed"]) == (3, 3, 0)


def test_other_results_are_not_replaced(sweep: Sweeper, command: Command) -> None:
    assert command("run", str(sweep.file), "--out", "o").code in (0, 3)
    said = sweep("--vary", BUFFERS, "--out", "o", code=2)
    assert "holds results of a run" in said.err
    sweep("--vary", BUFFERS, "--out", "o", "--force", code=0)
    command("run", str(sweep.file), "--out", "o", code=2)


def test_a_scheduler_that_does_not_answer_is_reported(
    command: Command, hot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backwater.experiments.clusters.CONNECT_SECONDS", 0.3)
    said = command(
        *("sweep", str(hot), "--vary", BUFFERS, "--out", "o"),
        *("--scheduler", "tcp://127.0.0.1:9"),
        code=2,
    )
    assert "--scheduler tcp://127.0.0.1:9: does not answer" in said.err
    assert "`dask scheduler`" in said.err


class Page(socketserver.BaseRequestHandler):
    """Answers every request as a web server does."""

    def handle(self) -> None:
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        self.request.recv(1024)


def test_a_page_in_place_of_a_scheduler_is_reported(command: Command, hot: Path) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.server_address[1]}"
        said = command("sweep", str(hot), "--vary", BUFFERS, "--out", "o", "--scheduler", address)
        server.shutdown()
    assert said.code == 2
    assert f"error: --scheduler {address}: what answers there is no scheduler of Dask" in said.err


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--scheduler", "node1"), "--scheduler node1: is no address: missing port number"),
        (("--scheduler", "http://node1:1"), "--scheduler http://node1:1: is no address: unknown"),
        (("--memory", "3 MB"), "--memory 3 MB: too little"),
        (("--memory", "3"), "--memory: `3` has no unit"),
        (("--workers", "0"), "--workers 0: not from 1 to 1024"),
        (("--seeds", "1..1000000000"), "--seeds 1..1000000000: more than 100000 seeds"),
        (("--seeds", "5..1"), "--seeds 5..1: is an empty range"),
        (("--vary", "pfc.xof=1 KB"), "--vary pfc.xof: `pfc` has no key `xof`"),
        (("--vary", "pfc.xoff=much"), "--vary pfc.xoff=much: `much` is not a size"),
        (("--vary", "topology.hosts=many"), "--vary topology.hosts=many: needs a whole number"),
    ],
)
def test_invalid_options_are_refused(
    command: Command, hot: Path, tmp_path: Path, more: tuple[str, ...], reason: str
) -> None:
    said = command("sweep", str(hot), "--variant", "pfc", "--out", "o", *more, code=2)
    assert f"error: {reason}" in said.err
    assert "hint: " in said.err
    assert not (tmp_path / "o").exists()


def test_another_cluster_on_this_machine_is_not_in_the_way(hot: Path, tmp_path: Path) -> None:
    # Dask's scheduler opens a web page at port 8787, and warns if that is in use.
    with socket.socket() as other:
        with contextlib.suppress(OSError):  # The scheduler of another test may already use it.
            other.bind(("0.0.0.0", 8787))
            other.listen()
        made = run_apart(
            *("sweep", str(hot), "--vary", DELAYS, "--workers", "1", "--out", "o"),
            cwd=tmp_path,
            python=("-W", "error::UserWarning"),
        )
    assert made.code == 0, made.err
    assert "8787" not in made.err


def test_a_full_disk_is_reported(sweep: Sweeper, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("backwater.sweep.store.replacing", full)
    said = sweep("--vary", BUFFERS, "--out", "o", code=1)
    assert "cannot write results: No space left on device" in said.err
    assert "free some space, and the same command resumes it" in said.err
    monkeypatch.undo()


def fingerprint(case: backwater.Scenario) -> str | None:
    return case.run().fingerprint


def ran(case: backwater.Scenario) -> backwater.Run:
    return case.run()


def test_scenarios_and_results_are_pickled(tmp_path: Path) -> None:
    case = backwater.parse(HOT).variant("pfc").set("pfc.xoff", "15 KB").set("seed", 3)
    again = pickle.loads(pickle.dumps(case))
    assert again.resolved() == case.resolved()
    assert again.facts == case.facts
    run = case.run()
    same = pickle.loads(pickle.dumps(run))
    assert same.fingerprint == run.fingerprint
    assert same.flows.equals(run.flows)
    assert same.ports.equals(run.ports)
    kept = case.run(out=tmp_path / "o")
    assert pickle.loads(pickle.dumps(kept)).flows.num_rows == run.flows.num_rows


def test_pickled_errors_keep_their_text() -> None:
    with pytest.raises(backwater.ScenarioError) as refused:
        backwater.parse(HOT).set("switch.buffer", "3 us").check()
    same = pickle.loads(pickle.dumps(refused.value))
    assert str(same) == str(refused.value)
    assert same.hint == refused.value.hint


def test_other_processes_run_scenarios(tmp_path: Path) -> None:
    """Tables that a scenario names travel with it, even if its folder no longer exists."""
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "flows.csv").write_text(
        "id,src,dst,bytes,start\n0,1,0,20000,0 us\n1,2,0,30000,1 us\n"
    )
    text = HOT[: HOT.index("[[flow]]")] + '[[flow]]\nlabel = "t"\ntable = "flows.csv"\n'
    (folder / "case.toml").write_text(text, encoding="utf-8")
    case = backwater.load(folder / "case.toml")
    expected = case.run().fingerprint
    packed = pickle.dumps(case)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    other = pickle.loads(packed)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        runs = list(pool.map(ran, [other, other.set("seed", 2)]))
    assert runs[0].fingerprint == expected
    assert runs[0].flows.num_rows == 2


def test_joblib_and_dask_run_scenarios(cluster: Cluster) -> None:
    joblib = pytest.importorskip("joblib")
    case = backwater.parse(HOT)
    cases = [case.set("seed", seed) for seed in (1, 2)]
    expected = [one.run().fingerprint for one in cases]
    job = joblib.delayed(fingerprint)
    assert joblib.Parallel(n_jobs=2, backend="threading")(map(job, cases)) == expected
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster.address) as client:
        futures = client.map(backwater.Scenario.resolved, cases)
        assert client.gather(futures) == [one.resolved() for one in cases]


def test_plain_names_are_names() -> None:
    assert plain("sfc.threshold") == "sfc_threshold"
    assert plain("p99.9_fct:train/sum") == "p99_9_fct_train_sum"
    assert plain("1st") == "_1st"


def test_what_is_set_at_a_point_is_text() -> None:
    point = Point("0" * 16, "", (0,), 1)
    assert plan(BUFFERS).settings(point) == [("switch.buffer", "100 KB")]
