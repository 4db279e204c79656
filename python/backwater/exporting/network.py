"""The network of a run as the ns-3 code numbers it, and how long a flow takes in it alone.

Numbers, ports and the formula are those of `scratch/third.cc` of the HPCC code
(alibaba-edu/High-Precision-Congestion-Control at 9f4be2a).
"""

from __future__ import annotations

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
"""More nodes have no address 11.x.y.1 of their own."""
MARKS = ("1 ns", "2 ns")
"""Delays by which `down_links` tells links apart."""


@dataclass(frozen=True)
class End:
    """The end of a link at which what is sent by the other end arrives."""

    node: int
    host: bool
    port: int
    """Number of the interface: from 1, in the order of the node's links."""
    link: int


@dataclass(frozen=True)
class Way:
    """A shortest way: links, propagation, serialisation of a payload a link, least rate."""

    hops: int
    delay_ns: int
    payload_ns: int
    rate_bps: int

    def then(self, rate: int, delay_ns: int, payload: int) -> Way:
        """Give it with one more link."""
        sent = payload * BITS * NS_PER_S // rate
        slowest = min(self.rate_bps, rate) if self.hops else rate
        return Way(self.hops + 1, self.delay_ns + delay_ns, self.payload_ns + sent, slowest)


HERE = Way(0, 0, 0, 0)


class Network:
    """Nodes by their numbers, hosts before switches, and links in the order of the scenario."""

    def __init__(self, sketch: dict[str, Any], packet: dict[str, Any]) -> None:
        """Take what `Scenario.sketch` gives, and the scenario's table `packet`."""
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
        """Node, node, rate (b/s), delay (ps); a host is the first of the two."""
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
        self._ways = lru_cache(maxsize=512)(self._ways_from)

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
        """Give the IPv4 address 11.x.y.1 of a node in hexadecimal. Raises `InputError`."""
        if node >= NODES_OF_ADDRESSES:
            raise InputError(
                f"node {node} has no address 11.x.y.1: there are {NODES_OF_ADDRESSES} of them",
                "--ids node has numbers",
            )
        return f"{0x0B000001 + (node << 8):08x}"

    def standalone_ns(self, src: int, dst: int, size: int) -> int:
        """Give the time in ns that a flow takes alone by that code's formula.

        Propagation there and back, the serialisation of one payload on each link, and that of all
        frames on the slowest. Headers and gaps are those of the run.
        """
        way = self.way(src, dst)
        frames = -(-size // self.payload)
        octets = size + frames * (self.overhead + self.gap)
        round_trip = 2 * way.delay_ns + way.payload_ns
        return round_trip + octets * BITS * NS_PER_S // way.rate_bps

    def way(self, src: int, dst: int) -> Way:
        """Give the shortest way between two hosts, of several the first by the order of links."""
        best: Way | None = None
        for first, link in self._near[src]:
            begun = self._along(HERE, link)
            if first == dst:
                return begun
            if self.is_host(first):
                continue
            known = self._ways(first)
            for last, end in self._near[dst]:
                if last not in known:
                    continue
                middle = known[last]
                hops = begun.hops + middle.hops + 1
                if best is None or hops < best.hops:
                    best = self._along(_joined(begun, middle), end)
        if best is None:
            names = f"{self.names[src]} and {self.names[dst]}"
            raise ResultError(f"no way leads between {names} in the run's scenario")
        return best

    def _along(self, way: Way, link: int) -> Way:
        _, _, rate, delay = self.links[link]
        return way.then(rate, delay // PS_PER_NS, self.payload)

    def _ways_from(self, switch: int) -> dict[int, Way]:
        """Give the shortest ways from a switch to all others; hosts forward nothing."""
        found = {switch: HERE}
        queue = deque([switch])
        while queue:
            node = queue.popleft()
            for other, link in self._near[node]:
                if other not in found and not self.is_host(other):
                    found[other] = self._along(found[node], link)
                    queue.append(other)
        return found

    def ends(self, run: Run) -> dict[tuple[str, int], End]:
        """Give the far end of each port of the run: by the name of its node and its number there.

        Of parallel links whose ports the scenario numbers itself, which is which is not told.
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
        """Give name, port and peer of each port; of a killed run in the order of the links."""
        if run.ports.num_rows:
            told = run.ports.select(["node", "port", "peer"]).to_pylist()
            yield from sorted((row["node"], row["port"], row["peer"]) for row in told)
            return
        for node, near in enumerate(self._near):
            for port, (other, _) in enumerate(near):
                yield self.names[node], port, self.names[other]


def down_links(run: Run) -> frozenset[int]:
    """Give the links that are down from the start, by their numbers. Raises `ResultError`.

    Which links an entry of `[[link.at]]` means shows another delay of those, so that what says so
    stands in one place.
    """
    scenario = tomllib.loads(_text(run))
    entries = scenario.get("link", {}).get("at", ())
    told = [one for one in entries if "down" in one]
    if not any(one["down"] for one in told):
        return frozenset()

    def delays(of_down: str) -> list[int]:
        at = [
            {name: one[name] for name in ("between", "number") if name in one}
            | {"delay": of_down if one["down"] else MARKS[0]}
            for one in told
        ]
        text = tomli_w.dumps({**scenario, "link": {"at": at}})
        return [delay for _, _, _, delay in _sketch(run, text)["links"]]

    both = zip(*(delays(mark) for mark in MARKS), strict=True)
    return frozenset(number for number, (one, other) in enumerate(both) if one != other)


def _text(run: Run) -> str:
    return run.recorded or str(run.manifest["scenario"])


def _sketch(run: Run, text: str) -> dict[str, Any]:
    """Give the nodes and links of a scenario of the run. Raises `ResultError`."""
    try:
        scenario = backwater.parse(text, "<the run's scenario>")
        return scenario.complete().sketch(run.seed, 0)
    except (backwater.ScenarioError, InputError) as error:
        said = str(error).splitlines()[0]
        raise ResultError(
            f"{run.directory or 'the run'}: its network cannot be told: {said}",
            "its flows came from a table; put the file where its scenario.toml names it",
        ) from None


def _joined(first: Way, second: Way) -> Way:
    if not second.hops:
        return first
    return Way(
        first.hops + second.hops,
        first.delay_ns + second.delay_ns,
        first.payload_ns + second.payload_ns,
        min(first.rate_bps, second.rate_bps),
    )
