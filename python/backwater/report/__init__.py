"""Reports: one self-contained page, and its figures as SVG, PNG and PDF.

from backwater import report

page = report.of("results/incast")
Path("report.html").write_text(page.html(), encoding="utf-8")
for figure in page.figures:
    figure.save(Path("figures"))
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from backwater.bench import open_bench
from backwater.manifest import BENCH, COMPARISON, RUN, SEEDS, STUDY, SWEEP, judging, say_build
from backwater.reading import load_comparison
from backwater.repetitions import load_series
from backwater.report.bench import bench_page
from backwater.report.compare import compare_page
from backwater.report.observe import observed
from backwater.report.page import Figure, Page
from backwater.report.repeated import first_of, seeds_page
from backwater.report.run import run_page
from backwater.report.study import study_page
from backwater.report.sweep import sweep_page
from backwater.results import load_run, manifest_at
from backwater.study import open_study
from backwater.sweep.dataset import open_sweep

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from backwater.running import Progress

__all__ = ["Figure", "Page", "of"]


def of(
    directory: str | os.PathLike[str],
    progress: Callable[[int], Progress | None] | None = None,
    *,
    rerun: bool | None = None,
) -> Page:
    """Report a run, repeated runs, a comparison, a study, a sweep or a benchmark in a directory.

    A run without samples is repeated with them, into `observed/` of the directory, to show it over
    time. With `rerun` False it is not; with True it is even if it took more than ten minutes. Runs
    of a study are always repeated. Raises `ResultError` if the directory holds no such results.
    """
    path = Path(directory)
    manifest = manifest_at(path, RUN, SEEDS, STUDY, COMPARISON, SWEEP, BENCH)
    if manifest["kind"] == SWEEP:
        return sweep_page(open_sweep(path))
    say_build(path, manifest)
    with judging(path):
        if manifest["kind"] == BENCH:
            return bench_page(open_bench(path))
        if manifest["kind"] == COMPARISON:
            return compare_page(load_comparison(path), rerun, progress)
        if manifest["kind"] == STUDY:
            return study_page(open_study(path), progress)
        if manifest["kind"] == RUN:
            run = load_run(path)
            return run_page(run, observed(run, rerun, progress))
        series = load_series(path)
        return seeds_page(series, observed(first_of(series), rerun, progress))
