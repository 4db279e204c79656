"""The outcome of a benchmark: what the reporting sections of the drafts ask for, as data.

Training draft, section 13: identification of the device under test, topology, configuration, hosts,
results, anomalies, and a statement on repeatability. Inference draft, section 14: system
configuration, workload, a table of all measured numbers with intervals, curves, health, raw data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater._core import version
from backwater.bench.definition import suite
from backwater.bench.expression import said
from backwater.bench.measure import Row
from backwater.directory import BENCH_FILE, standing
from backwater.errors import ResultError, unwritable
from backwater.files import digest, json_text, octets_of, write_text
from backwater.journal import name_of
from backwater.manifest import BENCH, FORMATS, check_files, read_manifest, write_manifest
from backwater.wording import many

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from backwater.bench.definition import Test
    from backwater.bench.measure import Read
    from backwater.bench.plan import Plan, Point

RECOMMENDED = 0.05
"""The coefficient of variation below which the training draft, section 13, recommends a test."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark that was run."""

    document: dict[str, Any]
    """All of it but the rows, as JSON has it: suite, fabric, seeds, tests, anomalies, untested."""
    rows: list[Row]
    """A row for each metric of each test at each setting."""
    directory: Path | None

    @property
    def failed(self) -> list[str]:
        """The runs that failed, each with its reason."""
        return [one["text"] for one in self.document["anomalies"] if one["kind"] == "failed"]

    @property
    def unfinished(self) -> list[str]:
        """The runs that did not do all that they were asked to, each with the reason."""
        return [one["text"] for one in self.document["anomalies"] if one["kind"] == "incomplete"]

    @property
    def test_rows(self) -> dict[str, list[Row]]:
        """The rows of each test, by its id."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.test, []).append(row)
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {**self.document, "rows": [row.as_dict() for row in self.rows]}


def outcome_of(
    asked: Plan, rows: list[Row], reads: Sequence[Read | None], out: Path | None
) -> Benchmark:
    """Make the outcome of a plan from its rows, and from what is known of its runs."""
    known = suite()
    fabric = asked.fabric
    fit = {point.test.id for point in asked.points}
    chosen = {one.draft for one in asked.tests}
    document = {
        "drafts": [
            {"draft": key, **_struct(one, "title", "name", "repository", "revision", "reporting")}
            for key, one in known.drafts.items()
            if key in chosen
        ],
        "versions": version(),
        "fabric": {
            "name": fabric.name,
            "title": fabric.title,
            "facts": fabric.facts,
            "left_out": list(fabric.left_out),
            "values": [dict(one) for one in fabric.values],
        },
        "seeds": list(asked.seeds),
        "runs": len(asked.jobs),
        "whole": len(asked.tests) == len(known.tests),
        "tests": [_test(one, asked) for one in asked.tests if one.id in fit],
        "anomalies": _anomalies(asked, reads),
        "capped": asked.capped,
        "unfit": [
            {"test": one.id, "title": one.title, "reason": reason} for one, reason in asked.unfit
        ],
        "untested": [
            {"test": f"{one.draft}-{one.section}", "title": one.title, "reason": one.reason}
            for one in known.untested
            if one.draft in chosen
        ],
        "repeatability": _repeatability(asked, rows),
    }
    return Benchmark(document, rows, out)


def _struct(of: object, *names: str) -> dict[str, Any]:
    return {name: getattr(of, name) for name in names}


def _test(test: Test, asked: Plan) -> dict[str, Any]:
    settings = [dict(point.setting) for point in asked.points if point.test is test]
    return {
        "test": test.id,
        **_struct(test, "draft", "section", "category", "title", "about"),
        "differs": list(test.differs),
        "parameters": [
            {
                "name": name,
                "text": one.text,
                "unit": one.unit,
                "draft": one.draft,
                "values": list(dict.fromkeys(setting[name] for setting in settings)),
            }
            for name, one in test.parameter.items()
        ],
        "metrics": [
            _struct(one, "label", "unit", "definition", "section", "value") for one in test.metric
        ],
        "figure": None
        if test.figure is None
        else _struct(test.figure, "caption", "metric", "over", "apart", "only", "log"),
        "repetitions": len(asked.seeds),
    }


def _anomalies(asked: Plan, reads: Sequence[Read | None]) -> list[dict[str, str]]:
    """List what went otherwise than the tests ask for: the fourth and sixth part of a report."""
    found: dict[tuple[str, str, str], list[str]] = {}

    def add(kind: str, point: Point, reason: str) -> None:
        found.setdefault((kind, point.test.id, reason), []).append(point.words or "its setting")

    for point in asked.points:
        for number in point.jobs:
            one = reads[number]
            if one is None:
                add("missing", point, "not run to its end")
            elif one.failed is not None:
                add("failed", point, one.failed)
            else:
                for reason in one.undone:
                    add("incomplete", point, reason)
    return [
        {"kind": kind, "test": test, "text": f"{test}, {_where(places)}: {reason}"}
        for (kind, test, reason), places in found.items()
    ]


def _where(places: list[str]) -> str:
    """Name the settings of some runs: the first ones, and how many others there are."""
    first, *others = dict.fromkeys(places)
    runs = f", {many(len(places), 'run')}" if len(places) > 1 else ""
    more = f" and {many(len(others), 'setting')} more" if others else ""
    return f"{first}{more}{runs}"


def _repeatability(asked: Plan, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return, for each test's primary metric, repetitions and the greatest variation."""
    found = []
    for test in asked.tests:
        label = test.metric[0].label
        mine = [row for row in rows if row.test == test.id and row.metric == label]
        known = [(row.variation, row) for row in mine if row.variation is not None]
        if not mine:
            continue
        most, at = max(known, key=lambda one: one[0], default=(None, None))
        found.append(
            {
                "test": test.id,
                "metric": label,
                "repetitions": min(sum(one is not None for one in row.values) for row in mine),
                "variation": most,
                "at": None if at is None else said(at.setting.items()),
                "within": None if most is None or len(known) < len(mine) else most < RECOMMENDED,
            }
        )
    return found


def holds_bench(directory: Path) -> bool:
    """Return whether a directory holds a benchmark, whose runs can be reused."""
    return standing(directory) == BENCH


def manifest_of(asked: Plan, status: str) -> dict[str, Any]:
    """Return the manifest of a benchmark: settings, and the runs behind each point."""
    return {
        "format": FORMATS[BENCH],
        "kind": BENCH,
        "title": f"AI fabric benchmarks of {asked.fabric.title or asked.fabric.name}",
        "fabric": asked.fabric.name,
        "seeds": list(asked.seeds),
        "status": status,
        "versions": version(),
        "points": [
            {
                "case": point.test.id,
                "mechanism": point.words,
                "runs": [f"{point.place}/{name_of(asked.jobs[n].seed)}" for n in point.jobs],
            }
            for point in asked.points
        ],
    }


def write_opening(directory: Path, asked: Plan) -> None:
    """Write the manifest of a benchmark that is in progress. Raises `ResultError`."""
    try:
        write_manifest(directory, manifest_of(asked, "running"))
    except OSError as error:
        raise unwritable(directory, error) from None


def write_outcome(outcome: Benchmark, asked: Plan, status: str) -> None:
    """Write the results and the manifest of a benchmark. Raises `ResultError`."""
    directory = outcome.directory
    assert directory is not None
    try:
        write_text(directory / BENCH_FILE, json_text(outcome.as_dict()))
        files = {BENCH_FILE: digest(directory / BENCH_FILE)}
        write_manifest(directory, {**manifest_of(asked, status), "files": files})
    except OSError as error:
        raise unwritable(directory, error) from None


def open_bench(path: Path) -> Benchmark:
    """Open the results of a benchmark. Raises `ResultError`."""
    manifest = read_manifest(path, BENCH)
    if not manifest.get("files"):
        raise ResultError(
            f"{path}: the benchmark is in progress, or was killed",
            "repeat the command that made it: complete runs are not run again",
        )
    check_files(path, manifest)
    content = json.loads(octets_of(path / BENCH_FILE))
    rows = [
        Row(
            one["test"],
            one["category"],
            one["setting"],
            one["metric"],
            one["unit"],
            tuple(one["values"]),
            one["reason"],
        )
        for one in content.pop("rows")
    ]
    return Benchmark(content, rows, path)
