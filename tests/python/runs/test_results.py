"""Result directories: closed parts, survival of a kill, and other libraries as readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import backwater
from backwater import _core, results
from backwater.results import DirectorySink, MemorySink, opening
from kit.memory import peak, where_linux_tells
from kit.scenarios import star

FIELDS: list[pa.Field[Any]] = [
    pa.field("time_ps", pa.int64(), metadata={"description": "when", "unit": "ps"}),
    pa.field("kind", pa.string(), metadata={"description": "what", "unit": ""}),
]
SCHEMA = pa.schema(FIELDS)


def rows(*times: int) -> _core.Batch:
    columns: dict[str, list[Any]] = {"time_ps": list(times), "kind": ["pause"] * len(times)}
    [batch] = _core.batches(pa.Table.from_pydict(columns, schema=SCHEMA))
    return batch


@pytest.fixture
def sink(tmp_path: Path) -> DirectorySink:
    return DirectorySink(tmp_path / "run", opening(seed=1, title="t"), "title = 't'\n")


def test_parts_close_as_they_fill(sink: DirectorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "PART_ROWS", 3)
    for first in range(0, 10, 2):
        sink.write("control", rows(first, first + 1))
    folder = sink.directory / "control"
    assert sorted(path.name for path in folder.iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    run = sink.finish("done", {"fingerprint": "f"})
    assert run.control["time_ps"].to_pylist() == list(range(10))
    entry = run.manifest["tables"]["control"]
    assert (entry["parts"], entry["rows"], len(entry["sha256"])) == (3, 10, 3)


def test_what_a_killed_run_closed_is_readable(
    sink: DirectorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "PART_ROWS", 2)
    sink.write("control", rows(1, 2))
    sink.write("control", rows(3))
    # A part that was open when the run was killed: it never got the name of a part.
    (sink.directory / "control" / ".part-00001.parquet.tmp").write_bytes(b"PAR1 half")
    run = backwater.open_run(sink.directory)
    assert run.status == "running"
    assert run.control["time_ps"].to_pylist() == [1, 2]


def test_a_part_does_not_wait_for_ever(
    sink: DirectorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.write("control", rows(1))
    sink.tick()
    assert backwater.open_run(sink.directory).control.num_rows == 0
    monkeypatch.setattr(results, "PART_SECONDS", (0.0, 0.0))
    sink.tick()
    assert backwater.open_run(sink.directory).control.num_rows == 1


def test_empty_tables_keep_their_columns(sink: DirectorySink) -> None:
    empty = dict(_core.empty_tables())["control"]
    sink.write("control", empty)
    kept = sink.finish("done", {})
    assert not (sink.directory / "control").exists(), "no file is needed for that"
    columns = pa.record_batch(empty).schema
    for run in (kept, backwater.open_run(sink.directory)):
        assert run.control.num_rows == 0
        assert run.control.schema.equals(columns, check_metadata=True)


def test_columns_carry_meaning_and_unit(sink: DirectorySink) -> None:
    sink.write("control", rows(1))
    field = sink.finish("done", {}).control.schema.field("time_ps")
    assert field.metadata is not None
    assert field.metadata[b"unit"] == b"ps"
    assert field.metadata[b"description"] == b"when"


def test_memory_and_disk_agree(sink: DirectorySink) -> None:
    memory = MemorySink(opening(seed=1, title="t"))
    for one in (sink, memory):
        one.write("control", rows(1, 2))
        one.write("control", rows(3))
    assert sink.finish("done", {}).control.equals(memory.finish("done", {}).control)


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_not_a_result_directory(name: str, tmp_path: Path) -> None:
    with pytest.raises(backwater.ResultError, match="not a result directory"):
        backwater.open_run(tmp_path / name)


def test_broken_part(sink: DirectorySink) -> None:
    sink.write("control", rows(1))
    sink.finish("done", {})
    (sink.directory / "control" / "part-00000.parquet").write_bytes(b"no")
    with pytest.raises(backwater.ResultError, match="control"):
        _ = backwater.open_run(sink.directory).control


@pytest.fixture(scope="module")
def run() -> backwater.Run:
    return backwater.parse(backwater.new_scenario()).run()


def test_every_column_of_a_run_is_described(run: backwater.Run) -> None:
    for name in results.TABLES:
        table = getattr(run, name)
        assert table.num_columns > 0, name
        for field in table.schema:
            assert field.metadata, f"{name}.{field.name}"
            assert field.metadata[b"description"], f"{name}.{field.name}"
            assert b"unit" in field.metadata, f"{name}.{field.name}"


def test_polars_takes_the_tables(run: backwater.Run) -> None:
    frame = pl.DataFrame(run.flows)
    assert frame.height == run.flows.num_rows
    assert frame["bytes"].to_list() == run.flows["bytes"].to_pylist()
    assert frame.to_arrow()["fct_last_ack_ps"].equals(run.flows["fct_last_ack_ps"])


def test_pandas_takes_the_tables(run: backwater.Run) -> None:
    frame = pd.DataFrame.from_arrow(run.flows)  # type: ignore[attr-defined]
    assert list(frame.columns) == run.flows.column_names
    assert frame["bytes"].tolist() == run.flows["bytes"].to_pylist()
    assert pa.Table.from_pandas(frame)["start_ps"].equals(run.flows["start_ps"])


def test_a_run_in_memory_equals_one_on_disk(run: backwater.Run, tmp_path: Path) -> None:
    other = backwater.parse(backwater.new_scenario()).run(out=tmp_path / "run")
    assert other.fingerprint == run.fingerprint
    assert other.flows.equals(run.flows)
    assert other.ports.equals(run.ports)


def test_the_resolved_scenario_runs_again_the_same(run: backwater.Run) -> None:
    again = backwater.parse(run.manifest["scenario"]).run()
    assert again.fingerprint == run.fingerprint


def offering(until: str) -> backwater.Scenario:
    star = {"kind": "star", "hosts": 8, "rate": "100 Gb/s", "link_delay": "100 ns"}
    calls = {"label": "calls", "pattern": "random", "size": "700 B", "load": "20 %"}
    event = {"label": "event", "pattern": "incast", "size": "64 KB", "fan_in": 4, "load": "8 %"}
    arrivals = {"arrivals": "poisson", "until": until, "load_counts": "payload"}
    burst = {"label": "burst", "from": 0, "to": 1, "size": "1 KB"}
    return backwater.build(
        {
            "topology": star,
            "switch": {"buffer_per": "none"},
            "flow": [calls | arrivals, event | arrivals | {"load_of": "network"}, burst],
        }
    )


def test_a_run_says_what_each_group_offered() -> None:
    run = offering("2 ms").run()
    calls, event = run.summary["offered"]
    assert (calls["group"], calls["asked"], calls["of"]) == ("calls", 0.2, "sources")
    assert (event["group"], event["asked"], event["of"]) == ("event", 0.08, "network")
    flows = pl.DataFrame(run.flows)
    for group in (calls, event):
        assert (group["from_ps"], group["until_ps"]) == (0, 2_000_000_000)
        assert group["counts"] == "payload"
        assert group["capacity_bps"] == 8e11
        members = flows.filter(pl.col("group") == group["group"])
        payload = sum(members["bytes"].to_list())
        assert group["offered"] == pytest.approx(payload * 8 / (8e11 * 2e-3), rel=1e-12)
    # 57,000 calls: the count of a Poisson process deviates by 0.4 %.
    assert calls["offered"] == pytest.approx(0.2, rel=0.02)


def test_load_of_a_group_that_nobody_waits_for_counts_until_the_run_ends() -> None:
    waiting = offering("1 s").set("flow.burst.size", "1 MB").set("stop.when", '["burst"]')
    run = waiting.run()
    calls = run.summary["offered"][0]
    assert calls["until_ps"] == run.summary["time_ps"] < 1_000_000_000
    # About 2000 calls.
    assert calls["offered"] == pytest.approx(0.2, rel=0.1)


def test_load_of_a_run_that_is_cut_short_counts_until_then() -> None:
    scenario = offering("1 s").set("flow.event.load", "1 %")
    simulation = scenario.complete().start(1)
    while simulation.advance(20).time_ps < 200_000_000:
        simulation.batches()
    simulation.stop()
    calls = simulation.summary()["offered"][0]
    assert calls["until_ps"] == simulation.summary()["time_ps"] < 1_000_000_000_000
    assert calls["offered"] == pytest.approx(0.2, rel=0.1)


ARRIVALS = f"""{star(16, link_delay="1 us")}
[transport]
loss = "expected"
[[flow]]
pattern = "random"
size = "1 KB"
arrivals = "poisson"
load = "30 %"
until = "{{until}}"
"""
RUN = """
import sys
from backwater.cli import main

assert main(["run", sys.argv[1], "--out", sys.argv[2]]) == 0
"""


@where_linux_tells
def test_a_run_of_any_length_holds_parts_alone(tmp_path: Path) -> None:
    """Memory beyond a tiny run is that of a part's rows, encoded, and of a slice.

    A million flows fill twenty parts, a quarter of them five: pairs of runs differed by -1 to 8 MB,
    and the rows of the rest are 115 MB (138 B each). Beyond a run of 20 us a quarter needs 23 to
    27 MB; parts that are kept as rows took 14 MB more when that was measured.
    """
    most = []
    for until in ("20 us", "5 ms", "20 ms"):
        file = tmp_path / f"{until}.toml"
        file.write_text(ARRIVALS.format(until=until))
        most.append(peak(RUN, str(file), str(tmp_path / until)))
    tiny, quarter, whole = most
    assert whole - quarter < 16e6
    assert quarter - tiny < 34e6


def test_a_part_is_the_same_whether_its_rows_were_encoded_as_they_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "COMPRESS_BYTES", 1)
    files = []
    for kept in (10**9, 0):
        monkeypatch.setattr(results, "KEPT_BYTES", kept)
        sink = DirectorySink(tmp_path / str(kept), opening(seed=1), "")
        for first in range(0, 90, 3):
            sink.write("control", rows(first, first + 1, first + 2))
        run = sink.finish("done", {})
        assert run.control["time_ps"].to_pylist() == list(range(90))
        files.append((tmp_path / str(kept) / "control" / "part-00000.parquet").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("threads", [1, 2])
def test_messages_over_several_queue_pairs_count_once_where_a_run_is_cut_off(threads: int) -> None:
    """A link fails, and with it queue pairs of some messages; the others do not end.

    A message that has lost one of two queue pairs is not over, so it is neither failed nor two.
    """
    run = backwater.parse("""
        stop.at = "600 us"
        [topology]
        kind = "leaf-spine"
        leaves = 2
        spines = 2
        hosts_per_leaf = 4
        rate = "10 Gb/s"
        link_delay = "100 ns"
        [transport]
        recovery = "go-back-n"
        timeout = "50 us"
        retries = 1
        [[flow]]
        from = "0..3"
        to = "4..7"
        size = "2 MB"
        queue_pairs = 2
        [[fault]]
        kind = "link-down"
        at = "20 us"
        a = "leaf0"
        b = "spine0"
        """).run(threads=threads)
    states = run.flows["state"].to_pylist()
    summary = run.manifest["summary"]
    assert sorted(map(str, states)) == ["failed", "unfinished", "unfinished", "unfinished"]
    assert (summary["flows"], summary["flows_failed"], summary["flows_unfinished"]) == (4, 1, 3)
