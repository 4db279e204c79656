"""Critical paths of a run's jobs, and the costs of their collectives."""

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
    """`transfer`, `compute`, `held` (nothing of the job was in progress: before a `start`, or while
    an operation waited for an acknowledgement), or `unrecorded` (the table `transfers` lacks what
    came before)."""
    start_ps: int
    end_ps: int
    label: str | None = None
    """For `compute`: the labels of its steps, joined by +."""
    transfer: dict[str, Any] | None = None
    """For `transfer`: its row of the table `transfers`, without times."""

    @property
    def duration_ps(self) -> int:
        """From its start to its end, in ps."""
        return self.end_ps - self.start_ps


def critical_path(run: Run, job: str, instance: int = 0) -> list[Leg]:
    """Return the critical path of an instance of a job: each leg let the next one begin.

    The legs are in order of time, without a gap: their durations sum to the job completion time.
    For an incomplete instance, the path leads to the earliest transfer in flight, and ends with the
    run; without such a transfer it is empty. Raises `KeyError` for an unknown instance.
    """
    of = (pc.field("job") == job) & (pc.field("instance") == instance)
    rows = run.jobs.filter(of).to_pylist() if run.jobs.num_rows else []
    if not rows:
        raise KeyError(f"{job}, instance {instance}")
    start: int = rows[0]["start_ps"]
    known = run.transfers.filter(of) if run.transfers.num_rows else run.transfers
    flows = known["flow_id"].to_pylist() if known.num_rows else []
    places = {flow: place for place, flow in enumerate(flows)}
    ending = _ending(run, of, rows[0]["end_ps"]) or _in_flight(run, known)
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


# The end of a path: its time, its last transfer, and the computations after that.
_Ending = tuple[int, int | None, str | None]


def _ending(run: Run, of: pc.Expression, end: int | None) -> _Ending | None:
    """Return the end of the round that ended an instance, if one did."""
    if end is None or not run.rounds.num_rows:
        return None
    rounds = run.rounds.filter(of & (pc.field("end_ps") == end))
    last = rounds.sort_by([("round", "descending")]).slice(0, 1).to_pylist()
    return (end, last[0]["last_flow"], last[0]["last_compute"]) if last else None


def _in_flight(run: Run, known: pa.Table) -> _Ending | None:
    """Return the end of the run, and the earliest of the transfers in flight then."""
    if not known.num_rows:
        return None
    first = known.filter(pc.is_null(pc.field("end_ps"))).sort_by("start_ps").slice(0, 1)
    if not first.num_rows:
        return None
    until = max(run.summary.get("time_ps", 0), first["start_ps"][0].as_py())
    return until, first["flow_id"][0].as_py(), None


def _gap(start: int, end: int, label: str | None) -> list[Leg]:
    """Return the leg between the end of a transfer and what it let begin, if that took time."""
    kind = HELD if label is None else COMPUTE
    return [Leg(kind, start, end, label)] if end > start else []


def last_instances(run: Run) -> list[tuple[str, int]]:
    """Return, for each job, the instance that ended last; an incomplete one takes precedence."""
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
    """Return a row for each collective, with the marks, retransmissions and pauses of its flows.

    It has the columns of the table `collectives`, and `above_bound_ps` (duration minus bound),
    `marked` (packets that arrived with congestion experienced), `retransmitted` (packets), and
    `paused_ps`: how long its flows waited at paused ports, summed over them; null unless
    `output.waits` recorded it for all of them.
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
