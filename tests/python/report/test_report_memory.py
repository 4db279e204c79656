"""Reports of many flows: memory grows by the columns that are read, not by rows as objects."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

import backwater
from backwater.files import digest
from backwater.journal import Journal, part_name
from backwater.manifest import read_manifest, write_manifest
from kit.memory import peak, where_linux_tells
from kit.scenarios import sampled
from kit.tree import ROOT

pytestmark = where_linux_tells

ROWS = 300_000
MOST = 36_000_000
"""Bytes that a report of so many flows may take beyond one of a few flows, 120 a flow.

A column takes 8 a flow, and charts read one or two at a time: 7 a flow were measured with a
million. With the whole table in memory it was 258 a flow, with its rows as Python objects 2,700.
"""

REPORTED = """
import sys
from pathlib import Path
from backwater import report
from backwater.report import page as written

# Every page has it, and to make it takes longer than all else, in memory that would hide the rows'.
written._bundle = str
page = report.of(sys.argv[1])
Path(sys.argv[2]).write_text(page.html(), encoding="utf-8")
"""


def reported(directory: Path) -> int:
    """Report a directory in a separate process, and return its peak memory in bytes."""
    page = directory.with_suffix(".html")
    env = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    most = peak(REPORTED, str(directory), str(page), env=env)
    # The page holds sums, however many flows the run has.
    assert 100_000 < page.stat().st_size < 5_000_000
    return most


def many(part: Path, rows: int, first: int = 0, count: int | None = None) -> None:
    """Append `rows` rows of flows to a part: copies of some of its rows, with other numbers."""
    whole = pl.read_parquet(part)
    flows = whole.slice(first, count)
    again = pl.int_range(pl.len(), dtype=pl.UInt64)
    more = pl.concat([flows] * -(-rows // flows.height)).head(rows)
    more = more.with_columns(
        flow_id=again,
        fct_last_ack_ps=pl.col("fct_last_ack_ps") + again,
        fct_last_byte_ps=pl.col("fct_last_byte_ps") + again,
        slowdown=pl.col("slowdown") + again / rows,
    ).cast(flows.schema)
    schema = pq.read_schema(part)
    pq.write_table(pl.concat([whole, more]).to_arrow().cast(schema), part)


def fill(run: Path, rows: int) -> None:
    """Replace the flows of a run by `rows` copies."""
    [part] = (run / "flows").glob("part-*.parquet")
    before = pl.read_parquet(part).height
    many(part, rows)
    pq.write_table(pq.read_table(part).slice(before), part)
    manifest = read_manifest(run)
    manifest["tables"]["flows"] |= {"rows": rows, "sha256": [digest(part)]}
    write_manifest(run, manifest)


def fill_series(series: Path, rows: int) -> None:
    """Replace the flows of the first run of a series by `rows` copies, after those of others."""
    journal = Journal.read(series)
    line = next(iter(journal.runs.values()))
    [[number, first, count]] = line["tables"]["flows"]
    name = part_name("flows", number)
    before = pl.read_parquet(series / name).height
    many(series / name, rows, first, count)
    line["tables"]["flows"] = [[number, before, rows]]
    journal.parts[name] = digest(series / name)
    journal.write(series)


def test_a_run_of_many_flows_is_reported_in_little_memory(tmp_path: Path) -> None:
    sampled(backwater.parse(backwater.new_scenario()), "2 us").run(out=tmp_path / "run")
    few = reported(tmp_path / "run")
    fill(tmp_path / "run", ROWS)
    assert backwater.open_run(tmp_path / "run").flows.num_rows == ROWS
    assert reported(tmp_path / "run") - few < MOST


def test_a_study_of_many_flows_is_reported_in_little_memory(
    tmp_path: Path, first_case: Path
) -> None:
    folder = tmp_path / "study"
    shutil.copytree(first_case, folder)
    # The first page runs with samples what it draws over time, into the directory.
    few = reported(folder)
    observed = sorted((folder / "observed").iterdir())
    assert len(observed) >= 2
    for run in observed:
        fill(run, ROWS)
    fill_series(next((folder / "runs").glob("*/runs.jsonl")).parent, ROWS)
    assert reported(folder) - few < MOST
