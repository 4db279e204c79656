"""Where an export goes: a file, a directory, or stdout. What is there is replaced only by force."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from backwater.directory import part_of_results
from backwater.errors import InputError, ResultError
from backwater.files import own_stream, replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STDOUT = "-"


class Place:
    """Files that are written whole or not at all, and where they are to be."""

    def __init__(
        self, path: str | os.PathLike[str], names: Sequence[str] = (), *, force: bool = False
    ) -> None:
        """See that files may be written before any work is done.

        `names` are those of the files of a directory; none: `path` is the file itself. Raises
        `InputError` for a path that is something else or has what would be replaced, `ResultError`
        where the system does not let it be written.
        """
        self._path = Path(path)
        self._stdout = os.fspath(path) == STDOUT
        self._names = tuple(names)
        if self._stdout:
            if names:
                raise InputError(
                    f"-o {STDOUT}: it writes {len(names)} files", "give the name of a directory"
                )
            return
        try:
            self._check_free(force=force)
        except OSError as error:
            if isinstance(error, ResultError):
                raise
            raise ResultError(
                f"{self._path}: cannot be looked into: {error.strerror or error}",
                "give another name",
            ) from None

    def _check_free(self, *, force: bool) -> None:
        path = self._path
        if self._names:
            if path.exists() and not path.is_dir():
                raise InputError(f"{path}: is a file, not a directory", "give another name")
        elif path.is_dir():
            raise InputError(f"{path}: is a directory, not a file", "give the name of a file in it")
        if not path.absolute().parent.is_dir():
            raise InputError(
                f"{path}: the directory {path.parent} does not exist", "make it, or give another"
            )
        for one in [path / name for name in self._names] or [path]:
            if one.is_dir():
                raise InputError(f"{one}: is a directory, in the way of a file", "give another")
            if not _replaced(one):
                continue
            if part_of_results(one.resolve()):
                raise InputError(
                    f"{one}: is part of a directory of results, and would be replaced",
                    "give another name",
                )
            if one.stat().st_size and not force:
                raise InputError(
                    f"{one}: is there already", "give another name, or --force to replace it"
                )

    @contextlib.contextmanager
    def text(self, name: str | None = None) -> Iterator[IO[str]]:
        """Give a file to write text to, by its name in a directory; lines end with a line feed."""
        if self._stdout:
            yield sys.stdout
            return
        with self.binary(name) as file:
            lines = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
            yield lines
            lines.flush()
            lines.detach()

    @contextlib.contextmanager
    def binary(self, name: str | None = None) -> Iterator[IO[bytes]]:
        """Give a file to write octets to; it takes its name when it is whole and on the disk."""
        path = self._path if name is None else self._path / name
        try:
            if name is not None:
                self._path.mkdir(exist_ok=True)
            there = path.stat() if path.exists() else None
            stream = None if there is None else own_stream(path, there)
            if stream is not None:
                sys.stdout.flush()
                with os.fdopen(os.dup(stream), "wb") as file:
                    yield file
            elif there is not None and not stat.S_ISREG(there.st_mode):
                with path.open("wb") as file:
                    yield file
            else:
                with replacing(Path(os.path.realpath(path)), there) as file:
                    yield file
        except BrokenPipeError:
            # Who reads a pipe need not read it to its end.
            return
        except OSError as error:
            if isinstance(error, ResultError):
                raise
            raise ResultError(f"{path}: cannot be written: {error.strerror or error}") from None


def _replaced(path: Path) -> bool:
    """Whether there is a regular file of somebody's whose place the output would take."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(there.st_mode) and own_stream(path, there) is None
