"""Prints the main metrics of a sweep at the end of its command, by point or as extremes."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from backwater.cli.output import listing, message, put
from backwater.numbers.metrics import unit_of
from backwater.sweep.dataset import open_sweep
from backwater.sweep.points import SweepPoints
from backwater.wording import many, three, with_unit

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 16
"""Up to so many sets of values get a row each; more get the extremes of each metric."""
METRICS = 3


def show_numbers(directory: Path) -> None:
    """Print means over the seeds, and name the commands that show more."""
    points = SweepPoints(open_sweep(directory))
    metrics = points.telling(METRICS)
    if metrics:
        put("")
        if len(points.designs) <= ROWS:
            _every(points, metrics)
        else:
            _ends(points, metrics)
    if lacking := points.lacking(metrics):
        put(lacking)
    if same := points.same():
        put("")
        put(same)
    if points.compared > 1 and not points.varying(points.metrics):
        message("no metric differs between the points")
    place = shlex.quote(str(directory))
    message(
        f"`backwater report {place}` draws them, `backwater query {place} "
        '"select * from points"` lists them'
    )


def _over(points: SweepPoints) -> str:
    seeds = max((len(one.rows) for one in points.designs), default=0)
    if seeds < 2:
        return ""
    return f"Means over {many(seeds, 'seed')}, with half of their 95 % interval"


def _every(points: SweepPoints, metrics: list[str]) -> None:
    titles, rows = points.table(metrics)
    listing(titles, [row for _, row in rows], _over(points))


def _ends(points: SweepPoints, metrics: list[str]) -> None:
    rows = []
    for metric in metrics:
        found = [
            (spread.mean, points.name(one))
            for one in points.designs
            if (spread := one.spread(metric)) is not None
        ]
        if not found:
            continue
        (least, at), (most, there) = min(found), max(found)
        rows.append((with_unit(metric, unit_of(metric)), three(least), at, three(most), there))
    listing(("metric", "least", "at", "greatest", "at"), rows, _over(points).partition(",")[0])
