"""Tables of runs: parts on the disk, of a run or of a series, or batches in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.directory import TABLES
from backwater.errors import ResultError
from backwater.files import regular
from backwater.journal import Journal, part_name
from backwater.manifest import AGAIN, MANIFEST, check_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pyarrow as pa

    from backwater._core import Batch

RUN_COLUMN = "run"
"""In the tables of a series: the column with the seed of a row's run."""


@cache
def columns() -> dict[str, pa.Schema]:
    """Return the schema of every table, by the table's name."""
    import pyarrow as pa

    return {name: pa.record_batch(empty).schema for name, empty in _core.empty_tables()}


@dataclass(frozen=True)
class Kept:
    """The tables of a run in memory, by name; a call returns one."""

    batches: Mapping[str, list[Batch]]

    def __reduce__(self) -> tuple[Callable[..., Kept], tuple[dict[str, pa.Table]]]:
        """Pickle as Arrow tables."""
        return _kept, ({table: self(table) for table in self.batches},)

    def __call__(self, table: str) -> pa.Table:
        """Return one table."""
        import pyarrow as pa

        if table not in self.batches:
            return columns()[table].empty_table()
        return pa.Table.from_batches([pa.record_batch(batch) for batch in self.batches[table]])


def _kept(tables: Mapping[str, pa.Table]) -> Kept:
    """Return tables in memory from pickled ones."""
    return Kept({name: _core.batches(table) for name, table in tables.items()})


@dataclass(frozen=True)
class Slice:
    """Rows of a part."""

    file: Path
    first: int = 0
    rows: int | None = None
    """How many; None: all from `first` on."""


@dataclass(frozen=True)
class Stored:
    """The tables of a run in a directory of its own; a call reads one."""

    directory: Path
    manifest: Mapping[str, Any]

    def slices(self, table: str) -> list[Slice]:
        """Return where a table's rows are. Raises `ResultError` if parts are missing."""
        return [Slice(part) for part in parts_of(self.directory, self.manifest, table)]

    def __call__(self, table: str) -> pa.Table:
        """Return one table. Raises `ResultError`."""
        import pyarrow as pa

        slices = self.slices(table)
        if not slices:
            return columns()[table].empty_table()
        return pa.concat_tables(
            self._part(table, one.file).slice(one.first, one.rows) for one in slices
        )

    def _part(self, table: str, file: Path) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        check_part(file, table)
        try:
            # Not `pq.read_table`, whose data sets take a second to import.
            return pq.ParquetFile(regular(file)).read()
        except (OSError, pa.ArrowException) as error:
            raise ResultError(f"{file}: {error}", f"it is damaged; {AGAIN}") from None


@dataclass
class SharedParts:
    """The parts of a series: those that were checked, and the last one read of each table."""

    directory: Path
    journal: Journal
    whole: set[str] = field(default_factory=set)
    read: dict[str, tuple[Path, pa.Table]] = field(default_factory=dict)

    def check(self, line: Mapping[str, Any]) -> None:
        """Compare the parts that a run uses with their hashes, once each. Raises `ResultError`."""
        for name in self.journal.names(line):
            if name in self.whole:
                continue
            table, wanted = name.partition("/")[0], self.journal.parts.get(name)
            if table not in TABLES or wanted is None:
                raise ResultError(f"{self.directory / name}: is an unknown part", AGAIN)
            check_file(self.directory / name, wanted)
            self.whole.add(name)


@dataclass(frozen=True)
class StoredInSeries(Stored):
    """The tables of a run of a series; a call reads one."""

    shared: SharedParts

    def slices(self, table: str) -> list[Slice]:
        """Return where a table's rows are. Raises `ResultError` if parts are missing."""
        found = [
            Slice(self.directory / part_name(table, number), first, rows)
            for number, first, rows in self.manifest["tables"].get(table, ())
        ]
        for one in found:
            if not one.file.is_file():
                raise ResultError(f"{one.file}: has been removed", AGAIN)
        return found

    def _part(self, table: str, file: Path) -> pa.Table:
        # A part has the rows of hundreds of runs, which are read one after the other.
        known = self.shared.read.get(table)
        if known is not None and known[0] == file:
            return known[1]
        part = super()._part(table, file)
        if RUN_COLUMN in part.column_names:
            metadata = part.schema.metadata
            part = part.drop_columns([RUN_COLUMN]).replace_schema_metadata(metadata)
        self.shared.read[table] = (file, part)
        return part


def parts_of(directory: Path, manifest: Mapping[str, Any], table: str) -> list[Path]:
    """Return the files of a table, in order, for a run in a directory of its own.

    Raises `ResultError` if the run has written more files.
    """
    place = directory / table
    if manifest["status"] == "running":
        return sorted(place.glob("part-*.parquet"))
    entry = (manifest.get("tables") or {}).get(table) or {}
    parts = [directory / part_name(table, n) for n in range(len(entry.get("sha256", ())))]
    missing = sum(not part.is_file() for part in parts)
    if missing:
        raise ResultError(
            f"{place}: {missing} of {len(parts)} parts are missing",
            "files of the results have been removed; run it again, with --force",
        )
    return parts


def check_parts(directory: Path, manifest: Mapping[str, Any]) -> None:
    """Compare every part of a run that has ended with its hash. Raises `ResultError`."""
    tables = manifest.get("tables")
    if tables is None:
        raise ResultError(f"{directory / MANIFEST}: is damaged: it has no `tables`", AGAIN)
    for table, entry in tables.items():
        if table not in TABLES:
            place = f"{directory / MANIFEST}: tables.{table}"
            raise ResultError(f"{place}: is an unknown table", AGAIN)
        for part, wanted in zip(
            parts_of(directory, manifest, table), entry.get("sha256", ()), strict=True
        ):
            check_file(part, wanted)


def check_part(part: Path, table: str) -> None:
    """Compare the columns of a part with those of its table. Raises `ResultError`."""
    try:
        reason = _core.check_part(str(regular(part)), table)
    except OSError as error:
        reason = str(error)
    if reason is not None:
        raise ResultError(f"{part}: {reason}", f"it is damaged; {AGAIN}")
