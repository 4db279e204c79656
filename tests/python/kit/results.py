"""Results that tests share, or change by hand."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

from backwater.journal import Journal


class Shared:
    """Folders that are made once, whichever worker needs one first."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def folder(self, name: str, make: Callable[[Path], object]) -> Path:
        """Give the folder `name`, made by `make` if it is not there; nobody changes it."""
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
    """Change what the journal of a series says of a run, as if it had been written so."""
    journal = Journal.read(series)
    journal.runs[seed] |= changes
    journal.write(series)
