"""Writes the progress of a sweep into its directory, for `backwater status`."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from backwater.directory import PROGRESS
from backwater.files import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from backwater.sweep.drive import State, Watching
    from backwater.sweep.whole import Whole


class Told:
    """Writes the progress of a sweep into its directory, and forwards it to a display."""

    def __init__(self, directory: Path, watching: Watching, whole: Whole) -> None:
        self._directory, self._watching = directory, watching
        self.whole = whole
        self._next = 0.0

    def show(self, state: State) -> None:
        """Forward a state, and write it once a second."""
        self._watching.show(state)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 1.0
            self.close(state)

    def close(self, state: State) -> None:
        """Write a state now."""
        told = state.told()
        facts = {
            **told,
            **self.whole.counts(state),
            "command": {key: told[key] for key in ("points", "done", "failed")},
            "host": socket.gethostname(),
            "process": os.getpid(),
            "updated": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        # Progress is no result: a sweep goes on if it cannot be written.
        with contextlib.suppress(OSError):
            write_text(self._directory / PROGRESS, json.dumps(facts) + "\n")
