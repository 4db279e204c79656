"""The file `statistics.parquet` of repeated runs: one row per number."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from backwater.errors import ResultError
from backwater.files import write_file

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

COLUMNS = (
    ("of", "string", "", "label of a group of flows; `ports`: all ports; `run`: the run"),
    ("quantity", "string", "", "number of a run's report, such as fct_last_ack_us.mean"),
    ("unit", "string", "", "its unit; empty: a count"),
    ("n", "int64", "runs", "runs that have such a number"),
    ("mean", "float64", "see unit", "mean over the runs"),
    ("min", "float64", "see unit", "least"),
    ("max", "float64", "see unit", "greatest"),
    ("std", "float64", "see unit", "standard deviation of the sample (n - 1); null: one run"),
    ("ci_low", "float64", "see unit", "lower end of the mean's 95 % confidence interval"),
    ("ci_high", "float64", "see unit", "upper end of that interval (Student's t)"),
)


def statistics_schema() -> pa.Schema:
    """Return the columns of `statistics.parquet` with descriptions and units."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(name, getattr(pa, kind)(), metadata={"description": description, "unit": unit})
            for name, kind, unit, description in COLUMNS
        ],
        metadata={"description": "One row per number of the runs' reports, over all runs."},
    )


def statistics_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Make a table of rows of `backwater.numbers.repeats.over_runs`."""
    from backwater.numbers.arrays import table

    return table([[row[name] for row in rows] for name, *_ in COLUMNS], statistics_schema())


def write_statistics(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the file. Raises `ResultError`."""
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(statistics_table(rows), content)
    try:
        write_file(path, content.getvalue())
    except OSError as error:
        raise ResultError(f"{path}: cannot be written: {error.strerror or error}") from None
