"""The network of a run as the ns-3 code numbers it, and the time of a flow alone in it.

Numbers, ports and the formula are those of `scratch/third.cc` of the HPCC code
(alibaba-edu/High-Precision-Congestion-Control at 9f4be2a).
"""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict, deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import tomli_w

import backwater
from backwater.errors import InputError, ResultError
from backwater.numbers.units import BITS, size_bytes, time_ps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backwater.results import Run

PS_PER_NS = 1000
NS_PER_S = 10**9
NODES_OF_ADDRESSES = 1 << 16
"""The number of addresses 11.x.y.1."""
MARKS = ("1 ns", "2 ns")
"""Delays by which `down_links` recognises links."""


@dataclass(frozen=True)
class End:
    """The end of a link at which a frame arrives."""

    node: int
    host: bool
    port: int
    """The number of the interface: from 1, in the order of the node's links."""
    link: int


@dataclass(frozen=True)
class Path:
    """A path: links, propagation, serialisation of one payload on each link, lowest rate."""

    hops: int
    delay_ns: int
    payload_ns: int
    rate_bps: int

    def then(self, other: Path) -> Path:
        """Return this path and another one after it."""
        return Path(
            self.hops + other.hops,
            self.delay_ns + other.delay_ns,
            self.payload_ns + other.payload_ns,
            min(self.rate_bps, other.rate_bps),
        )


HERE = Path(0, 0, 0, sys.maxsize)


class Network:
    """Nodes by their numbers, hosts before switches; links in the order of the scenario."""

    def __init__(self, sketch: dict[str, Any], packet: dict[str, Any]) -> None:
        """Build it from `Scenario.sketch` and the scenario's table `packet`."""
        given: list[tuple[str, str, bool]] = sketch["nodes"]
        hosts = [old for old, (_, _, host) in enumerate(given) if host]
        switches = [old for old, (_, _, host) in enumerate(given) if not host]
        new = {old: number for number, old in enumerate([*hosts, *switches])}
        self.names = [given[old][0] for old in new]
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.hosts = len(hosts)
        self.links: list[tuple[int, int, int, int]] = [
            self._host_first(new[a], new[b], rate, delay) for a, b, rate, delay in sketch["links"]
        ]
        """Node, node, rate (b/s), delay (ps); a host comes before a switch."""
        self.payload = size_bytes(packet.get("payload", "4096 B"), "packet.payload")
        self.overhead = size_bytes(packet.get("header", "0 B"), "packet.header")
        self.gap = size_bytes(packet.get("gap", "0 B"), "packet.gap")
        clock = packet.get("clock")
        self.clock_ps = 1 if clock is None else time_ps(clock, "packet.clock")
        self._near: list[list[tuple[int, int]]] = [[] for _ in self.names]
        self.interfaces: list[tuple[int, int]] = []
        """The interfaces at both ends of each link."""
        for number, (a, b, _, _) in enumerate(self.links):
            for one, other in ((a, b), (b, a)):
                self._near[one].append((other, number))
            self.interfaces.append((len(self._near[a]), len(self._near[b])))
        self._paths = lru_cache(maxsize=512)(self._paths_from)

    @staticmethod
    def of(run: Run) -> Network:
        """Read the network from the scenario of a run. Raises `ResultError`."""
        sketch = _sketch(run, _text(run))
        return Network(sketch, run.scenario.get("packet", {}))

    def _host_first(self, a: int, b: int, rate: int, delay: int) -> tuple[int, int, int, int]:
        return (b, a, rate, delay) if b < self.hosts <= a else (a, b, rate, delay)

    def is_host(self, node: int) -> bool:
        """Whether a node is a host."""
        return node < self.hosts

    def address(self, node: int) -> str:
        """Return the IPv4 address 11.x.y.1 of a node in hexadecimal. Raises `InputError`."""
        if node >= NODES_OF_ADDRESSES:
            raise InputError(
                f"node {node} has no address 11.x.y.1: there are {NODES_OF_ADDRESSES} of them",
                "--ids node writes numbers of nodes instead",
            )
        return f"{0x0B000001 + (node << 8):08x}"

    def standalone_ns(self, src: int, dst: int, size: int) -> int:
        """Return the time in ns that a flow takes alone, by the formula of HPCC's code.

        It is the propagation of the round trip, the serialisation of one payload on each link, and
        that of all frames on the slowest link. Headers and gaps are those of the run.
        """
        path = self.path(src, dst)
        frames = -(-size // self.payload)
        octets = size + frames * (self.overhead + self.gap)
        round_trip = 2 * path.delay_ns + path.payload_ns
        return round_trip + octets * BITS * NS_PER_S // path.rate_bps

    def path(self, src: int, dst: int) -> Path:
        """Return the shortest path between two hosts; of several, the first by order of links."""
        best: Path | None = None
        for first, link in self._near[src]:
            begun = self._along(link)
            if first == dst:
                return begun
            if self.is_host(first):
                continue
            known = self._paths(first)
            for last, end in self._near[dst]:
                if last not in known:
                    continue
                middle = known[last]
                hops = begun.hops + middle.hops + 1
                if best is None or hops < best.hops:
                    best = begun.then(middle).then(self._along(end))
        if best is None:
            names = f"{self.names[src]} and {self.names[dst]}"
            raise ResultError(f"no path leads between {names} in the run's scenario")
        return best

    def _along(self, link: int) -> Path:
        _, _, rate, delay = self.links[link]
        return Path(1, delay // PS_PER_NS, self.payload * BITS * NS_PER_S // rate, rate)

    def _paths_from(self, switch: int) -> dict[int, Path]:
        """Return the shortest paths from a switch to all others; hosts forward nothing."""
        found = {switch: HERE}
        queue = deque([switch])
        while queue:
            node = queue.popleft()
            for other, link in self._near[node]:
                if other not in found and not self.is_host(other):
                    found[other] = found[node].then(self._along(link))
                    queue.append(other)
        return found

    def ends(self, run: Run) -> dict[tuple[str, int], End]:
        """Return the other end of the link at each port, by the port's node and number.

        Parallel links are taken in order, which may be wrong if the scenario numbers their ports.
        """
        between: defaultdict[tuple[int, int], deque[tuple[int, int]]] = defaultdict(deque)
        for number, (a, b, _, _) in enumerate(self.links):
            at_a, at_b = self.interfaces[number]
            between[a, b].append((number, at_b))
            between[b, a].append((number, at_a))
        found: dict[tuple[str, int], End] = {}
        for name, port, peer in self._ports(run):
            node = self.numbers[peer]
            link, interface = between[self.numbers[name], node].popleft()
            found[name, port] = End(node, self.is_host(node), interface, link)
        return found

    def _ports(self, run: Run) -> Iterator[tuple[str, int, str]]:
        """Yield node, port and peer of each port; for a killed run in the order of the links."""
        if run.ports.num_rows:
            ports = run.ports.select(["node", "port", "peer"]).to_pylist()
            yield from sorted((row["node"], row["port"], row["peer"]) for row in ports)
            return
        for node, near in enumerate(self._near):
            for port, (other, _) in enumerate(near):
                yield self.names[node], port, self.names[other]


def down_links(run: Run) -> frozenset[int]:
    """Return the numbers of links that are down from the start. Raises `ResultError`.

    Only the core resolves which links an entry of `[[link.at]]` matches. So this function sketches
    the scenario twice, with other delays for entries that are down, and compares the links.
    """
    scenario = tomllib.loads(_text(run))
    entries = scenario.get("link", {}).get("at", ())
    switching = [one for one in entries if "down" in one]
    if not any(one["down"] for one in switching):
        return frozenset()

    def delays(of_down: str) -> list[int]:
        at = [
            {name: one[name] for name in ("between", "number") if name in one}
            | {"delay": of_down if one["down"] else MARKS[0]}
            for one in switching
        ]
        text = tomli_w.dumps({**scenario, "link": {"at": at}})
        return [delay for _, _, _, delay in _sketch(run, text)["links"]]

    both = zip(*(delays(mark) for mark in MARKS), strict=True)
    return frozenset(number for number, (one, other) in enumerate(both) if one != other)


def _text(run: Run) -> str:
    return run.recorded or str(run.manifest["scenario"])


def _sketch(run: Run, text: str) -> dict[str, Any]:
    """Return the nodes and links of a scenario of the run. Raises `ResultError`."""
    try:
        scenario = backwater.parse(text, "<the run's scenario>")
        return scenario.complete().sketch(run.seed, 0)
    except (backwater.ScenarioError, InputError) as error:
        reason = str(error).splitlines()[0]
        raise ResultError(
            f"{run.directory or 'the run'}: its network cannot be built: {reason}",
            "its flows came from a table: put that file where its scenario.toml names it",
        ) from None
