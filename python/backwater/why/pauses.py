"""The tree of a run's pauses: which queue caused each pause, and how far pauses spread.

A pause is behind an egress queue of the node that requested it: the queue with most of the bytes
that must leave before it ends. If the neighbour there has paused that queue since frames last began
to wait in it, that pause is the parent. If not, the queue is a root. A pause of a place that is
already above it, as in a ring, counts there, so that no path is a cycle.
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
# The most places below one another in the JSON form.
DEPTH = 64


@dataclass
class Branch:
    """A paused place, with its pauses that the place above it caused."""

    where: str
    """The paused port; for a root, the queue that others were paused behind."""
    asked_by: str | None
    """The node that requested the pauses; None for a root."""
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

    def as_json(self, depth: int = DEPTH) -> dict[str, Any]:
        """Return the tree for JSON, `depth` places deep; `deeper` counts the places below."""
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
            "branches": [branch.as_json(depth - 1) for branch in branches] if depth else [],
            "deeper": 0 if depth else len(self.below()),
        }

    def below(self) -> list[Branch]:
        """Return all places below this one."""
        found: list[Branch] = []
        left = [self]
        while left:
            children = left.pop().branches.values()
            found += children
            left += children
        return found


def queue_name(node: str, port: int, peer: str, queue: int | None) -> str:
    """Name a queue as messages of runs do."""
    return f"{node} port {port} (to {peer})" + ("" if queue is None else f" class {queue}")


def paused_name(pause: dict[str, Any]) -> str:
    """Name the port and class that a pause stopped."""
    return queue_name(pause["peer"], pause["peer_port"], pause["node"], pause["class"])


def behind_name(pause: dict[str, Any]) -> str:
    """Name the queue that a pause was behind, or its fault."""
    if pause.get("cause") == STORM:
        return f"{pause['node']}, in a pause storm (a fault)"
    if pause.get("cause") == SLOW:
        return f"{pause['node']}, a slow receiver (a fault), whose buffer held the frames"
    if pause["behind_port"] is None:
        return f"{pause['node']}, whose receive buffer or fabric held the frames"
    queue = pause["behind_queue"]
    return queue_name(pause["node"], pause["behind_port"], pause["behind_peer"], queue)


def tree(pauses: pa.Table, end_ps: int) -> list[Branch]:
    """Return the roots, the longest pauses first; `end_ps`: the end of the run."""
    rows = sorted(pauses.to_pylist(), key=lambda row: (row["asked_ps"], row["start_ps"]))
    roots: dict[tuple[Any, ...], Branch] = {}
    paths: dict[int, list[Branch]] = {}
    # For each paused port: the starts of its pauses, in order, and their numbers.
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
    """Return the last pause of the queue behind this one, if it lasted while that queue filled."""
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
    """Return every paused place with its root."""
    return [(root, branch) for root in roots for branch in root.below()]
