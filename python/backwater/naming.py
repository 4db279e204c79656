"""Names for hosts and flows, which tables hold as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# A flow_id is the number of its group times this, plus the number of the flow in the group.
MOST_FLOWS = 2**40

ENDS = ("src", "dst", "to")


def host_names(scenario: Mapping[str, Any]) -> Callable[[int], str]:
    """Return a function from the numbers of a scenario's hosts to their names."""
    topology = scenario.get("topology", {})
    if topology.get("kind") != "explicit":
        return "h{}".format
    names = [node["name"] for node in topology["node"] if node["kind"] == "host"]
    return lambda number: str(names[number])


def flow_in_group(flow_id: int) -> int:
    """Return the number of a flow in its group, from 0."""
    return flow_id % MOST_FLOWS


def flow_name(row: Mapping[str, Any]) -> str:
    """Return the name of a flow: its number in its group, the group, and its ends, if known."""
    of = f" of {row['group']}" if "group" in row else ""
    ends = "" if row.get("src_host") is None else f" ({row['src_host']} to {row['dst_host']})"
    return f"flow {flow_in_group(row['flow_id'])}{of}{ends}"


def with_hosts(value: Any, names: Callable[[int], str]) -> Any:  # noqa: ANN401 - any JSON
    """Return rows, or nested lists and objects of rows, with each host's name beside its number."""
    if isinstance(value, dict):
        hosts = {f"{end}_host": names(value[end]) for end in ENDS if type(value.get(end)) is int}
        return {key: with_hosts(one, names) for key, one in value.items()} | hosts
    if isinstance(value, list | tuple):
        return [with_hosts(one, names) for one in value]
    return value
