"""Collects the facts that explain a run, as JSON holds them. Times are in ps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from backwater.errors import InputError
from backwater.naming import flow_in_group, host_names, with_hosts
from backwater.numbers.run import cut_by_port, groups
from backwater.why.jobs import paths, sums
from backwater.why.pauses import behind_name, flat, paused_name, tree
from backwater.why.waits import itemised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.results import Run
    from backwater.why.evidence import Evidence

# The most unfinished flows to list one by one.
TOLD = 20


def facts(found: Evidence, wanted: Sequence[str] = ()) -> dict[str, Any]:
    """Explain a run; `wanted`: groups and flows to itemise, instead of one flow per group."""
    run = found.run
    chosen = numbered(run, wanted)
    end_ps = run.summary.get("time_ps", 0)
    roots = tree(run.pauses, end_ps) if run.pauses.num_rows else []
    content = {
        "title": run.manifest.get("title"),
        "seed": found.seed,
        "fingerprint": run.fingerprint,
        "repeated": found.repeated,
        "cut_short": found.cut_short,
        "error": found.error,
        "unrecorded": list(found.unrecorded),
        "time_ps": end_ps,
        "flows": run.summary.get("flows", 0),
        "first_pause": _first_pause(run),
        "first_drop": run.summary.get("first_drop"),
        "dropped": _dropped(run),
        "flushed": _lost(run, "flushed", "flushed_frames"),
        "fault_losses": _lost(run, "fault_losses", "fault_frames"),
        "cut": _cut(run),
        "control": _control(run),
        # None: the whole link.
        "paused_classes": pc.unique(run.pauses["class"]).to_pylist() if run.pauses.num_rows else [],
        "carried_classes": _carried(run),
        "pause_roots": [root.as_json() for root in roots],
        "paused_ports": len({(place.node, place.port) for _, place in flat(roots)}),
        "deadlock": run.summary.get("deadlock"),
        "unfinished": _unfinished(run),
        "jobs": paths(run, flat(roots)),
        "waits": sums(run),
        "delays": itemised(run.flows, run.waits, flat(roots), chosen),
    }
    named: dict[str, Any] = with_hosts(content, host_names(run.scenario))
    return named


def check_wanted(run: Run, wanted: Sequence[str]) -> None:
    """Refuse groups and flows that a run does not have, unless it has no table of flows."""
    numbered(run, wanted)


def numbered(run: Run, wanted: Sequence[str]) -> list[str]:
    """Return groups and flow_ids for `wanted`: these, or GROUP:N. Raises `InputError`."""
    flows = run.flows
    if not wanted or flows.num_rows == 0:
        return []
    known = groups(run)
    numbers: dict[str, str] = {}
    for row in flows.select(["flow_id", "group"]).to_pylist():
        one = str(row["flow_id"])
        numbers |= {one: one, f"{row['group']}:{flow_in_group(row['flow_id'])}": one}
    numbers |= {group: group for group in known}
    for name in wanted:
        if name not in numbers:
            raise InputError(
                f"--flow {name}: the run has no such flow or group of flows",
                f"groups: {', '.join(known)}; GROUP:N is flow N of a group; or a flow_id of the "
                "table flows",
            )
    return [numbers[name] for name in wanted]


def _first_pause(run: Run) -> dict[str, Any] | None:
    if run.pauses.num_rows == 0:
        return None
    [first] = run.pauses.sort_by([("asked_ps", "ascending")]).slice(0, 1).to_pylist()
    return {**first, "paused": paused_name(first), "behind": behind_name(first)}


def _dropped(run: Run) -> list[dict[str, Any]]:
    """Return the ports that dropped frames for want of memory, the most bytes first."""
    ports = run.ports
    if ports.num_rows == 0:
        return []
    lost = ports.filter(pc.field("drop_frames") > 0).sort_by([("drop_bytes", "descending")])
    names = (
        "node",
        "port",
        "peer",
        "drop_frames",
        "drop_bytes",
        "pauses_sent",
        "max_ingress_bytes",
    )
    return lost.select(list(names)).to_pylist()


def _carried(run: Run) -> list[int]:
    """Return the classes of data and of acknowledgements."""
    of_data: list[Any] = pc.unique(run.flows["class"]).to_pylist() if run.flows.num_rows else []
    ack = run.scenario.get("ack", {}).get("class")
    return sorted({*of_data, *([] if ack is None else [ack])})


def _lost(run: Run, total: str, column: str) -> dict[str, Any]:
    """Return how many frames a run lost for another reason, by port, the most first."""
    ports = run.ports
    rows = []
    if ports.num_rows:
        lost = ports.filter(pc.field(column) > 0).sort_by([(column, "descending")])
        rows = lost.select(["node", "port", "peer", column]).to_pylist()
    return {"frames": run.summary.get(total, 0), "ports": rows}


def _cut(run: Run) -> dict[str, Any]:
    """Return how many packets were trimmed, by port, the most first."""
    counts = sorted(cut_by_port(run).items(), key=lambda one: (-one[1], one[0]))
    peers = run.ports.select(["node", "port", "peer"]).to_pylist() if counts else []
    peer = {(row["node"], row["port"]): row["peer"] for row in peers}
    ports = [
        {"node": at[0], "port": at[1], "peer": peer.get(at), "packets": number}
        for at, number in counts
    ]
    return {"packets": sum(number for _, number in counts), "ports": ports}


def _control(run: Run) -> list[dict[str, Any]]:
    """Return the first control message of each kind and the number of its kind, by time."""
    control = run.control
    if control.num_rows == 0:
        return []
    found = []
    for kind in pc.unique(control["kind"]).to_pylist():
        rows = control.filter(pc.field("kind") == kind).sort_by("time_ps")
        [first] = rows.slice(0, 1).select(["kind", "time_ps", "node", "port", "class"]).to_pylist()
        found.append({**first, "messages": rows.num_rows})
    return sorted(found, key=lambda row: (row["time_ps"], row["kind"]))


def _unfinished(run: Run) -> dict[str, Any]:
    flows = run.flows
    if flows.num_rows == 0:
        return {"flows": 0, "failed": 0, "first": []}
    left = flows.filter(pc.field("state") == "unfinished").sort_by("flow_id")
    names = ["flow_id", "group", "src", "dst", "bytes", "received", "waits_for"]
    failed = flows.filter(pc.field("state") == "failed").num_rows
    return {
        "flows": left.num_rows,
        "failed": failed,
        "first": left.slice(0, TOLD).select(names).to_pylist(),
    }
