"""Draw picture.svg: the completion times of victim and incast under each scheme.

    python studies/controls-2026/picture.py results/controls studies/controls-2026/picture.svg

Times are relative to max-min fairness: the senders of the incast share the receiver's link equally,
and the victim has the rest of the first sender's uplink.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backwater.study import open_study
from backwater.study.key import TABLE, Key

if TYPE_CHECKING:
    from backwater.study import Outcome
    from backwater.study.execute import Sample

SLOT, PIPE = 0.16256, 3.66048
"""Time of a packet of 4064 B at 200 Gb/s, and the idle round-trip time, in us."""
CASES = {"1": (3, 500, 1250), "2": (3, 5000, 12500), "3": (6, 500, 1250)}
"""For each case: senders, packets of each sender, packets of the victim."""

FAMILIES = (
    ("links", ("pfc", "cbfc")),
    ("sources, told by switches", ("sfc", "sfc-proxy", "sfc-isolation")),
    ("isolation", ("ci",)),
    ("rates over PFC", ("dcqcn", "hpcc", "timely")),
    ("windows without PFC", ("dctcp", "swift", "bbr")),
    ("trimming", ("nscc", "nscc-back", "rccc", "nscc-rccc")),
)
ROW, GAP, TOP, LEFT, WIDE, APART = 20, 20, 96, 112, 230, 76
LOW, HIGH = 0.75, 3.0

STYLE = """
svg { color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --faint: #59636e; --grid: #d8dce1;
  --one: #b34a00; --two: #0072b2; --three: #00795a; --four: #1b1f24; }
@media screen and (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e6edf3; --faint: #9aa4af; --grid: #30363d;
    --one: #ff9a5c; --two: #6cb6ff; --three: #4fd1a5; --four: #e6edf3; } }
text { fill: var(--ink); font: 13px Helvetica, Arial, 'Liberation Sans', sans-serif; }
.small { font-size: 12px; fill: var(--faint); } .head { font-size: 15px; font-weight: bold; }
.axis { stroke: var(--grid); } .fair { stroke: var(--ink); stroke-dasharray: 4 3; }
.c1 { fill: var(--one); stroke: var(--one); } .c2 { fill: var(--two); stroke: var(--two); }
.c3 { fill: var(--three); stroke: var(--three); } .c4 { fill: var(--four); stroke: var(--four); }
"""


@dataclass(frozen=True)
class Dot:
    """A mean with its 95 % interval, relative to a time."""

    mean: float
    low: float
    high: float


def fair_victim(case: str) -> float:
    """Return the victim's max-min fair time, in us: the first sender has its share of the link."""
    senders, packets, victim = CASES[case]
    while_incast = victim * senders / (senders - 1)
    slots = while_incast if while_incast <= senders * packets else victim + packets
    return slots * SLOT + PIPE


def fair_last(case: str) -> float:
    """Return the time of the last incast flow if the receiver's link is never idle, in us."""
    senders, packets, _ = CASES[case]
    return senders * packets * SLOT + PIPE


def share(sample: Sample, of: float) -> Dot | None:
    """Return a sample relative to a time."""
    mean = sample.statistic("mean")
    if mean is None:
        return None
    low, high = sample.interval() or (mean, mean)
    return Dot(mean / of, low / of, high / of)


def place(value: float, left: float) -> float:
    """Return the place of a value on the logarithmic axis of the panel that begins at `left`."""
    inside = min(max(value, LOW), HIGH)
    return left + WIDE * math.log(inside / LOW) / math.log(HIGH / LOW)


def mark(number: int, x: float, y: float) -> str:
    """Draw the mark of a case: a circle, a square, a triangle, a diamond."""
    shape = {
        1: f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.2"/>',
        2: f'<rect x="{x - 3.9:.1f}" y="{y - 3.9:.1f}" width="7.8" height="7.8"/>',
        3: f'<path d="M{x:.1f} {y - 5:.1f}l4.8 8.6h-9.6z"/>',
        4: f'<path d="M{x:.1f} {y - 5.4:.1f}l5.4 5.4l-5.4 5.4l-5.4-5.4z"/>',
    }[number]
    return f'<g class="c{number}">{shape}</g>'


def draw_dot(number: int, dot: Dot, left: float, y: float) -> str:
    """Draw a dot with its interval."""
    x, low, high = (place(one, left) for one in (dot.mean, dot.low, dot.high))
    bar = f'<line class="c{number}" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return bar + mark(number, x, y)


def beyond(found: list[Dot], left: float, y: float) -> str:
    """Return a text with the values beyond the axis."""
    if not found:
        return ""
    ends = sorted({f"{dot.mean:.2g}" for dot in found}, key=float)
    words = ends[0] if len(ends) == 1 else f"{ends[0]}&#8211;{ends[-1]}"
    return text(left + WIDE + 6, y + 4, f"{words} &#8594;", kind="small")


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Return a text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{words}</text>'


def dots(outcome: Outcome, scheme: str, panel: int) -> list[tuple[int, Dot]]:
    """Return the dots of a scheme in a panel, each with the number of its case."""
    found = []
    if panel == 2:
        base = outcome.points[Key("permutation", "pfc", TABLE)]["all_mean"].statistic("mean")
        assert base is not None
        dot = share(outcome.points[Key("permutation", scheme, TABLE)]["all_mean"], base)
        return [] if dot is None else [(4, dot)]
    for number, case in enumerate(CASES, 1):
        point = outcome.points[Key(case, scheme, TABLE)]
        fair = (fair_victim, fair_last)[panel](case)
        dot = share(point[("victim", "incast_last")[panel]], fair)
        if dot is not None:
            found.append((number, dot))
    return found


PANELS = (
    ("victim", "time / max-min fair time"),
    ("last flow of the incast", "time / max-min fair time"),
    ("permutation, mean of 128 flows", "time / time under PFC"),
)


def draw(outcome: Outcome) -> str:
    """Return the picture."""
    rows = sum(len(names) for _, names in FAMILIES)
    bottom = TOP + ROW * rows + GAP * len(FAMILIES)
    width, height = LEFT + 3 * (WIDE + APART) - 10, bottom + 44
    head = "Who gives the victim its share, and who pays: 16 schemes, nothing tuned"
    parts = [
        text(12, 22, head, kind="head"),
        text(
            12,
            42,
            "128 hosts at 200 Gb/s, output queues; mean over 10 seeds, bar: 95 % interval. "
            "Left of the dashed line is sooner.",
            kind="small",
        ),
    ]
    at = 12.0
    names = ("case 1: 3 x 2 MB", "case 2: 3 x 20 MB", "case 3: 6 x 2 MB", "permutation: 128 x 2 MB")
    for number, words in enumerate(names, 1):
        parts += [mark(number, at + 6, 60), text(at + 17, 64, words)]
        at += 40 + 6.6 * len(words)
    for panel, (title, axis) in enumerate(PANELS):
        left = LEFT + panel * (WIDE + APART)
        parts.append(text(left + WIDE / 2, TOP - 6, title, "middle"))
        for tick in (0.75, 1, 1.5, 2, 3):
            x = place(tick, left)
            kind = "fair" if tick == 1 else "axis"
            parts.append(
                f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>'
            )
            parts.append(text(x, bottom + 15, f"{tick:g}", "middle", "small"))
        parts.append(text(left + WIDE / 2, bottom + 33, axis, "middle", "small"))
    y = float(TOP)
    for family, schemes in FAMILIES:
        y += GAP
        parts.append(text(12, y - 5, family, kind="small"))
        for scheme in schemes:
            middle = y + ROW / 2
            parts.append(text(LEFT - 12, middle + 4, scheme, "end"))
            for panel in range(len(PANELS)):
                left = LEFT + panel * (WIDE + APART)
                found = dots(outcome, scheme, panel)
                inside = [(number, dot) for number, dot in found if dot.mean <= HIGH]
                parts += [draw_dot(number, dot, left, middle) for number, dot in inside]
                far = [dot for _, dot in found if dot.mean > HIGH]
                parts.append(beyond(far, left, middle))
            y += ROW
    ground = f'<rect width="{width}" height="{height}" style="fill:var(--ground)"/>'
    about = (
        "Dots a scheme: the victim's and the incast's last completion over their max-min fair "
        "times in three cases, and the mean of a permutation over PFC's. GRID.md has the numbers."
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{head}</title><desc>{about}</desc><style>{STYLE}</style>",
            ground,
            *parts,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(draw(open_study(sys.argv[1])), encoding="utf-8")
