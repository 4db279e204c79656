"""Prints a benchmark: its tests, what it will take, and its report."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from backwater.bench import texts
from backwater.bench.definition import suite
from backwater.bench.outcome import holds_bench
from backwater.cli.output import message, put, show, write_json
from backwater.cli.views import View
from backwater.experiments.execute import find_done
from backwater.experiments.pilot import Estimate, Pilot, slices
from backwater.stopping import Stop
from backwater.wording import many, series

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from backwater.bench.outcome import Benchmark
    from backwater.bench.plan import Plan, Point
    from backwater.running import Job

_PILOT_SECONDS = 1.0
"""Longest wall time of a pilot, in s."""


def show_suite(names: tuple[str, ...], json: str | None) -> None:
    """List the tests of some categories, or all."""
    tests = suite().chosen(names)
    if json is not None:
        rows = [
            {
                "category": one.category,
                "test": one.id,
                "title": one.title,
                "about": one.about,
                "parameters": {name: list(of.values) for name, of in one.parameter.items()},
                "metrics": [of.label for of in one.metric],
            }
            for one in tests
        ]
        write_json(json, rows)
    if json == "-":
        return
    view = View()
    view.add_column("category", [one.category for one in tests])
    view.add_column("test", [one.id for one in tests])
    view.add_column("title", [one.title for one in tests])
    view.add_column("metrics", [", ".join(of.label for of in one.metric) for one in tests])
    show(view, None, "", "A test has the name of its draft, and its section there.", keys=2)


def told_plan(asked: Plan, out: Path, *, dry: bool, force: bool) -> dict[str, Any]:
    """Say what a benchmark runs, and with `dry` how long it takes; returns that as JSON has it."""
    there = 0
    if not force and holds_bench(out):
        there = sum(run is not None for run in find_done(asked.jobs))
    total = len(asked.jobs)
    tests = len({point.test.id for point in asked.points})
    message(
        f"{many(tests, 'test')} at {many(len(asked.points), 'setting')}, "
        f"{many(len(asked.seeds), 'seed')} each: {many(total, 'run')}"
        + (f", {there} of them in {out} already" if there else "")
    )
    for test, reason in asked.unfit:
        message(f"{test.id} is not run: {reason}")
    for one in asked.capped:
        message(one)
    told: dict[str, Any] = {"tests": tests, "settings": len(asked.points), "runs": total}
    told["missing"] = total - there
    if dry and told["missing"]:
        processors = os.cpu_count() or 1
        estimate, bounds = _estimate(asked)
        estimate.runs -= there
        message(estimate.words("run", processors))
        if bounds:
            message(f"of {series(bounds)} a lower bound: no transfer of a pilot has ended")
        told |= {"seconds": estimate.work(processors), "workers": processors}
    return told


def _estimate(asked: Plan) -> tuple[Estimate, list[str]]:
    """Estimate all runs by pilots: the first and the last setting of each test.

    Also returns the tests of which only a lower bound is known: no transfer of a pilot has ended.
    """
    work, runs = 0.0, len(asked.jobs)
    of_test: dict[str, list[Point]] = {}
    for point in asked.points:
        of_test.setdefault(point.test.id, []).append(point)
    bounds = []
    for name, points in of_test.items():
        took = []
        for place in {0, len(points) - 1}:
            began = time.perf_counter()
            seconds = _pilot(asked.jobs[points[place].jobs[0]])
            if seconds is None:
                bounds.append(name)
                seconds = time.perf_counter() - began
            took.append(seconds)
        work += sum(took) / len(took) * len(points) * len(asked.seeds)
    return Estimate(runs, work / runs), list(dict.fromkeys(bounds))


def _pilot(job: Job) -> float | None:
    def run(stop: Callable[[], bool]) -> None:
        for _ in slices(job.prepared.scenario, job.seed, stop):
            pass

    return Pilot.of(run, _PILOT_SECONDS, Stop()).seconds


def show_outcome(outcome: Benchmark) -> None:
    """Print the report of a benchmark, in the order of the drafts' reporting sections."""
    document = outcome.document
    put("Fabric under test", style="bold")
    view = View()
    view.add_column("", [name for name, _ in texts.identification(document)])
    view.add_column("", [value for _, value in texts.identification(document)])
    view.show_header = False
    show(view, None, "", *texts.sources(document), texts.conditions(outcome))
    rows = outcome.test_rows
    for test in document["tests"]:
        _show_test(test, rows.get(test["test"], []))
    for title, lines in _lists(outcome).items():
        if lines:
            put(f"\n{title}", style="bold")
            for line in lines:
                put(line)
    statement = View()
    for place, title in enumerate(texts.REPEATED):
        statement.add_column(title, [row[place] for row in texts.repeatability(document)])
    show(statement, "\nRepeatability", "CV: standard deviation / mean over the seeds", keys=2)


def _show_test(test: dict[str, Any], rows: list[Any]) -> None:
    keys, numbers = texts.columns(test)
    view = View()
    content = texts.table(test, rows)
    for place, title in enumerate([*keys, *numbers]):
        side: Any = "left" if place < len(keys) else "right"
        view.add_column(title, [row[place] for row in content], justify=side)
    said = [test["about"], *texts.parameters(test), *texts.definitions(test)]
    said += [f"no value: {one}" for one in texts.missing(rows)]
    said += [f"differs from the draft: {one}" for one in test["differs"]]
    show(view, f"\n{texts.heading(test)}", *said, keys=len(keys))


def _lists(outcome: Benchmark) -> dict[str, list[str]]:
    document = outcome.document
    return {
        "Anomalies": texts.anomalies(outcome),
        "Tests that this fabric cannot have": [
            f"{one['test']} {one['title']}: {one['reason']}" for one in document["unfit"]
        ],
        "Tests of the drafts that are not run": [
            f"{one['test']} {one['title']}: {one['reason']}" for one in document["untested"]
        ],
    }
