"""`topology.txt` and `flow.txt` as the ns-3 code of HPCC and of ConWeave reads them.

The formats are those of `scratch/third.cc` of HPCC (at 9f4be2a) and of
`scratch/network-load-balance.cc` of conweave-project/conweave-ns3 (at 236a801). `notes.txt` lists
what these files cannot express.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.exporting.network import NS_PER_S, PS_PER_NS, Network, down_links
from backwater.exporting.ns3_flows import offset_ns, ports
from backwater.exporting.rows import IN_ORDER, counted, frame, ordered

if TYPE_CHECKING:
    from backwater.exporting import Options
    from backwater.exporting.place import Place
    from backwater.results import Run

TAKES = ("ids", "incast", "offset")
FILES = ("topology.txt", "flow.txt", "notes.txt")

GIGA = 10**9

Link = tuple[int, int, int, int]
"""Node, node, rate (b/s), delay (ps)."""


def write(run: Run, place: Place, options: Options) -> list[str]:
    """Write the files."""
    network = Network.of(run)
    down = down_links(run)
    links = [link for number, link in enumerate(network.links) if number not in down]
    with place.text("topology.txt") as out:
        switches = range(network.hosts, len(network.names))
        out.write(f"{len(network.names)} {len(switches)} {len(links)}\n")
        out.write(" ".join(map(str, switches)) + "\n")
        for a, b, rate, delay in links:
            out.write(f"{a} {b} {_rate(rate)} {_delay(delay)} 0.000000\n")
    coarse = _flows(run, place, options)
    notes = [*_network_notes(network, links, len(down)), *_notes(run), *coarse]
    with place.text("notes.txt") as out:
        out.writelines(f"{line}\n" for line in notes)
    return notes


def _flows(run: Run, place: Place, options: Options) -> list[str]:
    """Write the flows in the order of their starts."""
    offset = offset_ns(options)
    named = frame(run, "flows").select("src", "dst", "class", "bytes", *IN_ORDER)
    targets = pl.Series("target", [target for _, target in ports(run, options)], pl.UInt16)
    flows = named.collect().with_columns(targets)
    coarse = 0
    with place.text("flow.txt") as out:
        out.write(f"{flows.height}\n")
        for row in ordered(flows.lazy(), IN_ORDER):
            start, rest = divmod(row["start_ps"], PS_PER_NS)
            coarse += rest > 0
            seconds, ns = divmod(offset + start, NS_PER_S)
            port = "" if options.ids == "node" else f" {row['target']}"
            out.write(
                f"{row['src']} {row['dst']} {row['class']}{port} {row['bytes']} "
                f"{seconds}.{ns:09d}\n"
            )
    return counted((coarse, "starts that are no whole nanosecond and are cut off"))


def _rate(rate: int) -> str:
    return f"{rate // GIGA}Gbps" if rate % GIGA == 0 else f"{rate}bps"


def _delay(delay_ps: int) -> str:
    return f"{delay_ps // PS_PER_NS}ns" if delay_ps % PS_PER_NS == 0 else f"{delay_ps}ps"


def _network_notes(network: Network, links: list[Link], down: int) -> list[str]:
    ends = Counter(node for a, b, _, _ in links for node in (a, b) if network.is_host(node))
    several = sum(count > 1 for count in ends.values())
    pairs = Counter(frozenset((a, b)) for a, b, _, _ in links)
    parallel = sum(count - 1 for count in pairs.values())
    coarse = sum(delay % PS_PER_NS > 0 for _, _, _, delay in links)
    return counted(
        (down, "links that are down from the start and are left out"),
        (parallel, "links parallel to another one: between two nodes ns-3 uses the last link only"),
        (several, "hosts with several links: ns-3 hashes flows over those towards a receiver"),
        (coarse, "links whose delay is no whole nanosecond, which ns-3 cuts off"),
    )


OWN_FILES = frozenset({"title", "description", "seed", "topology", "link", "flow", "job", "output"})
"""Tables of a scenario that these files express, or that do not affect the simulation."""


def _notes(run: Run) -> list[str]:
    """Return what of a scenario is in neither file."""
    scenario = run.scenario
    tables = [name for name, value in scenario.items() if value and name not in OWN_FILES]
    notes = [f"tables of the scenario that are in neither file: {', '.join(tables)}"]
    if scenario["topology"]["kind"] == "dragonfly":
        notes.append(
            "paths: ns-3 takes those with the fewest links; here a path between groups of a "
            "dragonfly passes one link between groups, and may have more links"
        )
    entries = _list(scenario.get("link", {}).get("at"))
    one_way = any("rate" in one and "between" not in one for one in entries)
    losses = any(one.get("loss") for one in entries)
    lost = [*(["loss"] if losses else []), *(["rate of one direction"] if one_way else [])]
    if lost:
        notes.append(f"keys of [[link.at]] that are in neither file: {', '.join(lost)}")
    pinned = [
        group["label"]
        for group in _list(scenario.get("flow"))
        if any(group.get(key) for key in ("path", "via", "ack_path"))
    ]
    if pinned:
        notes.append(f"groups of flows whose paths are pinned, which ns-3 ignores: {_some(pinned)}")
    jobs = [job["label"] for job in _list(scenario.get("job"))]
    if jobs:
        notes.append(
            f"jobs whose flows start in ns-3 at the times of this run, not when others end: "
            f"{_some(jobs)}"
        )
    return notes


def _list(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - as TOML has it
    return list(value or ())


def _some(names: list[str], most: int = 10) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
