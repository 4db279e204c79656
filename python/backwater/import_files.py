"""Recognises files of other tools, and turns them into scenario files.

The core defines and reads the formats; this module puts files in their place.
"""

from __future__ import annotations

import csv
import dataclasses
import errno
import os
import shlex
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError, ResultError
from backwater.files import parted, regular, temporary_directory, text_given
from backwater.wording import series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

START_UNITS = ("us", "ps")
"""Units that start times of connection matrices can have."""
MOST_SERVERS = 4096
"""Most servers of an imported topology."""
MOST_RESPONSE_PS = 10**12
"""Longest time in which ports may obey a pause, in ps: far beyond that of any device."""
SCENARIO = ".toml"
PREDICTIONS = ".predictions.csv"
"""End of the name of a file of predictions, behind the name of the scenario."""
CACHE = "imported"
"""Folder in the user's cache for files that were imported in place of a scenario."""


@dataclass(frozen=True)
class Note:
    """An import note: something that the import ignored or assumed, or that differs here."""

    file: str
    line: int | None
    sort: str
    """`ignored`, `assumed`, `differs` or `verdict`."""
    text: str
    """The note for people. It names only the first of many lines or names."""
    lines: list[int] = field(default_factory=list)
    """All lines that the note concerns; `line` is the first."""
    names: list[str] = field(default_factory=list)
    """All keys, fields, tables and ports that the note concerns."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.sort}: {self.text}"


@dataclass(frozen=True)
class Imported:
    """The result of an import.

    `path` is the scenario file, with its tables beside it. `kinds` has the kind of each imported
    file, as in `backwater list formats`. `warnings` are those of `Scenario.check`. `notes` are what
    the import ignored or assumed, and what differs here. Each note has `file`, `line` (or None),
    `sort` (`ignored`, `assumed`, `differs` or `verdict`), `text`, `lines` and `names`; `str(note)`
    is one line for people. `predictions` has a row for each lossless profile of a SONiC switch
    whose chip is known, as in `NAME.predictions.csv`: frames of 64 B at its first pause and drop.
    """

    path: Path
    kinds: list[str]
    notes: list[Note]
    warnings: list[dict[str, str]] = field(default_factory=list)
    predictions: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Options:
    """The options of `backwater.import_`, which describes them; `kind` is its `format`."""

    kind: str | None = None
    start_unit: str | None = None
    zero_at: str | None = None
    command: str = ""
    fabric: str | os.PathLike[str] | None = None
    servers: int | None = None
    memory: str | None = None
    response: str | None = None
    asic: str | None = None


def bring(
    files: Sequence[str | os.PathLike[str]],
    target: Path,
    options: Options,
    *,
    check: Callable[[Path], list[dict[str, str]]] = lambda _: [],
    check_target: Callable[[], None] = lambda: None,
    replace: bool = True,
) -> Imported:
    """Turn files into a scenario file `target`, with tables beside it.

    Existing files are replaced with `replace`, else raise `InputError`. `check` checks the scenario
    before it is put in place: it returns warnings, or raises. `check_target` raises if `target`
    cannot be written; it is called last, so that errors of the files come first.
    """
    if options.start_unit not in (None, *START_UNITS):
        raise InputError(f"--start-unit {options.start_unit}: unknown unit", "us or ps")
    if options.servers is not None and not 1 <= options.servers <= MOST_SERVERS:
        raise InputError(f"--servers {options.servers}: out of range", f"from 1 to {MOST_SERVERS}")
    with _written(target) as folder:
        given = _core.import_files(
            files,
            folder,
            target.stem,
            kind=options.kind,
            start_unit=options.start_unit,
            from_ps=_units("time", options.zero_at, "--zero-at"),
            command=_words(options.command),
            fabric=None if options.fabric is None else _fabric(os.fspath(options.fabric), target),
            servers=options.servers,
            memory=_units("size", options.memory, "--memory"),
            response_ps=_response(options.response),
            asic=options.asic,
        )
        written = folder / target.name
        written.write_text(given["scenario"], encoding="utf-8")
        warnings = check(written)
        predictions = _predictions(folder / f"{target.stem}{PREDICTIONS}")
        check_target()
        if not replace:
            _check_free(folder, target.parent)
        _put(folder, target)
    notes = [Note(*note) for note in given["notes"]]
    return Imported(target, given["kinds"], notes, warnings, predictions)


def _predictions(file: Path) -> list[dict[str, str]]:
    """Return the rows of a file of predictions, none if there is no such file."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _units(kind: str, value: str | None, option: str) -> int | None:
    return None if value is None else _core.base_units(kind, value, option)


def _response(response: str | None) -> int | None:
    picoseconds = _units("time", response, "--response")
    if picoseconds is not None and picoseconds > MOST_RESPONSE_PS:
        raise InputError(f"--response {response}: too long for a port", "at most 1 s")
    return picoseconds


@contextmanager
def _written(target: Path) -> Iterator[Path]:
    """Yield a temporary directory for files that will move to `target`.

    It is in the innermost existing directory above `target`: a failed import leaves none behind.
    """
    place = _nearest(target)
    # An unwritable target is reported once the files are read.
    if not os.access(place, os.W_OK):
        place = Path(gettempdir())
    try:
        with temporary_directory(".import-", place) as folder:
            yield folder
    except OSError as error:
        reason = error.strerror or error
        raise ResultError(f"{target}: cannot be written: {reason}") from None


def _nearest(target: Path) -> Path:
    return next(one for one in target.absolute().parents if one.is_dir())


def _check_free(folder: Path, place: Path) -> None:
    """Raise `InputError` if a file would be replaced: the user has not named the tables."""
    for one in sorted(folder.iterdir()):
        if (place / one.name).exists():
            raise InputError(
                f"{place / one.name}: exists already, and would be replaced",
                "give the scenario another name, or --force to replace it",
            )


def _put(folder: Path, target: Path) -> None:
    """Move all files of a directory to the scenario's place. Raises `OSError`."""
    if not os.access(_nearest(target), os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    target.parent.mkdir(parents=True, exist_ok=True)
    # The scenario last: once it exists, its tables do.
    for one in sorted(folder.iterdir(), key=lambda path: path.name == target.name):
        one.replace(target.parent / one.name)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InputError(f"--command {command}: {error}", "quote it as for a shell") from None


def _fabric(name: str, target: Path) -> tuple[str, str]:
    """Return the name and the text of the scenario whose fabric is used."""
    hint = "--fabric takes a scenario file"
    file, variant = parted(name)
    if variant is not None:
        hint = f"the variants of {file} come with it: --fabric {file}, then {target}@{variant}"
    try:
        return name, text_given(Path(name))
    except FileNotFoundError:
        raise InputError(f"--fabric {name}: there is no such file", hint) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no text"
        raise InputError(f"--fabric {name}: cannot be read: {reason}", hint) from None


def check_foreign(files: Iterable[str | os.PathLike[str]]) -> None:
    """Raise `InputError` for a file that is missing, or is a scenario."""
    for file in map(Path, files):
        if not file.exists() and not file.is_symlink():
            raise InputError(
                f"{file}: there is no such file",
                "name files of another tool; `backwater list formats` lists what can be imported",
            )
        if file.suffix == SCENARIO:
            raise InputError(
                f"{file}: is a scenario of Backwater",
                f"`backwater run {shlex.quote(str(file))}` runs it as it is",
            )


def foreign(path: Path) -> bool:
    """Return whether a file is of another tool, and not a scenario."""
    return path.suffix != SCENARIO and path.is_file() and _core.recognise(path) is not None


def check_together(files: Sequence[Path]) -> None:
    """Raise `InputError` for a scenario among several files.

    Only files of another tool belong together. A scenario ends with `.toml`, or is stdin.
    """
    own = [file for file in files if file.suffix == SCENARIO or str(file) == "-"]
    if not own or len(files) == 1:
        return
    if Path("-") in own:
        raise InputError("-: is a scenario from stdin, and must be alone", "leave one of them out")
    others = [file for file in files if file not in own]
    absent = [file for file in others if not file.exists()]
    if absent:
        raise InputError(
            f"{absent[0]}: there is no such file, and {own[0]} is a scenario, which must be alone",
            "an option begins with --: `--with MECHANISM`, `--set KEY=VALUE`, `--variant NAME`",
        )
    words = shlex.join(map(str, others or own))
    if others:
        raise InputError(
            f"{own[0]}: is a scenario, and must be alone",
            f"`backwater import {words} --fabric {shlex.quote(str(own[0]))} --out NAME.toml` makes "
            "a scenario of both: the workload on the network of the scenario",
        )
    raise InputError(
        f"{series(list(map(str, own)))}: are {len(own)} scenarios, and only one can run at a time",
        f"`backwater compare {words}` runs them beside each other",
    )


def imported(files: Sequence[Path]) -> Imported:
    """Import files that are named in place of a scenario, into the user's cache.

    The folder's name is a digest of the imported content. So results find their tables there, and
    another import never replaces them.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or "")
    if not home.is_absolute():
        home = Path.home() / ".cache"
    cache = Path(home, "backwater", CACHE)
    name = f"{files[0].stem}{SCENARIO}"
    with _written(cache / name) as folder:
        brought = bring(files, folder / name, Options())
        target = cache / _digest(folder) / name
        # The files there may have been edited since.
        if not target.exists() or _digest(target.parent) != target.parent.name:
            _put(folder, target)
    return dataclasses.replace(brought, path=target)


def _digest(folder: Path) -> str:
    """Return a name made from the names and contents of all files in a folder."""
    content = sha256()
    for one in sorted(folder.iterdir()):
        with regular(one).open("rb") as file:
            content.update(file_digest(file, "sha256").digest())
        content.update(one.name.encode() + b"\0")
    return content.hexdigest()[:16]
