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

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._core import version
from backwater.directory import clear, locked, replaceable, standing
from backwater.errors import InputError, ResultError
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
    """Rerun a study (one case of it) and compare.

    `overrides` are keys and values set over what the study says, in every model where their
    mechanism is on; `mechanisms` are switched on in all. A model that is changed by that gets no
    verdict: bands and claims are for the study's own values. `seeds` makes other repetitions of
    those that the study says and the scenario's own seed; `full` runs a study that has two sizes as
    it was published. With `out` every run and the tables are kept there; what an earlier
    reproduction has completed there is not run again, unless `force` replaces it. `measured` is a
    `measured.jsonl` of an earlier reproduction: what it knows, of the same build, is not run.
    `workers` is the number of runs at a time, the number of cores if not given, or workers of Dask
    (`backwater.experiments.clusters.scheduler(ADDRESS)`); the results do not depend on it.
    `progress` makes a listener once it is known how many runs are to be done.
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
    """Write what the study came to; gives each file's hash."""
    contents: dict[str, object] = {
        ROWS: [row.as_dict() for row in outcome.rows],
        BESIDE: outcome.beside,
        POINTS: points_to_json(outcome.points, outcome.seeds),
    }
    try:
        for name, content in contents.items():
            write_text(directory / name, json_text(content))
    except OSError as error:
        raise ResultError(f"{directory}: cannot write results: {error.strerror or error}") from None
    return {name: digest(directory / name) for name in (*contents, MEASURED)}


def _study_in(directory: Path) -> str | None:
    """Which study's results a directory holds; None: none."""
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
        raise ResultError(f"{directory}: cannot write results: {error.strerror or error}") from None


def _manifest(planned: Plan, case: str | None, status: str) -> dict[str, Any]:
    """Say what was run and which run each point of the study rests on."""
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
