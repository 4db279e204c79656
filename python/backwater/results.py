"""Results of a run: a directory of Parquet part files with a manifest, and the reader of it.

A result directory holds

    manifest.json             what was run, from which values, with what outcome
    scenario.toml             the resolved scenario; runs again as it is, flow tables named in full
    flows/part-00000.parquet  one directory a table, in closed part files

A part is written under a temporary name and renamed when it is whole and on the disk, so whatever
carries the name of a part is readable, also when the run was killed. The manifest of a run that has
ended holds the SHA-256 of each part. The columns' meaning and unit are in the files.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.directory import SCENARIO, clear, standing
from backwater.directory import TABLES as TABLES
from backwater.errors import InputError, ResultError
from backwater.files import replacing, sync_directory, write_text
from backwater.findings import failures
from backwater.manifest import (
    AGAIN,
    FORMAT,
    MANIFEST,
    RUN,
    check_file,
    read_manifest,
    sealed,
    write_manifest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pyarrow as pa

    from backwater._core import Batch
    from backwater.plot import RunPlots

# A part closes when it has grown to either size, or when its first rows have waited long enough:
# what has not closed is what a killed run loses. The wait grows with the run, from the first to the
# second number of seconds, so that neither a short run loses all nor a long one leaves a thousand
# files.
PART_ROWS = 500_000
PART_BYTES = 64 << 20
PART_SECONDS = (1.0, 60.0)

# Below this size compression saves less than it costs.
COMPRESS_BYTES = 64 << 10

# As much of a run's tables stays in memory after they were written: whoever sums up hundreds of
# short runs need not read back what was at hand.
KEPT_BYTES = 16 << 20


@dataclass
class Run:
    """One run's results, tables as Arrow tables: polars, pandas, DuckDB take them as they are."""

    manifest: dict[str, Any]
    """Resolved scenario, origin of every value, versions, seed, warnings, status, summary."""
    directory: Path | None
    """Where the results lie on disk; None when they were kept in memory."""
    read: Callable[[str], pa.Table]
    """Reads one table by name."""

    @cached_property
    def flows(self) -> pa.Table:
        """One row a flow: bytes, start (ps), time to its last byte and last ACK (ps), state."""
        return self.read("flows")

    @cached_property
    def ports(self) -> pa.Table:
        """One row a port: frames, bytes, pauses sent and received, time paused (ps), drops."""
        return self.read("ports")

    @cached_property
    def control(self) -> pa.Table:
        """One row a control message: time (ps), kind, where, class, for whom, value."""
        return self.read("control")

    @cached_property
    def series(self) -> pa.Table:
        """One row a sample of a probe: time (ps), where, quantity, value."""
        return self.read("series")

    @cached_property
    def switches(self) -> pa.Table:
        """One row a switch: what it held in lanes before its egress queues (bytes, over time)."""
        return self.read("switches")

    @cached_property
    def jobs(self) -> pa.Table:
        """One row an instance of a job: start, end, completion time (ps), complete rounds."""
        return self.read("jobs")

    @cached_property
    def rounds(self) -> pa.Table:
        """One row a round of an instance of a job: start, end, time (ps), what was last."""
        return self.read("rounds")

    @cached_property
    def transfers(self) -> pa.Table:
        """One row a transfer of a job: ranks, hosts, bytes, start, end (ps), what released it."""
        return self.read("transfers")

    @cached_property
    def job_links(self) -> pa.Table:
        """One row a step of a job and a port: frames and bytes that it put on that link."""
        return self.read("job_links")

    @property
    def collectives(self) -> pa.Table:
        """One row a collective or transfer of a job: when (ps), bytes, bandwidths, bound."""
        return self.read("collectives")

    @cached_property
    def counters(self) -> pa.Table:
        """One row a counter of a mechanism: node, port, mechanism, counter, value."""
        return self.read("counters")

    @cached_property
    def waits(self) -> pa.Table:
        """One row a cause that a flow of `output.waits` waited for: where, why, how long (ps)."""
        return self.read("waits")

    @cached_property
    def pauses(self) -> pa.Table:
        """One row a pause, with `output.pause_causes`: who asked whom, when (ps), behind what."""
        return self.read("pauses")

    @property
    def plot(self) -> RunPlots:
        """Charts of this run, as Altair charts: `run.plot.queue()` and so on."""
        from backwater.plot import RunPlots

        return RunPlots(self)

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The run's scenario with every value, as its manifest has it."""
        return tomllib.loads(self.manifest["scenario"])

    @property
    def summary(self) -> dict[str, Any]:
        """Totals: simulated time (ps), events, hops, flows done and unfinished, drops."""
        summary: dict[str, Any] = self.manifest.get("summary") or {}
        return summary

    @property
    def fingerprint(self) -> str | None:
        """Hash of the trajectory: equal for equal scenario and seed. None if the run was killed."""
        return self.summary.get("fingerprint")

    @property
    def status(self) -> str:
        """`done`, `interrupted`, `failed`, or `running` (also what a killed run leaves behind)."""
        return str(self.manifest["status"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.manifest["seed"])

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """What the check had to say, and what the run has found: {kind, message, hint}.

        Those of the check (kind `setting`) have key, value and reason, too; those of the run have
        `failure`: whether it has not done what its scenario asked for.
        """
        warnings: list[dict[str, Any]] = self.manifest.get("warnings") or []
        return warnings

    @property
    def complete(self) -> bool:
        """Whether it came to its end, and did what its scenario asked for (see `warnings`)."""
        return self.status == "done" and not failures(self.warnings)


def load_run(path: Path, *, checked: bool = True) -> Run:
    """Open the directory of one run, of a finished one or of one that was killed.

    Every part of a run that has ended is held against its hash, but for `checked`: who has just
    written them knows them. Raises `ResultError` if the results are not what was written.
    """
    manifest = read_manifest(path, RUN)
    if checked and manifest["status"] != "running":
        check_parts(path, manifest)
    return Run(manifest, path, lambda table: _read_parts(path, manifest, table))


def parts_of(directory: Path, manifest: Mapping[str, Any], table: str) -> list[Path]:
    """List the files of a run's table, in order.

    Raises `ResultError` if they are fewer than the run has written.
    """
    place = directory / table
    if manifest["status"] == "running":
        return sorted(place.glob("part-*.parquet"))
    entry = (manifest.get("tables") or {}).get(table) or {}
    parts = [_part(place, number) for number in range(len(entry.get("sha256", ())))]
    missing = sum(not part.is_file() for part in parts)
    if missing:
        raise ResultError(
            f"{place}: {missing} of {len(parts)} parts are not there",
            "files of the results have been removed; run it again, with --force",
        )
    return parts


def check_parts(directory: Path, manifest: Mapping[str, Any]) -> None:
    """Hold every part of a run that has ended against its hash. Raises `ResultError`."""
    tables = manifest.get("tables")
    if tables is None:
        raise ResultError(f"{directory / MANIFEST}: is damaged: it has no `tables`", AGAIN)
    for table, entry in tables.items():
        if table not in TABLES:
            place = f"{directory / MANIFEST}: tables.{table}"
            raise ResultError(f"{place}: there is no such table", AGAIN)
        for part, wanted in zip(
            parts_of(directory, manifest, table), entry.get("sha256", ()), strict=True
        ):
            check_file(part, wanted)


def _part(place: Path, number: int) -> Path:
    return place / f"part-{number:05}.parquet"


def _read_parts(directory: Path, manifest: Mapping[str, Any], table: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = parts_of(directory, manifest, table)
    if not parts:
        return _columns()[table].empty_table()
    for part in parts:
        check_part(part, table)
    try:
        # Not `pq.read_table`, whose data sets take a second to import.
        return pa.concat_tables(pq.ParquetFile(part).read() for part in parts)
    except (OSError, pa.ArrowException) as error:
        raise ResultError(f"{directory / table}: {error}", f"it is damaged; {AGAIN}") from None


def check_part(part: Path, table: str) -> None:
    """Hold the columns of a part against those of its table. Raises `ResultError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.ParquetFile(part).schema_arrow
    except (OSError, pa.ArrowException) as error:
        raise ResultError(f"{part}: {error}", f"it is damaged; {AGAIN}") from None
    known = _columns()[table]
    if not set(known.names) & set(found.names):
        raise ResultError(f"{part}: has no column of the table {table}", AGAIN)
    for column in known:
        numbers = found.get_all_field_indices(column.name)
        if len(numbers) > 1:
            raise ResultError(f"{part}: has {len(numbers)} columns {column.name}", AGAIN)
        if numbers and (kind := found.field(numbers[0]).type) != column.type:
            raise ResultError(f"{part}: {column.name} is {kind}, not {column.type}", AGAIN)


@cache
def _columns() -> dict[str, pa.Schema]:
    import pyarrow as pa

    return {name: pa.record_batch(empty).schema for name, empty in _core.empty_tables()}


@dataclass(frozen=True)
class Kept:
    """The tables of a run in memory, by name; reads one when it is called."""

    batches: Mapping[str, list[Batch]]

    def __call__(self, table: str) -> pa.Table:
        """Give one table."""
        import pyarrow as pa

        if table not in self.batches:
            return _columns()[table].empty_table()
        return pa.Table.from_batches([pa.record_batch(batch) for batch in self.batches[table]])


@dataclass
class _OpenPart:
    batches: list[Batch] = field(default_factory=list)
    rows: int = 0
    nbytes: int = 0
    since: float = 0.0


def _written(part: _OpenPart, run: int | None = None) -> bytes:
    """Give rows as a Parquet file; with the seed of their run in a column, if one is given."""
    file = _core.Part(part.nbytes > COMPRESS_BYTES)
    for batch in part.batches:
        file.write(batch, run)
    return file.close()


@dataclass
class MemorySink:
    """Keeps the tables of a run in memory."""

    manifest: dict[str, Any]
    _batches: dict[str, list[Batch]] = field(default_factory=dict)

    def write(self, table: str, batch: Batch) -> None:
        """Take one closed batch of rows."""
        self._batches.setdefault(table, []).append(batch)

    def tick(self) -> None:
        """Let time pass; memory has nothing to close."""

    def finish(self, status: str, summary: dict[str, Any], error: str | None = None) -> Run:
        """Close the run and give its results."""
        self.manifest |= _closing(self.manifest, status, summary, error)
        return Run(self.manifest, None, Kept(self._batches))

    def abandon(self, _error: BaseException) -> None:
        """Forget what was written: the run has ended by an error that is not its own."""
        self._batches.clear()


class DirectorySink:
    """Writes the tables of a run into a directory, part by part, in bounded memory."""

    def __init__(self, directory: Path, manifest: dict[str, Any], scenario: str) -> None:
        self.directory = directory
        # By it an edited scenario among results is told from one that was written.
        written = {SCENARIO: hashlib.sha256(scenario.encode()).hexdigest()}
        self.manifest = {**manifest, "files": written}
        self._open: dict[str, _OpenPart] = {}
        self._parts: dict[str, list[str]] = {}
        self._rows: dict[str, int] = {}
        self._kept: dict[str, list[Batch]] | None = {}
        self._kept_bytes = 0
        self._began = time.monotonic()
        if (directory / SCENARIO).is_symlink():
            raise InputError(
                f"{directory / SCENARIO}: is a link, and what it leads to would be replaced",
                "remove it, or give --out another name",
            )
        clear(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for table in TABLES:
                if (directory / table).is_symlink() or (directory / table).is_file():
                    raise InputError(
                        f"{directory / table}: is in the way of a table", "give --out another name"
                    )
            # First of all: it says whose directory this is.
            write_manifest(directory, self.manifest)
            write_text(directory / SCENARIO, scenario)
        except OSError as error:
            raise _unwritable(directory, error) from None

    def write(self, table: str, batch: Batch) -> None:
        """Take one closed batch of rows."""
        part = self._open.get(table)
        if part is None:
            part = self._open[table] = _OpenPart(since=time.monotonic())
        part.batches.append(batch)
        part.rows += len(batch)
        part.nbytes += batch.nbytes
        if part.rows >= PART_ROWS or part.nbytes >= PART_BYTES:
            self._close(table)

    def tick(self) -> None:
        """Close the parts that have waited long enough; to be called as time passes."""
        now = time.monotonic()
        shortest, longest = PART_SECONDS
        wait = min(max(shortest, (now - self._began) / 10), longest)
        for table in [table for table, part in self._open.items() if now - part.since >= wait]:
            self._close(table)

    def finish(self, status: str, summary: dict[str, Any], error: str | None = None) -> Run:
        """Close every part and the manifest, and give the results as they lie on disk."""
        for table in list(self._open):
            self._close(table)
        self.manifest |= _closing(self.manifest, status, summary, error)
        self.manifest["tables"] = self._whole()
        try:
            write_manifest(self.directory, self.manifest)
        except OSError as failure:
            raise _unwritable(self.directory, failure) from None
        if self._kept is None:
            return load_run(self.directory, checked=False)
        return Run(self.manifest, self.directory, Kept(self._kept))

    def abandon(self, error: BaseException) -> None:
        """Have the manifest say that the run has failed, where that can still be written.

        It names the parts of tables that are whole.
        """
        said = str(error) or type(error).__name__
        facts = {"status": "failed", "error": said, "tables": self._whole()}
        with contextlib.suppress(OSError):
            write_manifest(self.directory, self.manifest | facts)

    def _whole(self) -> dict[str, Any]:
        return {
            table: {"parts": len(hashes), "rows": self._rows[table], "sha256": hashes}
            for table, hashes in sorted(self._parts.items())
            if hashes
        }

    def _close(self, table: str) -> None:
        part = self._open.pop(table)
        if part.rows == 0:
            return
        hashes = self._parts.setdefault(table, [])
        folder = self.directory / table
        final = _part(folder, len(hashes))
        content = _written(part)
        try:
            if not folder.is_dir():
                folder.mkdir()
                sync_directory(self.directory)
            with replacing(final) as file:
                file.write(content)
        except OSError as error:
            raise _unwritable(final, error) from None
        self._keep(table, part)
        hashes.append(hashlib.sha256(content).hexdigest())
        self._rows[table] = self._rows.get(table, 0) + part.rows

    def _keep(self, table: str, part: _OpenPart) -> None:
        if self._kept is None:
            return
        self._kept_bytes += part.nbytes
        if self._kept_bytes > KEPT_BYTES:
            self._kept = None
        else:
            self._kept.setdefault(table, []).extend(part.batches)


def opening(**facts: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON holds
    """Begin the manifest of a run."""
    return {"format": FORMAT, "kind": RUN, "status": "running", "started": _now(), **facts}


def _closing(
    manifest: Mapping[str, Any], status: str, summary: dict[str, Any], error: str | None
) -> dict[str, Any]:
    totals = {name: value for name, value in summary.items() if name != "findings"}
    # A part of the manifest that is known beforehand, and what the run has found of itself.
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


def _unwritable(path: Path, error: OSError) -> ResultError:
    return ResultError(f"{path}: cannot write results: {error.strerror or error}")


def earlier_run(directory: Path, manifest: dict[str, Any]) -> Run | None:
    """Give the complete run in a directory if it is the one that `manifest` would begin.

    None if there is none, or one that did not come to its end or is damaged: it is to be run
    (again). Raises `InputError` if what is there is something else, or a run of something else.
    """
    if standing(directory) is None:
        return None
    replace = "give --out another name, or --force to replace it"
    try:
        run = load_run(directory, checked=False)
    except ResultError as error:
        raise InputError(error.reason, replace) from None
    for fact, what in (
        ("scenario", "scenario"),
        ("inputs", "scenario: files or tables of flows differ"),
        ("seed", "seed"),
        ("versions", "version"),
    ):
        if run.manifest.get(fact) != manifest.get(fact):
            raise InputError(f"{directory}: holds a run of another {what}", replace)
    if run.status != "done" or not sealed(directory):
        return None
    try:
        check_parts(directory, run.manifest)
    except ResultError:
        return None
    return run
