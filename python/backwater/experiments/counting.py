"""Counts the finished runs of a series, a comparison or a study, also while it is running."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from backwater.journal import Journal, name_of, seed_of
from backwater.manifest import COMPARISON, MANIFEST, RUN, SEEDS, STUDY, read_manifest
from backwater.study.measured import MEASURED, readings_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def counts(path: Path, manifest: Mapping[str, Any]) -> dict[str, int]:
    """Return how many runs were asked for, are done and have failed. Raises `ResultError`."""
    runs = _asked(path, manifest)
    # Runs that a study has measured before count as done.
    measured = readings_in(path / MEASURED) if manifest["kind"] == STUDY else {}
    journals = {place: Journal.read(place) for place in {place for place, _ in runs}}
    found: Counter[str | None] = Counter()
    for place, name in runs:
        seed = seed_of(name)
        status: str | None = None
        if seed is not None:
            status = journals[place].runs.get(seed, {}).get("status")
        elif (place / name / MANIFEST).is_file():
            status = str(read_manifest(place / name, RUN)["status"])
        if status is None and f"{place.name}/{name}" in measured:
            status = "done"
        found[status] += 1
    return {"points": len(runs), "done": found["done"], "failed": found["failed"]}


def _asked(path: Path, manifest: Mapping[str, Any]) -> list[tuple[Path, str]]:
    """Return the directory and the name of each run."""
    kind = manifest["kind"]
    if kind == SEEDS:
        return [(path, name) for name in manifest["runs"]]
    if kind == COMPARISON:
        folders = dict.fromkeys(path / str(one["directory"]) for one in manifest["scenarios"])
        return [(folder, name_of(seed)) for folder in folders for seed in manifest["seeds"]]
    names = dict.fromkeys(run for point in manifest["points"] for run in point["runs"])
    return [((path / "runs" / name).parent, (path / name).name) for name in names]
