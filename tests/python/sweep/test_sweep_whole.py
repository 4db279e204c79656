"""Directories of sweeps as a whole: several commands, attempts, and concurrent readers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import backwater
from backwater.errors import ResultError
from backwater.experiments.hands import Workers
from backwater.manifest import SWEEP, read_manifest, write_manifest
from backwater.stopping import Stop
from backwater.sweep import point, store
from backwater.sweep.drive import Drive
from backwater.sweep.store import POINTS, Store, settled, table_of
from kit.command import Command, Said
from kit.sweeping import HOT, Here, rows, run_here

BUFFERS = "switch.buffer=100 KB..200 KB step 50 KB"


@pytest.fixture
def sweep(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Return `backwater sweep hot.toml … --out o`, with points that run in this process."""
    (tmp_path / "hot.toml").write_text(HOT, encoding="utf-8")
    run_here(monkeypatch)

    def run(*arguments: str) -> Said:
        return command("sweep", "hot.toml", *arguments, "--out", "o")

    return run


class KilledError(Exception):
    """Ends a command as a kill would."""


def killed(sweep: Callable[..., Said], *arguments: str) -> None:
    """End a sweep after its pilot point, and leave the files of a killed one."""

    def kill(*_: object) -> None:
        raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        for way in ("alone", "run"):
            patch.setattr(Drive, way, kill)
        assert sweep(*arguments).code == 1
    # A killed process cannot record its end.
    place = Path("o")
    manifest = read_manifest(place, SWEEP)
    manifest.pop("error")
    write_manifest(place, manifest | {"status": "running"})


def status(command: Command) -> tuple[int, dict[str, Any]]:
    said = command("status", "o", "--json", "-")
    return said.code, json.loads(said.out)


def test_a_small_command_does_not_hide_an_unfinished_sweep(
    command: Command,
    sweep: Callable[..., Said],
    tmp_path: Path,
) -> None:
    """Twelve points were requested and one was run, then a second command ran two others."""
    killed(sweep, "--vary", BUFFERS, "--seeds", "1..4")
    code, told = status(command)
    assert (code, told["points"]) == (3, 12)
    assert sweep("--vary", "switch.buffer=1 MB", "--seeds", "1..2").code == 0
    code, told = status(command)
    assert (code, told["points"], told["done"], told["failed"]) == (3, 14, 3, 0)
    assert told["command"] == {"points": 2, "done": 2, "failed": 0}
    assert backwater.open_sweep(tmp_path / "o").status == "interrupted"
    assert "21 % · 3 of 14 points done" in command("status", "o").out
    # Some of the first command's points, and then all that remain.
    assert sweep("--vary", BUFFERS, "--seeds", "1..2").code == 0
    assert status(command)[1]["done"] == 8
    assert sweep("--vary", BUFFERS, "--seeds", "1..4").code == 0
    code, told = status(command)
    assert (code, told["points"], told["done"]) == (0, 14, 14)
    assert backwater.open_sweep(tmp_path / "o").status == "done"
    assert not (tmp_path / "o" / "missing.parquet").exists()
    # --force begins again, and drops earlier requests.
    killed(sweep, "--vary", BUFFERS, "--seeds", "5..8")
    assert sweep("--vary", BUFFERS, "--force").code == 0
    assert (status(command)[0], status(command)[1]["points"]) == (0, 3)


def test_an_unfinished_search_is_reported_until_it_ends(
    command: Command,
    sweep: Callable[..., Said],
    tmp_path: Path,
) -> None:
    goal = "smallest pfc.xoff in 5 KB..75 KB step 5 KB where pauses <= 4"
    search = ("--variant", "pfc", "--goal", goal)
    killed(sweep, *search)
    assert sweep("--variant", "pfc", "--vary", "pfc.xoff=20 KB").code == 0
    code, told = status(command)
    assert (code, told["unfinished_goals"]) == (3, [goal])
    assert f"a search did not end: {goal}" in command("status", "o").out
    assert sweep(*search).code == 0
    code, told = status(command)
    assert (code, told["unfinished_goals"]) == (0, [])
    assert (tmp_path / "o" / "summary.txt").read_text().startswith(f"goal: {goal}\n")


def test_an_answer_goes_with_its_goal(sweep: Callable[..., Said], tmp_path: Path) -> None:
    place = tmp_path / "o"
    goal = "smallest pfc.xoff in 5 KB..75 KB step 5 KB where pauses <= 4"
    assert sweep("--variant", "pfc", "--goal", goal, "--seeds", "1..2").code == 0
    (place / "figures" / "mine.svg").write_text("mine", encoding="utf-8")
    assert (place / "figures" / "curve-1.svg").exists()
    assert sweep("--variant", "pfc", "--vary", "pfc.xoff=20 KB,25 KB").code == 0
    assert not (place / "summary.txt").exists()
    assert [one.name for one in (place / "figures").iterdir()] == ["mine.svg"]


def test_of_each_point_the_last_attempt_has_a_timing(
    command: Command,
    sweep: Callable[..., Said],
    tmp_path: Path,
) -> None:
    # xoff cannot be below xon, 2 KB.
    vary = ("--variant", "pfc", "--vary", "pfc.xoff=20KB,1KB")
    assert sweep(*vary).code == 1
    opened = backwater.open_sweep(tmp_path / "o")
    before = {row["point"]: row["ended"] for row in opened.arrow("timings").to_pylist()}
    # The failed point of another command stays, as this one does not request it.
    assert sweep("--variant", "pfc", "--vary", "pfc.xoff=30KB").code == 0
    assert len(rows(tmp_path / "o")) == 3
    assert sweep(*vary).code == 1
    timings = backwater.open_sweep(tmp_path / "o").arrow("timings").to_pylist()
    points = {row["point"]: row["status"] for row in rows(tmp_path / "o")}
    assert sorted(row["point"] for row in timings) == sorted(points)
    now = {row["point"]: row["ended"] for row in timings}
    assert {one for one in before if now[one] != before[one]} == {
        one for one, came in points.items() if came == "failed"
    }
    assert status(command)[1]["failed"] == 1


def test_a_kill_between_two_tables_leaves_points_that_are_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def part(name: str) -> dict[str, pa.Table]:
        ids = {"point": [name]}
        return {"points": pa.table(ids), "timings": pa.table(ids), "flows": pa.table(ids)}

    one = Store(tmp_path)
    for name in "ab":
        one.add(part(name))
    real = Store._write

    def write(self: Store, table: str, *given: Any) -> None:  # noqa: ANN401
        if table == POINTS:
            raise KilledError
        real(self, table, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_write", write)
        with pytest.raises(KilledError):
            one.drop({"a"})
    assert table_of(tmp_path, POINTS)["point"].to_pylist() == ["a", "b"]
    assert table_of(tmp_path, "timings")["point"].to_pylist() == ["b"]
    Store(tmp_path).drop({"a"})
    for name in (POINTS, "timings", "flows"):
        assert table_of(tmp_path, name)["point"].to_pylist() == ["b"]


def test_a_reader_sees_all_rows_while_parts_are_merged(tmp_path: Path) -> None:
    """One thread writes and merges; another reads, and never sees fewer rows than before."""
    wrong: list[str] = []
    over = threading.Event()

    def look() -> None:
        most = 0
        while not over.is_set():
            try:
                found = table_of(tmp_path, POINTS)
            except ResultError as error:
                wrong.append(str(error))
                return
            if len(found) < most:
                wrong.append(f"{len(found)} after {most}")
            most = len(found)

    reader = threading.Thread(target=look)
    writer = Store(tmp_path)
    reader.start()
    for number in range(120):
        one = pa.table({"point": [f"{number:04}"]})
        writer.add({"points": one, "timings": one})
        if number % 3 == 2:
            writer.close()
    over.set()
    reader.join()
    assert wrong == []
    assert len(table_of(tmp_path, POINTS)) == 120


def test_a_part_that_disappears_during_a_read_is_looked_up_again(
    sweep: Callable[..., Said],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sweep("--vary", BUFFERS).code == 0
    opened = backwater.open_sweep(tmp_path / "o")
    real, gone = store.files, [tmp_path / "o" / "points" / "part-00000-00000.parquet"]

    def files(directory: Path, table: str) -> list[Path]:
        # The first listing has a part that has been merged since.
        return [gone.pop()] if gone else real(directory, table)

    for module in ("store", "dataset"):
        monkeypatch.setattr(f"backwater.sweep.{module}.files", files)
    assert opened.points.num_rows == 3
    gone.append(tmp_path / "o" / "points" / "part-00000-00000.parquet")
    assert opened.query("select count(*) n from points")["n"].to_pylist() == [3]


def test_a_reader_gets_no_advice_to_run_all_again(
    sweep: Callable[..., Said],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sweep("--vary", BUFFERS).code == 0
    monkeypatch.setattr(store, "_PATIENCE", 0.05)
    monkeypatch.setattr(store, "files", lambda *_: [tmp_path / "o" / "points" / "gone.parquet"])
    with pytest.raises(ResultError, match=r"gone\.parquet: has disappeared") as refused:
        _ = backwater.open_sweep(tmp_path / "o").points
    assert "--force" not in str(refused.value)
    # If a command writes the manifest meanwhile, the reader reads it and its files again.
    manifest = read_manifest(tmp_path / "o", SWEEP)
    broken = manifest | {"parts": {"points/part-00000-00009.parquet": "0" * 64}}
    write_manifest(tmp_path / "o", broken)
    read = read_manifest
    asked = []

    def twice(path: Path, *kinds: str) -> dict[str, Any]:
        found = read(path, *kinds)
        asked.append(1)
        if len(asked) == 1:
            write_manifest(path, manifest)
        return found

    monkeypatch.setattr("backwater.sweep.dataset.read_manifest", twice)
    assert backwater.open_sweep(tmp_path / "o").manifest["parts"] == manifest["parts"]


def test_the_command_runs_what_takes_less_than_workers_need(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A point that takes longer than expected is stopped, and workers run it."""
    (tmp_path / "hot.toml").write_text(HOT, encoding="utf-8")
    started = []

    def start(_: Stop) -> Any:  # noqa: ANN401 - a context
        started.append(1)
        return contextlib.nullcontext(Here())

    monkeypatch.setattr("backwater.cli.sweep.here", lambda *_: Workers(start))
    goal = "smallest pfc.xoff in 5 KB..75 KB step 5 KB where pauses <= 4"
    for number, more in enumerate((("--vary", "pfc.xoff=20 KB,30 KB"), ("--goal", goal))):
        begin = ("sweep", "hot.toml", "--variant", "pfc", *more, "--seeds", "1..2")
        command(*begin, "--out", f"a{number}", code=0)
        assert not started
        if number == 0:
            # With --workers, workers run the points.
            command(*begin, "--workers", "1", "--out", "b", code=0)
            assert started.pop()
            assert rows(tmp_path / "a0") == rows(tmp_path / "b")
        # The time limit of this process is close to 0, so workers run the points.
        monkeypatch.setattr("backwater.sweep.run._LONGER", 0.0005)
        command(*begin, "--out", f"c{number}", code=0)
        monkeypatch.setattr("backwater.sweep.run._LONGER", 2.0)
        assert started.pop()
        assert rows(tmp_path / f"a{number}") == rows(tmp_path / f"c{number}")


def test_a_sweep_without_workers_does_without_their_library(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its import takes a second. If it is not installed, an error reports it before any run."""
    (tmp_path / "hot.toml").write_text(HOT, encoding="utf-8")
    words = ["sweep", "hot.toml", "--vary", BUFFERS, "--out", "o"]
    script = (
        "import sys\nfrom backwater.cli import main\n"
        f"assert main({words}) == 0\n"
        "print([name for name in ('distributed', 'dask') if name in sys.modules])\n"
    )
    said = subprocess.check_output([sys.executable, "-c", script], text=True, cwd=tmp_path)
    assert said.splitlines()[-1] == "[]"
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused = command(*words, "--force", code=2)
    assert "error: the library distributed is not installed" in refused.err
    assert "pip install 'backwater[sweep]'" in refused.err


def test_waiting_has_an_end() -> None:
    calls = []

    def reading() -> int:
        calls.append(1)
        if len(calls) < 3:
            raise FileNotFoundError(2, "is gone", "x")
        return 5

    assert settled(reading) == 5


def test_a_search_tries_its_failed_points_again_and_leaves_others(
    sweep: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise backwater.ResultError("by hand", None)

    with monkeypatch.context() as patch:
        patch.setattr(point, "_run", broken)
        assert sweep("--variant", "pfc", "--vary", "pfc.xoff=10KB,20KB,40KB").code == 1
    before = {row["point"]: row for row in rows(tmp_path / "o")}
    assert {row["status"] for row in before.values()} == {"failed"}
    goal = "smallest pfc.xoff in 20 KB,30 KB,40 KB where pauses <= 1000"
    assert sweep("--variant", "pfc", "--goal", goal).code == 0
    after = {row["pfc.xoff"]: row["status"] for row in rows(tmp_path / "o")}
    assert after == {10_000: "failed", 20_000: "done", 30_000: "done", 40_000: "done"}
    # One kind of row a point, also of the points that were tried twice.
    timings = backwater.open_sweep(tmp_path / "o").arrow("timings")["point"].to_pylist()
    assert len(timings) == len(set(timings)) == 4
