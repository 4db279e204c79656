"""Opens directories of results of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from backwater.errors import ResultError
from backwater.journal import name_of
from backwater.manifest import (
    AGAIN,
    BENCH,
    COMPARISON,
    MANIFEST,
    RUN,
    SEEDS,
    STUDY,
    SWEEP,
    judging,
    read_manifest,
    say_build,
)
from backwater.repetitions import load_series, runs_named
from backwater.results import Run, load_run, manifest_at

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

T = TypeVar("T")


@dataclass(frozen=True)
class Comparison:
    """Scenarios that ran with the same seeds, as `backwater compare` wrote them.

    `runs` has the runs of each scenario, by its name on the command line, in the order of seeds.
    `manifest` has what `compare --json` prints (scenarios, seeds, rows, errors), and status and
    versions. `directory` is where the results are.
    """

    manifest: dict[str, Any]
    directory: Path
    runs: dict[str, list[Run]]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each metric: the scenarios' means, differences with 95 % intervals, verdict.

        Each is {metric, unit, better, verdict, winners, seeds, against, scenarios}, and each of
        `scenarios` is {scenario, mean, n, flows, reason, reference, of_flows, difference}.
        """
        rows: list[dict[str, Any]] = self.manifest.get("rows") or []
        return rows


OPENED = {
    "Run": RUN,
    "Series": SEEDS,
    "Comparison": COMPARISON,
    "Sweep": SWEEP,
    "Outcome": STUDY,
    "Benchmark": BENCH,
}
"""Kinds of results, by the names of the types that `open_run` returns."""


@overload
def open_run(directory: str | os.PathLike[str]) -> Run | Any: ...  # noqa: ANN401
@overload
def open_run(directory: str | os.PathLike[str], of: type[T]) -> T: ...


def open_run(directory: str | os.PathLike[str], of: type[Any] | None = None) -> Any:
    """Open a directory of results, finished or killed, or one run of a series, such as DIR/seed-7.

    Returns a `Run`, `Series`, `Comparison`, `Sweep`, `study.Outcome` or `bench.Benchmark`. With
    `of`, one of these types, other results are an error, and type checkers know the type. Each file
    is compared with its hash once, here.

    Raises `backwater.ResultError` if the directory holds no results, or they have changed since
    they were written. Warns (`backwater.OtherBuildWarning`) if another version or build made them.
    """
    path = Path(directory)
    with judging(path):
        manifest = manifest_at(path, *([] if of is None else [OPENED[of.__name__]]))
        opened: Any
        kind = manifest["kind"]
        if kind == STUDY:
            from backwater.study import open_study

            opened = open_study(path)
        elif kind == BENCH:
            from backwater.bench import open_bench

            opened = open_bench(path)
        elif kind == SWEEP:
            from backwater.sweep.dataset import open_sweep

            return open_sweep(path)
        else:
            load: dict[str, Callable[[Path], Any]] = {
                RUN: load_run,
                SEEDS: load_series,
                COMPARISON: load_comparison,
            }
            opened = load[kind](path)
    say_build(path, manifest)
    return opened


def load_comparison(path: Path) -> Comparison:
    """Open the comparison in a directory. Raises `ResultError`."""
    manifest = read_manifest(path, COMPARISON)
    runs = {}
    for entry in manifest["scenarios"]:
        place = _below(path, str(entry["directory"]))
        names = [name_of(seed) for seed in manifest.get("seeds") or ()]
        begun = (place / MANIFEST).is_file()
        runs[str(entry["scenario"])] = (
            runs_named(place, read_manifest(place, SEEDS), names) if begun else []
        )
    return Comparison(manifest, path, runs)


def _below(path: Path, name: str) -> Path:
    if Path(name).name != name:
        raise ResultError(
            f"{path}: its manifest names {name!r}, which is not a directory in it", AGAIN
        )
    return path / name
