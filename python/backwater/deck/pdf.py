"""Slides as PDF: each drawn as SVG, converted, and put together by pypdf.

The converter is the one that charts use, so that drawings stay drawings, text stays text, and no
browser is needed. The same deck gives the same octets.
"""

from __future__ import annotations

import hashlib
import io
import re
from html import escape
from typing import TYPE_CHECKING, Any

from backwater.deck.model import HEIGHT, LINE, PAD_X, PAD_Y, WIDTH, Drawing, Grid, Text
from backwater.optional_dependencies import needed
from backwater.plot.engine import engine

if TYPE_CHECKING:
    from backwater.deck.model import Deck, Shades, Slide

FONT, MONO = "Arial, Liberation Sans, DejaVu Sans", "Courier New, Liberation Mono, DejaVu Sans Mono"
_ROOT = re.compile(r"<svg\b[^>]*>")
_BOX = re.compile(r'viewBox="([^"]*)"')


def pdf(deck: Deck) -> bytes:
    """Make the file. Raises `InputError` where pypdf is not installed."""
    pypdf = needed("pypdf", "deck")
    writer = pypdf.PdfWriter()
    for slide in deck.slides:
        page = pypdf.PdfReader(io.BytesIO(engine().svg_to_pdf(drawn(slide, deck.shades))))
        _ordered(page.trailer["/Root"], set())
        writer.append(page)
    when = deck.when.strftime("D:%Y%m%d%H%M%SZ")
    writer.add_metadata(
        {
            "/Title": deck.title,
            "/Author": "",
            "/Creator": deck.made_by,
            "/Producer": "pypdf",
            "/CreationDate": when,
            "/ModDate": when,
        }
    )
    number = hashlib.sha256(repr(deck).encode()).hexdigest()[:32]
    writer._ID = pypdf.generic.ArrayObject(
        [pypdf.generic.ByteStringObject(bytes.fromhex(number)) for _ in range(2)]
    )
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def _ordered(one: Any, seen: set[tuple[int, int]]) -> None:  # noqa: ANN401 - pypdf's objects
    """Put the entries of all dictionaries in order: the converter's come in any."""
    reference = getattr(one, "indirect_reference", None)
    if reference is not None:
        if (reference.idnum, reference.generation) in seen:
            return
        seen.add((reference.idnum, reference.generation))
    if isinstance(one, dict):
        entries = sorted(one.items())
        one.clear()
        one.update(entries)
        for _, value in entries:
            _ordered(value.get_object(), seen)
    elif isinstance(one, list):
        for value in one:
            _ordered(value.get_object(), seen)


def drawn(slide: Slide, shades: Shades) -> str:
    """Draw a slide as SVG, a point a pixel."""
    parts = [f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="{shades.paper}"/>']
    for number, part in enumerate(slide.parts):
        if isinstance(part, Text):
            parts.append(_text(part, shades))
        elif isinstance(part, Grid):
            parts.append(_grid(part, shades))
        else:
            parts.append(_drawing(part, f"d{number}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" height="{HEIGHT:g}" '
        f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}">{"".join(parts)}</svg>'
    )


def _text(part: Text, shades: Shades) -> str:
    y = part.y
    found = []
    for lines in part.lines:
        for line in lines:
            x = part.x + part.width if part.right else part.x
            found.append(
                _line(x, y + part.size, line, part, shades.faint if part.faint else shades.ink)
            )
            y += part.size * LINE
        y += part.size * part.gap
    return "".join(found)


def _line(x: float, y: float, line: str, like: Text, colour: str) -> str:
    weight = ' font-weight="bold"' if like.bold else ""
    anchor = ' text-anchor="end"' if like.right else ""
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="{like.size:g}" fill="{colour}" '
        f'font-family="{MONO if like.mono else FONT}"{weight}{anchor} xml:space="preserve">'
        f"{escape(line)}</text>"
    )


def _grid(part: Grid, shades: Shades) -> str:
    found, y = [], part.y
    whole = sum(part.widths)
    for number, high in enumerate(part.heights):
        x = part.x
        for column, wide in enumerate(part.widths):
            right = part.right[column]
            like = Text(0, 0, 0, 0, (), part.size, bold=number == 0, right=right)
            at = x + wide - PAD_X if right else x + PAD_X
            for n, line in enumerate(part.lines(number, column)):
                base = y + PAD_Y + part.size * (1 + LINE * n)
                found.append(_line(at, base, line, like, shades.ink))
            x += wide
        y += high
        strong = number == 0
        found.append(
            f'<path d="M{part.x:g} {y:.2f}H{part.x + whole:.2f}" '
            f'stroke="{shades.ink if strong else shades.line}" '
            f'stroke-width="{1.2 if strong else 0.6}"/>'
        )
    return "".join(found)


def _drawing(part: Drawing, name: str) -> str:
    """Put a drawing into its box; the ids of all drawings of a page are one set."""
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", part.svg)
    root = _ROOT.search(svg)
    assert root is not None
    box = _BOX.search(root[0])
    assert box is not None
    x, y, wide, high = place(part, [float(number) for number in box[1].split()][2:])
    tag = re.sub(r'\s(?:width|height|x|y|style)="[^"]*"', "", root[0])
    tag = f'{tag[:-1]} x="{x:.2f}" y="{y:.2f}" width="{wide:.2f}" height="{high:.2f}">'
    return tag + svg[root.end() :]


def place(part: Drawing, size: list[float]) -> tuple[float, float, float, float]:
    """Give where a drawing of a size lies in its box: at the top, in the middle, not enlarged much.

    A drawing's pixel is a point at most a quarter larger, so that a small one does not look coarse.
    """
    share = min(part.width / size[0], part.height / size[1], 1.25)
    wide, high = size[0] * share, size[1] * share
    return part.x + (part.width - wide) / 2, part.y, wide, high
