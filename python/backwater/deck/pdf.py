"""Slides as PDF: each slide is drawn as SVG and converted, and pypdf joins the pages.

The converter is that of charts: drawings stay vectors, text stays text, and no browser is needed.
The same deck always results in the same octets.
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
from backwater.report.page import apart

if TYPE_CHECKING:
    from backwater.deck.model import Deck, Shades, Slide

FONT, MONO = "Arial, Liberation Sans, DejaVu Sans", "Courier New, Liberation Mono, DejaVu Sans Mono"


def pdf(deck: Deck) -> bytes:
    """Return the file. Raises `InputError` if pypdf is not installed."""
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
    # pypdf writes no identifier, or a random one: this one depends on the slides alone.
    number = hashlib.sha256(repr(deck).encode()).hexdigest()[:32]
    writer._ID = pypdf.generic.ArrayObject(
        [pypdf.generic.ByteStringObject(bytes.fromhex(number)) for _ in range(2)]
    )
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def _ordered(one: Any, seen: set[tuple[int, int]]) -> None:  # noqa: ANN401 - pypdf's objects
    """Sort the entries of all dictionaries: the converter writes them in random order."""
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
    """Return a slide as SVG, with one pixel for each point."""
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
    """Return a drawing for its box; `name` keeps its ids apart from those of other drawings."""
    x, y, wide, high = place(part)
    return resized(apart(part.svg, name), x=x, y=y, width=wide, height=high)


def resized(svg: str, **attributes: float) -> str:
    """Replace the place and size of a drawing by these attributes."""

    def tag(root: re.Match[str]) -> str:
        bare = re.sub(r'\s(?:width|height|x|y|style)="[^"]*"', "", root[0])[:-1]
        return bare + "".join(f' {key}="{value:.2f}"' for key, value in attributes.items()) + ">"

    return re.sub(r"<svg\b[^>]*>", tag, svg, count=1)


def place(part: Drawing) -> tuple[float, float, float, float]:
    """Return x, y, width and height of a drawing in its box: at the top, centred.

    A pixel becomes 1.25 points at most, so that a small drawing does not look coarse.
    """
    box = re.search(r'viewBox="([^"]*)"', part.svg)
    assert box is not None
    _, _, width, height = map(float, box[1].split())
    share = min(part.width / width, part.height / height, 1.25)
    wide, high = width * share, height * share
    return part.x + (part.width - wide) / 2, part.y, wide, high
