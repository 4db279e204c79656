"""Answers SQL about points with DuckDB, which may read the given files only."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.files import temporary_directory
from backwater.optional_dependencies import needed
from backwater.sweep.values import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """A column of the table of points."""

    name: str
    """Its name in tables, such as `switch.buffer` or `p99_fct:victim`."""
    sql: str
    """Its name in SQL, such as `switch_buffer` or `p99_fct_victim`."""
    unit: str
    role: str
    """`parameter`, `metric`, `reference` (what a metric is compared with), or empty."""
    about: str


def columns_of(schemas: Iterable[pa.Schema]) -> list[Column]:
    """Return the columns of tables of points, described by the metadata of their fields."""
    fields: dict[str, pa.Field[Any]] = {}
    for schema in schemas:
        for field in schema:
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


def points_views(source: str, columns: Sequence[Column], more: str = "") -> list[str]:
    """Return the statements that create the views points, failed, columns and metrics.

    `source` is what points are selected from; `more` are columns beside those of `source`.
    """
    chosen = ", ".join(f"{quoted(one.name)} as {quoted(one.sql)}" for one in columns)
    rows = ", ".join(f"({texts(c.sql, c.name, c.unit, c.role, c.about)})" for c in columns)
    names = "(column_name, name, unit, role, about)"
    statements = [
        f"create view points as select {chosen}{more} from {source}",
        "create view failed as select * from points where status = 'failed'",
        f"create view columns as select * from (values {rows}) as c{names}",
    ]
    numbers = [quoted(one.sql) for one in columns if one.role == "metric"]
    if numbers:
        some = ", ".join(numbers)
        statements.append(
            "create view metrics as select point, c.name as metric, c.unit, value from "
            f"(unpivot (select point, {some} from points) on {some} "
            "into name column_name value value) as u join columns as c using (column_name)"
        )
    return statements + [
        f"comment on column points.{quoted(one.sql)} is "
        + texts(f"{one.about}{f', {one.unit}' if one.unit else ''}")
        for one in columns
    ]


def ask(
    sql: str,
    statements: Sequence[str],
    views: Mapping[str, str],
    paths: Sequence[Path],
    directory: Path,
    tables: Mapping[str, pa.Table] | None = None,
) -> pa.Table:
    """Answer SQL over views that `statements` create from files, or from `tables` in memory.

    `views` describes each view for people. Raises `InputError` if DuckDB refuses the SQL, and
    `FileNotFoundError` if a file was removed meanwhile.
    """
    duckdb = needed("duckdb", "sweep")
    made = {one.split()[2] for one in statements if one.startswith("create view")}
    comments = [
        f"comment on view {name} is {texts(about)}" for name, about in views.items() if name in made
    ]
    # A query that needs more than memory writes files, by default into the current directory.
    with (
        temporary_directory("backwater-query-") as folder,
        contextlib.closing(duckdb.connect(config={"temp_directory": str(folder)})) as connection,
    ):
        try:
            for name, table in (tables or {}).items():
                connection.register(name, table)
            for statement in (*statements, *comments):
                connection.execute(statement)
            _lock(connection, paths)
            _check_reading(duckdb, sql)
            answer: pa.Table = connection.sql(sql).to_arrow_table()
        except AttributeError:
            raise InputError("query: the SQL is empty", 'as in "select * from points"') from None
        except duckdb.Error as error:
            for path in paths:
                path.stat()
            raise InputError(
                f"query: {str(error).strip()}",
                f"views: {', '.join(views)}; `backwater query {directory}` lists columns",
            ) from None
        return answer


# First words of statements that only read; `explain` may precede them.
_READING = (
    *("select", "with", "from", "values", "table", "pivot", "unpivot"),
    *("describe", "desc", "summarize", "show"),
)
_EXPLAIN = re.compile(r"explain\s+(?:analyze\s+|\([^)]*\)\s*)?", re.IGNORECASE)


def _lock(connection: Any, paths: Sequence[Path]) -> None:  # noqa: ANN401 - as DuckDB has it
    """Restrict a connection to reading these files, whatever SQL follows."""
    connection.execute(f"set allowed_paths = [{texts(*map(str, paths))}]")
    for setting in (
        *("autoinstall_known_extensions", "autoload_known_extensions"),
        *("allow_community_extensions", "enable_external_access"),
    ):
        connection.execute(f"set {setting} = false")
    connection.execute("set lock_configuration = true")


def _check_reading(duckdb: Any, sql: str) -> None:  # noqa: ANN401 - as above
    """Refuse SQL that does more than read: DuckDB could write to the files that it may read."""
    for statement in duckdb.extract_statements(sql):
        # Skip comments before it; offsets count octets.
        kinds = duckdb.tokenize(statement.query)
        begin = next((at for at, kind in kinds if kind != duckdb.token_type.comment), 0)
        text = statement.query.encode()[begin:].decode()
        text = text[found.end() :] if (found := _EXPLAIN.match(text)) else text
        first = re.match(r"[(\s]*(\w*)", text)
        word = first[1] if first else ""
        if word.lower() not in _READING:
            raise InputError(
                f"query: `{word}` is no statement that only reads", 'as in "select * from points"'
            )


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def texts(*texts: str) -> str:
    """Quote texts for SQL, separated by commas."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
