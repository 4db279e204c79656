"""How errors of scenarios name what was given: as options of the command, or as Python has it.

The core names `--set` and `--with`, as most people give them. Whoever calls Python has given
`.set(…)` and `.enable(…)`.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from backwater._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMAND: ContextVar[bool] = ContextVar("command", default=False)
# A value in quotes has blanks; of the place of an error all that follows is the value.
_SET = re.compile(r"--set ([^\s=]+)=(\"[^\"]*\"|\S+)")
_NAMED = re.compile(r"--(with|variant) ([\w-]+)")
_BARE = re.compile(r"--(set|with)\b")
_METHODS = {"set": ".set", "with": ".enable", "variant": ".variant"}
# The core's hint that says both.
_BOTH = re.compile(r"--with (\w+) switches it on, in Python (\.enable\(\"\w+\"\))")


@contextmanager
def as_command() -> Iterator[None]:
    """Have errors name options: a command is what runs, or a part of one elsewhere."""
    before = _COMMAND.set(True)
    try:
        yield
    finally:
        _COMMAND.reset(before)


@contextmanager
def spoken() -> Iterator[None]:
    """Have an error of a scenario name what was given as whoever has called does."""
    try:
        yield
    except ScenarioError as error:
        if not _COMMAND.get():
            _in_python(error)
        raise


def _in_python(error: ScenarioError) -> None:
    text, place, hint = str(error), error.file, error.hint
    if place is not None and place.startswith("--"):
        key, _, value = place.removeprefix("--set ").partition("=")
        own = f'.set("{key}", {_quoted(value)})' if place.startswith("--set ") else _plain(place)
        text = own + text.removeprefix(place)
        error.file = own
    if hint is not None:
        error.hint = _plain(hint)
        text = text.removesuffix(hint) + error.hint if text.endswith(hint) else text
    # Never in the excerpt of a file, which is as somebody has written it.
    reason = _plain(error.reason)
    text, error.reason = text.replace(error.reason, reason, 1), reason
    error.args = (text,)


def _plain(text: str) -> str:
    text = _BOTH.sub(r"\2 switches it on", text)
    text = _SET.sub(lambda found: f'.set("{found[1]}", {_quoted(found[2].strip(chr(34)))})', text)
    text = _NAMED.sub(lambda found: f'{_METHODS[found[1]]}("{found[2]}")', text)
    return _BARE.sub(lambda found: _METHODS[found[1]], text)


def _quoted(value: str) -> str:
    return f"'{value}'" if '"' in value else f'"{value}"'
