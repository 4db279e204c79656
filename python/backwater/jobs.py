"""Jobs of a run: what ended them, back to their start, and what their collectives met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pyarrow as pa

    from backwater.results import Run

COMPUTE, HELD, TRANSFER, UNRECORDED = "compute", "held", "transfer", "unrecorded"

_OF = ("job", "step", "instance", "round", "communicator")
_FACTS = (
    "flow_id",
    "step",
    "round",
    "communicator",
    "phase",
    "src_rank",
    "dst_rank",
    "src",
    "dst",
    "bytes",
)


@dataclass(frozen=True)
class Leg:
    """A part of a critical path. The next one begins when it ends."""

    kind: str
    """`transfer`, `compute`, `held` (nothing of it was under way before a `start`, or while an
    operation waited for an acknowledgement), or `unrecorded` (the table of transfers does not hold
    what came before)."""
    start_ps: int
    end_ps: int
    label: str | None = None
    """Of a computation: the labels of its steps, joined by +."""
    transfer: dict[str, Any] | None = None
    """Of a transfer: its row of the table `transfers`, without times."""

    @property
    def duration_ps(self) -> int:
        """From its start to its end, in ps."""
        return self.end_ps - self.start_ps


def critical_path(run: Run, job: str, instance: int = 0) -> list[Leg]:
    """Give what ended an instance of a job, and what let that begin, back to the job's start.

    The legs are in order of time, without a gap: their durations sum to the job completion time. Of
    an instance that is not complete they lead to the transfer under way that began first, and end
    with the run; there are none if nothing was under way. Raises `KeyError` if there is no such
    instance.
    """
    of = (pc.field("job") == job) & (pc.field("instance") == instance)
    rows = run.jobs.filter(of).to_pylist() if run.jobs.num_rows else []
    if not rows:
        raise KeyError(f"{job}, instance {instance}")
    start: int = rows[0]["start_ps"]
    known = run.transfers.filter(of) if run.transfers.num_rows else run.transfers
    flows = known["flow_id"].to_pylist() if known.num_rows else []
    places = {flow: place for place, flow in enumerate(flows)}
    ending = _ending(run, of, rows[0]["end_ps"]) or _under_way(run, known)
    if ending is None:
        return []
    until, flow, label = ending
    legs: list[Leg] = []
    while flow is not None:
        place = places.pop(flow, None)
        if place is None:
            return [Leg(UNRECORDED, start, until), *reversed(legs)]
        [row] = known.slice(place, 1).to_pylist()
        over = until if row["end_ps"] is None else row["end_ps"]
        legs += _gap(over, until, label)
        facts = {name: row[name] for name in _FACTS}
        legs.append(Leg(TRANSFER, row["start_ps"], over, transfer=facts))
        until, flow, label = row["start_ps"], row["after_flow"], row["after_compute"]
    return list(reversed([*legs, *_gap(start, until, label)]))


# When a path ends, the last transfer on it, and the computations after that.
_Ending = tuple[int, int | None, str | None]


def _ending(run: Run, of: pc.Expression, end: int | None) -> _Ending | None:
    """Give the end of the round that ended an instance, if one did."""
    if end is None or not run.rounds.num_rows:
        return None
    rounds = run.rounds.filter(of & (pc.field("end_ps") == end))
    last = rounds.sort_by([("round", "descending")]).slice(0, 1).to_pylist()
    return (end, last[0]["last_flow"], last[0]["last_compute"]) if last else None


def _under_way(run: Run, known: pa.Table) -> _Ending | None:
    """Give the end of the run, and of the transfers under way then the one that began first."""
    if not known.num_rows:
        return None
    first = known.filter(pc.is_null(pc.field("end_ps"))).sort_by("start_ps").slice(0, 1)
    if not first.num_rows:
        return None
    until = max(run.summary.get("time_ps", 0), first["start_ps"][0].as_py())
    return until, first["flow_id"][0].as_py(), None


def _gap(start: int, end: int, label: str | None) -> list[Leg]:
    """Give what passed between a transfer and what it let begin, if any time did."""
    kind = HELD if label is None else COMPUTE
    return [Leg(kind, start, end, label)] if end > start else []


def last_instances(run: Run) -> list[tuple[str, int]]:
    """Give, for each job, the instance that was complete last; one that is not before all."""
    if not run.jobs.num_rows:
        return []
    late: dict[str, tuple[int, int]] = {}
    open_end = 1 << 63
    for row in run.jobs.to_pylist():
        end = open_end if row["end_ps"] is None else row["end_ps"]
        if row["job"] not in late or end > late[row["job"]][0]:
            late[row["job"]] = (end, row["instance"])
    return [(job, instance) for job, (_, instance) in late.items()]


def collective_costs(run: Run) -> pl.DataFrame:
    """Give each collective with what its flows met.

    The columns of the table `collectives`, and `above_bound_ps` (duration less bound), `marked`
    (packets that arrived with congestion experienced), `retransmitted` (packets), and `paused_ps`:
    how long its flows waited at paused ports, summed over them; null unless `output.waits` recorded
    it of all of them.
    """
    if not run.collectives.num_rows:
        return pl.DataFrame()
    rows = pl.DataFrame(run.collectives).with_columns(
        above_bound_ps=pl.col("duration_ps").cast(pl.Int64) - pl.col("bound_ps").cast(pl.Int64)
    )
    if not run.transfers.num_rows or not run.flows.num_rows:
        nothing = pl.lit(None, pl.Int64)
        return rows.with_columns(marked=nothing, retransmitted=nothing, paused_ps=nothing)
    flows = pl.DataFrame(run.flows.select(["flow_id", "group", "marked", "retransmitted"]))
    met = pl.DataFrame(run.transfers.select(["flow_id", *_OF]))
    met = met.join(flows, on="flow_id", how="left")
    recorded = run.scenario.get("output", {}).get("waits") or []
    held = pl.DataFrame(
        run.waits.filter(pc.field("cause") == "paused").select(["flow_id", "wait_ps"]),
        schema={"flow_id": met.schema["flow_id"], "wait_ps": pl.Int64},
    )
    sums = held.group_by("flow_id").agg(paused_ps=pl.col("wait_ps").sum())
    met = met.join(sums, on="flow_id", how="left")
    known = pl.lit("all" in recorded) | pl.col("group").is_in(recorded)
    met = met.with_columns(pl.when(known).then(pl.col("paused_ps").fill_null(0)))
    sums = met.group_by(_OF).agg(
        pl.col("marked").sum(),
        pl.col("retransmitted").sum(),
        pl.when(pl.col("paused_ps").is_not_null().all())
        .then(pl.col("paused_ps").sum())
        .alias("paused_ps"),
    )
    return rows.join(sums, on=list(_OF), how="left", maintain_order="left")
