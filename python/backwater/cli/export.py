"""`backwater export`: a run's results as files that other tools read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from backwater.cli.arguments import Force
from backwater.cli.output import message
from backwater.exporting import FORMATS
from backwater.journal import name_of

PANEL = "Options of some formats"


@dataclass(frozen=True)
class FormatOptions:
    """Options of some formats, with the names of their parameters in `exporting.export`."""

    ids: Annotated[
        str | None,
        typer.Option(
            "--ids",
            metavar="ip|node",
            rich_help_panel=PANEL,
            help="fct, ns3: hosts and ports as in HPCC (ip, the default) or ConWeave (node).",
        ),
    ] = None
    incast: Annotated[
        list[str] | None,
        typer.Option(
            "--incast",
            metavar="GROUP",
            rich_help_panel=PANEL,
            help="fct, ns3: flows of this group get port 200, not 100, by which HPCC's scripts "
            "know an incast; may be given more than once.",
        ),
    ] = None
    standalone: Annotated[
        str | None,
        typer.Option(
            "--standalone",
            metavar="ns3|ideal",
            rich_help_panel=PANEL,
            help="fct: the time of a flow alone by that code's formula (ns3, the default), or to "
            "the last byte as Backwater knows it (ideal).",
        ),
    ] = None
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            metavar="TIME",
            rich_help_panel=PANEL,
            help='fct, pfc, qlen, ns3: the time written for 0; by default "2 s", as in that code.',
        ),
    ] = None
    every: Annotated[
        str | None,
        typer.Option(
            "--every",
            metavar="TIME",
            rich_help_panel=PANEL,
            help='qlen: time between two blocks; "100 ms" by default.',
        ),
    ] = None
    start_unit: Annotated[
        str | None,
        typer.Option(
            "--start-unit",
            metavar="ps|us",
            rich_help_panel=PANEL,
            help="cm: unit of starts, ps by default; htsim_uec reads us.",
        ),
    ] = None
    job: Annotated[
        str | None,
        typer.Option(
            "--job", metavar="LABEL", rich_help_panel=PANEL, help="goal: which job, if several."
        ),
    ] = None
    instance: Annotated[
        int | None,
        typer.Option(
            "--instance",
            metavar="N",
            min=0,
            rich_help_panel=PANEL,
            help="goal: which instance of the job; 0 by default.",
        ),
    ] = None


def export(
    directory: Annotated[
        str,
        typer.Argument(metavar="DIR", help="A directory of `backwater run --out`, or DIR/seed-N."),
    ],
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help=f"One of {', '.join(FORMATS)}.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "--out",
            "-o",
            metavar="FILE|DIR",
            help="The output; - is stdout. `ns3` and `csv` need the name of a directory.",
        ),
    ] = "-",
    seed: Annotated[
        int | None,
        typer.Option("--run", metavar="SEED", min=0, help="Seed of a run of a series."),
    ] = None,
    force: Force = False,
    *,
    options: FormatOptions,
) -> int:
    """Write the results of a run in the format of another tool.

    fct, pfc, qlen: files that the ns-3 code of HPCC and ConWeave writes. ns3: the topology and
    flows that it reads. cm: a connection matrix of htsim. goal: a job's messages and computations.
    perfetto: a trace that ui.perfetto.dev opens. csv: all tables, with units in the names of
    columns. stderr reports what a format lacks.
    """
    from backwater.exporting import export as write
    from backwater.manifest import judging

    folder = Path(directory) if seed is None else Path(directory) / name_of(seed)
    with judging(folder):
        notes = write(
            folder,
            to,
            output,
            force=force,
            **{name: value for name, value in vars(options).items() if value is not None},
        )
    message(*(f"note: {one}" for one in notes))
    if output != "-":
        message(f"export: {output}")
    return 0
