"""Files that a pickled scenario carries: the tables and matrices that it names."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError, ResultError
from backwater.files import octets_of, temporary_directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Keys that name a file, in entries of `flow` and `job`.
_KEYS = ("table", "matrix", "operations")


def named_files(text: str, changes: Sequence[Any]) -> set[str]:
    """Return the names of the files that a scenario, or a variant of it, refers to.

    `changes` are those of `Scenario.changes`. Raises `ValueError` if `text` is not TOML.
    """
    names = set(_values(tomllib.loads(text)))
    for method, arguments, _ in changes:
        if method == "with_set" and arguments[0].rpartition(".")[2] in _KEYS:
            names.add(arguments[1].strip("\"'"))
    return names


def named_content(text: str, changes: Sequence[Any], base: Path) -> dict[str, bytes]:
    """Return the content of each file that a scenario, or a variant of it, refers to.

    It leaves out names of anything but regular files: a run reports what is missing.
    """
    found = {}
    for name in sorted(named_files(text, changes)):
        with contextlib.suppress(OSError, ValueError):
            found[name] = octets_of(base / name)
    return found


def _values(part: object) -> Iterator[str]:
    if isinstance(part, list):
        for one in part:
            yield from _values(one)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in _KEYS and isinstance(value, str):
                yield value
            else:
                yield from _values(value)


def placed(base: Path, files: Mapping[str, bytes]) -> Path:
    """Return a directory that has these files: `base` if they are in it unchanged, or a new one.

    Raises `InputError` for a file with an absolute name that is missing or has changed, and
    `ResultError` if the new directory cannot be written.
    """
    missing = {name: content for name, content in files.items() if not _there(base, name, content)}
    if not missing:
        return base
    for name in missing:
        if Path(name).is_absolute():
            raise InputError(
                f"{name}: is not the same file on this machine",
                "with a name relative to the scenario's, the file travels with the scenario",
            )
    marks = [f"{name}\0{hashlib.sha256(content).hexdigest()}" for name, content in files.items()]
    root = Path(_folder()) / hashlib.sha256("\n".join(marks).encode()).hexdigest()[:16]
    # Names may lead upwards.
    deepest = max(Path(name).parts.count("..") for name in files)
    place = root.joinpath(*("in",) * deepest)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            if not Path(name).is_absolute() and not _there(place, name, content):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(content)
    except OSError as error:
        raise ResultError(f"{place}: cannot be written: {error.strerror or error}") from None
    return place


def _there(base: Path, name: str, content: bytes) -> bool:
    try:
        return octets_of(base / name) == content
    except OSError:
        return False


@functools.cache
def _folder() -> str:
    # Removed at the end of the process.
    kept = contextlib.ExitStack()
    atexit.register(kept.close)
    return str(kept.enter_context(temporary_directory("backwater-")))
