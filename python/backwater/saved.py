"""Saved runs: one file with a run in progress, which can be resumed, also with other values.

    backwater saved run 1     the kind of file, and the number of its format
    3f0c...                   SHA-256 of all that follows, as 64 digits
    {"build": ...}            the header: JSON in a line
    ...                       the state of the simulator, and the parts of tables so far

The header has the length of each of these. Only the build that saved a run can resume it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from backwater import _core
from backwater.directory import part_of_results
from backwater.errors import InputError, ResultError
from backwater.files import drop_left_behind, octets_of, regular, replacing
from backwater.wording import simulated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MAGIC = b"backwater saved run "
FORMAT = 1

# Longest header, in B: it has the scenario with the origin of every value.
_LONGEST = 256 << 20
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Part:
    """A part of a table, as a Parquet file in memory or on disk."""

    table: str
    rows: int
    content: bytes | Path

    @property
    def octets(self) -> int:
        """The length of the file, in B."""
        return self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)

    def read(self) -> bytes:
        """Return the content of the file."""
        return octets_of(self.content) if isinstance(self.content, Path) else self.content

    def batches(self) -> list[_core.Batch]:
        """Return the rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        return _core.batches(pq.ParquetFile(pa.BufferReader(self.read())).read())


def write(path: Path, facts: Mapping[str, Any], state: bytes, parts: Sequence[Part]) -> None:
    """Write a saved run. An earlier file of the name stays until the new one is on the disk.

    Raises `ResultError` if it cannot be written.
    """
    listed = [{"table": one.table, "rows": one.rows, "octets": one.octets} for one in parts]
    header = {**facts, "state": len(state), "parts": listed}
    line = json.dumps(header, ensure_ascii=False).encode() + b"\n"
    try:
        with replacing(_place(path), path.stat() if path.exists() else None) as file:
            first = MAGIC + f"{FORMAT}\n".encode()
            file.write(first + b"0" * 64 + b"\n")
            hashing = hashlib.sha256()
            for piece in (line, state):
                hashing.update(piece)
                file.write(piece)
            for part in parts:
                content = part.read()
                hashing.update(content)
                file.write(content)
            file.seek(len(first))
            file.write(hashing.hexdigest().encode())
        drop_left_behind(_place(path))
    except OSError as error:
        raise ResultError(f"{path}: cannot save the run: {error.strerror or error}") from None


def check_writable(path: Path) -> None:
    """Raise `InputError` if a saved run cannot be written to `path`, before the simulation."""
    hint = "give --save the name of a file in a directory where you may write"
    if str(path) == "-":
        raise InputError("-: a saved run must be a file, not a stream", hint)
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: is not a regular file", hint)
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no directory {path.parent}", hint)
        if part_of_results(_place(path)):
            raise InputError(f"{path}: is part of a directory of results", hint)
        if path.exists() and path.stat().st_size and not _is_saved_run(path):
            raise InputError(
                f"{path}: exists already, and is not a saved run",
                "name another file, or remove this one first: it would be replaced",
            )
        # As `write` does it: beside the target of a link.
        with tempfile.NamedTemporaryFile(prefix=".backwater.", dir=_place(path).parent):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path}: cannot be written: {reason}", hint) from None


def _is_saved_run(path: Path) -> bool:
    with regular(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _place(path: Path) -> Path:
    """Return the target of links: it is replaced, and the links stay."""
    return Path(os.path.realpath(path))


@dataclass(frozen=True)
class SavedRun:
    """A saved run whose content matches its hash."""

    path: Path
    header: dict[str, Any]
    begin: int
    """Where the state begins in the file."""
    stamp: tuple[int, int]
    """Inode and time of the file: another run may be saved to the same name meanwhile."""

    @staticmethod
    def open(path: Path) -> SavedRun:
        """Open a saved run.

        Raises `InputError` if the file is missing, damaged, or of another build.
        """
        again, makes = "save the run again", "`backwater run FILE --until T --save F` makes one"
        try:
            with regular(path).open("rb") as file:
                first = file.readline(len(MAGIC) + 20)
                if not first.startswith(MAGIC):
                    raise InputError(f"{path}: is not a saved run", makes)
                number = first[len(MAGIC) :].strip().decode("ascii", "replace")
                if number != str(FORMAT):
                    raise InputError(
                        f"{path}: is a saved run of format {number!r}, not of format {FORMAT}",
                        again,
                    )
                digest = file.readline(66)
                if _rest(file) != digest.rstrip(b"\n").decode("ascii", "replace"):
                    raise InputError(f"{path}: is damaged, or was cut off", again)
                file.seek(len(first) + len(digest))
                line = file.readline(_LONGEST)
                begin, end = file.tell(), file.seek(0, 2)
                stamp = _stamp(file)
        except FileNotFoundError:
            raise InputError(f"--from {path}: there is no such file", makes) from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
        try:
            header = json.loads(line)
            whole = begin + header["state"] + sum(part["octets"] for part in header["parts"]) == end
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise InputError(f"{path}: is damaged, or was cut off", again)
        build = _core.version()
        if header["build"] != build:
            made, this = (
                f"{one.get('backwater')} ({one.get('build')})" for one in (header["build"], build)
            )
            raise InputError(
                f"{path}: was saved by another build, {made}; this is {this}",
                "only the build that saved a run can resume it",
            )
        return SavedRun(path, header, begin, stamp)

    @property
    def time_ps(self) -> int:
        """The simulated time up to which it has run, in ps, events at that time included."""
        return int(self.header["time_ps"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.header["seed"])

    @property
    def changed(self) -> list[dict[str, Any]]:
        """The changes during the run: from which time, and which values."""
        return list(self.header["changed"])

    def state(self) -> bytes:
        """Return the state of the simulator."""
        return self._read(self.begin, int(self.header["state"]))

    def parts(self) -> Iterator[Part]:
        """Yield the parts of its tables."""
        at = self.begin + int(self.header["state"])
        for part in self.header["parts"]:
            yield Part(part["table"], part["rows"], self._read(at, part["octets"]))
            at += part["octets"]

    def _read(self, at: int, octets: int) -> bytes:
        try:
            with regular(self.path).open("rb") as file:
                if _stamp(file) != self.stamp:
                    raise InputError(
                        f"{self.path}: another run was saved there meanwhile", "resume it again"
                    )
                file.seek(at)
                return file.read(octets)
        except OSError as error:
            raise ResultError(f"{self.path}: cannot be read: {error.strerror or error}") from None


def _stamp(file: IO[bytes]) -> tuple[int, int]:
    there = os.fstat(file.fileno())
    return there.st_ino, there.st_mtime_ns


def _rest(file: IO[bytes]) -> str:
    """Return the SHA-256 of the rest of a file."""
    hashing = hashlib.sha256()
    while block := file.read(_BLOCK):
        hashing.update(block)
    return hashing.hexdigest()


def told(changed: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the changes during a run, a line for each time."""
    return [
        f"from {simulated(one['from_ps'])} on: "
        + ", ".join(f"{key} = {value}" for key, value in one["set"].items())
        for one in changed
    ]
