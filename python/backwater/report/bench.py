"""The report of a benchmark, in the order of the drafts' reporting sections.

Training draft, section 13: device under test, topology, configuration, hosts, results, anomalies,
repeatability. Inference draft, section 14: the same, with curves and intervals.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from backwater.bench import texts
from backwater.manifest import BENCH, read_manifest
from backwater.plot.bench import chart
from backwater.report import draw
from backwater.report.assumptions import ABSENT, PHONE, Assumptions, explained, shown_origin
from backwater.report.layout import lay_out
from backwater.report.page import Code, Column, Figure, Page, Picture, Section, Table, header
from backwater.report.run import made_by
from backwater.results import load_run
from backwater.wording import many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.bench import Benchmark
    from backwater.bench.measure import Row


def bench_page(outcome: Benchmark) -> Page:
    """Report a benchmark that ran into a directory. Raises `ResultError`."""
    document = outcome.document
    rows = outcome.test_rows
    tests = document["tests"]
    sections = [_setup(outcome)]
    for category in dict.fromkeys(one["category"] for one in tests):
        mine = [one for one in tests if one["category"] == category]
        parts: list[Any] = []
        for test in mine:
            parts += _test(test, rows.get(test["test"], []))
        sections.append(Section(category, _titled(category), parts))
    sections += [_anomalies(outcome), _repeatability(document), _untested(document)]
    sections.append(_again(outcome))
    wrong = [*outcome.failed, *outcome.unfinished]
    counts = f"{many(len(tests), 'test')}, {many(document['runs'], 'run')}"
    return Page(
        title=f"AI fabric benchmarks: {document['fabric']['title'] or document['fabric']['name']}",
        kicker="Backwater: benchmarks of two IETF drafts, simulated",
        lead=[
            f"{counts}. {texts.conditions(outcome)}.",
            *(f"{s}." for s in texts.sources(document)),
        ],
        sections=sections,
        footer=f"Made by {made_by(document['versions'])}.",
        version=str(document["versions"]["backwater"]),
        failed=wrong,
    )


def _titled(category: str) -> str:
    return f"Category: {category}"


def _setup(outcome: Benchmark) -> Section:
    document = outcome.document
    fabric = document["fabric"]
    table = Table(
        header(["what", "value"]),
        [list(row) for row in texts.identification(document)],
        "Device under test",
    )
    name = fabric["name"]
    known = [one for one in fabric["values"] if one["value"] != ABSENT]
    given = [one for one in known if one["origin"] != "default"]
    rest = [one for one in known if one["origin"] == "default"]
    parts: list[Any] = [table, *_drawing(outcome)]
    for some, title in (
        (given, f"{many(len(given), 'parameter')} that are set"),
        (rest, f"{many(len(rest), 'parameter')} at their defaults"),
    ):
        rows = [
            [
                one["key"],
                one["value"],
                shown_origin(one["origin"].replace(f"{name}:", "line "), name),
                *explained(one["key"]),
            ]
            for one in some
        ]
        titles = ("parameter", "value", "set by", "what it is", "source")
        parts.append(Table(header(titles), rows, title, folded=True))
    return Section("setup", "Setup under test", parts)


def _drawing(outcome: Benchmark) -> list[Any]:
    """Draw the fabric of the first run, without its flows; nothing without runs on the disk."""
    if outcome.directory is None:
        return []
    first = read_manifest(outcome.directory, BENCH)["points"][0]["runs"][0]
    sketch = {**Assumptions(load_run(outcome.directory / "runs" / first)).sketch, "flows": []}
    drawn, phone = (draw.topology(lay_out(sketch), sketch, [], text) for text in (1.0, PHONE))
    return [Picture("topology", drawn, "Tiers of the fabric under test.", phone)]


def _test(test: Mapping[str, Any], rows: Sequence[Row]) -> list[Any]:
    keys, numbers = texts.columns(test)
    said = [test["about"], *(f"No value: {one}." for one in texts.missing(rows))]
    said += [f"Differs from the draft: {one}." for one in test["differs"]]
    table = Table(
        [
            *(
                Column(one, number=not isinstance(of["values"][0], str))
                for one, of in zip(keys, test["parameters"], strict=True)
            ),
            *header((), numbers),
        ],
        texts.table(test, rows),
        texts.heading(test),
        " ".join(said),
    )
    defined = Table(
        header(["metric", "definition", "section"]),
        [[one["label"], one["definition"], one["section"] or "-"] for one in test["metrics"]],
        f"Definitions of {test['test']}",
    )
    varied = Table(
        header(["parameter", "what it is", "values", "values of the draft"]),
        [[one["name"], one["text"], texts.values(one), one["draft"]] for one in test["parameters"]],
        f"Parameters of {test['test']}",
        folded=True,
    )
    drawn = chart(test, rows) if test["figure"] is not None else None
    figure = [] if drawn is None else [Figure(test["test"], drawn, test["figure"]["caption"])]
    return [*figure, table, defined, *([varied] if varied.rows else [])]


def _anomalies(outcome: Benchmark) -> Section:
    said = texts.anomalies(outcome)
    rows = [[one] for one in said] or [["none: every run did what its test asks for"]]
    parts: list[Any] = [Table(header(["what"]), rows)]
    unfit = [[one["test"], one["title"], one["reason"]] for one in outcome.document["unfit"]]
    if unfit:
        titles = ("test", "title", "reason")
        parts.append(Table(header(titles), unfit, "Tests that this fabric cannot have"))
    return Section("anomalies", "Anomalies", parts)


def _repeatability(document: Mapping[str, Any]) -> Section:
    table = Table(header(texts.REPEATED), texts.repeatability(document))
    said = "CV is standard deviation / mean over the seeds, of the setting where it is greatest."
    return Section("repeatability", "Repeatability", [table], [said])


def _untested(document: Mapping[str, Any]) -> Section:
    rows = [[one["test"], one["title"], one["reason"]] for one in document["untested"]]
    table = Table(header(["test", "title", "reason"]), rows)
    return Section("untested", "Tests of the drafts that are not run", [table])


def _again(outcome: Benchmark) -> Section:
    folder = shlex.quote(str(outcome.directory))
    document = outcome.document
    seeds = document["seeds"]
    chosen = [one["test"] for one in (*document["tests"], *document["unfit"])]
    fabric = shlex.quote(document["fabric"]["name"])
    every = "" if document["whole"] else f"{shlex.join(chosen)} "
    code = Code(
        f"backwater bench {every}--fabric {fabric} --seeds {seeds[0]}..{seeds[-1]} "
        f"--out {folder}\nbackwater report {folder} -o report.html --figures figures"
    )
    return Section("again", "Run it again", [code], ["Complete runs there are not run again."])
