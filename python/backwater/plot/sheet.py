"""A drawing as a paper or a slide needs it: width, typeface, theme, and the kind of file.

    sheet = Sheet(width=length("8.5cm"), theme="print")
    Path("x.pdf").write_bytes(sheet.octets(run.plot.completion(), "pdf"))

Text follows the width: labels of axes have 7.5 points in a column of 9 cm or less, 9 in a page of
17 cm or more, and in between what lies between. Without a width a chart has its own.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from typing import Any

import altair as alt

from backwater.errors import InputError
from backwater.plot import fit
from backwater.plot.engine import engine
from backwater.plot.shades import LIGHT, THEMES, themed
from backwater.plot.theme import FONT, NAME

# Vega-Lite as Altair writes it: v6.4.1 is vl-convert's 6.4.
VEGA_LITE = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
PNG_SCALE = 3.125
"""Pixels a CSS pixel: 300 to the inch."""
KINDS = ("svg", "pdf", "png")
INCH = 96.0
"""CSS pixels."""
_UNITS = {"cm": INCH / 2.54, "mm": INCH / 25.4, "in": INCH, "pt": INCH / 72}
_LENGTH = re.compile(r"\s*(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[A-Za-z\"%]*)\s*")
NARROW, WIDE = 3 * _UNITS["cm"], 100 * _UNITS["cm"]
# Widths and the points of labels there; labels have 12 CSS pixels, 9 points, in a chart.
_COLUMN, _PAGE = 9 * _UNITS["cm"], 17 * _UNITS["cm"]
_LEAST, _USUAL = 7.5, 9.0
# Typefaces with the widths of others, which are there wherever Backwater is.
_LIKE = {
    "arial": "Liberation Sans",
    "helvetica": "Liberation Sans",
    "times": "Liberation Serif",
    "times new roman": "Liberation Serif",
    "courier": "Liberation Mono",
    "courier new": "Liberation Mono",
}
_PROBE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="260" height="40"><text x="2" y="28" '
    'font-size="20" font-family="{}, {}">mmiiWQ 018 Rag</text></svg>'
)
_ROOT = re.compile(r"<svg\b[^>]*>")
_PAPER = re.compile(r'<rect width="[\d.]+%?"')
_NEAR = 0.93
_NUMBERED = re.compile(r"\b(clip|gradient_)\d+\b")
_MILLIMETRES = re.compile(r'\b(?P<side>width|height)="(?P<number>[\d.]+)mm"')
_BOX = re.compile(r'viewBox="([\d.eE+-]+) ([\d.eE+-]+) ([\d.eE+-]+) ([\d.eE+-]+)"')


def length(text: str, place: str = "--width") -> float:
    """Read a length such as `8.5cm`, in CSS pixels. Raises `InputError`, which names the place."""
    found = _LENGTH.fullmatch(text)
    units = ", ".join(_UNITS)
    if found is None:
        raise InputError(f"{place} {text}: is no length", f"a number with {units}, as in 8.5cm")
    if not found["unit"]:
        raise InputError(f"{place} {text}: has no unit", f"one of {units}, as in {text.strip()}cm")
    if found["unit"] not in _UNITS:
        raise InputError(
            f"{place} {text}: there is no unit {found['unit']}", f"one of {units}, as in 8.5cm"
        )
    pixels = float(found["number"]) * _UNITS[found["unit"]]
    if not NARROW <= pixels <= WIDE:
        raise InputError(
            f"{place} {text}: not from 3 cm to 100 cm, in which text can be read",
            "a column of a paper has 8.5cm, a page 17cm",
        )
    return pixels


def family(name: str, place: str = "--font") -> str:
    """Give the family that a drawing names for a typeface. Raises `InputError` if it is not here.

    Text is laid out by the typeface's widths: without it a drawing would have gaps and overlaps.
    """
    plain = name.strip().strip("'\"")
    if not plain or re.search(r"[<>&;{}\"'\\\x00-\x1f]", plain):
        raise InputError(f"{place} {name}: is no name of a typeface", 'as in --font "Arial"')
    like = _LIKE.get(plain.lower())
    if like is not None:
        return f"{plain}, {like}"
    if not _known(plain):
        raise InputError(
            f"{place} {name}: this machine has no such typeface",
            "one that is installed; Arial, Helvetica, Times New Roman and Courier New always do",
        )
    return plain


@cache
def _known(name: str) -> bool:
    """Whether there is a typeface: then it does not matter which others are named after it."""

    def drawn(first: str, otherwise: str) -> bytes:
        return bytes(engine().svg_to_png(_PROBE.format(escape(first), otherwise)))

    ends = ("Liberation Sans", "Liberation Serif", "Liberation Mono")
    return len({drawn(name, end) for end in ends}) == 1


@dataclass(frozen=True)
class Sheet:
    """How something is drawn."""

    width: float | None = None
    """In CSS pixels, 96 to the inch; None: as wide as the chart is."""
    font: str | None = None
    """A family as `family` gives it; None: the house's."""
    theme: str = LIGHT
    """One of `shades.THEMES`."""
    scale: float | None = None
    """How large text is beside that of charts; None: as the width has it."""

    def __post_init__(self) -> None:
        if self.theme not in THEMES:
            raise InputError(f"--theme {self.theme}: there is none", f"one of {', '.join(THEMES)}")

    @property
    def larger(self) -> float:
        """How large text is beside that of a chart that nobody has made narrower."""
        if self.scale is not None:
            return self.scale
        if self.width is None:
            return 1.0
        share = (self.width - _COLUMN) / (_PAGE - _COLUMN)
        return (_LEAST + (_USUAL - _LEAST) * min(1.0, max(0.0, share))) / _USUAL

    def svg(self, chart: Any) -> str:  # noqa: ANN401 - some Altair chart
        """Draw a chart, or what is SVG already."""
        drawn = chart if isinstance(chart, str) else self._chart(chart)
        if self.font is not None:
            drawn = drawn.replace(escape(FONT), escape(self.font)).replace(FONT, self.font)
        drawn = themed(drawn, self.theme)
        return drawn if self.width is None else _wide(drawn, self.width, self.larger)

    def octets(self, chart: Any, kind: str) -> bytes:  # noqa: ANN401 - as above
        """Draw a chart as a file of one of KINDS."""
        drawn = self.svg(chart)
        if kind == "svg":
            return drawn.encode()
        if kind == "pdf":
            # It takes a CSS pixel for a point.
            points = _MILLIMETRES.sub(_points, drawn, count=2)
            return bytes(engine().svg_to_pdf(points))
        # What is SVG already is as large as a page.
        scale = 1.0 if isinstance(chart, str) and self.width is None else PNG_SCALE
        return bytes(engine().svg_to_png(drawn, scale=scale))

    def _chart(self, chart: Any) -> str:  # noqa: ANN401 - as above
        with alt.theme.enable(NAME):
            spec: dict[str, Any] = chart.to_dict()
        if self.font is not None:
            spec["config"] = _named(spec.get("config", {}), self.font)
        if self.width is None:
            return vega(spec)
        return fit.fitted(spec, self.width / self.larger, vega)


def vega(spec: dict[str, Any]) -> str:
    """Draw a specification of Vega-Lite as SVG: the same one as the same octets.

    Vega numbers what it clips and shades over all that a process draws.
    """
    return _drawn(json.dumps(spec))


# Slides in another theme, and charts of another file, are the same drawings.
@lru_cache(maxsize=128)
def _drawn(spec: str) -> str:
    drawn: str = engine().vegalite_to_svg(spec, vl_version=VEGA_LITE)
    names: dict[str, str] = {}
    return _NUMBERED.sub(lambda found: names.setdefault(found[0], f"{found[1]}{len(names)}"), drawn)


def _named(config: Any, font: str) -> Any:  # noqa: ANN401 - a part of a specification
    if isinstance(config, dict):
        return {key: _named(value, font) for key, value in config.items()}
    return font if config == FONT else config


def _wide(svg: str, width: float, larger: float) -> str:
    """Give a drawing its width: with text so large, or smaller where it is too wide for that."""
    root = _ROOT.search(svg)
    assert root is not None
    box = _BOX.search(root[0])
    assert box is not None
    left, top, wide, high = (float(part) for part in box.groups())
    # What is nearly as wide as it should be is enlarged by so little that nobody sees it.
    whole = wide if wide > _NEAR * width / larger else math.floor(width / larger)
    tag = re.sub(r'\s(?:width|height|viewBox)="[^"]*"', "", root[0])
    tag = (
        f'{tag[:-1].rstrip()} width="{width / _UNITS["mm"]:.2f}mm" '
        f'height="{high * width / whole / _UNITS["mm"]:.2f}mm" '
        f'viewBox="{left:g} {top:g} {whole:g} {high:g}">'
    )
    # The paper below a drawing of Vega's has its width, not that of the sheet.
    rest = _PAPER.sub(f'<rect width="{whole:g}"', svg[root.end() :], count=1)
    return svg[: root.start()] + tag + rest


def _points(found: re.Match[str]) -> str:
    return f'{found["side"]}="{float(found["number"]) / 25.4 * 72:.2f}"'
