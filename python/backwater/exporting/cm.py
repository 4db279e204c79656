"""A connection matrix of htsim: a line for each flow, in the order of their starts.

    Nodes N
    Connections n
    Triggers k
    SRC->DST id K start T size B
    SRC->DST id K trigger J size B recv_done_trigger I
    trigger id I oneshot

By `ConnectionMatrix::load` of htsim (datacenter/connection_matrix.cpp of Broadcom/csg-htsim at
841d9e7 and ultraethernet/uet-htsim at 40ccb05): words have one blank between them, and counts in
the head are held against the lines. A transfer of a job starts by the trigger of the one that was
the last of what it waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.errors import InputError
from backwater.exporting.network import Network
from backwater.exporting.rows import IN_ORDER, frame, ordered, told
from backwater.naming import MOST_FLOWS

if TYPE_CHECKING:
    from backwater.exporting import Options
    from backwater.exporting.place import Place
    from backwater.results import Run

TAKES = ("start_unit",)
FILES = ()

PS_PER_US = 10**6
LARGEST = 2**31 - 1
"""htsim reads sizes into 32 bits with a sign."""
"""A flow's identity is that of its group times so many, and its number in the group."""
DONE = {"last-byte": "recv_done_trigger", "last-ack": "send_done_trigger"}
"""The trigger that fires when a transfer is complete, by `job.complete_at`."""


def write(run: Run, place: Place, options: Options) -> list[str]:
    """Write the file."""
    found = _flows(run)
    if not found.height:
        raise InputError(f"{told(run)} has no flows", "a connection matrix has at least one")
    released = found.filter(pl.col("after_flow").is_not_null())
    triggers = released["after_flow"].unique().sort()
    fires = _numbers(found, triggers)
    classes = found["class"].n_unique() > 1
    large = int((found["bytes"] > LARGEST).sum())
    head = [("Nodes", _hosts(run)), ("Connections", found.height)]
    head += [("Triggers", len(fires))] if fires else []
    ids = _identities(found)
    complete = {job["label"]: job.get("complete_at") for job in run.scenario.get("job") or ()}
    fine = 0
    with place.text() as out:
        out.writelines(f"{word} {count}\n" for word, count in head)
        for number, row in enumerate(ordered(found.lazy(), IN_ORDER), 1):
            words = [f"{row['src']}->{row['dst']} id {ids.get(row['flow_id'], number)}"]
            if row["after_flow"] is None:
                fine += options.start_unit == "us" and row["start_ps"] % PS_PER_US > 0
                words.append(f"start {_start(row['start_ps'], options.start_unit)}")
            else:
                words.append(f"trigger {fires[row['after_flow']]}")
            words.append(f"size {row['bytes']}")
            if (mine := fires.get(row["flow_id"])) is not None:
                words.append(f"{DONE[complete.get(row['job']) or 'last-byte']} {mine}")
            if classes:
                words.append(f"prio {row['class']}")
            out.write(" ".join(words) + "\n")
        out.writelines(f"trigger id {number} oneshot\n" for number in fires.values())
    return _told(released, large, fine, classes=classes)


def _flows(run: Run) -> pl.DataFrame:
    """Give all flows, those of jobs with what let them begin, if that is there, too."""
    flows = frame(run, "flows").select("src", "dst", "class", "bytes", *IN_ORDER)
    of_jobs = frame(run, "transfers").select("flow_id", "job", "after_flow", "after_compute")
    found = flows.join(of_jobs, on="flow_id", how="left", maintain_order="left").collect()
    # What a run that was killed has not told is no flow to wait for.
    known = pl.col("after_flow").is_in(found["flow_id"].implode())
    return found.with_columns(after_flow=pl.when(known).then("after_flow"))


def _numbers(found: pl.DataFrame, triggers: pl.Series) -> dict[int, int]:
    """Number the flows that let others begin, in the order of their starts, from 1."""
    letting = found.filter(pl.col("flow_id").is_in(triggers.implode())).sort(IN_ORDER)
    return {flow: number for number, flow in enumerate(letting["flow_id"], 1)}


def _identities(found: pl.DataFrame) -> dict[int, int]:
    """Give flows the numbers that they have in their table, where htsim can tell them apart so."""
    numbers = found["flow_id"] % MOST_FLOWS
    if numbers.n_unique() < found.height or not numbers.is_between(1, LARGEST).all():
        return {}
    return dict(zip(found["flow_id"], numbers, strict=True))


def _hosts(run: Run) -> int:
    """Count the hosts: those of the table of ports, or of the scenario if the run was killed."""
    if run.ports.num_rows:
        tiers = frame(run, "ports").filter(pl.col("tier") == "host").select("node").unique()
        return int(tiers.collect().height)
    return Network.of(run).hosts


def _start(start_ps: int, unit: str) -> str:
    if unit == "ps":
        return str(start_ps)
    whole, rest = divmod(start_ps, PS_PER_US)
    return f"{whole}.{rest:06d}".rstrip("0") if rest else str(whole)


def _told(released: pl.DataFrame, large: int, fine: int, *, classes: bool) -> list[str]:
    computed = int(released["after_compute"].is_not_null().sum())
    told: list[tuple[Any, str]] = [
        (large, f"sizes above {LARGEST} B, which htsim reads wrongly: {large}"),
        (fine, f"starts that are no whole microsecond, which htsim_uec cuts off: {fine}"),
        (classes, "`prio` is the class, 0 to 7; htsim has no classes and takes it for an order"),
        (
            released.height,
            f"transfers that start by one trigger, the last of what they waited for in this run: "
            f"{released.height}",
        ),
        (computed, f"of these, computations before their start are lost: {computed}"),
    ]
    return [line for applies, line in told if applies]
