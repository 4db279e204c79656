"""Writes the runs of a series into tables that they share, and finds the complete runs in them.

A run that ends stays in memory with those that ended before it, for a second at most while others
run. Then their rows go to a new part of each table, and after that their lines to the journal: a
killed series loses the runs of a second. A run so long or large that it writes before its end has
parts of its own. So has one that was cut short, since it may be repeated.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.directory import SCENARIO, clear, remove_parts, standing
from backwater.errors import InputError, ResultError, unwritable
from backwater.files import write_text
from backwater.journal import JOURNAL, Journal, append, name_of, part_name
from backwater.manifest import FORMATS, SEEDS, read_manifest, sealed, write_manifest
from backwater.results import (
    PART_BYTES,
    PART_ROWS,
    PartedSink,
    Run,
    member,
    opening,
    other_run,
    write_part,
)
from backwater.stored import Kept, SharedParts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from backwater._core import Batch
    from backwater.results import OpenPart

# How long runs that have ended wait for others that go to the disk with them.
GROUP_SECONDS = 1.0


@dataclass
class _Growing:
    """A part that takes the rows of one run after the other."""

    number: int
    file: _core.Part
    rows: int = 0


@dataclass
class _Group:
    """Runs that have ended and are not on the disk yet."""

    since: float
    lines: list[dict[str, Any]] = field(default_factory=list)
    parts: dict[str, _Growing] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        """True if one of its parts is as large as a part may be."""
        return any(
            part.rows >= PART_ROWS or part.file.nbytes >= PART_BYTES for part in self.parts.values()
        )


def opened(facts: Mapping[str, Any], seeds: Iterable[int]) -> dict[str, Any]:
    """Return the first manifest of a series; `facts`: what its runs' manifests have in common."""
    return {
        "format": FORMATS[SEEDS],
        "kind": SEEDS,
        "status": "running",
        "versions": facts["versions"],
        "runs": list(map(name_of, seeds)),
        "run": dict(facts),
    }


class SeriesWriter:
    """Writes runs into the directory of their series; one for all threads of a process."""

    def __init__(
        self, directory: Path, facts: Mapping[str, Any], scenario: str, seeds: Collection[int]
    ) -> None:
        """Begin or continue a series, whose runs of `seeds` are to be done (again).

        `facts`: what its runs' manifests have in common. `scenario`: the text to keep beside them.
        A series of another scenario is replaced. Raises `InputError` if the directory holds files
        that are not Backwater's or have been edited.
        """
        self.directory = directory
        self._lock = threading.Lock()
        self._group: _Group | None = None
        self._seeds = set(seeds)
        try:
            known = _same(directory, facts)
            if known is None:
                self._new(facts, scenario)
            else:
                self._manifest, journal = known
                self._journal = journal.without(seeds)
            names = sorted({*self._journal.runs, *seeds})
            self._manifest |= {"runs": list(map(name_of, names)), "status": "running"}
            self._manifest.pop("warnings", None)
            self._manifest["files"] = {SCENARIO: self._manifest["files"][SCENARIO]}
            write_manifest(directory, self._manifest)
            self._journal.write(directory)
            self._next = remove_parts(directory, self._journal.parts)
        except OSError as error:
            raise unwritable(directory, error) from None

    def _new(self, facts: Mapping[str, Any], scenario: str) -> None:
        clear(self.directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._journal = Journal()
        known = {SCENARIO: hashlib.sha256(scenario.encode()).hexdigest()}
        self._manifest = opened(facts, ()) | {"files": known}
        # First of all: the manifest marks the directory as Backwater's.
        write_manifest(self.directory, self._manifest)
        write_text(self.directory / SCENARIO, scenario)

    def sink(self, seed: int) -> SeriesSink:
        """Return the sink for the rows of one run."""
        return SeriesSink(self, seed, opening(seed=seed, **self._manifest["run"]))

    def ended(self, line: dict[str, Any], batches: Mapping[str, list[Batch]]) -> None:
        """Take a run that has ended, with all its rows, and add the places of these to its line."""
        with self._lock:
            if self._group is None:
                self._group = _Group(time.monotonic())
            group = self._group
            for table, some in batches.items():
                part = group.parts.get(table)
                if part is None:
                    part = group.parts[table] = _Growing(self._number(table), _core.Part(True))
                rows = sum(map(len, some))
                for batch in some:
                    part.file.write(batch, line["seed"])
                line["tables"][table] = [[part.number, part.rows, rows]]
                part.rows += rows
            group.lines.append(line)
            self._commit(late=not group.full)

    def put(self, line: dict[str, Any], table: str, part: OpenPart) -> None:
        """Write a part that only one run uses, and the run's line."""
        content = part.close()
        with self._lock:
            number = self._number(table)
            name = self._store(table, number, content)
            line["tables"].setdefault(table, []).append([number, 0, part.rows])
            self._add(name, line)

    def put_line(self, line: dict[str, Any]) -> None:
        """Write the line of a run whose parts are on the disk."""
        with self._lock:
            self._add(line)

    def tick(self) -> None:
        """Write the runs that have waited long enough. To be called regularly."""
        if self._group is not None and self._lock.acquire(blocking=False):
            try:
                self._commit(late=True)
            finally:
                self._lock.release()

    def close(self) -> None:
        """Write the runs that wait, and the status of the series."""
        with self._lock:
            self._commit(late=False)
            found = {self._journal.runs.get(seed, {}).get("status") for seed in self._seeds}
            status = (
                "failed" if "failed" in found else "interrupted" if found - {"done"} else "done"
            )
            try:
                write_manifest(self.directory, self._manifest | {"status": status})
            except OSError as error:
                raise unwritable(self.directory, error) from None

    def _number(self, table: str) -> int:
        number = self._next.get(table, 0)
        self._next[table] = number + 1
        return number

    def _commit(self, *, late: bool) -> None:
        """Write the runs that have ended; with `late`, only if they have waited long enough."""
        group = self._group
        if group is None or (late and time.monotonic() - group.since < GROUP_SECONDS):
            return
        self._group = None
        parts = [
            self._store(table, part.number, part.file.close())
            for table, part in group.parts.items()
        ]
        self._add(*parts, *group.lines)

    def _store(self, table: str, number: int, content: bytes) -> dict[str, Any]:
        """Write a part, and return its line."""
        write_part(self.directory, table, number, content)
        return {"part": part_name(table, number), "hash": hashlib.sha256(content).hexdigest()}

    def _add(self, *lines: dict[str, Any]) -> None:
        try:
            append(self.directory, lines)
        except OSError as error:
            raise unwritable(self.directory / JOURNAL, error) from None
        for line in lines:
            if "part" in line:
                self._journal.parts[line["part"]] = line["hash"]
            else:
                self._journal.runs[line["seed"]] = line


class SeriesSink(PartedSink):
    """Takes the rows of one run of a series."""

    def __init__(self, writer: SeriesWriter, seed: int, manifest: dict[str, Any]) -> None:
        super().__init__(manifest, seed)
        self._writer = writer
        self._line: dict[str, Any] = {
            "seed": seed,
            "status": "running",
            "started": manifest["started"],
            "findings": [],
            "tables": {},
        }

    def tick(self) -> None:
        """Close the parts, and write the runs, that have waited long enough."""
        super().tick()
        self._writer.tick()

    def finish(self, status: str, summary: dict[str, Any], error: str | None = None) -> Run:
        """Hand the run over to its series, and return its results."""
        small = None if status != "done" or self._line["tables"] else self.kept
        if small is None:
            # Before its line records that it has ended.
            self.close_parts()
        self.close_manifest(status, summary, error)
        facts = ("status", "started", "ended", "summary", "error")
        self._line |= {name: self.manifest[name] for name in facts if name in self.manifest}
        self._line["findings"] = summary.get("findings", [])
        if small is None:
            self._writer.put_line(self._line)
        else:
            self._writer.ended(self._line, small)
        self.manifest["tables"] = self._line["tables"]
        directory = self._writer.directory
        if self.kept is None:
            return member(directory, self._line["seed"], checked=False)
        place = directory / name_of(self._line["seed"])
        return Run(self.manifest, place, Kept(self.kept), directory)

    def abandon(self, error: BaseException) -> None:
        """Record in the journal that the run failed, if that can be written."""
        reason = str(error) or type(error).__name__
        with contextlib.suppress(ResultError):
            self._writer.put_line(self._line | {"status": "failed", "error": reason})

    def put(self, table: str, part: OpenPart) -> None:
        """Write a part that only this run uses."""
        self._writer.put(self._line, table, part)


def _same(directory: Path, facts: Mapping[str, Any]) -> tuple[dict[str, Any], Journal] | None:
    """Return manifest and journal of the series in a directory; None: no sound one of `facts`."""
    try:
        manifest = read_manifest(directory, SEEDS)
    except ResultError:
        return None
    if other_run(manifest["run"], facts) is not None:
        return None
    journal = _journal(directory, manifest)
    return None if journal is None else (manifest, journal)


def _journal(directory: Path, manifest: Mapping[str, Any]) -> Journal | None:
    """Return the journal of a series; None if it cannot be read, or the manifest was edited."""
    if not sealed(directory) or SCENARIO not in (manifest.get("files") or {}):
        return None
    with contextlib.suppress(ResultError):
        return Journal.read(directory)
    return None


def earlier_runs(directory: Path, facts: Mapping[str, Any]) -> dict[int, Run]:
    """Return, by seed, the complete runs of the series in a directory.

    Runs that did not end or are damaged are left out, as are all of a damaged series: they have to
    be repeated. Raises `InputError` if the directory holds anything else, or a series with other
    `facts`.
    """
    if standing(directory) is None:
        return {}
    replace = "give --out another name, or --force to replace it"
    try:
        manifest = read_manifest(directory, SEEDS)
    except ResultError as error:
        raise InputError(error.reason, replace) from None
    other = other_run(manifest["run"], facts)
    if other is not None:
        raise InputError(f"{directory}: holds runs of another {other}", replace)
    journal = _journal(directory, manifest)
    if journal is None:
        return {}
    shared = SharedParts(directory, journal)
    found = {}
    for seed, line in journal.runs.items():
        if line["status"] == "done":
            with contextlib.suppress(ResultError):
                shared.check(line)
                found[seed] = member(directory, seed, (manifest, shared), checked=False)
    return found
