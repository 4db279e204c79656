"""Ctrl-C and SIGTERM: end the program, after it has written the results so far.

The program's own handler (`backwater.__main__`) ends it at once. While results are being made,
`interruptible` replaces that handler: the signal sets a `Stop`, which the loops check. Work that
may wait for others (a scheduler, processes that start) is done by `waited`, which gives up when the
stop is set. If nothing reacts to a signal within a second, the program ends all the same, unless
results are being written (`keeping`).
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

# Time between two checks of a stop during a wait, in s.
_LOOK_SECONDS = 0.05


# True once some code has seen a stop that was set, and so is about to end.
_heard = False
# How many `keeping` blocks are active.
_kept = 0
_lock = threading.Lock()


class Stop(threading.Event):
    """Set once a signal asks runs to end; `number` is the signal."""

    number: int = signal.SIGINT

    def signalled(self, number: int) -> None:
        """Set the stop. The first of several signals counts."""
        if not super().is_set():
            self.number = number
        self.set()

    def is_set(self) -> bool:
        """Return whether the stop is set, and if so, note that somebody has seen it."""
        global _heard
        if not super().is_set():
            return False
        _heard = True
        return True

    @property
    def exit_code(self) -> int:
        """The exit code of the program: 130 for Ctrl-C, 143 for SIGTERM."""
        return SIGNALLED + self.number

    def __str__(self) -> str:
        """Return what happened, for people."""
        return stopped_by(self.number)

    def interrupted(self, *runs: Run | None) -> Interrupted:
        """Return the error for the caller, with the runs that had begun."""
        return Interrupted([run for run in runs if run is not None], self.number)


class StoppedError(Exception):
    """A stop was set during a wait."""


@contextlib.contextmanager
def interruptible() -> Iterator[Stop]:
    """Turn the first Ctrl-C or SIGTERM into a stop that running simulations check.

    The second signal interrupts at once. Outside the main thread signals cannot be caught, and the
    stop is never set.
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
    """Let a signal wait until results are made or written, however long that takes."""
    global _kept
    with _lock:
        _kept += 1
    try:
        yield
    finally:
        with _lock:
            _kept -= 1


def ends_by_itself() -> bool:
    """Return whether the program is reacting to a signal, so that nothing has to end it."""
    return _heard or _kept > 0


def _raise(error: BaseException) -> NoReturn:
    raise error


def waited(stop: Stop, work: Callable[[], T], seconds: float | None = None) -> T:
    """Do work that may wait for others in a thread, and return its result or raise its error.

    Raises `StoppedError` when the stop is set, and `TimeoutError` after `seconds` (None: no limit).
    The thread then continues on its own, until the end of the process at the latest.
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
