"""The target of an export: a file, a directory, or stdout. Only `force` replaces a file."""

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
    """The target of an export. Its files are written whole or not at all."""

    def __init__(
        self, path: str | os.PathLike[str], names: Sequence[str] = (), *, force: bool = False
    ) -> None:
        """Check that the files may be written, before any work is done.

        `names` are the files of a directory; without names, `path` is the file itself. Raises
        `InputError` for a path of the wrong kind, or if a file would be replaced. Raises
        `ResultError` if the system denies access.
        """
        self._path = Path(path)
        self._stdout = os.fspath(path) == STDOUT
        self._names = tuple(names)
        if self._stdout:
            if names:
                raise InputError(f"-o {STDOUT}: it writes {len(names)} files", "name a directory")
            return
        try:
            self._check_free(force=force)
        except OSError as error:
            if isinstance(error, ResultError):
                raise
            raise ResultError(
                f"{self._path}: cannot be looked into: {error.strerror or error}", "name another"
            ) from None

    def _check_free(self, *, force: bool) -> None:
        path = self._path
        if self._names:
            if path.exists() and not path.is_dir():
                raise InputError(f"{path}: is a file, not a directory", "name another")
        elif path.is_dir():
            raise InputError(f"{path}: is a directory, not a file", "name a file in it")
        if not path.absolute().parent.is_dir():
            raise InputError(
                f"{path}: the directory {path.parent} does not exist", "make it, or name another"
            )
        for one in [path / name for name in self._names] or [path]:
            if one.is_dir():
                raise InputError(f"{one}: is a directory, not a file", "name another")
            if not _replaced(one):
                continue
            if part_of_results(one.resolve()):
                raise InputError(
                    f"{one}: is part of a directory of results, and would be replaced",
                    "name another",
                )
            if one.stat().st_size and not force:
                raise InputError(
                    f"{one}: exists already", "give another name, or --force to replace it"
                )

    @contextlib.contextmanager
    def text(self, name: str | None = None) -> Iterator[IO[str]]:
        """Open a file for text, by its name in a directory; lines end with a line feed."""
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
        """Open a file for bytes; it gets its name when it is whole and on the disk."""
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
            # The reader of a pipe may stop before its end.
            return
        except OSError as error:
            if isinstance(error, ResultError):
                raise
            raise ResultError(f"{path}: cannot be written: {error.strerror or error}") from None


def _replaced(path: Path) -> bool:
    """Whether the output would replace a regular file, other than an open stream of ours."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(there.st_mode) and own_stream(path, there) is None
