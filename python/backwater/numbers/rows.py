"""Rows of a run's tables: lists for a short run, polars for a long one.

Importing polars takes longer than a tiny run, and each of its operations longer than a loop over
some dozens of rows. What a number is of them is written once, for both (`numbers.run`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from backwater.errors import ResultError
from backwater.manifest import AGAIN
from backwater.stored import RUN_COLUMN, Kept, Stored, check_part

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from backwater.numbers.statistics import Ordered
    from backwater.results import Run

SHORT = 20_000
"""Rows of a table up to which it is lists."""


class Rows(Protocol):
    """Some columns of a table."""

    def __len__(self) -> int:
        """Give the number of rows."""

    def only(self, **equal: Any) -> Rows:  # noqa: ANN401 - as the column has it
        """Give the rows whose columns have these values."""

    def known(self, name: str) -> Rows:
        """Give the rows that have a value in a column."""

    def above(self, name: str, limit: int) -> Rows:
        """Give the rows with more than a limit in a column."""

    def distinct(self, *names: str, by: str | None = None) -> list[tuple[Any, ...]]:
        """Give the combinations of values that there are, in the order in which they first come.

        `by`: the column in whose order the rows are taken for that.
        """

    def first(self, name: str, by: str | None = None) -> Any:  # noqa: ANN401 - as the column has it
        """Give a column's value in the first row, or in that with the least value of `by`."""

    def total(self, name: str) -> int:
        """Give the sum of a column of whole numbers; 0 of nothing."""

    def ordered(self, name: str) -> Ordered:
        """Give the values of a column in ascending order, without those that are missing."""


@dataclass(frozen=True)
class Short:
    """Rows as lists."""

    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def _at(self, places: Iterable[int]) -> Short:
        kept = list(places)
        if len(kept) == len(self):
            return self
        return Short({name: [column[n] for n in kept] for name, column in self.columns.items()})

    def only(self, **equal: Any) -> Short:  # noqa: ANN401 - as the column has it
        """Give the rows whose columns have these values."""
        wanted = tuple(equal.values())
        rows = zip(*(self.columns[name] for name in equal), strict=True)
        return self._at(n for n, row in enumerate(rows) if row == wanted)

    def known(self, name: str) -> Short:
        """Give the rows that have a value in a column."""
        return self._at(n for n, value in enumerate(self.columns[name]) if value is not None)

    def above(self, name: str, limit: int) -> Short:
        """Give the rows with more than a limit in a column."""
        return self._at(n for n, value in enumerate(self.columns[name]) if value > limit)

    def _order(self, by: str | None) -> Iterable[int]:
        places = range(len(self))
        return places if by is None else sorted(places, key=self.columns[by].__getitem__)

    def distinct(self, *names: str, by: str | None = None) -> list[tuple[Any, ...]]:
        """Give the combinations of values that there are, in the order in which they first come."""
        rows = list(zip(*(self.columns[name] for name in names), strict=True))
        return list(dict.fromkeys(rows[n] for n in self._order(by)))

    def first(self, name: str, by: str | None = None) -> Any:  # noqa: ANN401 - as the column has it
        """Give a column's value in the first row, or in that with the least value of `by`."""
        return self.columns[name][next(iter(self._order(by)))]

    def total(self, name: str) -> int:
        """Give the sum of a column of whole numbers; 0 of nothing."""
        return sum(value for value in self.columns[name] if value is not None)

    def ordered(self, name: str) -> list[Any]:
        """Give the values of a column in ascending order, without those that are missing."""
        return sorted(value for value in self.columns[name] if value is not None)


@dataclass(frozen=True)
class Long:
    """Rows that polars reads a column at a time, so that millions of them need little memory."""

    frame: pl.LazyFrame

    def _column(self, value: str | pl.Expr) -> pl.Series:
        return self.frame.select(value).collect(engine="streaming").to_series()

    def __len__(self) -> int:
        import polars as pl

        return int(self._column(pl.len()).item())

    def only(self, **equal: Any) -> Long:  # noqa: ANN401 - as the column has it
        """Give the rows whose columns have these values."""
        return Long(self.frame.filter(**equal))

    def known(self, name: str) -> Long:
        """Give the rows that have a value in a column."""
        import polars as pl

        return Long(self.frame.filter(pl.col(name).is_not_null()))

    def above(self, name: str, limit: int) -> Long:
        """Give the rows with more than a limit in a column."""
        import polars as pl

        return Long(self.frame.filter(pl.col(name) > limit))

    def distinct(self, *names: str, by: str | None = None) -> list[tuple[Any, ...]]:
        """Give the combinations of values that there are, in the order in which they first come."""
        import polars as pl

        least = pl.lit(0) if by is None else pl.col(by)
        numbered = self.frame.select(*names, least=least).with_row_index("place")
        first = pl.col("place").get(pl.col("least").arg_min())
        found = numbered.group_by(*names).agg(pl.col("least").min(), first).collect()
        return found.sort("least", "place").select(names).rows()

    def first(self, name: str, by: str | None = None) -> Any:  # noqa: ANN401 - as the column has it
        """Give a column's value in the first row, or in that with the least value of `by`."""
        import polars as pl

        at = 0 if by is None else pl.col(by).arg_min()
        return self._column(pl.col(name).get(at)).item()

    def total(self, name: str) -> int:
        """Give the sum of a column of whole numbers; 0 of nothing."""
        import polars as pl

        return int(self._column(pl.col(name).sum()).item())

    def ordered(self, name: str) -> pl.Series:
        """Give the values of a column in ascending order, without those that are missing."""
        return self._column(name).drop_nulls().sort()


def rows(run: Run, table: str, *names: str) -> Rows:
    """Give some columns of a run's table. Raises `ResultError` if they cannot be read."""
    if isinstance(run.read, Kept):
        batches = run.read.batches.get(table, ())
        if sum(map(len, batches)) <= SHORT:
            every = [[batch.column(name) for batch in batches] for name in names]
            columns = ([value for part in parts for value in part] for parts in every)
            return Short(dict(zip(names, columns, strict=True)))
    frame = scan(run, table)
    if frame is None:
        return Short({name: [] for name in names})
    return Long(frame)


def scan(run: Run, table: str) -> pl.LazyFrame | None:
    """Give a table of a run to be read column by column; None if the run has no row of it.

    Raises `ResultError` if its files cannot be read, or are fewer than the run has written.
    """
    import polars as pl

    if isinstance(run.read, Kept):
        batches = [pl.DataFrame(batch) for batch in run.read.batches.get(table, ()) if len(batch)]
        return pl.concat(batches).lazy() if batches else None
    if not isinstance(run.read, Stored):
        content = run.read(table)
        return pl.DataFrame(content).lazy() if content.num_rows else None
    slices = run.read.slices(table)
    if not slices:
        return None
    for file in dict.fromkeys(one.file for one in slices):
        check_part(file, table)
    if all(one.rows is None for one in slices):
        frame = pl.scan_parquet([one.file for one in slices])
    else:
        parts = (pl.scan_parquet(one.file).slice(one.first, one.rows) for one in slices)
        frame = pl.concat(list(parts)).drop(RUN_COLUMN, strict=False)
    try:
        return frame if frame.select(pl.len()).collect().item() else None
    except pl.exceptions.PolarsError as error:
        place = run.read.directory / table
        raise ResultError(f"{place}: {error}", f"it is damaged; {AGAIN}") from None
