"""Explains the critical path of each job, and sums up the waits of all flows."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from backwater.jobs import TRANSFER, critical_path, last_instances
from backwater.why.waits import gathered, listed, of_flows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from backwater.jobs import Leg
    from backwater.results import Run
    from backwater.why.pauses import Branch


def paths(run: Run, roots: Sequence[tuple[Branch, Branch]]) -> list[dict[str, Any]]:
    """Return the critical path of each job, for the instance that was complete last."""
    return [_path(run, job, instance, roots) for job, instance in last_instances(run)]


def _path(
    run: Run, job: str, instance: int, roots: Sequence[tuple[Branch, Branch]]
) -> dict[str, Any]:
    legs = critical_path(run, job, instance)
    ids = {leg.transfer["flow_id"] for leg in legs if leg.transfer}
    names = ["flow_id", "ideal_fct_ps", "start_ps"]
    flows = {row["flow_id"]: row for row in of_flows(run.flows, ids, names)}
    waits, about = gathered(run.flows, run.waits, ids)
    of = (pc.field("job") == job) & (pc.field("instance") == instance)
    [row] = run.jobs.filter(of).to_pylist()
    parts = [_leg(leg, flows, waits, about, roots) for leg in legs]
    causes: dict[str, int] = defaultdict(int)
    for one in parts:
        for item in one.get("items", ()):
            causes[item["cause"]] += item["wait_ps"]
    return {
        "job": job,
        "instance": instance,
        "instances": run.jobs.filter(pc.field("job") == job).num_rows,
        "complete": row["end_ps"] is not None,
        "jct_ps": row["duration_ps"],
        "legs": parts,
        "by_kind": _by_kind(legs),
        "waited": [
            {"cause": cause, "wait_ps": time}
            for cause, time in sorted(causes.items(), key=lambda one: -one[1])
        ],
        "ideal_ps": sum(one.get("ideal_fct_ps") or 0 for one in parts),
        "software_ps": sum(one.get("software_ps", 0) for one in parts),
    }


def _by_kind(legs: list[Leg]) -> list[dict[str, Any]]:
    """Sum up the legs by kind and label, the longest time first."""
    times: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for leg in legs:
        label = leg.transfer["step"] if leg.transfer else leg.label
        times[leg.kind, label].append(leg.duration_ps)
    return [
        {"kind": kind, "label": label, "legs": len(of), "time_ps": sum(of)}
        for (kind, label), of in sorted(times.items(), key=lambda one: -sum(one[1]))
    ]


def _leg(
    leg: Leg,
    flows: dict[int, dict[str, Any]],
    waits: dict[int, list[dict[str, Any]]],
    about: dict[int, dict[str, Any]],
    roots: Sequence[tuple[Branch, Branch]],
) -> dict[str, Any]:
    one = {
        "kind": leg.kind,
        "label": leg.label,
        "start_ps": leg.start_ps,
        "end_ps": leg.end_ps,
        "duration_ps": leg.duration_ps,
    }
    if leg.kind != TRANSFER or leg.transfer is None:
        return one
    flow = leg.transfer["flow_id"]
    items = listed(waits[flow], about, roots)
    waited = sum(item["wait_ps"] for item in items)
    alone, start = (flows.get(flow, {}).get(name) for name in ("ideal_fct_ps", "start_ps"))
    # Latencies of the job's software come before the flow.
    software = 0 if start is None else max(start - leg.start_ps, 0)
    return {
        **one,
        **leg.transfer,
        "ideal_fct_ps": alone,
        "waited_ps": waited,
        "software_ps": software,
        # Acknowledgements, if the job waits for them, and the delay of its own frames.
        "rest_ps": None if alone is None else leg.duration_ps - software - alone - waited,
        "items": items,
    }


def sums(run: Run) -> dict[str, Any]:
    """Sum up the waits of all flows by cause, link, sending host and group, longest first.

    Each list sums to `total_ps`.
    """
    waits = run.waits
    if not waits.num_rows:
        return {"total_ps": 0, "causes": [], "links": [], "hosts": [], "groups": []}
    hosts = run.flows.select(["flow_id", "src"]) if run.flows.num_rows else None
    sent = waits if hosts is None else waits.join(hosts, "flow_id")
    return {
        "total_ps": pc.sum(waits["wait_ps"]).as_py(),
        "causes": _summed(waits, "cause"),
        "links": _summed(waits, "node", "port", "peer"),
        "hosts": [] if hosts is None else _summed(sent, "src"),
        "groups": _summed(waits, "group"),
    }


def _summed(waits: pa.Table, *by: str) -> list[dict[str, Any]]:
    each = waits.group_by(list(by)).aggregate([("wait_ps", "sum")])
    found = each.sort_by([("wait_ps_sum", "descending"), *((name, "ascending") for name in by)])
    return [
        {**{name: row[name] for name in by}, "wait_ps": row["wait_ps_sum"]}
        for row in found.to_pylist()
    ]
