"""Numbers about a run's tables: completion times of flow groups, totals of ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from backwater.results import Run

PS_PER_US = 1e6


def group_times(flows: pa.Table) -> list[dict[str, Any]]:
    """Give, for each group of flows, how many completed and their completion times in us.

    Times are of complete flows only, from the flow's start to `fct_last_byte` (last byte at the
    receiver) and to `fct_last_ack` (last acknowledgement back at the sender).
    """
    if flows.num_rows == 0:
        return []
    rows = []
    # Flows are numbered in the order of the scenario, rows come in the order of completion.
    for group in pc.unique(flows.sort_by("flow_id")["group"]).to_pylist():
        members = flows.filter(pc.field("group") == group)
        complete = members.filter(pc.field("state") == "complete")
        rows.append(
            {
                "group": group,
                "flows": members.num_rows,
                "complete": complete.num_rows,
                "bytes": pc.sum(members["bytes"]).as_py(),
                "fct_last_byte_us": spread(complete["fct_last_byte_ps"]),
                "fct_last_ack_us": spread(complete["fct_last_ack_ps"]),
            }
        )
    return rows


def spread(times_ps: pa.ChunkedArray[Any]) -> dict[str, float] | None:
    """Mean, median, 99th percentile, least and greatest of times in ps, as us; None of nothing."""
    times = pc.drop_null(times_ps)
    if len(times) == 0:
        return None
    p50, p99 = (pc.quantile(times, q=q)[0].as_py() for q in (0.5, 0.99))
    least, greatest = pc.min(times).as_py(), pc.max(times).as_py()
    values = {"mean": pc.mean(times).as_py(), "p50": p50, "p99": p99, "min": least, "max": greatest}
    return {name: value / PS_PER_US for name, value in values.items()}


def port_totals(ports: pa.Table) -> dict[str, int]:
    """Sums over all ports, and how many ports received a pause."""
    if ports.num_rows == 0:
        return {}
    columns = ("pauses_sent", "pauses_received", "paused_ps", "drop_frames", "marked_frames")
    totals = {name: int(pc.sum(ports[name]).as_py() or 0) for name in columns}
    totals["ports_paused"] = ports.filter(pc.field("pauses_received") > 0).num_rows
    return totals


def count_control(run: Run, kind: str) -> int:
    """How many control messages of one kind a run sent."""
    if run.control.num_rows == 0:
        return 0
    return run.control.filter(pc.field("kind") == kind).num_rows
