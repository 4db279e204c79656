"""Itemises the waits of flows, whose sum is their delay against the idle network."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from backwater.why.pauses import Branch

COUNTS = ("packets", "retransmitted", "inferred_lost", "timeouts", "marked")
"""Columns of the table of flows that may explain why a flow was slow."""


def itemised(
    flows: pa.Table,
    waits: pa.Table,
    roots: Sequence[tuple[Branch, Branch]],
    wanted: Sequence[str],
) -> list[dict[str, Any]]:
    """Itemise the waits of the `wanted` flows, or of the longest-waiting flow of every group.

    `wanted`: labels of groups and flow_ids. `roots`: pairs of a root and a place paused behind it.
    """
    chosen = _chosen(flows, waits, wanted)
    by_flow, about = gathered(flows, waits, {flow["flow_id"] for flow in chosen})
    return [_one(flow, by_flow[flow["flow_id"]], about, roots) for flow in chosen]


def of_flows(
    table: pa.Table, ids: Collection[int], names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of some flows, with the columns `names` or all."""
    if not table.num_rows:
        return []
    found = table.filter(pc.is_in(table["flow_id"], pa.array(sorted(ids), pa.uint64())))
    rows: list[dict[str, Any]] = found.select(names or found.column_names).to_pylist()
    return rows


def gathered(
    flows: pa.Table, waits: pa.Table, ids: Collection[int]
) -> tuple[dict[int, list[dict[str, Any]]], dict[int, dict[str, Any]]]:
    """Return the waits of some flows by flow_id, and the flows that they waited behind."""
    by_flow: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in of_flows(waits, ids):
        by_flow[row["flow_id"]].append(row)
    behind = {row["behind_flow"] for rows in by_flow.values() for row in rows} - {None}
    others = of_flows(flows, behind, ["flow_id", "src", "dst"])
    return by_flow, {row["flow_id"]: row for row in others}


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
    numbers = {int(name) for name in wanted if name.isdecimal()}
    found = of_flows(flows, numbers | {flow for _, flow in longest.values()})
    return sorted(found, key=lambda flow: flow["flow_id"])


def _one(
    flow: dict[str, Any],
    waits: list[dict[str, Any]],
    about: dict[int, dict[str, Any]],
    roots: Sequence[tuple[Branch, Branch]],
) -> dict[str, Any]:
    ideal, took = flow["ideal_fct_ps"], flow["fct_last_byte_ps"]
    waited = sum(row["wait_ps"] for row in waits)
    delay = None if took is None or ideal is None else took - ideal
    items = listed(waits, about, roots)
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
        # How much longer, or shorter, its own frames took than in the idle network.
        "own_ps": None if delay is None else delay - waited,
        "items": items,
    }


def listed(
    waits: list[dict[str, Any]],
    about: dict[int, dict[str, Any]],
    roots: Sequence[tuple[Branch, Branch]],
) -> list[dict[str, Any]]:
    """Return the waits of a flow, longest first; `about`: the flows that it waited behind."""
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
    """Return the roots of a port's pauses, the one with the longest pauses first."""
    times: dict[str, int] = defaultdict(int)
    for root, place in roots:
        if (place.node, place.port) == (row["node"], row["port"]):
            times[root.where] += place.paused_ps
    return sorted(times, key=lambda where: -times[where])
