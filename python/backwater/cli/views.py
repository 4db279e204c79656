"""Lays out plain texts and tables without `rich`, whose import takes 50 ms.

A text or table is plain if it has no colour, is ASCII, and has no word that is wider than its room.
`rich` lays out everything else. A test compares the lines of both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from backwater.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

GAP = 2
"""Blanks between two columns."""
_BROKEN = re.compile(r"[^ -~\n]")
_WORDS = re.compile(r"\s*\S+\s*")


@dataclass
class Column:
    """A column of a table, with options of `rich`."""

    header: str = ""
    justify: Literal["left", "right"] = "left"
    overflow: Literal["fold", "ellipsis"] = "ellipsis"
    no_wrap: bool = False
    style: str | None = None
    width: int | None = None
    cells: list[Any] = field(default_factory=list)


@dataclass
class View:
    """A table without lines. A cell is a text, or a `rich.text.Text` if it has a colour."""

    columns: list[Column] = field(default_factory=list)
    show_header: bool = True

    def add_column(
        self,
        header: str = "",
        cells: Iterable[Any] = (),
        **options: Any,  # noqa: ANN401 - as Column has it
    ) -> None:
        """Add a column, perhaps with its cells."""
        self.columns.append(Column(header, cells=list(map(_shown, cells)), **options))

    def add_row(self, *cells: Any) -> None:  # noqa: ANN401 - texts of both kinds
        """Add a row."""
        left = [""] * (len(self.columns) - len(cells))
        for column, cell in zip(self.columns, [*cells, *left], strict=True):
            column.cells.append(_shown(cell))

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return max((len(column.cells) for column in self.columns), default=0)

    @property
    def least(self) -> int:
        """The least width of the table: that of the columns with a given width."""
        return sum(c.width or 0 for c in self.columns) + GAP * (len(self.columns) - 1)

    def rich(self) -> Table:
        """Return the table as a table of `rich`."""
        from rich.table import Table
        from rich.text import Text

        made = Table(box=None, pad_edge=False, header_style="bold", show_header=self.show_header)
        for column in self.columns:
            made.add_column(
                column.header,
                justify=column.justify,
                overflow=column.overflow,
                no_wrap=column.no_wrap,
                style=column.style,
                width=column.width,
            )
        for cells in zip(*(column.cells for column in self.columns), strict=True):
            made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
        return made

    def lines(self, room: int) -> list[str] | None:
        """Return the lines of the table; None if it is not plain."""
        found = [
            [*([c.header] if self.show_header else []), *map(str, c.cells)] for c in self.columns
        ]
        natural = [max((_widest(cell) for cell in cells), default=0) for cells in found]
        widths = [
            n if c.width is None else c.width for n, c in zip(natural, self.columns, strict=True)
        ]
        free = [n for n, c in enumerate(self.columns) if c.width is None and not c.no_wrap]
        over = sum(widths) + GAP * (len(widths) - 1) - room
        if over > 0:
            # Only the widest column is narrowed here; `rich` narrows several.
            if not free:
                return None
            widest = max(free, key=lambda n: widths[n])
            widths[widest] -= over
            if widths[widest] < max((widths[n] for n in free if n != widest), default=1):
                return None
        rows = []
        for cells in zip(*found, strict=True):
            parts = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
            whole = [part for part in parts if part is not None]
            if len(whole) < len(parts):
                return None
            rows.append(whole)
        return [
            line
            for number, row in enumerate(rows)
            for line in self._row(row, widths, header=self.show_header and number == 0)
        ]

    def _row(self, parts: list[list[str]], widths: Sequence[int], *, header: bool) -> list[str]:
        height = max(map(len, parts), default=0)
        # Headers stand at the bottom of their row.
        filled = [
            [""] * (height - len(p)) + p if header else p + [""] * (height - len(p)) for p in parts
        ]
        return [
            (" " * GAP)
            .join(
                text.rjust(width) if column.justify == "right" else text.ljust(width)
                for text, width, column in zip(texts, widths, self.columns, strict=True)
            )
            .rstrip()
            for texts in zip(*filled, strict=True)
        ]


def _shown(cell: Any) -> Any:  # noqa: ANN401 - texts of both kinds
    """Return a cell with visible control characters, which names from files may contain."""
    return visible(cell) if isinstance(cell, str) else cell


def wrapped(text: str, width: int, *, fold: bool = False) -> list[str] | None:
    """Return the lines of a text, broken between words; None if it is not plain.

    With `fold` words that are wider than `width` continue below.
    """
    if _BROKEN.search(text):
        return None
    lines: list[str] = []
    for line in text.split("\n"):
        begun = ""
        for word in _WORDS.findall(line):
            length = len(word.rstrip())
            if len(begun) + length <= width:
                begun += word
                continue
            if length > width and not fold:
                return None
            if begun:
                lines.append(begun)
            size = width if length > width else len(word)
            *whole, begun = (word[at : at + size] for at in range(0, len(word), size))
            lines += whole
        lines.append(begun)
    return [line.rstrip() for line in lines]


def _widest(text: str) -> int:
    return max(map(len, text.split("\n")))
