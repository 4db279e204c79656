"""Slides of a sweep: its answer, points, curves, maps and effects."""

from __future__ import annotations

import itertools
import json
import shlex
from typing import TYPE_CHECKING

import backwater
from backwater.deck import layout
from backwater.deck import sweep_sentences as sentences
from backwater.deck.content import NAMES, Pen, Talk, commands_slides, results
from backwater.deck.model import date_of
from backwater.directory import PROGRESS
from backwater.files import text_of
from backwater.plot.sweep import SweepPlots
from backwater.report.page import Code, Table, header
from backwater.report.run import made_by
from backwater.report.sweep import sweep_page, warnings_of
from backwater.report.sweep_setup import Probe, same_everywhere
from backwater.sweep.values import shown
from backwater.wording import many, sentence, series, short

if TYPE_CHECKING:
    from backwater.deck.model import Slide
    from backwater.report.page import Figure
    from backwater.sweep.dataset import Sweep

_ROWS = 200
_METRICS = 5
_WARNINGS = 5


def of_sweep(sweep: Sweep, pen: Pen) -> Talk:
    """Return the content of a deck of a sweep, finished or not."""
    page = sweep_page(sweep)
    plots = SweepPlots(sweep)
    manifest = sweep.manifest
    slides = [*_setup(sweep, pen), *_assumed(sweep, plots)]
    for section in page.sections:
        if section.id == "answer":
            slides += layout.text("table", "Answer", section.text)
            for part in section.parts:
                if isinstance(part, Table):
                    slides += results(part.title or "Answer", part)
    metrics = _metrics(plots)
    slides += _points(plots, metrics)
    for figure in page.figures:
        slides += pen.figures(figure, _sentence(figure, plots, metrics), "")
    warned = warnings_of(plots)[:_WARNINGS]
    said_by = [f"{count} points: {sentence(text)}" for count, text in warned]
    texts = [*page.failed, *page.lead[1:], *(one.replace("`", "") for one in said_by)]
    if texts:
        slides += layout.text("differs", "What to keep in mind", texts)
    [section] = [one for one in page.sections if one.id == "again"]
    commands = [part.text for part in section.parts if isinstance(part, Code)]
    place = shlex.quote(str(sweep.directory))
    commands.append(f'backwater query {place} "select * from points"')
    slides += commands_slides(commands, ["Points that are complete are not run again."])
    dates = _dates(sweep)
    seeds = sorted({row["seed"] for row in sweep.points.to_pylist()})
    when = f" of {dates[0][:10]}" if dates else ""
    facts = [
        f"A sweep{when}, made by {made_by(manifest['versions'])}.",
        *page.lead[:1],
        f"{many(len(seeds), 'seed')}: {', '.join(map(str, seeds[:10]))}"
        f"{', …' if len(seeds) > 10 else ''}.",
    ]
    made = made_by(manifest["versions"])
    return Talk(page.title, facts, slides, made, date_of(dates), bool(dates), page.failed)


def _dates(sweep: Sweep) -> list[str]:
    """Return the date of a sweep's last progress, if known: its manifest has no date."""
    try:
        found = json.loads(text_of(sweep.directory / PROGRESS))
    except (OSError, ValueError):
        return []
    return [str(found["updated"])] if "updated" in found else []


def _setup(sweep: Sweep, pen: Pen) -> list[Slide]:
    if (probe := Probe.of(sweep)) is None:
        return []
    sketch = probe.sketch
    hosts = sum(host for _, _, host in sketch["nodes"])
    sentence = (
        f"{many(hosts, 'host')}, {many(len(sketch['nodes']) - hosts, 'switch')}, "
        f"{many(len(sketch['links']), 'link')}"
    )
    if keys := probe.settings:
        sentence += f"; {series(keys)} {'is' if len(keys) == 1 else 'are'} varied"
    note = f"Variant {probe.variant}." if probe.variant else ""
    return pen.drawings("setup", "Set-up", [probe.drawn(NAMES)], f"{sentence}.", note)


def _assumed(sweep: Sweep, plots: SweepPlots) -> list[Slide]:
    rows = []
    for n, key in enumerate(plots.keys):
        values = [v for v in dict.fromkeys(one.values[n] for one in plots.designs) if v is not None]
        texts = [shown(key, value) for value in sorted(values, key=lambda v: (str(type(v)), v))]
        some = ", ".join(texts[:12]) + (f", … ({len(texts)} values)" if len(texts) > 12 else "")
        rows.append([key, some, _meaning(key)])
    if any(plots.variants):
        rows.append(["variant", ", ".join(plots.variants), "a table of the scenario file"])
    for key, value in (sweep.manifest.get("set") or {}).items():
        rows.append([key, str(value), f"same at every point: {_meaning(key)}"])
    table = Table(header(["parameter", "values", "what it is"]), rows)
    slides = layout.table("assumptions", "Assumptions: what is varied", table)
    if (probe := Probe.of(sweep)) is not None:
        same = same_everywhere(probe, plots)
        slides += results("Assumptions: the same at every point", same, kind="assumptions")
    return slides


def _meaning(key: str) -> str:
    try:
        return str(backwater.explain(key).get("meaning") or "").replace("`", "")
    except backwater.ScenarioError:
        return ""


def _metrics(plots: SweepPlots) -> list[str]:
    """Return the metrics that the page draws, in its order; if it draws none, the usual ones."""
    usual = [name for name in plots.metrics if name.startswith("max_fct:")]
    usual += [name for name in ("pauses", "drops") if name in plots.metrics]
    return plots.telling(_METRICS) or usual[:_METRICS]


def _points(plots: SweepPlots, metrics: list[str]) -> list[Slide]:
    rows = []
    for one in plots.designs[:_ROWS]:
        cells = [one.variant] if any(plots.variants) else []
        cells += [
            shown(key, v) if v is not None else "-"
            for key, v in zip(plots.keys, one.values, strict=True)
        ]
        for metric in metrics:
            spread = one.spread(metric)
            if spread is None:
                cells.append("-")
            elif spread.ci_high is None:
                cells.append(short(spread.mean))
            else:
                cells.append(f"{short(spread.mean)} ±{short(spread.ci_high - spread.mean)}")
        rows.append(cells)
    names = [
        f"{name} ({unit})" if (unit := plots.units.get(name, "")) and unit != name else name
        for name in metrics
    ]
    columns = header(["variant"] if any(plots.variants) else [], [*plots.keys, *names])
    note = "Means over the seeds; ± half of the 95 % interval (Student's t)."
    return layout.table("table", "Points", Table(columns, rows, note=note))


def _sentence(figure: Figure, plots: SweepPlots, metrics: list[str]) -> str:
    kind, _, number = figure.id.partition("-")
    if kind == "effects":
        return sentences.effects(plots, plots.varying(metrics)[int(number) - 1])
    if kind == "front":
        from backwater.sweep.goal import Goal

        first, second = Goal.of((plots.answer or {})["text"]).metrics
        return sentences.front(plots, first[0], second[0])
    if kind == "map":
        pairs = list(itertools.combinations(plots.varied(), 2))
        return sentences.heat(plots, *pairs[int(number) - 1], plots.varying(metrics)[0])
    return sentences.curve(plots, plots.varied()[int(number) - 1], metrics)
