"""GB200 from one rack to twenty: what NCCL's own tuner chooses there, and what it estimates.

    python studies/nccl-2026/gb200.py

It prints, for the sizes that coreweave/nccl-tests (cb86553) publishes, the estimate of each
algorithm, the one that NCCL chooses, and straight lines through every second size. The cases of
study.toml follow from it. No run of the simulator is part of it.

Algorithms and constants are those of the version that ran, NCCL 2.26.2 (f44ac759), and of the file
that the rest of the study uses (5067397c): src/graph/tuning.cc, src/graph/search.cc and
src/graph/topo.h. The published job switches NVLS and CollNet off, so ring and tree are left.
Protocol LL is left out: its 20 to 282 GB/s of bus bandwidth are too little at these sizes.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

GPUS = 72
"""GPUs of a rack: one NVLink domain."""

NVLINK_GBPS = 18 * 40.0
"""topo.h, `SM100_NVLINK_BW` = 40.0 for each of 18 links: what the search of rings may use."""

CHANNELS = {1: 16, 2: 15}
"""search.cc with that rate, by racks: 8 rings of 90 GB/s, doubled; among racks 15 of 48 GB/s."""

TREE_CHANNEL_GBPS = {
    "2.26.2": {1: 77.4, 2: 82.8, 4: 72.0},
    "5067397c": {1: 70.0, 2: 42.8, 4: 24.0},
}
"""`perChMaxTreeBws`, Blackwell: bus bandwidth of a channel in one, two and more NVLink domains."""

NET_US = 14.0
"""`hwLatencies`, NET, Simple: of a ring's and of a tree's step between racks."""

CHUNK = 512 * 1024
"""Bytes of a chunk of a tree, Simple: a buffer of 4 MiB in `NCCL_STEPS` = 8 parts."""


@dataclass(frozen=True)
class Size:
    """A published size."""

    case: str
    racks: int
    size: int
    """Bytes of a rank's buffer."""
    time_us: float

    @property
    def ranks(self) -> int:
        """The number of GPUs."""
        return GPUS * self.racks


def published() -> list[Size]:
    """Return the published sizes in their order."""
    rows = tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))["row"]
    found = []
    for row in rows:
        if row["case"].startswith("gb200-"):
            _, ranks, size = row["case"].split("-")
            number, unit = int(size[:-3]), {"M": 2**20, "G": 2**30}[size[-3]]
            racks = int(ranks) // GPUS
            found.append(Size(row["case"], racks, number * unit, float(row["values"]["time"])))
    return found


def channels(racks: int) -> int:
    """Return the number of channels that the search finds."""
    return CHANNELS[min(racks, 2)]


def tree_gbps(racks: int, version: str = "2.26.2") -> float:
    """Return the bus bandwidth of a tree, in GB/s."""
    each = TREE_CHANNEL_GBPS[version][racks if racks <= 2 else 4]
    return min(0.92 * NVLINK_GBPS, channels(racks) * each)


def inside_us(racks: int, algorithm: str) -> float:
    """Return a start of 8.4 us and the latencies of all steps inside racks, protocol Simple."""
    if algorithm == "tree":
        return 8.4 + 2 * (GPUS - 1) * 4.0
    between = 2 * (racks - 1)
    return 8.4 + (2 * (GPUS * racks - 1) - between) * 3.4


def estimates(racks: int, size: int) -> dict[str, float]:
    """Return NCCL's estimates in us, by algorithm and protocol: `ncclTopoGetAlgoTime` of 2.26.2.

    LL128 only runs inside a rack. A GPU reaches its interface through the CPU, which that version
    counts as `PATH_PHB`; among servers LL128 needs `PATH_PXN` or nearer.
    """
    n = GPUS * racks
    ring = NVLINK_GBPS * n / (2 * (n - 1))
    start = inside_us(racks, "ring") + 2 * (racks - 1) * NET_US
    # The file's "plateau effect of ring", for more than one server.
    start *= 1.4 if racks > 1 else 1.0
    levels = 2 * int(math.log2(racks)) * NET_US
    found = {
        "ring, simple": start + size / ring / 1e3,
        "tree, simple": inside_us(racks, "tree") + levels + size / (tree_gbps(racks) / 2) / 1e3,
    }
    if racks == 1:
        found["ring, ll128"] = 14.0 + 2 * (n - 1) * 1.9 + size / (0.92 * ring) / 1e3
    return found


def chosen(racks: int, size: int) -> str:
    """Return the algorithm and the protocol with the least estimate."""
    found = estimates(racks, size)
    return min(found, key=lambda name: found[name])


def tree_feed_gbps(racks: int, version: str) -> float:
    """Return the payload that an interface sends at most by a tree, in GB/s.

    An interface belongs to two trees, as inner node and as leaf. With the whole S in all trees it
    sends S / channels between two racks, and twice that among more.
    """
    algorithm = tree_gbps(racks, version) / 2 / channels(racks)
    return algorithm if racks == 2 else 2 * algorithm


def line(sizes: list[Size]) -> tuple[float, float]:
    """Return a in us and b in us/B of a + b S through every second size: 1, 4 and 16 GiB.

    Least sum of |log(line / published)|, as in fit.py: the best line passes through two of them.
    """
    known = [one for one in sizes if round(math.log2(one.size)) % 2 == 0]
    best = (math.inf, 0.0, 0.0)
    for low in known:
        for high in known:
            if low.size < high.size:
                b = (high.time_us - low.time_us) / (high.size - low.size)
                a = low.time_us - b * low.size
                cost = sum(abs(math.log((a + b * one.size) / one.time_us)) for one in known)
                best = min(best, (cost, a, b))
    return best[1:]


def main() -> None:
    """Print the estimates, the choices and the lines."""
    print("| case | published, us | ring | tree | NCCL chooses |\n|---|---|---|---|---|")
    rows = published()
    for row in rows:
        found = estimates(row.racks, row.size)
        cells = [f"{found[name]:.0f}" for name in ("ring, simple", "tree, simple")]
        name = chosen(row.racks, row.size)
        print(f"| {row.case} | {row.time_us:g} | {' | '.join(cells)} | {name}, {found[name]:.0f} |")
    for racks in dict.fromkeys(row.racks for row in rows):
        series = [row for row in rows if row.racks == racks]
        a, b = line(series)
        near = sum(abs((a + b * row.size) / row.time_us - 1) <= 0.1 for row in series)
        print(f"{racks} racks: {a:.0f} us + S / {1 / b / 1e3:.1f} GB/s, {near} of {len(series)}")
        if racks > 1:
            for version in TREE_CHANNEL_GBPS:
                rate = tree_feed_gbps(racks, version)
                print(f"  a tree's interface, {version}: {rate:.2f} GB/s, {8 * rate:.1f} Gb/s")


if __name__ == "__main__":
    main()
