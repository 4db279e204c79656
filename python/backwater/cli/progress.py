"""Progress of runs, on stderr: a live line on a terminal, or JSON lines for programs."""

from __future__ import annotations

import contextlib
import json as json_
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from backwater.cli.output import message
from backwater.running import fraction
from backwater.wording import count, duration, simulated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich.progress import Progress

    from backwater.running import Standing

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

LINE_SECONDS = 1.0
# Below this share, or with few flows, the time left is unknown: progress comes in leaps.
_LEAST_FRACTION = 0.001
_FEW_FLOWS = 20


class Display(Protocol[T_contra]):
    """Shows a state."""

    def show(self, state: T_contra) -> None:
        """Show it, unless the last one was shown just before."""


@dataclass
class State:
    """The progress of all runs of one command together."""

    jobs: int
    started: float = field(default_factory=time.monotonic)
    ended: int = 0
    running: dict[int, Standing] = field(default_factory=dict)
    past_hops: int = 0
    past_flows: int = 0

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.monotonic() - self.started

    @property
    def fraction(self) -> float | None:
        """The share that is done, by flows or by simulated time; None if the end is unknown."""
        parts = [_share(status) for status in self.running.values()]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) and self.jobs == 1:
            return None
        return min(1.0, (self.ended + sum(known)) / self.jobs)

    @property
    def seconds_left(self) -> float | None:
        """Wall time to the end at the pace so far, in s; None if it is not known yet."""
        share = self.fraction
        if share is None or share < _LEAST_FRACTION or self.seconds < 1:
            return None
        return self.seconds * (1 / share - 1)

    @property
    def hops(self) -> int:
        """Frames put on links so far, ACKs included."""
        return self.past_hops + sum(status.hops for status in self.running.values())

    @property
    def flows_done(self) -> int:
        """Flows complete so far, of all runs."""
        return self.past_flows + sum(status.flows_done for status in self.running.values())

    @property
    def flows_total(self) -> int | None:
        """Flows of the single run; None: several runs, or unknown."""
        if self.jobs > 1:
            return None
        return next((status.flows_total for status in self.running.values()), None)

    @property
    def time_ps(self) -> int:
        """Simulated time of the run that is furthest, ps."""
        return max((status.time_ps for status in self.running.values()), default=0)


def _share(status: Standing) -> float | None:
    """Return the share of a run that is done; None for few flows: one may be all the work."""
    few = status.flows_total is not None and status.flows_total < _FEW_FLOWS
    return None if few and not status.end_ps else fraction(status)


class Reporter:
    """Collects the progress that the threads of runs report, and shows it."""

    def __init__(self, jobs: int, display: Display[State]) -> None:
        self._state = State(jobs)
        self._display = display
        self._lock = threading.Lock()

    def advanced(self, job: int, status: Standing) -> None:
        """Record that a slice of job number `job` has passed."""
        with self._lock:
            self._state.running[job] = status
            self._display.show(self._state)

    def finished(self, job: int) -> None:
        """Record that job number `job` has ended."""
        with self._lock:
            last = self._state.running.pop(job, None)
            self._state.past_hops += last.hops if last is not None else 0
            self._state.past_flows += last.flows_done if last is not None else 0
            self._state.ended += 1
            self._display.show(self._state)

    def noticed(self, job: int, what: str) -> None:  # noqa: ARG002 - of runs side by side none is
        """Print it above the live line."""
        with self._lock:
            message(what)


class _Quiet:
    """Shows nothing."""

    def show(self, state: object) -> None:
        """Show nothing."""


class _Lines(Generic[T]):
    """JSON lines for programs, one a second."""

    def __init__(
        self, told: Callable[[T], dict[str, Any]], over: Callable[[T], bool] | None
    ) -> None:
        self._told, self._over = told, over
        self._next = time.monotonic() + LINE_SECONDS if over is None else 0.0

    def show(self, state: T) -> None:
        now = time.monotonic()
        if now >= self._next or (self._over is not None and self._over(state)):
            self._next = now + LINE_SECONDS
            message(json_.dumps({"event": "progress", **self._told(state)}))


class _Bar(Generic[T]):
    """One live line on a terminal."""

    def __init__(
        self, bar: Progress, line: Callable[[T], str], share: Callable[[T], float | None]
    ) -> None:
        self._bar, self._line, self._share = bar, line, share
        self._task = bar.add_task("", total=None, text="")

    def show(self, state: T) -> None:
        share = self._share(state)
        total = None if share is None else 1.0
        text = self._line(state)
        self._bar.update(self._task, total=total, completed=share or 0.0, text=text)


@contextlib.contextmanager
def showing(
    line: Callable[[T], str],
    share: Callable[[T], float | None],
    told: Callable[[T], dict[str, Any]],
    over: Callable[[T], bool] | None = None,
    *,
    json: bool,
) -> Iterator[Display[T]]:
    """Provide a display within a `with` block; it shows nothing if stderr is no terminal.

    `line`, `share` and `told` describe a state: for people, as a share of all, and as JSON. With
    `json` the display prints lines of JSON, also into files. With `over` it prints the first state
    at once, and the state for which `over` returns True.
    """
    if json:
        yield _Lines(told, over)
        return
    if not sys.stderr.isatty():
        yield _Quiet()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.fields[text]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar, line, share)


def line(state: State) -> str:
    """Describe the progress of runs for people."""
    parts = []
    if state.jobs > 1:
        parts.append(f"{state.ended} of {state.jobs} runs")
    share = state.fraction
    if share is not None:
        parts.append(f"{100 * share:.0f} %")
    parts.append(f"simulated {simulated(state.time_ps)}")
    parts.append(count(state.hops / max(state.seconds, 1e-9), "hops/s"))
    if (total := state.flows_total) is not None:
        parts.append(f"{state.flows_done} of {total} flows")
    elif state.flows_done:
        parts.append(f"{state.flows_done} flows")
    if (left := state.seconds_left) is not None:
        parts.append(f"{duration(left)} left")
    return " · ".join(parts)


def _told(state: State) -> dict[str, Any]:
    """Return the progress of runs as JSON."""
    left, share = state.seconds_left, state.fraction
    return {
        "time_ps": state.time_ps,
        "hops": state.hops,
        "hops_per_s": round(state.hops / max(state.seconds, 1e-9)),
        "flows_done": state.flows_done,
        "flows": state.flows_total,
        "runs_done": state.ended,
        "runs": state.jobs,
        "share": None if share is None else round(share, 4),
        "seconds_left": None if left is None else round(left, 1),
    }


def reporting(*, json: bool = False) -> AbstractContextManager[Display[State]]:
    """Provide a display of runs within a `with` block; `json`: as lines of JSON."""
    return showing(line, lambda state: state.fraction, _told, json=json)


def listening(display: Display[State]) -> Callable[[int], Reporter]:
    """Return a function that creates a reporter for so many runs."""
    return lambda runs: Reporter(runs, display)
