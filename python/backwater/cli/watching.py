"""`backwater run --watch`: runs a scenario again each time that its file is saved.

Time, size and inode of a file are read five times a second. This detects editors that overwrite a
file and those that replace it, on every file system, and takes hardly any processor time.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.cli.arguments import error_text
from backwater.cli.output import message
from backwater.errors import SIGNALLED, InputError, ResultError
from backwater.files import regular, text_of
from backwater.numbers.run import group_times
from backwater.pickling import named_files
from backwater.results import load_run
from backwater.wording import percent, series, us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from backwater.scenario import Scenario

LOOK_SECONDS = 0.2
# If more values than these changed, only their number is shown.
MOST_CHANGES = 12

Marks = list[tuple[str, int, int, int]]


def _marks(files: Sequence[Path]) -> Marks:
    """Return marks that change when the files, or tables that they name, change."""
    found = []
    for file in files:
        try:
            names = sorted(named_files(text_of(file), ()))
        except (OSError, ValueError):
            names = []
        for path in (file, *(file.parent / name for name in names)):
            try:
                seen = path.stat()
            except OSError:
                continue
            found.append((str(path), seen.st_mtime_ns, seen.st_size, seen.st_ino))
    return found


def _changed(files: Sequence[Path], known: Marks) -> None:
    """Wait until a file has changed, and its writer is done."""
    while True:
        time.sleep(LOOK_SECONDS)
        now = _marks(files)
        if now and now != known:
            time.sleep(LOOK_SECONDS)
            if _marks(files) == now:
                return


def _values(case: Scenario) -> dict[str, str]:
    return {one["key"]: one["value"] for one in case.values()}


def differences(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """Yield a line for each changed value."""
    keys = [key for key in {**before, **after} if before.get(key, "none") != after.get(key, "none")]
    if len(keys) > MOST_CHANGES:
        yield f"{len(keys)} values changed"
        return
    for key in keys:
        yield f"{key}: {before.get(key, 'none')} -> {after.get(key, 'none')}"


def effects(before: dict[str, float], after: dict[str, float]) -> Iterator[str]:
    """Yield a line for each group: its mean completion time before and after."""
    for group, value in after.items():
        if group in before:
            was = before[group]
            share = percent(value / was - 1) if was else "-"
            yield f"{group}: mean completion time {us(was)} -> {us(value)} us ({share})"


def _means(base: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for group in group_times(load_run(base)):
        times: dict[str, Any] | None = group["fct_last_ack_us"] or group["fct_last_byte_us"]
        if times is not None:
            found[group["group"]] = times["mean"]
    return found


def _check_regular(path: Path) -> None:
    """Refuse a path that is not, or no longer, a regular file: a pipe does not change."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file", "--watch takes a scenario file")
    try:
        regular(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "--watch takes a scenario file") from None


def watch(
    files: Sequence[str],
    read: Callable[[], Scenario],
    run: Callable[[Scenario, bool], int],
    base: Path,
) -> int:
    """Run a scenario now and each time one of its `files` changes, until a signal.

    `run` takes the scenario, and whether it may replace results in `base`; it returns an exit code.
    An error of the scenario is shown, and the next change is awaited.
    """
    paths = [Path(file) for file in files]
    for path in paths:
        _check_regular(path)
    values: dict[str, str] | None = None
    means: dict[str, float] = {}
    again = False
    while True:
        marks = _marks(paths)
        try:
            for path in paths:
                _check_regular(path)
            case = read()
            fresh = _values(case)
            if values is not None:
                message(*differences(values, fresh))
            code = run(case, again)
            again = True
            if code > SIGNALLED:
                return code
            values = fresh
            later = _means(base)
            if later == means:
                message("completion times are as before")
            else:
                message(*effects(means, later))
            means = later
        except (_core.ScenarioError, _core.RunError, InputError, ResultError) as error:
            message(error_text(error))
        what = "it is" if len(files) == 1 else "one of them is"
        message(f"watching {series(files)}: it runs again when {what} saved; Ctrl-C ends")
        _changed(paths, marks)
