"""The numbers of a run that a sweep keeps of each point: metrics, in the order of their list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.numbers.metrics import Metric, Tables
from backwater.numbers.registry import (
    CLASS,
    COLLECTIVE,
    FLOW,
    GROUP,
    JOB,
    KIND,
    QUANTITIES,
    ROUND,
    RUN,
)
from backwater.numbers.run import groups, job_labels, job_steps
from backwater.numbers.statistics import TOLD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from backwater.results import Run

STATISTICS = tuple("median" if name == "p50" else name for name in TOLD)
"""Those that are kept of what has many values."""
REFERENCE = "reference:"
"""What names of numbers begin with that are no metrics: those that metrics are held against."""


def reference(name: str) -> str:
    """Name what a metric is held against, beside the metric in the rows of points."""
    return f"{REFERENCE}{name}"


def named(run: Run | Tables) -> Iterator[tuple[Metric, float | None]]:
    """Give every metric of a complete run that sweeps keep, with its value."""
    tables = Tables.of(run)
    run = tables.run
    for one in kept(groups(run), job_labels(run), job_steps(run)):
        yield one, one.of(tables)


def kept(
    groups: Sequence[str], jobs: Sequence[str], steps: Sequence[tuple[str, str]]
) -> Iterator[Metric]:
    """Give what is kept of a run with these groups, jobs and steps: group by group, then totals."""
    for group in groups:
        yield from _of((GROUP, FLOW), group)
    for job in jobs:
        yield from _of((JOB, ROUND), job)
    for job, step in steps:
        yield from _of((COLLECTIVE,), f"{job}/{step}")
    for one in QUANTITIES.values():
        if one.total or (one.kept and one.of in (CLASS, KIND, RUN)):
            yield Metric(one.name, one, None, None)


def _of(scopes: Sequence[str], label: str) -> Iterator[Metric]:
    for of in scopes:
        for one in QUANTITIES.values():
            if one.kept and one.of == of:
                for statistic in STATISTICS if one.has_statistics else (None,):
                    name = one.name if statistic is None else f"{statistic}_{one.name}"
                    yield Metric(f"{name}:{label}", one, statistic, label)
