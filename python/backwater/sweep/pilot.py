"""Runs some points of a sweep before the others, to foresee what these take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backwater.experiments.builds import code
from backwater.sweep.drive import task
from backwater.sweep.point import Cut, Recipe, run_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from backwater.stopping import Stop
    from backwater.sweep.plan import Plan, Point


@dataclass
class Estimate:
    """What a sweep will take, from a pilot."""

    points: int
    """Those that are missing."""
    seconds: float | None
    """Of one point on one processor; None: the pilot had no end to be foreseen."""
    nbytes: float | None
    """That a point takes on the disk, at most."""
    measured: list[tuple[int, dict[str, pa.Table]]] = field(default_factory=list)
    """Places and rows of the points that the pilot has run to their end."""


def recipe_of(plan: Plan, metrics: Sequence[str], keep: Sequence[str]) -> Recipe:
    """Give what all points of a plan have in common."""
    columns = tuple((axis.key, axis.unit) for axis in plan.drawn)
    return Recipe(plan.scenarios, columns, tuple(metrics), "flows" in keep, code())


def pilot(
    plan: Plan,
    recipe: Recipe,
    missing: Sequence[Point],
    many: int,
    seconds: float,
    stop: Stop,
) -> Estimate:
    """Run some points here, for so many seconds at most together, and estimate the others.

    None is begun, or goes on, once `stop` is set.
    """
    places = sorted({round(n * (len(missing) - 1) / max(1, many - 1)) for n in range(many)})
    # What is imported on the way is no cost of a point.
    run_points(recipe, [])
    took: list[float] = []
    sizes: list[float] = []
    measured = []
    for place in places[:many]:
        if stop.is_set():
            break
        began = time.perf_counter()
        until = began + seconds / len(places)
        try:
            rows = run_points(recipe, [task(plan, missing[place])], _after(until, stop))
        except Cut as cut:
            if cut.done:
                took.append((time.perf_counter() - began) / cut.done)
            continue
        took.append(time.perf_counter() - began)
        sizes.append(float(sum(table.nbytes for table in rows.values())))
        measured.append((place, rows))
    mean = sum(took) / len(took) if took else None
    size = sum(sizes) / len(sizes) if sizes else None
    return Estimate(len(missing), mean, size, measured)


def _after(until: float, stop: Stop) -> Callable[[], bool]:
    return lambda: stop.is_set() or time.perf_counter() > until
