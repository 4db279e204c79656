"""The commands. Each is imported when it is named, so that no command loads what another needs."""

from __future__ import annotations

import functools
import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater import _core
from backwater.cli.options import flat
from backwater.cli.output import message
from backwater.errors import Interrupted, stopped_by

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Name, module and function (or group) of every command, in the order of the help.
COMMANDS = {
    "run": ("run", "run"),
    "sweep": ("sweep", "sweep"),
    "query": ("query", "query"),
    "status": ("query", "status"),
    "compare": ("compare", "compare"),
    "why": ("why", "why"),
    "jobs": ("jobs", "jobs"),
    "check": ("describe", "check"),
    "explain": ("describe", "explain"),
    "list": ("describe", "list_items"),
    "report": ("report", "report"),
    "deck": ("deck", "deck"),
    "export": ("export", "export"),
    "reproduce": ("reproduce", "reproduce"),
    "bench": ("bench", "bench"),
    "advise": ("advise", "app"),
    "pcap": ("pcap", "app"),
    "import": ("import_", "import_"),
    "new": ("describe", "new"),
    "schema": ("describe", "schema"),
}
LONGEST = 20
"""Digits of 2^64: the number of an option has fewer."""


def named(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the commands that arguments may need: the one that they name, or all for the help."""
    first = arguments[0] if arguments else ""
    if first == "--version":
        return ()
    return (first,) if first in COMMANDS else tuple(COMMANDS)


@functools.cache
def built(names: tuple[str, ...]) -> Callable[..., object]:
    """Build the program with some of its commands, once for a process that runs many."""
    app = typer.Typer(
        help="Simulate congestion management in data-centre Ethernet, packet by packet.",
        epilog="Exit codes: 0 done, 1 a run failed or a study's required number or claim does not "
        "agree, 2 bad input, 3 a run is incomplete, 130 stopped by Ctrl-C, 143 by SIGTERM.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(_root)
    for name in names:
        module, attribute = COMMANDS[name]
        _add(app, name, getattr(import_module(f"backwater.cli.{module}"), attribute))
    program = typer.main.get_command(app)
    _take_plain_values(program)
    return program


def _version(wanted: bool) -> None:
    if wanted:
        for name, value in _core.version().items():
            print(f"{name} {value}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show versions.")
    ] = False,
) -> None:
    pass


def _stoppable(command: Callable[..., int]) -> Callable[..., int]:
    """Have a command report what stopped its runs. typer alone would always end with 130."""

    @functools.wraps(command)
    def stoppable(**options: object) -> int:
        try:
            return command(**options)
        except Interrupted as stop:
            message(stopped_by(stop.number))
            return stop.exit_code

    return stoppable


def _add(app: typer.Typer, name: str, command: Any) -> None:  # noqa: ANN401 - a function or a group
    """Add a command. Its help is wrapped at the width of the terminal, not of the source."""
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
        return
    about = inspect.getdoc(command) or ""
    paragraphs = (" ".join(part.split()) for part in about.split("\n\n"))
    app.command(name, help="\n\n".join(paragraphs))(_stoppable(flat(command)))


class _Plain:
    """Converts texts and whole numbers, and leaves other values to typer.

    typer imports pydantic, which would be half of the time of a small command.
    """

    def __init__(self, otherwise: Callable[[], Any]) -> None:
        self._otherwise = otherwise

    def coerce(self, value: Any, param: Any, ctx: object) -> Any:  # noqa: ANN401 - as typer has it
        """Return the value of a parameter."""
        many = param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        kind = param.type_descriptor.annotation
        if kind is str and isinstance(value, str):
            return value
        if kind == list[str] and all(isinstance(one, str) for one in value):
            return list(value)
        bounds = param.type_descriptor.parameter_info
        digits = isinstance(value, str) and len(value) < LONGEST and value.isascii()
        if (
            kind is int
            and digits
            and value.isdecimal()
            and bounds.max is None
            and int(value) >= (bounds.min or 0)
        ):
            return int(value)
        return self._otherwise().coerce(value, param=param, ctx=ctx)


def _take_plain_values(command: Any) -> None:  # noqa: ANN401 - typer's commands have no public type
    """Have the parameters of a command and its subcommands take plain values without typer."""
    given = command.get_params

    def params(context: object) -> list[Any]:
        found: list[Any] = given(context)
        for param in found:
            otherwise = getattr(param, "get_runtime_param", None)
            if otherwise is not None and not isinstance(otherwise, functools.partial):
                param.get_runtime_param = functools.partial(_Plain, otherwise)
        return found

    command.get_params = params
    for below in getattr(command, "commands", {}).values():
        _take_plain_values(below)
