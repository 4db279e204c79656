"""Lays out slides: lines of text, columns of tables, and further slides for long ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from backwater.deck.model import (
    BODY,
    BOTTOM,
    LINE,
    MARGIN,
    PAD_X,
    PAD_Y,
    SMALL,
    TEXT,
    TITLE,
    TOP,
    WIDTH,
    Drawing,
    Grid,
    Slide,
    Text,
)
from backwater.errors import InputError
from backwater.plot.measure import broken, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.deck.model import Part
    from backwater.report.page import Table

MOST_TABLE_SLIDES = 6
"""Most slides of one table; the last one counts the rows that only the report has."""
_NARROWEST = 40.0
_CUT = 600
"""Most characters of a cell."""


def titled(kind: str, title: str, parts: Sequence[Part]) -> Slide:
    """Return a slide with its title in one line or two."""
    return Slide(kind, title, (head(title), *parts))


def head(title: str) -> Text:
    """Lay out a title in two lines at most: in a smaller size if needed, then cut."""
    box = shrunk(Text(MARGIN, 18, BODY, TOP - 28, (title,), TITLE, bold=True), TEXT)
    while box.needs > box.height:
        box = replace(box, paragraphs=(box.paragraphs[0][:-2].rstrip(" …") + "…",))
    return box


def shrunk(box: Text, least: float = SMALL) -> Text:
    """Return text in a size in which it fits its box; if none from `least` on does, in `least`."""
    while box.needs > box.height and box.size > least:
        box = replace(box, size=box.size - 1)
    return box


def text(kind: str, title: str, paragraphs: Sequence[str]) -> list[Slide]:
    """Return slides of paragraphs, as many on each as fit.

    Raises `InputError` for a paragraph that is longer than a slide.
    """
    slides: list[list[str]] = [[]]
    for one in paragraphs:
        box = Text(MARGIN, TOP, BODY, BOTTOM - TOP, (*slides[-1], one))
        if slides[-1] and box.needs > box.height:
            slides.append([])
        slides[-1].append(one)
    made = []
    for number, some in enumerate(slides):
        box = shrunk(Text(MARGIN, TOP, BODY, BOTTOM - TOP, tuple(some)))
        if box.needs > box.height:
            raise InputError(f"slide {title}: a paragraph is longer than a slide", some[0][:80])
        made.append(titled(kind, _numbered(title, number, len(slides)), [box]))
    return made


def table(kind: str, title: str, content: Table, lead: str = "") -> list[Slide]:
    """Return slides of a table; the head is repeated on each."""
    titles = [column.title for column in content.columns]
    rows = [[_cut(cell) for cell in row] for row in content.rows]
    top = TOP
    before: list[Part] = []
    if lead:
        box = Text(MARGIN, TOP, BODY, 0, (lead,), TEXT)
        before = [replace(box, height=box.needs + 2)]
        top += box.needs + 12
    note = Text(MARGIN, 0, BODY, 0, (content.note,), SMALL, faint=True) if content.note else None
    room = BOTTOM - top - (note.needs + 8 if note else 0)
    size = _size(titles, rows, room)
    widths = _widths(titles, rows, size)
    pages: list[list[list[str]]] = [[]]
    used = first = _height(titles, widths, size, bold=True)
    for row in rows:
        high = _height(row, widths, size)
        if pages[-1] and used + high > room:
            pages.append([])
            used = first
        pages[-1].append(row)
        used += high
    left = sum(map(len, pages[MOST_TABLE_SLIDES:]))
    pages = pages[:MOST_TABLE_SLIDES]
    slides = []
    for number, some in enumerate(pages):
        every = [titles, *some]
        heights = [_height(row, widths, size, bold=n == 0) for n, row in enumerate(every)]
        grid = Grid(
            MARGIN,
            top,
            tuple(widths),
            tuple(heights),
            tuple(map(tuple, every)),
            tuple(column.number for column in content.columns),
            size,
        )
        parts: list[Part] = [*before, grid]
        words = content.note
        if left and number == len(pages) - 1:
            words = f"{left} more rows are in the report. {words}".strip()
        if words:
            below = Text(MARGIN, top + sum(heights) + 8, BODY, 0, (words,), SMALL, faint=True)
            parts.append(replace(below, height=below.needs))
        slides.append(titled(kind, _numbered(title, number, len(pages)), parts))
    return slides


def figure(
    kind: str, title: str, svgs: Sequence[str], sentence: str, note: str = ""
) -> list[Slide]:
    """Return a slide for each drawing of a figure, with the sentence above it."""
    slides = []
    above, below = boxes(sentence, note)
    top, height = place(sentence, note)
    for number, svg in enumerate(svgs):
        drawing = Drawing(MARGIN, top, BODY, height, svg, f"{title}: {sentence}")
        parts: list[Part] = [*above, drawing, *below]
        slides.append(titled(kind, _numbered(title, number, len(svgs)), parts))
    return slides


def boxes(sentence: str, note: str) -> tuple[list[Text], list[Text]]:
    """Lay out the texts above and below a figure; no box for an empty one."""
    above = Text(MARGIN, TOP - 8, BODY, 0, (sentence,), TEXT)
    below = Text(MARGIN, 0, BODY, 0, (note,), SMALL, faint=True)
    below = replace(below, y=BOTTOM - below.needs, height=below.needs)
    return (
        [replace(above, height=above.needs)] if sentence else [],
        [below] if note else [],
    )


def place(sentence: str, note: str) -> tuple[float, float]:
    """Return the top of a figure, and its greatest height."""
    above, below = boxes(sentence, note)
    top = above[0].y + above[0].height + 10 if above else TOP
    bottom = below[0].y - 6 if below else BOTTOM
    return top, bottom - top


def foot(slide: Slide, number: int, words: str) -> Slide:
    """Add the line at the bottom of a slide: text on the left, the slide's number on the right."""
    line = SMALL * LINE
    wide = width(str(number), SMALL) + 4
    room = BODY - wide - 12
    while width(words, SMALL) > room:
        words = words[:-2].rstrip(" …") + "…"
    left = Text(MARGIN, 512, room, line, (words,), SMALL, faint=True)
    right = Text(
        WIDTH - MARGIN - wide, 512, wide, line, (str(number),), SMALL, faint=True, right=True
    )
    return replace(slide, parts=(*slide.parts, left, right))


def _numbered(title: str, number: int, of: int) -> str:
    return title if of == 1 else f"{title} ({number + 1} of {of})"


def _cut(cell: str) -> str:
    return cell if len(cell) <= _CUT else cell[: _CUT - 1] + "…"


def _size(titles: Sequence[str], rows: Sequence[Sequence[str]], room: float) -> float:
    """Return the largest text size at which a table fits a slide without breaking a cell."""
    for size in (16.0, 14.0, 13.0):
        natural = _asked(titles, rows, size)
        if sum(natural) <= BODY and (len(rows) + 1) * (size * LINE + 2 * PAD_Y) <= room:
            return size
    return SMALL


def _height(
    row: Sequence[str], widths: Sequence[float], size: float, *, bold: bool = False
) -> float:
    lines = max(
        len(broken(cell, wide - 2 * PAD_X, size, bold=bold))
        for cell, wide in zip(row, widths, strict=True)
    )
    return lines * size * LINE + 2 * PAD_Y


def _needs(cell: str, size: float, *, bold: bool) -> float:
    return max(width(line, size, bold=bold) for line in cell.split("\n")) + 2 * PAD_X + 1


def _asked(titles: Sequence[str], rows: Sequence[Sequence[str]], size: float) -> list[float]:
    """Return the width of the widest cell of each column."""
    columns = zip(titles, *rows, strict=True)
    return [max(_needs(cell, size, bold=n == 0) for n, cell in enumerate(one)) for one in columns]


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]], size: float) -> list[float]:
    """Return widths of columns: of their widest cells, the widest narrowed until all fit."""
    widths = _asked(titles, rows, size)
    words = [
        max(
            _needs(word, size, bold=n == 0)
            for n, cell in enumerate(one)
            for word in cell.split() or [""]
        )
        for one in zip(titles, *rows, strict=True)
    ]
    # At first no word is broken. If that is not enough, columns shrink to _NARROWEST.
    floors = [
        [min(pair) for pair in zip(widths, words, strict=True)],
        [min(wide, _NARROWEST) for wide in widths],
    ]
    for floor in floors:
        while sum(widths) > BODY:
            able = [n for n, wide in enumerate(widths) if wide > floor[n] + 0.5]
            if not able:
                break
            widest = max(able, key=lambda n: widths[n])
            step = max(1.0, (sum(widths) - BODY) / 8)
            widths[widest] = max(floor[widest], widths[widest] - step)
    return widths
