"""What can go wrong around a simulation, as types that a caller can tell apart.

Bad scenarios are `backwater.ScenarioError` and broken promises of a run `backwater.RunError`; both
come from the simulator. Here are the errors of the parts around it: files, studies, arguments.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backwater.results import Run


# What a shell adds to a signal's number for the exit code of what it has ended.
SIGNALLED = 128


def stopped_by(number: int) -> str:
    """Say that a signal has stopped something; whoever pressed Ctrl-C knows by what."""
    return "stopped" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}"


class InputError(ValueError):
    """Something given to Backwater cannot be used; nothing has been run or written."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{reason}\nhint: {hint}" if hint else reason)
        self.reason = reason
        self.hint = hint


class ResultError(OSError):
    """Results could not be written or read."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{reason}\nhint: {hint}" if hint else reason)
        self.reason = reason
        self.hint = hint


class Interrupted(KeyboardInterrupt):
    """A run was stopped from outside; what it had simulated by then is kept.

    A `KeyboardInterrupt`, so that a notebook cell or a script stops as it would without Backwater.
    """

    def __init__(self, runs: list[Run], number: int = signal.SIGINT) -> None:
        super().__init__(f"{stopped_by(number)} before the end")
        self.runs = runs
        """The runs as far as they came; unfinished flows are in their tables."""
        self.number = number
        """The signal: SIGINT, which is Ctrl-C, or SIGTERM."""
        self.exit_code = SIGNALLED + number
        """What a program ends with that this signal has stopped: 130 or 143."""


class OtherBuildWarning(UserWarning):
    """Results were made by another version or build: the same scenario may give others now."""
