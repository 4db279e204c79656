"""The section of a run's report on its jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.errors import InputError
from backwater.jobs import COMPUTE, UNRECORDED, collective_costs
from backwater.numbers.statistics import spread
from backwater.numbers.units import BPS_PER_GBPS, PS_PER_US
from backwater.plot.timeline import timelines
from backwater.report.page import Column, Figure, Section, Table, header
from backwater.wording import figure as number
from backwater.wording import places, size

if TYPE_CHECKING:
    from backwater.jobs import Leg
    from backwater.plot.timeline import Timeline
    from backwater.results import Run

SHOWN = 50
"""Most rows of rounds, of collectives and of a critical path on a page."""


def job_timelines(run: Run, of: str = "") -> tuple[list[Timeline], list[Figure]]:
    """Return the timeline of each job, and its figure; nothing for a run without jobs."""
    try:
        timed = timelines(run)
    except InputError:
        return [], []
    caption = "What each rank took part in, and when."
    figures = [
        Figure(f"timeline-{n + 1}", one.chart, of + caption, clock_ps=one.clock_ps)
        for n, one in enumerate(timed)
    ]
    return timed, figures


def jobs_section(run: Run, of: str = "", *, timeline: bool = True) -> list[Section]:
    """Return the section on jobs, rounds and collectives; nothing for a run without jobs.

    `timeline` draws the timelines here: a page with a film has them beside it.
    """
    if not run.jobs.num_rows and not run.collectives.num_rows:
        return []
    timed, figures = job_timelines(run, of)
    shown = [replace(one, clock_ps=None) for one in figures] if timeline else []
    costs = collective_costs(run)
    parts: list[Any] = [_instances(run), *shown, *map(_path, timed), _rounds(run)]
    if costs.height:
        parts += [_steps(costs), _collectives(costs)]
    try:
        caption = "How many of a step's collectives were complete within a time."
        parts.append(Figure("collectives", run.plot.collectives(), of + caption))
    except InputError:
        # None is complete, which the tables show.
        pass
    return [Section("jobs", "Jobs", parts, [of.strip()] if of else [])]


def _instances(run: Run) -> Table:
    columns = header(["job"], ["instance", "ranks", "rounds complete", "completion time us"])
    rows = [
        [
            row["job"],
            str(row["instance"]),
            f"{row['ranks']:,}",
            f"{row['complete_rounds']:,} of {row['rounds']:,}",
            _us(row["duration_ps"]),
        ]
        for row in run.jobs.to_pylist()
    ]
    return Table(columns, rows, note="Times are from job.start to the end of the last round.")


def _path(of: Timeline) -> Table:
    """Return the table of the critical path of a job's instance."""
    columns = [*header([], ["from us", "took us"]), Column("what")]
    rows = [[_us(leg.start_ps), _us(leg.duration_ps), _leg(leg)] for leg in of.legs[-SHOWN:]]
    title = f"Critical path of {of.job}, instance {of.instance}, from its start"
    said = f"The last {SHOWN} of {len(of.legs):,} are shown." if len(of.legs) > SHOWN else ""
    return Table(columns, rows, title, said, folded=True)


def _leg(leg: Leg) -> str:
    if leg.transfer is not None:
        about = leg.transfer
        return (
            f"transfer of {about['step']}, round {about['round']}: rank {about['src_rank']} → "
            f"{about['dst_rank']}, {size(about['bytes'])}"
        )
    return {
        COMPUTE: f"computation {leg.label}",
        UNRECORDED: "not recorded",
    }.get(leg.kind, "waiting: the next step depends on a time or an acknowledgement")


def _rounds(run: Run) -> Table:
    columns = header(["job"], ["instance", "round", "start us", "end us", "took us"])
    slow = pl.DataFrame(run.rounds) if run.rounds.num_rows else pl.DataFrame()
    if slow.height:
        slow = slow.sort("duration_ps", descending=True, nulls_last=False, maintain_order=True)
    rows = [
        [
            row["job"],
            str(row["instance"]),
            f"{row['round']:,}",
            *(_us(row[name]) for name in ("start_ps", "end_ps", "duration_ps")),
        ]
        for row in slow.head(SHOWN).to_dicts()
    ]
    return Table(columns, rows, "Rounds, the slowest first", _left(slow.height), folded=True)


def _steps(costs: pl.DataFrame) -> Table:
    names = ["complete", "mean us", "p99 us", "max us", "bound us", "above bound us"]
    names += ["bus Gb/s", "marked", "retransmitted", "paused us"]
    rows = []
    for (job, step), of in costs.group_by("job", "step", maintain_order=True):
        done = of.filter(pl.col("end_ps").is_not_null())
        took = spread(done["duration_ps"].sort()) or {}
        rows.append(
            [
                f"{job}/{step}",
                f"{done.height:,} of {of.height:,}",
                *(_us(took.get(name)) for name in ("mean", "p99", "max")),
                _us(done["bound_ps"].mean()),
                _us(done["above_bound_ps"].mean()),
                _gbps(done["busbw_bps"].mean()),
                *(number(_known(of[name])) for name in ("marked", "retransmitted")),
                _us(_known(of["paused_ps"])),
            ]
        )
    note = (
        "Times, bounds and bandwidths are of complete collectives, and means unless named "
        "otherwise; p99 needs 100 collectives. Bound: time that the busiest host needs with all "
        "its links together. Marked and retransmitted: packets. Paused: time that flows waited at "
        "paused ports, summed over flows, recorded with output.waits."
    )
    return Table(header(["job/step"], names), rows, "Collectives by step", note)


def _collectives(costs: pl.DataFrame) -> Table:
    names = ["instance", "round", "group", "took us", "bound us", "above bound us"]
    names += ["marked", "retransmitted", "paused us"]
    slow = costs.sort("duration_ps", descending=True, nulls_last=False).head(SHOWN)
    rows = [
        [
            f"{row['job']}/{row['step']}",
            *(str(row[name]) for name in ("instance", "round", "communicator")),
            *(_us(row[name]) for name in ("duration_ps", "bound_ps", "above_bound_ps")),
            *(number(row[name]) for name in ("marked", "retransmitted")),
            _us(row["paused_ps"]),
        ]
        for row in slow.to_dicts()
    ]
    columns = header(["job/step"], names)
    title = "Collectives, the slowest first"
    return Table(columns, rows, title, _left(costs.height), folded=True)


def _left(rows: int) -> str:
    return f"{SHOWN} of {rows:,} are shown." if rows > SHOWN else ""


def _known(values: pl.Series) -> Any:  # noqa: ANN401 - polars' sums are of any type
    return None if values.null_count() == values.len() else values.sum()


def _us(time_ps: Any) -> str:  # noqa: ANN401 - polars' means, too
    return places(None if time_ps is None else time_ps / PS_PER_US, 2)


def _gbps(rate_bps: Any) -> str:  # noqa: ANN401 - as above
    return places(None if rate_bps is None else rate_bps / BPS_PER_GBPS, 2)
