"""Named files: regular ones are replaced as a whole, devices, pipes and streams are written to."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from backwater import report
from backwater.files import write_file
from kit.command import Command

# Each command writes one file, its last argument.
WRITERS = {
    "json": ("explain", "pfc.xoff", "--json"),
    "schema": ("schema", "--json"),
    "new": ("new", "--force"),
    "run": ("run", "small.toml", "--json"),
    "sample": ("pcap", "sample"),
}


def device(path: str) -> tuple[int, int]:
    about = os.lstat(path)
    assert stat.S_ISCHR(about.st_mode)
    return about.st_mode, about.st_rdev


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("writer", WRITERS)
def test_devices_are_written_to_and_stay(writer: str, command: Command) -> None:
    before = device("/dev/full"), device("/dev/null")
    command(*WRITERS[writer], "/dev/null", code=0)
    full = command(*WRITERS[writer], "/dev/full", code=1)
    assert "/dev/full: cannot be written: No space left on device" in full.err
    assert (device("/dev/full"), device("/dev/null")) == before


def test_figures_and_captures_leave_devices(command: Command, small: Path, tmp_path: Path) -> None:
    before = device("/dev/null")
    capture = ("--capture", "leaf0", "-o", "/dev/null", "--out", "c")
    command("run", str(small), *capture, code=0)
    command("report", "c", "-o", "/dev/null", "--figures", "f", code=0)
    chart = next((tmp_path / "f").glob("*.svg"))
    chart.unlink()
    chart.symlink_to("/dev/null")
    [figure, *_] = [one for one in report.of("c").figures if one.id == chart.stem]
    figure.save(chart.parent)
    assert chart.is_symlink()
    assert device("/dev/null") == before


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("writer", WRITERS)
def test_a_pipe_is_written_to(writer: str, command: Command, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    said = command(*WRITERS[writer], str(pipe))
    reader.join(10)
    assert said.code == 0, said.err
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert len(got[0]) > 100


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("writer", WRITERS)
def test_links_are_followed_and_modes_kept(writer: str, command: Command, tmp_path: Path) -> None:
    target, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    target.parent.mkdir()
    target.write_bytes(b"")
    target.chmod(0o640)
    link.symlink_to(Path("elsewhere") / "file")
    before = target.stat().st_ino
    command(*WRITERS[writer], "link", code=0)
    assert link.readlink() == Path("elsewhere/file")
    assert target.stat().st_size > 100
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.stat().st_ino != before, "replaced as a whole"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_a_link_to_nothing_makes_its_target(command: Command, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    command("schema", "--json", "link", code=0)
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "target").read_text(encoding="utf-8"))


def test_new_files_have_the_usual_mode(command: Command, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        command("schema", "--json", "made.json", code=0)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "made.json").stat().st_mode) == 0o640


def test_standard_output_by_its_name_goes_on(tmp_path: Path) -> None:
    """With `> FILE` stdout is a regular file, and the JSON must not replace it."""
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with (tmp_path / "out").open("wb") as out:
            subprocess.run(
                [sys.executable, "-m", "backwater", "explain", "pfc.xoff", "--json", name],
                stdout=out,
                cwd=tmp_path,
                check=True,
            )
        said = (tmp_path / "out").read_text(encoding="utf-8")
        facts, end = json.JSONDecoder().raw_decode(said)
        assert facts["key"] == "pfc.xoff"
        assert "pfc.xoff" in said[end:], "the text for people follows"


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_file(file, b"new")
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
