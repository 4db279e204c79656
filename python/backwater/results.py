"""Results of a run: a directory of Parquet part files with a manifest, and the reader of it.

A result directory holds

    manifest.json             what was run, from which values, with what outcome
    scenario.toml             the resolved scenario; runs again as it is, flow tables named in full
    flows/part-00000.parquet  one directory a table, in closed part files

A part is written under a temporary name and renamed when it is whole, so whatever carries the name
of a part is readable, also when the run was killed. The columns' meaning and unit are in the files.
"""

from __future__ import annotations

import json
import shutil
import time
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from backwater.errors import InputError, ResultError
from backwater.files import json_text, write_text

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from backwater.plot import RunPlots

TABLES = (
    "flows",
    "ports",
    "control",
    "series",
    "switches",
    "collectives",
    "counters",
    "waits",
    "pauses",
)
MANIFEST = "manifest.json"
FORMAT = 1

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
    def warnings(self) -> list[dict[str, str]]:
        """What the check had to say: {key, value, reason, hint}."""
        warnings: list[dict[str, str]] = self.manifest.get("warnings") or []
        return warnings


def open_run(directory: str | os.PathLike[str]) -> Run:
    """Open a result directory, of a finished run or of one that was killed."""
    path = Path(directory)
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResultError(
            f"{path}: not a result directory, it has no {MANIFEST}",
            "name the directory that `backwater run --out` wrote",
        ) from None
    except (OSError, ValueError) as error:
        raise ResultError(f"{path / MANIFEST}: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != "run":
        raise ResultError(
            f"{path}: its {MANIFEST} is not that of one run",
            "a study or a set of seeds holds one result directory a run, further down",
        )
    return Run(manifest, path, lambda table: _read_parts(path, manifest, table))


def parts_of(directory: Path, manifest: Mapping[str, Any], table: str) -> list[Path]:
    """List the files of a run's table, in order.

    Raises `ResultError` if they are fewer than the run has written.
    """
    place = directory / table
    parts = sorted(place.glob("part-*.parquet"))
    written = manifest.get("tables", {}).get(table, {}).get("parts", 0)
    if len(parts) < written:
        raise ResultError(
            f"{place}: {written - len(parts)} of {written} parts are not there",
            "files of the results have been removed; run it again, with --force",
        )
    return parts


def _read_parts(directory: Path, manifest: Mapping[str, Any], table: str) -> pa.Table:
    parts = parts_of(directory, manifest, table)
    if not parts:
        return pa.table({})
    try:
        # Not `pq.read_table`, whose data sets take a second to import.
        return pa.concat_tables(pq.ParquetFile(part).read() for part in parts)
    except (OSError, pa.ArrowException) as error:
        raise ResultError(f"{directory / table}: {error}") from None


@dataclass
class _OpenPart:
    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    nbytes: int = 0
    since: float = 0.0


@dataclass
class MemorySink:
    """Keeps the tables of a run in memory."""

    manifest: dict[str, Any]
    _batches: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Take one closed batch of rows."""
        self._batches.setdefault(table, []).append(batch)

    def tick(self) -> None:
        """Let time pass; memory has nothing to close."""

    def finish(self, status: str, summary: dict[str, Any], error: str | None = None) -> Run:
        """Close the run and give its results."""
        self.manifest |= _closing(status, summary, error)
        batches = self._batches

        def read(table: str) -> pa.Table:
            return pa.Table.from_batches(batches[table]) if table in batches else pa.table({})

        return Run(self.manifest, None, read)


class DirectorySink:
    """Writes the tables of a run into a directory, part by part, in bounded memory."""

    def __init__(self, directory: Path, manifest: dict[str, Any], scenario: str) -> None:
        self.directory = directory
        self.manifest = manifest
        self._open: dict[str, _OpenPart] = {}
        self._parts: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._kept: dict[str, list[pa.Table]] | None = {}
        self._kept_bytes = 0
        self._began = time.monotonic()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            write_text(directory / "scenario.toml", scenario)
            write_text(directory / MANIFEST, json_text(manifest))
        except OSError as error:
            raise _unwritable(directory, error) from None

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Take one closed batch of rows."""
        part = self._open.get(table)
        if part is None:
            part = self._open[table] = _OpenPart(since=time.monotonic())
        part.batches.append(batch)
        part.rows += batch.num_rows
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
        self.manifest |= _closing(status, summary, error)
        self.manifest["tables"] = {
            table: {"parts": count, "rows": self._rows[table]}
            for table, count in sorted(self._parts.items())
        }
        try:
            write_text(self.directory / MANIFEST, json_text(self.manifest))
        except OSError as failure:
            raise _unwritable(self.directory, failure) from None
        if self._kept is None:
            return open_run(self.directory)
        kept = self._kept

        def read(table: str) -> pa.Table:
            return pa.concat_tables(kept[table]) if table in kept else pa.table({})

        return Run(self.manifest, self.directory, read)

    def _close(self, table: str) -> None:
        part = self._open.pop(table)
        number = self._parts.get(table, 0)
        # An empty part tells the columns of a table without rows; one is enough.
        if part.rows == 0 and number > 0:
            return
        folder = self.directory / table
        final = folder / f"part-{number:05}.parquet"
        temporary = folder / f".{final.name}.tmp"
        try:
            folder.mkdir(exist_ok=True)
            content = pa.Table.from_batches(part.batches)
            large = part.nbytes > COMPRESS_BYTES
            pq.write_table(content, temporary, compression="zstd" if large else "none")
            temporary.replace(final)
        except OSError as error:
            raise _unwritable(final, error) from None
        self._keep(table, content)
        self._parts[table] = number + 1
        self._rows[table] = self._rows.get(table, 0) + part.rows

    def _keep(self, table: str, content: pa.Table) -> None:
        if self._kept is None:
            return
        self._kept_bytes += content.nbytes
        if self._kept_bytes > KEPT_BYTES:
            self._kept = None
        else:
            self._kept.setdefault(table, []).append(content)


def opening(**facts: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON holds
    """Begin the manifest of a run."""
    return {"format": FORMAT, "kind": "run", "status": "running", "started": _now(), **facts}


def _closing(status: str, summary: dict[str, Any], error: str | None) -> dict[str, Any]:
    closing: dict[str, Any] = {"status": status, "ended": _now(), "summary": summary}
    if error is not None:
        closing["error"] = error
    return closing


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _unwritable(path: Path, error: OSError) -> ResultError:
    return ResultError(f"{path}: cannot write results: {error.strerror or error}")


def earlier_run(directory: Path, manifest: dict[str, Any]) -> Run | None:
    """Give the complete run in a directory if it is the one that `manifest` would begin.

    None if there is none, or one that did not come to its end: it is to be run (again). Raises
    `InputError` if what is there is a run of something else.
    """
    if not (directory / MANIFEST).is_file():
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise InputError(
                f"{directory}: is in the way and holds no results of Backwater's",
                "give --out the name of a new directory",
            )
        return None
    try:
        run = open_run(directory)
    except ResultError as error:
        hint = "give --out another name, or --force to replace it"
        raise InputError(error.reason, hint) from None
    for fact, what in (("scenario", "scenario"), ("seed", "seed"), ("versions", "version")):
        if run.manifest.get(fact) != manifest[fact]:
            raise InputError(
                f"{directory}: holds a run of another {what}",
                "give --out another name, or --force to replace it",
            )
    if run.status != "done":
        return None
    tables: dict[str, dict[str, int]] = run.manifest.get("tables") or {}
    parts = {table: len(list((directory / table).glob("part-*.parquet"))) for table in tables}
    return run if all(parts[table] == tables[table]["parts"] for table in tables) else None


def fresh_directory(path: Path, *, force: bool) -> None:
    """See that `path` can take new results: absent, empty, or (with `force`) earlier results.

    Only what Backwater wrote is ever replaced.
    """
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError(f"{path}: is a file, not a directory", "give --out another name")
    if not any(path.iterdir()):
        return
    if not (path / MANIFEST).is_file():
        raise InputError(
            f"{path}: is not empty and holds no results of Backwater's",
            "give --out the name of a new directory",
        )
    if not force:
        raise InputError(
            f"{path}: holds earlier results", "give --out another name, or --force to replace them"
        )


def clear(path: Path) -> None:
    """Remove earlier results that `fresh_directory` allowed to replace."""
    if path.exists():
        shutil.rmtree(path)


def free_name(base: Path) -> Path:
    """Give `base`, or `base-2`, `base-3`, ... whichever does not exist yet."""

    def names() -> Iterator[Path]:
        yield base
        number = 2
        while True:
            yield base.with_name(f"{base.name}-{number}")
            number += 1

    return next(name for name in names() if not name.exists())
