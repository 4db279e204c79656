"""The report of a sweep: the answer to its goal, curves, maps, effects, and its command."""

from __future__ import annotations

import contextlib
import itertools
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.numbers.metrics import unit_of
from backwater.plot.sweep import SweepPlots
from backwater.report.page import Code, Column, Figure, Page, Section, Table, header
from backwater.report.run import changes, made_by, option
from backwater.report.sweep_setup import assumptions
from backwater.samples import PAIRS
from backwater.sweep.words import front, interval, remarks, tables, words
from backwater.wording import chance, many, sentence, series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.sweep.dataset import Sweep

# Most metrics of a page, and most keys and pairs of keys with figures of their own.
_METRICS, _KEYS, _PAIRS = 4, 4, 3
# Most points of a front with a table.
_POINTS = 8
# Most points that are listed, points up to which the list is open, and most different errors.
_ROWS, _OPEN, _ERRORS = 500, 16, 10


def sweep_page(sweep: Sweep) -> Page:
    """Report a sweep, finished or not. Raises `ResultError`."""
    plots = SweepPlots(sweep)
    manifest, answer = sweep.manifest, sweep.manifest.get("answer")
    metrics = plots.telling(_METRICS)
    points = len(sweep.points) - plots.apart
    failed = sum(row["status"] == "failed" for row in sweep.points.to_pylist())
    sections = [] if answer is None else [_answer(answer)]
    sections += _figures(plots, metrics, answer)
    sections.append(_points(plots, metrics, sweep))
    if (assumed := assumptions(sweep, plots)) is not None:
        sections.append(assumed)
    sections.append(
        Section("again", "Run it again", [Code(command(manifest, str(sweep.directory)))])
    )
    lead = [f"{many(points, 'point')} of {_varied(plots)}."]
    if plots.apart:
        called = f" ({answer['base']})" if plots.base is not None and answer is not None else ""
        base = f"{many(plots.apart, 'point')} of the base{called}"
        apart = f"{base} {_are(plots.apart)} in no line or map."
        lead = [f"{lead[0]} {apart}"]
    if plots.compared > 1 and not plots.varying(plots.metrics):
        lead.append("No metric differs between points: what is varied has no effect here.")
    if lacking := plots.lacking(metrics):
        lead.append(sentence(lacking))
    if same := plots.same():
        lead.append(sentence(same))
    most = max((len(one.rows) for one in plots.designs), default=0)
    if 1 < most < PAIRS:
        lead.append(f"Intervals over {most} seeds are wide: --seeds {PAIRS} or more narrows them.")
    if failed:
        lead.append(f"{many(failed, 'point')} failed, and {_are(failed)} in no figure.")
    return Page(
        title=str(manifest.get("title") or "Sweep"),
        kicker=f"Backwater: report of a sweep, {many(points, 'point')}",
        lead=lead,
        sections=sections,
        footer=f"Made by {made_by(manifest['versions'])}. "
        f"Results: {shlex.quote(str(sweep.directory))}.",
        version=str(manifest["versions"]["backwater"]),
        failed=[]
        if sweep.status == "done"
        else [f"The sweep is {sweep.status}: points are missing."],
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _varied(plots: SweepPlots) -> str:
    keys = series(plots.keys) if plots.keys else "one setting"
    seeds = {row["seed"] for one in plots.designs for row in one.rows}
    counts = {"variant": len(plots.variants), "seed": len(seeds)}
    told = [f"{count} {name}s" for name, count in counts.items() if count > 1]
    return f"{keys}, with {' and '.join(told)}" if told else keys


def _answer(answer: Mapping[str, Any]) -> Section:
    parts: list[Any] = []
    for title, tests in tables(answer)[:_POINTS]:
        parts.append(tests_table(title, tests, answer["base"]))
    titles, rows = front(answer)
    if rows:
        parts.append(Table(header(titles), rows, "Points of the front"))
    said = [f"Goal: {answer['text']}.", *(f"{line}." for line in words(answer))]
    return Section("answer", "Answer", parts, said)


def tests_table(title: str, tests: Sequence[Mapping[str, Any]], base: str | None) -> Table:
    """Return the table of a point's metrics, against the base if the sweep has one."""
    against = any("base" in test for test in tests)
    numbers = ["here", *(("base", "difference", "p") if against else ())]
    rows = []
    for test in tests:
        row = [test["metric"], unit_of(test["metric"]), interval(test["value"])]
        if against and "base" in test:
            row += [interval(test["base"]), interval(test["difference"]), chance(test["p"])]
        elif against:
            row += ["-"] * 3
        rows.append(row)
    note = " ".join(remarks(tests, base))
    return Table(header(["metric", "unit"], numbers), rows, title, note)


def warnings_of(plots: SweepPlots) -> list[list[str]]:
    """Return the warnings of checks and runs with their number of points, most frequent first."""
    said = Counter(
        str(one)
        for design in plots.designs
        for row in design.rows
        for one in row.get("warnings") or ()
    )
    return [[f"{count:,}", text] for text, count in said.most_common()]


def _points(plots: SweepPlots, metrics: Sequence[str], sweep: Sweep) -> Section:
    """Return the section with tables of points, of reasons for failures, and of warnings."""
    titles, every = plots.table(metrics)
    first = len(titles) - len(metrics)
    columns = header(titles[:first], titles[first:])
    rows = [row for one, row in every if any(each["status"] == "done" for each in one.rows)]
    parts = []
    if rows and columns:
        more = f"{_ROWS:,} of {len(rows):,} are shown; `backwater query` lists all."
        note = "Means over the seeds, ± half of their 95 % interval (Student's t)."
        note = f"{note} {more}" if len(rows) > _ROWS else note
        folded = len(rows) > _OPEN
        parts.append(Table(columns, rows[:_ROWS], "Every point", note, folded=folded))
    if sweep.errors:
        errors = [[f"{count:,}", error] for error, count in sweep.errors.items()]
        parts.append(_by_points("Points that failed", "reason", errors))
    if warned := warnings_of(plots):
        parts.append(_by_points("Warnings of checks and runs", "warning", warned))
    return Section("points", "Points", parts)


def _by_points(title: str, what: str, rows: Sequence[list[str]]) -> Table:
    """Return a table of texts with their number of points, which begins `rows`."""
    left = len(rows) - _ERRORS
    note = f"{many(left, f'more {what}')} of fewer points." if left > 0 else ""
    return Table([Column("points", number=True), Column(what)], rows[:_ERRORS], title, note)


def _figures(
    plots: SweepPlots, metrics: Sequence[str], answer: Mapping[str, Any] | None
) -> list[Section]:
    varied, differing = plots.varied(), plots.varying(metrics)
    curves: list[Any] = []
    maps: list[Any] = []
    others: list[Any] = []
    for key in varied[:_KEYS]:
        with contextlib.suppress(InputError):
            chart = plots.curve(key, metrics)
            curves.append(Figure(f"curve-{len(curves) + 1}", chart, f"Metrics over {key}."))
    pairs = itertools.islice(itertools.combinations(varied, 2), _PAIRS)
    for n, (across, up) in enumerate(pairs):
        if not differing or not _grid(plots, across, up):
            continue
        with contextlib.suppress(InputError):
            chart = plots.heat(across, up, differing[0])
            maps.append(Figure(f"map-{n + 1}", chart, f"{differing[0]} over {across} and {up}."))
    if answer is not None and answer["kind"] == "front":
        from backwater.sweep.goal import Goal

        with contextlib.suppress(InputError):
            chart = plots.pareto(*Goal.of(answer["text"]).metrics)
            others.append(Figure("front", chart, "Points that no other beats in both."))
    if len(varied) > 1:
        for n, metric in enumerate(differing):
            with contextlib.suppress(InputError):
                told = f"What {metric} depends on."
                others.append(Figure(f"effects-{n + 1}", plots.effects(metric), told))
    parts = [
        ("curves", "Curves", curves),
        ("maps", "Two keys at once", maps),
        ("effects", "Fronts and effects", others),
    ]
    return [Section(name, title, figures) for name, title, figures in parts if figures]


def _grid(plots: SweepPlots, across: str, up: str) -> bool:
    """Return True if at least half of the cells of two keys' grid of values are filled."""
    a, b = plots.keys.index(across), plots.keys.index(up)
    cells = {(one.values[a], one.values[b]) for one in plots.designs}
    cells = {cell for cell in cells if None not in cell}
    columns, lines = {x for x, _ in cells}, {y for _, y in cells}
    return 2 * len(cells) >= len(columns) * len(lines)


def command(manifest: Mapping[str, Any], directory: str) -> str:
    """Return the command that made a sweep."""
    asked = manifest.get("asked") or {}
    vary = (f"{key}={_listed(values)}" for key, values in (asked.get("vary") or {}).items())
    parts = ["backwater", "sweep", str(manifest.get("file", "FILE")), *option("--vary", vary)]
    names = {"variants": "--variant", "seeds": "--seeds", "sample": "--sample", "goal": "--goal"}
    names |= {"trials": "--trials", "base": "--base", "sample_seed": "--sample-seed"}
    for key, name in names.items():
        if asked.get(key):
            parts += [name, _listed(asked[key])]
    parts += [*option("--zip", asked.get("zip")), *option("--where", asked.get("where"))]
    parts += changes(manifest)
    parts += option("--metric", manifest.get("metrics"))
    parts += option("--keep", manifest.get("keep"))
    return shlex.join([*parts, "--out", directory])


def _listed(values: object) -> str:
    return ",".join(map(str, values)) if isinstance(values, list | tuple) else str(values)
