"""All requests to a sweep's directory, which may include more than the last command's.

A separate file lists requested points that have not run, so that a small command does not hide what
a larger one left open. The points of an unfinished search are unknown: for it the manifest has the
goal.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from backwater.directory import MISSING
from backwater.errors import unwritable
from backwater.files import regular, write_file
from backwater.sweep.point import DONE, FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from backwater.sweep.drive import State

_LEFT = "missing"


class Whole:
    """Counts the points of a directory that the current command has not requested."""

    def __init__(self, directory: Path, known: Mapping[str, str], before: Iterable[str]) -> None:
        """`known`: the status of each existing point; `before`: the points that were missing."""
        self._file = directory / MISSING
        self._others = dict.fromkeys(before, _LEFT) | dict(known)
        self._counts = Counter(self._others.values())

    def take(self, points: Iterable[str]) -> None:
        """Leave out points that the command requests, as it counts these itself."""
        for point in points:
            if (status := self._others.pop(point, None)) is not None:
                self._counts[status] -= 1

    def lose(self, points: Iterable[str]) -> None:
        """Count points as missing whose rows are removed for another run."""
        for point in points:
            if (status := self._others.get(point)) is not None:
                self._counts[status] -= 1
                self._counts[_LEFT] += 1
                self._others[point] = _LEFT

    def counts(self, state: State) -> dict[str, int]:
        """Return the numbers of all, done and failed points, including those of the command."""
        return {
            "points": state.points + len(self._others),
            "done": state.done + self._counts[DONE],
            "failed": state.failed + self._counts[FAILED],
        }

    @property
    def missing(self) -> int:
        """The number of missing points that the command has not requested."""
        return self._counts[_LEFT]

    def write(self, mine: Iterable[str]) -> None:
        """Write the ids of missing points, including those of the command, `mine`."""
        left = sorted({*mine, *(one for one, status in self._others.items() if status == _LEFT)})
        try:
            if not left:
                self._file.unlink(missing_ok=True)
                return
            buffer = io.BytesIO()
            pq.write_table(pa.table({"point": pa.array(left, pa.string())}), buffer)
            write_file(self._file, buffer.getvalue())
        except OSError as error:
            hint = "free some space, and the same command resumes it"
            raise unwritable(self._file, error, hint) from None


def missing(directory: Path) -> list[str]:
    """Return the missing points that earlier commands requested."""
    try:
        found = pq.ParquetFile(regular(directory / MISSING)).read()["point"].to_pylist()
    except (OSError, KeyError, pa.ArrowException):
        # The file holds no results: without it a command counts its own points only.
        return []
    return [str(point) for point in found]


def unfinished(manifest: Mapping[str, Any], asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the requests of unfinished earlier searches, except one equal to `asked`."""
    found = list(manifest.get("unfinished") or ())
    earlier = manifest.get("asked") or {}
    if earlier.get("goal") is not None and manifest.get("answer") is None:
        found.append(earlier)
    unique = {_known_by(one): one for one in found}
    unique.pop(_known_by(asked), None)
    return list(unique.values())


def _known_by(asked: Mapping[str, Any]) -> str:
    vary = sorted((key, str(values)) for key, values in (asked.get("vary") or {}).items())
    others = sorted((key, str(value)) for key, value in asked.items() if key != "vary")
    return repr((vary, others))
