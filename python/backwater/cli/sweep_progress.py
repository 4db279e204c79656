"""Progress of a sweep, on stderr: a live line on a terminal, JSON lines if asked for."""

from __future__ import annotations

import contextlib
import json as json_
import sys
import time
from typing import TYPE_CHECKING

from backwater.cli.output import message
from backwater.wording import duration, three

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress

    from backwater.sweep.drive import State, Watching

LINE_SECONDS = 1.0


class _Quiet:
    """Says nothing."""

    def stands(self, state: State) -> None:
        """Take note of nothing."""


class _Lines:
    """JSON lines, for programs that watch."""

    def __init__(self) -> None:
        self._next = 0.0

    def stands(self, state: State) -> None:
        """Write a line a second, and one when all is over."""
        now = time.monotonic()
        if now >= self._next or state.done + state.failed == state.points:
            self._next = now + LINE_SECONDS
            message(json_.dumps({"event": "progress", **state.told()}))


class _Bar:
    """One live line on a terminal."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, text="")

    def stands(self, state: State) -> None:
        """Renew it."""
        over = state.done + state.failed
        self._bar.update(self._task, total=state.points, completed=over, text=line(state))


def line(state: State) -> str:
    """Say where a sweep stands, for people."""
    over = state.done + state.failed
    share = 100 * over // max(1, state.points)
    parts = [f"{share} %", f"{state.done} of {state.points} points"]
    if state.failed:
        parts.append(f"{state.failed} failed")
    parts.append(f"{state.running} with {state.workers} workers")
    parts.append(f"{three(state.rate)} points/s")
    if state.seconds_left is not None:
        parts.append(f"{duration(state.seconds_left)} left")
    return " · ".join(parts)


@contextlib.contextmanager
def watching(*, json: bool) -> Iterator[Watching]:
    """Give what shows progress for the time of a `with` block: nothing where nobody looks."""
    if json:
        yield _Lines()
        return
    if not sys.stderr.isatty():
        yield _Quiet()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.fields[text]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar)
