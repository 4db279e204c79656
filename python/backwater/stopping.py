"""Ctrl-C and SIGTERM: what they end at once, and what first writes down what it has.

A program's own handler (`backwater.__main__`) ends it there and then. Where results are being made,
`interruptible` takes its place: the signal sets a `Stop`, which the loops there look at. Whatever
may wait for others (a scheduler, processes that start) is done by `waited`, which gives up when the
stop is set. What nobody has heard of a signal within a second ends the program all the same, unless
results are being kept (`keeping`).
"""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar

from backwater.errors import SIGNALLED, Interrupted, stopped_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from backwater.results import Run

T = TypeVar("T")

# Time between two looks at a stop while something is waited for, in s.
_LOOK_SECONDS = 0.05


# Whether anybody has looked at a stop that was set, and so is about to end.
_heard = False
# How many are keeping results now.
_kept = 0
_lock = threading.Lock()


class Stop(threading.Event):
    """Set once a signal asks what runs to end; `number` is the signal."""

    number: int = signal.SIGINT

    def signalled(self, number: int) -> None:
        """Ask for the end. Of several signals the first is told."""
        if not super().is_set():
            self.number = number
        self.set()

    def is_set(self) -> bool:
        """Whether the end is asked for; whoever asks has heard it."""
        global _heard
        if not super().is_set():
            return False
        _heard = True
        return True

    @property
    def exit_code(self) -> int:
        """What the program ends with: 130 of Ctrl-C, 143 of SIGTERM."""
        return SIGNALLED + self.number

    def __str__(self) -> str:
        """Say what has happened, for people."""
        return stopped_by(self.number)

    def interrupted(self, *runs: Run | None) -> Interrupted:
        """Make the error that tells it, with the runs that had begun."""
        return Interrupted([run for run in runs if run is not None], self.number)


class StoppedError(Exception):
    """A stop was set while something was waited for."""


@contextlib.contextmanager
def interruptible() -> Iterator[Stop]:
    """Turn the first Ctrl-C (or SIGTERM) into an event that running simulations look at.

    The second one, whichever of the two it is, interrupts at once. Outside the main thread signals
    cannot be caught, and the event is never set.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def request(number: int, _frame: object) -> None:
        stop.signalled(number)
        restore()

    try:
        for number in before:
            signal.signal(number, request)
        yield stop
    finally:
        restore()


@contextlib.contextmanager
def keeping() -> Iterator[None]:
    """Have a signal wait for results that are being made or written, however long that takes."""
    global _kept
    with _lock:
        _kept += 1
    try:
        yield
    finally:
        with _lock:
            _kept -= 1


def ends_by_itself() -> bool:
    """Whether a signal that has come is being seen to; asked by a thread of the program."""
    return _heard or _kept > 0


def _raise(error: BaseException) -> NoReturn:
    raise error


def waited(stop: Stop, work: Callable[[], T], seconds: float | None = None) -> T:
    """Have a thread do what may wait for others, for so many seconds at most (None: no limit).

    Raises `StoppedError` when the stop is set, and `TimeoutError` when time is over. Then the
    thread is left to itself; it ends with the process at the latest.
    """
    done: queue.SimpleQueue[Callable[[], T]] = queue.SimpleQueue()

    def run() -> None:
        try:
            found = work()
        except BaseException as error:
            done.put(partial(_raise, error))
        else:
            done.put(lambda: found)

    threading.Thread(target=run, daemon=True).start()
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        try:
            outcome = done.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            pass
        else:
            return outcome()
        if stop.is_set():
            raise StoppedError
        if until is not None and time.monotonic() > until:
            raise TimeoutError
