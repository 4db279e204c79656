"""The commands, gathered."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated

import typer

from backwater import _core
from backwater.cli import advise, compare, describe, jobs, pcap, report, reproduce, run, why
from backwater.cli.output import message
from backwater.errors import Interrupted, stopped_by

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(
    help="Simulate congestion management in data-centre Ethernet, packet by packet.",
    epilog="Exit codes: 0 done, 1 the run failed or a study's required row or claim is off, "
    "2 bad input, 3 a run is incomplete, 130 stopped by Ctrl-C, 143 by SIGTERM.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        for name, value in _core.version().items():
            print(f"{name} {value}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show versions.")
    ] = False,
) -> None:
    pass


def _stoppable(command: Callable[..., int]) -> Callable[..., int]:
    """Have a command say what has stopped its runs. Left to typer, it would end with 130 always."""

    @functools.wraps(command)
    def told(*arguments: object, **options: object) -> int:
        try:
            return command(*arguments, **options)
        except Interrupted as stop:
            message(stopped_by(stop.number))
            return stop.exit_code

    return told


app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("why")(_stoppable(why.why))
app.command("jobs")(jobs.jobs)
app.command("check")(describe.check)
app.command("explain")(describe.explain)
app.command("list")(describe.list_items)
app.command("report")(_stoppable(report.report))
app.command("reproduce")(reproduce.reproduce)
app.add_typer(advise.app, name="advise")
app.add_typer(pcap.app, name="pcap")
app.command("new")(describe.new)
app.command("schema")(describe.schema)
