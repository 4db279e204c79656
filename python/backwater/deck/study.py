"""Slides of a study: published beside measured numbers, claims, and what differs."""

from __future__ import annotations

import itertools
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from backwater.deck import layout, sentences
from backwater.deck.content import Pen, Talk, again, parameters, setup
from backwater.deck.model import date_of
from backwater.errors import InputError
from backwater.report.assumptions import Assumptions
from backwater.report.film import moments, shoot
from backwater.report.page import Table, header
from backwater.report.run import made_by
from backwater.report.study import declared, study_page
from backwater.results import load_run
from backwater.study.observe import observe
from backwater.study.texts import (
    as_shown,
    band_text,
    compared,
    conditions,
    deviation_text,
    measured_text,
    null_text,
    value_text,
    verdict_text,
)
from backwater.wording import many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from backwater.deck.model import Slide
    from backwater.report.page import Figure, Page, Section
    from backwater.running import Progress
    from backwater.study import Outcome, Row

_BARS = ("measures", "cases", "mechanisms", "heading")
OFF = ("differs", "fails")


def of_study(
    outcome: Outcome,
    pen: Pen,
    progress: Callable[[int], Progress | None] | None = None,
    only: Sequence[str] = (),
) -> Talk:
    """Return the content of a deck of a study that was reproduced into a directory.

    `only`: the ids of figures, `table` or `claims`, whose slides follow the title in this order; by
    default all slides. Raises `InputError` for another name.
    """
    parts = ["table", "claims", *(entry["id"] for entry in declared(outcome).figures)]
    for name in only:
        if name not in parts:
            raise InputError(f"--only {name}: no such figure", f"one of {', '.join(parts)}")
    page = study_page(outcome, progress)
    study = outcome.study
    first = next(iter(outcome.points))
    run = next(iter(outcome.runs(first)))
    assumptions = Assumptions(run)
    shown = f"Case {first.case} under {first.mechanism}."
    drawn = _figures(outcome, page.figures, pen, progress, only)
    named = {"table": _numbers(outcome), "claims": _claims(outcome), **drawn}
    if only:
        slides = [slide for name in only for slide in _wanted(name, named, page)]
    else:
        slides = [*setup(assumptions, pen, shown), *_assumed(page.sections)]
        slides += parameters(assumptions, "Assumptions: parameters of the scenario")
        slides += itertools.chain.from_iterable(named.values())
        slides += _differs(outcome)
    place = "" if outcome.directory is None else shlex.quote(str(outcome.directory))
    names = "".join(f" --only {name}" for name in only)
    slides += again(page, f"backwater deck {place}{names} -o talk.pptx" if place else "")
    places = [place for some in outcome.places.values() for place in some]
    dates = []
    if outcome.directory is not None:
        dates = [
            str(load_run(outcome.directory / "runs" / place).manifest.get("started", ""))
            for place in (places[0], places[-1])
        ]
    when = date_of(dates)
    seeds = sorted({seed for some in outcome.seeds.values() for seed in some})
    number = many(len(seeds), "seed")
    facts = [
        f"Published: {study.document}",
        f"Reproduced on {when:%Y-%m-%d} with {made_by(run.manifest['versions'])}; {number}"
        f" ({_listed(seeds)}).",
        *([f"Size: {study.size}"] if study.size else []),
        *conditions(outcome),
        outcome.summary.sentences[0] if outcome.summary.sentences else "",
    ]
    return Talk(
        study.title,
        [fact for fact in facts if fact],
        slides,
        made_by(run.manifest["versions"]),
        when,
        bool(dates),
    )


def _wanted(name: str, named: Mapping[str, list[Slide]], page: Page) -> list[Slide]:
    """Return the slides of one name; raises `InputError` for a figure that is not drawn."""
    if name not in named:
        texts = [text for section in page.sections for text in section.text]
        reasons = (text for text in texts if text.startswith(f"Figure {name} is not drawn"))
        raise InputError(f"--only {name}: has no slide", next(reasons, "its report has no figure"))
    return named[name]


def _listed(seeds: Sequence[int]) -> str:
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds[:6])) + (", …" if len(seeds) > 6 else "")


def _assumed(sections: Sequence[Section]) -> list[Slide]:
    slides: list[Slide] = []
    for section in sections:
        if section.id != "assumptions":
            continue
        for part in section.parts:
            if not isinstance(part, Table) or part.folded:
                continue
            name = part.title.partition(":")[0]
            if name not in ("Cases", "Mechanisms"):
                continue
            kept = [n for n, column in enumerate(part.columns) if column.title != "set by"]
            table = replace(part.only(kept), note="")
            slides += layout.table("assumptions", f"Assumptions: {name.lower()}", table)
    return slides


def _row(outcome: Outcome, row: Row) -> list[str]:
    measure = as_shown(outcome.study.measure(row.quantity), row)
    return [
        row.case,
        compared(row),
        measure.label,
        row.unit,
        value_text(row.published, measure),
        measured_text(row, measure),
        deviation_text(row),
        band_text(row),
        verdict_text(row),
        null_text(row),
    ]


_COLUMNS = header(
    ["case", "mechanism", "quantity", "unit"], ["published", "measured", "deviation", "band"]
)


def _numbers(outcome: Outcome) -> list[Slide]:
    rows = [row for row in outcome.rows if not row.is_claim]
    if not rows:
        return []
    note = "± after a measured mean: its 95 % interval over the seeds."
    if any(row.discriminates is not None for row in rows):
        note += " Null model: the verdict with the mechanism switched off."
    columns = [*_COLUMNS, *header(["verdict", "null model"])]
    table = _kept(Table(columns, [_row(outcome, row) for row in rows], note=note))
    return layout.table("table", "Published and measured", table, outcome.summary.sentences[0])


def _kept(table: Table) -> Table:
    """Leave out columns that are empty, or `-`, in all rows."""
    columns = range(len(table.columns))
    return table.only([n for n in columns if any(row[n] not in ("", "-") for row in table.rows)])


def _claims(outcome: Outcome) -> list[Slide]:
    claims = [row for row in outcome.rows if row.is_claim]
    if not claims:
        return []
    rows = [[row.quantity, row.note or "", verdict_text(row), null_text(row)] for row in claims]
    titles = ("claim", "in words, and the measured values", "verdict", "null model")
    table = _kept(Table(header(titles), rows))
    lead = next((s for s in outcome.summary.sentences if "claims" in s), "")
    return layout.table("table", "Claims", table, lead)


def _figures(
    outcome: Outcome,
    figures: Sequence[Figure],
    pen: Pen,
    progress: Callable[[int], Progress | None] | None,
    only: Sequence[str],
) -> dict[str, list[Slide]]:
    """Return the slides of a study's figures by id, of all or `only` these, and films."""
    wanted = declared(outcome)
    seen = [one for one in wanted.observations if one.key in outcome.points]
    # The page has run these already, so this only opens their results.
    runs = observe(outcome, seen, progress)
    labels = {one.id: one.label for one in seen}
    by_id = {figure.id: figure for figure in figures}
    describe = sentences.StudySentences(outcome)
    slides: dict[str, list[Slide]] = {}
    for entry in wanted.figures:
        if entry["id"] not in by_id or (only and entry["id"] not in only):
            continue
        of = [(labels[name], runs[name]) for name in entry.get("observe", ()) if name in runs]
        figure = by_id[entry["id"]]
        sentence = describe.sentence(entry, figure.chart, of) or figure.caption
        made = pen.figures(figure, sentence, figure.caption)
        measures = describe.measures(entry)
        if len(made) > 1 and entry["kind"] in ("completion", "bars") and "beside" not in entry:
            # One slide for each measure, each with its own sentence.
            made = []
            for name in measures:
                one = {**entry, "measures": [name]}
                options = {key: one[key] for key in _BARS if key in one}
                part = replace(figure, chart=outcome.plot.bars(**options))
                made += pen.figures(part, describe.sentence(one, part.chart, []), figure.caption)
        slides[entry["id"]] = made
    for film in () if only else wanted.films:
        chosen = [(one.label, runs[one.id]) for one in seen if one.id in film["observe"]]
        if chosen:
            about = Assumptions(chosen[0][1])
            shot = shoot(about.layout, chosen, film.get("window"))
            svgs = moments(shot, about.named)
            title = "The fabric when most bytes wait"
            slides[f"film {film['id']}"] = pen.drawings(
                "figure", title, svgs, sentences.film(shot), film.get("caption", "")
            )
    return slides


def _differs(outcome: Outcome) -> list[Slide]:
    """Return slides of the document's numbers and claims that are not met."""
    numbers = [row for row in outcome.rows if row.verdict in OFF and not row.is_claim]
    claims = [row for row in outcome.rows if row.verdict in OFF and row.is_claim]
    title = "What differs from the document"
    slides = []
    if numbers:
        rows = [
            [*_row(outcome, row)[:8], row.note or ("not counted" if row.apart else "")]
            for row in numbers
        ]
        table = Table([*_COLUMNS, *header(["note"])], rows)
        lead = f"{len(numbers)} of {sum(not r.is_claim for r in outcome.rows)} rows lie outside "
        slides += layout.table("differs", title, _kept(table), lead + "their bands.")
    if claims:
        rows = [[row.quantity, row.note or "", row.statistic] for row in claims]
        table = Table(header(["claim", "in words, and the measured values", "when it holds"]), rows)
        lead = f"{len(claims)} of {sum(r.is_claim for r in outcome.rows)} claims do not hold here."
        slides += layout.table("differs", f"{title}: claims", table, lead)
    if not slides:
        met = "All of the document's numbers lie within their bands, and its claims hold."
        slides = layout.text("differs", title, [met])
    where = f"studies/{outcome.study.id}/README.md explains open choices, and why numbers differ."
    return [
        *slides,
        *layout.text("differs", "How to read this", [*outcome.summary.sentences, where]),
    ]
