"""The form of a drawing for a paper or a slide: width, typeface, theme, and kind of file.

    sheet = Sheet(width=length("8.5cm"), theme="print")
    Path("x.pdf").write_bytes(sheet.octets(run.plot.completion(), "pdf"))

The size of text depends on the width: labels of axes have 7.5 points up to 9 cm, 9 points from
17 cm on, and are interpolated between. Without a width, a chart keeps its own.
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

# The version of Vega-Lite that Altair writes: vl-convert calls v6.4.1 just 6.4.
VEGA_LITE = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
PNG_SCALE = 3.125
"""Pixels per CSS pixel: 300 dpi."""
KINDS = ("svg", "pdf", "png")
INCH = 96.0
"""CSS pixels per inch."""
_UNITS = {"cm": INCH / 2.54, "mm": INCH / 25.4, "in": INCH, "pt": INCH / 72}
_LENGTH = re.compile(r"\s*(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[A-Za-z\"%]*)\s*")
NARROW, WIDE = 3 * _UNITS["cm"], 100 * _UNITS["cm"]
# Two widths, and the points of labels there. In a chart, labels have 12 CSS pixels: 9 points.
_COLUMN, _PAGE = 9 * _UNITS["cm"], 17 * _UNITS["cm"]
_LEAST, _USUAL = 7.5, 9.0
# Typefaces of the same widths, which are always available.
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
    """Read a length such as `8.5cm`, in CSS pixels. Raises `InputError`, which names `place`."""
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
            f"{place} {text}: is not from 3 cm to 100 cm, where text can be read",
            "a column of a paper is 8.5cm wide, a page 17cm",
        )
    return pixels


def family(name: str, place: str = "--font") -> str:
    """Return the font family for a typeface. Raises `InputError` if it is not installed.

    Text is laid out by the widths of the typeface; without it a drawing has gaps and overlaps.
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
            "name an installed one; Arial, Helvetica, Times New Roman and Courier New always work",
        )
    return plain


@cache
def _known(name: str) -> bool:
    """Whether a typeface is installed: if so, fallback families do not change the drawing."""

    def drawn(first: str, otherwise: str) -> bytes:
        return bytes(engine().svg_to_png(_PROBE.format(escape(first), otherwise)))

    ends = ("Liberation Sans", "Liberation Serif", "Liberation Mono")
    return len({drawn(name, end) for end in ends}) == 1


@dataclass(frozen=True)
class Sheet:
    """How to draw something."""

    width: float | None = None
    """In CSS pixels, 96 to the inch; None: the chart's own width."""
    font: str | None = None
    """A family as `family` returns it; None: that of the theme."""
    theme: str = LIGHT
    """One of `shades.THEMES`."""
    scale: float | None = None
    """The scale of text relative to that of charts; None: it depends on the width."""

    def __post_init__(self) -> None:
        if self.theme not in THEMES:
            raise InputError(f"--theme {self.theme}: no such theme", f"one of {', '.join(THEMES)}")

    @property
    def larger(self) -> float:
        """The scale of text relative to that of a chart of its own width."""
        if self.scale is not None:
            return self.scale
        if self.width is None:
            return 1.0
        share = (self.width - _COLUMN) / (_PAGE - _COLUMN)
        return (_LEAST + (_USUAL - _LEAST) * min(1.0, max(0.0, share))) / _USUAL

    def svg(self, chart: Any) -> str:  # noqa: ANN401 - some Altair chart
        """Return a chart, or a given SVG, as SVG in this form."""
        drawn = chart if isinstance(chart, str) else self._chart(chart)
        if self.font is not None:
            drawn = drawn.replace(escape(FONT), escape(self.font)).replace(FONT, self.font)
        drawn = themed(drawn, self.theme)
        return drawn if self.width is None else _wide(drawn, self.width, self.larger)

    def octets(self, chart: Any, kind: str) -> bytes:  # noqa: ANN401 - as above
        """Return the content of a file of one of KINDS."""
        drawn = self.svg(chart)
        if kind == "svg":
            return drawn.encode()
        if kind == "pdf":
            # The engine takes a CSS pixel for a point.
            points = _MILLIMETRES.sub(_points, drawn, count=2)
            return bytes(engine().svg_to_pdf(points))
        # A given SVG is as large as a page.
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
    """Draw a specification of Vega-Lite as SVG; the same one always gives the same bytes.

    Vega numbers clips and gradients over all drawings of a process; here each begins at 0.
    """
    return _drawn(json.dumps(spec))


# Slides in another theme, and charts in another kind of file, reuse a drawing.
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
    """Set the width of a drawing, with text scaled by `larger`, or less if it is too wide."""
    root = _ROOT.search(svg)
    assert root is not None
    box = _BOX.search(root[0])
    assert box is not None
    left, top, wide, high = (float(part) for part in box.groups())
    # A drawing that is nearly wide enough is enlarged by an invisible amount.
    whole = wide if wide > _NEAR * width / larger else math.floor(width / larger)
    tag = re.sub(r'\s(?:width|height|viewBox)="[^"]*"', "", root[0])
    tag = (
        f'{tag[:-1].rstrip()} width="{width / _UNITS["mm"]:.2f}mm" '
        f'height="{high * width / whole / _UNITS["mm"]:.2f}mm" '
        f'viewBox="{left:g} {top:g} {whole:g} {high:g}">'
    )
    # The background of a Vega drawing has the drawing's width, not that of the sheet.
    rest = _PAPER.sub(f'<rect width="{whole:g}"', svg[root.end() :], count=1)
    return svg[: root.start()] + tag + rest


def _points(found: re.Match[str]) -> str:
    return f'{found["side"]}="{float(found["number"]) / 25.4 * 72:.2f}"'
