"""Slides as boxes of text, tables and drawings, before they are a file of any kind.

Everything is in points, from the upper left corner of a slide of 16:9. Text is laid out here, once,
so that both kinds of file have it in the same places and a test can see whether it fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from backwater.plot.measure import broken
from backwater.plot.shades import DARK, DARK_FAINT, DARK_GRID, DARK_INK, DARK_PAPER, LIGHT, PRINT
from backwater.plot.theme import BLUE, FAINT, GRID, INK

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 960.0, 540.0
"""13.333 by 7.5 inches, as presentation programs have 16:9."""
MARGIN = 40.0
BODY = WIDTH - 2 * MARGIN
TOP, BOTTOM = 92.0, 500.0
"""Where what is below the title begins, and ends."""
TITLE, LEAD, TEXT, SMALL = 26.0, 18.0, 16.0, 12.0
"""Sizes of text. Nothing is smaller than the last."""
LINE = 1.22
"""Height of a line, of its size."""
PAD_X, PAD_Y = 6.0, 3.0
"""Room within a table's cell."""


@dataclass(frozen=True)
class Shades:
    """The colours of a theme, as #rrggbb."""

    paper: str
    ink: str
    faint: str
    line: str
    accent: str


SHADES = {
    LIGHT: Shades("#ffffff", INK, FAINT, GRID, BLUE.lower()),
    DARK: Shades(DARK_PAPER, DARK_INK, DARK_FAINT, DARK_GRID, "#4aa8e8"),
    PRINT: Shades("#ffffff", "#000000", "#333333", "#999999", "#000000"),
}


@dataclass(frozen=True)
class Text:
    """Paragraphs in a box."""

    x: float
    y: float
    width: float
    height: float
    paragraphs: tuple[str, ...]
    size: float = TEXT
    bold: bool = False
    faint: bool = False
    mono: bool = False
    right: bool = False
    gap: float = 0.35
    """Between paragraphs, of the size."""

    @property
    def lines(self) -> list[list[str]]:
        """The lines of each paragraph."""
        return [
            broken(text, self.width, self.size, bold=self.bold, mono=self.mono)
            for text in self.paragraphs
        ]

    @property
    def needs(self) -> float:
        """The height that the lines take."""
        lines = sum(map(len, self.lines))
        return self.size * (LINE * lines + self.gap * (len(self.paragraphs) - 1))


@dataclass(frozen=True)
class Grid:
    """A table: rows of cells, each with its lines; the first row is the head."""

    x: float
    y: float
    widths: tuple[float, ...]
    heights: tuple[float, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]
    """Columns of numbers, which stand to the right."""
    size: float = SMALL

    def lines(self, row: int, column: int) -> list[str]:
        """The lines of a cell."""
        room = self.widths[column] - 2 * PAD_X
        return broken(self.rows[row][column], room, self.size, bold=row == 0)


@dataclass(frozen=True)
class Drawing:
    """SVG in a box, as large as the box lets it be."""

    x: float
    y: float
    width: float
    height: float
    svg: str
    about: str
    """What a reader is told who cannot see it."""


Part = Text | Grid | Drawing


@dataclass(frozen=True)
class Slide:
    """One slide."""

    kind: str
    """What it is: title, setup, assumptions, table, figure, differs, again."""
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Deck:
    """All slides, and what the file says of itself."""

    slides: tuple[Slide, ...]
    theme: str
    title: str
    made_by: str
    when: datetime
    """When the results began: the file has no other date, so that it is always the same."""
    failed: tuple[str, ...] = ()
    """What was asked for and not done; the command says it, too."""

    @property
    def shades(self) -> Shades:
        """Its colours."""
        return SHADES[self.theme]


EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""The date of a file whose results have none."""


def date_of(texts: Sequence[str]) -> datetime:
    """Give the earliest of some dates as manifests have them; EPOCH if there is none."""
    found = [datetime.fromisoformat(text) for text in texts if text]
    return min(found, default=EPOCH)
