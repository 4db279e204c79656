"""Positions of the nodes of a drawn topology: tiers in rows, hosts beside their switches.

A large fabric is drawn as blocks, so that 2048 hosts are as readable as 128: one of the hosts of a
switch, one of the switches of a pod (nodes that stay connected without the top tier).
"""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

WIDTH = 1120.0
LEFT, MARGIN = 76.0, 28.0
"""Space on the left, for names of tiers, and on the other sides."""
ROW, HIGH_ROW, MANY = 150.0, 230.0, 160
"""Height from one tier to the next; HIGH_ROW if more than MANY lines join switches."""

MOST_HOSTS = 200
"""With more hosts, those of each switch are drawn as one block."""
MOST_SWITCHES, FEWER_SWITCHES, MOST_LINES = 48, 24, 800
"""With more switches in a tier, those of a pod, or runs of them, are drawn as one block. The lower
limit holds if the blocks would be joined by more than MOST_LINES lines."""


@dataclass
class Block:
    """A drawn node: one node of the network, or several that are drawn as one."""

    name: str
    tier: str
    host: bool
    members: list[int]
    x: float = 0.0
    y: float = 0.0

    @property
    def label(self) -> str:
        """Its name, and the number of its nodes if there are several."""
        return self.name if len(self.members) == 1 else f"{self.name} ({len(self.members)})"

    @property
    def short(self) -> str:
        """The text at the block: its name, or the number of its nodes if there are several."""
        return self.name if len(self.members) == 1 else f"×{len(self.members)}"  # noqa: RUF001


@dataclass
class Layout:
    """A topology as drawn."""

    blocks: list[Block]
    of: dict[int, int]
    """The block of each node."""
    edges: dict[tuple[int, int], int]
    """Number of links between two blocks; the lower block comes first."""
    rows: list[tuple[str, float]]
    """Name and height of each row, from the top."""
    height: float
    names: dict[str, int] = field(default_factory=dict)
    """Number of each node by its name."""
    hosts: list[str] = field(default_factory=list)
    """Name of each host, by its number in tables of flows."""
    rates: dict[tuple[int, int], int] = field(default_factory=dict)
    """Rate of each of `edges`, in b/s; the greatest if it has several links."""
    speeds: list[tuple[str, float]] = field(default_factory=list)
    """Rates between two rows as text, and their height."""
    trunks: int = 0
    """Lines that join two switches; with many, lines are thinner and queues smaller."""

    @property
    def aggregated(self) -> bool:
        """True if a block stands for several nodes."""
        return any(len(block.members) > 1 for block in self.blocks)

    @cached_property
    def rooms(self) -> dict[float, float]:
        """The least distance between neighbours of a row, by the height of the row."""
        rows: dict[float, list[float]] = {}
        for block in self.blocks:
            rows.setdefault(block.y, []).append(block.x)
        return {
            y: min((b - a for a, b in itertools.pairwise(sorted(row))), default=WIDTH / 2)
            for y, row in rows.items()
        }


def lay_out(sketch: Mapping[str, Any]) -> Layout:
    """Lay out a sketch, as `Scenario.sketch` returns it."""
    nodes: Sequence[tuple[str, str, bool]] = sketch["nodes"]
    near = _neighbours(sketch)
    depth = _depths(nodes, near)
    for most in (MOST_SWITCHES, FEWER_SWITCHES):
        blocks = _blocks(nodes, near, depth, most)
        of = {member: i for i, block in enumerate(blocks) for member in block.members}
        edges: dict[tuple[int, int], int] = {}
        for a, b, _, _ in sketch["links"]:
            ends = (min(of[a], of[b]), max(of[a], of[b]))
            if ends[0] != ends[1]:
                edges[ends] = edges.get(ends, 0) + 1
        if len(edges) <= MOST_LINES:
            break
    rows = _rows(blocks, edges, depth)
    trunks = sum(not blocks[a].host and not blocks[b].host for a, b in edges)
    step = HIGH_ROW if trunks > MANY else ROW
    _place(blocks, edges, rows, step)
    height = 2 * MARGIN + step * (len(rows) - 1)
    names = {name: i for i, (name, _, _) in enumerate(nodes)}
    tiers = [(_tier(blocks, row), blocks[row[0]].y) for row in rows]
    rates: dict[tuple[int, int], int] = {}
    between: dict[float, set[int]] = {}
    for a, b, rate, _ in sketch["links"]:
        ends = (min(of[a], of[b]), max(of[a], of[b]))
        rates[ends] = max(rates.get(ends, 0), rate)
        middle = (blocks[of[a]].y + blocks[of[b]].y) / 2
        between.setdefault(middle, set()).add(rate)
    heights = {y for _, y in tiers}
    speeds = [(_speed(some), y) for y, some in sorted(between.items()) if y not in heights]
    hosts = [name for name, _, host in nodes if host]
    return Layout(blocks, of, edges, tiers, height, names, hosts, rates, speeds, trunks)


def _speed(rates: set[int]) -> str:
    """Return the rates of links between two rows as text."""
    low, high = (f"{rate / 1e9:g}" for rate in (min(rates), max(rates)))
    if low == high:
        return f"{low} Gb/s"
    return f"{low}{' and ' if len(rates) == 2 else ' to '}{high} Gb/s"


def only_way(sketch: Mapping[str, Any], source: int, target: int) -> list[int] | None:
    """Return the shortest path between two nodes, or None if there are several or none."""
    near = _neighbours(sketch)
    distance = _distances(near, [source])
    if target not in distance:
        return None
    way = [target]
    while way[-1] != source:
        before = {node for node in near[way[-1]] if distance[node] < distance[way[-1]]}
        if len(before) > 1:
            return None
        way += before
    return way[::-1]


def _neighbours(sketch: Mapping[str, Any]) -> list[list[int]]:
    near: list[list[int]] = [[] for _ in sketch["nodes"]]
    for a, b, _, _ in sketch["links"]:
        near[a].append(b)
        near[b].append(a)
    return near


def _distances(
    near: list[list[int]], starts: Sequence[int], closed: Collection[int] = ()
) -> dict[int, int]:
    """Return the links from the nearest of `starts` to each node, on paths without `closed`."""
    found = dict.fromkeys(starts, 0)
    queue = deque(starts)
    while queue:
        node = queue.popleft()
        for other in near[node]:
            if other not in found and other not in closed:
                found[other] = found[node] + 1
                queue.append(other)
    return found


def _depths(nodes: Sequence[tuple[str, str, bool]], near: list[list[int]]) -> list[int]:
    """Return the links from each node to the nearest host; 1 for switches that reach none."""
    found = _distances(near, [i for i, (_, _, host) in enumerate(nodes) if host])
    return [found.get(i, 1) for i in range(len(nodes))]


def _blocks(
    nodes: Sequence[tuple[str, str, bool]], near: list[list[int]], depth: list[int], most: int
) -> list[Block]:
    hosts = [i for i, (_, _, host) in enumerate(nodes) if host]
    switches = [i for i, (_, _, host) in enumerate(nodes) if not host]
    tiers: dict[tuple[int, str], list[int]] = {}
    for i in switches:
        tiers.setdefault((depth[i], nodes[i][1]), []).append(i)
    groups: list[list[int]] = []
    together = _pods(near, depth)
    for members in tiers.values():
        groups += [[i] for i in members] if len(members) <= most else _runs(members, together, most)
    block_of = {i: number for number, members in enumerate(groups) for i in members}
    if len(hosts) <= MOST_HOSTS:
        groups += [[i] for i in hosts]
    else:
        below: dict[int, list[int]] = {}
        for i in hosts:
            below.setdefault(block_of[near[i][0]] if near[i] else -1, []).append(i)
        groups += below.values()
    return [Block(_name(nodes, g), nodes[g[0]][1], nodes[g[0]][2], g) for g in groups]


def _pods(near: list[list[int]], depth: list[int]) -> dict[int, int]:
    """Return the first node of the pod of each node below the top tier."""
    highest = max(depth, default=0)
    top = {i for i, value in enumerate(depth) if value == highest}
    pod: dict[int, int] = {}
    for start in range(len(depth)):
        if start not in top and start not in pod:
            pod |= dict.fromkeys(_distances(near, [start], top), start)
    return pod


def _runs(members: list[int], pods: dict[int, int], most: int) -> list[list[int]]:
    """Group a tier's switches: by pod if that makes few enough groups, else in runs of one size."""
    by_pod: dict[int, list[int]] = {}
    for i in members:
        by_pod.setdefault(pods.get(i, -1), []).append(i)
    if 1 < len(by_pod) <= most and -1 not in by_pod:
        return list(by_pod.values())
    size = -(-len(members) // (most * 2 // 3))
    return [members[i : i + size] for i in range(0, len(members), size)]


def _name(nodes: Sequence[tuple[str, str, bool]], members: list[int]) -> str:
    first, last = nodes[members[0]][0], nodes[members[-1]][0]
    return first if len(members) == 1 else f"{first} to {last}"


def _rows(
    blocks: list[Block], edges: dict[tuple[int, int], int], depth: list[int]
) -> list[list[int]]:
    """Return rows from the top: switches far from hosts first; hosts at the top switch above it."""
    tiers: dict[tuple[int, str], list[int]] = {}
    for i, block in enumerate(blocks):
        if not block.host:
            tiers.setdefault((depth[block.members[0]], block.tier), []).append(i)
    # If tiers are equally far from hosts, the one with more switches is below.
    order = sorted(tiers, key=lambda key: (-key[0], len(tiers[key]), list(tiers).index(key)))
    if len(order) == 2 and order[0][0] == order[1][0] and order[0][1] == "edge":
        order.reverse()
    rows = [tiers[key] for key in order]
    hosts = [i for i, block in enumerate(blocks) if block.host]
    if len(rows) > 1 and order[0][0] == 1:
        # The top switch has hosts, too: these are drawn above it, the others at the bottom.
        top = set(rows[0])
        above = [i for i in hosts if any((min(i, t), max(i, t)) in edges for t in top)]
        below = [i for i in hosts if i not in set(above)]
        return [row for row in ([above] if above else []) + rows + [below] if row]
    return [*rows, hosts]


def _place(
    blocks: list[Block], edges: dict[tuple[int, int], int], rows: list[list[int]], height: float
) -> None:
    near: dict[int, list[int]] = {}
    for a, b in edges:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    for number, row in enumerate(rows):
        for i in row:
            blocks[i].y = MARGIN + height * number
        if blocks[row[0]].host:
            # Beside their switch, in the order of their numbers.
            row.sort(key=lambda i: (min(near.get(i, [0])), blocks[i].members[0]))
        else:
            row.sort(key=lambda i: blocks[i].members[0])
        gaps = _gaps(row, near, blocks)
        step = (WIDTH - LEFT - MARGIN) / (len(row) + sum(gaps))
        x = LEFT + step / 2
        for i, gap in zip(row, [*gaps, 0.0], strict=True):
            blocks[i].x = x
            x += step * (1 + gap)


def _gaps(row: list[int], near: dict[int, list[int]], blocks: list[Block]) -> list[float]:
    """Return the gap after each host of a row but the last: between hosts of two switches."""
    if not blocks[row[0]].host or len(row) < 12:
        return [0.0] * (len(row) - 1)
    return [
        0.0 if near.get(a, [0])[0] == near.get(b, [0])[0] else 0.7
        for a, b in itertools.pairwise(row)
    ]


def _tier(blocks: list[Block], row: list[int]) -> str:
    """Return the name of a row; its second line is the size of its blocks, if all have the same."""
    count = sum(len(blocks[i].members) for i in row)
    name = "host" if blocks[row[0]].host else blocks[row[0]].tier
    plural = {"leaf": "leaves", "switch": "switches"}.get(name, f"{name}s")
    each = {len(blocks[i].members) for i in row}
    several = f"\n{each.pop()} each" if len(each) == 1 and count > len(row) else ""
    return f"{count} {name if count == 1 else plural}{several}"
