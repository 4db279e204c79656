"""Errors of the parts around the simulator: files, studies, arguments.

The simulator itself raises `backwater.ScenarioError` for a bad scenario and `backwater.RunError`
for a run that breaks a promise.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from backwater.results import Run


# A shell adds this to the number of the signal that ended a program, for the exit code.
SIGNALLED = 128


def stopped_by(number: int) -> str:
    """Return `stopped`, with the signal's name unless it is Ctrl-C, which the user knows of."""
    return "stopped" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}"


class HintedError(Exception):
    """An error with a `reason`, and a `hint` or None; `str(error)` has both."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{reason}\nhint: {hint}" if hint else reason)
        self.reason = reason
        self.hint = hint


class InputError(HintedError, ValueError):
    """An argument, file or setting that cannot be used; nothing has been run or written.

    `reason` says why, and `hint` what to do, or is None. `str(error)` has both.
    """


class ResultError(HintedError, OSError):
    """Results that cannot be written or read.

    `reason` says why, and `hint` what to do, or is None. `str(error)` has both.
    """


def unwritable(path: Path, error: OSError, hint: str | None = None) -> ResultError:
    """Return the error for results that cannot be written."""
    return ResultError(f"{path}: cannot write results: {error.strerror or error}", hint)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM stopped a run; the results so far are kept.

    It is a `KeyboardInterrupt`, so that a notebook cell or a script stops as on any Ctrl-C. `runs`
    are the runs up to the stop, unfinished flows included, and empty if no run had begun. `number`
    is the signal, SIGINT (Ctrl-C) or SIGTERM. `exit_code` is that of a program that the signal
    stops: 130 or 143.
    """

    def __init__(self, runs: list[Run], number: int = signal.SIGINT) -> None:
        super().__init__(f"{stopped_by(number)} before the end")
        self.runs = runs
        self.number = number
        self.exit_code = SIGNALLED + number


class OtherBuildWarning(UserWarning):
    """Another version or build made the results: the same scenario may now have others."""
