"""The report of a study: published beside measured numbers, figures like those of its document.

A study declares its figures in `figures.toml`: `[[figure]]` names a chart of
`backwater.plot.StudyPlots` with its arguments, `[[observe]]` a point of the table whose run is
repeated with samples, and `[[film]]` the observed runs that are shown as the fabric over time. A
figure with `claim` has the verdict on that claim as its sentence on a slide.
"""

from __future__ import annotations

import inspect
import shlex
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater._core import version
from backwater.errors import InputError
from backwater.files import text_of
from backwater.report.assumptions import ABSENT, Assumptions
from backwater.report.film import shoot
from backwater.report.overtime import film_figure, film_part
from backwater.report.page import Code, Figure, Page, Section, Table, header
from backwater.report.run import made_by, option
from backwater.results import load_run
from backwater.study.definition import STUDIES
from backwater.study.key import TABLE, Key
from backwater.study.observe import Observation, observe
from backwater.study.texts import (
    SPREAD,
    as_shown,
    band_text,
    compared,
    conditions,
    deviation_text,
    measured_text,
    null_models,
    null_text,
    over_text,
    prediction_text,
    spread_text,
    value_text,
    verdict_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from backwater.results import Run
    from backwater.running import Progress
    from backwater.study import Outcome, Row

CLASSES = {"agrees": "good", "holds": "good", "differs": "off", "fails": "off"}
OVER_TIME = ("queue", "throughput", "sent", "paused")
# What a report reads of a figure's entry; the rest are arguments of its chart.
NOT_DRAWN = ("id", "kind", "caption", "counterpart", "observe", "claim")


@dataclass(frozen=True)
class Declared:
    """The content of a study's figures.toml."""

    observations: list[Observation]
    figures: list[dict[str, Any]]
    films: list[dict[str, Any]]


def declared(outcome: Outcome) -> Declared:
    """Read the figures of a study; without a file, bars of its measures.

    Raises `InputError` for a file with errors.
    """
    path = STUDIES / outcome.study.id / "figures.toml"
    if not path.is_file():
        figure = {"id": "measures", "kind": "bars", "caption": "What the study measures."}
        return Declared([], [figure], [])
    try:
        text = tomllib.loads(text_of(path))
        return Declared(
            [Observation.of(entry) for entry in text.get("observe", [])],
            text.get("figure", []),
            text.get("film", []),
        )
    except (ValueError, KeyError) as error:
        raise InputError(f"{path}: lacks or misuses {error}") from error


def study_page(outcome: Outcome, progress: Callable[[int], Progress | None] | None = None) -> Page:
    """Report a study that was reproduced into a directory."""
    study = outcome.study
    wanted = declared(outcome)
    # If only one case was reproduced, observations of others are left out.
    seen = [one for one in wanted.observations if one.key in outcome.points]
    runs = observe(outcome, seen, progress)
    figures, left = _figures(outcome, wanted, runs)
    first = next(iter(outcome.points))
    assumptions = Assumptions(next(iter(outcome.runs(first))))
    said = [*conditions(outcome), *outcome.summary.sentences]
    # Pictures come before the table, which may have a hundred rows.
    sections = [Section("figures", "Figures", figures, [*said, *left])]
    films = []
    for film in wanted.films:
        chosen = [(one.label, runs[one.id]) for one in seen if one.id in film["observe"]]
        if not chosen:
            continue
        shown = Assumptions(chosen[0][1])
        made = shoot(shown.layout, chosen, film.get("window"))
        about = f"{film.get('caption', '')} " if film.get("caption") else ""
        films.append(film_part(film["id"], made, [run for _, run in chosen], shown.named, about))
        stills = film_figure(f"{film['id']}-stills", made, shown.named, film.get("counterpart", ""))
        figures.append(stills)
    if films:
        sections.append(Section("over-time", "The fabric over time", films))
    size = [f"Size: {study.size}."] if study.size else []
    sections.append(Section("results", "Published and measured", _tables(outcome)))
    sections += [_assumptions(outcome, assumptions, first), _again(outcome)]
    return Page(
        title=study.title,
        kicker=f"Backwater: study {study.id}",
        lead=[f"{study.document}.", *size, str(outcome.summary)],
        sections=sections,
        footer=f"Made by {made_by(version())}.",
        version=str(version()["backwater"]),
    )


def _figures(
    outcome: Outcome, wanted: Declared, runs: Mapping[str, Run]
) -> tuple[list[Any], list[str]]:
    figures: list[Any] = []
    left = []
    about = {one.id: one for one in wanted.observations}
    for entry in wanted.figures:
        arguments = {key: value for key, value in entry.items() if key not in NOT_DRAWN}
        try:
            chart = _chart(outcome, entry, arguments, runs, about)
        except InputError as error:
            left.append(f"Figure {entry['id']} is not drawn: {error.reason}.")
            continue
        caption = " ".join([entry.get("caption", ""), *_points(outcome, entry, about)]).strip()
        figures.append(Figure(entry["id"], chart, caption, entry.get("counterpart", "")))
    return figures, left


def _chart(
    outcome: Outcome,
    entry: Mapping[str, Any],
    arguments: dict[str, Any],
    runs: Mapping[str, Run],
    about: Mapping[str, Observation],
) -> Any:  # noqa: ANN401 - some Altair chart
    kind = entry["kind"]
    if kind in OVER_TIME:
        chosen = [(about[name].label, runs[name]) for name in entry["observe"] if name in runs]
        lines = arguments.pop("links", None) or arguments.pop("groups", [])
        return outcome.plot.over_time(kind, chosen, *lines, **arguments)
    chart = getattr(outcome.plot, kind, None)
    if kind.startswith("_") or chart is None:
        raise InputError(f"there is no chart {kind!r}")
    try:
        inspect.signature(chart).bind(**arguments)
    except TypeError as error:
        raise InputError(f"chart {kind}: {error}") from None
    return chart(**arguments)


def _points(
    outcome: Outcome, entry: Mapping[str, Any], about: Mapping[str, Observation]
) -> list[str]:
    """Name the points and seeds of a figure over time."""
    said = []
    for name in entry.get("observe", []):
        one = about[name]
        seeds = outcome.seeds.get(one.key)
        if seeds:
            among = f", the first of {len(seeds)}" if len(seeds) > 1 else ""
            point = f"case {one.case} under {one.mechanism}"
            said.append(f"{one.label}: {point}, seed {seeds[0]}{among}.")
    return said


def _assumptions(outcome: Outcome, assumptions: Assumptions, first: Key) -> Section:
    study = outcome.study
    topology, given, defaults = [assumptions.topology(), *assumptions.parameters()]
    cases = Table(
        header(["case", "what it is", "what it sets", "seeds"]),
        [
            [case.id, case.text, _sets(case.set, case.set_for), _range(case.seeds)]
            for case in study.cases
            if any(key.case == case.id for key in outcome.points)
        ],
        "Cases: what the document changes",
    )
    mechanisms = Table(
        header(["mechanism", "parameter", "value", "set by"]),
        _mechanisms(outcome),
        "Mechanisms: what each sets over the scenario",
    )
    where = (
        f"Drawn and listed for case {first.case} under {first.mechanism}. "
        f"studies/{study.id}/README.md explains which values are the document's, which follow from "
        "its digits, and which are choices."
    )
    if outcome.changes:
        where += f" Changed by the user: {', '.join(outcome.changes.words())}."
    parts = [topology, cases, *([mechanisms] if mechanisms.rows else []), given, defaults]
    return Section("assumptions", "Assumptions", parts, [where])


def _sets(every: Mapping[str, str], some: Mapping[str, Mapping[str, str]]) -> str:
    texts = [f"{key} = {value}" for key, value in every.items()]
    texts += [
        f"{key} = {value} ({name})" for name, sets in some.items() for key, value in sets.items()
    ]
    return "; ".join(texts) or "nothing"


def _range(seeds: tuple[int, ...]) -> str:
    if not seeds:
        return "the scenario's"
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def _mechanisms(outcome: Outcome) -> list[list[str]]:
    """Return what the variant of each mechanism sets, by the manifest of its first run."""
    rows = []
    for mechanism in outcome.study.mechanisms:
        key = next(
            (k for k in outcome.points if k.mechanism == mechanism and k.setup == TABLE), None
        )
        if key is None or outcome.directory is None or not outcome.places.get(key):
            continue
        manifest = load_run(outcome.directory / "runs" / outcome.places[key][0]).manifest
        file = manifest["file"]
        for entry in manifest["origins"]:
            if entry["origin"].startswith("variant") and entry["value"] != ABSENT:
                origin = entry["origin"].replace(f"{file}:", "line ")
                rows.append([mechanism, entry["key"], entry["value"], origin])
    return rows


def _tables(outcome: Outcome) -> list[Table]:
    numbers = [row for row in outcome.rows if not row.is_claim]
    claims = [row for row in outcome.rows if row.is_claim]
    tables = []
    if numbers:
        words = ("case", "mechanism", "quantity", "statistic", "unit")
        numeric = ("published", "measured", "deviation", "band", "lower bound")
        others = ("verdict", "spread, 95 %", "null model", "note")
        columns = [*header(words, numeric), *header(others)]
        notes = ["± after a measured mean: its 95 % interval over the seeds."]
        if any(row.lower_bound is not None for row in numbers):
            notes.append("No congestion control can be below a lower bound.")
        if any(row.within is not None for row in numbers):
            notes.append(f"Spread: {SPREAD}.")
        if any(row.discriminates is not None for row in numbers):
            notes.append(f"Null model: {null_models(outcome.study)}.")
        rows = [_number(outcome, row) for row in numbers]
        # Empty columns, and a statistic that all rows share, only take space from the others.
        kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
        statistic = words.index("statistic")
        if len({row[statistic] for row in rows}) == 1:
            notes.append(f"Statistic of every row: {rows[0][statistic]}.")
            kept.remove(statistic)
        told = Table(columns, rows, "Numbers", " ".join(notes), classes=CLASSES)
        tables.append(told.only(kept))
    if claims:
        note = "in words, and the measured values"
        titles = ("claim", note, "when it holds", "verdict", "null model")
        rows = [
            [row.quantity, row.note or "", row.statistic, verdict_text(row), null_text(row)]
            for row in claims
        ]
        tables.append(Table(header(titles), rows, "Claims", classes=CLASSES))
    return tables


def _number(outcome: Outcome, row: Row) -> list[str]:
    measure = as_shown(outcome.study.measure(row.quantity), row)
    return [
        row.case,
        compared(row),
        measure.label,
        over_text(row) if row.seeds and row.seeds > 1 else "1 seed",
        row.unit,
        value_text(row.published, measure),
        measured_text(row, measure),
        deviation_text(row),
        band_text(row),
        "" if row.lower_bound is None else value_text(row.lower_bound, measure),
        verdict_text(row),
        "" if row.within is None else f"{spread_text(row)} {prediction_text(row, measure)}",
        ""
        if row.null_measured is None
        else f"{value_text(row.null_measured, measure)} {null_text(row).strip('-')}".strip(),
        row.note or "",
    ]


def _again(outcome: Outcome) -> Section:
    changed = outcome.changes
    settings = (f"{key}={value}" for key, value in changed.settings)
    sets = shlex.join([*option("--with", changed.mechanisms), *option("--set", settings)])
    name = outcome.study.id
    folder = shlex.quote(str(outcome.directory))
    full = " --full" if _is_full(outcome) else ""
    command = f"backwater reproduce {name}{full}{_case(outcome)}{_seeds(outcome)} {sets}".rstrip()
    command += f" --out {folder}"
    code = Code(f"{command}\nbackwater report {folder} -o report.html --figures figures")
    return Section(
        "again", "Run it again", [code], ["Complete runs in the directory are not run again."]
    )


def _case(outcome: Outcome) -> str:
    """Return the option for one case of several, if only that was run."""
    run = {key.case for key in outcome.points}
    [case, *others] = run
    return "" if others or {one.id for one in outcome.study.cases} == run else f" --case {case}"


def _seeds(outcome: Outcome) -> str:
    """Return the option for seeds other than the study's, if all points have the same."""
    asked = any(row.other_seeds for row in outcome.rows)
    [seeds, *others] = {tuple(some) for some in outcome.seeds.values()} or {()}
    if not asked or others or list(seeds) != list(range(seeds[0], seeds[-1] + 1)):
        return ""
    return f" --seeds {seeds[0]}..{seeds[-1]}"


def _is_full(outcome: Outcome) -> bool:
    from backwater.study import load

    return outcome.study.size is not None and load(outcome.study.id).size != outcome.study.size
