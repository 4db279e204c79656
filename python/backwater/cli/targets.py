"""Checks of output files. A file that a person wrote is never replaced, whatever its name."""

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
# A report and a capture name their writer within so many octets.
HEAD = 1024


class Kind(Enum):
    """The kind of an output file, which may replace an earlier file of its kind."""

    JSON = "JSON"
    REPORT = "report by Backwater"
    CAPTURE = "capture by Backwater"
    SCENARIO = "scenario"
    SVG = "SVG"
    PNG = "PNG"
    PDF = "PDF"
    PPTX = "presentation"


def writable(target: str | None, kind: Kind, *inputs: str | os.PathLike[str] | None) -> None:
    """Refuse an output file that cannot be written, before the work is done.

    `inputs` are files that the command reads, and may not be replaced. Raises `InputError` for the
    name of another kind of file, and `ResultError` if the system refuses to write.
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
            f"{path}: cannot be read: {error.strerror or error}", "name another file"
        ) from None
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ResultError(f"{path}: cannot be written: permission denied", "name another file")


def replaced(path: Path, kind: Kind) -> bool:
    """Whether the output would replace an existing file. Raises `OSError`.

    Devices, pipes and this process's own streams are written to, not replaced. A capture does not
    go through the streams, so it replaces their files.
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
                f"{path}: is an input of the command, and would be replaced", "name another file"
            )
    if part_of_results(path.resolve()):
        raise InputError(
            f"{path}: is part of a directory of results, and would be replaced", "name another file"
        )
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size and not _LOOKS[kind](file):
            raise InputError(
                f"{path}: exists, is no {kind.value}, and would be replaced",
                "name another file, or remove this one first",
            )


def _json(file: BinaryIO) -> bool:
    """Whether a file is an object or a list, which a TOML file may begin like."""
    size = os.fstat(file.fileno()).st_size
    if size <= LONGEST:
        try:
            return isinstance(json.loads(file.read()), dict | list)
        except (ValueError, RecursionError):
            return False
    # It is longer than any scenario, so its first and last octets suffice.
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
