"""Writes and reads the results of a run: a directory of Parquet part files with a manifest.

A result directory holds

    manifest.json             what was run, from which values, with what outcome
    scenario.toml             the resolved scenario, ready to run, with full names of flow tables
    flows/part-00000.parquet  a directory for each table, with closed part files

A part is written under a temporary name, and renamed when it is complete and on the disk. So each
file with the name of a part is readable, even if the run was killed. The manifest of a run that has
ended holds the SHA-256 of each part. The files hold the meaning and unit of each column.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
import tomllib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.directory import DESCRIBED, SCENARIO, clear, standing
from backwater.directory import TABLES as TABLES
from backwater.errors import InputError, ResultError, unwritable
from backwater.files import replacing, sync_directory, text_of, write_text
from backwater.findings import failures
from backwater.journal import JOURNAL, Journal, manifest_of, name_of, part_name, seed_of
from backwater.manifest import (
    AGAIN,
    FORMATS,
    MANIFEST,
    NAMES,
    RUN,
    SEEDS,
    check_no_file,
    kind_of,
    read_manifest,
    sealed,
    write_manifest,
)
from backwater.saved import Part
from backwater.stored import Kept, SharedParts, Stored, StoredInSeries, check_parts
from backwater.wording import meant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pyarrow as pa

    from backwater._core import Batch
    from backwater.plot import RunPlots

# A part closes when it reaches either size, or when its first rows have waited long enough: a
# killed run loses the parts that are open. The wait grows with the run, from the first to the
# second number of seconds, so that a short run does not lose all, and a long one does not leave a
# thousand files.
PART_ROWS = 500_000
PART_BYTES = 8 << 20
PART_SECONDS = (1.0, 60.0)

# Below this size compression saves less than it costs.
COMPRESS_BYTES = 64 << 10

# Tables up to this size stay in memory after they were written: a summary of hundreds of short
# runs need not read them back.
KEPT_BYTES = 4 << 20


def _table(name: str) -> cached_property[pa.Table]:
    """Return the property of a run that reads a table on first access."""

    def read(run: Run) -> pa.Table:
        return run.read(name)

    read.__doc__ = DESCRIBED[name]
    return cached_property(read)


@dataclass(repr=False)
class Run:
    """The results of one run.

    Each table is an attribute: an Arrow table, which polars, pandas and DuckDB accept. It is read
    on first access, which raises `backwater.ResultError` if its files are missing or damaged.
    `read` reads a table by its name, such as `"flows"`.

    `manifest` has the resolved scenario, the origin of every value, versions, seed, warnings,
    status and summary. `directory` is where the results are, for `backwater.open_run`; None: in
    memory. `within` is the directory of the series that the run is part of, and `directory` then
    the run's name in it, such as DIR/seed-7; None: it is not part of a series.
    """

    manifest: dict[str, Any]
    directory: Path | None
    read: Callable[[str], pa.Table]
    within: Path | None = None

    def __repr__(self) -> str:
        """Return a short text; the manifest alone is hundreds of lines."""
        title = str(self.manifest.get("title") or "untitled")
        place = "in memory" if self.directory is None else str(self.directory)
        return f"<backwater.Run {title!r}, seed {self.seed}, {self.status}, {place}>"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the tables that were read: `read` reads them again."""
        return {one.name: self.__dict__[one.name] for one in fields(self)}

    # tables: written by `make reference`
    flows = _table("flows")
    queue_pairs = _table("queue_pairs")
    ports = _table("ports")
    control = _table("control")
    series = _table("series")
    switches = _table("switches")
    jobs = _table("jobs")
    rounds = _table("rounds")
    collectives = _table("collectives")
    transfers = _table("transfers")
    job_links = _table("job_links")
    counters = _table("counters")
    waits = _table("waits")
    pauses = _table("pauses")
    # end of tables

    @property
    def plot(self) -> RunPlots:
        """Altair charts of this run: `run.plot.queue()` and others."""
        from backwater.plot import RunPlots

        return RunPlots(self)

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The run's scenario with every value, as nested dictionaries."""
        return tomllib.loads(self.manifest["scenario"])

    @property
    def recorded(self) -> str:
        """The text of its scenario beside the results, with full names of flow tables.

        Empty if the results are in memory, or the file cannot be read.
        """
        place = self.within or self.directory
        try:
            return "" if place is None else text_of(place / SCENARIO)
        except (OSError, UnicodeDecodeError):
            return ""

    @property
    def summary(self) -> dict[str, Any]:
        """Totals: simulated time (ps), events, hops, flows done and unfinished, drops.

        Empty if the run was killed.
        """
        summary: dict[str, Any] = self.manifest.get("summary") or {}
        return summary

    @property
    def fingerprint(self) -> str | None:
        """A hash of everything the run did: equal for equal scenario and seed.

        None if the run was killed.
        """
        return self.summary.get("fingerprint")

    @property
    def status(self) -> str:
        """`done`, `interrupted`, `failed`, or `running` (also the state of a killed run)."""
        return str(self.manifest["status"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.manifest["seed"])

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """Warnings of the check and findings of the run, as {kind, message, hint}.

        Warnings of the check (kind `setting`) also have key, value and reason. Findings of the run
        have `failure`: true if the run did not do what its scenario asked for.
        """
        warnings: list[dict[str, Any]] = self.manifest.get("warnings") or []
        return warnings

    @property
    def complete(self) -> bool:
        """True if the run ended and did what its scenario asked for (see `warnings`)."""
        return self.status == "done" and not failures(self.warnings)


def load_run(path: Path, *, checked: bool = True) -> Run:
    """Open one run, ended or killed, by its directory or its name in a series, such as DIR/seed-7.

    Unless `checked` is false, as just after writing, each part of a run that has ended is compared
    with its hash. Raises `ResultError` if the results are missing or have changed.
    """
    if (seed := seed_in_series(path)) is not None:
        return member(path.parent, seed, checked=checked)
    manifest = read_manifest(path, RUN)
    if checked and manifest["status"] != "running":
        check_parts(path, manifest)
    return Run(manifest, path, Stored(path, manifest))


def seed_in_series(path: Path) -> int | None:
    """Return the seed of the run that a path names in a series; None if it names no such run."""
    seed = seed_of(path.name)
    if seed is None or (path / MANIFEST).is_file() or kind_of(path.parent) != SEEDS:
        return None
    return seed


def present(path: Path) -> bool:
    """Return whether a path is a directory, or the name of a run in a series."""
    if path.is_dir():
        return True
    seed = seed_in_series(path)
    return seed is not None and seed in Journal.read(path.parent).runs


def check_no_results(path: Path) -> None:
    """Raise `ResultError` for a file, and for a run that its series does not have."""
    check_no_file(path)
    if seed_in_series(path) is not None:
        manifest_at(path)


def manifest_at(path: Path, *kinds: str) -> dict[str, Any]:
    """Return the manifest of results (see `read_manifest`), also of a run in a series."""
    if (seed := seed_in_series(path)) is None:
        return read_manifest(path, *kinds)
    if kinds and RUN not in kinds:
        of = " or ".join(NAMES[one] for one in kinds)
        raise ResultError(f"{path}: is a run of a series, not a {of}", f"name {path.parent}")
    return member(path.parent, seed, checked=False).manifest


def member(
    directory: Path,
    seed: int,
    known: tuple[dict[str, Any], SharedParts] | None = None,
    *,
    checked: bool = True,
) -> Run:
    """Open a run of a series. Raises `ResultError`.

    `known`: the series' manifest and parts, if they have been read. `checked` is as in `load_run`.
    """
    if known is None:
        journal = Journal.read(directory)
        known = read_manifest(directory, SEEDS), SharedParts(directory, journal)
    series, shared = known
    place = directory / name_of(seed)
    line = shared.journal.runs.get(seed)
    if line is None:
        if (damaged := shared.journal.damaged) is not None:
            raise ResultError(f"{directory / JOURNAL}:{damaged}: is damaged", AGAIN)
        there = [str(directory / name_of(one)) for one in sorted(shared.journal.runs)]
        raise ResultError(
            f"{place}: the series has no run with that seed",
            meant("", there, "its runs are", most=0) if there else "it holds no runs yet",
        )
    if checked:
        shared.check(line)
    manifest = manifest_of(series, line)
    return Run(manifest, place, StoredInSeries(directory, manifest, shared), directory)


def other_run(known: Mapping[str, Any], asked: Mapping[str, Any]) -> str | None:
    """Return in what a run differs from the wanted one, except in its seed; None: in nothing."""
    for fact, what in (
        ("scenario", "scenario"),
        ("inputs", "scenario: files or tables of flows differ"),
        ("versions", "version"),
        ("changed", "run: values were changed during it"),
    ):
        if known.get(fact) != asked.get(fact):
            return what
    return None


@dataclass
class OpenPart:
    """Rows that wait to be written as a part."""

    run: int | None = None
    """The seed of their run, for a column `run`; None: without that column."""
    since: float = 0.0
    """When the first row came, in s of `time.monotonic`."""
    rows: int = 0
    nbytes: int = 0
    _batches: list[Batch] = field(default_factory=list)
    _file: _core.Part | None = None

    def add(self, batch: Batch) -> None:
        """Add rows, not encoded yet."""
        self._batches.append(batch)
        self.rows += len(batch)
        self.nbytes += batch.nbytes

    def encode(self) -> None:
        """Encode the rows as in the file, which takes a fraction of the memory.

        While rows are few, it is open whether they will be compressed: they stay as they are.
        """
        if self._file is None and self.nbytes > COMPRESS_BYTES:
            self._file = _core.Part(True)
        if self._file is not None:
            self._write(self._file)

    def close(self) -> bytes:
        """Return the rows as a Parquet file."""
        file = self._file or _core.Part(self.nbytes > COMPRESS_BYTES)
        self._write(file)
        return file.close()

    def _write(self, file: _core.Part) -> None:
        for batch in self._batches:
            file.write(batch, self.run)
        self._batches.clear()


def write_part(directory: Path, table: str, number: int, content: bytes) -> None:
    """Write a part of a table; on return it is on the disk. Raises `ResultError`."""
    final = directory / part_name(table, number)
    try:
        if not final.parent.is_dir():
            final.parent.mkdir()
            sync_directory(directory)
        with replacing(final) as file:
            file.write(content)
    except OSError as error:
        raise unwritable(final, error) from None


@dataclass
class MemorySink:
    """Keeps the tables of a run in memory."""

    manifest: dict[str, Any]
    _batches: dict[str, list[Batch]] = field(default_factory=dict)

    def write(self, table: str, batch: Batch) -> None:
        """Add a closed batch of rows."""
        self._batches.setdefault(table, []).append(batch)

    def tick(self) -> None:
        """Do nothing: memory has no parts to close."""

    def adopt(self, part: Part) -> None:
        """Add a part of the saved run, before any row of the run that continues it."""
        self._batches.setdefault(part.table, []).extend(part.batches())

    def parts(self) -> list[Part]:
        """Return all rows so far, for a saved run."""
        parts = []
        for table, batches in self._batches.items():
            part = OpenPart()
            for batch in batches:
                part.add(batch)
            parts.append(Part(table, part.rows, part.close()))
        return parts

    def finish(self, status: str, summary: dict[str, Any], error: str | None = None) -> Run:
        """Close the run and return its results."""
        self.manifest |= _closing(self.manifest, status, summary, error)
        return Run(self.manifest, None, Kept(self._batches))

    def abandon(self, _error: BaseException) -> None:
        """Drop the rows: an error that is not the run's own has ended it."""
        self._batches.clear()


class PartedSink(ABC):
    """Takes the rows of a run and closes parts of its tables, in bounded memory."""

    def __init__(self, manifest: dict[str, Any], run: int | None = None) -> None:
        self.manifest = manifest
        self.kept: dict[str, list[Batch]] | None = {}
        """All rows, while they fit in `KEPT_BYTES`; else None."""
        self._run = run
        self._open: dict[str, OpenPart] = {}
        self._kept_bytes = 0
        self._began = time.monotonic()

    @abstractmethod
    def put(self, table: str, part: OpenPart) -> None:
        """Write a part that has rows."""

    @abstractmethod
    def finish(self, status: str, summary: dict[str, Any], error: str | None = None) -> Run:
        """Close every part and the manifest, and return the results."""

    @abstractmethod
    def abandon(self, error: BaseException) -> None:
        """Record in the results that an error that is not the run's own has ended it."""

    def write(self, table: str, batch: Batch) -> None:
        """Add a closed batch of rows."""
        if not len(batch):
            return
        part = self._open.get(table)
        if part is None:
            part = self._open[table] = OpenPart(self._run, time.monotonic())
        part.add(batch)
        self._keep(table, batch)
        if self.kept is None:
            part.encode()
        if part.rows >= PART_ROWS or part.nbytes >= PART_BYTES:
            self._close(table)

    def tick(self) -> None:
        """Close the parts that have waited long enough. To be called regularly."""
        now = time.monotonic()
        shortest, longest = PART_SECONDS
        wait = min(max(shortest, (now - self._began) / 10), longest)
        for table in [table for table, part in self._open.items() if now - part.since >= wait]:
            self._close(table)

    def close_parts(self) -> None:
        """Close every part."""
        for table in list(self._open):
            self._close(table)

    def close_manifest(self, status: str, summary: dict[str, Any], error: str | None) -> None:
        """Record in the manifest how the run ended."""
        self.manifest |= _closing(self.manifest, status, summary, error)

    def _close(self, table: str) -> None:
        self.put(table, self._open.pop(table))

    def _keep(self, table: str, batch: Batch) -> None:
        if self.kept is None:
            return
        self.kept.setdefault(table, []).append(batch)
        self._kept_bytes += batch.nbytes
        if self._kept_bytes > KEPT_BYTES:
            self.kept = None
            for part in self._open.values():
                part.encode()


class OwnSink(PartedSink):
    """Keeps the parts of a single run, which can be saved and resumed."""

    def __init__(self, manifest: dict[str, Any]) -> None:
        super().__init__(manifest)
        self._stored: list[Part] = []

    @abstractmethod
    def store(self, table: str, content: bytes) -> Path:
        """Write a part to a file, and return its path."""

    def put(self, table: str, part: OpenPart) -> None:
        """Write a part."""
        self._stored.append(Part(table, part.rows, self.store(table, part.close())))

    def adopt(self, part: Part) -> None:
        """Add a part of the saved run, before any row of the run that continues it."""
        self.kept = None
        self._stored.append(Part(part.table, part.rows, self.store(part.table, part.read())))

    def parts(self) -> list[Part]:
        """Close every part, and return all of them, for a saved run."""
        self.close_parts()
        return list(self._stored)


@dataclass(frozen=True)
class Packed:
    """The tables of a run for another process; a call reads one."""

    parts: list[Part]

    def __call__(self, table: str) -> pa.Table:
        """Return one table."""
        found = [batch for one in self.parts if one.table == table for batch in one.batches()]
        return Kept({table: found} if found else {})(table)


class SpoolSink(OwnSink):
    """Keeps the parts of a run without a directory of its own: one to be saved, or to travel."""

    def __init__(self, directory: Path, manifest: dict[str, Any] | None = None) -> None:
        super().__init__(manifest or {})
        self.kept = None
        self._directory = directory

    def store(self, table: str, content: bytes) -> Path:
        """Write a part to a file, and return its path."""
        place = self._directory / f"{len(self._stored)}-{table}.parquet"
        place.write_bytes(content)
        return place

    def finish(self, status: str, summary: dict[str, Any], error: str | None = None) -> Run:
        """Close the run, and return it with all its parts in memory."""
        parts = [Part(one.table, one.rows, one.read()) for one in self.parts()]
        self.close_manifest(status, summary, error)
        return Run(self.manifest, None, Packed(parts))

    def abandon(self, _error: BaseException) -> None:
        """Leave the parts: their directory will be removed."""


class DirectorySink(OwnSink):
    """Writes the tables of a run into a directory of its own, part by part."""

    def __init__(self, directory: Path, manifest: dict[str, Any], scenario: str) -> None:
        # The hash shows later whether somebody has edited the scenario.
        known = {SCENARIO: hashlib.sha256(scenario.encode()).hexdigest()}
        super().__init__({**manifest, "files": known})
        self.directory = directory
        self._hashes: dict[str, list[str]] = {}
        clear(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            # First of all: the manifest marks the directory as Backwater's.
            write_manifest(directory, self.manifest)
            write_text(directory / SCENARIO, scenario)
        except OSError as error:
            raise unwritable(directory, error) from None

    def finish(self, status: str, summary: dict[str, Any], error: str | None = None) -> Run:
        """Close every part and the manifest, and return the results on disk."""
        self.close_parts()
        self.close_manifest(status, summary, error)
        self.manifest["tables"] = self._whole()
        try:
            write_manifest(self.directory, self.manifest)
        except OSError as failure:
            raise unwritable(self.directory, failure) from None
        if self.kept is None:
            return load_run(self.directory, checked=False)
        return Run(self.manifest, self.directory, Kept(self.kept))

    def abandon(self, error: BaseException) -> None:
        """Record in the manifest that the run failed, and its parts, if that can be written."""
        reason = str(error) or type(error).__name__
        facts = {"status": "failed", "error": reason, "tables": self._whole()}
        with contextlib.suppress(OSError):
            write_manifest(self.directory, self.manifest | facts)

    def store(self, table: str, content: bytes) -> Path:
        """Write a part, and return its path; it is on the disk then."""
        hashes = self._hashes.setdefault(table, [])
        number = len(hashes)
        write_part(self.directory, table, number, content)
        hashes.append(hashlib.sha256(content).hexdigest())
        return self.directory / part_name(table, number)

    def _whole(self) -> dict[str, Any]:
        return {
            table: {
                "parts": len(hashes),
                "rows": sum(one.rows for one in self._stored if one.table == table),
                "sha256": hashes,
            }
            for table, hashes in sorted(self._hashes.items())
            if hashes
        }


def opening(**facts: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON holds
    """Begin the manifest of a run."""
    return {"format": FORMATS[RUN], "kind": RUN, "status": "running", "started": _now(), **facts}


def _closing(
    manifest: Mapping[str, Any], status: str, summary: dict[str, Any], error: str | None
) -> dict[str, Any]:
    totals = {name: value for name, value in summary.items() if name != "findings"}
    # The check's warnings are in the manifest from the start; the run's findings come last.
    warnings = [*manifest.get("warnings", []), *summary.get("findings", [])]
    closing: dict[str, Any] = {
        "status": status,
        "ended": _now(),
        "summary": totals,
        "warnings": warnings,
    }
    if error is not None:
        closing["error"] = error
    return closing


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def earlier_run(directory: Path, manifest: dict[str, Any]) -> Run | None:
    """Return the complete run in a directory, if it is the one that `manifest` would begin.

    None if the directory is empty, or its run did not end or is damaged, and has to be repeated.
    Raises `InputError` if the directory holds anything else, or another run.
    """
    if standing(directory) is None:
        return None
    replace = "give --out another name, or --force to replace it"
    try:
        run = load_run(directory, checked=False)
    except ResultError as error:
        raise InputError(error.reason, replace) from None
    other = other_run(run.manifest, manifest)
    if other is None and run.seed != manifest["seed"]:
        other = "seed"
        replace += "; `--seeds`, or seeds=N in Python, keeps runs of several seeds in one directory"
    if other is not None:
        raise InputError(f"{directory}: holds a run of another {other}", replace)
    if run.status != "done" or not sealed(directory):
        return None
    try:
        check_parts(directory, run.manifest)
    except ResultError:
        return None
    return run
