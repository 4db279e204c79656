"""`qlen.txt`: a histogram of the queue length of each switch port, since the start.

    time: NS
    SWITCH PORT C0 C1 C2 ...

Ck is the number of samples in which all queues of the port together had k to k + 1 KB (1000 B). A
block counts all samples so far. The format is that of `monitor_buffer` in `scratch/third.cc` of
HPCC's ns-3 code (at 9f4be2a), which takes a sample every 100 ns and writes a block every 100 ms.
"""

from __future__ import annotations

import itertools
from typing import IO, TYPE_CHECKING

from backwater.errors import InputError
from backwater.exporting.network import PS_PER_NS, Network
from backwater.exporting.ns3_flows import offset_ns
from backwater.exporting.rows import name_of, rows
from backwater.numbers.units import time_ps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backwater.exporting import Options
    from backwater.exporting.place import Place
    from backwater.results import Run

TAKES = ("offset", "every")
FILES = ()

QUANTITY = "queue_bytes"
BIN_BYTES = 1000
KEYS = '--set "output.interval=100 ns" --set output.queues=true'


def write(run: Run, place: Place, options: Options) -> list[str]:
    """Write the file."""
    output = run.scenario.get("output", {})
    if "interval" not in output or not output.get("queues"):
        raise InputError(f"{name_of(run)} has no samples of queue lengths", f"run it with {KEYS}")
    interval = time_ps(output["interval"])
    every = time_ps(options.every, "--every")
    if every <= 0:
        raise InputError(
            f"--every {options.every}: is no time between two blocks", "a time above 0"
        )
    network = Network.of(run)
    offset = offset_ns(options)
    counts = _Counts(_observed(network, run, list(output.get("nodes") or ())))
    end = int(run.summary.get("time_ps", 0))
    due = every
    with place.text() as out:
        for time, lengths in _samples(run):
            while due < time:
                counts.write(out, offset + due // PS_PER_NS, due // interval)
                due += every
            counts.add(lengths)
            end = max(end, time)
        while due <= end:
            counts.write(out, offset + due // PS_PER_NS, due // interval)
            due += every
        if due - every < end // interval * interval:
            counts.write(out, offset + end // PS_PER_NS, end // interval)
    return []


Key = tuple[str, int]
"""A port: the name of its node, and its number there."""


class _Counts:
    """The number of samples so far in which each port had each length, except length 0."""

    def __init__(self, ports: dict[Key, tuple[int, int]]) -> None:
        self._ports = ports
        self._found: dict[Key, list[int]] = {key: [0] for key in ports}

    def add(self, lengths: dict[Key, int]) -> None:
        """Count a sample."""
        for key, length in lengths.items():
            found = self._found.get(key)
            if found is None:
                continue
            k = length // BIN_BYTES
            found.extend([0] * (k + 1 - len(found)))
            found[k] += 1

    def write(self, out: IO[str], time_ns: int, samples: int) -> None:
        """Write a block. A sample without a row of a port is one in which nothing waited there."""
        out.write(f"time: {time_ns}\n")
        for key, (node, port) in sorted(self._ports.items(), key=lambda item: item[1]):
            found = self._found[key]
            empty = samples - sum(found)
            counts = [found[0] + empty, *found[1:]] if samples else []
            out.write(" ".join(map(str, [node, port, *counts])) + "\n")


def _samples(run: Run) -> Iterator[tuple[int, dict[Key, int]]]:
    """Yield each sampling time (ps) with the bytes that waited for each port, if any did."""
    names = ("time_ps", "node", "port", "quantity", "value")
    found = (row for row in rows(run, "series", names) if row[3] == QUANTITY)
    for time, of in itertools.groupby(found, key=lambda row: int(row[0])):
        lengths: dict[Key, int] = {}
        for _, node, port, _, value in of:
            lengths[node, port] = lengths.get((node, port), 0) + value
        yield time, lengths


def _observed(network: Network, run: Run, names: list[str]) -> dict[Key, tuple[int, int]]:
    """Return node and interface of each sampled switch port, by its name and number."""
    far = network.ends(run)
    observed = {}
    for (name, port), end in far.items():
        node = network.numbers[name]
        if network.is_host(node) or (names and name not in names):
            continue
        a, _, _, _ = network.links[end.link]
        observed[name, port] = (node, network.interfaces[end.link][0 if a == node else 1])
    return observed
