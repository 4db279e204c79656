"""Runs of a series share tables: each equals a single run, whatever happens to others."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater import series
from backwater.errors import ResultError
from backwater.journal import Journal, sealed_line, seed_of
from backwater.results import TABLES
from kit.command import Command, start
from kit.memory import peak, where_linux_tells
from kit.results import change_line


def lines(directory: str | Path) -> list[bytes]:
    return Path(directory, "runs.jsonl").read_bytes().splitlines()


def test_each_run_is_as_it_is_alone(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "GROUP_SECONDS", 3600.0)
    command("run", str(small), "--seeds", "3..7", "--out", "o", code=0)
    runs = backwater.open_run("o", backwater.Series).runs
    assert [run.seed for run in runs] == [3, 4, 5, 6, 7]
    scenario = backwater.load(small)
    for run in runs:
        scenario.run(seed=run.seed, out=f"alone-{run.seed}")
        alone = backwater.open_run(f"alone-{run.seed}", backwater.Run)
        assert run.fingerprint == alone.fingerprint
        for table in TABLES:
            assert run.read(table).equals(alone.read(table)), table
            assert run.read(table).schema.equals(alone.read(table).schema, check_metadata=True)
        same = ("scenario", "origins", "inputs", "versions", "title", "summary", "warnings")
        assert {key: run.manifest[key] for key in same} == {
            key: alone.manifest[key] for key in same
        }
    # No run has files of its own: each table with rows has one part.
    filled = [table for table in TABLES if runs[0].read(table).num_rows]
    assert sorted(str(path) for path in Path("o").rglob("*") if path.is_file()) == sorted(
        [
            *(f"o/{table}/part-00000.parquet" for table in filled),
            *(f"o/{name}" for name in ("manifest.json", "runs.jsonl", "scenario.toml")),
            "o/statistics.parquet",
        ]
    )
    ports = pl.read_parquet("o/ports/*.parquet")
    assert ports.columns[0] == "run"
    counts = ports.group_by("run").len().sort("run").rows()
    assert counts == [(run.seed, run.ports.num_rows) for run in runs]


def test_a_run_is_taken_by_its_name_as_a_directory_is(command: Command, small: Path) -> None:
    command("run", str(small), "--seeds", "1..3", "--out", "o", code=0)
    command("run", str(small), "--set", "seed=2", "--out", "alone", code=0)
    for words in (("why",), ("jobs",), ("compare", "--seeds", "2..2", "small.toml@sfc")):
        first, second = (command(*words, place) for place in ("o/seed-2", "alone"))
        assert first.code == second.code
        assert first.out.replace("o/seed-2", "alone") == second.out
    command("report", "o/seed-2", "-o", "page.html", code=0)
    assert "Fingerprint" in Path("page.html").read_text(encoding="utf-8")
    run = backwater.open_run("o/seed-2", backwater.Run)
    assert run.directory == Path("o/seed-2")
    assert run.plot.completion() is not None
    with pytest.raises(ResultError, match="the series has no run with that seed"):
        backwater.open_run("o/seed-9")
    with pytest.raises(ResultError, match="is a run of a series, not a series"):
        backwater.open_run("o/seed-2", backwater.Series)
    for nothing in ("o/seed-02", "o/seed-x", "p/seed-1"):
        with pytest.raises(ResultError, match="not a result directory"):
            backwater.open_run(nothing)
    assert seed_of("seed-18446744073709551615") == 2**64 - 1


def test_seeds_are_added_to_a_series(command: Command, small: Path) -> None:
    command("run", str(small), "--seeds", "1..2", "--out", "o", code=0)
    before = lines("o")
    command("run", str(small), "--seeds", "2..4", "--out", "o", code=0)
    assert set(before) <= set(lines("o"))
    assert [run.seed for run in backwater.open_run("o", backwater.Series).runs] == [2, 3, 4]
    assert (
        backwater.open_run("o/seed-1").fingerprint
        == json.loads(next(line for line in before if b'"seed": 1' in line))["summary"][
            "fingerprint"
        ]
    )


def test_what_a_killed_series_has_written_is_read_and_taken_up(
    command: Command, small: Path, tmp_path: Path
) -> None:
    process = start("run", str(small), "--seeds", "1..4000", "--out", "o", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while len(Journal.read(tmp_path / "o").runs) < 10:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=60)
    found = backwater.open_run("o", backwater.Series)
    assert found.status == "running"
    assert 10 <= len(found.runs) < 4000
    assert {run.status for run in found.runs} == {"done"}
    most = max(run.seed for run in found.runs)
    assert found.runs[-1].flows.num_rows > 0
    written = {run.seed: run.fingerprint for run in found.runs}
    # A part without a line, and half a line, as a kill between two writes leaves them.
    shutil.copy("o/ports/part-00000.parquet", "o/ports/part-00099.parquet")
    with Path("o/runs.jsonl").open("ab") as file:
        file.write(b'{"seed": 4000, "status": "done"')
    said = command("run", str(small), "--seeds", f"1..{most + 5}", "--out", "o", code=0)
    assert f"{len(written)} of {most + 5} runs are in o already" in said.err
    again = backwater.open_run("o", backwater.Series)
    assert again.status == "done"
    assert {run.seed: run.fingerprint for run in again.runs if run.seed in written} == written
    ports = pl.read_parquet("o/ports/*.parquet").group_by("run").len()
    assert ports.height == most + 5
    assert ports["len"].n_unique() == 1


def test_a_damaged_line_is_named_and_its_run_done_again(command: Command, small: Path) -> None:
    command("run", str(small), "--seeds", "1..3", "--out", "o", code=0)
    kept = Path("o/runs.jsonl")
    whole = kept.read_text(encoding="utf-8").splitlines()
    [number] = [n for n, line in enumerate(whole) if json.loads(line).get("seed") == 2]
    edited = whole[number].replace('"drops": 0', '"drops": 1')
    assert edited != whole[number]
    for odd in (edited, whole[number][:-9], "[]", "{}", "null", "\\x00", '{"sha256": 1}'):
        kept.write_text("\n".join([*whole[:number], odd, *whole[number + 1 :], ""]))
        with pytest.raises(ResultError, match=f"runs.jsonl:{number + 1}: is damaged"):
            backwater.open_run("o")
        with pytest.raises(ResultError, match=f"runs.jsonl:{number + 1}: is damaged"):
            backwater.open_run("o/seed-2")
        assert backwater.open_run("o/seed-1").status == "done"
    said = command("run", str(small), "--seeds", "1..3", "--out", "o")
    assert "2 of 3 runs are in o already" in said.err
    assert len(backwater.open_run("o", backwater.Series).runs) == 3


def test_what_no_writer_says_is_no_line(tmp_path: Path) -> None:
    good = {"seed": 1, "status": "done", "findings": [], "tables": {"flows": [[0, 0, 4]]}}
    for odd in (
        good | {"seed": "1"},
        good | {"status": "ready"},
        good | {"tables": {"flows": [[0, -1, 4]]}},
        good | {"tables": {"flows": [4]}},
        good | {"tables": []},
        {"part": "../flows/part-00000.parquet", "hash": ""},
        {"part": "flows/part-00000.parquet", "hash": 3},
    ):
        (tmp_path / "runs.jsonl").write_text(sealed_line(good) + sealed_line(odd))
        journal = Journal.read(tmp_path)
        assert journal.damaged == 2
        assert journal.runs == {1: good}


def test_a_large_run_has_parts_of_its_own(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("run", str(small), "--seeds", "1..3", "--out", "few", code=0)
    monkeypatch.setattr("backwater.results.PART_ROWS", 1)
    command("run", str(small), "--seeds", "1..3", "--out", "many", code=0)
    few = backwater.open_run("few", backwater.Series).runs
    many = backwater.open_run("many", backwater.Series).runs
    for one, other in zip(few, many, strict=True):
        assert one.fingerprint == other.fingerprint
        for table in TABLES:
            assert one.read(table).equals(other.read(table)), table
    journal = Journal.read(Path("many"))
    named = [name for line in journal.runs.values() for name in journal.names(line)]
    assert len(named) == len(set(named)) == len(journal.parts)
    # In the state of a running series: closed parts are readable.
    change_line(Path("many"), 2, status="running")
    assert backwater.open_run("many/seed-2").status == "running"
    assert backwater.open_run("many/seed-2").flows.num_rows == few[1].flows.num_rows


@where_linux_tells
def test_memory_does_not_grow_with_the_runs(small: Path, tmp_path: Path) -> None:
    script = "import sys\nfrom backwater.cli import main\nmain(sys.argv[1:])\n"

    def of_seeds(seeds: int) -> int:
        words = ("run", str(small), "--seeds", str(seeds), "--out", f"o{seeds}")
        return peak(script, *words, cwd=tmp_path)

    # Reports and lines of 1,600 more runs take 5 to 8 KB each. The peak of equal series differs by
    # 10 MB, by where the part of a second's runs ends: so many runs, not a few.
    assert of_seeds(2000) - of_seeds(400) < 30_000_000
