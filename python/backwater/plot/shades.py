"""Themes of drawings: light, dark for dark slides, and print in black on white.

All drawings use the colours of `theme`: charts and the fabric. A theme replaces them in the
finished SVG, so that the code of charts does not depend on it.
"""

from __future__ import annotations

import colorsys
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from backwater.plot.theme import COLOURS, FAINT, GREYS, GRID, INK

if TYPE_CHECKING:
    from collections.abc import Iterable

LIGHT, DARK, PRINT = "light", "dark", "print"
THEMES = (LIGHT, DARK, PRINT)
DARK_PAPER, DARK_INK, DARK_FAINT, DARK_GRID = "#14181d", "#eef1f4", "#a9b4bf", "#333b44"
# The colours of Okabe and Ito, lightened where they are too dark for a dark background.
_ON_DARK = ("#ff8a4c", "#4aa8e8", "#3ecf9f", "#e6a3c6", "#f2b84b", "#8fd0f5", "#ffffff")
_DARK = {
    **{colour.lower(): other for colour, other in zip(COLOURS, _ON_DARK, strict=True)},
    "white": DARK_PAPER,
    "#ffffff": DARK_PAPER,
    "#fff": DARK_PAPER,
    "black": DARK_INK,
    INK: DARK_INK,
    FAINT: DARK_FAINT,
    GRID: DARK_GRID,
}
# In print, grid lines are grey; marks of values are black or hatched.
_PRINT = {INK: "#000000", FAINT: "#333333", GRID: "#dddddd"}
_COLOUR = re.compile(
    r'(?P<name>\b(?:fill|stroke|stop-color)=")(?P<value>#[0-9a-fA-F]{3,8}|rgb\([^)]*\)|[a-z]+)"'
)
_NAMED = {"white": "#ffffff", "black": "#000000", "red": "#ff0000"}
_SVG = "{http://www.w3.org/2000/svg}"
_AREAS = {"mark-rect", "mark-area"}
ElementTree.register_namespace("", _SVG[1:-1])

# Hatches of areas in print: dark grey, white, diagonal lines, crossed, level, dots, light grey.
_LINE = '<path d="M0 3.5H7" stroke="black" stroke-width="{}"/>'
_HATCHES = (
    ("", '<rect width="7" height="7" fill="#4d4d4d"/>'),
    ("", '<rect width="7" height="7" fill="white"/>'),
    ("rotate(45)", _LINE.format(2.2)),
    ("rotate(-45)", _LINE.format(1.1)),
    ("rotate(45)", _LINE.format(1.2) + '<path d="M3.5 0V7" stroke="black" stroke-width="1.2"/>'),
    ("", _LINE.format(1.6)),
    ("", '<circle cx="3.5" cy="3.5" r="1.5" fill="black"/>'),
    ("rotate(90)", _LINE.format(1.0)),
    ("", '<rect width="7" height="7" fill="#c9c9c9"/>'),
)
_KINDS = [colour.lower() for colour in (*COLOURS, *GREYS)]


def themed(svg: str, theme: str) -> str:
    """Return a drawing in a theme, one of THEMES."""
    if theme == DARK:
        return _COLOUR.sub(lambda found: f'{found["name"]}{_dark(found["value"])}"', svg)
    return _printed(svg) if theme == PRINT else svg


def dark_rules(drawings: Iterable[str]) -> str:
    """Return CSS rules with the dark colours, for drawings and for what a page draws later.

    A rule overrides the colour in an element's own attribute.
    """
    found = {
        (found["name"].rstrip('="'), found["value"].lower())
        for drawn in drawings
        for found in _COLOUR.finditer(drawn)
    }
    rules = []
    for name, value in sorted(found):
        other = _dark(value)
        if other != value:
            rules.append(f'svg [{name}="{value}" i] {{ {name}: {other}; }}')
    return "\n".join(rules)


def _dark(value: str) -> str:
    if value.lower() in _DARK:
        return _DARK[value.lower()]
    rgb = _rgb(value)
    if rgb is None:
        return value
    hue, light, full = colorsys.rgb_to_hls(*rgb)
    # White becomes the background, and black the text colour.
    return _hex(colorsys.hls_to_rgb(hue, 0.95 - 0.86 * light, full * 0.9))


def _printed(svg: str) -> str:
    """Return a drawing in black on white: areas hatched by colour, the rest by luminance."""
    root = ElementTree.fromstring(svg)
    bars = any(
        "role-mark" in names and _AREAS & set(names)
        for one in root.iter(_SVG + "g")
        if (names := one.get("class", "").split())
        and any(part.get("fill", "").lower() in _KINDS for part in one)
    )
    used: set[int] = set()
    _print(root, used, bars=bars, areas=False)
    if used:
        root.insert(0, _hatches(used))
    return ElementTree.tostring(root, encoding="unicode")


def _print(one: ElementTree.Element, used: set[int], *, bars: bool, areas: bool) -> None:
    named = one.get("class", "").split()
    if any(name.startswith("mark-") for name in named):
        areas = bool(_AREAS & set(named)) or ("role-legend-symbol" in named and bars)
    for name in ("fill", "stroke", "stop-color"):
        value = one.get(name, "").lower()
        if areas and name == "fill" and value in _KINDS:
            kind = _KINDS.index(value)
            used.add(kind)
            one.set(name, f"url(#hatch-{kind})")
            one.attrib |= {"stroke": "#000000", "stroke-width": "0.8"}
        elif value:
            one.set(name, _ink(value))
    for part in one:
        _print(part, used, bars=bars, areas=areas)


def _hatches(used: set[int]) -> ElementTree.Element:
    patterns = "".join(
        f'<pattern id="hatch-{n}" width="7" height="7" patternUnits="userSpaceOnUse" '
        f'patternTransform="{turn or "rotate(0)"}"><rect width="7" height="7" fill="white"/>'
        f"{drawn}</pattern>"
        for n, (turn, drawn) in enumerate(_HATCHES)
        if n in used
    )
    return ElementTree.fromstring(f'<defs xmlns="{_SVG[1:-1]}">{patterns}</defs>')


def _ink(value: str) -> str:
    """Return a colour in print: black for colours of series, else a grey as light as it is."""
    if value in _KINDS:
        return "#000000"
    if value in _PRINT:
        return _PRINT[value]
    rgb = _rgb(value)
    if rgb is None:
        return value
    level = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
    return _hex((level, level, level))


def _rgb(value: str) -> tuple[float, float, float] | None:
    value = _NAMED.get(value, value)
    if value.startswith("rgb("):
        red, green, blue = (float(part) / 255 for part in value[4:-1].split(","))
        return red, green, blue
    digits = value[1:]
    if not value.startswith("#") or len(digits) not in (3, 6):
        return None
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    red, green, blue = (int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4))
    return red, green, blue


def _hex(rgb: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * min(1.0, max(0.0, part))):02x}" for part in rgb)
