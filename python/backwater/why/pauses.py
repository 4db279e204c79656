"""The tree of a run's pauses: which queue had whom paused, and how far that spread.

A pause stands behind an egress queue of the node that asked for it: the one with most of what must
leave before it ends. Where the neighbour there has paused that queue since something last began to
wait in it, that pause is the parent; where it has not, the queue is a root. A pause of a place that
is above it already, as in a ring, is counted there, so that no path goes round.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

FOREVER = 1 << 63
# Causes of a pause that are faults.
STORM, SLOW = "pause-storm", "slow-receiver"
# Places below one another that are told one by one.
DEPTH = 64


@dataclass
class Branch:
    """One place that was paused, as far as that came from the place above it."""

    where: str
    """The paused port, or of a root the queue that others stood behind."""
    asked_by: str | None
    """The node that asked; None of a root."""
    node: str
    port: int | None
    pauses: int = 0
    paused_ps: int = 0
    longest_ps: int = 0
    first_ps: int = FOREVER
    branches: dict[tuple[Any, ...], Branch] = field(default_factory=dict)

    def add(self, pause: dict[str, Any], end_ps: int) -> None:
        """Count one pause."""
        lasted = (pause["end_ps"] if pause["end_ps"] is not None else end_ps) - pause["start_ps"]
        self.pauses += 1
        self.paused_ps += lasted
        self.longest_ps = max(self.longest_ps, lasted)
        self.first_ps = min(self.first_ps, pause["asked_ps"])

    def told(self, depth: int = DEPTH) -> dict[str, Any]:
        """All of it for JSON, down to `depth` places below this; `deeper` counts the others."""
        branches = sorted(self.branches.values(), key=lambda b: (-b.paused_ps, b.where))
        return {
            "where": self.where,
            "node": self.node,
            "port": self.port,
            "asked_by": self.asked_by,
            "pauses": self.pauses,
            "paused_ps": self.paused_ps,
            "longest_ps": self.longest_ps,
            "first_ps": self.first_ps,
            "branches": [branch.told(depth - 1) for branch in branches] if depth else [],
            "deeper": 0 if depth else len(self.below()),
        }

    def below(self) -> list[Branch]:
        """Every place below this."""
        found: list[Branch] = []
        left = [self]
        while left:
            children = left.pop().branches.values()
            found += children
            left += children
        return found


def queue_name(node: str, port: int, peer: str, queue: int | None) -> str:
    """Name a queue as the messages of a run do."""
    return f"{node} port {port} (to {peer})" + ("" if queue is None else f" class {queue}")


def paused_name(pause: dict[str, Any]) -> str:
    """Name what a pause stopped."""
    return queue_name(pause["peer"], pause["peer_port"], pause["node"], pause["class"])


def behind_name(pause: dict[str, Any]) -> str:
    """Name what a pause stood behind, or the fault that it is."""
    if pause.get("cause") == STORM:
        return f"{pause['node']}, in a storm of pauses (a fault)"
    if pause.get("cause") == SLOW:
        return f"{pause['node']}, a slow receiver (a fault), whose buffer held the frames"
    if pause["behind_port"] is None:
        return f"{pause['node']}, whose receive buffer or fabric held the frames"
    queue = pause["behind_queue"]
    return queue_name(pause["node"], pause["behind_port"], pause["behind_peer"], queue)


def tree(pauses: pa.Table, end_ps: int) -> list[Branch]:
    """Give the roots, the one that paused longest first; `end_ps` is the end of the run."""
    rows = sorted(pauses.to_pylist(), key=lambda row: (row["asked_ps"], row["start_ps"]))
    roots: dict[tuple[Any, ...], Branch] = {}
    paths: dict[int, list[Branch]] = {}
    # Of each port that was paused: when pauses of it began, in order, and which these are.
    begun: dict[tuple[str, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number, row in enumerate(rows):
        parent = _parent(row, rows, begun)
        if parent is None:
            fault = row["cause"] if row.get("cause") in (STORM, SLOW) else None
            key = (row["node"], row["behind_port"], row["behind_queue"], fault)
            root = roots.setdefault(
                key, Branch(behind_name(row), None, row["node"], row["behind_port"])
            )
            path = [root]
        else:
            path = paths[parent]
        edge = (row["peer"], row["peer_port"], row["class"])
        where = paused_name(row)
        again = next((at for at in range(1, len(path)) if path[at].where == where), None)
        if again is None:
            fresh = Branch(where, row["node"], row["peer"], row["peer_port"])
            path = [*path, path[-1].branches.setdefault(edge, fresh)]
        else:
            path = path[: again + 1]
        path[-1].add(row, end_ps)
        path[0].add(row, end_ps)
        paths[number] = path
        starts, numbers = begun[row["peer"], row["peer_port"]]
        at = bisect_right(starts, row["start_ps"])
        starts.insert(at, row["start_ps"])
        numbers.insert(at, number)
    return sorted(roots.values(), key=lambda root: (-root.paused_ps, root.where))


def _parent(
    row: dict[str, Any],
    rows: list[dict[str, Any]],
    begun: dict[tuple[str, int], tuple[list[int], list[int]]],
) -> int | None:
    """The last pause of the queue that this one stands behind, if it held it while that filled."""
    if row["behind_port"] is None or (row["node"], row["behind_port"]) not in begun:
        return None
    starts, numbers = begun[row["node"], row["behind_port"]]
    for number in reversed(numbers[: bisect_right(starts, row["asked_ps"])]):
        other = rows[number]
        if other["class"] not in (None, row["behind_queue"]):
            continue
        end = other["end_ps"] if other["end_ps"] is not None else FOREVER
        return number if end >= row["behind_since_ps"] else None
    return None


def flat(roots: list[Branch]) -> list[tuple[Branch, Branch]]:
    """Every paused place with the root that it goes back to."""
    return [(root, branch) for root in roots for branch in root.below()]
