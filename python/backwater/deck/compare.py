"""Slides of a comparison: how the scenarios differ, and how their results do."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from backwater.comparison import OTHERS, UNLIKE
from backwater.deck import sentences
from backwater.deck.content import Pen, Talk, again, notes, parameters, results, setup
from backwater.deck.model import date_of
from backwater.errors import ResultError
from backwater.report.assumptions import Assumptions
from backwater.report.compare import compare_page, groups_of, labelled_runs, labels_of, look
from backwater.report.film import moments, shoot
from backwater.report.page import Figure, Table
from backwater.report.run import made_by
from backwater.wording import percent, series, short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from backwater.deck.model import Slide
    from backwater.reading import Comparison
    from backwater.results import Run
    from backwater.running import Progress


def of_comparison(
    comparison: Comparison, pen: Pen, progress: Callable[[int], Progress | None] | None = None
) -> Talk:
    """Return the content of a deck of a comparison: tables of all seeds, the fabric of the first.

    Raises `ResultError` for a comparison without runs.
    """
    runs = labelled_runs(comparison)
    if not runs:
        raise ResultError(
            f"{comparison.directory}: holds no runs",
            "it was killed before the end of its first run",
        )
    seen = look(runs, None, progress)
    page = compare_page(comparison, seen=seen)
    shown = [(name, one.run) for name, one in seen.items()]
    name, base = next(iter(runs.items()))
    assumptions = Assumptions(base[0])
    slides = setup(assumptions, pen, f"As in {name}.")
    slides += parameters(assumptions, f"Assumptions: parameters of {name}")
    sections = {one.id: one for one in page.sections}
    differs, *_ = (part for part in sections["assumptions"].parts if isinstance(part, Table))
    lead = [] if differs.rows else ["No parameter differs."]
    slides += results("What differs between the scenarios", differs, lead)
    [table] = [part for part in sections["results"].parts if isinstance(part, Table)]
    slides += results("Results over the seeds", table, page.lead)
    for figure in page.figures:
        slides += _figure(figure, comparison, runs, shown, pen, assumptions)
    slides += notes(page, sections["results"].text)
    slides += again(page, f"backwater deck {shlex.quote(str(comparison.directory))} -o talk.pptx")
    manifest = comparison.manifest
    seeds = manifest.get("seeds") or []
    over = f"Seeds {seeds[0]} to {seeds[-1]} of each." if seeds else ""
    when = [run.manifest.get("started", "") for mine in runs.values() for run in mine]
    day = max(when)[:10]
    made = made_by(manifest["versions"])
    return Talk(
        page.title,
        [
            f"A comparison of {len(comparison.runs)} scenarios{f', {day}' if day else ''}, "
            f"made by {made}.",
            *([over] if over else []),
            *page.lead,
        ],
        slides,
        made,
        date_of(when),
        any(when),
        page.failed,
    )


def _figure(
    figure: Figure,
    comparison: Comparison,
    runs: Mapping[str, Sequence[Run]],
    shown: Sequence[tuple[str, Run]],
    pen: Pen,
    assumptions: Assumptions,
) -> list[Slide]:
    if isinstance(figure.chart, str):
        film = shoot(assumptions.layout, shown)
        svgs = moments(film, assumptions.named)
        note = f"Seed {shown[0][1].seed} of each."
        title = f"The fabric when most bytes wait under {shown[0][0]}"
        return pen.drawings("figure", title, svgs, sentences.film(film), note)
    kind, _, number = figure.id.partition("-")
    if figure.id == "differences":
        sentence = furthest(comparison.rows)
    elif kind == "completion":
        sentence = means(comparison.rows, groups_of(runs)[int(number) - 1], list(runs))
    else:
        sentence = sentences.over_time(figure.id, figure.chart, shown)
    return pen.figures(figure, sentence or figure.caption, figure.caption if sentence else "")


def furthest(rows: Sequence[Mapping[str, Any]]) -> str:
    """Name the metric with the largest relative difference; if any is clear of zero, of those."""
    found = []
    for row in rows:
        if row["verdict"] in (UNLIKE, OTHERS):
            continue
        base = next((s["mean"] for s in row["scenarios"] if s["scenario"] == row["against"]), None)
        for one in row["scenarios"]:
            of = one["difference"]
            if not base or of is None or of["ci_low"] is None:
                continue
            clear = of["ci_low"] > 0 or of["ci_high"] < 0
            share, *ends = (of[key] / base for key in ("mean", "ci_low", "ci_high"))
            ends[0] = max(ends[0], -1.0)
            found.append((clear, abs(share), share, row, one, ends))
    if not found:
        return ""
    clear, size, share, row, one, (low, high) = max(found, key=lambda each: each[:2])
    if not size:
        return "No metric differs."
    what = "The largest difference" if clear else "No difference is clear of zero; the largest"
    name = labels_of([each["scenario"] for each in row["scenarios"]])[one["scenario"]]
    return (
        f"{what} is that of {row['metric']}: {percent(share)} with {name}, "
        f"{percent(low)} to {percent(high)} (95 % interval)."
    )


def means(rows: Sequence[Mapping[str, Any]], group: str, names: Sequence[str]) -> str:
    """Report the mean completion time of a group's flows in each scenario, over the seeds."""
    row = next((one for one in rows if one["metric"] == f"mean_fct:{group}"), None)
    if row is None or row["verdict"] == OTHERS or len(names) != len(row["scenarios"]):
        return ""
    parts = [
        f"{short(one['mean'])} {row['unit']} in {name}"
        for name, one in zip(names, row["scenarios"], strict=True)
        if one["mean"] is not None
    ]
    return f"Flows of {group} take {series(parts)} on average." if parts else ""
