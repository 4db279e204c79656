"""Tables as CSV: one file per table, numbers unchanged, units in the names of columns.

Two files are added: `messages.csv` lists the messages of jobs in the order of their starts, and
`volume.csv` has what each port put on its link, with a column for jobs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from backwater.directory import TABLES
from backwater.exporting.rows import frame
from backwater.stored import columns

if TYPE_CHECKING:
    from backwater.exporting import Options
    from backwater.exporting.place import Place
    from backwater.results import Run

TAKES = ()
MESSAGES, VOLUME = "messages", "volume"
FILES = tuple(f"{name}.csv" for name in (*TABLES, MESSAGES, VOLUME))

SUFFIXES = {
    "ps": "ps",
    "B": "bytes",
    "b/s": "bps",
    "frames": "frames",
    "packets": "packets",
    "pauses": "pauses",
}
"""The ending of a column's name, by the unit of its values."""


def write(run: Run, place: Place, options: Options) -> list[str]:  # noqa: ARG001 - of all formats
    """Write the files; CSV can express everything."""
    for table in TABLES:
        _write(place, table, frame(run, table), _names(table))
    names = _names("transfers")
    kept = ["job", "instance", "round", "step", "communicator", "phase"]
    kept += ["src_rank", "dst_rank", "src", "dst", "bytes", "start_ps", "end_ps", "flow_id"]
    messages = frame(run, "transfers").sort("start_ps", "flow_id").select(kept)
    _write(place, MESSAGES, messages, names)
    _write(place, VOLUME, _volume(run), {})
    return []


def _names(table: str) -> dict[str, str]:
    """Return the name of each column, with its unit at the end unless it is part of the name."""
    names = {}
    for field in columns()[table]:
        unit = (field.metadata or {}).get(b"unit", b"").decode()
        suffix = SUFFIXES.get(unit)
        parts = field.name.split("_")
        names[field.name] = field.name if suffix in (None, *parts) else f"{field.name}_{suffix}"
    return names


def _write(place: Place, name: str, found: pl.LazyFrame, names: dict[str, str]) -> None:
    kept = {old: names.get(old, old) for old in found.collect_schema().names()}
    with place.binary(f"{name}.csv") as file:
        found.rename(kept).sink_csv(file, engine="streaming")


def _volume(run: Run) -> pl.LazyFrame:
    """Return what each port put on its link: all frames, and data of jobs."""
    ports = frame(run, "ports").select(
        "node", "port", "peer", "rate_bps", frames="tx_frames", bytes="tx_bytes"
    )
    counts = ("frames", "bytes", "payload_bytes")
    sums = [pl.col(name).sum().alias(f"job_{name}") for name in counts]
    of_jobs = frame(run, "job_links").group_by("node", "port").agg(sums)
    joined = ports.join(of_jobs, on=["node", "port"], how="left", maintain_order="left")
    return joined.with_columns(pl.col(f"job_{name}").fill_null(0) for name in counts)
