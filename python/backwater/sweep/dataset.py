"""Opens the dataset of a sweep: as Arrow, polars or pandas tables, and for SQL by DuckDB."""

from __future__ import annotations

import contextlib
import errno
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from backwater.directory import SWEEP_TABLES
from backwater.errors import InputError, ResultError
from backwater.files import regular, temporary_directory
from backwater.manifest import SWEEP, check_file, read_manifest, say_build
from backwater.optional_dependencies import needed
from backwater.sweep.store import POINTS, files, readable, settled, table_of
from backwater.sweep.values import plain

if TYPE_CHECKING:
    import os

    import pandas as pd
    import polars as pl

VIEWS = {
    "points": "a row a point: variant, values, seed, status, error, fingerprint, numbers",
    "metrics": "a row a point and number: point, metric, unit, value",
    "failed": "points that have failed, with their errors",
    "timings": "what each point took, in s, where, and when it ended",
    "flows": "the flows of all points, with the point of each (with --keep flows)",
    "columns": "what each column of points is: name in SQL, name, unit, role, meaning",
}
"""What SQL can ask of a sweep, and what each is."""


@dataclass(frozen=True)
class Column:
    """A column of the table of points."""

    name: str
    """As in tables, such as `switch.buffer` or `p99_fct:victim`."""
    sql: str
    """As in SQL, such as `switch_buffer` or `p99_fct_victim`."""
    unit: str
    role: str
    """`parameter`, `metric`, `reference` (what a metric is held against), or empty."""
    about: str


@dataclass(frozen=True)
class Sweep:
    """The points of a sweep that have been run, maybe by a command that is under way."""

    manifest: dict[str, Any]
    """What was asked for: scenario, keys, versions, status."""
    directory: Path

    @property
    def status(self) -> str:
        """`done`, `interrupted`, or `running` (also what a killed sweep leaves)."""
        return str(self.manifest["status"])

    @cached_property
    def points(self) -> pa.Table:
        """One row a point, in the order of their ids. Raises `ResultError`."""
        return self.arrow()

    def arrow(self, table: str = POINTS) -> pa.Table:
        """Give `points`, `timings` or `flows` as an Arrow table; meaning and unit are in fields.

        Raises `InputError` for another name, `ResultError` if it cannot be read.
        """
        if table not in SWEEP_TABLES:
            raise InputError(f"{table}: a sweep has no such table", ", ".join(SWEEP_TABLES))
        found = table_of(self.directory, table)
        return found if table == "flows" or not len(found) else found.sort_by("point")

    def polars(self, table: str = POINTS) -> pl.DataFrame:
        """Give a table as a frame of polars."""
        import polars as pl

        frame = pl.from_arrow(self.arrow(table))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def pandas(self, table: str = POINTS) -> pd.DataFrame:
        """Give a table as a frame of pandas. Raises `InputError` if that is not installed."""
        needed("pandas", "sweep")
        frame: pd.DataFrame = self.arrow(table).to_pandas()
        return frame

    @cached_property
    def errors(self) -> dict[str, int]:
        """Why points have failed, and how many for each reason; the commonest first."""
        found = Counter(str(error) for error in self.points["error"].drop_null().to_pylist())
        return dict(found.most_common())

    @cached_property
    def columns(self) -> list[Column]:
        """The columns of the table of points."""
        return settled(self._columns)

    def _columns(self) -> list[Column]:
        fields: dict[str, pa.Field[Any]] = {}
        for path in files(self.directory, POINTS):
            for field in _schema(path):
                fields.setdefault(field.name, field)
        found: dict[str, Column] = {}
        for name, field in fields.items():
            facts = {key.decode(): text.decode() for key, text in (field.metadata or {}).items()}
            sql = plain(name)
            while sql in found:
                sql += "_"
            told = (facts.get(key, "") for key in ("unit", "role", "description"))
            found[sql] = Column(name, sql, *told)
        return list(found.values())

    def query(self, sql: str) -> pa.Table:
        """Answer SQL by DuckDB over the views `points`, `metrics`, `failed`, `timings`, ….

        Columns have plain names there (`columns`). Raises `InputError` if DuckDB refuses it.
        """
        needed("duckdb", "sweep")
        return settled(lambda: self._asked(sql))

    def _asked(self, sql: str) -> pa.Table:
        """Answer SQL. Raises `FileNotFoundError` if a file has gone on the way."""
        duckdb = needed("duckdb", "sweep")
        views, paths = self._views()
        # In the current directory a query that needs more than memory would leave its own files.
        with (
            temporary_directory("backwater-query-") as folder,
            contextlib.closing(
                duckdb.connect(config={"temp_directory": str(folder)})
            ) as connection,
        ):
            try:
                for statement in views:
                    connection.execute(statement)
                _lock(connection, paths)
                _check_reading(duckdb, sql)
                answer: pa.Table = connection.sql(sql).to_arrow_table()
            except AttributeError:
                raise InputError("query: is no question", 'as in "select * from points"') from None
            except duckdb.Error as error:
                for path in paths:
                    path.stat()
                raise InputError(
                    f"query: {str(error).strip()}",
                    f"views: {', '.join(VIEWS)}; `backwater query {self.directory}` lists columns",
                ) from None
            return answer

    def _views(self) -> tuple[list[str], list[Path]]:
        """Give the statements that make the views, and the files that these read."""
        columns = self.columns
        statements = []
        every: list[Path] = []
        for table in SWEEP_TABLES:
            paths = files(self.directory, table)
            if not paths:
                continue
            every += paths
            names = _texts(*map(str, paths))
            source = f"read_parquet([{names}], union_by_name = true)"
            chosen = "*"
            if table == POINTS:
                chosen = ", ".join(f"{_quoted(one.name)} as {_quoted(one.sql)}" for one in columns)
                beside = self.manifest.get("beside") or ()
                chosen += f", point in ({_texts(*beside)}) as base" if beside else ", false as base"
            statements.append(f"create view {table} as select {chosen} from {source}")
        if not columns:
            return ["create view points as select '' as point where false"], []
        statements.append("create view failed as select * from points where status = 'failed'")
        rows = ", ".join(f"({_texts(c.sql, c.name, c.unit, c.role, c.about)})" for c in columns)
        names = "(column_name, name, unit, role, about)"
        statements.append(f"create view columns as select * from (values {rows}) as c{names}")
        numbers = [_quoted(one.sql) for one in columns if one.role == "metric"]
        if numbers:
            some = ", ".join(numbers)
            statements.append(
                "create view metrics as select point, c.name as metric, c.unit, value from "
                f"(unpivot (select point, {some} from points) on {some} "
                "into name column_name value value) as u join columns as c using (column_name)"
            )
        statements.append(
            "comment on column points.base is 'whether it is of a goal''s base alone'"
        )
        statements += [
            f"comment on column points.{_quoted(one.sql)} is "
            + _texts(f"{one.about}{f', {one.unit}' if one.unit else ''}")
            for one in columns
        ]
        made = {statement.split()[2] for statement in statements if statement.startswith("create")}
        statements += [
            f"comment on view {name} is {_texts(about)}"
            for name, about in VIEWS.items()
            if name in made
        ]
        return statements, every


# What SQL begins with that reads and changes nothing; `explain` stands before it.
_READING = (
    *("select", "with", "from", "values", "table", "pivot", "unpivot"),
    *("describe", "desc", "summarize", "show"),
)
_EXPLAIN = re.compile(r"explain\s+(?:analyze\s+|\([^)]*\)\s*)?", re.IGNORECASE)


def _lock(connection: Any, paths: list[Path]) -> None:  # noqa: ANN401 - as DuckDB has it
    """Let a connection read these files alone, whatever SQL it is given from now on."""
    connection.execute(f"set allowed_paths = [{_texts(*map(str, paths))}]")
    for setting in (
        *("autoinstall_known_extensions", "autoload_known_extensions"),
        *("allow_community_extensions", "enable_external_access"),
    ):
        connection.execute(f"set {setting} = false")
    connection.execute("set lock_configuration = true")


def _check_reading(duckdb: Any, sql: str) -> None:  # noqa: ANN401 - as above
    """Refuse SQL that does more than read: what may be read may be written to as well."""
    for statement in duckdb.extract_statements(sql):
        # Without the remarks before it; places are of octets.
        kinds = duckdb.tokenize(statement.query)
        begin = next((at for at, kind in kinds if kind != duckdb.token_type.comment), 0)
        text = statement.query.encode()[begin:].decode()
        text = text[found.end() :] if (found := _EXPLAIN.match(text)) else text
        first = re.match(r"[(\s]*(\w*)", text)
        word = first[1] if first else ""
        if word.lower() not in _READING:
            raise InputError(f"query: `{word}` does more than read", 'as in "select * from points"')


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _texts(*texts: str) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def _schema(path: Path) -> pa.Schema:
    with readable(path):
        return pq.read_schema(regular(path))


def open_sweep(directory: str | os.PathLike[str]) -> Sweep:
    """Open the dataset of a sweep, finished or not.

    Files of a finished one are held against their hashes. Raises `ResultError` if there is no
    sweep, or not as it was written. Warns (`OtherBuildWarning`) if another build made it.
    """
    path = Path(directory)
    manifest = settled(lambda: _checked(path))
    say_build(path, manifest)
    return Sweep(manifest, path)


def _checked(path: Path) -> dict[str, Any]:
    """Read the manifest, and hold the files that it names against their hashes."""
    manifest = read_manifest(path, SWEEP)
    try:
        for name, wanted in (manifest.get("parts") or {}).items():
            if (path / name).name.startswith("part-"):
                check_file(path / name, wanted)
    except ResultError:
        if read_manifest(path, SWEEP) != manifest:
            # A command has begun to add to it.
            raise FileNotFoundError(errno.ENOENT, "is gone", str(path)) from None
        raise
    return manifest
