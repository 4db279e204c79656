"""Readings of each run of a study, kept as soon as the run has ended: one line of JSON for each.

A study of hundreds of large runs takes hours and gigabytes; its numbers take kilobytes a
run, and more if a measure compares the flows of two runs.
`measured.jsonl` in the study's directory holds them, and `reproduce` does not measure these runs
again. `reproduce --measured FILE` resumes a study without its runs: on another machine, or after
they were removed. A line has these entries:

    of            SHA-256 of scenario, files of its flows, seed, version, build, and measures
    run, seed     where the run lay below `runs`, and its seed
    fingerprint   of the run
    measures      value, problem, sizes and values of each flow, by the name of the measure
    sha256        of the other entries; a line that was damaged or edited is left out

A line applies to a run only if its `of` matches. Another build, another scenario or another
definition of a measure changes `of`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError, ResultError
from backwater.files import octets_of, write_text
from backwater.journal import sealed_line, unsealed
from backwater.study.measures import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from backwater.results import Run
    from backwater.running import Job
    from backwater.study.definition import Measure

MEASURED = "measured.jsonl"

Readings = dict[str, Reading]
"""The readings of one run, by the names of the measures."""


class Measured:
    """Readings of the runs of a plan, kept in a file if the study has a directory."""

    def __init__(
        self,
        jobs: Sequence[Job],
        measures: Sequence[Measure],
        directory: Path | None,
        taken: Path | None = None,
    ) -> None:
        """Read the known readings of these jobs from their directory and from the file `taken`.

        Raises `InputError` if `taken` cannot be read or holds none of these jobs.
        """
        self._read_of = [[one.name, one.kind, one.parameters] for one in measures]
        self._path = None if directory is None else directory / MEASURED
        self._lock = threading.Lock()
        wanted = {self._name(job.manifest) for job in jobs}
        own = [] if self._path is None else _lines(self._path)
        others = [] if taken is None else _given(taken)
        lines = {line["of"]: line for line in (*others, *own) if line["of"] in wanted}
        if taken is not None and not wanted.intersection(line["of"] for line in others):
            raise InputError(
                f"{taken}: holds none of the runs of this study",
                "a run counts only with the same scenario, seed, measures and build",
            )
        self._known = {name: _readings(line) for name, line in lines.items()}
        self._taken = {line["of"] for line in others}
        if self._path is not None:
            # Rewritten, since a killed command may have left half a line.
            with _writing(self._path):
                write_text(self._path, "".join(map(sealed_line, lines.values())))

    def taken(self, job: Job) -> Readings | None:
        """Return the readings of a job that the file `taken` has; None if the job must run."""
        name = self._name(job.manifest)
        return self._known[name] if name in self._taken else None

    def of(self, run: Run) -> Readings | None:
        """Return the known readings of a run; None if it was not measured yet."""
        return self._known.get(self._name(run.manifest))

    def keep(self, run: Run, readings: Readings) -> None:
        """Keep the readings of a run, on disk before this returns."""
        name = self._name(run.manifest)
        line = {
            "of": name,
            "run": place_of(run),
            "seed": run.seed,
            "fingerprint": run.fingerprint,
            "measures": {key: asdict(one) for key, one in readings.items()},
        }
        with self._lock:
            if name in self._known:
                return
            self._known[name] = readings
            if self._path is not None:
                with _writing(self._path), self._path.open("a", encoding="utf-8") as file:
                    file.write(sealed_line(line))

    def _name(self, manifest: Mapping[str, Any]) -> str:
        facts = [manifest[fact] for fact in ("scenario", "inputs", "seed", "versions")]
        text = json.dumps([facts, self._read_of], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def place_of(run: Run) -> str | None:
    """Return where a run of a study lies, as a line of the file names it."""
    where = run.directory
    return None if where is None else f"{where.parent.name}/{where.name}"


def readings_in(path: Path) -> dict[str | None, Readings]:
    """Return the readings of a file by where their runs lie; empty without the file."""
    return {line["run"]: _readings(line) for line in _lines(path)}


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise `ResultError` if a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise ResultError(f"{path}: cannot be written: {error.strerror or error}") from None


def _given(path: Path) -> list[dict[str, Any]]:
    """Read a file that a user names; raises `InputError` if it holds no reading."""
    hint = f"name the {MEASURED} that `backwater reproduce --out` wrote"
    try:
        if not path.is_file():
            raise InputError(f"{path}: is no file", hint)
        found = _lines(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}", hint) from None
    if not found:
        raise InputError(f"{path}: holds no measured run", hint)
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    """Read all whole lines of a file; none if the file does not exist."""
    try:
        texts = octets_of(path).splitlines()
    except FileNotFoundError:
        return []
    found = []
    for text in texts:
        line = unsealed(text)
        # A sealed line may be of another version, with other entries.
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            if line is not None and isinstance(line.get("of"), str):
                _readings(line)
                found.append(line)
    return found


def _readings(line: Mapping[str, Any]) -> Readings:
    """Return the readings of a line; raises an error if it has none."""
    return {
        name: Reading(
            None if one["value"] is None else float(one["value"]),
            None if one["problem"] is None else str(one["problem"]),
            tuple(int(size) for size in one["sizes"]),
            tuple((int(flow), float(value)) for flow, value in one["each"]),
        )
        for name, one in line["measures"].items()
    }
