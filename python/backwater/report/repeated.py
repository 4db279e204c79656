"""The report of repeated runs of one scenario: what holds over their seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.findings import headlines, over_runs
from backwater.report.assumptions import Assumptions
from backwater.report.jobs import jobs_section
from backwater.report.observe import Observed
from backwater.report.page import Column, Page, Section, Table
from backwater.report.run import (
    again_section,
    assumptions_section,
    footer,
    noticed,
    run_sections,
    sentences,
    warned,
    with_film,
)
from backwater.wording import figure as number

if TYPE_CHECKING:
    from backwater.reading import Series
    from backwater.results import Run


def first_of(series: Series) -> Run:
    """Give the run that stands for a series where one alone can be shown: the first complete."""
    return next((run for run in series.runs if run.status == "done"), series.runs[0])


def seeds_page(series: Series, seen: Observed | None = None) -> Page:
    """Report repeated runs of one scenario; `seen` is what is drawn over time of the first."""
    runs = series.runs
    first = first_of(series)
    assumptions = Assumptions(first)
    seeds = [run.seed for run in runs]
    of = f"Seed {first.seed}, the first of {len(seeds)}. " if len(seeds) > 1 else ""
    partial = [str(run.seed) for run in runs if run.status != "done"]
    partly = (
        f"{len(seeds) - len(partial)} of these {len(seeds)} runs are complete; what is summed up "
        f"is theirs. Not complete: seed {', '.join(partial)}. Seeds that never began are not here."
    )
    found = over_runs([(run.seed, run.warnings) for run in runs if run.status == "done"])
    whole = run_sections(seen or Observed(first), first, assumptions, of)
    return Page(
        title=str(first.manifest.get("title") or "Repeated runs"),
        kicker=f"Backwater: report of {len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}",
        failed=[*sentences(headlines(found)), *([partly] if partial else [])],
        lead=[],
        sections=[
            Section(
                "results",
                "Results over the seeds",
                [_statistics(series)],
                [*noticed(found), *warned(found)],
            ),
            *whole,
            *jobs_section(first, of, timeline=not with_film(whole)),
            assumptions_section(assumptions),
            again_section(first, f"--seeds {seeds[0]}..{seeds[-1]}"),
        ],
        footer=footer(first),
        version=str(first.manifest["versions"]["backwater"]),
    )


def _statistics(series: Series) -> Table:
    rows = series.statistics.to_pylist()
    columns = [Column("of"), Column("quantity"), Column("unit"), Column("runs", number=True)]
    columns += [
        Column(c, number=True) for c in ("mean", "95 % interval from", "to", "least", "greatest")
    ]
    names = ("mean", "ci_low", "ci_high", "min", "max")
    shown = [row for row in rows if row["mean"]]
    return Table(
        columns,
        [
            [r["of"], r["quantity"], r["unit"], str(r["n"]), *(number(r[c]) for c in names)]
            for r in shown
        ],
        note="Intervals are of the mean, by Student's t. What is 0 in all runs is left out.",
    )
