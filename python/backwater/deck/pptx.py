"""Slides as a presentation that can be edited: text, tables and pictures, by python-pptx.

Drawings are PNG, which all versions of PowerPoint and LibreOffice show alike.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

from backwater.deck.model import HEIGHT, LINE, PAD_X, PAD_Y, WIDTH, Grid, Text
from backwater.deck.pdf import place, resized
from backwater.optional_dependencies import needed
from backwater.plot.engine import engine

if TYPE_CHECKING:
    from backwater.deck.model import Deck, Drawing, Shades

FONT, MONO = "Arial", "Courier New"
SHARP = 2.5
"""Pixels of a picture for each point."""
_ZERO = (1980, 1, 1, 0, 0, 0)
"""The earliest date that a ZIP archive can hold."""
_BLANK = 6
"""Number of the layout without placeholders in python-pptx's template."""


def pptx(deck: Deck) -> bytes:
    """Return the file. Raises `InputError` if python-pptx is not installed."""
    library = needed("pptx", "deck")
    shown = library.Presentation()
    shown.slide_width, shown.slide_height = _emu(WIDTH), _emu(HEIGHT)
    for one in deck.slides:
        slide = shown.slides.add_slide(shown.slide_layouts[_BLANK])
        fill = slide.background.fill
        fill.solid()
        fill.fore_color.rgb = _rgb(deck.shades.paper)
        for number, part in enumerate(one.parts):
            if isinstance(part, Text):
                shape = _text(slide, part, deck.shades)
                shape.name = "Title" if number == 0 else f"Text {number}"
            elif isinstance(part, Grid):
                _grid(slide, part, deck.shades).name = f"Table {number}"
            else:
                _picture(slide, part).name = f"Figure {number}"
    about = shown.core_properties
    about.title, about.author, about.last_modified_by = deck.title, deck.made_by, deck.made_by
    when = deck.when.replace(tzinfo=None)
    about.created = about.modified = about.last_printed = when
    about.revision = 1
    made = io.BytesIO()
    shown.save(made)
    return _timeless(made.getvalue())


def _timeless(octets: bytes) -> bytes:
    """Return the archive with fixed dates, which python-pptx sets to the current time."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(octets)) as archive,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as other,
    ):
        for about in archive.infolist():
            content = archive.read(about)
            about.date_time = _ZERO
            other.writestr(about, content)
    return made.getvalue()


def _text(slide: Any, part: Text, shades: Shades) -> Any:  # noqa: ANN401 - python-pptx has no types
    from pptx.enum.text import MSO_AUTO_SIZE

    shape = slide.shapes.add_textbox(*map(_emu, (part.x, part.y, part.width, part.height)))
    frame = shape.text_frame
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    frame.word_wrap = True
    frame.auto_size = MSO_AUTO_SIZE.NONE
    for number, text in enumerate(part.paragraphs):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        if number:
            paragraph.space_before = _points(part.size * part.gap)
        _write(paragraph, text, part, shades)
    return shape


def _write(paragraph: Any, text: str, like: Text, shades: Shades) -> None:  # noqa: ANN401
    from pptx.enum.text import PP_ALIGN

    paragraph.alignment = PP_ALIGN.RIGHT if like.right else PP_ALIGN.LEFT
    paragraph.line_spacing = _points(like.size * LINE)
    if not text:
        # A line without text is 18 points high, unless the end of its paragraph has a size.
        paragraph._p.get_or_add_endParaRPr().set("sz", str(round(100 * like.size)))
        return
    run = paragraph.add_run()
    run.text = text
    font = run.font
    font.size, font.bold = _points(like.size), like.bold
    font.name = MONO if like.mono else FONT
    font.color.rgb = _rgb(shades.faint if like.faint else shades.ink)


def _grid(slide: Any, part: Grid, shades: Shades) -> Any:  # noqa: ANN401 - as above
    from pptx.enum.text import MSO_ANCHOR

    rows, columns = len(part.rows), len(part.widths)
    box = (part.x, part.y, sum(part.widths), sum(part.heights))
    shape = slide.shapes.add_table(rows, columns, *map(_emu, box))
    table = shape.table
    # "No Style, No Grid": PowerPoint's default colours head and rows. python-pptx cannot set it.
    shape._element.graphic.graphicData.tbl[0][-1].text = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
    table.horz_banding = False
    for column, wide in enumerate(part.widths):
        table.columns[column].width = _emu(wide)
    for row, high in enumerate(part.heights):
        table.rows[row].height = _emu(high)
        for column in range(columns):
            cell = table.cell(row, column)
            cell.margin_left = cell.margin_right = _emu(PAD_X)
            cell.margin_top = cell.margin_bottom = _emu(PAD_Y)
            cell.vertical_anchor = MSO_ANCHOR.TOP
            cell.fill.background()
            like = Text(0, 0, 0, 0, (), part.size, bold=row == 0, right=part.right[column])
            frame = cell.text_frame
            frame.word_wrap = True
            _write(frame.paragraphs[0], part.rows[row][column], like, shades)
            _rule(cell, shades.ink if row == 0 else shades.line, 1.2 if row == 0 else 0.6)
    return shape


def _rule(cell: Any, colour: str, points: float) -> None:  # noqa: ANN401 - as above
    """Draw a line below a cell. python-pptx has no function for that."""
    from pptx.oxml import parse_xml

    space = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    about = cell._tc.get_or_add_tcPr()
    line = parse_xml(
        f'<a:lnB {space} w="{_emu(points)}"><a:solidFill><a:srgbClr val="{colour[1:]}"/>'
        "</a:solidFill></a:lnB>"
    )
    about.insert(0, line)


def _picture(slide: Any, part: Drawing) -> Any:  # noqa: ANN401 - as above
    x, y, wide, high = place(part)
    svg = resized(part.svg, width=wide * SHARP, height=high * SHARP)
    octets = engine().svg_to_png(svg, scale=1)
    shape = slide.shapes.add_picture(io.BytesIO(octets), *map(_emu, (x, y, wide, high)))
    # The alternative text, for which python-pptx has no function.
    shape._element._nvXxPr.cNvPr.set("descr", part.about)
    return shape


def _emu(points: float) -> int:
    return round(points * 12700)


def _points(points: float) -> Any:  # noqa: ANN401 - as above
    from pptx.util import Emu

    return Emu(_emu(points))


def _rgb(colour: str) -> Any:  # noqa: ANN401 - as above
    from pptx.dml.color import RGBColor

    return RGBColor.from_string(colour[1:])  # type: ignore[no-untyped-call]
