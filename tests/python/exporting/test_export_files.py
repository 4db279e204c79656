"""Exports as CSV, exports of series, and targets of exports."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater.directory import TABLES
from backwater.exporting import FORMATS, rows
from backwater.results import Run
from kit.command import Command
from kit.exports import STAR, build, exported, flow, run_of


def test_tables_as_csv(tmp_path: Path) -> None:
    mix = {"label": "mix", "kind": "all-to-all", "size": "4 KB"}
    job = {"label": "j", "ranks": 4, "rounds": 2, "step": [mix]}
    run = build(STAR, flow("a", 1, 0, "10 KB"), job=[job]).run()
    place = tmp_path / "tables"
    assert backwater.export(run, "csv", place) == []
    assert {file.name for file in place.iterdir()} == {
        f"{name}.csv" for name in (*TABLES, "messages", "volume")
    }
    for table in TABLES:
        known = pl.DataFrame(run.read(table))
        found = pl.read_csv(place / f"{table}.csv", schema_overrides=known.dtypes)
        assert found.rows() == known.rows(), table
    flows = (place / "flows.csv").read_text().splitlines()
    assert flows[0] == (
        "flow_id,group,src,dst,class,bytes,start_ps,fct_last_byte_ps,fct_last_ack_ps,packets,"
        "received_bytes,reordered_packets,marked_packets,blocked_bytes,retransmitted_packets,"
        "inferred_lost_packets,"
        "timeouts,ideal_fct_ps,slowdown,state,waits_for"
    )
    messages = pl.read_csv(place / "messages.csv")
    assert messages.height == 2 * 12
    assert messages["start_ps"].is_sorted()
    assert messages.select("round", "src_rank", "bytes").row(-1) == (1, 3, 4000)
    # Each rank sends 3 x 4 frames of 1048 B in each of two rounds, h1 also 10 frames.
    volume = {row["node"]: row for row in pl.read_csv(place / "volume.csv").iter_rows(named=True)}
    for host in range(4):
        of = volume[f"h{host}"]
        assert (of["job_frames"], of["job_bytes"], of["job_payload_bytes"]) == (24, 25_152, 24_000)
        acks = 24 + 10 * (host == 0)
        assert of["bytes"] == 25_152 + 10_480 * (host == 1) + 100 * acks


def test_a_run_of_a_series(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "s.toml"
    text = build(
        STAR, flow("a", [1, 2], 0, "30 KB", count=3, arrivals="poisson", interval="10 us")
    ).resolved()
    file.write_text(text, encoding="utf-8")
    command("run", str(file), "--seeds", "1..3", "--out", "many", code=0)
    for seed in (1, 2, 3):
        alone = backwater.load(file).run(seed=seed)
        wanted = exported(alone, "fct", tmp_path)
        for arguments in ([f"many/seed-{seed}"], ["many", "--run", str(seed)]):
            said = command("export", *arguments, "--to", "fct")
            assert (said.code, said.out) == (0, wanted)
            assert said.err == ""
    command("export", "many", "--to", "fct", code=1)
    assert "many/seed-4" in command("export", "many", "--run", "4", "--to", "fct").err


def test_rows_come_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST", 7)
    monkeypatch.setattr("backwater.results.PART_ROWS", 5)
    scenario = build(
        STAR, flow("a", [1, 2], 0, "2 KB", count=10, arrivals="periodic", interval="1 us")
    )
    stored = backwater.open_run(scenario.run(out=tmp_path / "r").directory or "", Run)
    names = ["flow_id", "bytes"]
    expected = list(zip(*(stored.flows[name].to_pylist() for name in names), strict=True))
    assert len(expected) == 20
    assert list(rows.rows(stored, "flows", names)) == expected
    assert len(exported(stored, "fct", tmp_path).splitlines()) == 20


def test_nothing_is_replaced_unasked(tmp_path: Path, command: Command) -> None:
    build(STAR, flow("a", 1, 0, "2 KB")).run(out=tmp_path / "r")
    command("export", "r", "--to", "cm", "-o", "x.cm", code=0)
    before = Path("x.cm").read_text()
    Path("own").write_text("mine")
    for target in ("x.cm", "own"):
        said = command("export", "r", "--to", "fct", "-o", target)
        assert (said.code, said.out) == (2, "")
        assert said.err == (
            f"error: {target}: exists already\nhint: give another name, or --force to replace it\n"
        )
    assert (Path("x.cm").read_text(), Path("own").read_text()) == (before, "mine")
    command("export", "r", "--to", "fct", "-o", "x.cm", "--force", code=0)
    assert Path("x.cm").read_text() == command("export", "r", "--to", "fct").out
    said = command("export", "r", "--to", "cm", "-o", "r/scenario.toml", "--force")
    assert (said.code, "is part of a directory of results" in said.err) == (2, True)
    Path("folder").mkdir()
    (Path("folder") / "keep").touch()
    (Path("folder") / "flow.txt").write_text("mine")
    said = command("export", "r", "--to", "ns3", "-o", "folder")
    assert (said.code, "folder/flow.txt: exists already" in said.err) == (2, True)
    assert sorted(file.name for file in Path("folder").iterdir()) == ["flow.txt", "keep"]
    command("export", "r", "--to", "ns3", "-o", "folder", "--force", code=0)
    assert (Path("folder") / "keep").exists()


BAD = {
    "unknown format": (
        ["--to", "goals"],
        "--to goals: no format of an export\nhint: did you mean goal?",
    ),
    "foreign option": (
        ["--to", "cm", "--ids", "node"],
        "--ids: --to cm has no use for it\nhint: it takes --start-unit",
    ),
    "no choice": (
        ["--to", "cm", "--start-unit", "ms"],
        "--start-unit ms: no such choice\nhint: ps or us",
    ),
    "no time": (["--to", "fct", "--offset", "2"], "--offset: `2` has no unit"),
    "no time between": (
        ["--to", "qlen", "--every", "0 s"],
        "--every 0 s: is no time between two blocks",
    ),
    "no group": (
        ["--to", "fct", "--incast", "b"],
        "--incast b: the run has no such group of flows",
    ),
    "no job": (["--to", "goal"], "r: the run has no jobs"),
    "stdout for many": (["--to", "csv"], "-o -: it writes 16 files"),
    "onto a directory": (["--to", "cm", "-o", "r"], "r: is a directory, not a file"),
    "onto a file": (["--to", "csv", "-o", "f"], "f: is a file, not a directory"),
    "into nowhere": (["--to", "cm", "-o", "no/x"], "no/x: the directory no does not exist"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_told(case: str, tmp_path: Path, command: Command) -> None:
    output = {"interval": "100 ns", "queues": True}
    build(STAR, flow("a", 1, 0, "2 KB"), output=output).run(out=tmp_path / "r")
    Path("f").touch()
    arguments, reason = BAD[case]
    said = command("export", "r", *arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: {reason}")
    assert "hint: " in said.err


@pytest.mark.parametrize("to", FORMATS)
def test_a_run_without_flows_yet(to: str, tmp_path: Path) -> None:
    """The results of a run that was killed before it closed its first part."""
    like = build(STAR, flow("a", 1, 0, "2 KB"), output={"interval": "1 us", "queues": True}).run()
    run = run_of({}, like)
    run.manifest.update(status="running", summary={})
    place = tmp_path / "x"
    if to in ("cm", "goal"):
        with pytest.raises(backwater.InputError, match="the run has no"):
            backwater.export(run, to, place)
        return
    told = backwater.export(run, to, place)
    assert "rows written so far" in told[0]
    assert place.exists()
