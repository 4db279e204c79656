"""The program `backwater`, which `python -m backwater` is too: ends quietly on Ctrl-C at any time.

Nothing heavy is imported before Ctrl-C has its handler. Until runs begin there is nothing to clean
up, so the handler ends the process there and then: an exception would be lost, or shown with its
traceback, wherever an import happens to be. While simulations run they have a handler of their own
(`backwater.running.interruptible`), and what they have simulated is kept.
"""

from __future__ import annotations

# Few and small: until `script` runs, Ctrl-C is Python's to answer.
import os
import signal
import sys

INTERRUPTED = 130
# A live line of progress hides the cursor (ECMA-48, DEC private mode 25).
CURSOR = b"\x1b[?25h"


def _stop(_number: int, _frame: object) -> None:
    try:
        os.write(2, (CURSOR if os.isatty(2) else b"") + b"stopped\n")
    finally:
        os._exit(INTERRUPTED)


def script() -> None:
    """Be the program `backwater`."""
    # Whoever starts a program with Ctrl-C ignored, as nohup and shells' background jobs, means it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    # While the interpreter itself starts, only its starter can keep Ctrl-C from it, by blocking it:
    # `env --block-signal=INT backwater ...`. From here on it is welcome.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from backwater.cli import main

    code = main()
    # All is done and said; an interpreter that is ending would die of Ctrl-C instead of giving it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


if __name__ == "__main__":
    script()
