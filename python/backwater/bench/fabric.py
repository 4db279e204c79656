"""The fabric under test: the tables of a scenario that describe it, and facts that tests use."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from backwater import scenario
from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from backwater.bench.definition import Need

NAMED = ("leaf-spine-64",)
"""Fabrics that the package has, by name."""
USUAL = NAMED[0]
WORKLOAD = ("title", "description", "seed", "flow", "job", "fault", "output", "stop")
"""Parts of a scenario that are no part of the fabric: the tests bring them."""
EVERY = 1 << 30
"""More nodes than a network has."""


def load(name: str) -> scenario.Scenario:
    """Read a named fabric, or a scenario file of the user."""
    if name not in NAMED:
        return scenario.load(name)
    with as_file(files("backwater.bench") / f"{name}.toml") as path:
        return scenario.parse(path.read_text(encoding="utf-8"), name)


NVLINK = "nvlink"
"""The tier of switches within servers, which are no leaves."""


@dataclass(frozen=True)
class Fabric:
    """A fabric under test."""

    name: str
    title: str
    tables: dict[str, Any]
    """Its tables, every default included."""
    facts: dict[str, Any]
    """Facts that expressions use: hosts, power_of_two (the greatest up to hosts), leaves,
    hosts_per_leaf, in_order (1 if hosts are numbered leaf by leaf), uplinks, uplink_leaf,
    uplink_spine, uplinks_per_leaf (the least number of them), gbps (of all links of a host, the
    least)."""
    values: Sequence[Mapping[str, str]]
    """Every value with its origin, as {key, value, origin}."""
    left_out: tuple[str, ...]
    """Parts of the file that the tests replace."""

    @staticmethod
    def of(case: scenario.Scenario, name: str) -> Fabric:
        """Take the fabric of a scenario. Raises `InputError` if it has too few hosts."""
        content = tomllib.loads(case.resolved())
        left_out = [key for key in ("flow", "job", "fault") if content.get(key)]
        tables = {key: one for key, one in content.items() if key not in WORKLOAD}
        for key, one in tables.items():
            # A control of some groups of flows: the tests have other groups.
            if isinstance(one, dict) and "groups" in (one.get("flows") or {}):
                del one["flows"]["groups"]
                left_out.append(f"{key}.flows.groups")
        sketch = case.complete().sketch(1, EVERY)
        facts = _facts(sketch["nodes"], sketch["links"])
        if facts["hosts"] < 2:
            raise InputError(
                f"{name}: topology: has {facts['hosts']} hosts, and a test needs two at least",
                "give it more hosts, as in `topology.hosts_per_leaf = 8`",
            )
        known = [one for one in case.values() if one["key"].partition(".")[0] not in WORKLOAD]
        return Fabric(name, case.title, tables, facts, known, tuple(left_out))

    def lacks(self, need: Need) -> bool:
        """Return whether it does not have what a test needs."""
        from backwater.bench.expression import value

        if need.on and need.on not in self.tables:
            return True
        if need.key:
            table, _, key = need.key.partition(".")
            if self.tables.get(table, {}).get(key) == need.other_than:
                return True
        return bool(need.that) and not value(need.that, self.facts)


def _facts(
    nodes: Sequence[tuple[str, str, bool]], links: Sequence[tuple[int, int, int, int]]
) -> dict[str, Any]:
    """Count hosts, the switches that have some, and uplinks from these to others."""
    hosts = {number for number, (_, _, host) in enumerate(nodes) if host}
    within = {number for number, (_, tier, _) in enumerate(nodes) if tier == NVLINK}
    links = [link for link in links if not within & set(link[:2])]
    rates: dict[int, int] = {}
    edge: dict[int, set[int]] = {}
    for a, b, rate, _ in links:
        for one, other in ((a, b), (b, a)):
            if one in hosts and other not in hosts:
                # A host with several links uses all of them.
                rates[one] = rates.get(one, 0) + rate
                edge.setdefault(other, set()).add(one)
    inner = hosts | set(edge)
    ends = [{a, b} for a, b, *_ in links]
    uplinks = [both for both in ends if both & set(edge) and both - inner]
    of_leaf = Counter(leaf for both in uplinks for leaf in both & set(edge))
    return {
        "hosts": len(hosts),
        "leaves": len(edge),
        "hosts_per_leaf": min(map(len, edge.values()), default=0),
        "power_of_two": 1 << (len(hosts).bit_length() - 1) if hosts else 0,
        "in_order": int(_in_order(edge)),
        "uplinks": len(uplinks),
        "uplinks_per_leaf": min((of_leaf[leaf] for leaf in edge), default=0),
        "gbps": min(rates.values(), default=0) / 1e9,
    } | _first(nodes, edge, uplinks)


def _in_order(edge: Mapping[int, set[int]]) -> bool:
    """Return whether hosts are numbered switch by switch, as many at each."""
    least = min(map(len, edge.values()), default=0)
    places = sorted(min(hosts) for hosts in edge.values())
    return all(
        max(hosts) - min(hosts) + 1 == len(hosts) == least for hosts in edge.values()
    ) and places == [number * least for number in range(len(edge))]


def _first(
    nodes: Sequence[tuple[str, str, bool]], edge: Collection[int], uplinks: Sequence[set[int]]
) -> dict[str, str]:
    """Name the ends of the first uplink; nothing without one."""
    if not uplinks:
        return {}
    [leaf] = uplinks[0] & set(edge)
    [spine] = uplinks[0] - {leaf}
    return {"uplink_leaf": nodes[leaf][0], "uplink_spine": nodes[spine][0]}
