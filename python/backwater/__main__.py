"""The program `backwater`, also as `python -m backwater`: ends quietly on Ctrl-C and on SIGTERM.

Nothing heavy is imported before both signals have a handler. Until runs begin there is nothing to
keep, so the handler ends the process at once: in the middle of an import, an exception would be
lost, or printed with its traceback. Simulations have their own handler
(`backwater.stopping.interruptible`), which keeps what they have simulated.

Python runs a handler only when the main thread leaves the library that it is in, which may take
any time. So a thread receives each signal, too, and ends the process if nothing else does.
"""

from __future__ import annotations

# Few and small: until `script` runs, Python handles Ctrl-C.
import _thread
import os
import select
import signal
import sys

# A signal ends the program with its number plus this, which is the exit code in a shell, too.
SIGNALLED = 128
# A live line of progress hides the cursor (ECMA-48, DEC private mode 25).
CURSOR = b"\x1b[?25h"
# How long a signal may go without a reaction, in s: with the end itself, less than a second.
UNHEARD_SECONDS = 0.7
# How often the thread checks whether results have been written, in s.
LOOK_SECONDS = 0.1


def _end(number: int) -> None:
    """End the process at once, with the exit code of a signal."""
    try:
        said = b"stopped\n" if number == signal.SIGINT else b"stopped by SIGTERM\n"
        os.write(2, (CURSOR if os.isatty(2) else b"") + said)
        # The module may not be imported yet, or only in part.
        drop = getattr(sys.modules.get("backwater.files"), "drop_temporary_files", None)
        if drop is not None:
            drop()
    finally:
        os._exit(SIGNALLED + number)


def _stop(number: int, _frame: object) -> None:
    _end(number)


def _watch() -> None:
    """Start a thread that ends the process if nothing reacts to a signal; a second one ends it."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        number = os.read(reading, 1)[0]
        wait = UNHEARD_SECONDS
        # Results that are being written get their time, until a second signal.
        while not select.select([reading], [], [], wait)[0]:
            stopping = sys.modules.get("backwater.stopping")
            if not getattr(stopping, "ends_by_itself", bool)():
                _end(number)
            wait = LOOK_SECONDS
        # Time for the handler of the second signal.
        select.select([], [], [], UNHEARD_SECONDS)
        _end(number)

    _thread.start_new_thread(watch, ())


def _hold_streams() -> None:
    """Open closed standard streams on the null device.

    Otherwise a file of results would get the number of a stream, and the text written to it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # `open` takes the lowest free number, which is this one.
            os.open(os.devnull, os.O_RDWR)


def script() -> None:
    """Run the program `backwater`, and exit with its code."""
    _hold_streams()
    # A program that starts with Ctrl-C ignored, as under nohup or in the background, ignores it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _stop)
    _watch()
    # Only the caller can protect the start of the interpreter from Ctrl-C, by blocking it:
    # `env --block-signal=INT backwater ...`. From here on the program handles it.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from backwater.cli import main

    code = main()
    # The work is done: Ctrl-C during the interpreter's end must not replace the exit code.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if code > SIGNALLED:
        # Libraries may take any time at the end, as when they wait for their threads. One of these
        # threads may have started workers after the command had ended all.
        getattr(sys.modules.get("backwater.experiments.clusters"), "end_children", bool)()
        sys.modules["backwater.files"].drop_temporary_files()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    script()
