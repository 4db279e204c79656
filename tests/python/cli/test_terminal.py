"""Output on a terminal: no title, label or file name can control it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import backwater
from backwater.cli.output import PLAIN_WIDTH, listing
from backwater.wording import visible
from kit.command import Command, run_apart, start

# Clear the screen, set the window's title, C1's control sequence introducer, bidi, a bell, DEL.
EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2066\x7f\r"
# The same characters in JSON.
SHOWN = r"\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u2066\u007f\u000d"
MARKUP = "[red]no markup[/red] [link=file:///x]y[/link] :smile:"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def evil(small: Path) -> Path:
    """A scenario whose title and labels would move a terminal."""
    text = small.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^title = .*$", lambda _: f"title = {json.dumps(EVIL + MARKUP)}", text)
    file = small.with_name(f"{EVIL[:4]}.toml")
    file.write_text(text.replace('"incast"', json.dumps(EVIL + "[bold]label")), encoding="utf-8")
    return file


def test_control_characters_are_written_out() -> None:
    assert visible(EVIL) == SHOWN
    assert visible("a\tb\nc é → 中 \U0001f600") == "a\tb\nc é → 中 \U0001f600"
    assert visible(os.fsdecode(b"a\xff")) == r"a\udcff"


COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "FILE", "--out", "o"),
    "seeds": ("run", "FILE", "--out", "s", "--seeds", "2"),
    "json": ("run", "FILE", "--out", "j", "--json", "-"),
    "check": ("check", "FILE"),
    "compare": ("compare", "FILE", "FILE@sfc", "--seeds", "2"),
    "why": ("why", "FILE", "--json", "why.json"),
    "unknown": ("check", "FILE", "--set", f"{EVIL}=1"),
    "nothing": ("check", f"{EVIL}FILE"),
    "no variant": ("check", "FILE", "--variant", EVIL),
    "no directory": ("report", EVIL),
    "explain": ("explain", EVIL),
    "pcap": ("pcap", "show", "FILE"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_control_character_is_printed(name: str, command: Command, evil: Path) -> None:
    said = command(*(word.replace("FILE", evil.name) for word in COMMANDS[name]))
    assert "at fault" not in said.err
    assert not CONTROLS.search(said.out + said.err), said
    assert said.out + said.err
    if name in ("run", "seeds"):
        assert "[red]no markup[/red]" in said.out
        assert "[bold]label" in said.out
    if name == "json":
        assert json.loads(said.out)["title"] == EVIL + MARKUP


def test_a_real_terminal_sees_titles_as_they_are(tmp_path: Path, evil: Path) -> None:
    """On a terminal rich sends its own colours, and no control sequence of the scenario."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "backwater", "run", evil.name, "--out", "o"],
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        got = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            got += piece
    os.close(ours)
    assert process.returncode == 0, got
    assert b"[red]no markup" in got
    assert b"\\u001b[2J" in got
    for owned in (b"\x1b]0;", b"\x1b[2J", "\u202e".encode(), b"\xc2\x9b"):
        assert owned not in got


def test_names_that_are_no_text(command: Command, small: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"sc\xffnario.toml")
    (tmp_path / name).write_text(backwater.new_scenario(), encoding="utf-8")
    for words in (("check", name), ("check", str(small), "--variant", name), ("explain", name)):
        said = command(*words, code=2)
        assert r"sc\udcffnario.toml" in said.err
    command("schema", "--json", name.replace("toml", "json"), code=0)


def test_a_listing_says_everything(capsys: pytest.CaptureFixture[str]) -> None:
    """Cells are below their column's name, and a cell that does not fit continues below."""
    rows = [("a", "1", "here"), ("key", "\x1b[2J", "there"), ("k" * 90, "v", "elsewhere " * 4)]
    listing(("key", "value", "from"), rows, "Title")
    title, head, *lines = capsys.readouterr().out.splitlines()
    assert (title, max(map(len, lines)) <= PLAIN_WIDTH) == ("Title", True)
    starts = [head.index(name) for name in ("key", "value", "from")]
    ends = [*starts[1:], None]

    def cells(line: str) -> list[str]:
        return [line[a:b].rstrip() for a, b in zip(starts, ends, strict=True)]

    assert cells(lines[0]) == ["a", "1", "here"]
    assert cells(lines[1]) == ["key", r"\u001b[2J", "there"]
    below = [cells(line) for line in lines[2:]]
    assert "".join(line[0] for line in below) == "k" * 90
    assert " ".join(" ".join(line[2] for line in below).split()) == " ".join(["elsewhere"] * 4)


def test_a_wide_listing_goes_on_below_with_whole_names_and_numbers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A sweep's points have some hundred columns; one of them may be empty in all rows."""
    names = ["point", "warnings", *(f"p99_fct_last_byte_of_group_{n}" for n in range(120))]
    rows = [[f"{row:016x}", "", *(f"{row}{n:05}.125" for n in range(120))] for row in (1, 2)]
    listing(names, rows, "")
    groups = [part.splitlines() for part in capsys.readouterr().out.strip().split("\n\n")]
    assert max(len(line) for lines in groups for line in lines) <= PLAIN_WIDTH
    assert {len(lines) for lines in groups} == {3}
    heads = [lines[0].split() for lines in groups]
    assert [name for head in heads for name in head[1:]] == names[1:]
    # The first column, which identifies the rows, is in each group.
    assert {head[0] for head in heads} == {"point"}
    for at, row in ((1, rows[0]), (2, rows[1])):
        assert [cell for lines in groups for cell in lines[at].split()[1:]] == row[2:]
        assert {lines[at].split()[0] for lines in groups} == {row[0]}


def test_a_listing_has_room_for_one_column_that_is_wider_than_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listing(["a" * 150], [["1"]], "")
    listing(["a" * 150, "b" * 150], [["1", "2"]], "")
    lone, *lines = capsys.readouterr().out.replace("\n1\n", "\n", 1).splitlines()
    assert lone == "a" * 150
    assert " ".join(lines[0].split()) == f"{'a' * 150} {'b' * 150}"


def test_a_listing_of_100_000_rows_is_not_laid_out_cell_by_cell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check of a network of 20,000 switches lists some 140,000 values."""
    printed = []
    whole = Console.print

    def counted(self: Console, *parts: str, style: str | None = None) -> None:
        printed.append(parts)
        whole(self, *parts, style=style)

    monkeypatch.setattr(Console, "print", counted)
    listing(("key", "value"), [(f"k{n}", f"{n}") for n in range(100_000)], "Many")
    assert not printed, "what goes to a pipe needs no layout by rich"
    out = capsys.readouterr().out
    assert out.count("\n") == 100_002
    assert out.endswith("k99999  99999\n")


WIDE: dict[str, tuple[str, ...]] = {
    "listing": ("check", "small.toml"),
    "table": ("list", "mechanisms"),
    "help": ("run", "--help"),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("what", WIDE)
def test_a_width_that_nobody_means_is_as_if_not_given(
    what: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    usual = command(*WIDE[what]).out
    for columns in ("0", "1", "19", "-5", "wide", "²", "", "9" * 5000):
        monkeypatch.setenv("COLUMNS", columns)
        assert command(*WIDE[what]).out == usual, columns[:9]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("what", WIDE)
def test_a_width_that_is_given_counts_in_a_pipe(what: str, tmp_path: Path) -> None:
    """Everything is broken except a table's longest words and a listing's numbers."""
    lines = {}
    for columns in (60, 140):
        done = run_apart(
            *WIDE[what],
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": str(columns), "TERM": "dumb"},
            check=True,
        )
        lines[columns] = done.out.splitlines()
        assert max(map(len, lines[columns])) <= columns
    assert max(map(len, lines[140])) > 60
    assert len(lines[60]) > len(lines[140])


def test_a_reader_that_has_gone_changes_no_code(small: Path, tmp_path: Path) -> None:
    """With `| head -1` the code is that of the work; a full disk behind stdout is an error."""
    for words in (("check", str(small)), ("run", str(small), "--out", "r")):
        with start(*words, cwd=tmp_path) as process:
            assert process.stdout is not None
            process.stdout.close()
            assert process.wait(60) == 0
    assert (tmp_path / "r" / "manifest.json").exists()
    if Path("/dev/full").exists():
        with Path("/dev/full").open("w") as full:
            check = (sys.executable, "-m", "backwater", "check", str(small))
            done = subprocess.run(check, stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 1
        assert b"standard output: cannot be written: No space left on device" in done.stderr
