"""`backwater jobs`: the messages of a run's jobs, and what they put on each link."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from backwater.cli.arguments import Json
from backwater.cli.output import listing, put, writable, write_json
from backwater.errors import InputError


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

    writable(json)
    folder = Path(directory)
    with judging(folder):
        run = open_run(folder, Run)
        if not run.jobs.num_rows and not run.transfers.num_rows:
            raise InputError(
                f"{directory}: the run has no jobs", "its scenario has no [[job]], or it was killed"
            )
        instances = run.jobs.to_pylist()
        order: list[Any] = [("start_ps", "ascending"), ("flow_id", "ascending")]
        table = run.transfers
        messages = table.sort_by(order).to_pylist() if table.num_rows else []
        table = run.job_links
        order = [("bytes", "descending"), ("node", "ascending"), ("port", "ascending")]
        links = table.sort_by(order).to_pylist() if table.num_rows else []
    if json is not None:
        write_json(json, {"jobs": instances, "transfers": messages, "job_links": links})
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
            for row in instances[:most]
        ],
        "Jobs",
        len(instances),
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
            for row in messages[:most]
        ],
        "Messages",
        len(messages),
    )
    _list(
        ("link", "job/step", "frames", "bytes", "payload bytes"),
        [
            [
                f"{row['node']} port {row['port']} (to {row['peer']})",
                f"{row['job']}/{row['step']}",
                *(str(row[name]) for name in ("frames", "bytes", "payload_bytes")),
            ]
            for row in links[:most]
        ],
        "Volume on links",
        len(links),
    )


def _list(columns: tuple[str, ...], rows: list[list[str]], title: str, of: int) -> None:
    listing(columns, rows, title)
    if len(rows) < of:
        put(f"{len(rows)} of {of}; --most N shows more, --json has all", style="dim")
    put("")


def _us(time_ps: int | None) -> str:
    from backwater.stats import PS_PER_US

    return "-" if time_ps is None else f"{time_ps / PS_PER_US:.3f}"


def _after(row: dict[str, Any]) -> str:
    """Say what let a message begin."""
    flow = "start of the job" if row["after_flow"] is None else f"flow {row['after_flow']}"
    return flow if row["after_compute"] is None else f"{flow} + {row['after_compute']}"
