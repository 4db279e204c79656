"""Slides as boxes of text, tables and drawings, independent of the kind of file.

Coordinates are in points from the upper left corner of a 16:9 slide. Lines of text are broken here,
once: both kinds of file then have the same lines, and tests can check that they fit.
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
"""13.333 by 7.5 inches, the usual size of 16:9 slides."""
MARGIN = 40.0
BODY = WIDTH - 2 * MARGIN
TOP, BOTTOM = 92.0, 500.0
"""Upper and lower end of the area below the title."""
TITLE, LEAD, TEXT, SMALL = 26.0, 18.0, 16.0, 12.0
"""Sizes of text; SMALL is the least."""
LINE = 1.22
"""Height of a line, in multiples of its text size."""
PAD_X, PAD_Y = 6.0, 3.0
"""Margins inside a table cell."""


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
    """Space between paragraphs, in multiples of the size."""

    @property
    def lines(self) -> list[list[str]]:
        """The lines of each paragraph."""
        return [
            broken(text, self.width, self.size, bold=self.bold, mono=self.mono)
            for text in self.paragraphs
        ]

    @property
    def needs(self) -> float:
        """The height of all lines, with the space between paragraphs."""
        lines = sum(map(len, self.lines))
        return self.size * (LINE * lines + self.gap * (len(self.paragraphs) - 1))


@dataclass(frozen=True)
class Grid:
    """A table: rows of cells; the first row is the head."""

    x: float
    y: float
    widths: tuple[float, ...]
    heights: tuple[float, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]
    """True for columns that are aligned to the right, as numbers are."""
    size: float = SMALL

    def lines(self, row: int, column: int) -> list[str]:
        """The lines of a cell."""
        room = self.widths[column] - 2 * PAD_X
        return broken(self.rows[row][column], room, self.size, bold=row == 0)


@dataclass(frozen=True)
class Drawing:
    """An SVG drawing and the box that it has to fit."""

    x: float
    y: float
    width: float
    height: float
    svg: str
    about: str
    """Alternative text, for readers who cannot see the drawing."""


Part = Text | Grid | Drawing


@dataclass(frozen=True)
class Slide:
    """One slide."""

    kind: str
    """One of title, setup, assumptions, table, figure, differs, again."""
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Deck:
    """All slides, with the metadata of the file."""

    slides: tuple[Slide, ...]
    theme: str
    title: str
    made_by: str
    when: datetime
    """When the run started. The file has no other date: the same results make the same file."""
    failed: tuple[str, ...] = ()
    """What the run was asked to do and did not; the command prints it as well."""

    @property
    def shades(self) -> Shades:
        """The colours of its theme."""
        return SHADES[self.theme]


EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""The date of a file whose results have no date."""


def date_of(texts: Sequence[str]) -> datetime:
    """Return the earliest of the ISO dates of manifests, or EPOCH if all are empty."""
    return min((datetime.fromisoformat(text) for text in texts if text), default=EPOCH)
