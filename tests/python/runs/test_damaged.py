"""Damaged results: every command names the place, and no command prints a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backwater
from backwater.cli import main
from backwater.cli.runs import INCOMPLETE
from backwater.errors import InputError, ResultError
from backwater.manifest import FORMATS, read_manifest, write_manifest
from backwater.results import TABLES

SETTINGS = settings(
    # FUZZ=1000 tries a thousand for each test, in two minutes.
    max_examples=int(os.environ.get("FUZZ", "20")),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a small run with samples."""
    base = tmp_path_factory.mktemp("made")
    scenario = (
        backwater.parse(backwater.new_scenario())
        .set("flow.incast.size", "40 KB")
        .set("output.interval", "5 us")
        .set("output.queues", True)
        .set("output.waits", ["all"])
        .set("output.pause_causes", True)
    )
    (base / "small.toml").write_text(scenario.resolved(), encoding="utf-8")
    assert main(["run", str(base / "small.toml"), "--out", str(base / "run")]) == 0
    return base


def look(folder: Path) -> None:
    """Open results, and read everything."""
    opened = backwater.open_run(folder)
    for table in TABLES:
        getattr(opened, table)
    _ = opened.summary, opened.warnings, opened.seed, opened.status, opened.fingerprint


def judged(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> int:
    """Run a command, which succeeds or names the defect."""
    code = main([*words])
    said = capsys.readouterr()
    assert "at fault" not in said.err, said.err
    assert "Traceback" not in said.err
    if code == INCOMPLETE:
        # If the manifest marks the run as failed, the command reports that first.
        assert str(folder) in said.out.splitlines()[0]
    elif code:
        assert "error: " in said.err
        assert "hint: " in said.err, said.err
        assert str(folder) in said.err or "<the run's scenario>" in said.err, said.err
    return code


def one_of(capsys: pytest.CaptureFixture[str], base: Path, number: int) -> int:
    """Let one of the readers of results read the run in a directory."""
    run, scenario = base / "run", str(base / "small.toml")
    if number == 0:
        with contextlib.suppress(ResultError, InputError, backwater.OtherBuildWarning):
            look(run)
        return 0
    words = (
        ("report", str(run), "-o", str(base / "page.html")),
        ("why", str(run)),
        ("compare", str(run), scenario, "--seeds", "1", "--out", str(base / "c")),
        ("run", scenario, "--out", str(run)),
    )[number - 1]
    return judged(capsys, run, *words)


READERS = st.integers(0, 4)


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Callable[[], Path]:
    def copy() -> Path:
        base = tmp_path / "copy"
        shutil.rmtree(base, ignore_errors=True)
        shutil.copytree(made, base)
        return base

    return copy


def places(value: object, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Yield every place in a JSON document, with only the first entry of long lists."""
    found = [place] if place else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*place, key))
    elif isinstance(value, list) and value:
        found += places(value[0], (*place, 0))
    return found


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    1.5e308,
    "",
    "\x1b[31m",
    [],
    {},
    [[]],
    {"": {}},
    [None],
)


@SETTINGS
@given(data=st.data())
def test_a_mutated_manifest_is_named(
    data: st.DataObject, copied: Callable[[], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    base = copied()
    path = base / "run" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    place = data.draw(st.sampled_from(places(manifest)))
    inner = manifest
    for step in place[:-1]:
        inner = inner[step]
    value = data.draw(st.sampled_from((*ODD, "remove")))
    if value == "remove":
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    path.write_text(json.dumps(manifest), encoding="utf-8")
    one_of(capsys, base, data.draw(READERS))


@SETTINGS
@given(data=st.data())
def test_a_cut_or_overwritten_file_is_named(
    data: st.DataObject, copied: Callable[[], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    base = copied()
    run = base / "run"
    # A table without rows has no file.
    parts = [f"{name}/part-00000.parquet" for name in TABLES]
    file = data.draw(
        st.sampled_from(["manifest.json", *(part for part in parts if (run / part).is_file())])
    )
    octets = bytearray((run / file).read_bytes())
    where = data.draw(st.integers(0, len(octets) - 1))
    if data.draw(st.booleans()):
        del octets[where:]
    else:
        octets[where] ^= data.draw(st.integers(1, 255))
    (run / file).write_bytes(bytes(octets))
    if file != "manifest.json":
        with pytest.raises(ResultError, match=file):
            look(run)
    one_of(capsys, base, data.draw(READERS))


WRONG: dict[str, Callable[[pa.Table], pa.Table]] = {
    "another table": lambda _: pa.table({"x": [1]}),
    "no columns": lambda _: pa.table({}),
    "control characters": lambda t: t.rename_columns([f"\x1b[31m{n}" for n in t.column_names]),
    "one column twice": lambda t: t.append_column(t.column_names[0], t.column(0)),
    "another type": lambda t: t.set_column(
        0,
        t.column_names[0],
        pa.array([{"a": []}] * t.num_rows, pa.struct([pa.field("a", pa.list_(pa.int8()))])),
    ),
    "empty names": lambda t: t.rename_columns(["" for _ in t.column_names]),
}


@pytest.mark.parametrize("table", ["flows", "series"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_named(
    name: str, table: str, copied: Callable[[], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """In a run that was killed, for whose parts there are no hashes."""
    base = copied()
    run = base / "run"
    part = run / table / "part-00000.parquet"
    pq.write_table(WRONG[name](pq.ParquetFile(part).read()), part)
    manifest = read_manifest(run)
    del manifest["tables"], manifest["summary"]
    write_manifest(run, manifest | {"status": "running"})
    with pytest.raises(ResultError, match=f"{table}/part-00000.parquet: "):
        look(run)
    assert judged(capsys, run, "report", str(run), "-o", str(base / "page.html")) == 1


@pytest.mark.parametrize("kind", ["seeds", "study", "comparison"])
def test_damaged_manifests_of_other_kinds_are_named(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "o"
    folder.mkdir()
    kinds: dict[str, dict[str, Any]] = {
        "seeds": {"runs": ["seed-1"], "run": {"scenario": "", "warnings": []}},
        "study": {"study": "bcn-delay-2007", "points": []},
        "comparison": {"scenarios": [{"scenario": "a", "directory": "a"}], "seeds": [1]},
    }
    whole = kinds[kind]
    for key in whole:
        for value in ODD:
            content = {"format": FORMATS[kind], "kind": kind, "status": "done", **whole, key: value}
            (folder / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
            with contextlib.suppress(ResultError, backwater.OtherBuildWarning):
                backwater.open_run(folder)
            judged(capsys, folder, "report", str(folder), "-o", str(tmp_path / "page.html"))
            judged(capsys, folder, "why", str(folder))
    outside = {"format": 3, "kind": "seeds", "status": "done", "runs": ["../elsewhere"], "run": {}}
    (folder / "manifest.json").write_text(json.dumps(outside), encoding="utf-8")
    with pytest.raises(ResultError, match=r"'\.\./elsewhere' is not the name of a run"):
        backwater.open_run(folder)
