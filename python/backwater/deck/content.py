"""Slides of a run and of repeated runs, and the parts that slides of other results share."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from backwater.deck import layout, sentences
from backwater.deck.model import BODY, LEAD, MARGIN, TEXT, TOP, Slide, Text, date_of
from backwater.directory import SCENARIO
from backwater.plot import landscape
from backwater.plot.shades import themed
from backwater.report.assumptions import IMPORTED, Assumptions
from backwater.report.page import Code, Figure, Table, header
from backwater.report.repeated import first_of, seeds_page
from backwater.report.run import (
    changes,
    conditions,
    groups_table,
    made_by,
    option,
    remarked,
    run_page,
    variants,
)
from backwater.wording import many

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from backwater.repetitions import Series
    from backwater.report.page import Page
    from backwater.results import Run

LONGEST_LEAD = 400
"""Most letters above a table; the sentences that exceed it are left out."""
NAMES = 1.35
"""Size of names in the drawing of a set-up, relative to a page."""
MOST_OF_FLOWS = 24
"""Most rows of the table of parameters that belong to flows and jobs."""


@dataclass(frozen=True)
class Talk:
    """The content of a deck, before slides have a first one and numbers."""

    title: str
    facts: list[str]
    """Lines below the title: kind of results, date, version, seeds."""
    slides: list[Slide]
    made_by: str
    when: datetime
    dated: bool
    failed: Sequence[str] = ()
    """What the run was asked to do and did not: shown after the first fact."""


@dataclass(frozen=True)
class Pen:
    """Makes slides of drawings in a theme."""

    theme: str

    def figures(self, figure: Figure, sentence: str, note: str = "") -> list[Slide]:
        """Return the slides of a chart."""
        title = landscape.heading(figure.chart) or figure.id.replace("-", " ").capitalize()
        _, height = layout.place(sentence, note)
        svgs = [themed(svg, self.theme) for svg in landscape.drawn(figure.chart, BODY, height)]
        return layout.figure("figure", title, svgs, sentence, note)

    def drawings(
        self, kind: str, title: str, svgs: Sequence[str], sentence: str, note: str = ""
    ) -> list[Slide]:
        """Return the slides of SVG drawings."""
        return layout.figure(kind, title, [themed(one, self.theme) for one in svgs], sentence, note)


def opening(talk: Talk) -> Slide:
    """Return the first slide."""
    title = layout.shrunk(Text(MARGIN, 130, BODY, 120, (talk.title,), 36, bold=True), 1)
    lines = (*talk.facts[:1], *talk.failed, *talk.facts[1:])
    facts = layout.shrunk(Text(MARGIN, 270, BODY, 200, lines, LEAD, gap=0.5))
    return Slide("title", talk.title, (title, facts))


def of_run(run: Run, pen: Pen) -> Talk:
    """Return the content of a deck of one run."""
    page = run_page(run)
    assumptions = Assumptions(run)
    slides = [*setup(assumptions, pen), *parameters(assumptions)]
    slides += results("Completion times", groups_table(run), conditions(run))
    slides += jobs(page)
    for figure in page.figures:
        slides += _run_figure(figure, run, pen, assumptions)
    slides += notes(page, remarked(run))
    slides += rerun(run, f"--seed {run.seed}")
    seed = f"Seed {run.seed}; fingerprint {run.fingerprint}." if run.fingerprint else ""
    return Talk(
        page.title,
        _facts("A run", run.manifest, [*page.lead, seed]),
        slides,
        made_by(run.manifest["versions"]),
        date_of([run.manifest.get("started", "")]),
        "started" in run.manifest,
        page.failed,
    )


def of_series(series: Series, pen: Pen) -> Talk:
    """Return the content of a deck of repeated runs: statistics of all, figures of the first."""
    page = seeds_page(series)
    runs = series.runs
    first = first_of(series)
    assumptions = Assumptions(first)
    slides = [*setup(assumptions, pen), *parameters(assumptions)]
    [statistics] = [s for s in page.sections if s.id == "results"]
    tables = [one for one in statistics.parts if isinstance(one, Table) and not one.folded]
    lead = f"Over {len(runs)} seeds; intervals are 95 % of Student's t."
    for table in tables:
        slides += results("Results over the seeds", table, [lead])
    every = statistics.parts[-1]
    slides += results(every.title, every)
    slides += jobs(page)
    overall = [one for one in statistics.parts if isinstance(one, Figure)]
    for figure in page.figures:
        if figure in overall:
            slides += pen.figures(figure, figure.caption)
            continue
        of = f"Seed {first.seed}, the first of {len(runs)}."
        slides += _run_figure(figure, first, pen, assumptions, of)
    slides += notes(page, statistics.text)
    slides += rerun(first, f"--seeds {runs[0].seed}..{runs[-1].seed}", series.directory)
    seeds = f"Seeds {runs[0].seed} to {runs[-1].seed}, {len(runs)} runs."
    return Talk(
        page.title,
        _facts("Repeated runs", first.manifest, [seeds]),
        slides,
        made_by(first.manifest["versions"]),
        date_of([run.manifest.get("started", "") for run in runs]),
        True,
        page.failed,
    )


def _run_figure(
    figure: Figure, run: Run, pen: Pen, assumptions: Assumptions, of: str = ""
) -> list[Slide]:
    if not isinstance(figure.chart, str):
        return pen.figures(figure, sentences.run(figure.id, figure.chart, run), of)
    from backwater.report.film import moments, shoot

    film = shoot(assumptions.layout, [("this run", run)])
    svgs = moments(film, assumptions.named)
    return pen.drawings("figure", "The fabric when most bytes wait", svgs, sentences.film(film), of)


def setup(assumptions: Assumptions, pen: Pen, note: str = "") -> list[Slide]:
    """Return the slide of the set-up: topology, flows, counts of nodes and links."""
    hosts = sum(host for _, _, host in assumptions.sketch["nodes"])
    switches = len(assumptions.sketch["nodes"]) - hosts
    rates = sorted({rate for _, _, rate, *_ in assumptions.sketch["links"]})
    speeds = " and ".join(f"{rate / 1e9:g}" for rate in rates[:3])
    groups = assumptions.groups
    flows = f"; flows of {', '.join(groups[:4])}" if groups else ""
    more = f" and {len(groups) - 4} more groups" if len(groups) > 4 else ""
    sentence = (
        f"{many(hosts, 'host')} and {many(switches, 'switch')}, "
        f"{len(assumptions.sketch['links']):,} links at {speeds} Gb/s{flows}{more}."
    )
    if assumptions.layout.aggregated:
        note = f"{note} A block with a number stands for that many nodes.".lstrip()
    drawn = assumptions.topology(NAMES).drawn
    return pen.drawings("setup", "Set-up", [drawn], sentence, note)


def parameters(assumptions: Assumptions, title: str = "Assumptions: parameters") -> list[Slide]:
    """Return the slides of the parameters that were set; defaults are only counted."""
    given, defaults = assumptions.parameters()
    imported = [row for row in given.rows if row[2].startswith(IMPORTED)]
    given = replace(given, rows=[row for row in given.rows if row not in imported])
    flows = [row for row in given.rows if row[0].startswith(("flow.", "job."))]
    rows = [row[:4] for row in given.rows if row not in flows]
    rows += [row[:4] for row in flows[:MOST_OF_FLOWS]]
    columns = [*header(["parameter"], ["value"]), *header(["set by", "what it is"])]
    note = f"{len(defaults.rows)} more parameters are at their defaults; the report lists them."
    table = Table(columns, rows, note=note)
    slides = layout.table("assumptions", title, table) if rows else []
    return [*slides, *_compact(imported, "" if rows else note)]


def _compact(rows: Sequence[Sequence[str]], note: str) -> list[Slide]:
    """Return the slides of parameters with one origin: names and values, two pairs in a row."""
    if not rows:
        return []
    half = -(-len(rows) // 2)
    pairs = [[row[0], row[1]] for row in rows] + [["", ""]] * (len(rows) % 2)
    both = [[*left, *right] for left, right in zip(pairs[:half], pairs[half:], strict=True)]
    table = Table(header(["parameter"], ["value"]) * 2, both, note=note)
    return layout.table("assumptions", f"Assumptions: {rows[0][2]}", table)


def results(title: str, table: Table, text: Sequence[str] = (), kind: str = "table") -> list[Slide]:
    """Return the slides of a table of a report, with sentences above it."""
    lead = ""
    for one in text:
        if len(lead) + len(one) > LONGEST_LEAD:
            break
        lead = f"{lead} {one}".lstrip()
    return layout.table(kind, title, table, lead)


def jobs(page: Page) -> list[Slide]:
    """Return the slides of jobs: instances, and steps of their collectives."""
    slides = []
    for section in page.sections:
        if section.id == "jobs":
            for part in section.parts:
                if isinstance(part, Table) and not part.folded:
                    slides += results(part.title or section.title, part)
    return slides


def notes(page: Page, warnings: Sequence[str]) -> list[Slide]:
    """Return the slide of failures and warnings, if the results have any."""
    texts = [one.replace("`", "") for one in (*page.failed, *warnings)]
    return layout.text("differs", "What to keep in mind", texts) if texts else []


def again(page: Page, more: str = "") -> list[Slide]:
    """Return the slide of a page's commands and their explanation, with one more command."""
    [section] = [one for one in page.sections if one.id == "again"]
    commands = [p.text for p in section.parts if isinstance(p, Code) and not p.folded]
    commands += [more] if more else []
    return commands_slides(commands, section.text)


def rerun(run: Run, seeds: str, directory: Path | None = None) -> list[Slide]:
    """Return the slide of the commands that repeat a run, or all runs of a series."""
    place = directory or run.directory
    manifest = run.manifest
    words = ["backwater", "run", str(manifest.get("file") or "scenario.toml")]
    words += manifest.get("beside") or ()
    named = [manifest["variant"]] if manifest.get("variant") else variants(run)
    words += [*option("--variant", named), *changes(manifest)]
    commands = [f"{shlex.join(words)} {seeds} --out again"]
    text = []
    if place is not None:
        whole = shlex.quote(str(place / SCENARIO))
        commands.append(f"backwater run {whole} {seeds} --out again")
        commands.append(f"backwater deck {shlex.quote(str(place))} -o talk.pptx")
        text.append("The second command runs the recorded scenario, which has every value.")
    if run.fingerprint:
        text.append(f"The fingerprint of seed {run.seed} is {run.fingerprint}.")
    return commands_slides(commands, text)


def commands_slides(commands: Sequence[str], text: Sequence[str]) -> list[Slide]:
    """Return the slide of commands, with sentences below."""
    lines = tuple(line for one in commands for line in one.split("\n"))
    box = layout.shrunk(Text(MARGIN, TOP, BODY, 260, lines, 14, mono=True))
    box = replace(box, height=box.needs)
    parts = [box]
    if text:
        below = Text(MARGIN, box.y + box.height + 20, BODY, 0, tuple(text), TEXT)
        parts.append(replace(below, height=below.needs))
    return [layout.titled("again", "How to run it again", parts)]


def _facts(kind: str, manifest: Any, more: Sequence[str]) -> list[str]:  # noqa: ANN401 - as read
    when = str(manifest.get("started", ""))[:10]
    made = made_by(manifest["versions"])
    return [f"{kind}{f' of {when}' if when else ''}, made by {made}.", *(m for m in more if m)]
