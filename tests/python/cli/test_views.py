"""Tables that the command lays out itself have the same lines as with `rich`."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import redirect_stdout

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from backwater.cli.comparison_table import table
from backwater.cli.output import show
from backwater.cli.views import View, wrapped
from backwater.comparison import row
from backwater.numbers.metrics import metric

WORDS = st.text("ab-.,0(", min_size=1, max_size=9)
TEXTS = st.text("ab-.,0(   ", max_size=70).map(lambda text: " ".join(text.split()))
# A shared machine may take a second for a millisecond of work.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def drawn(part: object, width: int) -> list[str]:
    """Return the lines that `rich` prints, without trailing blanks."""
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
    for cells in rows:
        view.add_row(*cells)
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


NUMBERS = st.integers(0, 10**9).flatmap(lambda n: st.sampled_from([n / 1e6, n / 1e3, float(n)]))


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(60, 120), st.integers(2, 8), st.booleans(), st.data())
def test_a_comparison_shows_every_number_whole(
    width: int, scenarios: int, jobs: bool, data: st.DataObject
) -> None:
    """For any number of scenarios: the same words as with unlimited width."""
    names = ["mean_fct:victim", "pause_time", *(["mean_over_bound:train/grads"] if jobs else [])]
    rows = [
        row(
            metric(name),
            [dict(enumerate(data.draw(st.tuples(*[NUMBERS] * 5)))) for _ in range(scenarios)],
        )
        for name in names
    ]
    wide, narrow = (shown(table(rows, 5), room) for room in (2000, width))
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= width
    assert not Counter(wide.split()) - Counter(narrow.split())
    # A group of columns that continues below repeats the metric and the unit.
    again = set(Counter(narrow.split()) - Counter(wide.split()))
    assert again <= {word for name in ("metric", "unit", *names) for word in key(name)}


def key(name: str) -> list[str]:
    """Return the words of the first two columns of a metric's row."""
    head, colon, group = name.partition(":")
    unit = [] if name in ("metric", "unit") else [metric(name).unit]
    return [name, f"{head}{colon}", group, *unit]


def shown(view: View, width: int) -> str:
    """Return a table as the command prints it at a width."""
    file = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(file):
        patch.setenv("COLUMNS", str(width))
        show(view, keys=2)
    return file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_table_cuts_a_number(width: int) -> None:
    """Tables of a study, a sweep or a search, with numeric columns, too wide for the output."""
    view = View()
    view.add_column("case")
    numbers = [f"{n}.{n:04}" for n in range(1000000, 1000012)]
    for n in range(0, 12, 2):
        view.add_column(f"measure-{n}", justify="right")
        view.add_column(f"published-{n}")
    view.add_row("single-1200KB", *numbers)
    words = shown(view, width).split()
    assert list(dict.fromkeys(word for word in words if word in numbers)) == numbers
