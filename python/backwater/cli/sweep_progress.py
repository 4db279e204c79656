"""Progress of a sweep, on stderr: a live line on a terminal, JSON lines if asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.cli.progress import showing
from backwater.wording import duration, three

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from backwater.cli.progress import Display
    from backwater.sweep.drive import State


def line(state: State) -> str:
    """Describe the progress of a sweep for people."""
    share = 100 * (state.done + state.failed) // max(1, state.points)
    parts = [f"{share} %", f"{state.done} of {state.points} points"]
    if state.failed:
        parts.append(f"{state.failed} failed")
    parts.append(f"{state.running} with {state.workers} workers")
    parts.append(f"{three(state.rate)} points/s")
    if state.seconds_left is not None:
        parts.append(f"{duration(state.seconds_left)} left")
    return " · ".join(parts)


def _share(state: State) -> float | None:
    return (state.done + state.failed) / state.points if state.points else None


def _told(state: State) -> dict[str, Any]:
    return state.told()


def _over(state: State) -> bool:
    return state.done + state.failed == state.points


def watching(*, json: bool) -> AbstractContextManager[Display[State]]:
    """Provide a display of a sweep within a `with` block; `json`: as lines of JSON."""
    return showing(line, _share, _told, _over, json=json)
