"""The program `backwater`, which `python -m backwater` is too: ends quietly on Ctrl-C at any time.

So it does on SIGTERM. Nothing heavy is imported before both have their handler. Until runs begin
there is nothing to keep, so the handler ends the process there and then: an exception would be
lost, or shown with its traceback, wherever an import happens to be. While simulations run they have
a handler of their own (`backwater.running.interruptible`), and what they have simulated is kept.
"""

from __future__ import annotations

# Few and small: until `script` runs, Ctrl-C is Python's to answer.
import os
import signal
import sys

# What the two signals end the program with, as a shell says it of whatever they have ended.
SIGNALLED = 128
# A live line of progress hides the cursor (ECMA-48, DEC private mode 25).
CURSOR = b"\x1b[?25h"


def _stop(number: int, _frame: object) -> None:
    try:
        said = b"stopped\n" if number == signal.SIGINT else b"stopped by SIGTERM\n"
        os.write(2, (CURSOR if os.isatty(2) else b"") + said)
        # It may not be there yet, or be half imported.
        drop = getattr(sys.modules.get("backwater.files"), "drop_temporary_files", None)
        if drop is not None:
            drop()
    finally:
        os._exit(SIGNALLED + number)


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
    # While the interpreter itself starts, only its starter can keep Ctrl-C from it, by blocking it:
    # `env --block-signal=INT backwater ...`. From here on it is welcome.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from backwater.cli import main

    code = main()
    # All is done and said; an interpreter that is ending would die of Ctrl-C instead of giving it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


if __name__ == "__main__":
    script()
