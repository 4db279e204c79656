"""The critical path of each job with what its transfers waited for, and waits summed up."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from backwater.jobs import TRANSFER, critical_path, last_instances
from backwater.why.waits import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.jobs import Leg
    from backwater.results import Run
    from backwater.why.pauses import Branch


def paths(run: Run, roots: Sequence[tuple[Branch, Branch]]) -> list[dict[str, Any]]:
    """Give the critical path of the instance of each job that was complete last."""
    return [_path(run, job, instance, roots) for job, instance in last_instances(run)]


def _path(
    run: Run, job: str, instance: int, roots: Sequence[tuple[Branch, Branch]]
) -> dict[str, Any]:
    legs = critical_path(run, job, instance)
    ids = pa.array([leg.transfer["flow_id"] for leg in legs if leg.transfer], pa.uint64())
    names = ["flow_id", "group", "src", "dst", "ideal_fct_ps"]
    flows = {row["flow_id"]: row for row in _of(run.flows, ids, names)}
    waits: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in _of(run.waits, ids):
        waits[row["flow_id"]].append(row)
    met = {row["behind_flow"] for rows in waits.values() for row in rows} - {None}
    others = _of(run.flows, pa.array(sorted(met), pa.uint64()), ["flow_id", "src", "dst"])
    about = {row["flow_id"]: row for row in others}
    of = (pc.field("job") == job) & (pc.field("instance") == instance)
    [row] = run.jobs.filter(of).to_pylist()
    said = [_leg(leg, flows, waits, about, roots) for leg in legs]
    causes: dict[str, int] = defaultdict(int)
    for one in said:
        for item in one.get("items", ()):
            causes[item["cause"]] += item["wait_ps"]
    return {
        "job": job,
        "instance": instance,
        "instances": run.jobs.filter(pc.field("job") == job).num_rows,
        "complete": row["end_ps"] is not None,
        "jct_ps": row["duration_ps"],
        "legs": said,
        "by_kind": _by_kind(legs),
        "waited": [
            {"cause": cause, "wait_ps": time}
            for cause, time in sorted(causes.items(), key=lambda one: -one[1])
        ],
        "ideal_ps": sum(one.get("ideal_fct_ps") or 0 for one in said),
    }


def _by_kind(legs: list[Leg]) -> list[dict[str, Any]]:
    """Sum the legs up by what they are, the kind that took longest first."""
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
    items = told(waits[flow], about, roots)
    waited = sum(item["wait_ps"] for item in items)
    ideal = flows.get(flow, {}).get("ideal_fct_ps")
    return {
        **one,
        **leg.transfer,
        "ideal_fct_ps": ideal,
        "waited_ps": waited,
        # Its acknowledgements, where the job waits for them, and its own frames.
        "rest_ps": None if ideal is None else leg.duration_ps - ideal - waited,
        "items": items,
    }


def _of(
    table: pa.Table,
    ids: Any,  # noqa: ANN401 - pyarrow's stubs want the type of what an array holds
    names: list[str] | None = None,
) -> list[dict[str, Any]]:
    if not table.num_rows:
        return []
    found = table.filter(pc.is_in(table["flow_id"], ids))
    rows: list[dict[str, Any]] = (found if names is None else found.select(names)).to_pylist()
    return rows


def sums(run: Run) -> dict[str, Any]:
    """Sum the waits of all flows up by cause, link, sending host and group, longest first.

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
