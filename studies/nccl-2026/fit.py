"""Fit the two constants of a testbed's hosts, and what else could be fitted to the same numbers.

    python studies/nccl-2026/fit.py

It prints the constants that scenario.toml and study.toml have, and the page's tables of models
without a network. Only rows that published.toml leaves apart are read by a fit: every second size,
on the ten nodes of 1 and 8 GPUs alone. No run of the simulator is part of it.

The model is that of NCCL's own tuner (NVIDIA/nccl 5067397c, src/graph/tuning.cc): the time of a
collective is a latency and the bytes over a bandwidth,

    T = L + M + B / F

with L and F fitted, B the payload that each interface of a GPU sends, and M the latencies of the
ring's messages by that file: `hwLatencies`, protocol Simple, 14.0 us for each of the steps between
servers and 3.4 us for each step over NVLink. It has no entry for an all-to-all: M = 0.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HERE = Path(__file__).resolve().parent

NET_US, NVLINK_US = 14.0, 3.4
"""NVIDIA/nccl 5067397c, src/graph/tuning.cc, `hwLatencies`, ring, Simple: NET and NVLINK."""

WIRE_GBPS = 50 * 4096 / (4096 + 62 + 20)
"""Payload at 400 Gb/s in GB/s: frames of RoCEv2 with 4096 B, as scenario.toml has them."""

NODES = {"a2a": 10, "gather": 10, "b200": 4}
KIB_PER = {"MiB": 2**10, "GiB": 2**20}
BAND = 0.10


@dataclass(frozen=True)
class Published:
    """A row of published.toml about one of the two clusters of a star."""

    case: str
    kind: str
    gpus: int
    """GPUs of a server that take part, and as many interfaces."""
    size: float
    """Bytes of the buffer of a rank, by its nominal size."""
    time_us: float
    fitted: bool

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return NODES[self.kind] * self.gpus

    @property
    def sent(self) -> float:
        """Payload that each interface sends, in bytes.

        A ring sends 1/n of a buffer in each step, over as many interfaces as a server has; an
        all-to-all 1/n to each rank of another server.
        """
        n = self.ranks
        if self.kind == "a2a":
            return self.size * (n - self.gpus) / n
        return self.size * self.steps / n / self.gpus

    @property
    def steps(self) -> int:
        """Steps of the ring; 0 for an all-to-all."""
        return {"a2a": 0, "gather": 1, "b200": 2}[self.kind] * (self.ranks - 1)

    @property
    def inside_us(self) -> float:
        """Latencies of the steps over NVLink, in us: what a case adds to `latency`."""
        return (self.steps - self._between) * NVLINK_US

    @property
    def messages_us(self) -> float:
        """Latencies of the ring's messages as NCCL's tuner adds them up, in us."""
        return self.inside_us + self._between * NET_US

    @property
    def _between(self) -> int:
        """Steps between servers."""
        return {"a2a": 0, "gather": 1, "b200": 2}[self.kind] * (NODES[self.kind] - 1)


def published() -> list[Published]:
    """Return the rows about the two clusters in their order."""
    found = []
    for row in tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))["row"]:
        match = re.fullmatch(r"(a2a|gather|b200)(?:-g(\d))?-(\d+)([MG]iB)", row["case"])
        # The model chosen by outcome has the same numbers again.
        if match is None or row["mechanism"] != "host model":
            continue
        kind, gpus = match[1], int(match[2] or 8)
        size = int(match[3]) * KIB_PER[match[4]] * 1024.0
        values = row["values"]
        n = NODES[kind] * gpus
        # nccl-tests, doc/PERFORMANCE.md: bus bandwidth of an all-reduce, size / time x 2 (n - 1)/n.
        time = values.get("time") or 2 * (n - 1) / n * size / values["busbw"] / 1e3
        found.append(Published(row["case"], kind, gpus, size, float(time), "apart" in row))
    return found


def off(model_us: float, row: Published) -> float:
    """Return the relative deviation of a model's time; of a bandwidth for a row with that."""
    ratio = model_us / row.time_us
    return 1 / ratio - 1 if row.kind == "b200" else ratio - 1


def modelled(row: Published, rate_gbps: float, latency_us: float, *, table: bool = True) -> float:
    """Return T = L + M + B / F in us, with F in GB/s; without the `table`, M = 0."""
    return latency_us + (row.messages_us if table else 0.0) + row.sent / rate_gbps / 1e3


def constants(rows: Iterable[Published], *, table: bool = True) -> tuple[float, float]:
    """Return F in GB/s and L in us with the least sum of |log(model / published)|.

    Absolute deviations, so that a size at which NCCL changes its algorithm does not move the rest.
    F in steps of 0.05 GB/s up to what the wire carries, L in steps of 2 us.
    """
    rates = 0.05 * np.arange(600, math.floor(WIRE_GBPS / 0.05) + 1)
    latencies = np.arange(0.0, 601.0, 2.0)
    cost = np.zeros((rates.size, latencies.size))
    for row in rows:
        messages = row.messages_us if table else 0.0
        times = latencies + messages + (row.sent / rates / 1e3)[:, None]
        cost += np.abs(np.log(times / row.time_us))
    rate, latency = np.unravel_index(np.argmin(cost), cost.shape)
    return round(float(rates[rate]), 2), float(latencies[latency])


def frozen(rows: Iterable[Published], kinds: Sequence[str]) -> tuple[float, float]:
    """Return the constants of a testbed, as frozen before the first run."""
    return constants(row for row in rows if row.kind in kinds and row.fitted)


def by_gpus(
    rows: Iterable[Published], kinds: Sequence[str], gpus: int, *, table: bool = False
) -> tuple[float, float]:
    """Return those for one number of GPUs a node without NCCL's table: chosen by outcome."""
    chosen = (row for row in rows if row.kind in kinds and row.gpus == gpus and every_second(row))
    return constants(chosen, table=table)


def line(rows: Sequence[Published]) -> tuple[float, float]:
    """Return a in us and b in us/B of a + b S with the least sum of |log| over every second size.

    The best line of least absolute deviations passes through two of the points.
    """
    rows = [row for row in rows if every_second(row)]
    best = (math.inf, 0.0, 0.0)
    for low, high in product(rows, rows):
        if low.size >= high.size:
            continue
        b = (high.time_us - low.time_us) / (high.size - low.size)
        a = low.time_us - b * low.size
        times = [a + b * row.size for row in rows]
        if min(times) > 0:
            cost = sum(abs(math.log(t / row.time_us)) for t, row in zip(times, rows, strict=True))
            best = min(best, (cost, a, b))
    return best[1:]


def every_second(row: Published) -> bool:
    """Return True for the sizes of the fit, also where nothing was fitted to the numbers."""
    return round(math.log2(row.size)) % 2 == (1 if row.kind == "b200" else 0)


def hashing(queue_pairs: int, uplinks: int, draws: int = 10_000) -> tuple[float, float, float]:
    """Return the gain of planned paths over ECMP in Tolly's fabric by counting: mean, p10, p90, %.

    Of each leaf's two servers one sends to the next leaf: eight interfaces, each with `queue_pairs`
    equal shares of a link. Each share draws an uplink, and at its spine a link down. All rings last
    as long as the one with the fullest link; with no link above its rate nothing is lost.
    """
    random = np.random.default_rng(1)
    leaves, spines, interfaces = 4, 2, 8
    each = uplinks // spines
    shares = interfaces * queue_pairs
    up = random.integers(0, uplinks, (draws, leaves, shares))
    down = up // each * each + random.integers(0, each, up.shape)
    fullest = np.zeros(draws)
    for links in (up, down):
        counts = np.stack([(links == link).sum(axis=2) for link in range(uplinks)])
        fullest = np.maximum(fullest, counts.max(axis=(0, 2)) / queue_pairs)
    gain = 100 * (np.maximum(fullest, 1.0) - 1)
    low, high = np.quantile(gain, [0.1, 0.9])
    return float(gain.mean()), float(low), float(high)


BEDS = {"ten H100 nodes": ("a2a", "gather"), "four P6-B200 nodes": ("b200",)}


def main() -> None:
    """Print the constants and, of the sizes that no fit read, how many lie in the band."""
    rows = published()
    fits: dict[str, tuple[float, float]] = {}
    own: dict[tuple[str, int], tuple[float, float]] = {}
    tabled: dict[tuple[str, int], tuple[float, float]] = {}
    for name, kinds in BEDS.items():
        found = frozen(rows, kinds)
        fits |= dict.fromkeys(kinds, found)
        print(f"{name}: {_words(found)}")
        for gpus in dict.fromkeys(row.gpus for row in rows if row.kind in kinds):
            found = by_gpus(rows, kinds, gpus)
            own |= dict.fromkeys(product(kinds, [gpus]), found)
            tabled |= dict.fromkeys(product(kinds, [gpus]), by_gpus(rows, kinds, gpus, table=True))
            print(f"  {gpus} a node, without the table: {_words(found)}")
    titles = ("series", "judged", "frozen constants", "by GPUs", "by GPUs, no table", "a line")
    print(f"\n| {' | '.join(titles)} | wire alone |\n{7 * '|---'}|")
    total = [0] * 6
    for kind, gpus in dict.fromkeys((row.kind, row.gpus) for row in rows):
        series = [row for row in rows if (row.kind, row.gpus) == (kind, gpus)]
        a, b = line(series)
        judged = [row for row in series if not every_second(row)]
        models = (
            [modelled(row, *fits[kind]) for row in judged],
            [modelled(row, *tabled[kind, gpus]) for row in judged],
            [modelled(row, *own[kind, gpus], table=False) for row in judged],
            [a + b * row.size for row in judged],
            [row.sent / WIRE_GBPS / 1e3 for row in judged],
        )
        within = [
            sum(abs(off(time, row)) <= BAND for time, row in zip(times, judged, strict=True))
            for times in models
        ]
        hits = [len(judged), *within]
        total = [x + y for x, y in zip(total, hits, strict=True)]
        print(f"| {kind}, {gpus} a node | {' | '.join(map(str, hits))} |")
    print(f"| all | {' | '.join(map(str, total))} |")
    counted = ("queue pairs an interface", "uplinks", "gain by counting, %", "p10", "p90")
    print(f"\n| {' | '.join(counted)} |\n{5 * '|---'}|")
    for pairs, uplinks in ((2, 16), (4, 16), (8, 16), (16, 16), (2, 32), (2, 64)):
        numbers = (f"{number:.1f}" for number in hashing(pairs, uplinks))
        print(f"| {pairs} | {uplinks} | {' | '.join(numbers)} |")


def _words(found: tuple[float, float]) -> str:
    rate, latency = found
    return f"feed_rate = {8 * rate:.1f} Gb/s ({rate} GB/s), latency = {latency:.0f} us"


if __name__ == "__main__":
    main()
