"""Prints, before a sweep runs, how many points it has and what they will take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.cli.output import message
from backwater.stopping import Stop
from backwater.wording import many

if TYPE_CHECKING:
    from backwater.sweep.plan import Plan
    from backwater.sweep.run import Sweeping

# Without a sweep after it, a pilot runs so many points, for so many seconds at most in all.
_PILOT_POINTS, _PILOT_SECONDS = 3, 10.0


def counted(plan: Plan) -> str:
    """Describe the points of a plan for people."""
    parts = [f"{len(plan.scenarios)} variants"] if len(plan.scenarios) > 1 else []
    if plan.searched:
        parts += [f"{axis.key}" for axis in plan.axes]
        parts.append(many(len(plan.seeds), "seed"))
        return f"a search over {', '.join(parts)}"
    if plan.sampling is not None:
        keys = ", ".join(axis.key for axis in plan.axes)
        parts.append(f"{plan.sampling.count} samples ({plan.sampling.how}) of {keys}")
    else:
        parts += [f"{len(axis.values)} of {axis.key}" for axis in plan.axes]
    parts.append(many(len(plan.seeds), "seed"))
    return f"{many(len(plan.points), 'point')}: {', '.join(parts)}"


def searching(asked: Sweeping) -> str:
    """Describe the goal of a search for people."""
    return f"goal: {asked.facts['asked']['goal']}; {many(len(asked.plan.seeds), 'seed')} a point"


def foresee(asked: Sweeping, workers: int, *, force: bool) -> dict[str, Any]:
    """Count the points of a sweep and estimate what they take; returns that as JSON has it.

    Only the largest number of points of a search is known.
    """
    from backwater.sweep.pilot import pilot, recipe_of
    from backwater.sweep.point import DONE

    known = {} if force else asked.known()
    plan = asked.plan
    missing = [point for point in plan.points if known.get(point.id) != DONE]
    if asked.most is None:
        points, left = len(plan.points), len(missing)
        message(counted(plan))
        if left < points:
            message(f"{points - left} of them are in {asked.directory} already")
        told: dict[str, Any] = {"points": points, "missing": left}
    else:
        points = left = asked.most
        message(searching(asked), f"at most {many(points, 'point')}")
        told = {"points": points, "goal": asked.facts["asked"]["goal"]}
    if missing:
        recipe = recipe_of(plan, asked.metrics, asked.keep)
        estimate, rows = pilot(plan, recipe, missing, _PILOT_POINTS, _PILOT_SECONDS, Stop())
        estimate.runs = left
        message(estimate.words("point", workers))
        told |= {
            "seconds_per_point": estimate.seconds,
            "seconds": estimate.work(workers),
            "workers": workers,
        }
        if asked.most is None:
            told["bytes"] = None if estimate.nbytes is None else round(estimate.nbytes * left)
        for tables in rows.values():
            for error in filter(None, tables["points"]["error"].to_pylist()):
                message(f"a point has failed: {error}")
    return told
