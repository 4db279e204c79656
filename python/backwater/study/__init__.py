"""Studies: published experiments rerun, their numbers set beside the published ones.

from backwater import study

outcome = study.reproduce("sfc-aidc-2025")
print(outcome.summary)
for row in outcome.rows:
    print(row.case, row.mechanism, row.quantity, row.published, row.measured, row.verdict)
outcome.plot.completion()  # an Altair chart
again = study.open_study("results/sfc-aidc-2025")  # what an earlier command has left
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._core import version
from backwater.errors import Interrupted
from backwater.files import json_text, write_text
from backwater.results import FORMAT, MANIFEST, clear, fresh_directory
from backwater.running import Progress, find_done, interruptible
from backwater.study.definition import Study, has_full_size, load, names
from backwater.study.execute import Plan, execute, places, plan, seeds_of
from backwater.study.outcome import BESIDE, POINTS, ROWS, Outcome, open_study, points_to_json
from backwater.study.verdict import Row, Summary, compare, compare_beside, summarise

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

__all__ = [
    "Outcome",
    "Row",
    "Study",
    "Summary",
    "has_full_size",
    "load",
    "names",
    "open_study",
    "reproduce",
]


def reproduce(
    study: str | Study,
    case: str | None = None,
    overrides: Sequence[tuple[str, str]] = (),
    out: str | os.PathLike[str] | None = None,
    *,
    seeds: Callable[[tuple[int, ...], int], tuple[int, ...]] | None = None,
    full: bool = False,
    force: bool = False,
    workers: int | None = None,
    progress: Callable[[int], Progress | None] | None = None,
) -> Outcome:
    """Rerun a study (one case of it) and compare.

    `overrides` are keys and values set over what the study says, `seeds` makes other repetitions
    of those that the study says and the scenario's own seed; `full` runs a study that has two sizes
    as it was published. With `out` every run and the tables are kept there; what an earlier
    reproduction has completed there is not run again, unless `force` replaces it. `workers` is the
    number of runs at a time, the number of cores if not given; the results do not depend on it.
    `progress` makes a listener once it is known how many runs are to be done.
    """
    definition = load(study, full=full) if isinstance(study, str) else study
    directory = None if out is None else Path(out)
    if directory is not None and (force or _study_in(directory) != definition.id):
        fresh_directory(directory, force=force)
    planned = plan(definition, case, overrides, directory, seeds)
    if directory is not None and force:
        clear(directory)
    there = find_done(planned.jobs)
    if directory is not None:
        _write_manifest(directory, _manifest(planned, case, overrides, "running"))
    with interruptible() as stop:
        points = execute(planned, there, progress, stop, workers)
    rows = compare(planned, points)
    outcome = Outcome(
        study=definition,
        rows=rows,
        beside=compare_beside(planned, points),
        summary=summarise(definition, rows),
        directory=directory,
        points=points,
        places=places(planned),
        seeds=seeds_of(planned),
        overrides=tuple(overrides),
    )
    if directory is not None:
        manifest = _manifest(planned, case, overrides, "interrupted" if stop.is_set() else "done")
        _write_manifest(directory, manifest | {"summary": str(outcome.summary)})
        if not stop.is_set():
            write_text(directory / ROWS, json_text([row.as_dict() for row in outcome.rows]))
            write_text(directory / BESIDE, json_text(outcome.beside))
            write_text(directory / POINTS, json_text(points_to_json(points, outcome.seeds)))
    if stop.is_set():
        raise Interrupted([])
    return outcome


def _study_in(directory: Path) -> str | None:
    """Which study's results a directory holds; None: none that can be read."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    found = manifest.get("study") if isinstance(manifest, dict) else None
    return found if isinstance(found, str) else None


def _write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    """Write a study's manifest, making its directory if need be."""
    directory.mkdir(parents=True, exist_ok=True)
    write_text(directory / MANIFEST, json_text(manifest))


def _manifest(
    planned: Plan, case: str | None, overrides: Sequence[tuple[str, str]], status: str
) -> dict[str, Any]:
    """Say what was run and which run each point of the study rests on."""
    return {
        "format": FORMAT,
        "kind": "study",
        "study": planned.study.id,
        "case": case,
        "size": planned.study.size,
        "set": dict(overrides),
        "status": status,
        "versions": version(),
        "points": [
            {
                "case": key.case,
                "mechanism": key.mechanism,
                "setup": key.setup or None,
                "run": runs[0] if len(runs) == 1 else None,
                "runs": runs,
            }
            for key, runs in places(planned).items()
        ],
    }
