"""What links, queues, pauses and failures of a drawn fabric mean."""

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
"""Width of a letter of 13 pixels, about."""
ROW, HEIGHT = 30.0, 40.0
"""From a row of signs to the next, and what the last one takes."""


@dataclass(frozen=True)
class Sign:
    """One explained sign: what is drawn, how wide that is, and the words behind it."""

    drawn: str
    width: float
    text: str

    @property
    def svg(self) -> Markup:
        """The sign, for the page."""
        box = f'width="{self.width:.0f}" height="28" viewBox="0 6 {self.width:.0f} 28"'
        return Markup(f'<svg {box} aria-hidden="true">{self.drawn}</svg>')


def signs(deepest: int, faults: Collection[str] = ()) -> list[Sign]:
    """Explain what a film shows; the largest circle stands for `deepest` bytes.

    `faults` are the signs of what fails.
    """
    most = f"{deepest / 1e6:.3g} MB" if deepest >= 1e6 else f"{deepest / 1e3:.3g} KB"
    busy, x = [], 0.0
    for i in range(len(SHADES)):
        share = (i + 0.5) / len(SHADES)
        line = f'stroke="{shade(share)}" stroke-width="{breadth(share):.1f}"'
        busy.append(f'<path d="M{x:.0f} 20h34" {line}/>')
        x += 36
    circles, y = [], 0.0
    for share in (0.1, 0.4, 1.0):
        r = radius(share)
        circles.append(
            f'<circle cx="{y + r:.1f}" cy="20" r="{r:.1f}" fill="{ORANGE}" fill-opacity=".9" '
            'stroke="#6b4a00" stroke-width=".8"/>'
        )
        y += 2 * r + 4
    found = [
        Sign("".join(busy), x, "share of its rate that a link sends, 0 to 100 %"),
        Sign("".join(circles), y, f"waiting for the link, most {most}"),
        Sign(f'<g transform="translate(8 20)">{PAUSE}</g>', 16, "port paused"),
    ]
    for sign, what in EXPLAINED.items():
        if sign in faults:
            found.append(Sign(f'<g transform="translate(10 20)">{sign}</g>', 20, what))
    return found


def key(deepest: int, faults: Collection[str], width: float) -> tuple[str, float]:
    """Write the signs in rows of a width, for a drawing; also gives how high they are."""
    parts, x, y = [], 0.0, 0.0
    for sign in signs(deepest, faults):
        if x and x + room(sign) > width:
            x, y = 0.0, y + ROW
        parts.append(f'<g transform="translate({x:.0f} {y:.0f})">{sign.drawn}</g>')
        parts.append(words(x + sign.width + 6, y + 24, sign.text, 13))
        x += room(sign)
    return "".join(parts), y + HEIGHT


def room(sign: Sign) -> float:
    """Give the width that a sign takes with its words."""
    return sign.width + 26 + LETTER * len(sign.text)


PAUSE = (
    f'<rect x="-6" y="-6" width="12" height="12" rx="2.5" fill="{VERMILLION}"/>'
    '<path d="M-2 -3.2V3.2M2 -3.2V3.2" stroke="white" stroke-width="1.8"/>'
)
