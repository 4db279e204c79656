"""`backwater import`: files of other tools, turned into scenarios."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from backwater.cli.arguments import Force, Json
from backwater.cli.output import message, put, warn, write_json
from backwater.cli.targets import Kind, writable
from backwater.cli.views import View

_COLUMNS = {
    "profile": "profile",
    "rate_gbps": "Gb/s",
    "cable_m": "m",
    "first_pause_frames": "first\npause",
    "first_drop_frames": "first\ndrop",
    "pause_end_frames": "pause\nends",
    "pause_2_frames": "group\n2",
    "pause_3_frames": "group\n3",
    "pause_4_frames": "group\n4",
}
"""Columns of the table of predictions, each with its header."""


def import_(
    files: Annotated[
        list[str], typer.Argument(help="Files that belong together.", metavar="FILE...")
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="SCENARIO",
            help="Scenario to write; by default FILE with .toml.",
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - what the option is called
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="The format of the files, if their content is not to decide; `backwater list "
            "formats` lists the names.",
        ),
    ] = None,
    command: Annotated[
        str,
        typer.Option(
            "--command",
            metavar="LINE",
            help='The command line that the files were for, as in "htsim_uec -linkspeed 200000".',
        ),
    ] = "",
    start_unit: Annotated[
        str | None,
        typer.Option(
            "--start-unit", metavar="us|ps", help="Unit of start times in an htsim matrix."
        ),
    ] = None,
    zero_at: Annotated[
        str | None,
        typer.Option(
            "--zero-at",
            metavar="TIME",
            help='Time in a list of flows of HPCC that becomes 0 s in the scenario, as in "2 s"; '
            "by default 2 s, or that of the first flow if it is earlier.",
        ),
    ] = None,
    fabric: Annotated[
        str | None,
        typer.Option(
            "--fabric",
            metavar="FILE",
            help="A scenario whose topology, switches and mechanisms the workload uses.",
        ),
    ] = None,
    servers: Annotated[
        int | None,
        typer.Option(
            "--servers",
            metavar="N",
            help="Number of servers for an NCCL topology, which describes one; by default 2.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help='Packet memory of the configured switch, as in "64 MB".',
        ),
    ] = None,
    response: Annotated[
        str | None,
        typer.Option(
            "--response",
            metavar="TIME",
            help="Time in which neighbours of that switch obey a pause, from its arrival to the "
            'stop, as in "500 ns"; by default the longest that IEEE 802.3 allows at the rate.',
        ),
    ] = None,
    asic: Annotated[
        str | None,
        typer.Option(
            "--asic",
            metavar="CHIP",
            help="Chip of that switch, as in tomahawk5; `backwater list silicon` lists the names. "
            "By default that of known hardware.",
        ),
    ] = None,
    json: Json = None,
    force: Force = False,
) -> int:
    """Turn files of another tool into a commented scenario, with tables beside it.

    The content of a file shows its format. stderr reports with file and line what is ignored,
    assumed or not quite the same here; `--json` writes it with all names and lines. `run` and
    `check` also take these files in place of a scenario if they contain all that a scenario needs;
    `compare` takes one file.
    """
    from backwater.import_files import Options
    from backwater.importing import brought

    target = Path(out) if out is not None else Path(Path(files[0]).stem + ".toml")

    def check_outputs() -> None:
        writable(str(target), Kind.SCENARIO, *files)
        writable(json, Kind.JSON, *files)

    done = brought(
        files,
        target,
        check_outputs,
        Options(format, start_unit, zero_at, command, fabric, servers, memory, response, asic),
        force=force,
    )
    for note in done.notes:
        message(str(note))
    warn(done.warnings)
    if json is not None:
        write_json(json, {**dataclasses.asdict(done), "path": str(done.path)})
    if done.predictions:
        put("Predicted, in frames of 64 B, one cell each:")
        put(_table(done.predictions))
    message(f"{target}: written; `backwater run {target}` runs it")
    return 0


def _table(predictions: list[dict[str, str]]) -> View:
    """Return the table of predictions: a row for each lossless profile."""
    view = View()
    for name, header in _COLUMNS.items():
        cells = [row[name] or "-" for row in predictions]
        view.add_column(header, cells, justify="left" if name == "profile" else "right")
    return view
