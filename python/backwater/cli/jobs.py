"""`backwater jobs`: the messages of a run's jobs, and their volume on each link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater.cli.arguments import Json
from backwater.cli.output import listing, message, put, write_json
from backwater.cli.targets import Kind, writable
from backwater.errors import ResultError
from backwater.findings import undone
from backwater.naming import flow_in_group, host_names
from backwater.wording import us_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa


def jobs(
    directory: Annotated[
        str,
        typer.Argument(metavar="DIR", help="A directory of `backwater run --out`, or DIR/seed-N."),
    ],
    most: Annotated[
        int, typer.Option("--most", min=1, help="Show at most this many rows of each list.")
    ] = 10,
    every: Annotated[bool, typer.Option("--all", help="Show all rows.")] = False,
    json: Json = None,
) -> None:
    """List the jobs of a run: their completion times, their volume on each link, their messages.

    The link with most bytes comes first; messages are in the order of their starts. A column with
    the same value in all rows becomes a line above them. --json writes all rows of the tables
    `jobs`, `transfers` and `job_links`.
    """
    from backwater.manifest import judging
    from backwater.reading import open_run
    from backwater.results import Run

    folder = Path(directory)
    with judging(folder):
        run = open_run(folder, Run)
        if not run.jobs.num_rows and not run.transfers.num_rows:
            raise ResultError(
                f"{directory}: the run has no jobs", "its scenario has no [[job]], or it was killed"
            )
        writable(json, Kind.JSON)
        message(*undone(run.manifest))
        names = host_names(run.scenario)
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
    shown = None if every else most
    _list(
        "Jobs",
        instances,
        shown,
        {
            "job": lambda row: row["job"],
            "instance": _plain("instance"),
            "ranks": _plain("ranks"),
            "rounds complete": lambda row: f"{row['complete_rounds']} of {row['rounds']}",
            "completion us": lambda row: us_of(row["duration_ps"]),
        },
        whole=True,
    )
    _list(
        "Volume on links",
        job_links,
        shown,
        {
            "link": lambda row: f"{row['node']} port {row['port']} (to {row['peer']})",
            "job/step": lambda row: f"{row['job']}/{row['step']}",
            **{name: _plain(name) for name in ("frames", "bytes")},
            "payload bytes": _plain("payload_bytes"),
        },
    )
    _list(
        "Messages",
        transfers,
        shown,
        {
            "flow": lambda row: str(flow_in_group(row["flow_id"])),
            "job/step": lambda row: f"{row['job']}/{row['step']}",
            **{name: _plain(name) for name in ("instance", "round", "phase")},
            "from": _rank("src", names),
            "to": _rank("dst", names),
            "bytes": _plain("bytes"),
            "start us": lambda row: us_of(row["start_ps"]),
            "end us": lambda row: us_of(row["end_ps"]),
            "after": _after,
        },
    )


def _sorted(table: pa.Table, *order: tuple[str, Any]) -> pa.Table:
    return table.sort_by(list(order)) if table.num_rows else table


def _list(
    title: str,
    table: pa.Table,
    most: int | None,
    columns: dict[str, Callable[[dict[str, Any]], str]],
    *,
    whole: bool = False,
) -> None:
    """Print rows of a table. `whole`: also the columns that are the same in all rows."""
    found = table.slice(0, most).to_pylist()
    cells = {name: [cell(row) for row in found] for name, cell in columns.items()}
    # The first column names the row.
    first = next(iter(columns))
    alike = {
        name: given[0]
        for name, given in cells.items()
        if len(given) > 1 and len(set(given)) == 1 and name != first and not whole
    }
    put(title, style="bold")
    if alike:
        put("The same in all rows: " + ", ".join(f"{name} {cell}" for name, cell in alike.items()))
    left = [name for name in columns if name not in alike]
    listing(left, list(zip(*(cells[name] for name in left), strict=True)), "")
    if len(found) < table.num_rows:
        put(f"{len(found)} of {table.num_rows}; --all or --most N shows more", style="dim")
    put("")


def _plain(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda row: str(row[name])


def _rank(side: str, names: Callable[[int], str]) -> Callable[[dict[str, Any]], str]:
    """Return a cell: the host at a message's end, and its rank if that is another number."""

    def cell(row: dict[str, Any]) -> str:
        host, rank = row[side], row[f"{side}_rank"]
        return names(host) if host == rank else f"{names(host)} (rank {rank})"

    return cell


def _after(row: dict[str, Any]) -> str:
    """Return what a message waited for: a flow, a computation, or both; else the job's start."""
    flow, compute = row["after_flow"], row["after_compute"]
    parts = [None if flow is None else str(flow_in_group(flow)), compute]
    return " + ".join(one for one in parts if one is not None) or "start"
