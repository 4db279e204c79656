"""Rows of a run's tables: lists for a short run, read a batch at a time for a long one.

Every run ends with its numbers, so these use bounded memory. They import no data frame library,
whose import takes longer than a tiny run and more memory than a large one. `numbers.run` computes
each number in the same way for both kinds of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from backwater import _core
from backwater.errors import ResultError
from backwater.manifest import AGAIN
from backwater.numbers import statistics
from backwater.stored import RUN_COLUMN, Kept, Stored, check_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import polars as pl

    from backwater.numbers.statistics import Ordered
    from backwater.results import Run

SHORT = 20_000
"""A table with more rows than this is read a batch at a time."""


class Rows(Protocol):
    """Some columns of a table."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def only(self, **equal: Any) -> Rows:  # noqa: ANN401 - as the column has it
        """Return the rows whose columns have these values."""

    def known(self, name: str) -> Rows:
        """Return the rows with a value in a column."""

    def above(self, name: str, limit: int) -> Rows:
        """Return the rows with more than a limit in a column."""

    def distinct(self, *names: str, by: str | None = None) -> list[tuple[Any, ...]]:
        """Return the distinct combinations of values in the order of their first row.

        `by` is the column by which rows are ordered for that; by default they are not.
        """

    def first(self, name: str, by: str | None = None) -> Any:  # noqa: ANN401 - as the column has it
        """Return a column's value in the first row, or in the row with the least `by`."""

    def total(self, name: str) -> int:
        """Return the sum of a column of whole numbers; 0 without rows."""

    def ordered(self, name: str) -> Ordered:
        """Return the values of a column in ascending order, without nulls."""

    def made(self, make: Callable[..., float | None], *names: str) -> Ordered:
        """Return `make` of columns of each row that has all of them, in ascending order.

        Results that are None are left out.
        """


class _Columns(dict[str, list[Any]]):
    """Columns, each read on first use."""

    def __init__(self, read: Callable[[str], list[Any]]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, name: str) -> list[Any]:
        self[name] = found = self._read(name)
        return found


@dataclass(frozen=True)
class Short:
    """Rows as lists."""

    count: int
    columns: _Columns

    @staticmethod
    def of(batches: Sequence[_core.Batch]) -> Short:
        """Make rows of batches."""

        def read(name: str) -> list[Any]:
            return [value for batch in batches for value in batch.column(name)]

        return Short(sum(map(len, batches)), _Columns(read))

    def __len__(self) -> int:
        return self.count

    def _at(self, places: Iterable[int]) -> Short:
        kept = list(places)
        if len(kept) == self.count:
            return self

        def read(name: str) -> list[Any]:
            column = self.columns[name]
            return [column[n] for n in kept]

        return Short(len(kept), _Columns(read))

    def only(self, **equal: Any) -> Short:  # noqa: ANN401 - as the column has it
        """Return the rows whose columns have these values."""
        wanted = tuple(equal.values())
        rows = zip(*(self.columns[name] for name in equal), strict=True)
        return self._at(n for n, row in enumerate(rows) if row == wanted)

    def known(self, name: str) -> Short:
        """Return the rows with a value in a column."""
        return self._at(n for n, value in enumerate(self.columns[name]) if value is not None)

    def above(self, name: str, limit: int) -> Short:
        """Return the rows with more than a limit in a column."""
        return self._at(n for n, value in enumerate(self.columns[name]) if value > limit)

    def _order(self, by: str | None) -> Iterable[int]:
        places = range(len(self))
        return places if by is None else sorted(places, key=self.columns[by].__getitem__)

    def distinct(self, *names: str, by: str | None = None) -> list[tuple[Any, ...]]:
        """Return the distinct combinations of values in the order of their first row."""
        rows = list(zip(*(self.columns[name] for name in names), strict=True))
        return list(dict.fromkeys(rows[n] for n in self._order(by)))

    def first(self, name: str, by: str | None = None) -> Any:  # noqa: ANN401 - as the column has it
        """Return a column's value in the first row, or in the row with the least `by`."""
        return self.columns[name][next(iter(self._order(by)))]

    def total(self, name: str) -> int:
        """Return the sum of a column of whole numbers; 0 without rows."""
        return sum(value for value in self.columns[name] if value is not None)

    def ordered(self, name: str) -> list[Any]:
        """Return the values of a column in ascending order, without nulls."""
        return sorted(value for value in self.columns[name] if value is not None)

    def made(self, make: Callable[..., float | None], *names: str) -> list[float]:
        """Return `make` of columns of each row that has all of them, in ascending order.

        Results that are None are left out.
        """
        rows = zip(*(self.columns[name] for name in names), strict=True)
        found = (make(*row) for row in rows if None not in row)
        return sorted(value for value in found if value is not None)


T = TypeVar("T")


def _read(ask: Callable[[], T]) -> T:
    """Read files. Raises `ResultError` if one is gone or damaged, which may show only here."""
    try:
        return ask()
    except ValueError as error:
        raise ResultError(str(error), f"it is damaged; {AGAIN}") from None


@dataclass(frozen=True)
class Long:
    """Rows that are read a batch at a time: any number of them needs little memory."""

    scan: _core.Scan

    def __len__(self) -> int:
        return _read(self.scan.__len__)

    def only(self, **equal: Any) -> Long:  # noqa: ANN401 - as the column has it
        """Return the rows whose columns have these values."""
        found = self.scan
        for name, value in equal.items():
            found = found.only(name, value)
        return Long(found)

    def known(self, name: str) -> Long:
        """Return the rows with a value in a column."""
        return Long(self.scan.known(name))

    def above(self, name: str, limit: int) -> Long:
        """Return the rows with more than a limit in a column."""
        return Long(self.scan.above(name, limit))

    def distinct(self, *names: str, by: str | None = None) -> list[tuple[Any, ...]]:
        """Return the distinct combinations of values in the order of their first row."""
        return _read(lambda: self.scan.distinct(list(names), by))

    def first(self, name: str, by: str | None = None) -> Any:  # noqa: ANN401 - as the column has it
        """Return a column's value in the first row, or in the row with the least `by`."""
        return _read(lambda: self.scan.first(name, by))

    def total(self, name: str) -> int:
        """Return the sum of a column of whole numbers; 0 without rows."""
        return _read(lambda: self.scan.total(name))

    def ordered(self, name: str) -> Values:
        """Return the values of a column, without nulls, searchable by index."""
        return Values(self.scan.known(name), name)

    def made(self, make: Callable[..., float | None], *names: str) -> Ordered:
        """Return `make` of columns of each row that has all of them, in ascending order.

        Results that are None are left out. The others take 8 B of memory each.
        """
        import numpy as np

        scan = self.scan
        for name in names:
            scan = scan.known(name)
        rows = zip(*(Values(scan, name) for name in names), strict=True)
        found = (value for row in rows if (value := make(*row)) is not None)
        ordered: Ordered = np.sort(np.fromiter(found, np.float64))
        return ordered


class Values:
    """The values of a column. An index searches for the value at that place in ascending order.

    Iteration is in the order of the rows.
    """

    def __init__(self, scan: _core.Scan, name: str) -> None:
        self._scan = scan
        self._name = name
        self._found: dict[int, float] = {}
        self._count = _read(scan.__len__)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[float]:
        lists = self._scan.values(self._name)
        while (values := _read(lambda: next(lists, None))) is not None:
            yield from values

    def __getitem__(self, place: int) -> float:
        place += self._count if place < 0 else 0
        if place not in self._found:
            # Search for all values of a spread at once: each search reads the rows several times.
            places = sorted({place, *statistics.places(self._count)})
            values = _read(lambda: self._scan.at(self._name, places))
            self._found |= dict(zip(places, values, strict=True))
        return self._found[place]


def rows(run: Run, table: str) -> Rows:
    """Return the rows of a run's table. Raises `ResultError` if they cannot be read."""
    if isinstance(run.read, Stored):
        slices = run.read.slices(table)
        if not slices:
            return Short(0, _Columns(lambda _: []))
        found = [(str(one.file), one.first, one.rows) for one in slices]
        return Long(_read(lambda: _core.Scan(table, found)))
    if isinstance(run.read, Kept):
        batches = run.read.batches.get(table, [])
    else:
        batches = _core.batches(run.read(table))
    if sum(map(len, batches)) > SHORT:
        return Long(_core.Scan.of(batches))
    return Short.of(batches)


def scan(run: Run, table: str) -> pl.LazyFrame | None:
    """Return a table of a run as a lazy frame; None if the run has no row of it.

    Raises `ResultError` if its files cannot be read, or if some that the run wrote are missing.
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
