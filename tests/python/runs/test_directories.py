"""Directories of results: what is reused, resumed, replaced and refused, without loss of files."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import backwater
from backwater import directory, study
from backwater.errors import InputError, ResultError
from kit.command import Command, start
from kit.results import change_line

FOREIGN = b"the user's own"
SEED_2 = ("--set", "seed=2")


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def plant(*folders: Path) -> list[Path]:
    """Put a user's own file and directory into each folder."""
    planted = []
    for folder in folders:
        (folder / "mine").mkdir()
        for file in (folder / "notes.txt", folder / "mine" / "data.parquet"):
            file.write_bytes(FOREIGN)
            planted.append(file)
    return planted


def survived(planted: list[Path]) -> bool:
    return all(path.read_bytes() == FOREIGN for path in planted)


def test_replacing_a_run_leaves_what_is_not_backwaters(
    command: Command, small: Path, tmp_path: Path
) -> None:
    command("run", str(small), "--out", "o", code=0)
    out = tmp_path / "o"
    planted = plant(out, out / "flows")
    (out / "control" / "part-00009.parquet.bak").write_bytes(FOREIGN)
    command("run", str(small), *SEED_2, "--out", "o", "--force", code=0)
    assert survived([*planted, out / "control" / "part-00009.parquet.bak"])
    assert backwater.open_run("o").seed == 2
    # A series has other names: files of the run are removed, and the user's stay.
    command("run", str(small), "--seeds", "2", "--out", "o", "--force", code=0)
    assert survived(planted)
    assert sorted(path.name for path in (out / "flows").iterdir() if path.is_file()) == [
        "notes.txt",
        "part-00000.parquet",
    ]
    # And back: the series is removed, except for the user's files.
    (out / "seed-1").mkdir()
    mine = plant(out / "seed-1")
    (out / "seed-7").mkdir()
    (out / "seed-7" / "manifest.json").write_text('{"kind": "web app"}', encoding="utf-8")
    command("run", str(small), "--out", "o", "--force", code=0)
    assert survived([*planted, *mine])
    assert not (out / "runs.jsonl").exists()
    assert not (out / "statistics.parquet").exists()
    assert json.loads((out / "seed-7" / "manifest.json").read_text()) == {"kind": "web app"}


@pytest.mark.usefixtures("ungrouped")
def test_an_unfinished_seed_is_cleared_of_backwaters_files_only(
    command: Command, small: Path, tmp_path: Path
) -> None:
    command("run", str(small), "--seeds", "1..2", "--out", "o", code=0)
    folder = tmp_path / "o"
    planted = plant(folder, folder / "ports")
    change_line(folder, 2, status="running")
    said = command("run", str(small), "--seeds", "1..2", "--out", "o", code=0)
    assert "1 of 2 runs are in o already" in said.err
    assert backwater.open_run(folder / "seed-2").status == "done"
    assert survived(planted)


MANIFESTS = {
    "none": None,
    "another program's": '{"name": "app", "kind": "run"}',
    "a list": "[1]",
    "no format": '{"kind": "run", "format": "1"}',
    "unknown kind": '{"kind": "site", "format": 1}',
    "no JSON": "{",
}


@pytest.mark.parametrize("name", MANIFESTS)
@pytest.mark.parametrize("where", ["o", "o/seed-1"])
def test_a_directory_of_others_is_refused(
    name: str, where: str, command: Command, small: Path, tmp_path: Path
) -> None:
    folder = tmp_path / where
    folder.mkdir(parents=True)
    plant(folder)
    manifest = MANIFESTS[name]
    if manifest is not None:
        (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    before = content(tmp_path / "o")
    many = ("--seeds", "2") if where == "o/seed-1" else ()
    for force in ((), ("--force",)):
        said = command("run", str(small), *many, "--out", "o", *force, code=2)
        assert "is not empty, and holds no results of Backwater" in said.err
        assert content(tmp_path / "o") == before
        if not many:
            command("compare", "small.toml", "small.toml@sfc", "--out", "o", *force, code=2)
            with pytest.raises(InputError):
                backwater.load(small).run(out="o", force=bool(force))
            with pytest.raises(InputError):
                study.reproduce("bcn-delay-2007", out="o", force=bool(force))
    assert content(tmp_path / "o") == before


@pytest.mark.parametrize("kind", ["run", "seeds"])
def test_results_being_replaced_are_unfinished_at_every_moment(
    kind: str, made: Path, tmp_path: Path
) -> None:
    """Stop the command before each removal of a file, one after the other."""
    removed = 0
    ended = False
    while not ended:
        out = tmp_path / f"o{removed}"
        shutil.copytree(made / kind, out)
        left = removed

        def remove(file: Path, _remove: Callable[[Path], None] = directory._remove) -> None:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            _remove(file)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(directory, "_remove", remove)
            try:
                directory.clear(out)
            except KeyboardInterrupt:
                pass
            else:
                ended = True
        opened = backwater.open_run(out)
        assert opened.status == "running"
        assert directory.standing(out) == kind
        shutil.rmtree(out)
        removed += 1
    assert removed > len(list((made / kind).rglob("part-*.parquet"))) > 3


def test_a_table_that_is_a_link_is_not_followed(
    command: Command, small: Path, tmp_path: Path
) -> None:
    command("run", str(small), "--out", "o", code=0)
    (tmp_path / "o" / "flows").rename(tmp_path / "kept")
    (tmp_path / "o" / "flows").symlink_to(tmp_path / "kept")
    before = content(tmp_path / "kept")
    said = command("run", str(small), *SEED_2, "--out", "o", "--force", code=2)
    assert "o/flows: is a link, and its target would be replaced" in said.err
    assert content(tmp_path / "kept") == before


def test_replacing_a_study_leaves_what_is_not_backwaters(
    command: Command, small: Path, tmp_path: Path
) -> None:
    """Its layout is made by hand, since a study takes long; names and manifests decide."""
    out = tmp_path / "o"
    run = backwater.parse(backwater.new_scenario())
    for place in ("runs/a", "runs/b/seed-1", "observed/c"):
        run.run(out=out / place)
    series = str(out / "runs" / "d")
    command("run", str(small), "--seeds", "2", "--out", series, code=0)
    (out / "manifest.json").write_text('{"kind": "study", "format": 2}', encoding="utf-8")
    (out / "table.json").write_text("[]", encoding="utf-8")
    planted = plant(
        out,
        out / "runs",
        out / "runs" / "a",
        out / "runs" / "b",
        out / "observed",
        out / "runs" / "d",
    )
    directory.clear(out)
    assert survived(planted)
    assert set(content(out)) == {
        "manifest.json",
        *(str(path.relative_to(out)) for path in planted),
    }


@pytest.mark.parametrize("many", [(), ("--seeds", "2")], ids=["run", "seeds"])
def test_an_empty_directory_is_used_as_it_is(
    many: tuple[str, ...],
    command: Command,
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = str(small)
    target = tmp_path / "elsewhere"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    before = target.stat().st_ino
    for force in ((), ("--force",)):
        command("run", scenario, *many, "--out", "link", *force, code=0)
        assert (tmp_path / "link").is_symlink()
        assert target.stat().st_ino == before
        assert (target / "manifest.json").is_file()
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    before = here.stat().st_ino
    for force in ((), ("--force",)):
        command("run", scenario, *many, "--out", ".", *force, code=0)
        assert here.stat().st_ino == before
        assert Path("manifest.json").is_file()


def test_a_mount_point_is_used_as_it_is(small: Path, tmp_path: Path) -> None:
    """A mount point cannot be removed or renamed; this refuses both as the kernel does."""
    out = tmp_path / "mount"
    out.mkdir()
    before = out.stat().st_ino

    rmdir = Path.rmdir

    def busy(self: Path) -> None:
        if self == out:
            raise OSError(16, "Device or resource busy")
        rmdir(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rmdir", busy)
        first = backwater.load(small).run(out=out)
        again = backwater.load(small).run(out=out, seed=2, force=True)
    assert (first.seed, again.seed) == (1, 2)
    assert out.stat().st_ino == before


def test_a_link_to_nothing_is_named(command: Command, small: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    said = command("run", str(small), "--out", "link", code=2)
    assert "link: is a link to nothing" in said.err


def test_a_wrong_scenario_is_told_before_what_is_in_the_way(
    command: Command, small: Path, tmp_path: Path
) -> None:
    command("run", str(small), "--out", "o", code=0)
    for wrong in (("--set", "pfc.xof=1 KB"), ("--set", "pfc.xoff=1 GB")):
        said = command("run", str(small), *wrong, "--out", "o", code=2)
        assert "earlier" not in said.err
        assert "holds" not in said.err
        assert "xof" in said.err
    before = content(tmp_path / "o")
    with pytest.raises(backwater.ScenarioError):
        backwater.load(small).set("pfc.xoff", "1 GB").run(out="o", force=True)
    assert content(tmp_path / "o") == before


def test_the_same_run_is_taken_up(command: Command, small: Path, tmp_path: Path) -> None:
    first = command("run", str(small), "--out", "o", "--json", "first.json")
    before = content(tmp_path / "o")
    again = command("run", str(small), "--out", "o", "--json", "again.json")
    assert (again.code, again.out) == (first.code, first.out)
    assert "the run is in o already" in again.err
    assert Path("again.json").read_text() == Path("first.json").read_text()
    run = backwater.load("small.toml").run(out="o")
    assert run.flows.num_rows > 0
    assert content(tmp_path / "o") == before, "nothing was run or written"
    for change, what in ((SEED_2, "scenario"), (("--seed", "3"), "seed")):
        other = command("run", str(small), *change, "--out", "o", code=2)
        assert f"o: holds a run of another {what}" in other.err
        assert "--force" in other.err
    with pytest.raises(InputError, match="holds a run of another seed"):
        backwater.load(small).run(seed=3, out="o")
    assert content(tmp_path / "o") == before
    assert backwater.load(small).run(seed=3, out="o", force=True).seed == 3
    assert backwater.open_run("o").seed == 3


def test_a_capture_needs_the_run(command: Command, small: Path, tmp_path: Path) -> None:
    command("run", str(small), "--out", "o", code=0)
    capture = ("--capture", "leaf0", "-o", "leaf0.pcapng")
    command("run", str(small), "--out", "o", *capture, code=0)
    assert (tmp_path / "leaf0.pcapng").stat().st_size > 1000


TABLE = "id,src,dst,bytes,start\n1,0,2,10000,0\n"


def test_a_flow_table_is_part_of_the_scenario(command: Command, small: Path) -> None:
    flows = Path("flows.csv")
    flows.write_text(TABLE, encoding="utf-8")
    text = small.read_text(encoding="utf-8").replace(
        "[variant", '[[flow]]\nlabel = "mine"\ntable = "flows.csv"\n\n[variant', 1
    )
    small.write_text(text, encoding="utf-8")
    command("run", str(small), "--out", "o", code=0)
    assert "in o already" in command("run", str(small), "--out", "o").err
    flows.write_text(TABLE.replace("10000", "20000"), encoding="utf-8")
    said = command("run", str(small), "--out", "o", code=2)
    assert "o: holds a run of another scenario: files or tables of flows differ" in said.err


def test_flows_from_python_are_part_of_the_scenario(tmp_path: Path) -> None:
    def scenario(size: int) -> backwater.Scenario:
        flow = {"id": [900], "src": [0], "dst": [2], "bytes": [size], "start_ps": [0]}
        return backwater.parse(backwater.new_scenario()).flows(pa.table(flow), "mine")

    first = scenario(10_000).run(out=tmp_path / "o")
    assert scenario(10_000).run(out=tmp_path / "o").fingerprint == first.fingerprint
    with pytest.raises(InputError, match="files or tables of flows differ"):
        scenario(20_000).run(out=tmp_path / "o")


def test_series_and_comparisons_are_opened_too(command: Command, small: Path) -> None:
    command("run", str(small), "--seeds", "1..3", "--out", "s", code=0)
    series = backwater.open_run("s", backwater.Series)
    assert [run.seed for run in series.runs] == [1, 2, 3]
    assert series.status == "done"
    assert series.statistics.num_rows > 10
    assert isinstance(backwater.open_run("s"), backwater.Series)
    assert isinstance(backwater.open_run("s/seed-1"), backwater.Run)
    with pytest.raises(ResultError, match="s: holds a series of runs, not a run"):
        backwater.open_run("s", backwater.Run)
    pair = ("small.toml", "small.toml@sfc")
    command("compare", *pair, "--seeds", "2", "--out", "c", "--json", "c.json", code=0)
    compared = backwater.open_run("c", backwater.Comparison)
    assert {name: [run.seed for run in runs] for name, runs in compared.runs.items()} == {
        name: [1, 2] for name in pair
    }
    assert compared.rows == json.loads(Path("c.json").read_text(encoding="utf-8"))["rows"]
    # Comparisons can share a directory, but not with other results.
    command("compare", *pair, "--seeds", "2", "--out", "c", code=0)
    command("compare", *pair, "--seeds", "2", "--out", "s", code=2)


HASHED = {
    "run": "run/flows/part-00000.parquet",
    "seeds": "seeds/ports/part-00001.parquet",
    "statistics": "seeds/statistics.parquet",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run with samples, and a series."""
    base = tmp_path_factory.mktemp("made")
    scenario = base / "small.toml"
    scenario.write_text(backwater.new_scenario(), encoding="utf-8")
    from backwater.cli import main

    sampled = ["--set", "output.interval=1 us", "--set", "output.queues=true"]
    assert main(["run", str(scenario), "--out", str(base / "run"), *sampled]) == 0
    with pytest.MonkeyPatch.context() as patch:
        # One after the other, so that each has parts of its own.
        patch.setattr("backwater.series.GROUP_SECONDS", 0.0)
        patch.setattr(os, "cpu_count", lambda: 1)
        assert main(["run", str(scenario), "--out", str(base / "seeds"), "--seeds", "2"]) == 0
    return base


@pytest.mark.parametrize("what", HASHED)
def test_overwritten_octets_are_found(
    what: str, command: Command, made: Path, tmp_path: Path
) -> None:
    for name in ("run", "seeds", "small.toml"):
        (shutil.copytree if (made / name).is_dir() else shutil.copy)(made / name, tmp_path / name)
    file = tmp_path / HASHED[what]
    octets = bytearray(file.read_bytes())
    # In the data, which readers of Parquet do not check.
    octets[100:300] = bytes(octet ^ 0x55 for octet in octets[100:300])
    file.write_bytes(octets)
    folder = HASHED[what].partition("/")[0]
    with pytest.raises(ResultError, match=f"{HASHED[what]}: has changed since it was written"):
        backwater.open_run(folder)
    commands: list[tuple[str, ...]] = [("report", folder, "-o", "page.html")]
    if what != "statistics":
        commands.append(("why", "seeds/seed-2" if what == "seeds" else folder))
        commands.append(("compare", folder, "small.toml@sfc", "--seeds", "2"))
    for one in commands:
        said = command(*one)
        assert (said.code, said.out) == (1, "")
        assert f"{HASHED[what]}: has changed since it was written" in said.err
        assert "hint: " in said.err
    if what == "seeds":
        said = command("run", "small.toml", "--out", "seeds", "--seeds", "2")
        assert "1 of 2 runs are in seeds already" in said.err
        assert backwater.open_run("seeds/seed-2").ports.num_rows > 0


def test_the_manifest_has_what_sha256sum_prints(made: Path) -> None:
    import hashlib

    manifest = json.loads((made / "run" / "manifest.json").read_text(encoding="utf-8"))
    for table, entry in manifest["tables"].items():
        parts = sorted((made / "run" / table).iterdir())
        assert len(parts) == entry["parts"]
        assert entry["sha256"] == [hashlib.sha256(one.read_bytes()).hexdigest() for one in parts]


@pytest.mark.usefixtures("undrawn")
def test_results_of_another_format_or_build_are_refused_or_said(
    command: Command, made: Path, tmp_path: Path
) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    shutil.copy(made / "small.toml", tmp_path / "small.toml")
    manifest = tmp_path / "run" / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    build = backwater._core.version()["build"]
    manifest.write_text(text.replace(build, "0123456789abcdef", 1), encoding="utf-8")
    version = backwater._core.version()["backwater"]
    said = f"made by another version or build: backwater {version} build 0123456789abcdef"
    for words in (
        ("report", "run", "-o", "page.html"),
        ("why", "run"),
        ("compare", "run", "small.toml@sfc", "--seeds", "1"),
    ):
        assert f"warning: run: {said}" in command(*words).err
    with pytest.warns(backwater.OtherBuildWarning, match="0123456789abcdef"):
        backwater.open_run("run")
    manifest.write_text(text.replace('"format": 2', '"format": 3', 1), encoding="utf-8")
    for words in (
        ("report", "run", "-o", "page.html"),
        ("why", "run"),
        ("compare", "run", "small.toml@sfc", "--seeds", "1"),
    ):
        refused = command(*words, code=1)
        assert "is of format 3, and this version reads 2" in refused.err
    with pytest.raises(ResultError, match="format 3"):
        backwater.open_run("run")


def wait_for(found: Path, process: object) -> None:
    deadline = time.monotonic() + 60
    while not found.exists():
        assert process.poll() is None, process.communicate()  # type: ignore[attr-defined]
        assert time.monotonic() < deadline
        time.sleep(0.02)


SLOW = ("--set", "flow.incast.size=400 MB")


def test_one_process_at_a_time_writes(command: Command, small: Path, tmp_path: Path) -> None:
    first = start("run", str(small), *SLOW, "--out", "o", cwd=tmp_path)
    try:
        wait_for(tmp_path / "o" / "manifest.json", first)
        for change in (SLOW, (*SLOW, "--force"), ("--force",), ("--seeds", "2", "--force")):
            second = command("run", str(small), *change, "--out", "o", code=2)
            assert "o: another process is writing results there: process " in second.err
            assert str(first.pid) in second.err
        with pytest.raises(InputError, match="another process"):
            backwater.load(small).run(out="o", force=True)
        first.send_signal(signal.SIGKILL)
        first.communicate(timeout=60)
        assert backwater.open_run("o").status == "running"
        # The lock ended with its process, although its file still exists.
        assert (tmp_path / "o" / directory.LOCK).exists()
        command("run", str(small), "--out", "o", "--force", code=0)
        assert not (tmp_path / "o" / directory.LOCK).exists()
    finally:
        first.kill()
        first.communicate()


def test_a_run_killed_at_any_moment_is_taken_up(
    command: Command, small: Path, tmp_path: Path
) -> None:
    """It leaves nothing, or a directory marked as unfinished; the user's files stay."""
    reference = backwater.load(small).set("flow.incast.size", "20 MB").run().fingerprint
    out = tmp_path / "o"
    out.mkdir()
    for moment in (0.0, 0.01, 0.1, 0.4):
        process = start(
            "run", str(small), "--set", "flow.incast.size=20 MB", "--out", "o", cwd=tmp_path
        )
        deadline = time.monotonic() + 60
        while process.poll() is None and not any(out.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(moment)
        process.kill()
        process.communicate()
        left = directory.standing(out)
        assert left in (None, "run")
        if left is not None:
            assert backwater.open_run(out).status in ("running", "done")
    command("run", str(small), "--set", "flow.incast.size=20 MB", "--out", "o", code=0)
    assert backwater.open_run(out).fingerprint == reference
    assert not list(out.rglob("*.tmp"))


def test_a_full_disk_leaves_no_run_under_way(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest records that the run failed, and why; its report shows both."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("backwater.results.replacing", full)
        said = command("run", str(small), "--out", "r")
    assert (said.code, "Traceback" in said.err) == (1, False)
    assert "No space left on device" in said.err
    manifest = json.loads(Path("r/manifest.json").read_text())
    assert (manifest["status"], manifest["tables"]) == ("failed", {})
    assert "No space left on device" in manifest["error"]
    said = command("report", "r")
    assert (said.code, "Traceback" in said.err) == (0, False)
    assert "No space left on device" in said.err
    command("run", str(small), "--out", "r", code=0)


@pytest.mark.parametrize("option", ["--json", "-o"])
@pytest.mark.usefixtures("undrawn")
def test_output_takes_the_place_of_no_scenario_and_no_result(
    command: Command, small: Path, option: str
) -> None:
    command("run", str(small), "--out", "r", code=0)
    own = Path("own.toml")
    own.write_text(small.read_text())
    Path("link.json").symlink_to(own)
    Path("list.json").write_text("[]")
    parts = sorted(str(part) for part in Path("r/flows").iterdir())
    for name in ("own.toml", "link.json", "r/manifest.json", "r/scenario.toml", *parts):
        before = Path(name).read_bytes()
        words = ("run", "own.toml") if option == "--json" else ("report", "r")
        said = command(*words, option, name)
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith((f"error: {name}: is ", f"error: {name}: exists, is no "))
        assert "would be replaced" in said.err
        assert Path(name).read_bytes() == before
    command("run", "own.toml", "--json", "list.json", code=0)


def test_a_scenario_that_somebody_edited_among_results_stays(command: Command, small: Path) -> None:
    command("run", str(small), "--out", "r", code=0)
    mine = Path("r/scenario.toml")
    mine.write_text(mine.read_text() + "# my notes\n")
    said = command("run", str(small), "--set", "seed=2", "--out", "r", "--force", code=2)
    assert said.err.startswith("error: r/scenario.toml: was changed since it was written")
    assert mine.read_text().endswith("# my notes\n")


def test_a_manifest_of_another_program_is_not_ours(command: Command, small: Path) -> None:
    folder = Path("theirs")
    folder.mkdir()
    theirs = json.dumps({"format": 1, "kind": "run", "versions": {"tool": "7"}})
    (folder / "manifest.json").write_text(theirs)
    (folder / "scenario.toml").write_text("mine = true\n")
    said = command("run", str(small), "--out", "theirs", "--force", code=2)
    assert "holds no results of Backwater" in said.err
    assert (folder / "scenario.toml").read_text() == "mine = true\n"


@pytest.mark.parametrize("after", ["run", "force", "clearing"])
def test_a_scenario_edited_after_a_kill_stays(
    after: str, command: Command, small: Path, tmp_path: Path
) -> None:
    """The run is killed while it runs, after it replaced another, or while that is removed."""
    if after != "run":
        command("run", str(small), "--out", "o", code=0)
    if after == "clearing":
        with pytest.MonkeyPatch.context() as patch:

            def killed(_file: Path) -> None:
                raise KeyboardInterrupt

            patch.setattr(directory, "_remove", killed)
            with pytest.raises(KeyboardInterrupt):
                directory.clear(tmp_path / "o")
    else:
        process = start("run", str(small), *SLOW, "--out", "o", "--force", cwd=tmp_path)
        try:
            wait_for(tmp_path / "o" / "scenario.toml", process)
            # The earlier run's file is removed before the new one is written.
            text = ""
            while "400 MB" not in text:
                assert process.poll() is None, process.communicate()
                with contextlib.suppress(FileNotFoundError):
                    text = (tmp_path / "o" / "scenario.toml").read_text()
        finally:
            process.kill()
            process.communicate()
    assert backwater.open_run("o").status == "running"
    mine = tmp_path / "o" / "scenario.toml"
    edited = mine.read_text() + "# my notes\n"
    mine.write_text(edited)
    for words in ((), ("--force",), SLOW, (*SLOW, "--force"), ("--seeds", "2", "--force")):
        said = command("run", str(small), *words, "--out", "o", code=2)
        assert mine.read_text() == edited
        if words in ((*SLOW, "--force"), ("--force",), ("--seeds", "2", "--force")):
            assert said.err.startswith("error: o/scenario.toml: was changed since it was written")


def test_no_edited_scenario_below_is_lost(command: Command, small: Path, tmp_path: Path) -> None:
    """A series has one scenario, and is not replaced if somebody has edited that."""
    command("run", str(small), "--seeds", "2", "--out", "o", code=0)
    mine = tmp_path / "o" / "scenario.toml"
    mine.write_text(mine.read_text() + "# my notes\n")
    before = content(tmp_path / "o")
    for words in (SEED_2, ("--seeds", "2", "--set", "flow.incast.size=3 MB")):
        said = command("run", str(small), *words, "--out", "o", "--force", code=2)
        assert "error: o/scenario.toml: was changed since it was written" in said.err
        assert content(tmp_path / "o") == before


def test_the_beginning_of_a_manifest_is_swept(command: Command, small: Path) -> None:
    Path("o").mkdir()
    Path("o/.manifest.json.5a42976d.tmp").write_text("{")
    command("run", str(small), "--out", "o", code=0)
    assert not list(Path("o").rglob("*.tmp"))


def test_force_does_all_runs_anew(command: Command, small: Path) -> None:
    for words in (
        ("run", str(small), "--seeds", "2", "--out", "o"),
        ("compare", str(small), f"{small}@sfc", "--seeds", "2", "--out", "c"),
    ):
        command(*words, code=0)
        runs = sorted(Path(words[-1]).rglob("part-00000.parquet"))
        written = [run.stat().st_mtime_ns for run in runs]
        command(*words, code=0)
        assert [run.stat().st_mtime_ns for run in runs] == written
        # A series that continues does not write its scenario again, even if it was edited.
        mine = next(Path(words[-1]).rglob("scenario.toml"))
        mine.write_text(mine.read_text() + "# my notes\n")
        command(*words, "--force", code=0)
        assert not {run.stat().st_mtime_ns for run in runs} & {*written}
        assert mine.read_text().endswith("# my notes\n")


@pytest.mark.parametrize("broken", ["damaged", "older", "without hashes"])
def test_a_scenario_of_which_nobody_can_tell_is_kept(
    command: Command, small: Path, broken: str
) -> None:
    command("run", str(small), "--out", "r", code=0)
    mine, manifest = Path("r/scenario.toml"), Path("r/manifest.json")
    mine.write_text(mine.read_text() + "# my notes\n")
    text = manifest.read_text()
    if broken == "damaged":
        manifest.write_text(text[:200])
    else:
        told = json.loads(text)
        told = told | {"format": 1} if broken == "older" else told
        gone = ("files", "sha256") if broken == "without hashes" else ()
        manifest.write_text(json.dumps({k: v for k, v in told.items() if k not in gone}))
    command("run", str(small), "--set", "seed=2", "--out", "r", "--force", code=0)
    assert Path("r/scenario.toml.kept-1").read_text().endswith("# my notes\n")
    assert "seed = 2" in mine.read_text()
