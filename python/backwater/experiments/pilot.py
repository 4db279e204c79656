"""Estimates what many runs take, from pilots: some of them, run for a short time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from backwater.running import fraction
from backwater.saving import SLICE_MS
from backwater.wording import duration, many, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from backwater import _core
    from backwater.stopping import Stop

T = TypeVar("T")


class Cut(Exception):  # noqa: N818 - it is no error
    """A run was ended before its end."""

    def __init__(self, done: float | None) -> None:
        super().__init__(done)
        self.done = done
        """The share of it that was done, from 0 to 1; None: not known."""


def slices(
    core: _core.Scenario, seed: int, stop: Callable[[], bool] | None
) -> Iterator[_core.Simulation]:
    """Run a scenario to its end, and yield the simulation after each slice.

    Raises `Cut` once `stop` returns True, also while the network is built.
    """
    try:
        simulation = core.start(seed, None, stop)
    except KeyboardInterrupt:
        if stop is not None and stop():
            raise Cut(None) from None
        raise
    while True:
        status = simulation.advance(SLICE_MS)
        yield simulation
        if status.done:
            return
        if stop is not None and stop():
            raise Cut(fraction(status))


@dataclass(frozen=True)
class Pilot(Generic[T]):
    """One run that was tried."""

    seconds: float | None
    """Wall time from its start to its end; None: its end cannot be foreseen."""
    result: T | None
    """What the run returned; None: the time was up before its end."""

    @staticmethod
    def of(run: Callable[[Callable[[], bool]], T], seconds: float, stop: Stop) -> Pilot[T]:
        """Try a run for so many seconds at most; `run` is called with what ends it."""
        began = time.perf_counter()
        try:
            result = run(lambda: stop.is_set() or time.perf_counter() > began + seconds)
        except Cut as cut:
            took = time.perf_counter() - began
            return Pilot(took / cut.done if cut.done else None, None)
        return Pilot(time.perf_counter() - began, result)


@dataclass
class Estimate:
    """What the runs that are missing will take."""

    runs: int
    seconds: float | None
    """Wall time of one run on one processor, a mean over pilots; None: not known."""
    nbytes: float | None = None
    """Disk space of one run, at most; None: not known."""

    def work(self, workers: int = 1) -> float | None:
        """Return the wall time of all runs on so many processors, in seconds; None: not known."""
        return None if self.seconds is None else self.seconds * self.runs / workers

    def words(self, noun: str, workers: int | None) -> str:
        """Describe it for people; `noun` names a run. `workers` is None where nobody knows it."""
        work = self.work(workers or 1)
        if self.seconds is None or work is None:
            return f"no estimate: no pilot {noun} came far enough within its time"
        parts = [f"estimate by pilots: {_took(self.seconds)} a {noun}"]
        if workers is None:
            parts.append(f"{_took(work)} of processor time in all")
        else:
            parts.append(f"{_took(work)} for {self.runs} on {many(workers, 'processor')}")
        if self.nbytes is not None:
            parts.append(f"{size(self.nbytes * self.runs, '.1f')} of disk at most")
        return ", ".join(parts)


def _took(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else duration(seconds)
