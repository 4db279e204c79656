"""The fabric as SVG: its tiers with the scenario's flows, or its state at one instant.

Drawings need no style sheet, so that they look the same in a browser, on a slide and in print.
Names come from scenarios and are escaped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from backwater.plot.theme import COLOURS, DASHES, FAINT, FONT, INK, ORANGE, SHADES, VERMILLION, of
from backwater.report.faults import failed
from backwater.report.layout import LEFT, MANY, WIDTH, Layout, only_way

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.report.faults import Outage

Edge = tuple[int, int]
"""A direction of a link: the numbers of the sending and of the receiving block."""

MOST_ARROWS = 16
"""Most arrows of a group; if it has more flows, only their hosts are marked."""


TOUCHING = 20.0
"""Width of a letter on a phone, where names are 34 pixels of the drawing high."""
BOX = 11.0
"""Half the height of a switch's box."""
QUEUE, PAUSE = 24.0, 44.0
"""Distance of queues and pauses from the middle of a switch, on a link straight down."""


@dataclass(frozen=True)
class State:
    """The state of one direction of a link at one instant."""

    busy: float
    """Utilisation, 0 to 1."""
    depth: float
    """Bytes that wait for it, as a share of the deepest queue, 0 to 1."""
    paused: bool


def shade(busy: float) -> str:
    """Return the colour of a link with a utilisation."""
    return SHADES[min(len(SHADES) - 1, int(busy * len(SHADES)))]


def breadth(busy: float, scale: float = 1.0) -> float:
    """Return the width of a link with a utilisation, in pixels."""
    return (1.2 + 3.2 * busy) * scale


def radius(depth: float, scale: float = 1.0) -> float:
    """Return the radius of a queue, in pixels: its area is proportional to its depth."""
    return 13 * math.sqrt(depth * scale)


def scale_of(layout: Layout) -> float:
    """Return the size of marks relative to a small fabric."""
    return max(0.35, min(1.0, MANY / max(1, layout.trunks)))


def ends(layout: Layout, edge: Edge) -> tuple[float, float, float, float]:
    """Return x and y of both ends of a direction's line, a little right of the link's middle."""
    a, b = layout.blocks[edge[0]], layout.blocks[edge[1]]
    dx, dy = b.x - a.x, b.y - a.y
    long = math.hypot(dx, dy) or 1.0
    off = 1.9
    ox, oy = -dy / long * off, dx / long * off
    return a.x + ox, a.y + oy, b.x + ox, b.y + oy


def box(space: float) -> float:
    """Return the width of a switch's box; `space` is the distance of neighbours in its row."""
    return min(84.0, max(10.0, space * 0.72))


def along(layout: Layout, edge: Edge, pixels: float) -> tuple[float, float]:
    """Return the point of a direction near its sender, at most at the middle of the link.

    `pixels` is its distance from the middle of a switch, on a link straight down.
    """
    x1, y1, x2, y2 = ends(layout, edge)
    dx, dy = abs(x2 - x1), abs(y2 - y1)
    long = math.hypot(dx, dy) or 1.0
    sender = layout.blocks[edge[0]]
    half = 0.0 if sender.host else box(layout.rooms[sender.y]) / 2
    # The share of the link inside the box, which it leaves at a side, or above or below.
    leaves = min(half / dx if dx else 1.0, BOX / dy if dy else 1.0)
    share = min(0.5, leaves + (pixels - BOX) / long)
    return x1 + share * (x2 - x1), y1 + share * (y2 - y1)


def svg(width: float, height: float, content: list[str], label: str, attributes: str = "") -> str:
    """Return elements as one drawing; screen readers read its `label`."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="{escape(label)}" font-family="{escape(FONT)}" {attributes}>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(content)}</svg>'
    )


def words(
    x: float,
    y: float,
    text: str,
    size: float = 12,
    colour: str = INK,
    anchor: str = "start",
    kind: str = "",
) -> str:
    """Return text as SVG; `kind` is its CSS class."""
    known = f' class="{kind}"' if kind else ""
    return (
        f'<text{known} x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def links(layout: Layout) -> str:
    """Draw all links as thin grey lines; faster ones are thicker."""
    thin = 0.7 if len(layout.edges) > 200 else 1.2
    fastest = max(layout.rates.values(), default=1) or 1
    paths: dict[int, list[str]] = {}
    for a, b in layout.edges:
        p, q = layout.blocks[a], layout.blocks[b]
        line = f"M{p.x:.1f} {p.y:.1f}L{q.x:.1f} {q.y:.1f}"
        paths.setdefault(layout.rates.get((a, b), fastest), []).append(line)
    return "".join(
        f'<path d="{"".join(lines)}" stroke="#d5dae0" '
        f'stroke-width="{thin * (0.6 + 1.2 * rate / fastest if len(paths) > 1 else 1):.2f}" '
        'fill="none"/>'
        for rate, lines in paths.items()
    )


def nodes(layout: Layout, named: set[int], text: float = 1.0) -> str:
    """Draw all nodes: hosts round, switches square; `named` hosts always have their names.

    `text` enlarges names.
    """
    parts, close = [], []
    last = (-99.0, 0.0)
    for i, block in enumerate(layout.blocks):
        space = layout.rooms[block.y]
        if len(block.members) > 1:
            # Legible only when the drawing is enlarged.
            fits = min(6.0, 0.95 * space / (0.56 * len(block.name)))
            y = block.y + BOX + 1.1 * fits
            name = words(block.x, y, block.name, round(fits, 1), INK, "middle", "full")
            close.append(name.replace("<text", '<text display="none"', 1))
        if block.host:
            r = min(7.0, max(2.2, space * 0.36))
            parts.append(
                f'<circle cx="{block.x:.1f}" cy="{block.y:.1f}" r="{r:.1f}" fill="white" '
                f'stroke="{INK}" stroke-width="1"><title>{escape(block.label)}</title></circle>'
            )
            if i in named or space > 44 * max(1.0, 0.55 * text):
                up = block.y < layout.height / 2
                # A name that would touch that of its neighbour moves a line away.
                near = 7 * text * len(block.short)
                crowded = block.y == last[1] and block.x - last[0] < near
                further = 12 * text if crowded else 0
                last = (block.x if not crowded else -99.0, block.y)
                y = block.y - 12 - further if up else block.y + 10 + 11 * text + further
                kind = "host up" if up else "host"
                if TOUCHING * len(block.short) >= space:
                    kind += " tight"
                parts.append(words(block.x, y, block.short, 11 * text, anchor="middle", kind=kind))
            continue
        w = box(space)
        parts.append(
            f'<rect x="{block.x - w / 2:.1f}" y="{block.y - 11:.1f}" width="{w:.1f}" height="22" '
            f'rx="4" fill="#f3f5f7" stroke="{INK}"><title>{escape(block.label)}</title></rect>'
        )
        size = min(12.0 * text, w / (0.58 * max(1, len(block.short))))
        if size >= 6.5 * text:
            y = block.y + 0.35 * size
            kind = "switch" if TOUCHING * len(block.short) < space else "switch tight"
            parts.append(words(block.x, y, block.short, round(size, 1), anchor="middle", kind=kind))
    return "".join([*parts, *close])


def state(
    layout: Layout, states: Mapping[Edge, State], marks: Mapping[Edge, int] | None = None
) -> tuple[str, str]:
    """Draw the state of links: utilisation, and above nodes queues at senders and paused ports.

    `marks` numbers the directions for the page's script.
    """
    lines, queues, pauses = [], [], []
    scale = scale_of(layout)
    # The script shows hidden marks at other times; a drawing of one time leaves them out.
    later = marks is not None
    for edge, one in states.items():
        mark = "" if marks is None else f' data-e="{marks[edge]}"'
        if later or one.busy > 0:
            x1, y1, x2, y2 = ends(layout, edge)
            hidden = "" if one.busy > 0 else ' visibility="hidden"'
            lines.append(
                f'<line{mark} x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke='
                f'"{shade(one.busy)}" stroke-width="{breadth(one.busy, scale):.1f}"{hidden}/>'
            )
        if later or one.depth > 0:
            x, y = along(layout, edge, QUEUE)
            r = radius(one.depth, scale)
            queues.append(f'<circle{mark} cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>')
        if later or one.paused:
            x, y = along(layout, edge, PAUSE)
            hidden = "" if one.paused else ' visibility="hidden"'
            pauses.append(
                f'<g{mark} transform="translate({x:.1f} {y:.1f})"{hidden}>'
                '<rect x="-6" y="-6" width="12" height="12" rx="2.5" stroke="none"/>'
                '<path d="M-2 -3.2V3.2M2 -3.2V3.2"/></g>'
            )
    return (
        f'<g class="links">{"".join(lines)}</g>',
        f'<g class="queues" fill="{ORANGE}" '
        f'fill-opacity=".9" stroke="#6b4a00" stroke-width=".8">{"".join(queues)}</g>'
        f'<g class="pauses" fill="{VERMILLION}" stroke="white" stroke-width="1.8">'
        f"{''.join(pauses)}</g>",
    )


def fabric(
    layout: Layout,
    states: Mapping[Edge, State],
    named: set[int],
    marks: Mapping[Edge, int] | None = None,
    text: float = 1.0,
    outages: Sequence[Outage] = (),
    time: int = 0,
) -> str:
    """Draw the fabric in a state: links below nodes, queues and pauses above them.

    `text` enlarges names. Those of `outages` that last at `time`, in ps, are visible.
    """
    under, over = state(layout, states, marks)
    under += failed(layout, outages, time)
    over += failed(layout, outages, time, hosts=True)
    return links(layout) + under + nodes(layout, named, text) + over + tiers(layout, text)


def tiers(layout: Layout, text: float = 1.0) -> str:
    """Name the rows on the left, and the rates between them; `text` enlarges names."""
    x, anchor = (0.0, "start") if text == 1 else (LEFT - 14, "end")
    rows = "".join(
        words(x, y + 4 + 15 * text * line, part, 12 * text, FAINT, anchor)
        for name, y in layout.rows
        for line, part in enumerate(name.split("\n"))
    )
    speeds = "".join(
        words(x, y + 4, name, 11 * text, FAINT, anchor, "speed") for name, y in layout.speeds
    )
    return f'<g class="tiers">{rows}{speeds}</g>'


def topology(
    layout: Layout,
    sketch: Mapping[str, Any],
    groups: list[str],
    text: float = 1.0,
    outages: Sequence[Outage] = (),
) -> str:
    """Draw the tiers with the scenario's flows; each group has a colour and a dash.

    `text` enlarges names.
    """
    arrows: list[str] = []
    named: set[int] = set()
    counts = {group: sum(flow[0] == group for flow in sketch["flows"]) for group in groups}
    drawn: dict[str, str] = {}
    hosts: dict[str, tuple[set[int], set[int]]] = {}
    for group, way, _, _ in sketch["flows"]:
        if counts[group] > MOST_ARROWS:
            senders, receivers = hosts.setdefault(group, (set(), set()))
            senders.add(layout.of[way[0]])
            receivers.add(layout.of[way[-1]])
            drawn[group] = "▲ sends, ▼ receives"
            continue
        named |= {layout.of[way[0]], layout.of[way[-1]]}
        only = only_way(sketch, way[0], way[-1]) if len(way) == 2 else None
        drawn[group] = (
            "path pinned" if len(way) > 2 else "its only path" if only else "path chosen in the run"
        )
        if len({layout.of[node] for node in only or way}) == 1:
            continue
        arrows.append(_arrow(layout, group, only or way, groups))
    marks = "".join(_marks(layout, group, *hosts[group], groups) for group in hosts)
    heads = "".join(
        f'<marker id="head-{i}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" '
        f'markerHeight="5" orient="auto"><path d="M0 0L8 4L0 8z" '
        f'fill="{of(g, COLOURS, groups)}"/></marker>'
        for i, g in enumerate(groups)
    )
    if "unknown" in sketch:
        drawn = {group: sketch["reasons"].get(group, sketch["unknown"]) for group in groups}
    legend, top = _legend(groups, drawn, text)
    # Larger names of tiers end at the same place, and begin further to the left.
    left = (46 if text < 2 else 80) * (text - 1)
    body = (
        f"<defs>{heads}</defs>{legend}"
        f'<g transform="translate({left:.0f} {top:.0f})">{links(layout)}{failed(layout, outages)}'
        f"{''.join(arrows)}{nodes(layout, named, text)}{failed(layout, outages, hosts=True)}"
        f"{marks}{tiers(layout, text)}</g>"
    )
    height = layout.height + top + 24 * text + 10 * len(groups) * bool(marks)
    return svg(WIDTH + left, height, [body], "topology with the flows of the scenario")


def _arrow(layout: Layout, group: str, way: list[int], groups: list[str]) -> str:
    number = groups.index(group)
    points = [layout.blocks[layout.of[node]] for node in way]
    stroke = (
        f'stroke="{of(group, COLOURS, groups)}" stroke-width="2.6" fill="none" '
        f'stroke-opacity=".85" marker-end="url(#head-{number})"'
    )
    if len(points) == 2:
        a, b = points
        # Its top is below the next switches: an arrow through one would look like its path.
        upper = min(a.y, b.y)
        above = max((y for _, y in layout.rows if y < upper), default=upper - 60)
        top = upper - (upper - above) * (0.3 + 0.4 * min(1.0, abs(a.x - b.x) / WIDTH))
        # Arrows of groups with the same ends must not coincide.
        top -= 7 * number
        bend = f"{(a.x + b.x) / 2:.1f} {2 * top - (a.y + b.y) / 2:.1f}"
        path = f"M{a.x:.1f} {a.y:.1f}Q{bend} {b.x:.1f} {b.y:.1f}"
        return f'<path d="{path}" {stroke} stroke-dasharray="7 4"/>'
    # Groups that share a link lie side by side.
    off = 3.6 * (number - (len(groups) - 1) / 2)
    path = "M" + "L".join(f"{p.x + off:.1f} {p.y:.1f}" for p in points)
    return f'<path d="{path}" {stroke} stroke-linejoin="round"{_dashed(group, groups)}/>'


def _dashed(group: str, groups: list[str]) -> str:
    """Return the attribute of a group's dash; the first group has solid lines."""
    dashes = " ".join(map(str, of(group, DASHES, groups)))
    return "" if group == groups[0] else f' stroke-dasharray="{dashes}"'


def _marks(
    layout: Layout, group: str, senders: set[int], receivers: set[int], groups: list[str]
) -> str:
    """Mark senders (triangle up) and receivers (triangle down), with one row for each group."""
    colour = of(group, COLOURS, groups)
    parts = []
    for blocks, sign in ((senders, -1), (receivers, 1)):
        for i in blocks:
            block = layout.blocks[i]
            size = min(5.0, max(2.2, layout.rooms[block.y] * 0.4))
            down = block.y > layout.height / 2
            y = block.y + 20 + 10 * groups.index(group) if down else block.y - 22
            parts.append(
                f'<path d="M{block.x - size:.1f} {y - sign * size:.1f}h{2 * size:.1f}'
                f'l{-size:.1f} {sign * 2 * size:.1f}z" fill="{colour}"/>'
            )
    return "".join(parts)


def _legend(groups: list[str], drawn: Mapping[str, str], larger: float) -> tuple[str, float]:
    """Return the names of groups, above the drawing, and the height that they take."""
    parts, x, y = [], 0.0, 16.0 * larger
    for group in groups:
        text = f"{group}: {drawn.get(group, 'known only during the run')}"
        width = 50 + 7.2 * larger * len(text)
        if x and x + width > WIDTH:
            x, y = 0.0, y + 22 * larger
        colour = of(group, COLOURS, groups)
        parts.append(
            f'<path d="M{x:.1f} {y - 4:.0f}h26" stroke="{colour}" stroke-width="3"'
            f"{_dashed(group, groups)}/>" + words(x + 32, y, text, 13 * larger)
        )
        x += width
    return "".join(parts), y + 16
