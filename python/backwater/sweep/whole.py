"""All that commands have asked of a sweep's directory, which may be more than the last one did.

Points that were asked for and are not there are in a file of their own while there are such, so
that a small command does not hide what a larger one has left. What a search would have asked for
nobody knows: of one that came to no end the manifest names the goal.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from backwater.directory import MISSING
from backwater.errors import ResultError
from backwater.files import regular, write_file
from backwater.sweep.point import DONE, FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from backwater.sweep.drive import State

_LEFT = "missing"


class Whole:
    """Counts the points of a directory that the command at hand has not asked for."""

    def __init__(self, directory: Path, known: Mapping[str, str], before: Iterable[str]) -> None:
        """`known`: the status of each point there; `before`: those that were missing."""
        self._file = directory / MISSING
        self._others = dict.fromkeys(before, _LEFT) | dict(known)
        self._counts = Counter(self._others.values())

    def take(self, points: Iterable[str]) -> None:
        """Take note of points that the command asks for: these it counts itself."""
        for point in points:
            if (status := self._others.pop(point, None)) is not None:
                self._counts[status] -= 1

    def lose(self, points: Iterable[str]) -> None:
        """Take note of points whose rows are removed, to be run again."""
        for point in points:
            if (status := self._others.get(point)) is not None:
                self._counts[status] -= 1
                self._counts[_LEFT] += 1
                self._others[point] = _LEFT

    def counts(self, state: State) -> dict[str, int]:
        """Give how many points there are, done and failed, with those of a command."""
        return {
            "points": state.points + len(self._others),
            "done": state.done + self._counts[DONE],
            "failed": state.failed + self._counts[FAILED],
        }

    @property
    def missing(self) -> int:
        """How many points are missing that the command has not asked for."""
        return self._counts[_LEFT]

    def write(self, mine: Iterable[str]) -> None:
        """Write down what is missing, with what of it the command has asked for."""
        left = sorted({*mine, *(one for one, status in self._others.items() if status == _LEFT)})
        try:
            if not left:
                self._file.unlink(missing_ok=True)
                return
            buffer = io.BytesIO()
            pq.write_table(pa.table({"point": pa.array(left, pa.string())}), buffer)
            write_file(self._file, buffer.getvalue())
        except OSError as error:
            raise ResultError(
                f"{self._file}: cannot write results: {error.strerror or error}",
                "make room, and the same command goes on",
            ) from None


def missing(directory: Path) -> list[str]:
    """Give the points that earlier commands have asked for and that were not there."""
    try:
        found = pq.ParquetFile(regular(directory / MISSING)).read()["point"].to_pylist()
    except (OSError, KeyError, pa.ArrowException):
        # It is no result: without it a command counts its own points alone.
        return []
    return [str(point) for point in found]


def unfinished(manifest: Mapping[str, Any], asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give what earlier searches have asked that came to no end, but for the same as now."""
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
