"""Jobs with a table of operations: every form of the same table is the same run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import backwater
from backwater import _core
from backwater.jobs import critical_path
from backwater.report.assumptions import tables_of
from backwater.results import Run
from kit.scenarios import star

SCENARIO = f"""{star(4)}

[switch]
buffer_per = "none"

[[job]]
ranks = 4
operations = "FILE"
"""

CSV = """id,rank,kind,peer,bytes,time,after,after_ack,needs,start,class,label,stream
0,0,compute,,,10 us,,,,,,forward,0
1,0,compute,,,20 us,,,,5 us,,forward,0
2,0,send,1,100 KB,,0,,,,4,report,
3,1,send,2,1,,2,,,,,,
4,3,compute,,,0,3 1,2,2,,,,
"""

ROWS: dict[str, list[Any]] = {
    "id": [0, 1, 2, 3, 4],
    "rank": [0, 0, 0, 1, 3],
    "kind": ["compute", "compute", "send", "send", "compute"],
    "peer": [None, None, 1, 2, None],
    "bytes": [None, None, 100_000, 1, None],
    "time_ps": [10_000_000, 20_000_000, None, None, 0],
    "after": [None, [], [0], [2], [3, 1]],
    "after_ack": [None, None, None, None, [2]],
    "needs": [None, None, None, None, 2],
    "start_ps": [None, 5_000_000, None, None, None],
    "class": [None, None, 4, None, None],
    "label": ["forward", "forward", "report", None, None],
    "stream": [0, 0, None, None, None],
}


def scenario(folder: Path, file: str) -> backwater.Scenario:
    case = folder / "case.toml"
    case.write_text(SCENARIO.replace("FILE", file), "utf-8")
    return backwater.load(case)


def parquet(folder: Path, table: pa.Table) -> backwater.Scenario:
    pq.write_table(table, folder / "ops.parquet")
    return scenario(folder, "ops.parquet")


def fingerprint(run: Run) -> str:
    text: str = run.summary["fingerprint"]
    return text


def in_csv(folder: Path) -> Run:
    (folder / "ops.csv").write_text(CSV, "utf-8")
    return scenario(folder, "ops.csv").run()


def floats() -> pa.Table:
    """As pandas stores whole numbers with missing values."""
    plain = pd.DataFrame({name: ROWS[name] for name in ROWS if not name.startswith("after")})
    table = pa.Table.from_pandas(plain)
    assert table.schema.field("bytes").type == pa.float64()
    table = table.append_column("after", pa.array(ROWS["after"], pa.large_list(pa.int32())))
    return table.append_column("after_ack", pa.array(ROWS["after_ack"], pa.list_(pa.uint64())))


@pytest.mark.parametrize(
    "table",
    [
        lambda: pa.table(ROWS),
        lambda: pa.table(ROWS).rename_columns({"time_ps": "time", "start_ps": "start"}),
        lambda: pl.DataFrame(ROWS).to_arrow(),
        floats,
        lambda: pa.table(ROWS).take([4, 2, 0, 3, 1]),
    ],
    ids=["pyarrow", "plain names", "polars", "pandas", "other order"],
)
def test_every_form_of_a_table_is_the_same_run(
    table: Callable[[], pa.Table], tmp_path: Path
) -> None:
    run, text = parquet(tmp_path, table()).run(), in_csv(tmp_path)
    assert fingerprint(run) == fingerprint(text)
    assert run.transfers.to_pylist() == text.transfers.to_pylist()
    assert set(run.flows["group"].to_pylist()) == {"job/report", "job/operations"}


def test_a_path_without_gaps(tmp_path: Path) -> None:
    run = in_csv(tmp_path)
    [job] = run.jobs.to_pylist()
    # In the stream one computation ends after 10 us, the other after 30. The sends end before.
    assert (job["start_ps"], job["end_ps"]) == (0, 30_000_000)
    legs = critical_path(run, "job")
    assert [(leg.kind, leg.label, leg.duration_ps) for leg in legs] == [
        ("compute", "forward + forward", 30_000_000)
    ]
    [first, second] = run.transfers.to_pylist()
    assert (first["step"], first["start_ps"], first["after_compute"]) == (
        "report",
        10_000_000,
        "forward",
    )
    assert second["after_flow"] == first["flow_id"]
    assert second["start_ps"] == first["end_ps"]


def test_results_are_those_of_the_table_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ops.csv").write_text(CSV, "utf-8")
    out = tmp_path / "out"
    run = scenario(tmp_path, "ops.csv").run(out=out)
    assert list(run.manifest["inputs"]) == ["ops.csv"]
    # Another table means another run: the earlier results do not count.
    (tmp_path / "ops.csv").write_text(CSV.replace("10 us", "11 us"), "utf-8")
    with pytest.raises(backwater.InputError, match="out"):
        scenario(tmp_path, "ops.csv").run(out=out)
    # The scenario beside the results finds its table from anywhere.
    monkeypatch.chdir(out)
    changed = scenario(tmp_path, "ops.csv").run(out=out, force=True)
    assert str(tmp_path / "ops.csv") in (changed.recorded or "")
    assert changed.summary["fingerprint"] != run.summary["fingerprint"]
    assert tables_of(changed) == [("job", tmp_path / "ops.csv")]


@pytest.mark.parametrize(
    ("change", "key", "message"),
    [
        ({"id": [0, 1, 2, 3, 0]}, "id", r"row 4 \(from 0\): two operations have the id 0"),
        ({"id": [0, 1, None, 3, 4]}, "id", "every such operation has one"),
        ({"rank": [0, 0, 0, 1, 4]}, "operations", "operation 4 is done by rank 4"),
        ({"rank": [0, 0, 0, 1, 2**40]}, "rank", "there is no such rank"),
        ({"kind": ["compute", "calc", "send", "send", "compute"]}, "kind", "no kind of operation"),
        ({"peer": [None, None, 0, 2, None]}, "peer", "rank 0 sends to itself"),
        ({"peer": [None, None, None, 2, None]}, "peer", "every such operation has one"),
        ({"bytes": [1, None, 1, 1, None]}, "bytes", "a compute has none"),
        ({"bytes": [None, None, 1, -1, None]}, "bytes", "below 0"),
        ({"bytes": [None, None, 1.5, 1, None]}, "bytes", "no whole number"),
        ({"time_ps": [1, 1, 1, None, 0]}, "time_ps", "a send has none"),
        ({"after": [None, [], [0], [9], [3, 1]]}, "after", "there is no operation 9"),
        ({"after": [None, None, [0], [None], None]}, "after", "no id of an operation"),
        ({"after": ["0", "0", "0", "0", "0"]}, "after", "not lists of whole numbers"),
        ({"after": [[4], [0], [1], [2], [3]]}, "after", "operations wait for each other"),
        ({"label": [1, 2, 3, 4, 5]}, "label", "not text"),
        ({"weight": [1, 2, 3, 4, 5]}, "weight", "not a column"),
    ],
)
def test_bad_tables(change: dict[str, list[Any]], key: str, message: str, tmp_path: Path) -> None:
    table = pa.table(ROWS | change)
    with pytest.raises(_core.ScenarioError, match=message) as caught:
        parquet(tmp_path, table).run()
    assert (caught.value.key or "").endswith(key)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(backwater.InputError, match="table of operations does not exist"):
        scenario(tmp_path, "none.parquet").run()
    (tmp_path / "text.parquet").write_text(CSV, "utf-8")
    with pytest.raises(backwater.InputError, match="not a readable Parquet file"):
        scenario(tmp_path, "text.parquet").run()
    # A damaged page shows only when its rows are read.
    pq.write_table(pa.table(ROWS), tmp_path / "ops.parquet", compression="zstd")
    octets = bytearray((tmp_path / "ops.parquet").read_bytes())
    octets[8:200] = bytes(192)
    (tmp_path / "bad.parquet").write_bytes(octets)
    with pytest.raises(backwater.InputError, match="not a readable Parquet file"):
        scenario(tmp_path, "bad.parquet").run()
