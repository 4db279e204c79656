"""The report of repeated runs of one scenario, with statistics over their seeds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from backwater.errors import ResultError
from backwater.findings import headlines, over_runs
from backwater.numbers.repeats import fold, named, said_same
from backwater.numbers.run import groups
from backwater.plot import seeds as charts
from backwater.report.assumptions import Assumptions
from backwater.report.jobs import jobs_section
from backwater.report.observe import Observed
from backwater.report.overtime import drawn, not_drawn, over_time
from backwater.report.page import Figure, Page, Section, Table, header
from backwater.report.run import (
    again_section,
    assumptions_section,
    footer,
    run_sections,
    sentences,
    warned,
    with_film,
)
from backwater.wording import figure as number

if TYPE_CHECKING:
    from backwater.repetitions import Series
    from backwater.results import Run

TIMES = (("fct_last_ack_us", "to the last ACK"), ("fct_last_byte_us", "to the last byte"))
MOST_PLACES = 6
"""Most decimal places of a mean, however small its interval is."""
PANELS = ("mean", "p50", "p99", "max")


def first_of(series: Series) -> Run:
    """Return the run that represents a series: the first complete one, or else the first.

    Raises `ResultError` for a series without runs.
    """
    if not series.runs:
        raise ResultError(
            f"{series.directory}: holds no runs", "it was killed before the end of its first run"
        )
    return next((run for run in series.runs if run.status == "done"), series.runs[0])


def seeds_page(series: Series, seen: Observed | None = None) -> Page:
    """Report repeated runs of one scenario; `seen` has the samples of the first."""
    runs = series.runs
    first = first_of(series)
    assumptions = Assumptions(first)
    seeds = [run.seed for run in runs]
    of = f"Seed {first.seed}, the first of {len(seeds)}. " if len(seeds) > 1 else ""
    done = [run for run in runs if run.status == "done"]
    partial = [str(run.seed) for run in runs if run.status != "done"]
    partly = (
        f"{len(seeds) - len(partial)} of these {len(seeds)} runs are complete, and all statistics "
        f"are of these. Not complete: seed {', '.join(partial)}. Seeds without a run are left out."
    )
    found = over_runs([(run.seed, run.warnings) for run in done])
    rows = [row for row in series.statistics.to_pylist() if row["mean"]]
    # One run has no intervals, so its own figures are drawn.
    if len(done) > 1:
        pictures, still, missing = over_time(seen or Observed(first), assumptions, of)
        overall = _figures(done, rows)
        stills = [] if still is None else [still]
        pictures = [
            replace(one, parts=[*one.parts, *stills], text=[*one.text, *not_drawn(missing)])
            for one in pictures
        ]
    else:
        overall = []
        pictures = run_sections(seen or Observed(first), first, assumptions, of)
    return Page(
        title=str(first.manifest.get("title") or "Repeated runs"),
        kicker=f"Backwater: report of {len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}",
        failed=[*sentences(headlines(found)), *([partly] if partial else [])],
        lead=[],
        sections=[
            Section(
                "results",
                "Results over the seeds",
                [*_by_job(rows), _by_group(rows), *overall, _statistics(rows, len(done))],
                warned(first.warnings, found, done),
            ),
            *pictures,
            *jobs_section(first, of, timeline=not with_film(pictures)),
            assumptions_section(assumptions),
            again_section(first, f"--seeds {seeds[0]}..{seeds[-1]}"),
        ],
        footer=footer(first),
        version=str(first.manifest["versions"]["backwater"]),
    )


def _figures(runs: list[Run], rows: list[dict[str, Any]]) -> list[Figure]:
    """Draw completion times as bands over the seeds, and numbers with their intervals."""
    labels = list(dict.fromkeys(label for run in runs for label in groups(run)))
    lines = {label: (runs, label) for label in labels[: charts.GROUPS]}
    shown = [
        row | {"panel": f"{_panel(row['quantity'])}{f' ({unit})' if (unit := row['unit']) else ''}"}
        for row in rows
        if row["of"] in labels and row["ci_low"] is not None and _panel(row["quantity"])
    ]
    few = len(labels) > charts.GROUPS
    left = f" Only the first {charts.GROUPS} of {len(labels)} groups are drawn." if few else ""
    below = f"mean over {len(runs)} runs; blue: its 95 % interval; grey: from least to greatest"
    return drawn(
        [
            (
                "completion",
                lambda: charts.completion(lines, "Completion times"),
                f"Share of each group's flows complete within a time, over the seeds.{left}",
            ),
            (
                "intervals",
                lambda: charts.intervals(shown, "Numbers of each group", below),
                f"Each number over the seeds.{left}",
            ),
        ],
        "",
        [],
    )


def _panel(quantity: str) -> str:
    """Return the name of a group's quantity in figures; empty if none shows it."""
    of, _, statistic = quantity.partition(".")
    words = dict(TIMES) | {"slowdown": ""}
    if of not in words or statistic not in PANELS or (of == "slowdown" and statistic != "p50"):
        return ""
    told = "median slowdown" if of == "slowdown" else f"{statistic} completion time {words[of]}"
    return told if of != "fct_last_byte_us" else ""


def _by_group(rows: list[dict[str, Any]]) -> Table:
    """Return the table of completion times by group of flows, with half of each interval."""
    known = {(row["of"], row["quantity"]): row for row in rows}
    labels = list(dict.fromkeys(row["of"] for row in rows if row["quantity"] == "flows"))
    labels = [label for label in labels if label != "run"]
    key, until = (
        TIMES[0] if any((label, f"{TIMES[0][0]}.mean") in known for label in labels) else TIMES[1]
    )
    numbers = ["flows", "complete", *(f"{name} us" for name in PANELS), "slowdown, median"]
    quantities = ["flows", "complete", *(f"{key}.{name}" for name in PANELS), "slowdown.p50"]
    table = [
        [label, *(_plus_minus(known.get((label, quantity))) for quantity in quantities)]
        for label in labels
    ]
    note = (
        f"Completion times {until}. Means over the seeds, ± half of the 95 % interval of the mean "
        "(Student's t); p99 needs 100 flows."
    )
    return Table(header(["group"], numbers), table, note=note)


def _by_job(rows: list[dict[str, Any]]) -> list[Table]:
    """Return the table of job completion times, if the runs have jobs."""
    took = [row for row in rows if row["quantity"] in ("jct_us", "jct_us.max")]
    columns = header(["job"], ["job completion time us", "least", "greatest"])
    table = [
        [row["of"], _plus_minus(row), number(round(row["min"], 2)), number(round(row["max"], 2))]
        for row in took
    ]
    note = "A job with several instances has the longest time. ± as below."
    return [Table(columns, table, note=note)] if table else []


def _plus_minus(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    mean = float(row["mean"])
    digits = max(0, 4 - len(str(int(abs(mean))))) if mean != int(mean) else 0
    if row["ci_high"] is None or row["ci_high"] == row["mean"]:
        return f"{mean:,.{digits}f}"
    half = row["ci_high"] - mean
    # Enough decimal places for the first digit of the half; the mean has as many.
    places = min(max(digits, 1, -math.floor(math.log10(half))), MOST_PLACES)
    return f"{mean:,.{places}f} ± {half:,.{places}f}"


def _statistics(rows: list[dict[str, Any]], runs: int) -> Table:
    numbers = ("runs", "mean", "95 % interval from", "to", "least", "greatest")
    columns = header(["of", "quantity", "unit"], numbers)
    names = ("mean", "ci_low", "ci_high", "min", "max")
    folded = fold(rows, runs)
    told = [
        [
            *(row["of"], named(row["quantity"]), row["unit"], str(row["n"])),
            *(number(row[column]) for column in names),
        ]
        for row, _ in folded.rows
    ]
    note = (
        "Intervals are of the mean, by Student's t. Quantities that are 0 in all runs are left out."
    )
    return Table(
        columns,
        told,
        "Every number of the runs",
        f"{note} {said_same(folded.counts)}".strip(),
        folded=True,
    )
