"""Rewrites errors of scenarios for Python: the core names options of the command in them.

The core writes `--set` and `--with`; a caller of the Python package knows `.set(…)` and
`.enable(…)`.
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
# A value in quotes has blanks. In the place of an error, the value is everything that follows.
_SET = re.compile(r"--set ([^\s=]+)=(\"[^\"]*\"|\S+)")
_NAMED = re.compile(r"--(with|variant) ([\w-]+)")
_BARE = re.compile(r"--(set|with)\b")
_METHODS = {"set": ".set", "with": ".enable", "variant": ".variant"}
# A hint of the core that names both.
_BOTH = re.compile(r"--with (\w+) switches it on, in Python (\.enable\(\"\w+\"\))")


@contextmanager
def as_command() -> Iterator[None]:
    """Let errors name options: a command runs, or a part of one in another process."""
    before = _COMMAND.set(True)
    try:
        yield
    finally:
        _COMMAND.reset(before)


@contextmanager
def spoken() -> Iterator[None]:
    """Make errors of scenarios name options or methods, as the caller uses them."""
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
    # The excerpt of a file stays as its author wrote it.
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
