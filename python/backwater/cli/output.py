"""How the command speaks: data on stdout, messages on stderr, numbers with units."""

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

# Where output is no terminal its width is not known; this is what tables are laid out for.
PLAIN_WIDTH = 100
# A COLUMNS below the one, or from the other on, is an error of whoever has set it.
LEAST_WIDTH, TOO_WIDE = 20, 10_000


def check_width() -> None:
    """Forget a width in COLUMNS that nobody means: rich would obey, also for help and progress."""
    given = os.environ.get("COLUMNS", "")
    if not (given.isdecimal() and len(given) < len(str(TOO_WIDE)) and int(given) >= LEAST_WIDTH):
        os.environ.pop("COLUMNS", None)


def console() -> Console:
    """A console for data, on stdout. Texts are shown as they are: `[[flow]]` is no markup."""
    from rich.console import Console

    # Of a terminal, and of who says it by COLUMNS, rich finds it.
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = None if known else PLAIN_WIDTH
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def _plain() -> bool:
    """Whether output goes to no terminal, nor to anything that is to be treated as one."""
    forced = os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE")
    return not (sys.stdout.isatty() or forced)


def _width() -> int:
    """Columns that output has."""
    if _plain():
        return int(os.environ.get("COLUMNS", PLAIN_WIDTH))
    return console().width


def put(part: str | View, style: str | None = None) -> None:
    """Print on stdout; without the blanks that end a table's lines where nobody sees them."""
    part = visible(part) if isinstance(part, str) else part
    # A table that cannot be as narrow as the output is wider: what a terminal breaks is not lost.
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


# What stands out of messages, and how: the first word, and the gutter and carets of an excerpt.
MARKS = {
    r"^error(?= in\b|:)": "bold red",
    r"^warning(?=:)": "bold yellow",
    r"^ *hint(?=:)": "bold cyan",
    r"^ *\d* \|(?= |$)": "blue",
    r"^ *\| +(\^+)": "bold red",
}
COLOURED = re.compile(r"error|warning| *hint")


def message(*lines: str) -> None:
    """Say something to the person at the terminal, after what went to stdout before it.

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
    # As long as it is: the terminal breaks lines, and a copied line is whole.
    Console(stderr=True, highlight=False).print(shown, soft_wrap=True)


def warn(warnings: list[dict[str, str]]) -> None:
    """Show what a check had to say."""
    for warning in warnings:
        message(f"warning: {warning['message']}")
        if warning.get("hint"):
            message(f"  hint: {warning['hint']}")


WHOLE_WORD = 12
"""Characters up to which a word is never cut."""


def show(view: View, title: str | None = None, *remarks: str, keys: int = 1) -> None:
    """Print a table with a title above and remarks below it, which may be wider than the table.

    Where room is short, cells are broken between words; where it is shorter than the longest words,
    words are cut, but neither short ones, nor numbers, nor the first columns, of which `keys` tell
    the rows apart. Columns that so have no room beside each other go on below, in groups, each
    with the first `keys`.
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
    """Print rows of text as `show` prints a table, where there may be hundreds of thousands.

    Columns that have no room beside each other go on below, in groups. A table of `rich` takes
    1 ms and 5 KB for each row of three cells.
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
            # A name that is wider than all there is stays whole.
            sys.stdout.write(f"{heads}\n")
        folded = chain.from_iterable(_lines(line, given) for line in lines)
        sys.stdout.writelines(f"{line}\n" for line in folded)


def _least(column: Sequence[str]) -> int:
    """Columns below which a column of a listing, with its head first, could not be copied.

    A number that goes on below is no number, and a broken name of a column is no name.
    """
    head, *cells = column
    numbers = cells if all(map(NUMBER.fullmatch, cells)) else ()
    return max(1, *map(_columns, head.split()), *map(len, numbers))


def _room(group: Sequence[int]) -> int:
    """Columns that the cells of a row may take."""
    return _width() - GAP * (len(group) - 1)


def _groups(widths: Sequence[int], keys: int = 1) -> list[list[int]]:
    """Part columns into groups that have room one below the other.

    The first columns, which tell the rows apart, are in each.
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
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _narrow(widths: list[int], room: int, least: Sequence[int]) -> None:
    """Take from the widest columns, none below its least, until all have room."""
    while sum(widths) > room:
        able = [n for n, width in enumerate(widths) if width > least[n]]
        if not able:
            break
        widest = max(able, key=lambda n: widths[n])
        widths[widest] -= 1


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Give the lines of a row; what is wider than its column goes on below."""
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
    # Only within its strings can JSON have control characters, and there they may be written out.
    text = json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)
    write(target, visible(text) + "\n")


def _finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Give a value without numbers that JSON does not have: these are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value
