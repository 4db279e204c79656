"""Lost standard output or standard error changes neither the work nor its exit code."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import backwater
from backwater.cli import main
from kit.scenarios import LOSSY

# Commands that print on both streams, by their exit code.
WORK = {
    0: ("run", "small.toml", "--out", "r"),
    1: ("advise", "sfc", "--senders", "1000"),
    2: ("check", "small.toml", "--set", "pfc.xof=1 KB"),
    3: ("run", "lossy.toml", "--out", "l"),
}
CLOSED = (">&-", "2>&-", "<&- >&- 2>&-")


def backwater_command(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "backwater", *words)


def closed(how: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command with streams closed, as a shell closes them."""
    shell = ("sh", "-c", f'exec "$@" {how}', "sh")
    return subprocess.run((*shell, *backwater_command(*words)), capture_output=True, check=False)


@pytest.fixture(autouse=True)
def scenarios(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small.with_name("lossy.toml").write_text(LOSSY, encoding="utf-8")


@pytest.mark.parametrize("code", WORK)
def test_a_reader_of_messages_that_has_gone_changes_nothing(code: int) -> None:
    heard = subprocess.run(backwater_command(*WORK[code]), capture_output=True, check=False)
    assert (heard.returncode, bool(heard.stderr)) == (code, True)
    ours, theirs = os.pipe()
    os.close(ours)
    again = subprocess.run(
        backwater_command(*WORK[code]), stdout=subprocess.PIPE, stderr=theirs, check=False
    )
    os.close(theirs)
    assert (again.returncode, again.stdout) == (code, heard.stdout)


@pytest.mark.parametrize("how", CLOSED)
def test_closed_streams_change_nothing(how: str) -> None:
    for code, words in WORK.items():
        done = closed(how, *words)
        assert done.returncode == code, done.stderr
        assert b"Traceback" not in done.stderr
        assert b"at fault" not in done.stderr
    for out, complete in (("r", True), ("l", False)):
        assert backwater.open_run(out).complete == complete


def test_a_closed_stream_is_no_other_file() -> None:
    """A process opens files at the first free descriptor, which would be that of its output."""
    for how, name in ((">&-", "/dev/stdout"), ("2>&-", "/dev/stderr"), (">&- 2>&-", "/dev/fd/1")):
        done = closed(how, "explain", "pfc.xoff", "--json", name)
        assert done.returncode == 0, done.stderr
    done = closed("<&-", "check", "-")
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: <stdin>: ")
    assert b"hint: " in done.stderr


def test_a_terminal_that_goes_while_progress_is_shown_changes_nothing() -> None:
    ours, theirs = pty.openpty()
    words = ("run", "small.toml", "--set", "flow.incast.size=20 MB", "--out", "r")
    with subprocess.Popen(
        backwater_command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        assert os.read(ours, 1)
        os.close(ours)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"fingerprint" in out
    assert backwater.open_run("r").status == "done"


def test_a_full_disk_behind_output_is_told_once_the_work_is_done() -> None:
    """Either a message or output on stdout comes first."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    for code, words in WORK.items():
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                backwater_command(*words), stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == (code or 1)
        told = b"standard output: cannot be written: No space left on device" in done.stderr
        assert told == (code != 2), "where nothing is printed nothing is lost"
        assert b"Traceback" not in done.stderr
    assert backwater.open_run("r").complete


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_command_within_a_process_that_has_no_streams(
    stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, stream, None)
    assert main(["check", "small.toml"]) == 0
    assert main(["check", "none.toml"]) == 2
