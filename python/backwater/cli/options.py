"""Options that belong together: a dataclass declares a group of them once, for several commands."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from typer.models import ArgumentInfo

from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_EXCLUSIVE = "_exclusive"


def exclusive(options: str, other: str, hint: str) -> Callable[[T], T]:
    """Declare for a command or a group that each of `options` excludes the option `other`."""

    def declare(what: T) -> T:
        pairs = [(option, other, hint) for option in options.split()]
        setattr(what, _EXCLUSIVE, [*pairs, *getattr(what, _EXCLUSIVE, [])])
        return what

    return declare


def given(group: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass of options
    """Return the options of a group that the command line has, by name, with their values."""
    values = {_name(one): getattr(group, one.name) for one in _parameters(type(group))}
    return {name: value for name, value in values.items() if value is not None}


def words(group: Any) -> list[str]:  # noqa: ANN401 - a dataclass of options
    """Return the options of a group as words of a command line."""
    found = []
    for name, value in given(group).items():
        for one in value if isinstance(value, list) else [value]:
            found += [name, one]
    return found


def flat(command: Callable[..., T]) -> Callable[..., T]:
    """Return a command that takes the options of its groups one by one, as typer needs them.

    It raises `InputError` if two options exclude each other.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: one.annotation
        for name, one in signature.parameters.items()
        if dataclasses.is_dataclass(one.annotation)
    }
    members = {name: _parameters(group) for name, group in groups.items()}
    parameters = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, own in signature.parameters.items()
        for one in members.get(name, [own])
    ]
    names = {one.name: _name(one) for one in parameters}
    exclusions = [
        one for what in (command, *groups.values()) for one in getattr(what, _EXCLUSIVE, [])
    ]

    @functools.wraps(command)
    def flattened(**values: Any) -> T:  # noqa: ANN401 - as the options have it
        # A flag that the command line lacks is False, another option None.
        present = {
            names[key] for key, one in values.items() if one is not None and one is not False
        }
        for option, other, hint in exclusions:
            if {option, other} <= present:
                raise InputError(f"{option} and {other} exclude each other", hint)
        for name, group in groups.items():
            values[name] = group(**{one.name: values.pop(one.name) for one in members[name]})
        return command(**values)

    vars(flattened)["__signature__"] = signature.replace(parameters=parameters)
    return flattened


def _parameters(group: type) -> list[inspect.Parameter]:
    return list(inspect.signature(group, eval_str=True).parameters.values())


def _name(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter on the command line."""
    [info] = parameter.annotation.__metadata__
    return str(info.metavar if isinstance(info, ArgumentInfo) else info.default)
