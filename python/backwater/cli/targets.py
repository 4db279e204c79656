"""Files that output is to go to. What people have written is never replaced, whatever its name."""

from __future__ import annotations

import json
import os
import stat
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from backwater.cli.arguments import LONGEST
from backwater.directory import part_of_results
from backwater.errors import InputError, ResultError
from backwater.files import own_stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

# A pcapng file begins with the type of a section header block.
SECTION = b"\x0a\x0d\x0d\x0a"
# Within so many octets a report and a capture name who has written them.
HEAD = 1024


class Kind(Enum):
    """What is to be written; an earlier file of the same kind may be replaced."""

    JSON = "JSON"
    REPORT = "report of Backwater's"
    CAPTURE = "capture of Backwater's"
    SCENARIO = "scenario"
    SVG = "SVG"
    PNG = "PNG"
    PDF = "PDF"
    PPTX = "presentation"


def writable(target: str | None, kind: Kind, *inputs: str | os.PathLike[str] | None) -> None:
    """Complain about an output file that cannot be written before the work is done, not after.

    `inputs` are files that the command reads: none of them is replaced. Raises `InputError` for a
    name that stands for something else, `ResultError` where the system does not let it be written.
    """
    if target is None or target == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise InputError(f"{path}: is a directory, not a file", "give the name of a file in it")
    if not path.absolute().parent.is_dir():
        raise InputError(
            f"{path}: the directory {path.parent} does not exist", "make it, or name another file"
        )
    try:
        if replaced(path, kind):
            _check_replaceable(path, kind, inputs)
    except OSError as error:
        raise ResultError(
            f"{path}: cannot be looked into: {error.strerror or error}", "name another file"
        ) from None
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ResultError(f"{path}: cannot be written: permission denied", "name another file")


def replaced(path: Path, kind: Kind) -> bool:
    """Whether there is a file whose place the output would take. Raises `OSError`.

    What is no regular file is written to, and so are this process's own streams. A capture is
    written anew even there: it does not go through them.
    """
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(there.st_mode):
        return False
    return kind is Kind.CAPTURE or own_stream(path, there) is None


def _check_replaceable(
    path: Path, kind: Kind, inputs: tuple[str | os.PathLike[str] | None, ...]
) -> None:
    for one in inputs:
        if one is not None and Path(one).exists() and path.samefile(one):
            raise InputError(
                f"{path}: is what the command reads, and would be replaced", "name another file"
            )
    if part_of_results(path.resolve()):
        raise InputError(
            f"{path}: is part of a directory of results, and would be replaced", "name another file"
        )
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size and not _LOOKS[kind](file):
            raise InputError(
                f"{path}: is there and is no {kind.value}",
                "name another file, or remove this one first: it would be replaced",
            )


def _json(file: BinaryIO) -> bool:
    """Whether it is an object or a list. A TOML file may begin like one, but never is one."""
    size = os.fstat(file.fileno()).st_size
    if size <= LONGEST:
        try:
            return isinstance(json.loads(file.read()), dict | list)
        except (ValueError, RecursionError):
            return False
    # Longer than any scenario: what it begins and ends with is enough.
    first = file.read(1)
    file.seek(-2, os.SEEK_END)
    return (first, file.read().rstrip()[-1:]) in ((b"{", b"}"), (b"[", b"]"))


def _report(file: BinaryIO) -> bool:
    head = file.read(HEAD).lower()
    return head.startswith(b"<!doctype html") and b'name="generator" content="backwater' in head


def _capture(file: BinaryIO) -> bool:
    head = file.read(HEAD)
    return head.startswith(SECTION) and b"backwater" in head


def _begins(octets: bytes) -> Callable[[BinaryIO], bool]:
    return lambda file: file.read(len(octets)) == octets


def _scenario(file: BinaryIO) -> bool:
    import tomllib

    try:
        return "topology" in tomllib.loads(file.read(LONGEST).decode())
    except (ValueError, RecursionError):
        return False


_LOOKS: dict[Kind, Callable[[BinaryIO], bool]] = {
    Kind.JSON: _json,
    Kind.REPORT: _report,
    Kind.CAPTURE: _capture,
    Kind.SCENARIO: _scenario,
    Kind.SVG: _begins(b"<svg"),
    Kind.PNG: _begins(b"\x89PNG"),
    Kind.PDF: _begins(b"%PDF"),
    Kind.PPTX: _begins(b"PK\x03\x04"),
}
