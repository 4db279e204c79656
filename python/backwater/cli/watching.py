"""`backwater run --watch`: runs a scenario again each time that its file is saved.

A file is looked at five times a second, by time, size and inode: that sees editors which write anew
and those which replace, on every file system, and takes no processor time to speak of.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.cli.arguments import told
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
# Of more values than these none is told: the scenario is another one.
MOST_CHANGES = 12

Marks = list[tuple[str, int, int, int]]


def _marks(files: Sequence[Path]) -> Marks:
    """What tells the files and the tables that they name from those of another time."""
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
    """Wait until a file is another one, and its writer has done."""
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
    """Say which values are others than before."""
    keys = [key for key in {**before, **after} if before.get(key, "none") != after.get(key, "none")]
    if len(keys) > MOST_CHANGES:
        yield f"{len(keys)} values changed"
        return
    for key in keys:
        yield f"{key}: {before.get(key, 'none')} -> {after.get(key, 'none')}"


def effects(before: dict[str, float], after: dict[str, float]) -> Iterator[str]:
    """Say how the groups' mean completion times have changed."""
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
    """Refuse to read what is no file (any more): what a pipe holds does not change."""
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
    """Run what is in `files` now and whenever one of them changes, until a signal ends it.

    `run` gets the scenario, and whether what is in `base` may be replaced; it gives an exit code.
    Whatever is wrong with the scenario is said, and waits to be mended.
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
            message(told(error))
        what = "it is" if len(files) == 1 else "one of them is"
        message(f"watching {series(files)}: it runs again when {what} saved; Ctrl-C ends")
        _changed(paths, marks)
