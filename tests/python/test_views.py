"""What the command lays out itself has the lines that `rich` gives."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from backwater.cli.output import show
from backwater.cli.views import View, wrapped

if TYPE_CHECKING:
    import pytest

WORDS = st.text("ab-.,0(", min_size=1, max_size=9)
TEXTS = st.text("ab-.,0(   ", max_size=70).map(lambda text: " ".join(text.split()))
# Shared machines may take a second for what takes a millisecond.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def drawn(part: object, width: int) -> list[str]:
    """Lines as `rich` prints them, without the blanks at their ends."""
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    console.print(part)
    return [line.rstrip() for line in file.getvalue().splitlines()]


@SHARED
@given(TEXTS, st.integers(9, 60))
def test_a_text_is_broken_as_rich_breaks_it(text: str, width: int) -> None:
    long = any(len(word) > width for word in text.split())
    assert wrapped(text, width) == (None if long else drawn(text, width))


@SHARED
@given(TEXTS, st.integers(1, 30))
def test_a_long_word_goes_on_below_as_with_rich(text: str, width: int) -> None:
    folded = Text(text).wrap(Console(), width, overflow="fold")
    assert wrapped(text, width, fold=True) == [line.plain.rstrip() for line in folded]


def test_what_is_not_plain_is_left_to_rich() -> None:
    assert wrapped("a word-that-is-too-long", 9) is None
    assert wrapped("±1", 9) is None
    view = View()
    view.add_column("one")
    view.add_row("±1")
    assert view.lines(80) is None


@SHARED
@given(
    st.lists(st.tuples(TEXTS, WORDS, TEXTS), min_size=1, max_size=4),
    st.booleans(),
    st.integers(20, 100),
)
def test_a_table_has_the_lines_of_rich(
    rows: list[tuple[str, str, str]], shown: bool, room: int
) -> None:
    view = View(show_header=shown)
    view.add_column("first\nline", no_wrap=True)
    view.add_column("us", justify="right")
    view.add_column("last", overflow="fold")
    for row in rows:
        view.add_row(*row)
    lines = view.lines(room)
    if lines is not None:
        assert lines == drawn(view.rich(), room)


def test_the_first_column_tells_rows_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    view = View()
    view.add_column("case")
    view.add_column("verdict")
    view.add_column("number", justify="right")
    for case in ("single-1200KB", "single-2400KB"):
        view.add_row(case, "incomprehensible", "1234567890")
    show(view)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["single-1200KB", "single-2400KB"]
    assert all(line.endswith(" 1234567890") for line in lines[1:])
