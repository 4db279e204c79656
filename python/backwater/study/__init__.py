"""Studies rerun published experiments and compare their numbers with the published ones.

from backwater import study

outcome = study.reproduce("sfc-aidc-2025")
print(outcome.summary)
for row in outcome.rows:
    print(row.case, row.mechanism, row.quantity, row.published, row.measured, row.verdict)
outcome.plot.completion()  # an Altair chart
again = study.open_study("results/sfc-aidc-2025")  # results of an earlier command
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._core import version
from backwater.directory import clear, locked, replaceable, standing
from backwater.errors import InputError, ResultError, unwritable
from backwater.experiments.execute import find_done
from backwater.files import digest, json_text, write_text
from backwater.manifest import FORMATS, STUDY, read_manifest, write_manifest
from backwater.stopping import interruptible
from backwater.study.definition import Study, has_full_size, load, names
from backwater.study.execute import Changes, Plan, execute, places, plan, seeds_of
from backwater.study.measured import MEASURED, Measured
from backwater.study.outcome import BESIDE, POINTS, ROWS, Outcome, open_study, points_to_json
from backwater.study.rows import Row, Summary, summarise
from backwater.study.verdict import compare, compare_beside

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from backwater.experiments.hands import Workers
    from backwater.running import Progress

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
    mechanisms: Sequence[str] = (),
    full: bool = False,
    force: bool = False,
    measured: str | os.PathLike[str] | None = None,
    workers: int | Workers | None = None,
    progress: Callable[[int], Progress | None] | None = None,
) -> Outcome:
    """Rerun a study, or one `case` of it, and compare its numbers with the published ones.

    - `overrides`: keys and values that replace the study's, in every model whose mechanism is on.
    - `mechanisms`: switched on in every model. A changed model gets no verdict, since bands and
      claims apply to the study's own values.
    - `seeds`: maps the study's seeds and the scenario's own seed to the seeds to run.
    - `full`: run a study of two sizes at its published size.
    - `out`: the directory for all runs and tables. Completed runs of an earlier reproduction there
      are reused, unless `force` replaces them.
    - `measured`: a `measured.jsonl` of an earlier reproduction; its runs of this build are skipped.
    - `workers`: the number of runs at a time, by default the number of cores, or workers of Dask
      (`backwater.experiments.clusters.scheduler(ADDRESS)`). Results do not depend on it.
    - `progress`: makes a listener from the number of runs to do.
    """
    definition = load(study, full=full) if isinstance(study, str) else study
    directory = None if out is None else Path(out)
    changes = Changes(tuple(overrides), tuple(mechanisms))
    planned = plan(definition, case, changes, directory, seeds)
    with contextlib.nullcontext() if directory is None else locked(directory):
        earlier = None if measured is None else Path(measured)
        return _reproduce(planned, case, directory, earlier, force, workers, progress)


def _reproduce(
    planned: Plan,
    case: str | None,
    directory: Path | None,
    earlier: Path | None,
    force: bool,
    workers: int | Workers | None,
    progress: Callable[[int], Progress | None] | None,
) -> Outcome:
    definition = planned.study
    if directory is not None and (force or _study_in(directory) != definition.id):
        replaceable(directory, force=force)
        clear(directory)
    there = find_done(planned.jobs)
    if directory is not None:
        _write_manifest(directory, _manifest(planned, case, "running"))
    measured = Measured(planned.jobs, definition.measures, directory, earlier)
    taken = [
        measured.taken(job) if run is None else None
        for job, run in zip(planned.jobs, there, strict=True)
    ]
    with interruptible() as stop:
        points = execute(planned, there, taken, measured, progress, stop, workers)
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
        changes=planned.changes,
        taken=sum(readings is not None for readings in taken),
    )
    if directory is not None:
        manifest = _manifest(planned, case, "interrupted" if stop.is_set() else "done")
        files = {} if stop.is_set() else _write_tables(directory, outcome)
        _write_manifest(
            directory,
            manifest | {"summary": str(outcome.summary), "taken": outcome.taken, "files": files},
        )
    if stop.is_set():
        raise stop.interrupted()
    return outcome


def _write_tables(directory: Path, outcome: Outcome) -> dict[str, str]:
    """Write the tables of a study and return the hash of each file."""
    contents: dict[str, object] = {
        ROWS: [row.as_dict() for row in outcome.rows],
        BESIDE: outcome.beside,
        POINTS: points_to_json(outcome.points, outcome.seeds),
    }
    try:
        for name, content in contents.items():
            write_text(directory / name, json_text(content))
    except OSError as error:
        raise unwritable(directory, error) from None
    return {name: digest(directory / name) for name in (*contents, MEASURED)}


def _study_in(directory: Path) -> str | None:
    """Return the id of the study whose results a directory holds; None if it holds none."""
    if standing(directory) != STUDY:
        return None
    try:
        return str(read_manifest(directory, STUDY)["study"])
    except ResultError as error:
        hint = "give --out another name, or --force to replace it"
        raise InputError(error.reason, hint) from None


def _write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    try:
        write_manifest(directory, manifest)
    except OSError as error:
        raise unwritable(directory, error) from None


def _manifest(planned: Plan, case: str | None, status: str) -> dict[str, Any]:
    """Return a manifest of the settings and of the runs behind each point of the study."""
    return {
        "format": FORMATS[STUDY],
        "kind": STUDY,
        "study": planned.study.id,
        "case": case,
        "size": planned.study.size,
        "set": dict(planned.changes.settings),
        "with": list(planned.changes.mechanisms),
        "status": status,
        "versions": version(),
        "points": [
            {
                "case": key.case,
                "mechanism": key.mechanism,
                "setup": key.setup or None,
                "run": runs[0] if len(runs) == 1 else None,
                "runs": runs,
                "changed": planned.changed.get(key, []),
                "skipped": planned.skipped.get(key, []),
                "other_seeds": key in planned.own_seeds,
            }
            for key, runs in places(planned).items()
        ],
    }
