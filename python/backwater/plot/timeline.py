"""The timeline of a job: when each rank took part in collectives, and the critical path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.jobs import COMPUTE, TRANSFER, UNRECORDED, critical_path, last_instances
from backwater.numbers.rows import scan
from backwater.plot.theme import INK, WIDTH, clock, colour, title

if TYPE_CHECKING:
    from altair.typing import ChartType

    from backwater.jobs import Leg
    from backwater.results import Run

RANKS = 32
"""Ranks that have a row by default: those on the critical path, then others, evenly spread."""
ON_PATH = 96
"""The most ranks that have a row because they are on the critical path, its last ones."""
MERGED = 600
"""Bars with a gap below the whole time divided by this are merged."""
FOLLOWED = 3_000_000
"""The critical path is not computed for a table with more transfers."""
_OF = ("rank", "step", "round", "communicator")


@dataclass(frozen=True)
class Timeline:
    """One instance of a job."""

    job: str
    instance: int
    legs: list[Leg]
    """Its critical path, if it was computed."""
    chart: ChartType
    clock_ps: float
    """The unit of its time axis, in ps."""


def timelines(run: Run, most: int | None = None) -> list[Timeline]:
    """Draw, for each job, the instance that completed last. Raises `InputError` without one."""
    transfers = scan(run, "transfers")
    if transfers is None:
        raise InputError("the run has no transfers", "its scenario has no [[job]], or none began")
    followed = run.transfers.num_rows <= FOLLOWED
    made = []
    for job, instance in last_instances(run):
        of = transfers.filter(pl.col("job").cast(pl.String) == job, pl.col("instance") == instance)
        if of.head(1).collect().height:
            legs = critical_path(run, job, instance) if followed else []
            chart, unit = _chart(run, of, job, instance, legs, most)
            made.append(Timeline(job, instance, legs, chart, unit))
    if not made:
        raise InputError("no transfer of a job began", "see its table of jobs")
    return made


def _which(run: Run, job: str, instance: int) -> str:
    several = sum(one["job"] == job for one in run.jobs.to_pylist()) > 1
    return f", instance {instance}" if several else ""


def _chart(
    run: Run, of: pl.LazyFrame, job: str, instance: int, legs: list[Leg], most: int | None
) -> tuple[ChartType, float]:
    end = int(run.summary.get("time_ps", 0))
    ranks = _chosen(of, legs, most)
    spans = _spans(of, ranks, end)
    last = max(_last(spans), *(leg.end_ps for leg in legs))
    factor, unit = clock(last)
    names = [str(rank) for rank in ranks]
    steps = spans["step"].unique(maintain_order=True).to_list()
    shown = spans.select(
        pl.col("rank").cast(pl.String),
        "step",
        "collective",
        begin=pl.col("begin") / factor,
        end=pl.col("end") / factor,
    )
    scale = alt.Scale(domain=[0, last / factor], nice=False)
    x = alt.X("begin:Q", title=f"time ({unit})", scale=scale)
    y = alt.Y("rank:N", title="rank", sort=names)
    times = [alt.Tooltip(edge, format=".6") for edge in ("begin", "end")]
    bars = (
        alt.Chart(shown)
        .mark_bar(opacity=0.75, height={"band": 0.78}, stroke="white", strokeWidth=0.6)
        .encode(x=x, x2="end", y=y, color=colour("step", steps), tooltip=["collective", *times])
    )
    points = _path(legs, factor, names)
    layers: list[alt.Chart] = [bars]
    if points.height:
        path = alt.Chart(points).encode(
            x=alt.X("begin:Q", scale=scale),
            y=alt.Y("rank:N", sort=names),
            order="number:Q",
            tooltip=["what", alt.Tooltip("begin", title=f"at ({unit})", format=".6")],
        )
        # A white border keeps it visible on every colour.
        layers += [
            path.mark_line(color="white", strokeWidth=5, strokeJoin="round", strokeOpacity=0.8),
            path.mark_line(color=INK, strokeWidth=2, strokeJoin="round"),
        ]
    drawn: ChartType = alt.layer(*layers).properties(
        width=WIDTH,
        height=alt.Step(max(10, min(18, 420 // max(1, len(names))))),
        title=title(
            f"Timeline of {job}{_which(run, job, instance)}", *_below(run, job, ranks, legs, points)
        ),
    )
    return drawn, factor


def _below(
    run: Run, job: str, ranks: list[int], legs: list[Leg], points: pl.DataFrame
) -> list[str]:
    every = next((one["ranks"] for one in run.jobs.to_pylist() if one["job"] == job), len(ranks))
    few = f"{len(ranks)} of {every:,} ranks; " if every > len(ranks) else ""
    if not legs:
        return [f"{few}bars: from a rank's first transfer in a collective to its last"]
    path = "the critical path"
    if points.is_empty() or points["number"][0] > 0:
        path = "the last part of the critical path, which is on these ranks"
    elif legs[0].kind == UNRECORDED:
        path = "the critical path as far back as it is recorded"
    return [
        f"{few}bars: from a rank's first transfer in a collective to its last",
        f"line: {path}; each transfer leads to another rank",
    ]


def _chosen(of: pl.LazyFrame, legs: list[Leg], most: int | None) -> list[int]:
    """Return the ranks that have a row: those on the critical path, then others, evenly spread."""
    both = pl.concat([of.select(rank="src_rank"), of.select(rank="dst_rank")])
    every: list[int] = both.unique().sort("rank").collect(engine="streaming")["rank"].to_list()
    ends = [leg.transfer for leg in legs if leg.transfer is not None]
    on_path = dict.fromkeys(one[end] for one in ends for end in ("src_rank", "dst_rank"))
    most = most or max(RANKS, min(ON_PATH, len(on_path)))
    chosen = set(list(on_path)[-most:])
    others = [rank for rank in every if rank not in chosen]
    left = min(most - len(chosen), len(others))
    chosen |= {others[i * len(others) // left] for i in range(left)}
    return sorted(chosen)


def _spans(of: pl.LazyFrame, ranks: list[int], end: int) -> pl.DataFrame:
    """Return the spans of each rank's collectives in ps; spans with small gaps are merged."""
    columns = ("step", "round", "communicator", "instance", "job", "start_ps", "end_ps")
    both = pl.concat([of.select(*columns, rank=f"{side}_rank") for side in ("src", "dst")])
    took = (
        both.filter(pl.col("rank").is_in(ranks))
        .with_columns(pl.col("step").cast(pl.String), pl.col("job").cast(pl.String))
        .group_by(*_OF, "instance", "job")
        .agg(begin=pl.col("start_ps").min(), end=pl.col("end_ps").fill_null(end).max())
        .sort("rank", "step", "begin", "round", "communicator")
        .collect(engine="streaming")
    )
    each = ("rank", "step")
    # Few bars are not merged, though a later one may hide a part of an earlier one.
    part = pl.int_range(pl.len())
    if took.height > len(ranks) * MERGED // 10:
        reach = pl.col("end").cum_max().shift().over(each)
        apart = pl.col("begin") > reach + _last(took) // MERGED
        part = apart.fill_null(True).cum_sum()
    name = pl.format(
        "{}/{}, instance {}, round {}, group {}", "job", "step", "instance", "round", "communicator"
    )
    numbered = took.with_columns(collective=name, part=part.over(each))
    return (
        numbered.group_by("rank", "step", "part")
        .agg(pl.col("begin").min(), pl.col("end").max(), pl.col("collective").first())
        .sort("begin", "rank", "step", "part")
    )


def _last(spans: pl.DataFrame) -> int:
    return int(max([1, *spans["end"].to_list()]))


def _path(legs: list[Leg], factor: float, ranks: list[str]) -> pl.DataFrame:
    """Return the corners of the critical path; a transfer leads from one rank to another.

    If ranks of the path have no row, this is its last part, from where all ranks have one.
    """
    corners: list[tuple[float, int, str]] = []
    for number, leg in enumerate(legs):
        if leg.kind == UNRECORDED:
            continue
        if leg.kind == TRANSFER and leg.transfer is not None:
            what = f"{leg.transfer['step']}, round {leg.transfer['round']}"
            corners += [
                (leg.start_ps, leg.transfer["src_rank"], what),
                (leg.end_ps, leg.transfer["dst_rank"], what),
            ]
            continue
        before = next((one.transfer for one in reversed(legs[:number]) if one.transfer), None)
        after = next((one.transfer for one in legs[number:] if one.transfer), None)
        rank = after["src_rank"] if after else before["dst_rank"] if before else None
        if rank is not None:
            what = f"computes {leg.label}" if leg.kind == COMPUTE else "held"
            corners += [(leg.start_ps, rank, what), (leg.end_ps, rank, what)]
    lost = [n for n, (_, rank, _) in enumerate(corners) if str(rank) not in ranks]
    first = lost[-1] + 1 if lost else 0
    corners = corners[first:]
    return pl.DataFrame(
        {
            "begin": [time / factor for time, _, _ in corners],
            "rank": [str(rank) for _, rank, _ in corners],
            "what": [what for _, _, what in corners],
            "number": list(range(first, first + len(corners))),
        },
        schema={"begin": pl.Float64, "rank": pl.String, "what": pl.String, "number": pl.Int64},
    )
