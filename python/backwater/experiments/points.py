"""Presents results of any kind as a table of points for SQL, one row a run.

A sweep has its points as a table already. In a series, a comparison or a study each run is a point,
with the numbers that a sweep keeps; SQL can also query the tables of the runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from backwater.directory import DESCRIBED, TABLES
from backwater.experiments.sql import Column, ask, columns_of, points_views, quoted, texts
from backwater.journal import name_of, seed_of
from backwater.manifest import BENCH, COMPARISON, RUN, SEEDS, STUDY, SWEEP, read_manifest, say_build
from backwater.reading import load_comparison
from backwater.repetitions import load_series, runs_named
from backwater.results import Run, load_run, manifest_at, present
from backwater.stored import RUN_COLUMN, Stored
from backwater.study.measured import MEASURED, place_of, readings_in
from backwater.sweep.dataset import Sweep, open_sweep
from backwater.sweep.point import DONE, Outcome, Recipe
from backwater.sweep.tables import Rows, column

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

_VIEWS = {
    "points": "one row for each run: its keys, seed, status, error, fingerprint, numbers",
    "metrics": "one row for each run and number: point, metric, unit, value",
    "failed": "runs that failed, with their errors",
    "columns": "the columns of points: name in SQL, name, unit, role, meaning",
}
_KEYS = {
    RUN: (),
    SEEDS: (),
    COMPARISON: ("scenario",),
    STUDY: ("study_case", "mechanism", "setup"),
    BENCH: ("test", "setting"),
}
"""Keys that distinguish the points of each kind of results, besides the seed."""


def points_of(directory: str | os.PathLike[str]) -> Sweep | Points:
    """Open results of any kind for queries. Raises `ResultError`.

    Warns (`OtherBuildWarning`) if another version or build made them.
    """
    path = Path(directory)
    manifest = manifest_at(path)
    kind = manifest["kind"]
    if kind == SWEEP:
        return open_sweep(path)
    found: list[tuple[tuple[str, ...], Run]]
    if kind == RUN:
        found = [((), load_run(path))]
    elif kind == SEEDS:
        found = [((), run) for run in load_series(path).runs]
    elif kind == COMPARISON:
        runs = load_comparison(path).runs
        found = [((label,), run) for label, mine in runs.items() for run in mine]
    else:
        found = [(keys[: len(_KEYS[kind])], run) for keys, run in _of_points(path, manifest)]
    say_build(path, manifest)
    return Points(path, _KEYS[kind], found)


def query(directory: str | os.PathLike[str], sql: str) -> pa.Table:
    """Query results of any kind by SQL, as `backwater query` does.

    Raises `ResultError` if there are no results, and `InputError` if DuckDB refuses the SQL.
    """
    return points_of(directory).query(sql)


def _of_points(path: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Run]]:
    """Yield the existing runs of a study or a benchmark, each with the keys of its point.

    Some may be missing.
    """
    series: dict[Path, dict[int, Run]] = {}
    for point in manifest["points"]:
        for name in point["runs"]:
            place = path / "runs" / name
            if not present(place):
                continue
            above, seed = place.parent, seed_of(place.name)
            if seed is None:
                run = load_run(place)
            else:
                if above not in series:
                    known = read_manifest(above, SEEDS)
                    some = runs_named(above, known, known["runs"])
                    series[above] = {one.seed: one for one in some}
                run = series[above][seed]
            yield (point["case"], point["mechanism"], point.get("setup") or ""), run


@dataclass(frozen=True)
class Points:
    """Runs as points."""

    directory: Path
    keys: tuple[str, ...]
    """Names of the keys that distinguish points besides the seed."""
    found: list[tuple[tuple[str, ...], Run]]
    """Runs, with the values of the keys."""

    @cached_property
    def points(self) -> pa.Table:
        """One row a run. Raises `ResultError`."""
        rows = Rows(Recipe({}, tuple((key, None) for key in self.keys), (), False, {}))
        for keys, run in self.found:
            said = [str(one["message"]) for one in run.warnings]
            whole = run if run.status == DONE else None
            outcome = Outcome(run.status, run.manifest.get("error"), whole, said)
            name = "/".join([*filter(None, keys), name_of(run.seed)])
            variant = str(run.manifest.get("variant") or "")
            # Seeds of a series may be larger than those of a sweep: they are set below.
            rows.add((name, variant, keys, (), 0), outcome, 0.0)
        table = rows.tables()["points"]
        place = table.schema.names.index("seed")
        seeds = pa.array([run.seed for _, run in self.found], pa.uint64())
        table = table.set_column(place, table.schema.field(place).with_type(pa.uint64()), seeds)
        # A study has measures as well.
        known = readings_in(self.directory / MEASURED)
        mine = [known.get(place_of(run), {}) for _, run in self.found]
        for name in dict.fromkeys(name for one in mine for name in one):
            values = [one[name].value if name in one else None for one in mine]
            field = column(f"measure:{name}", pa.float64(), f"measure {name}", role="metric")
            table = table.append_column(field, pa.array(values, pa.float64()))
        return table

    @cached_property
    def columns(self) -> list[Column]:
        """The columns of the table of points."""
        return columns_of([self.points.schema])

    @cached_property
    def _tables(self) -> dict[str, tuple[list[str], list[Path]]]:
        """For each table with rows: the selects that read it, and their files."""
        groups: dict[tuple[tuple[str, ...], Path], list[Run]] = {}
        for keys, run in self.found:
            place = run.within or run.directory
            if place is not None:
                groups.setdefault((keys, place), []).append(run)
        found: dict[str, tuple[list[str], list[Path]]] = {}
        for table in TABLES:
            selects: list[str] = []
            every: list[Path] = []
            for (values, _), runs in groups.items():
                files = dict.fromkeys(
                    one.file
                    for run in runs
                    if isinstance(run.read, Stored)
                    for one in run.read.slices(table)
                )
                if files:
                    every += files
                    selects.append(self._select(values, runs, list(files)))
            if selects:
                found[table] = selects, every
        return found

    def _select(self, values: tuple[str, ...], runs: list[Run], files: list[Path]) -> str:
        keys = "".join(
            f"{texts(value)} as {quoted(key)}, "
            for key, value in zip(self.keys, values, strict=True)
        )
        begin = texts("".join(f"{one}/" for one in values if one) + "seed-")
        source = f"read_parquet([{texts(*map(str, files))}], union_by_name = true)"
        if runs[0].within is None:
            # A run in its own directory has no column for it.
            source = f"(select {runs[0].seed}::ubigint as {RUN_COLUMN}, * from {source})"
        seeds = ", ".join(str(run.seed) for run in runs)
        return (
            f"select {begin} || {RUN_COLUMN} as point, {keys}* from {source} "
            f"where {RUN_COLUMN} in ({seeds})"
        )

    @property
    def views(self) -> dict[str, str]:
        """The views that SQL can query, with their descriptions."""
        return _VIEWS | {table: DESCRIBED[table] for table in self._tables}

    def query(self, sql: str) -> pa.Table:
        """Answer SQL by DuckDB over `views`. Raises `InputError` if DuckDB refuses it."""
        statements = points_views("made", self.columns)
        paths: list[Path] = []
        for table, (selects, files) in self._tables.items():
            statements.append(f"create view {table} as {' union all by name '.join(selects)}")
            paths += files
        return ask(sql, statements, self.views, paths, self.directory, {"made": self.points})
