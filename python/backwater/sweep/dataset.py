"""Opens the dataset of a sweep: as Arrow, polars or pandas tables, and for SQL in DuckDB."""

from __future__ import annotations

import errno
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from backwater.directory import SWEEP_TABLES
from backwater.errors import InputError, ResultError
from backwater.experiments.sql import Column, ask, columns_of, points_views, texts
from backwater.files import regular
from backwater.manifest import SWEEP, check_file, read_manifest, say_build
from backwater.optional_dependencies import needed
from backwater.sweep.store import POINTS, files, readable, settled, table_of

if TYPE_CHECKING:
    import os

    import pandas as pd
    import polars as pl

VIEWS = {
    "points": "one row per point: variant, values, seed, status, error, fingerprint, numbers",
    "metrics": "one row per point and number: point, metric, unit, value",
    "failed": "failed points with their errors",
    "timings": "per point: wall time in s, worker, end",
    "flows": "flows of all points, each with its point (with --keep flows)",
    "columns": "columns of points: name in SQL, name, unit, role, meaning",
}
"""Views of a sweep for SQL, each with its content."""


@dataclass(frozen=True)
class Sweep:
    """The points of a sweep that have been run, perhaps by a command still in progress."""

    manifest: dict[str, Any]
    """The request and its state: scenario, keys, versions, status."""
    directory: Path
    views: ClassVar = VIEWS

    @property
    def status(self) -> str:
        """`done`, `interrupted`, or `running`, which a killed sweep leaves too."""
        return str(self.manifest["status"])

    @cached_property
    def points(self) -> pa.Table:
        """One row per point, ordered by id. Raises `ResultError`."""
        return self.arrow()

    def arrow(self, table: str = POINTS) -> pa.Table:
        """Return `points`, `timings` or `flows` as an Arrow table; fields hold meaning and unit.

        Raises `InputError` for another name, `ResultError` if the table cannot be read.
        """
        if table not in SWEEP_TABLES:
            raise InputError(f"{table}: a sweep has no such table", ", ".join(SWEEP_TABLES))
        found = table_of(self.directory, table)
        return found if table == "flows" or not len(found) else found.sort_by("point")

    def polars(self, table: str = POINTS) -> pl.DataFrame:
        """Return a table as a polars frame."""
        import polars as pl

        frame = pl.from_arrow(self.arrow(table))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def pandas(self, table: str = POINTS) -> pd.DataFrame:
        """Return a table as a pandas frame. Raises `InputError` without pandas."""
        needed("pandas", "sweep")
        frame: pd.DataFrame = self.arrow(table).to_pandas()
        return frame

    @cached_property
    def errors(self) -> dict[str, int]:
        """The number of failed points by their error, the commonest first."""
        found = Counter(str(error) for error in self.points["error"].drop_null().to_pylist())
        return dict(found.most_common())

    @cached_property
    def columns(self) -> list[Column]:
        """The columns of the table of points."""
        return settled(lambda: columns_of(map(_schema, files(self.directory, POINTS))))

    def query(self, sql: str) -> pa.Table:
        """Run SQL in DuckDB over the views `points`, `metrics`, `failed`, `timings`, ….

        Columns have plain names there, which the view `columns` lists. Raises `InputError` if
        DuckDB refuses it.
        """
        needed("duckdb", "sweep")
        return settled(lambda: self._asked(sql))

    def _asked(self, sql: str) -> pa.Table:
        """Run SQL. Raises `FileNotFoundError` if a file disappears meanwhile."""
        columns = self.columns
        statements: list[str] = []
        every: list[Path] = []
        for table in SWEEP_TABLES:
            paths = files(self.directory, table)
            if not paths:
                continue
            every += paths
            source = f"read_parquet([{texts(*map(str, paths))}], union_by_name = true)"
            if table == POINTS:
                beside = self.manifest.get("beside") or ()
                base = f"point in ({texts(*beside)})" if beside else "false"
                statements += points_views(source, columns, f", {base} as base")
                statements.append(
                    "comment on column points.base is 'whether only a goal''s base has the point'"
                )
            else:
                statements.append(f"create view {table} as select * from {source}")
        if not columns:
            statements, every = ["create view points as select '' as point where false"], []
        return ask(sql, statements, self.views, every, self.directory)


def _schema(path: Path) -> pa.Schema:
    with readable(path):
        return pq.read_schema(regular(path))


def open_sweep(directory: str | os.PathLike[str]) -> Sweep:
    """Open the dataset of a sweep, finished or not.

    Checks the files of a finished sweep against their hashes. Raises `ResultError` if the directory
    has no sweep, or a file has changed. Warns (`OtherBuildWarning`) if another build made it.
    """
    path = Path(directory)
    manifest = settled(lambda: _checked(path))
    say_build(path, manifest)
    return Sweep(manifest, path)


def _checked(path: Path) -> dict[str, Any]:
    """Read the manifest, and check the files that it names against their hashes."""
    manifest = read_manifest(path, SWEEP)
    try:
        for name, wanted in (manifest.get("parts") or {}).items():
            if (path / name).name.startswith("part-"):
                check_file(path / name, wanted)
    except ResultError:
        if read_manifest(path, SWEEP) != manifest:
            # Another command has begun to add points.
            raise FileNotFoundError(errno.ENOENT, "is gone", str(path)) from None
        raise
    return manifest
