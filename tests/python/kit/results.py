"""Results that tests share, or change by hand."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

from backwater.journal import Journal


class Shared:
    """Folders that the first worker that needs one makes, for all."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def folder(self, name: str, make: Callable[[Path], object]) -> Path:
        """Return the folder `name`, which `make` makes if it is missing, and nobody changes."""
        folder = self.base / name
        with (self.base / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                being_made = self.base / f"{name}.being-made"
                shutil.rmtree(being_made, ignore_errors=True)
                make(being_made)
                being_made.rename(folder)
        return folder


def change_line(series: Path, seed: int, **changes: object) -> None:
    """Change a run's line in the journal of a series, with a hash that matches."""
    journal = Journal.read(series)
    journal.runs[seed] |= changes
    journal.write(series)
