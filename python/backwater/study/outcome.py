"""The outcome of a reproduction, and how it is read from its directory.

A study's directory holds

    manifest.json   the settings, and the runs behind each point
    table.json      published numbers and claims, each with the measured one and a verdict
    beside.json     setups beside the table
    points.json     every measure of every point: its value for each seed
    measured.jsonl  the readings of each run, written when it ends (`study.measured`)
    runs/           one result directory for each run
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater.errors import ResultError
from backwater.files import octets_of
from backwater.manifest import STUDY, check_files, read_manifest
from backwater.results import load_run
from backwater.study.definition import Study, load
from backwater.study.execute import Changes, Point, Sample
from backwater.study.key import TABLE, Key
from backwater.study.rows import Row, Summary, summarise

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from backwater.plot import StudyPlots
    from backwater.results import Run

ROWS, BESIDE, POINTS = "table.json", "beside.json", "points.json"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a reproduction."""

    study: Study
    rows: list[Row]
    """Published numbers and claims, each with the measured number and a verdict."""
    beside: list[dict[str, Any]]
    """Setups reported beside the table, without published numbers to compare."""
    summary: Summary
    directory: Path | None
    """The directory of the runs and tables; None: they were not kept."""
    points: Mapping[Key, Point] = field(default_factory=dict)
    """Every point that was run: for each measure, its value for each seed."""
    places: Mapping[Key, list[str]] = field(default_factory=dict)
    """Where the runs of each point lie, below `runs` of the directory."""
    seeds: Mapping[Key, list[int]] = field(default_factory=dict)
    """Seeds of each point, in the order of its values."""
    changes: Changes = field(default_factory=Changes)
    """The user's changes to the study."""
    taken: int = 0
    """Number of runs whose readings came from an earlier reproduction."""

    @property
    def met(self) -> bool:
        """True if every required number and claim is met."""
        return self.summary.required_off == 0

    @property
    def plot(self) -> StudyPlots:
        """Altair charts of this study: `outcome.plot.completion()` and others."""
        from backwater.plot import StudyPlots

        return StudyPlots(self)

    def runs(self, key: Key) -> Iterator[Run]:
        """Yield the runs behind a point, one for each seed; none if they were not kept."""
        if self.directory is not None:
            for place in self.places.get(key, []):
                yield load_run(self.directory / "runs" / place)


def points_to_json(
    points: Mapping[Key, Point], seeds: Mapping[Key, list[int]]
) -> list[dict[str, Any]]:
    """Return points in the form of points.json."""
    return [
        {
            "case": key.case,
            "mechanism": key.mechanism,
            "setup": key.setup or None,
            "seeds": seeds[key],
            "measures": {
                name: {"values": list(sample.values), "problem": sample.problem}
                for name, sample in point.items()
            },
        }
        for key, point in points.items()
    ]


def open_study(directory: str | os.PathLike[str]) -> Outcome:
    """Open the directory that `backwater reproduce --out` wrote.

    Raises `ResultError` if it holds no study, or a study that is not complete.
    """
    path = Path(directory)
    manifest = read_manifest(path, STUDY)
    again = (
        f"resume it with: backwater reproduce {manifest['study']} --out {shlex.quote(str(path))}"
    )
    if manifest.get("status") != "done" or not (path / POINTS).is_file():
        raise ResultError(f"{path}: the study there is not complete", again)
    check_files(path, manifest)
    study = load(manifest["study"])
    if manifest.get("size") != study.size:
        study = load(manifest["study"], full=True)
    try:
        rows = [
            Row(**row | {name: _pair(row[name]) for name in ("ci", "prediction", "band")})
            for row in _json(path / ROWS)
        ]
        kept = _json(path / POINTS)
        points = {
            _key(point): {
                name: Sample(tuple(one["values"]), one["problem"])
                for name, one in point["measures"].items()
            }
            for point in kept
        }
        seeds = {_key(point): list(point["seeds"]) for point in kept}
        places = {_key(point): list(point["runs"]) for point in manifest["points"]}
        beside = _json(path / BESIDE)
    except (KeyError, TypeError) as error:
        raise ResultError(f"{path}: was written by another version: {error}", again) from None
    return Outcome(
        study=study,
        rows=rows,
        beside=beside,
        summary=summarise(study, rows),
        directory=path,
        points=points,
        places=places,
        seeds=seeds,
        changes=Changes(
            tuple((manifest.get("set") or {}).items()), tuple(manifest.get("with") or ())
        ),
        taken=manifest.get("taken", 0),
    )


def _key(point: dict[str, Any]) -> Key:
    return Key(point["case"], point["mechanism"], point["setup"] or TABLE)


def _pair(values: Any) -> Any:  # noqa: ANN401 - a number or None is unchanged
    return (values[0], values[1]) if isinstance(values, list) else values


def _json(path: Path) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(octets_of(path))
    except (OSError, ValueError) as error:
        raise ResultError(
            f"{path}: cannot be read: {error}",
            "name the directory that `backwater reproduce --out` wrote",
        ) from None
