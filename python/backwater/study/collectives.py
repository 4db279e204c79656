"""Measures of jobs: completion times and bandwidths of their collectives, and lower bounds.

All read the table `collectives`. Within an instance, the collectives of a step follow each other,
round by round. Different instances share nothing but the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from backwater.errors import InputError
from backwater.jobs import TRANSFER, UNRECORDED, critical_path
from backwater.numbers.registry import MORE
from backwater.numbers.units import BITS, BPS_PER_GBPS, PS_PER_US
from backwater.study.measures import NotThereError, Observed, Reading, kind, statistic_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

COLUMNS = ["instance", "round", "start_ps", "end_ps", "bound_ps", "algbw_bps", "busbw_bps"]


def _rows(run: Observed, job: str, step: str | None, of_round: int | None = None) -> pa.Table:
    """Return the collectives of a job, or of one step or round of it.

    Raises `NotThereError` unless all of them are complete and all rounds have begun.
    """
    wanted = pc.field("job") == job
    if step is not None:
        wanted &= pc.field("step") == step
    if of_round is not None:
        wanted &= pc.field("round") == of_round
    found = run.run.collectives.filter(wanted)
    if found.num_rows == 0:
        where = job if step is None else f"{job}/{step}"
        raise NotThereError(f"there is no collective of {where}")
    missing = found["end_ps"].null_count
    if missing != 0:
        raise NotThereError(f"{missing} of {found.num_rows} collectives not complete")
    described = _described(run, job)
    rounds = described["instances"] * (described["rounds"] if of_round is None else 1)
    begun = found.group_by(["instance", "round"]).aggregate([]).num_rows
    if begun < rounds:
        raise NotThereError(f"{rounds - begun} of {rounds} rounds of {job} have not begun")
    return found.select(COLUMNS)


def _described(run: Observed, job: str) -> dict[str, Any]:
    """Return the table of a job in the run's scenario."""
    jobs: list[dict[str, Any]] = run.run.scenario["job"]
    return next(one for one in jobs if one["label"] == job)


def _microseconds(times_ps: Iterable[int]) -> list[float]:
    return [time / PS_PER_US for time in times_ps]


@kind("job_completion", "us")
def job_completion(
    run: Observed,
    job: str,
    step: str | None = None,
    of_round: int | None = None,
    of: str = "max",
) -> Reading:
    """Time from the job's first collective to the last completion of each instance, in us.

    `of` is a statistic over the instances; the greatest is the last completion of all, and with one
    instance the makespan. For one round, the time begins with the first collective of that round.
    """
    rows = _rows(run, job, step, of_round)
    start = pc.min(rows["start_ps"]).as_py()
    last = rows.group_by("instance").aggregate([("end_ps", "max")])["end_ps_max"]
    return Reading(statistic_of(_microseconds(end - start for end in last.to_pylist()), of))


@kind("exposed", "us")
def exposed(run: Observed, job: str, of: str = "max") -> Reading:
    """Time that transfers take on the critical path of each instance: without computing, in us."""
    _rows(run, job, None)
    times = []
    for instance in range(_described(run, job)["instances"]):
        legs = critical_path(run.run, job, instance)
        if any(leg.kind == UNRECORDED for leg in legs):
            raise NotThereError(f"the run has no transfers of {job} on its critical path")
        times.append(sum(leg.duration_ps for leg in legs if leg.kind == TRANSFER))
    return Reading(statistic_of(_microseconds(times), of))


@kind("collective_time", "us")
def collective_time(
    run: Observed, job: str, step: str, of_round: int | None = None, of: str = "max"
) -> Reading:
    """Time from start to end of each collective of a step, in all rounds or in one, in us."""
    rows = _rows(run, job, step, of_round)
    took = (row["end_ps"] - row["start_ps"] for row in rows.to_pylist())
    return Reading(statistic_of(_microseconds(took), of))


@kind("job_bound", "us")
def job_bound(run: Observed, job: str, step: str, of: str = "max") -> Reading:
    """Time that the busiest host links alone need for all rounds of each instance, in us.

    Rounds follow each other, so the bound adds up the busiest link of each round, over all of its
    communicators. Switches and acknowledgements take no time. Overlapping rounds have no bound.
    """
    if _described(run, job)["rounds_in_flight"] > 1:
        return Reading(None, f"rounds of {job} overlap: their bounds do not add up")
    rows = _rows(run, job, step)
    busiest = rows.group_by(["instance", "round"]).aggregate([("bound_ps", "max")])
    bounds = busiest.group_by("instance").aggregate([("bound_ps_max", "sum")])
    sums: list[Any] = bounds["bound_ps_max_sum"].to_pylist()
    return Reading(statistic_of(_microseconds(sums), of))


@kind("over_bound", "")
def over_bound(run: Observed, job: str, step: str, of: str = "mean") -> Reading:
    """Ratio of each collective's time to the time that the busiest host link alone needs for it.

    Collectives within one server load no link and are left out.
    """
    found = [row for row in _rows(run, job, step).to_pylist() if row["bound_ps"]]
    if not found:
        return Reading(None, f"the collectives of {job}/{step} load no link")
    return Reading(statistic_of([(r["end_ps"] - r["start_ps"]) / r["bound_ps"] for r in found], of))


@kind("bandwidth", "Gb/s", MORE)
def bandwidth(
    run: Observed, job: str, step: str, which: str, of: str = "mean", per: str = "bit"
) -> Reading:
    """Algorithm (`algbw`) or bus (`busbw`) bandwidth of a step's collectives, in Gb/s.

    With `per = "byte"` it is in GB/s, as nccl-tests prints it, and the measure's `unit` is GB/s.
    """
    if which not in ("algbw", "busbw"):
        raise InputError(f"bandwidth: which = {which!r}", "there are algbw and busbw")
    if per not in ("bit", "byte"):
        raise InputError(f"bandwidth: per = {per!r}", "there are bit and byte")
    unit = BPS_PER_GBPS * (BITS if per == "byte" else 1)
    rows = _rows(run, job, step)
    rates = [rate / unit for rate in rows[f"{which}_bps"].to_pylist() if rate is not None]
    if not rates:
        return Reading(None, f"the collectives of {job}/{step} took no time")
    return Reading(statistic_of(rates, of))
