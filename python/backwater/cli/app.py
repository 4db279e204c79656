"""The commands, gathered."""

from __future__ import annotations

import functools
import inspect
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


def _add(name: str, command: Callable[..., int | None]) -> None:
    """Add a command; its help has the width of the terminal, not that of the source."""
    told = inspect.getdoc(command) or ""
    paragraphs = (" ".join(part.split()) for part in told.split("\n\n"))
    app.command(name, help="\n\n".join(paragraphs))(command)


_add("run", run.run)
_add("compare", compare.compare)
_add("why", _stoppable(why.why))
_add("jobs", jobs.jobs)
_add("check", describe.check)
_add("explain", describe.explain)
_add("list", describe.list_items)
_add("report", _stoppable(report.report))
_add("reproduce", reproduce.reproduce)
app.add_typer(advise.app, name="advise")
app.add_typer(pcap.app, name="pcap")
_add("new", describe.new)
_add("schema", describe.schema)
