"""Notices of work that takes long, for a listener such as the command."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING

from backwater.wording import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from backwater.results import Run

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def heard(listener: Callable[[str], None]) -> Iterator[None]:
    """Send notices to a listener."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def say(what: str) -> None:
    """Send a notice to the listener, if there is one."""
    if (listener := _LISTENER.get()) is not None:
        listener(what)


def say_again(run: Run, what: str) -> None:
    """Send a notice that a run is about to be repeated, and with what."""
    # A manifest has whole seconds: a difference of one may be any time below two.
    took = seconds(run)
    known = f"; the run took {duration(took)}, and recording takes longer" if took >= 2 else ""
    where = f"{run.directory}: " if run.directory else ""
    say(f"{where}repeats the run with {what}{known}")


def seconds(run: Run) -> float:
    """Return the wall time of a run, in s, to within a second; 0 if it is unknown."""
    ends = [run.manifest.get(name) for name in ("started", "ended")]
    if None in ends:
        return 0.0
    began, ended = (datetime.fromisoformat(str(one)) for one in ends)
    return (ended - began).total_seconds()
