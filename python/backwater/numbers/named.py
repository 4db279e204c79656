"""The metrics that a sweep stores for each point, in the order of their list."""

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
from backwater.numbers.statistics import REPORTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from backwater.results import Run

STATISTICS = tuple("median" if name == "p50" else name for name in REPORTED)
"""The statistics that a sweep stores of a metric with many values."""
REFERENCE = "reference:"
"""The prefix of names of references, which are no metrics."""


def reference(name: str) -> str:
    """Return the name of a metric's reference in the rows of points."""
    return f"{REFERENCE}{name}"


def named(run: Run | Tables) -> Iterator[tuple[Metric, float | None]]:
    """Yield every metric that sweeps store of a complete run, with its value."""
    tables = Tables.of(run)
    run = tables.run
    for one in kept(groups(run), job_labels(run), job_steps(run)):
        yield one, one.of(tables)


def kept(
    groups: Sequence[str], jobs: Sequence[str], steps: Sequence[tuple[str, str]]
) -> Iterator[Metric]:
    """Yield what sweeps store of a run with these groups, jobs and steps, then its totals."""
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
