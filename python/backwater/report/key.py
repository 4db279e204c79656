"""The key of a drawn fabric: links, queues, pauses and faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from backwater.plot.theme import ORANGE, SHADES, VERMILLION
from backwater.report.draw import breadth, radius, shade, words
from backwater.report.faults import EXPLAINED

if TYPE_CHECKING:
    from collections.abc import Collection

LETTER = 6.9
"""Approximate width of a letter of 13 pixels."""
ROW, HEIGHT = 30.0, 40.0
"""Distance between two rows of signs, and height of the last row."""


@dataclass(frozen=True)
class Sign:
    """A sign: its drawing with the width of that, and the words that explain it."""

    drawn: str
    width: float
    text: str

    @property
    def svg(self) -> Markup:
        """The sign, for the page."""
        box = f'width="{self.width:.0f}" height="28" viewBox="0 6 {self.width:.0f} 28"'
        return Markup(f'<svg {box} aria-hidden="true">{self.drawn}</svg>')


def signs(deepest: int, faults: Collection[str] = ()) -> list[Sign]:
    """Return the signs of a film; the largest circle means `deepest` bytes.

    `faults` has the drawn signs of faults that occur.
    """
    most = f"{deepest / 1e6:.3g} MB" if deepest >= 1e6 else f"{deepest / 1e3:.3g} KB"
    busy, wide = [], 0.0
    for i in range(len(SHADES)):
        share = (i + 0.5) / len(SHADES)
        line = f'stroke="{shade(share)}" stroke-width="{breadth(share):.1f}"'
        busy.append(f'<path d="M{wide:.0f} 20h34" {line}/>')
        wide += 36
    circles, x = [], 0.0
    for share in (0.1, 0.4, 1.0):
        r = radius(share)
        circles.append(
            f'<circle cx="{x + r:.1f}" cy="20" r="{r:.1f}" fill="{ORANGE}" fill-opacity=".9" '
            'stroke="#6b4a00" stroke-width=".8"/>'
        )
        x += 2 * r + 4
    found = [
        Sign("".join(busy), wide, "share of its rate that a link sends, 0 to 100 %"),
        Sign("".join(circles), x, f"waiting for the link, most {most}"),
        Sign(f'<g transform="translate(8 20)">{PAUSE}</g>', 16, "port paused"),
    ]
    for sign, what in EXPLAINED.items():
        if sign in faults:
            found.append(Sign(f'<g transform="translate(10 20)">{sign}</g>', 20, what))
    return found


def key(deepest: int, faults: Collection[str], width: float) -> tuple[str, float]:
    """Return the signs as SVG in rows of at most `width`, and their height."""
    parts, x, y = [], 0.0, 0.0
    for sign in signs(deepest, faults):
        if x and x + room(sign) > width:
            x, y = 0.0, y + ROW
        parts.append(f'<g transform="translate({x:.0f} {y:.0f})">{sign.drawn}</g>')
        parts.append(words(x + sign.width + 6, y + 24, sign.text, 13))
        x += room(sign)
    return "".join(parts), y + HEIGHT


def room(sign: Sign) -> float:
    """Return the width of a sign with its words."""
    return sign.width + 26 + LETTER * len(sign.text)


PAUSE = (
    f'<rect x="-6" y="-6" width="12" height="12" rx="2.5" fill="{VERMILLION}"/>'
    '<path d="M-2 -3.2V3.2M2 -3.2V3.2" stroke="white" stroke-width="1.8"/>'
)
