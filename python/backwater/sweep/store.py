"""The files of a sweep: parts of its tables, each for some of the commits that wrote it.

    points/part-00000-00031.parquet    the rows of the commits 0 to 31

A commit writes a part of each table, the one of `points` last: a point exists if that table has it.
The store merges 32 parts of equal length into one, whose name has the span of commits, and then
removes them. A reader that misses a file lists the files again. So a sweep of days has some hundred
parts, and each row is written a few times. A part within the span of another remains from a kill
between write and removal; readers ignore it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backwater.directory import SWEEP_PART, SWEEP_TABLES
from backwater.errors import ResultError, unwritable
from backwater.files import regular, replacing, sync_directory
from backwater.manifest import AGAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

T = TypeVar("T")

POINTS = "points"
MERGED = 32
# Parts with more bytes in total are not merged.
_LARGEST = 256 << 20
# How long to look for merged files under their new name, in s.
_PATIENCE = 10.0


@dataclass(frozen=True, order=True)
class Span:
    """The range of commits whose rows a part has."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"part-{self.first:05}-{self.last:05}.parquet"

    @property
    def length(self) -> int:
        """The number of commits."""
        return self.last - self.first + 1

    def within(self, other: Span) -> bool:
        """Whether another span contains this one and is longer."""
        return other != self and other.first <= self.first and self.last <= other.last


def spans(directory: Path, table: str) -> list[Span]:
    """Return the valid parts of a table, in order."""
    folder = directory / table
    found = []
    with contextlib.suppress(FileNotFoundError):
        for file in folder.iterdir():
            if match := re.fullmatch(SWEEP_PART, file.name):
                found.append(Span(int(match[1]), int(match[2])))
    return sorted(one for one in found if not any(one.within(other) for other in found))


def files(directory: Path, table: str) -> list[Path]:
    """Return the valid files of a table, in order.

    Parts of other tables without a part of `points` remain from a killed commit, and are not valid.
    """
    known = spans(directory, POINTS)
    return [
        directory / table / one.name
        for one in spans(directory, table)
        if any(one == other or one.within(other) or other.within(one) for other in known)
    ]


def table_of(directory: Path, table: str) -> pa.Table:
    """Read a table, even while a command writes it. Raises `ResultError`."""
    return settled(lambda: read(files(directory, table)))


def counts(directory: Path) -> dict[str, int]:
    """Count the done and the failed points. Raises `ResultError`."""

    def reading() -> Counter[str | None]:
        found: Counter[str | None] = Counter()
        for path in files(directory, POINTS):
            with readable(path):
                found.update(pq.ParquetFile(regular(path)).read(["status"])["status"].to_pylist())
        return found

    found = settled(reading)
    return {status: found[status] for status in ("done", "failed")}


def settled(reading: Callable[[], T]) -> T:
    """Read files that a command may merge meanwhile; if one has disappeared, read again.

    Raises `ResultError` if a file stays absent for longer than a merge takes.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return reading()
        except FileNotFoundError as error:
            if time.monotonic() > until:
                raise ResultError(
                    f"{error.filename}: has disappeared, and no other file has its rows",
                    "does another program remove files there? Read again when it has ended",
                ) from None
            time.sleep(0.01)


def read(paths: list[Path]) -> pa.Table:
    """Read parts as one table.

    Raises `FileNotFoundError` for an absent file, `ResultError` for an unreadable one.
    """
    tables = []
    for path in paths:
        with readable(path):
            tables.append(pq.ParquetFile(regular(path)).read())
    return joined(tables)


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise `FileNotFoundError` for an absent file, `ResultError` for an unreadable one."""
    try:
        yield
    except FileNotFoundError:
        # The error of pyarrow lacks the file name.
        raise FileNotFoundError(errno.ENOENT, "is gone", str(path)) from None
    except pa.ArrowException as error:
        raise ResultError(f"{path}: {error}", f"it is damaged; {AGAIN}") from None
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error}", "read it again") from None


def joined(tables: list[pa.Table]) -> pa.Table:
    """Concatenate tables; a column that one lacks is null in its rows."""
    return pa.concat_tables(tables, promote_options="default") if tables else pa.table({})


class Store:
    """Writes the tables of a sweep. A directory has one store at a time, under its lock."""

    def __init__(self, directory: Path) -> None:
        """Continue after the existing parts; remove the leftovers of killed commits."""
        self._directory = directory
        self._drop_leftovers()
        spanned = [spans(directory, table) for table in SWEEP_TABLES]
        self._next = max((span.last + 1 for some in spanned for span in some), default=0)

    def add(self, tables: Mapping[str, pa.Table]) -> None:
        """Write rows; on return they are on the disk. Raises `ResultError`."""
        span = Span(self._next, self._next)
        self._next += 1
        for table in sorted(tables, key=POINTS.__eq__):
            self._write(table, span, tables[table])
        self._merge(MERGED)

    def close(self) -> None:
        """Merge the remaining short parts."""
        self._merge(2)

    def drop(self, points: Collection[str]) -> None:
        """Remove all rows of points that will run again: only the last attempt counts.

        The rows of `points` go last: until then, a kill leaves points that still count as failed.
        """
        gone = pa.array(sorted(points), pa.string())
        for table in sorted(SWEEP_TABLES, key=POINTS.__eq__):
            for span in spans(self._directory, table):
                there = read([self._directory / table / span.name])
                left = there.filter(pc.invert(pc.is_in(there["point"], value_set=gone)))
                if len(left) < len(there):
                    self._write(table, span, left)

    def _drop_leftovers(self) -> None:
        for table in SWEEP_TABLES:
            kept = set(files(self._directory, table))
            with contextlib.suppress(FileNotFoundError):
                for file in (self._directory / table).iterdir():
                    named = re.fullmatch(SWEEP_PART, file.name) or file.name.endswith(".tmp")
                    if named and file not in kept:
                        file.unlink()

    def _merge(self, many: int) -> None:
        """Merge the last parts while at least `many` in a row have the length of the last, or less.

        `points` is merged last: until then, its short parts validate the merged ones of others.
        """
        while True:
            known = spans(self._directory, POINTS)
            end = known[-1].length if known else 0
            tail: list[Span] = []
            for one in reversed(known):
                if one.length > end and many == MERGED:
                    break
                tail.insert(0, one)
            if len(tail) < many or not self._put_together(Span(tail[0].first, tail[-1].last)):
                return

    def _put_together(self, span: Span) -> bool:
        """Merge the parts within a span, for each table; False: they are too large."""
        for table in sorted(SWEEP_TABLES, key=POINTS.__eq__):
            folder = self._directory / table
            inner = [one for one in spans(self._directory, table) if one.within(span)]
            size = sum((folder / one.name).stat().st_size for one in inner)
            if size > _LARGEST:
                if table == POINTS:
                    return False
                continue
            if not inner:
                continue
            self._write(table, span, read([folder / one.name for one in inner]))
            for one in inner:
                (folder / one.name).unlink(missing_ok=True)
        return True

    def _write(self, table: str, span: Span, content: pa.Table) -> None:
        path = self._directory / table / span.name
        buffer = io.BytesIO()
        pq.write_table(content, buffer, compression="zstd", write_statistics=False)
        try:
            if not path.parent.is_dir():
                path.parent.mkdir()
                sync_directory(self._directory)
            with replacing(path) as file:
                file.write(buffer.getbuffer())
        except OSError as error:
            hint = "earlier results are intact; free some space, and the same command resumes it"
            raise unwritable(path, error, hint) from None
