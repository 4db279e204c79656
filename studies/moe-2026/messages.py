"""Write the tables of operations of UCCL's test of two servers: who sends which message when.

    python studies/moe-2026/messages.py

The order and the window are those of ep/bench/alltoall at commit 0cdfcf52 of uccl-project/uccl,
from which the published table is. `test_alltoall.cpp` posts all messages to a receiver before the
first to the next, and every sender begins with receiver 0. `test_alltoall_rail.cpp` posts as many
to the receiver at the sender's own place. A message is posted while fewer than a window are in
flight. The order at random is that of later versions.

One message here stands for 25 of the source: 40 a receiver in place of 1000, and 41 in flight in
place of 4 x 256.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent

GPUS = 8
EACH = 40
"""Messages of a sender to each receiver: 1000 / 25."""
WINDOW = 41
"""Messages of a sender in flight: 4 interfaces x 256 / 25."""
OTHERS = {"few": (20, 20), "many": (80, 82), "half": (40, 20), "twice": (40, 82)}
"""Other numbers of messages to a receiver and in flight, for what these choices cost."""

SIZES = {f"{2**doubling}KB": 2**doubling * 1024 for doubling in range(3, 13)}
"""Lengths of messages in bytes by their names: 8 KB to 4096 KB, as the source writes KiB."""


NUMBERS = ("id", "rank", "peer", "bytes", "after.list.element", "needs")
"""The columns of numbers, as Parquet names them."""


def receivers(pattern: str, sender: int, each: int) -> list[int]:
    """Return the receiver of each message of a sender, in its order: 0 to 7.

    `pattern` is `cross` (one receiver after the other), `rail` (its own place) or `random`.
    """
    if pattern == "rail":
        return [sender] * (GPUS * each)
    order = np.repeat(np.arange(GPUS), each)
    if pattern == "random":
        np.random.default_rng([1, sender]).shuffle(order)
    return [int(receiver) for receiver in order]


def operations(pattern: str, size: int, each: int = EACH, window: int = WINDOW) -> pa.Table:
    """Return the operations of all senders for messages of `size` bytes.

    Message j of a sender is posted when j - `window` + 1 of those before it are complete, which
    ones does not matter: later ones were not posted, and so cannot be.
    """
    rows: dict[str, list[object]] = {name: [] for name in ("id", "rank", "peer", "after", "needs")}
    for sender in range(GPUS):
        first = sender * GPUS * each
        for number, receiver in enumerate(receivers(pattern, sender, each)):
            free = number - window + 1
            rows["id"].append(first + number)
            rows["rank"].append(sender)
            rows["peer"].append(GPUS + receiver)
            rows["after"].append(list(range(first, first + number)) if free > 0 else [])
            rows["needs"].append(free if free > 0 else None)
    count = len(rows["id"])
    return pa.table(
        {
            "id": pa.array(rows["id"], pa.int64()),
            "rank": pa.array(rows["rank"], pa.int64()),
            "kind": pa.array(["send"] * count),
            "peer": pa.array(rows["peer"], pa.int64()),
            "bytes": pa.array([size] * count, pa.int64()),
            "after": pa.array(rows["after"], pa.list_(pa.int64())),
            "needs": pa.array(rows["needs"], pa.int64()),
        }
    )


def tables() -> dict[str, pa.Table]:
    """Return all tables by the names of their files: every size, and variants of the largest."""
    found = {
        f"{pattern}-{name}": operations(pattern, size)
        for pattern in ("cross", "rail")
        for name, size in SIZES.items()
    }
    largest = list(SIZES)[-1]
    found[f"random-{largest}"] = operations("random", SIZES[largest])
    for name, (each, window) in OTHERS.items():
        found[f"cross-{largest}-{name}"] = operations("cross", SIZES[largest], each, window)
    return found


def main() -> None:
    """Write the files."""
    for name, table in tables().items():
        pq.write_table(
            table,
            HERE / "incast" / f"{name}.parquet",
            use_dictionary=False,
            compression="zstd",
            # Lists of consecutive numbers: differences take almost nothing.
            column_encoding=dict.fromkeys(NUMBERS, "DELTA_BINARY_PACKED"),
        )


if __name__ == "__main__":
    main()
