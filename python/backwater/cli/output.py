"""Output of the command: data on stdout, messages on stderr, tables in the width of a terminal."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from backwater.cli.views import GAP, View, wrapped
from backwater.errors import ResultError
from backwater.files import write_text
from backwater.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

# Columns of tables if the output is not a terminal.
PLAIN_WIDTH = 100
# A COLUMNS below the first, or not below the second, is a mistake.
LEAST_WIDTH, TOO_WIDE = 20, 10_000


def check_width() -> None:
    """Ignore a mistaken COLUMNS, which rich would obey, also for help and progress."""
    given = os.environ.get("COLUMNS", "")
    if not (given.isdecimal() and len(given) < len(str(TOO_WIDE)) and int(given) >= LEAST_WIDTH):
        os.environ.pop("COLUMNS", None)


def console() -> Console:
    """Return a console on stdout. It shows texts as they are: `[[flow]]` is not markup."""
    from rich.console import Console

    # rich finds the width of a terminal, and reads COLUMNS.
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = None if known else PLAIN_WIDTH
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def _plain() -> bool:
    """Whether output goes neither to a terminal nor to a program that is treated as one."""
    forced = os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE")
    return not (sys.stdout.isatty() or forced)


def _width() -> int:
    """Return the width of the output, in columns."""
    if _plain():
        return int(os.environ.get("COLUMNS", PLAIN_WIDTH))
    return console().width


def put(part: str | View, style: str | None = None) -> None:
    """Print on stdout; lines of a table have no trailing blanks except on a terminal."""
    part = visible(part) if isinstance(part, str) else part
    # A table that is too wide stays wide: the terminal breaks its lines, and no text is lost.
    width = _width() if isinstance(part, str) else max(_width(), part.least)
    if _plain():
        lines = wrapped(part, width) if isinstance(part, str) else part.lines(width)
        if lines is not None:
            sys.stdout.writelines(f"{line}\n" for line in lines)
            return
    screen = console()
    shown = part if isinstance(part, str) else part.rich()
    screen.width = width
    if screen.is_terminal:
        screen.print(shown, style=style)
        return
    with screen.capture() as caught:
        screen.print(shown, style=style)
    sys.stdout.write("".join(line.rstrip() + "\n" for line in caught.get().splitlines()))


# Styles of parts of messages: the first word, and the gutter and carets of an excerpt.
MARKS = {
    r"^error(?= in\b|:)": "bold red",
    r"^warning(?=:)": "bold yellow",
    r"^ *hint(?=:)": "bold cyan",
    r"^ *\d* \|(?= |$)": "blue",
    r"^ *\| +(\^+)": "bold red",
}
COLOURED = re.compile(r"error|warning| *hint")


def message(*lines: str) -> None:
    """Print lines on stderr, after flushing stdout.

    On a terminal errors, warnings and hints have colours, unless NO_COLOR is set.
    """
    sys.stdout.flush()
    for line in lines:
        text = visible(line)
        if COLOURED.match(text) and sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
            _colourful(text)
        else:
            print(text, file=sys.stderr, flush=True)


def _colourful(text: str) -> None:
    from rich.console import Console
    from rich.text import Text

    shown = Text(text)
    for pattern, style in MARKS.items():
        for found in re.finditer(pattern, text, re.MULTILINE):
            shown.stylize(style, *found.span(found.re.groups))
    # The terminal breaks long lines, so that a copied line is whole.
    Console(stderr=True, highlight=False).print(shown, soft_wrap=True)


def warn(warnings: list[dict[str, str]]) -> None:
    """Show the warnings of a check."""
    for warning in warnings:
        message(f"warning: {warning['message']}")
        if warning.get("hint"):
            message(f"  hint: {warning['hint']}")


WHOLE_WORD = 12
"""Words of up to this many characters are never cut."""


def show(view: View, title: str | None = None, *remarks: str, keys: int = 1) -> None:
    """Print a table with a title above and remarks below it, which may be wider than the table.

    In a narrow output cells are broken between words. If even the longest words do not fit, words
    are cut, except short ones, numbers, and the first `keys` columns, which identify the rows.
    Columns that still do not fit beside each other continue below, in groups, each with the first
    `keys` columns.
    """
    if title:
        put(title, style="bold")
    cells = [[str(cell) for cell in (column.header, *column.cells)] for column in view.columns]
    widths = [
        max((_columns(line) for c in of for line in c.split("\n")), default=1) for of in cells
    ]
    words = [[word for cell in of for word in cell.split()] for of in cells]
    whole = [max(map(_columns, of), default=1) for of in words]
    least = [
        longest
        if n < keys or column.justify == "right"
        else max(min(longest, WHOLE_WORD), *map(len, filter(FIGURE.fullmatch, of)), 1)
        for n, (column, of, longest) in enumerate(zip(view.columns, words, whole, strict=True))
    ]
    groups = [list(range(len(widths)))]
    if sum(least) > _room(groups[0]) and len(widths) > keys + 1:
        groups = _groups([max(1, min(w, _width())) for w in widths], keys)
    for number, group in enumerate(groups):
        if number:
            put("")
        given = [widths[n] for n in group]
        _narrow(given, _room(group), [whole[n] for n in group])
        _narrow(given, _room(group), [least[n] for n in group])
        part = View([view.columns[n] for n in group], view.show_header)
        for column, width in zip(part.columns, given, strict=True):
            column.no_wrap, column.width = False, width
        put(part)
    for remark in remarks:
        put(remark, style="dim")


FIGURE = re.compile(r"\W*\d[\d.,]*[^\W\d]{0,4}\W*")
NUMBER = re.compile(r"[-+±0-9.,]*")


def listing(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> None:
    """Print rows of text, perhaps hundreds of thousands, as `show` prints a table.

    Columns that do not fit beside each other continue below, in groups. A table of `rich` would
    take 1 ms and 5 KB for each row of three cells.
    """
    if title:
        put(title, style="bold")
    table = [tuple(visible(cell) for cell in row) for row in (columns, *rows)]
    widths = [max(map(_columns, column)) for column in zip(*table, strict=True)]
    least = [_least(column) for column in zip(*table, strict=True)]
    groups = [list(range(len(columns)))]
    if sum(least) > _room(groups[0]):
        groups = _groups(widths)
    for number, group in enumerate(groups):
        if number:
            put("")
        given = [widths[n] for n in group]
        _narrow(given, _room(group), [least[n] for n in group])
        head, *lines = ([row[n] for n in group] for row in table)
        heads = "\n".join(_lines(head, given))
        if sum(given) <= _room(group):
            put(heads, style="bold")
        else:
            # A name that is wider than the output stays whole.
            sys.stdout.write(f"{heads}\n")
        folded = chain.from_iterable(_lines(line, given) for line in lines)
        sys.stdout.writelines(f"{line}\n" for line in folded)


def _least(column: Sequence[str]) -> int:
    """Return the least width of a column of a listing, whose first cell is its head.

    A number or a name of a column is never broken, so that it can be copied.
    """
    head, *cells = column
    numbers = cells if all(map(NUMBER.fullmatch, cells)) else ()
    return max(1, *map(_columns, head.split()), *map(len, numbers))


def _room(group: Sequence[int]) -> int:
    """Return the width for the cells of a row, without the gaps."""
    return _width() - GAP * (len(group) - 1)


def _groups(widths: Sequence[int], keys: int = 1) -> list[list[int]]:
    """Divide columns into groups that each fit in the output.

    Each group begins with the first `keys` columns, which identify the rows.
    """
    first = list(range(keys))
    groups: list[list[int]] = []
    for n in range(keys, len(widths)):
        joined = [*groups[-1], n] if groups else [*first, n]
        if groups and sum(widths[one] for one in joined) > _room(joined):
            joined = [*first, n]
            groups.append(joined)
        groups[-1:] = [joined]
    return groups or [first]


def _columns(text: str) -> int:
    """Return the width of a text on a terminal, in columns."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _narrow(widths: list[int], room: int, least: Sequence[int]) -> None:
    """Narrow the widest columns, none below its least width, until all fit."""
    while sum(widths) > room:
        able = [n for n, width in enumerate(widths) if width > least[n]]
        if not able:
            break
        widest = max(able, key=lambda n: widths[n])
        widths[widest] -= 1


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a row; a cell that is wider than its column continues below."""
    cells = [_folded(cell, width) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, cells))):
        parts = [cell[number] if number < len(cell) else "" for cell in cells]
        padded = (
            part + " " * (width - _columns(part) + GAP)
            for part, width in zip(parts, widths, strict=True)
        )
        yield "".join(padded).rstrip()


def _folded(cell: str, width: int) -> list[str]:
    if _columns(cell) <= width and "\n" not in cell:
        return [cell]
    if (plain := wrapped(cell, width, fold=True)) is not None:
        return plain
    from rich.text import Text

    return [line.plain for line in Text(cell).wrap(console(), width, overflow="fold")]


def write(target: str, text: str) -> None:
    """Write text to a file, or to stdout for `-`."""
    if target == "-":
        sys.stdout.write(visible(text))
        return
    try:
        write_text(target, text)
    except OSError as error:
        raise ResultError(f"{target}: cannot be written: {error.strerror or error}") from None


def write_json(target: str, value: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Write JSON to a file, or to stdout for `-`."""
    # JSON has control characters only within strings, where escapes may replace them.
    text = json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)
    write(target, visible(text) + "\n")


def _finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a value with None in place of numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value
