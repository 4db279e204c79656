"""GOAL: what each rank of a job sends, receives and computes, and in which order.

    num_ranks N
    rank R {
    s1: send 4096b to 3 tag 1
    r2: recv 4096b from 5 tag 2
    c3: calc 1000
    s3: send 4096b to 3 tag 3
    c3 requires r2
    s3 requires c3
    }

The syntax is that of `txt2bin.re` of LogGOPSim (spcl/atlahs at 8837294).

In the run, a send may have waited for several transfers. Here it waits for the last of them
(`after_flow`), and then computes (`calc`, in ns) for as long as the run let pass. If several ended
at the same instant, it waits for one that the sender received. If a rank's sends waited for the
same transfer, each computes from where the send before it began. Other computations that overlap
have different cpus.

In GOAL, a rank can wait for its own operations only. If the sender has no part in the transfer for
which it waits, a message of 1 B (`y`, received as `w`) goes from that transfer's receiver to it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any

import polars as pl

from backwater.errors import InputError
from backwater.exporting.lanes import Lanes
from backwater.exporting.network import PS_PER_NS
from backwater.exporting.rows import MOST, counted, frame, name_of
from backwater.wording import series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backwater.exporting import Options
    from backwater.exporting.place import Place
    from backwater.results import Run

TAKES = ("job", "instance")
FILES = ()

SIGNAL_BYTES = 1
CPUS = 256
"""Cpu numbers have 8 bits in the binary form that `txt2bin` writes."""
FACTS = ("number", "src_rank", "dst_rank", "bytes", "start_ps", "end_ps")


def write(run: Run, place: Place, options: Options) -> list[str]:
    """Write the file."""
    job = _instance(run, options)
    found = _transfers(run, job)
    last = _last(run, job, found)
    found, last_cpu = _on_cpus(found, last)
    operations = pl.concat(
        [
            found.with_columns(rank="src_rank", kind=pl.lit("send")),
            found.with_columns(rank="dst_rank", kind=pl.lit("recv")),
            found.filter(_foreign()).with_columns(rank="after_dst_rank", kind=pl.lit("signal")),
        ]
    ).sort("rank", "start_ps", "number", maintain_order=True)
    with place.text() as out:
        out.write(f"num_ranks {job['ranks']}\n")
        rows = itertools.chain.from_iterable(
            part.iter_rows(named=True) for part in operations.iter_slices(MOST)
        )
        by_rank = itertools.groupby(rows, key=lambda row: int(row["rank"]))
        rank, of = next(by_rank, (None, iter(())))
        for number in range(job["ranks"]):
            out.write(f"\nrank {number} {{\n")
            if rank == number:
                for row in of:
                    _operation(out, row, found.height)
                rank, of = next(by_rank, (None, iter(())))
            if last is not None and last.rank == number:
                out.write(f"c0: calc {last.calc_ns}{_cpu(last_cpu)}\n")
                out.writelines(_requires("c0", last.waits_for))
            out.write("}\n")
    return _notes(found)


def _instance(run: Run, options: Options) -> dict[str, Any]:
    """Return the row of the requested instance. Raises `InputError`."""
    jobs = run.jobs.to_pylist() if run.jobs.num_rows else []
    labels = list(dict.fromkeys(row["job"] for row in jobs))
    if not labels:
        raise InputError(
            f"{name_of(run)} has no jobs", "GOAL is of jobs, and its scenario has none"
        )
    if options.job is None and len(labels) > 1:
        raise InputError(f"{name_of(run)} has {len(labels)} jobs", f"--job is {series(labels)}")
    label = labels[0] if options.job is None else options.job
    for row in jobs:
        if (row["job"], row["instance"]) == (label, options.instance):
            return row
    if label not in labels:
        raise InputError(f"--job {label}: the run has no such job", f"it has {series(labels)}")
    count = sum(row["job"] == label for row in jobs)
    raise InputError(
        f"--instance {options.instance}: the run has no such instance of {label}",
        f"it has 0 to {count - 1}",
    )


def _transfers(run: Run, job: dict[str, Any]) -> pl.DataFrame:
    """Return the instance's transfers by their starts, with those for which they waited."""
    of = (pl.col("job") == job["job"]) & (pl.col("instance") == job["instance"])
    found = (
        frame(run, "transfers")
        .filter(of)
        .sort("start_ps", "flow_id")
        .with_row_index("number", offset=1)
        .select(*FACTS, "flow_id", "after_flow")
        .collect()
    )
    before = found.select(
        after_flow="flow_id",
        after="number",
        after_src_rank="src_rank",
        after_dst_rank="dst_rank",
        after_end_ps="end_ps",
    )
    joined = _received(found.join(before, on="after_flow", how="left", maintain_order="left"))
    return _chained(joined, job["start_ps"])


def _chained(found: pl.DataFrame, start_ps: int) -> pl.DataFrame:
    """Add how long each computes, from where the previous send of its rank and wait began."""
    same = ("src_rank", "after")
    ready = pl.col("after_end_ps").fill_null(start_ps)
    found = found.with_columns(since_ns=_ns(pl.col("start_ps") - ready))
    found = found.with_columns(
        head=pl.col("number").first().over(same),
        begin_ps=pl.coalesce(pl.col("start_ps").shift(1).over(same), ready),
        calc_ns=pl.col("since_ns") - pl.col("since_ns").shift(1, fill_value=0).over(same),
    )
    computed = pl.when(pl.col("calc_ns") > 0).then("number").forward_fill().over(same)
    return found.with_columns(calc=computed).with_columns(before=pl.col("calc").shift(1).over(same))


def _received(found: pl.DataFrame) -> pl.DataFrame:
    """Let a sender wait for a transfer that it received, if one ended at the same instant."""
    own = found.select(
        src_rank="dst_rank", after_end_ps="end_ps", own="number", own_src_rank="src_rank"
    )
    own = own.unique(["src_rank", "after_end_ps"], keep="first", maintain_order=True)
    joined = found.join(own, on=["src_rank", "after_end_ps"], how="left", maintain_order="left")
    known = pl.col("own").is_not_null()
    return joined.with_columns(
        after=pl.when(known).then("own").otherwise("after"),
        after_src_rank=pl.when(known).then("own_src_rank").otherwise("after_src_rank"),
        after_dst_rank=pl.when(known).then("src_rank").otherwise("after_dst_rank"),
    )


def _ns(time_ps: pl.Expr) -> pl.Expr:
    """Round a time to ns."""
    return (time_ps.cast(pl.Int64) + PS_PER_NS // 2) // PS_PER_NS


def _foreign() -> pl.Expr:
    """Whether a sender has no part in the transfer for which it waits, and needs a message."""
    neither = (pl.col("after_src_rank") != pl.col("src_rank")) & (
        pl.col("after_dst_rank") != pl.col("src_rank")
    )
    return (pl.col("number") == pl.col("head")) & pl.col("after").is_not_null() & neither


def _operation(out: IO[str], row: dict[str, Any], transfers: int) -> None:
    """Write what a rank does for a transfer, and for which of its operations that waits."""
    number = row["number"]
    if row["kind"] == "recv":
        out.write(f"r{number}: recv {row['bytes']}b from {row['src_rank']} tag {number}\n")
        return
    # Signals have the tags after those of transfers.
    tag, after = transfers + number, row["after"]
    if row["kind"] == "signal":
        out.write(f"y{number}: send {SIGNAL_BYTES}b to {row['src_rank']} tag {tag}\n")
        out.write(f"y{number} requires r{after}\n")
        return
    source = row["src_rank"]
    waits_for = None
    if row["before"] is not None:
        waits_for = f"c{row['before']}"
    elif after is not None and row["after_dst_rank"] == source:
        waits_for = f"r{after}"
    elif after is not None and row["after_src_rank"] == source:
        waits_for = f"s{after}"
    elif after is not None:
        waits_for = f"w{row['head']}"
        if number == row["head"]:
            out.write(f"{waits_for}: recv {SIGNAL_BYTES}b from {row['after_dst_rank']} tag {tag}\n")
    if row["calc_ns"] > 0:
        out.write(f"c{number}: calc {row['calc_ns']}{_cpu(row['cpu'])}\n")
        out.writelines(_requires(f"c{number}", waits_for))
        waits_for = f"c{number}"
    out.write(f"s{number}: send {row['bytes']}b to {row['dst_rank']} tag {number}\n")
    out.writelines(_requires(f"s{number}", waits_for))


def _cpu(number: int) -> str:
    return f" cpu {number % CPUS}" if number else ""


def _requires(what: str, on: str | None) -> Iterator[str]:
    if on is not None:
        yield f"{what} requires {on}\n"


@dataclass(frozen=True)
class _Last:
    """The computation after the last transfer."""

    rank: int
    calc_ns: int
    begin_ps: int
    end_ps: int
    waits_for: str | None


def _last(run: Run, job: dict[str, Any], found: pl.DataFrame) -> _Last | None:
    """Return the computation after the last transfer, if there was one."""
    of = (pl.col("job") == job["job"]) & (pl.col("instance") == job["instance"])
    ended = frame(run, "rounds").filter(of & (pl.col("end_ps") == job["end_ps"])).collect()
    if not ended.height:
        return None
    row = ended.sort("round").row(-1, named=True)
    begun = found.filter(pl.col("flow_id") == row["last_flow"])
    before = begun["end_ps"].item() if begun.height else job["start_ps"]
    time = (row["end_ps"] - before + PS_PER_NS // 2) // PS_PER_NS
    if time <= 0:
        return None
    rank = begun["dst_rank"].item() if begun.height else 0
    waits_for = f"r{begun['number'].item()}" if begun.height else None
    return _Last(rank, time, before, row["end_ps"], waits_for)


def _on_cpus(found: pl.DataFrame, last: _Last | None) -> tuple[pl.DataFrame, int]:
    """Assign a free cpu to each computation; also return the cpu of the last computation.

    A cpu does one computation after another, and those of a rank may overlap.
    """
    computed = found.filter(pl.col("calc_ns") > 0)
    spans = computed.select("src_rank", "begin_ps", "start_ps", "number").rows()
    if last is not None:
        spans.append((last.rank, last.begin_ps, last.end_ps, 0))
    cpus: dict[int, int] = {}
    for _, mine in itertools.groupby(sorted(spans), key=itemgetter(0)):
        lanes = Lanes()
        for _, begin, end, number in mine:
            cpus[number] = lanes.take(begin, end)
    last_cpu = cpus.pop(0, 0)
    by_number = pl.DataFrame(
        {"number": list(cpus), "cpu": list(cpus.values())},
        schema={"number": found.schema["number"], "cpu": pl.Int64},
    )
    return found.join(by_number, on="number", how="left", maintain_order="left"), last_cpu


def _notes(found: pl.DataFrame) -> list[str]:
    waiting = int(found["after"].is_not_null().sum())
    signals = found.filter(_foreign()).height
    sent = found.filter(
        (pl.col("after_src_rank") == pl.col("src_rank"))
        & (pl.col("after_dst_rank") != pl.col("src_rank"))
    ).height
    crowded = int((found["cpu"] >= CPUS).sum())
    return counted(
        (crowded, f"computations beyond {CPUS} at once at a rank, which share a cpu with others"),
        (waiting, "transfers that wait for one other: the last for which they waited in this run"),
        (
            sent,
            "transfers among these that wait for one of their own sender, which in GOAL ends when "
            "it has left, not when it has arrived",
        ),
        (
            signals,
            f"messages of {SIGNAL_BYTES} B that signal to a sender the end of a transfer between "
            "other ranks",
        ),
    )
