"""A connection matrix of htsim: a line for each flow, in the order of their starts.

    Nodes N
    Connections n
    Triggers k
    SRC->DST id K start T size B
    SRC->DST id K trigger J size B recv_done_trigger I
    trigger id I oneshot

`ConnectionMatrix::load` of htsim reads it (datacenter/connection_matrix.cpp of Broadcom/csg-htsim
at 841d9e7 and ultraethernet/uet-htsim at 40ccb05). It expects one blank between words, and compares
the counts in the head with the lines. A transfer of a job starts when the last transfer for which
it waited fires its trigger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from backwater.errors import InputError
from backwater.exporting.network import Network
from backwater.exporting.rows import IN_ORDER, counted, frame, name_of, ordered
from backwater.naming import MOST_FLOWS

if TYPE_CHECKING:
    from backwater.exporting import Options
    from backwater.exporting.place import Place
    from backwater.results import Run

TAKES = ("start_unit",)
FILES = ()

PS_PER_US = 10**6
LARGEST = 2**31 - 1
"""htsim reads sizes into signed 32-bit integers."""
DONE = {"last-byte": "recv_done_trigger", "last-ack": "send_done_trigger"}
"""The trigger that a complete transfer fires, by `job.complete_at`."""


def write(run: Run, place: Place, options: Options) -> list[str]:
    """Write the file."""
    found = _flows(run)
    if not found.height:
        raise InputError(f"{name_of(run)} has no flows", "a connection matrix has at least one")
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
    computed = int(released["after_compute"].is_not_null().sum())
    order = "`prio` is the class, 0 to 7; htsim has no classes and takes it for an order"
    return [
        *counted(
            (large, f"sizes above {LARGEST} B, which htsim reads wrongly"),
            (fine, "starts that are no whole microsecond, which htsim_uec cuts off"),
        ),
        *([order] if classes else []),
        *counted(
            (
                released.height,
                "transfers that start by the trigger of one other, the last for which they waited "
                "in this run",
            ),
            (computed, "computations before the start of these transfers, which are lost"),
        ),
    ]


def _flows(run: Run) -> pl.DataFrame:
    """Return all flows; those of jobs have the flow that let them begin, if the run has it."""
    flows = frame(run, "flows").select("src", "dst", "class", "bytes", *IN_ORDER)
    of_jobs = frame(run, "transfers").select("flow_id", "job", "after_flow", "after_compute")
    found = flows.join(of_jobs, on="flow_id", how="left", maintain_order="left").collect()
    # A killed run may not have recorded the flow that let another begin.
    known = pl.col("after_flow").is_in(found["flow_id"].implode())
    return found.with_columns(after_flow=pl.when(known).then("after_flow"))


def _numbers(found: pl.DataFrame, triggers: pl.Series) -> dict[int, int]:
    """Return numbers from 1 for the flows that let others begin, in the order of their starts."""
    letting = found.filter(pl.col("flow_id").is_in(triggers.implode())).sort(IN_ORDER)
    return {flow: number for number, flow in enumerate(letting["flow_id"], 1)}


def _identities(found: pl.DataFrame) -> dict[int, int]:
    """Return flows' numbers from their table; empty if htsim cannot read them or they repeat."""
    numbers = found["flow_id"] % MOST_FLOWS
    if numbers.n_unique() < found.height or not numbers.is_between(1, LARGEST).all():
        return {}
    return dict(zip(found["flow_id"], numbers, strict=True))


def _hosts(run: Run) -> int:
    """Return the number of hosts, from the table of ports, or of a killed run from its scenario."""
    if run.ports.num_rows:
        tiers = frame(run, "ports").filter(pl.col("tier") == "host").select("node").unique()
        return int(tiers.collect().height)
    return Network.of(run).hosts


def _start(start_ps: int, unit: str) -> str:
    if unit == "ps":
        return str(start_ps)
    whole, rest = divmod(start_ps, PS_PER_US)
    return f"{whole}.{rest:06d}".rstrip("0") if rest else str(whole)
