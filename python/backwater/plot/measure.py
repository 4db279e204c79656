"""Widths of text and line breaks, for titles of narrow figures and for slides.

Widths are those of Helvetica (Adobe Font Metrics, 1990), which Arial and Liberation Sans share.
Other sans-serif typefaces differ by a few percent, for which `SURE` leaves room.
"""

from __future__ import annotations

# Characters by their width, in thousandths of the font size.
_WIDTHS = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft",
    333: "()-`r",
    334: "{}",
    355: '"',
    389: "*",
    469: "^",
    500: "Jckscvxyz",
    556: "#$0123456789?L_abdeghnopqu\u2013",
    584: "+<=>~±\u00d7\u2212≤≥",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "→…—",
    1015: "@",
}
_WIDTH = {sign: width for width, signs in _WIDTHS.items() for sign in signs}
# Other characters: European letters are no wider than this, and Asian ones are square.
_OTHER, _WIDE = 722, 1000
_ASIA = "\u2e80"
BOLD = 1.09
"""The most by which bold text is wider, as a factor."""
MONO = 0.6
"""The width of a character of a monospaced typeface, as a share of the font size."""
SURE = 1.03
"""A margin, as a factor, for typefaces that are a little wider."""


def width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """Return the width of a line of text, in the unit of its font size."""
    if mono:
        return SURE * MONO * size * sum(2 if sign >= _ASIA else 1 for sign in text)
    whole = sum(_WIDTH.get(sign, _WIDE if sign >= _ASIA else _OTHER) for sign in text)
    return SURE * whole / 1000 * size * (BOLD if bold else 1)


def broken(
    text: str, room: float, size: float, *, bold: bool = False, mono: bool = False
) -> list[str]:
    """Break text into lines no wider than `room`, between words if possible."""

    def fits(line: str) -> bool:
        return width(line, size, bold=bold, mono=mono) <= room

    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            longer = f"{line} {word}" if line else word
            if fits(longer):
                line = longer
                continue
            if line:
                lines.append(line)
            *whole, line = _parts(word, fits)
            lines += whole
        lines.append(line)
    return lines


def _parts(word: str, fits: object) -> list[str]:
    """Break a word that is wider than a line: after punctuation if possible, else anywhere."""
    assert callable(fits)
    parts = []
    while not fits(word) and len(word) > 1:
        ends = [n for n in range(1, len(word)) if fits(word[:n])] or [1]
        after = [n for n in ends if word[n - 1] in "/-_,.:=+" and n > ends[-1] // 2]
        end = (after or ends)[-1]
        parts.append(word[:end])
        word = word[end:]
    return [*parts, word]


def balanced(text: str, room: float, size: float, *, bold: bool = False) -> list[str]:
    """Break text into as few lines as `broken` does, but of nearly the same width."""
    lines = broken(text, room, size, bold=bold)
    if len(lines) < 2:
        return lines
    for tenth in range(10 // len(lines), 10):
        closer = broken(text, room * tenth / 10, size, bold=bold)
        if len(closer) == len(lines):
            return closer
    return lines
