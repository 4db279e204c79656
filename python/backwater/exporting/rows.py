"""Rows of a run's tables, read in parts: an export of a long run takes little memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.files import regular
from backwater.numbers.rows import scan
from backwater.stored import RUN_COLUMN, Stored, check_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from backwater.results import Run

MOST = 50_000
"""The most rows in memory at a time."""

IN_ORDER = ("start_ps", "flow_id")
"""Columns that sort flows by their starts, and then by number."""


def name_of(run: Run) -> str:
    """Return the name of a run with which an error begins."""
    return "the run" if run.directory is None else f"{run.directory}: the run"


def counted(*notes: tuple[int, str]) -> list[str]:
    """Return notes with their counts, without those that count 0."""
    return [f"{what}: {count}" for count, what in notes if count]


def rows(run: Run, table: str, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield some columns of a table's rows, in the order of the table. Raises `ResultError`."""
    if not isinstance(run.read, Stored):
        for batch in run.read(table).select(list(names)).to_batches(MOST):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return
    import pyarrow.parquet as pq

    for one in run.read.slices(table):
        check_part(one.file, table)
        skip, left = one.first, one.rows
        for batch in pq.ParquetFile(regular(one.file)).iter_batches(MOST, columns=list(names)):
            part = batch.slice(skip, left)
            skip = max(0, skip - batch.num_rows)
            if left is not None:
                left -= part.num_rows
            yield from zip(*(part.column(name).to_pylist() for name in names), strict=True)
            if left == 0:
                break


def frame(run: Run, table: str) -> pl.LazyFrame:
    """Return a table as a lazy frame, even if it has no rows. Raises `ResultError`."""
    found = scan(run, table)
    if found is None:
        return pl.LazyFrame(pl.DataFrame(run.read(table)))
    return found.drop(RUN_COLUMN, strict=False)


def ordered(found: pl.LazyFrame, by: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield rows in the order of some columns; equal ones keep the order of the table."""
    sorted_ = found.sort(by, maintain_order=True).collect(engine="streaming")
    for part in sorted_.iter_slices(MOST):
        yield from part.iter_rows(named=True)


def nth(run: Run, *keys: str) -> pl.Series:
    """Return a number for each row of the table `flows`, in the order of the table.

    Flows with the same values of `keys` are numbered from 0 by their starts.
    """
    found = frame(run, "flows").select(*keys, *IN_ORDER).with_row_index("row").collect()
    number = pl.int_range(pl.len(), dtype=pl.UInt32).over(keys)
    numbered = found.sort(IN_ORDER).select("row", number=number)
    return numbered.sort("row")["number"]
