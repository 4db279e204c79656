"""The program `backwater`, which `python -m backwater` is too: ends quietly on Ctrl-C at any time.

So it does on SIGTERM. Nothing heavy is imported before both have their handler. Until runs begin
there is nothing to keep, so the handler ends the process there and then: an exception would be
lost, or shown with its traceback, wherever an import happens to be. While simulations run they have
a handler of their own (`backwater.stopping.interruptible`), and what they have simulated is kept.

A handler of Python's waits for the main thread, which may be within a library, and for what it does
there nobody knows how long. So a thread hears of each signal, too, and ends what does not end.
"""

from __future__ import annotations

# Few and small: until `script` runs, Ctrl-C is Python's to answer.
import _thread
import os
import select
import signal
import sys

# What the two signals end the program with, as a shell says it of whatever they have ended.
SIGNALLED = 128
# A live line of progress hides the cursor (ECMA-48, DEC private mode 25).
CURSOR = b"\x1b[?25h"
# So long a signal may go unheard, in s: with the end itself it is less than a second.
UNHEARD_SECONDS = 0.7
# How often it is seen whether what keeps results has ended, in s.
LOOK_SECONDS = 0.1


def _end(number: int) -> None:
    """End the process there and then, by a signal."""
    try:
        said = b"stopped\n" if number == signal.SIGINT else b"stopped by SIGTERM\n"
        os.write(2, (CURSOR if os.isatty(2) else b"") + said)
        # It may not be there yet, or be half imported.
        drop = getattr(sys.modules.get("backwater.files"), "drop_temporary_files", None)
        if drop is not None:
            drop()
    finally:
        os._exit(SIGNALLED + number)


def _stop(number: int, _frame: object) -> None:
    _end(number)


def _watch() -> None:
    """Have a thread end the process if a signal is not heard; a second one ends it at once."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        number = os.read(reading, 1)[0]
        wait = UNHEARD_SECONDS
        # What answers the second signal itself has the time for it.
        while not select.select([reading], [], [], wait)[0]:
            stopping = sys.modules.get("backwater.stopping")
            if not getattr(stopping, "ends_by_itself", bool)():
                _end(number)
            wait = LOOK_SECONDS
        select.select([], [], [], UNHEARD_SECONDS)
        _end(number)

    _thread.start_new_thread(watch, ())


def _hold_streams() -> None:
    """Have what was closed lead nowhere: a file of results would take its number, and its text."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest that is free, which is this one.
            os.open(os.devnull, os.O_RDWR)


def script() -> None:
    """Be the program `backwater`."""
    _hold_streams()
    # Whoever starts a program with Ctrl-C ignored, as nohup and shells' background jobs, means it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _stop)
    _watch()
    # While the interpreter itself starts, only its starter can keep Ctrl-C from it, by blocking it:
    # `env --block-signal=INT backwater ...`. From here on it is welcome.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from backwater.cli import main

    code = main()
    # All is done and said; an interpreter that is ending would die of Ctrl-C instead of giving it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if code > SIGNALLED:
        # What libraries do at the end, such as to wait for their threads, has no bound.
        # A thread of a library may have started workers after the command has ended all.
        getattr(sys.modules.get("backwater.experiments.clusters"), "end_children", bool)()
        sys.modules["backwater.files"].drop_temporary_files()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    script()
