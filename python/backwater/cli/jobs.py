"""`backwater jobs`: the messages of a run's jobs, and what they put on each link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater.cli.arguments import Json
from backwater.cli.output import listing, message, put, write_json
from backwater.cli.targets import Kind, writable
from backwater.errors import InputError
from backwater.findings import undone

if TYPE_CHECKING:
    import pyarrow as pa


def jobs(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="What `backwater run --out` wrote.")
    ],
    most: Annotated[
        int, typer.Option("--most", min=1, help="Rows of each list that are shown.")
    ] = 40,
    json: Json = None,
) -> None:
    """List the jobs of a run: when they were complete, their messages, the volume on each link.

    Messages are in the order in which they began; links have the one with most bytes first. --json
    has all rows, as the tables `jobs`, `transfers` and `job_links` have them.
    """
    from backwater.manifest import judging
    from backwater.reading import open_run
    from backwater.results import Run

    writable(json, Kind.JSON)
    folder = Path(directory)
    with judging(folder):
        run = open_run(folder, Run)
        if not run.jobs.num_rows and not run.transfers.num_rows:
            raise InputError(
                f"{directory}: the run has no jobs", "its scenario has no [[job]], or it was killed"
            )
        message(*undone(run.manifest))
        instances = run.jobs
        transfers = _sorted(run.transfers, ("start_ps", "ascending"), ("flow_id", "ascending"))
        job_links = _sorted(
            run.job_links, ("bytes", "descending"), ("node", "ascending"), ("port", "ascending")
        )
    if json is not None:
        tables = {"jobs": instances, "transfers": transfers, "job_links": job_links}
        write_json(json, {name: table.to_pylist() for name, table in tables.items()})
    if json == "-":
        return
    _list(
        ("job", "instance", "ranks", "rounds complete", "completion us"),
        [
            [
                row["job"],
                str(row["instance"]),
                str(row["ranks"]),
                f"{row['complete_rounds']} of {row['rounds']}",
                _us(row["duration_ps"]),
            ]
            for row in instances.slice(0, most).to_pylist()
        ],
        "Jobs",
        instances.num_rows,
    )
    _list(
        (
            "flow",
            "job/step",
            "instance",
            "round",
            "phase",
            "from",
            "to",
            "bytes",
            "start us",
            "end us",
            "after",
        ),
        [
            [
                str(row["flow_id"]),
                f"{row['job']}/{row['step']}",
                *(str(row[name]) for name in ("instance", "round", "phase")),
                f"{row['src_rank']} (h{row['src']})",
                f"{row['dst_rank']} (h{row['dst']})",
                str(row["bytes"]),
                _us(row["start_ps"]),
                _us(row["end_ps"]),
                _after(row),
            ]
            for row in transfers.slice(0, most).to_pylist()
        ],
        "Messages",
        transfers.num_rows,
    )
    _list(
        ("link", "job/step", "frames", "bytes", "payload bytes"),
        [
            [
                f"{row['node']} port {row['port']} (to {row['peer']})",
                f"{row['job']}/{row['step']}",
                *(str(row[name]) for name in ("frames", "bytes", "payload_bytes")),
            ]
            for row in job_links.slice(0, most).to_pylist()
        ],
        "Volume on links",
        job_links.num_rows,
    )


def _sorted(table: pa.Table, *order: tuple[str, Any]) -> pa.Table:
    return table.sort_by(list(order)) if table.num_rows else table


def _list(columns: tuple[str, ...], rows: list[list[str]], title: str, of: int) -> None:
    listing(columns, rows, title)
    if len(rows) < of:
        put(f"{len(rows)} of {of}; --most N shows more, --json has all", style="dim")
    put("")


def _us(time_ps: int | None) -> str:
    from backwater.numbers.units import PS_PER_US

    return "-" if time_ps is None else f"{time_ps / PS_PER_US:.3f}"


def _after(row: dict[str, Any]) -> str:
    """Say what let a message begin."""
    flow = "start of the job" if row["after_flow"] is None else f"flow {row['after_flow']}"
    return flow if row["after_compute"] is None else f"{flow} + {row['after_compute']}"
