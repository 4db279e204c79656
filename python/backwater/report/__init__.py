"""Reports: one page that needs nothing else, and its figures as SVG, PNG and PDF.

from backwater import report

page = report.of("results/incast")
Path("report.html").write_text(page.html(), encoding="utf-8")
for figure in page.figures:
    figure.save(Path("figures"))
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from backwater.errors import ResultError
from backwater.report.page import Figure, Page
from backwater.report.run import run_page, seeds_page
from backwater.report.study import study_page
from backwater.results import MANIFEST, open_run
from backwater.study import open_study

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from backwater.running import Progress

__all__ = ["Figure", "Page", "of"]


def of(
    directory: str | os.PathLike[str],
    progress: Callable[[int], Progress | None] | None = None,
) -> Page:
    """Report what a result directory holds: a run, repeated runs, or a study.

    What a study shows over time is run once more with samples, into the directory. Raises
    `ResultError` if it holds none of these.
    """
    path = Path(directory)
    try:
        kind = json.loads((path / MANIFEST).read_text(encoding="utf-8")).get("kind")
    except (OSError, ValueError, AttributeError):
        raise ResultError(
            f"{path}: not a result directory, it has no {MANIFEST} that can be read",
            "name the directory that `backwater run --out` or `backwater reproduce --out` wrote",
        ) from None
    if kind == "study":
        return study_page(open_study(path), progress)
    if kind == "seeds":
        seeds = [folder for folder in path.glob("seed-*/") if folder.name[5:].isdecimal()]
        found = sorted(seeds, key=lambda folder: int(folder.name[5:]))
        runs = [open_run(folder) for folder in found]
        if not runs:
            raise ResultError(f"{path}: holds no runs", "its folders seed-N are gone")
        return seeds_page(path, runs)
    return run_page(open_run(path))
