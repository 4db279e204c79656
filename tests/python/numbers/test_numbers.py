"""A number of a run is the same in all reports, for short and long runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backwater
from backwater import _core
from backwater.cli.labels import check_labels
from backwater.errors import InputError, ResultError
from backwater.numbers import rows
from backwater.numbers.metrics import metric
from backwater.numbers.registry import QUANTITIES
from backwater.numbers.run import group_times, groups, job_steps, job_times, port_totals, waiting
from backwater.numbers.run import round_times as rounds
from backwater.numbers.statistics import jain, quantile, spread, statistic
from backwater.numbers.units import rate_bps, size_bytes, time_ps
from backwater.sweep.point import Recipe, run_points
from kit.scenarios import LOSSY
from kit.tree import ROOT

VALUES = st.lists(st.integers(0, 10**15), min_size=1, max_size=40).map(sorted)
# A shared machine may need a second for a millisecond's work.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SHARED
@given(VALUES, st.floats(0, 1))
def test_quantiles_are_those_of_arrow(values: list[int], share: float) -> None:
    # The default of Arrow is type 7 of Hyndman and Fan, too.
    expected = pc.quantile(pa.array(values), q=share)[0].as_py()
    assert quantile(values, share) == pytest.approx(expected, rel=1e-12)
    assert quantile(pl.Series(values), share) == quantile(values, share)


@SHARED
@given(VALUES)
def test_other_statistics_are_those_of_arrow(values: list[int]) -> None:
    array = pa.array(values, pa.float64())
    assert statistic(values, "mean") == pytest.approx(pc.mean(array).as_py(), rel=1e-12)
    assert statistic(values, "min") == pc.min(array).as_py()
    assert statistic(values, "max") == pc.max(array).as_py()
    if len(values) > 1:
        std = math.sqrt(pc.variance(array, ddof=1).as_py())
        assert statistic(values, "std") == pytest.approx(std, rel=1e-9, abs=1e-3)
    assert spread(pl.Series(values)) == spread(values)


def test_what_is_no_statistic_is_an_error() -> None:
    with pytest.raises(ValueError, match="'middle' is no statistic"):
        statistic([1.0], "middle")


@pytest.mark.parametrize("name", ["incast-victim", "ai-training"])
def test_short_and_long_runs_have_the_same_numbers(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = backwater.load(ROOT / "scenarios" / f"{name}.toml").run()
    every = (group_times, groups, waiting, job_times, job_steps, rounds, port_totals)
    short = [of(run) for of in every]
    assert short[0]
    monkeypatch.setattr(rows, "SHORT", -1)
    assert [of(run) for of in every] == short


@pytest.mark.parametrize("name", ["incast-victim", "ai-training"])
def test_short_and_long_runs_have_the_same_metrics(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = backwater.load(ROOT / "scenarios" / f"{name}.toml").run()
    names = {one.name: "median_" if one.has_statistics else "" for one in QUANTITIES.values()}
    every = [metric(f"{before}{name}") for name, before in names.items() if name != "queue"]
    short = [(one.name, one.of(run), one.count(run), one.reference(run)) for one in every]
    monkeypatch.setattr(rows, "SHORT", -1)
    assert [(one.name, one.of(run), one.count(run), one.reference(run)) for one in every] == short
    assert sum(value is not None for _, value, _, _ in short) > 35


def test_numbers_of_a_run_are_those_of_its_directory(tmp_path: Path) -> None:
    run = backwater.parse(LOSSY).run(out=tmp_path / "o")
    again = backwater.open_run(tmp_path / "o", backwater.Run)
    assert group_times(run) == group_times(again)
    assert waiting(run) == waiting(again)
    assert waiting(run)[0]["waits_for"]
    assert port_totals(run) == port_totals(again)


def test_a_metric_is_the_number_of_the_report(small: Path) -> None:
    run = backwater.load(small).run()
    for group in group_times(run):
        for name in ("mean", "max", "min"):
            found = metric(f"{name}_fct:{group['group']}").of(run)
            assert found == pytest.approx(group["fct_last_ack_us"][name], rel=1e-12)
    assert metric("drops").of(run) == port_totals(run)["drop_frames"]


def test_the_core_reads_quantities() -> None:
    assert time_ps("1.5 ms") == 1_500_000_000
    assert size_bytes("10 KiB") == 10_240
    assert rate_bps("40 Gb/s") == 40_000_000_000
    with pytest.raises(InputError, match=r"output.interval: `fortnights` is not a unit of a time"):
        time_ps("2 fortnights", "output.interval")


QUEUED: dict[str, Any] = {
    "topology": {"kind": "star", "hosts": 4, "rate": "100 Gb/s", "link_delay": "500 ns"},
    "ecn": {"kmin": "20 KB", "kmax": "40 KB", "pmax": 1.0},
    "dcqcn": {},
    "transport": {"recovery": "go-back-n"},
    "flow": [
        {"label": "in", "from": ["h0", "h1"], "to": "h2", "size": "100 KB"},
        {"label": "late", "from": "h3", "to": "h2", "size": "20 KB", "start": "2 us"},
    ],
    "output": {"interval": "500 ns", "queues": True},
}


def test_jains_index() -> None:
    """Equal rates: 1. One rate of n above 0: 1 / n. Rates 1, 2 and 3: 36 / (3 * 14)."""
    assert jain([5.0, 5.0, 5.0]) == 1
    assert jain([0.0, 0.0, 0.0, 7.0]) == 0.25
    assert jain([1.0, 2.0, 3.0]) == pytest.approx(6 / 7)


def test_queues_marks_and_fairness_are_those_of_the_tables() -> None:
    run = backwater.build(QUEUED).run()
    ports = run.ports.to_pylist()
    # Two flows of equal rate meet. When half of their 200 KB have left, the other half waits.
    most = metric("max_queue").of(run)
    assert most is not None
    assert most == max(row["max_egress_bytes"] for row in ports)
    assert 60_000 < most < 130_000
    ends = [row["start_ps"] + row["fct_last_ack_ps"] for row in run.flows.to_pylist()]
    count = max(ends) // 500_000
    depth: dict[int, int] = {}
    for row in run.series.to_pylist():
        # At other ports only an acknowledgement waits for a moment.
        bottleneck = (row["node"], row["port"]) == ("s0", 2)
        if row["quantity"] == "queue_bytes" and bottleneck and row["time_ps"] <= max(ends):
            depth[row["time_ps"]] = depth.get(row["time_ps"], 0) + row["value"]
    samples = sorted([*depth.values(), *[0] * (count - len(depth))])
    assert 0 < len(depth) < count
    assert metric("mean_queue").of(run) == pytest.approx(sum(samples) / count)
    assert metric("median_queue").of(run) == pytest.approx(quantile(samples, 0.5))
    assert metric("p90_queue").of(run) == pytest.approx(quantile(samples, 0.9))
    assert metric("p90_queue").count(run) == count
    assert metric("p99_queue").of(run) is None, "it takes 100 samples"
    marked = sum(row["marked_frames"] for row in ports)
    assert metric("marked_frames").of(run) == marked > 0
    cnps = sum(row["kind"] == "cnp" for row in run.control.to_pylist())
    assert metric("cnps").of(run) == cnps > 0
    rates = [
        row["bytes"] / row["fct_last_byte_ps"]
        for row in run.flows.to_pylist()
        if row["group"] == "in"
    ]
    assert metric("fairness:in").of(run) == pytest.approx(
        sum(rates) ** 2 / (2 * sum(r * r for r in rates))
    )
    every = [row["bytes"] / row["fct_last_byte_ps"] for row in run.flows.to_pylist()]
    assert metric("fairness").of(run) == pytest.approx(
        sum(every) ** 2 / (3 * sum(r * r for r in every))
    )


def test_a_group_of_which_a_flow_is_open_has_no_fairness() -> None:
    run = backwater.build({**QUEUED, "stop": {"at": "9 us"}}).run()
    states = {row["group"]: row["state"] for row in run.flows.to_pylist()}
    assert "unfinished" in states.values()
    asked = metric("fairness")
    assert asked.of(run) is None
    assert asked.why_not(asked.count(run) or 0) == "not all of its flows are complete"


def test_points_of_sweeps_have_what_their_metrics_take() -> None:
    """Metrics of queues need samples and their interval, and CNPs the table `control`."""
    case = backwater.build(QUEUED)
    names = ("p90_queue", "max_queue", "cnps", "fairness:in", "marked_frames")
    recipe = Recipe({"": case}, (), names, False, {})
    [row] = run_points(recipe, [("point", "", (), (), 1)])["points"].to_pylist()
    run = case.run(seed=1)
    assert {name: row[name] for name in names} == {name: metric(name).of(run) for name in names}


def test_metrics_of_queues_without_samples_are_refused_before_anything_runs() -> None:
    bare = {**QUEUED, "output": {}}
    with pytest.raises(InputError, match="no queue is sampled"):
        check_labels([metric("p99_queue")], [backwater.build(bare).resolved()])
    check_labels([metric("max_queue")], [backwater.build(bare).resolved()])
    check_labels([metric("p99_queue")], [backwater.build(QUEUED).resolved()])
    run = backwater.build(bare).run()
    assert metric("p99_queue").of(run) is None


@pytest.mark.parametrize(
    "text", ["queue", "max_queue:leaf0", "mean_fairness", "cnps:in", "p101_queue"]
)
def test_metrics_that_are_not_written_so(text: str) -> None:
    with pytest.raises(InputError):
        metric(text)


def test_files_are_read_a_batch_at_a_time(tmp_path: Path) -> None:
    """At any time, only some thousands of rows of a table are in memory."""
    count = 50_000
    numbers: pa.Array[Any] = pa.array(range(count), pa.uint64())
    table = pa.table({"bytes": numbers})
    pq.write_table(table, tmp_path / "flows.parquet", compression="zstd")
    scan = _core.Scan("flows", [(str(tmp_path / "flows.parquet"), 0, None)])
    lists = list(scan.values("bytes"))
    assert max(map(len, lists)) <= 8192
    assert [value for values in lists for value in values] == list(range(count))
    # By hand: in 0, 1, 2, ... the k-th is k, and the sum of n is n (n - 1) / 2.
    places = [0, 1, 65_535 % count, count // 2, count - 1]
    assert scan.at("bytes", places) == places
    assert (len(scan), scan.total("bytes")) == (count, count * (count - 1) // 2)
    assert len(scan.above("bytes", count - 4)) == 3
    assert scan.only("bytes", 7).first("bytes") == 7
    assert scan.first("bytes", by="bytes") == 0
    assert len(_core.Scan("flows", [(str(tmp_path / "flows.parquet"), 10, 5)])) == 5
    with pytest.raises(IndexError, match="not so many"):
        scan.at("bytes", [count])
    with pytest.raises(ValueError, match="there is no column nothing"):
        scan.total("nothing")


@SHARED
@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1, max_size=40))
def test_numbers_are_found_at_their_places(values: list[float | None]) -> None:
    """Values may be negative; nulls have no place."""
    table = pa.table({"slowdown": pa.array(values, pa.float64())})
    scan = _core.Scan.of(_core.batches(table)).known("slowdown")
    ordered = sorted(value for value in values if value is not None)
    assert scan.at("slowdown", list(range(len(ordered)))) == ordered


def test_damaged_files_are_told(tmp_path: Path) -> None:
    backwater.parse(LOSSY).run(out=tmp_path / "o")
    run = backwater.open_run(tmp_path / "o", backwater.Run)
    (part,) = (tmp_path / "o" / "flows").glob("*.parquet")
    table = pq.ParquetFile(part).read()
    pq.write_table(pa.table({"flow_id": ["x"] * len(table)}), part)
    with pytest.raises(ResultError, match="flow_id is Utf8, not UInt64"):
        group_times(run)
    part.write_bytes(b"PAR1")
    with pytest.raises(ResultError, match="is damaged"):
        group_times(run)


def test_what_output_leaves_out_is_no_empty_queue() -> None:
    """Two flows meet at s0. Without samples of s0, more may have waited there."""
    for nodes, known in ((["h0"], False), (["s0"], True), ([], True)):
        run = backwater.build({**QUEUED, "output": {**QUEUED["output"], "nodes": nodes}}).run()
        most = metric("max_queue").of(run)
        assert most is not None
        assert most > 60_000
        for name in ("mean_queue", "median_queue", "p90_queue"):
            asked = metric(name)
            value, count = asked.of(run), asked.count(run)
            assert (value is not None, bool(count)) == (known, known), (nodes, name)
            assert count is not None
            assert (asked.why_not(count) is None) is known


def test_a_port_that_was_sampled_is_the_deepest_where_no_other_can_be() -> None:
    """Three flows meet at the leaf of the receiver; elsewhere less waits on average."""
    tree: dict[str, Any] = {
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 1,
            "hosts_per_leaf": 4,
            "rate": "100 Gb/s",
            "link_delay": "500 ns",
        },
        "flow": [{"label": "in", "from": ["h1", "h2", "h3"], "to": "h0", "size": "100 KB"}],
    }
    output = QUEUED["output"]
    whole = backwater.build({**tree, "output": output}).run()
    deep = max(whole.ports.to_pylist(), key=lambda row: row["max_egress_bytes"])["node"]
    here = backwater.build({**tree, "output": {**output, "nodes": [deep]}}).run()
    assert metric("mean_queue").of(here) == metric("mean_queue").of(whole)
    others = sorted({row["node"] for row in whole.ports.to_pylist()} - {deep})
    there = backwater.build({**tree, "output": {**output, "nodes": others}}).run()
    assert metric("mean_queue").of(there) is None
