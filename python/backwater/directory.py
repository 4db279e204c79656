"""Directories of results: who may write to them, and which of their content may be removed.

Only files that Backwater wrote are ever removed. A directory holds results if its manifest is of a
known kind and format; in it, only files with known names are Backwater's. The directory itself is
never removed or replaced: it may be a mount point, `.`, or the target of a link.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError, ResultError, unwritable
from backwater.files import TEMPORARY, digest, dropped, octets_of
from backwater.journal import JOURNAL, part_name
from backwater.manifest import (
    BENCH,
    COMPARISON,
    MANIFEST,
    NAMES,
    RUN,
    SEEDS,
    STUDY,
    SWEEP,
    kind_of,
    mark_unfinished,
    read_manifest,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

DESCRIBED = dict(_core.tables())
"""The meaning of a row, by result table."""
TABLES = tuple(DESCRIBED)
SCENARIO = "scenario.toml"
STATISTICS = "statistics.parquet"
SWEEP_TABLES = ("points", "timings", "flows")
SWEEP_PART = r"part-(\d{5,})-(\d{5,})\.parquet"
PROGRESS = "progress.json"
TRIALS = "optuna.log"
"""The file of a search that Optuna's own tools read."""
MISSING = "missing.parquet"
"""Requested points of a sweep that are missing."""
SUMMARY = "summary.txt"
FIGURES = "figures"
ANSWER_FIGURE = r"(?:curve|map|effects)-\d+\.svg|front\.svg"
BENCH_FILE = "bench.json"
STUDY_FILES = ("table.json", "beside.json", "points.json", "measured.jsonl")
_FILES = (
    *(MANIFEST, SCENARIO, STATISTICS, JOURNAL, PROGRESS, TRIALS, MISSING, SUMMARY),
    *STUDY_FILES,
    BENCH_FILE,
)
OBSERVED = "observed"
"""Runs that a report has repeated with samples, for its charts."""
RUNS = "runs"
FOLDERS = (RUNS, OBSERVED)
LOCK = ".backwater.lock"

_PART = re.compile(r"part-(\d{5,})\.parquet")
_SEED = re.compile(r"seed-\d+")

# Errors of file systems without such locks.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


def standing(path: Path) -> str | None:
    """Return the kind of results in a directory; None: it is absent or empty.

    Raises `InputError` if it holds anything else.
    """
    try:
        names = [entry.name for entry in path.iterdir() if not _transient(entry.name)]
    except FileNotFoundError:
        if path.is_symlink():
            raise InputError(
                f"{path}: is a link to nothing", "make its target, or give --out another name"
            ) from None
        return None
    except NotADirectoryError:
        raise InputError(f"{path}: is a file, not a directory", "give --out another name") from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}", "give --out another name"
        ) from None
    if not names:
        return None
    kind = kind_of(path)
    if kind is None and _damaged(path, names):
        return SEEDS if JOURNAL in names else RUN
    if kind is None:
        raise InputError(
            f"{path}: is not empty, and holds no results of Backwater",
            "give --out the name of a new directory",
        )
    return kind


def part_of_results(path: Path) -> bool:
    """Return whether Backwater wrote a file, as part of a directory of results."""
    if path.parent.name in SWEEP_TABLES and re.fullmatch(SWEEP_PART, path.name):
        return kind_of(path.parent.parent) is not None
    if path.parent.name in TABLES and _PART.fullmatch(path.name):
        return kind_of(path.parent.parent) is not None
    return path.name in _FILES and kind_of(path.parent) is not None


def _damaged(path: Path, names: list[str]) -> bool:
    """Return whether a directory has only files of a run or series, and a damaged manifest."""
    known = {MANIFEST, SCENARIO, JOURNAL, STATISTICS, OBSERVED, *TABLES}
    if not (MANIFEST in names and known.issuperset(names) and len(names) > 1):
        return False
    import json

    try:
        json.loads(octets_of(path / MANIFEST))
    except (OSError, ValueError, RecursionError):
        return True
    return False


def replaceable(path: Path, *, force: bool) -> None:
    """Raise `InputError` unless `path` is absent, empty, or (with `force`) has earlier results."""
    kind = standing(path)
    if kind is None:
        return
    if not force:
        raise InputError(
            f"{path}: holds earlier results of a {NAMES[kind]}",
            "give --out another name, or --force to replace them",
        )


def _written(path: Path) -> str | None:
    """Return the hash of the scenario that was written with a run; None: it is unknown."""
    try:
        return (read_manifest(path).get("files") or {}).get(SCENARIO)
    except ResultError:
        return None


def _check_unedited(path: Path) -> None:
    """Raise `InputError` if somebody has edited the scenario of a run."""
    scenario, wanted = path / SCENARIO, _written(path)
    with contextlib.suppress(OSError):
        if wanted is not None and digest(scenario) != wanted:
            raise InputError(
                f"{scenario}: was changed since it was written, and would be replaced",
                "move it, or give --out another name",
            )


def _set_aside(path: Path) -> None:
    """Keep the scenario of a run under another name if it may have been edited.

    That is unknown if the manifest is damaged, or of a version without hashes.
    """
    scenario = path / SCENARIO
    if scenario.is_file() and not scenario.is_symlink() and _written(path) is None:
        names = (path / f"{SCENARIO}.kept-{number}" for number in count(1))
        scenario.rename(next(name for name in names if not name.exists()))


def check_free(path: Path) -> None:
    """Raise `InputError` if links or files in a directory are in the way of results."""
    folders = (*TABLES, *SWEEP_TABLES, *FOLDERS, FIGURES)
    for name in (*_FILES, *folders):
        if (path / name).is_symlink():
            raise InputError(
                f"{path / name}: is a link, and its target would be replaced",
                "remove it, or give --out another name",
            )
        if name in folders and (path / name).is_file():
            raise InputError(
                f"{path / name}: is in the way of a directory", "give --out another name"
            )


def clear(path: Path) -> None:
    """Remove what Backwater wrote into a directory, except its manifest.

    Until it is replaced, the manifest marks the directory as Backwater's. Files with other names
    stay, and so does `path`.
    """
    check_free(path)
    try:
        kind = standing(path)
        if kind is None:
            # A command that was killed before it had a manifest has left the beginning of one.
            _remove_temporary(path)
        else:
            # Check all before anything is removed.
            runs = _runs(path, kind)
            for run in runs:
                _check_unedited(run)
            for run in runs:
                _set_aside(run)
            mark_unfinished(path)
            _CLEAR[kind](path)
    except OSError as error:
        raise ResultError(f"{path}: cannot be cleared: {error.strerror or error}") from None


def _runs(path: Path, kind: str) -> list[Path]:
    """Return the directories of runs that are part of results of a kind."""
    if kind == SWEEP:
        return []
    if kind == RUN:
        return [path, *_observed(path)]
    points = [point for name in FOLDERS for point in _inside(path / name)]
    places = {SEEDS: [path], STUDY: points, BENCH: points, COMPARISON: _inside(path)}[kind]
    # Before series shared their tables, each of their runs had a directory.
    seeds = [one for place in places for one in _inside(place) if _SEED.fullmatch(one.name)]
    own = [one for one in places if kind == STUDY or kind_of(one) is not None]
    if kind != STUDY:
        seeds += [run for place in places for run in _observed(place)]
    return [run for run in (*own, *seeds) if run.is_dir() and not run.is_symlink()]


def _observed(path: Path) -> list[Path]:
    """Return the runs of the run or series in `path` that a report has repeated with samples."""
    within = [one for one in _inside(path / OBSERVED) if _SEED.fullmatch(one.name)]
    return [one for one in within if not one.is_symlink() and kind_of(one) == RUN]


def _clear_run(path: Path) -> None:
    for run in _observed(path):
        _drop_run(run)
    _remove_empty(path / OBSERVED)
    remove_parts(path, ())
    _remove(path / SCENARIO)
    _remove_temporary(path)


def _clear_seeds(path: Path) -> None:
    for run in _runs(path, SEEDS):
        if run != path:
            _drop_run(run)
    _remove(path / JOURNAL)
    _remove(path / STATISTICS)
    _clear_run(path)


def remove_parts(path: Path, kept: Collection[str]) -> dict[str, int]:
    """Remove the parts of tables in a directory, except those in `kept`, such as ports/part-….

    Returns, for each table with parts that are kept, the number after the last of them.
    """
    free: dict[str, int] = {}
    for table in TABLES:
        folder = path / table
        for file in _inside(folder):
            name = TEMPORARY.fullmatch(file.name)
            part = _PART.fullmatch(name["name"] if name else file.name)
            if part is None:
                continue
            if name is None and part_name(table, int(part[1])) in kept:
                free[table] = max(free.get(table, 0), int(part[1]) + 1)
            else:
                _remove(file)
        _remove_empty(folder)
    return free


def _clear_study(path: Path) -> None:
    for run in _runs(path, STUDY):
        _drop_run(run)
        _remove_empty(run.parent)
    for name in FOLDERS:
        _remove_empty(path / name)
    for name in STUDY_FILES:
        _remove(path / name)
    _remove_temporary(path)


def _clear_bench(path: Path) -> None:
    for run in _runs(path, BENCH):
        _drop_run(run)
    _remove_empty(path / RUNS)
    _remove(path / BENCH_FILE)
    _remove_temporary(path)


def _clear_comparison(path: Path) -> None:
    for run in _runs(path, COMPARISON):
        _drop_run(run)
        _remove_empty(run.parent)
    _remove_temporary(path)


def _clear_sweep(path: Path) -> None:
    for table in SWEEP_TABLES:
        folder = path / table
        for file in _inside(folder):
            name = TEMPORARY.fullmatch(file.name)
            if re.fullmatch(SWEEP_PART, name["name"] if name else file.name):
                _remove(file)
        _remove_empty(folder)
    clear_answer(path)
    for known in (PROGRESS, TRIALS, MISSING):
        _remove(path / known)
    _remove_temporary(path)


def clear_answer(path: Path) -> None:
    """Remove the answer to a goal from the directory of a sweep, and its figures."""
    _remove(path / SUMMARY)
    for file in _inside(path / FIGURES):
        if re.fullmatch(ANSWER_FIGURE, file.name):
            _remove(file)
    _remove_empty(path / FIGURES)


_CLEAR = {
    RUN: _clear_run,
    SEEDS: _clear_seeds,
    STUDY: _clear_study,
    COMPARISON: _clear_comparison,
    BENCH: _clear_bench,
    SWEEP: _clear_sweep,
}


def _drop_run(path: Path) -> None:
    """Remove a run or a series below other results, with its manifest."""
    kind = kind_of(path)
    if kind not in (RUN, SEEDS):
        return
    with locked(path):
        mark_unfinished(path)
        _CLEAR[kind](path)
        _remove(path / MANIFEST)
    _remove_empty(path)


def _inside(folder: Path) -> list[Path]:
    """Return the content of a directory; nothing for a link to one, or for anything else."""
    return [] if folder.is_symlink() or not folder.is_dir() else sorted(folder.iterdir())


def _remove(file: Path) -> None:
    if file.is_file() and not file.is_symlink():
        file.unlink()


def _remove_empty(folder: Path) -> None:
    """Remove a directory if it is empty."""
    if not folder.is_symlink() and folder.is_dir():
        with contextlib.suppress(OSError):
            folder.rmdir()


def _remove_temporary(path: Path) -> None:
    """Remove temporary files that a killed command has left."""
    for file in _inside(path):
        if _transient(file.name) and file.name != LOCK:
            _remove(file)


def _transient(name: str) -> bool:
    found = TEMPORARY.fullmatch(name)
    return name == LOCK or (found is not None and found["name"] in _FILES)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a directory for this process, and make the directory if it is missing.

    The lock ends with its process. Raises `InputError` if another process holds it. On a file
    system without locks, the directory is not locked.
    """
    made = _make(path)
    check_free(path)
    file = path / LOCK
    descriptor = _lock(path, file)
    _remove_temporary(path)
    try:
        # A signal that ends the process at once removes the file, too.
        with dropped(file):
            yield
    finally:
        # While the lock is held: afterwards, the file may be another process's.
        with contextlib.suppress(OSError):
            file.unlink()
        os.close(descriptor)
        for one in made:
            _remove_empty(one)


def _make(path: Path) -> list[Path]:
    """Make a directory and those above it, and return the new ones, the innermost first."""
    above = [one for one in (path, *path.parents) if not one.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error, "give --out another name") from None
    return above


def _lock(path: Path, file: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    while True:
        try:
            descriptor = os.open(file, flags, 0o666)
        except FileNotFoundError:
            # Its maker has just removed it again, since it stayed empty.
            _make(path)
            continue
        except OSError as error:
            raise unwritable(path, error, "give --out another name") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return descriptor
            holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
            os.close(descriptor)
            raise InputError(
                f"{path}: another process is writing results there: {holder or 'unknown'}",
                "wait for its end, or give --out another name",
            ) from None
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                os.ftruncate(descriptor, 0)
                holder = f"process {os.getpid()} on {os.uname().nodename}"
                os.pwrite(descriptor, holder.encode(), 0)
                return descriptor
        # Its holder removed the file between our opening and locking it.
        os.close(descriptor)


def writer(path: Path) -> str | None:
    """Return which process writes into a directory; None: none does.

    A process of another machine counts even if it has ended.
    """
    try:
        holder = octets_of(path / LOCK).decode("utf-8", "replace")
    except OSError:
        return None
    found = re.fullmatch(r"process (\d+) on (.+)", holder)
    if found is None:
        return None
    here = found[2] == os.uname().nodename
    return holder if not here or Path("/proc", found[1]).exists() else None


def free_name(base: Path) -> Path:
    """Return the first of `base`, `base-2`, `base-3`, ... that does not exist yet."""
    names = chain([base], (base.with_name(f"{base.name}-{number}") for number in count(2)))
    return next(name for name in names if not name.exists() and not name.is_symlink())


def free_directory(base: Path) -> Path:
    """Make a directory with the first free name (see `free_name`), and return it."""
    while True:
        path = free_name(base)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise unwritable(path, error, "give --out a name") from None
        return path
