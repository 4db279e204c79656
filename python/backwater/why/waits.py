"""What flows waited for, itemised: the sum is their delay against the idle network."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.why.pauses import Branch

COUNTS = ("packets", "retransmitted", "inferred_lost", "timeouts", "marked")
"""What the table of flows counts of each that may have made it slow."""


def itemised(
    flows: pa.Table,
    waits: pa.Table,
    roots: Sequence[tuple[Branch, Branch]],
    wanted: Sequence[str],
) -> list[dict[str, Any]]:
    """Itemise flows: of every group the one that waited longest, or those that are `wanted`.

    `wanted` are labels of groups and flow_ids; `roots` says what each paused place goes back to.
    """
    chosen = _chosen(flows, waits, wanted)
    ids = pa.array([flow["flow_id"] for flow in chosen], pa.uint64())
    by_flow: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in waits.filter(pc.is_in(waits["flow_id"], ids)).to_pylist() if waits.num_rows else []:
        by_flow[row["flow_id"]].append(row)
    met = {row["behind_flow"] for rows in by_flow.values() for row in rows} - {None}
    others = flows.filter(pc.is_in(flows["flow_id"], pa.array(sorted(met), pa.uint64())))
    about = {row["flow_id"]: row for row in others.select(["flow_id", "src", "dst"]).to_pylist()}
    return [_one(flow, by_flow[flow["flow_id"]], about, roots) for flow in chosen]


def _chosen(flows: pa.Table, waits: pa.Table, wanted: Sequence[str]) -> list[dict[str, Any]]:
    if flows.num_rows == 0:
        return []
    of = pc.field("group").isin(list(wanted)) if wanted else pc.is_valid(pc.field("ideal_fct_ps"))
    members = flows.filter(of).sort_by("flow_id")
    waited: dict[int, int] = {}
    if waits.num_rows:
        sums = waits.group_by("flow_id").aggregate([("wait_ps", "sum")])
        waited = {row["flow_id"]: row["wait_ps_sum"] for row in sums.to_pylist()}
    longest: dict[str, tuple[int, int]] = {}
    for row in members.select(["flow_id", "group"]).to_pylist():
        flow, group = row["flow_id"], row["group"]
        if group not in longest or waited.get(flow, 0) > longest[group][0]:
            longest[group] = (waited.get(flow, 0), flow)
    numbers = [int(name) for name in wanted if name.isdecimal()] + [
        flow for _, flow in longest.values()
    ]
    found = flows.filter(pc.is_in(flows["flow_id"], pa.array(sorted(set(numbers)), pa.uint64())))
    return found.sort_by("flow_id").to_pylist()


def _one(
    flow: dict[str, Any],
    waits: list[dict[str, Any]],
    about: dict[int, dict[str, Any]],
    roots: Sequence[tuple[Branch, Branch]],
) -> dict[str, Any]:
    ideal, took = flow["ideal_fct_ps"], flow["fct_last_byte_ps"]
    waited = sum(row["wait_ps"] for row in waits)
    delay = None if took is None or ideal is None else took - ideal
    items = told(waits, about, roots)
    return {
        "flow_id": flow["flow_id"],
        "group": flow["group"],
        "src": flow["src"],
        "dst": flow["dst"],
        "bytes": flow["bytes"],
        "state": flow["state"],
        "waits_for": flow["waits_for"],
        "fct_last_byte_ps": took,
        "ideal_fct_ps": ideal,
        **{name: flow[name] for name in COUNTS},
        "delay_ps": delay,
        "waited_ps": waited,
        # What of its own frames took longer, or less, than in the idle network.
        "own_ps": None if delay is None else delay - waited,
        "items": items,
    }


def told(
    waits: list[dict[str, Any]],
    about: dict[int, dict[str, Any]],
    roots: Sequence[tuple[Branch, Branch]],
) -> list[dict[str, Any]]:
    """Give the waits of a flow, longest first; `about` knows the flows that it waited behind."""
    items = []
    for row in sorted(waits, key=lambda row: (-row["wait_ps"], row["node"], row["cause"])):
        item = {
            name: row[name] for name in ("cause", "node", "port", "peer", "mechanism", "wait_ps")
        }
        if row["cause"] == "behind":
            item["behind"] = _named(about.get(row["behind_flow"]), row)
        if row["cause"] == "paused":
            item["roots"] = _roots(row, roots)
        items.append(item)
    return items


def _named(other: dict[str, Any] | None, row: dict[str, Any]) -> dict[str, Any] | None:
    if row["behind_flow"] is None:
        return None
    known = {} if other is None else {"src": other["src"], "dst": other["dst"]}
    return {"flow_id": row["behind_flow"], "group": row["behind_group"], **known}


def _roots(row: dict[str, Any], roots: Sequence[tuple[Branch, Branch]]) -> list[str]:
    """What the pauses of a port go back to, the root with most of their time first."""
    times: dict[str, int] = defaultdict(int)
    for root, place in roots:
        if (place.node, place.port) == (row["node"], row["port"]):
            times[root.where] += place.paused_ps
    return sorted(times, key=lambda where: -times[where])
