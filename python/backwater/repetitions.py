"""Runs one scenario with several seeds, keeps complete runs, and sums up all of them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.directory import STATISTICS, clear, locked, replaceable, standing
from backwater.errors import InputError, ResultError, unwritable
from backwater.experiments.execute import run_jobs, taken_up
from backwater.experiments.hands import MOST_WORKERS, Workers
from backwater.files import digest, regular
from backwater.findings import over_runs as over_seeds
from backwater.journal import JOURNAL, Journal, name_of, seed_of
from backwater.manifest import AGAIN, MANIFEST, SEEDS, check_files, read_manifest, write_manifest
from backwater.numbers.repeats import over_runs
from backwater.numbers.report import report
from backwater.numbers.table import statistics_table, write_statistics
from backwater.results import Run, member
from backwater.run_one import Listener
from backwater.running import Job
from backwater.samples import MOST_SEEDS
from backwater.series import opened
from backwater.stopping import interruptible
from backwater.stored import SharedParts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from backwater.running import Prepared

LARGEST_SEED = 2**64 - 1


@dataclass(frozen=True)
class Series:
    """Runs of one scenario with several seeds: `backwater run --seeds`, `Scenario.run(seeds=N)`.

    `runs` are those that have begun, in the order of the requested seeds. `manifest` has status,
    versions, names of the runs, warnings, and what all runs have in common. `directory` is where
    the results are; None: in memory.
    """

    manifest: dict[str, Any]
    directory: Path | None
    runs: list[Run]

    @property
    def status(self) -> str:
        """`done`, `interrupted`, `failed`, or `running` (also the state of a killed series)."""
        return str(self.manifest["status"])

    @cached_property
    def statistics(self) -> pa.Table:
        """Arrow table with a row for each number of the runs' reports, over all complete runs.

        Columns: of, quantity, unit, n, mean, min, max, std, ci_low, ci_high; the metadata of their
        fields holds units and meanings. Raises `ResultError` if its file is missing or damaged.
        """
        if self.directory is None:
            done = [report(run) for run in self.runs if run.status == "done"]
            return statistics_table(over_runs(done))
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.directory / STATISTICS
        try:
            return pq.ParquetFile(regular(path)).read()
        except FileNotFoundError:
            raise ResultError(
                f"{path}: is missing: the series was killed, or is part of other results",
                "repeat the command that made it: it continues the series",
            ) from None
        except (OSError, pa.ArrowException) as error:
            raise ResultError(f"{path}: {error}", AGAIN) from None


def load_series(path: Path) -> Series:
    """Open a series. Raises `ResultError`."""
    manifest = read_manifest(path, SEEDS)
    files = manifest.get("files") or {}
    # Not the scenario: its user may edit it.
    check_files(path, {"files": {name: files[name] for name in files if name == STATISTICS}})
    return Series(manifest, path, runs_named(path, manifest, manifest["runs"]))


def runs_named(path: Path, manifest: dict[str, Any], names: list[str]) -> list[Run]:
    """Open the runs of a series that have begun. Raises `ResultError` if one is damaged."""
    journal = Journal.read(path)
    if journal.damaged is not None:
        raise ResultError(f"{path / JOURNAL}:{journal.damaged}: is damaged", AGAIN)
    known = (manifest, SharedParts(path, journal))
    runs = []
    for name in names:
        seed = seed_of(name)
        if seed is None:
            raise ResultError(f"{path / MANIFEST}: runs: {name!r} is not the name of a run", AGAIN)
        if seed in journal.runs:
            runs.append(member(path, seed, known))
    return runs


def numbers(seeds: int | Iterable[int], first: int) -> list[int]:
    """Return the seeds that `Scenario.run` is called with: so many from `first` on, or these."""
    hint = "seeds=10, or seeds=range(1, 11)"
    single = not isinstance(seeds, Iterable)
    given: list[Any] = list(seeds) if isinstance(seeds, Iterable) else [seeds]
    if any(type(one) is bool or not isinstance(one, Integral) for one in given):
        raise InputError(f"seeds = {seeds!r}: neither a number nor numbers", hint)
    found = [int(one) for one in given]
    many = found[0] if single else len(found)
    if many < 1:
        raise InputError(f"seeds = {seeds!r}: that is no seed at all", hint)
    if many > MOST_SEEDS:
        raise InputError(f"{many} seeds: more than {MOST_SEEDS}", hint)
    if single:
        found = list(range(first, first + many))
    for one in found:
        if not 0 <= one <= LARGEST_SEED:
            raise InputError(f"seeds: {one} is not a seed", "a seed is from 0 to 2^64 - 1")
    if len(set(found)) < len(found):
        twice = next(one for one in found if found.count(one) > 1)
        raise InputError(f"seeds: {twice} is listed twice", "each run has a seed of its own")
    return found


@contextmanager
def taking_up(jobs: Sequence[Job], base: Path, *, force: bool) -> Iterator[list[Run | None]]:
    """Lock the directory of a series, and yield the complete runs of `jobs` in it.

    Other results in it are removed with `force`, and raise `InputError` without.
    """
    with locked(base):
        of_others = standing(base) != SEEDS
        if of_others:
            replaceable(base, force=force)
        done = taken_up(jobs, force=force)
        if of_others:
            clear(base)
        yield done


def summed_up(
    jobs: Sequence[Job], reports: Sequence[Mapping[str, Any]], base: Path, status: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Write the statistics and warnings of a series beside its runs, and return both.

    `reports`: the reports of the complete runs. Raises `ResultError`.
    """
    statistics = over_runs(reports)
    found = over_seeds([(one["seed"], one["warnings"]) for one in reports])
    write_statistics(base / STATISTICS, statistics)
    manifest = read_manifest(base, SEEDS)
    manifest["files"] |= {STATISTICS: digest(base / STATISTICS)}
    known = {"runs": [name_of(job.seed) for job in jobs], "warnings": found, "status": status}
    try:
        write_manifest(base, manifest | known)
    except OSError as error:
        raise unwritable(base, error) from None
    return statistics, found


def of_whole(run: Run) -> dict[str, Any] | None:
    """Return the report of a complete run; None of any other, whose numbers nobody needs."""
    return report(run) if run.status == "done" else None


def _is_cut(outcome: Run | dict[str, Any] | _core.RunError) -> bool:
    return isinstance(outcome, Run) and outcome.status == "interrupted"


def _check_workers(workers: object) -> None:
    """Refuse workers that are neither a number of runs at a time nor a cluster."""
    if workers is None or isinstance(workers, Workers):
        return
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise InputError(
            f"workers = {workers!r}: neither a number from 1 to {MOST_WORKERS} nor a cluster",
            'backwater.experiments.clusters.scheduler("tcp://HOST:8786") is a cluster',
        )


def repeat(
    prepared: Prepared,
    seeds: Sequence[int],
    out: Path | None,
    call: Callable[[_core.Status], None] | None,
    *,
    force: bool,
    workers: int | Workers | None = None,
) -> Series:
    """Run a scenario with these seeds, and keep the results in a directory (None: in memory).

    Raises the first `backwater.RunError` after all runs, and `backwater.Interrupted` if a signal
    ends them.
    """

    def kept(run: Run) -> Run | dict[str, Any] | None:
        return run if out is None else of_whole(run)

    _check_workers(workers)
    jobs = [Job.repeated(prepared, seed, out) for seed in seeds]
    listener = None if call is None else Listener(call)
    nothing: list[Run | None] = [None] * len(jobs)
    place = nullcontext(nothing) if out is None else taking_up(jobs, out, force=force)
    with place as done, interruptible() as stop:
        outcomes = run_jobs(jobs, listener, stop, kept, workers, done)
        errors = [one for one in outcomes if isinstance(one, _core.RunError)]
        # A signal after the end of all runs has stopped nothing.
        cut = any(one is None or _is_cut(one) for one in outcomes)
        status = "interrupted" if cut else "failed" if errors else "done"
        series = None
        if out is None:
            begun = (one.run if isinstance(one, _core.RunError) else one for one in outcomes)
            runs = [one for one in begun if isinstance(one, Run)]
            warnings = over_seeds(
                [(one.seed, one.warnings) for one in runs if one.status == "done"]
            )
            end = {"warnings": warnings, "status": status}
            series = Series(opened(prepared.facts, seeds) | end, None, runs)
        elif standing(out) == SEEDS:
            summed_up(jobs, [one for one in outcomes if isinstance(one, dict)], out, status)
            series = load_series(out)
    if cut:
        raise stop.interrupted(*(series.runs if series else ()))
    if errors:
        raise errors[0]
    assert series is not None
    return series
