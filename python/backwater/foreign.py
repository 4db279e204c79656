"""Files of other tools: recognised, and turned into scenario files.

What the formats are, and what of them is read, the core says; here files are put in their place.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError, ResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

START_UNITS = ("us", "ps")
"""Units that start times of connection matrices can have."""
SCENARIO = ".toml"


@dataclass(frozen=True)
class Note:
    """Something that an import left out, had to choose, or that is otherwise here."""

    file: str
    line: int | None
    sort: str
    """`ignored`, `assumed`, `differs` or `verdict`."""
    text: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.sort}: {self.text}"


@dataclass(frozen=True)
class Imported:
    """What an import has written."""

    path: Path
    """The scenario file; its tables lie beside it."""
    kinds: list[str]
    """What each of the files is."""
    notes: list[Note]
    """What was ignored, assumed, or is not quite the same here."""
    warnings: list[dict[str, str]] = field(default_factory=list)
    """What the check of the scenario has to say, where it was checked."""


def bring(
    files: Sequence[str | os.PathLike[str]],
    target: Path,
    *,
    kind: str | None = None,
    start_unit: str | None = None,
    command: str = "",
    fabric: str | os.PathLike[str] | None = None,
    memory: str | None = None,
    see: Callable[[Path], list[dict[str, str]]] = lambda _: [],
) -> Imported:
    """Turn files into a scenario file `target`, with tables beside it; replaces what is there.

    `see` checks the scenario before it is put there: it gives warnings, or raises where it is none.
    """
    if start_unit not in (None, *START_UNITS):
        raise InputError(f"start_unit {start_unit}: no such unit", "us or ps")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=target.parent) as folder:
            given = _core.import_files(
                files,
                folder,
                target.stem,
                kind=kind,
                start_unit=start_unit,
                command=_words(command),
                fabric=None if fabric is None else (os.fspath(fabric), _text(Path(fabric))),
                memory=None if memory is None else _core.base_units("size", memory, "memory"),
            )
            written = Path(folder) / target.name
            written.write_text(given["scenario"], encoding="utf-8")
            warnings = see(written)
            # The scenario last: where it is, its tables are.
            for one in sorted(Path(folder).iterdir(), key=lambda path: path == written):
                one.replace(target.parent / one.name)
    except OSError as error:
        raise ResultError(f"{target}: cannot be written: {error.strerror or error}") from None
    return Imported(target, given["kinds"], [Note(*note) for note in given["notes"]], warnings)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InputError(f"--command {command}: {error}", "quote it as for a shell") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no text"
        raise InputError(f"{path}: cannot be read: {reason}") from None


def foreign(path: Path) -> bool:
    """Whether a file is of another tool, and no scenario."""
    return path.suffix != SCENARIO and path.is_file() and _core.recognise(path) is not None


def imported(path: Path) -> Imported:
    """Import a file that stands in place of a scenario, where the user's cache is.

    The place depends on the file's content and the build, so that results of a command find their
    tables there as long as both are the same.
    """
    content = sha256(path.read_bytes())
    content.update(repr((os.fspath(path), sorted(_core.version().items()))).encode())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    place = Path(home, "backwater", "imported", content.hexdigest()[:16])
    return bring([path], place / f"{path.stem}{SCENARIO}")
