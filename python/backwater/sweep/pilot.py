"""Runs some points of a sweep before the others, to estimate what these take."""

from __future__ import annotations

from functools import partial
from statistics import mean
from typing import TYPE_CHECKING

from backwater.experiments.builds import code
from backwater.experiments.pilot import Estimate, Pilot
from backwater.sweep.drive import task
from backwater.sweep.point import Recipe, run_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from backwater.stopping import Stop
    from backwater.sweep.plan import Plan, Point


def recipe_of(plan: Plan, metrics: Sequence[str], keep: Sequence[str]) -> Recipe:
    """Return what all points of a plan have in common."""
    columns = tuple((axis.key, axis.unit) for axis in plan.drawn)
    return Recipe(plan.scenarios, columns, tuple(metrics), "flows" in keep, code())


def pilot(
    plan: Plan,
    recipe: Recipe,
    missing: Sequence[Point],
    many: int,
    seconds: float,
    stop: Stop,
) -> tuple[Estimate, dict[int, dict[str, pa.Table]]]:
    """Run some points here, for so many seconds at most together, and estimate the others.

    Returns the rows of the points that came to their end as well, by their place in `missing`.
    """
    places = sorted({round(n * (len(missing) - 1) / max(1, many - 1)) for n in range(many)})
    # Imports on first use are no cost of a point.
    run_points(recipe, [])
    pilots = {
        place: Pilot.of(
            partial(run_points, recipe, [task(plan, missing[place])]), seconds / len(places), stop
        )
        for place in places
        if not stop.is_set()
    }
    rows = {place: one.result for place, one in pilots.items() if one.result is not None}
    took = [one.seconds for one in pilots.values() if one.seconds is not None]
    sizes = [sum(table.nbytes for table in tables.values()) for tables in rows.values()]
    estimate = Estimate(
        len(missing), mean(took) if took else None, float(mean(sizes)) if sizes else None
    )
    return estimate, rows
