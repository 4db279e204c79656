"""What `backwater sweep` says before it runs: how many points, and what they will take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.cli.output import message
from backwater.stopping import Stop
from backwater.wording import duration, many, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.sweep.pilot import Estimate
    from backwater.sweep.plan import Plan, Point
    from backwater.sweep.run import Sweeping

# A pilot that only estimates runs so many points, for so many seconds at most together.
_PILOT_POINTS, _PILOT_SECONDS = 3, 10.0


def counted(plan: Plan) -> str:
    """Say what a plan is of, for people."""
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
    """Say what is sought, for people."""
    return f"goal: {asked.facts['asked']['goal']}; {many(len(asked.plan.seeds), 'seed')} a point"


def foresee(asked: Sweeping, workers: int, *, force: bool) -> dict[str, Any]:
    """Count the points of a sweep, and estimate what it takes; gives it as JSON has it."""
    from backwater.sweep.pilot import pilot, recipe_of

    known = {} if force else asked.known()
    plan = asked.plan
    missing = [point for point in plan.points if point.id not in known]
    if asked.most is not None:
        return _foresee_search(asked, asked.most, missing, workers)
    message(counted(plan))
    if len(missing) < len(plan.points):
        message(f"{len(plan.points) - len(missing)} of them are in {asked.directory} already")
    told: dict[str, Any] = {"points": len(plan.points), "missing": len(missing)}
    if missing:
        recipe = recipe_of(plan, asked.metrics, asked.keep)
        estimate = pilot(plan, recipe, missing, _PILOT_POINTS, _PILOT_SECONDS, Stop())
        message(estimated(estimate, workers))
        seconds = estimate.seconds
        told |= {
            "seconds_per_point": seconds,
            "seconds": None if seconds is None else seconds * len(missing) / workers,
            "workers": workers,
            "bytes": None if estimate.nbytes is None else round(estimate.nbytes * len(missing)),
        }
        for _, rows in estimate.measured:
            for error in filter(None, rows["points"]["error"].to_pylist()):
                message(f"a point has failed: {error}")
    return told


def _foresee_search(
    asked: Sweeping, most: int, missing: Sequence[Point], workers: int
) -> dict[str, Any]:
    """Estimate a search: how many points it runs is known by an upper bound alone."""
    from backwater.sweep.pilot import pilot, recipe_of

    message(searching(asked), f"at most {many(most, 'point')}")
    told: dict[str, Any] = {"points": most, "goal": asked.facts["asked"]["goal"]}
    if missing:
        recipe = recipe_of(asked.plan, asked.metrics, asked.keep)
        estimate = pilot(asked.plan, recipe, missing, _PILOT_POINTS, _PILOT_SECONDS, Stop())
        estimate.points = most
        message(estimated(estimate, workers))
        seconds = estimate.seconds
        told |= {
            "seconds_per_point": seconds,
            "seconds": None if seconds is None else seconds * most / workers,
            "workers": workers,
        }
    return told


def estimated(estimate: Estimate, workers: int | None) -> str:
    """Say what is foreseen, for people."""
    if estimate.seconds is None:
        return "a pilot run did not come to an end that could be foreseen: no estimate"
    whole = estimate.seconds * estimate.points
    said = f"about {_took(estimate.seconds)} a point by a pilot"
    if workers is None:
        said += f", {duration(whole)} of processor time together"
    else:
        on = "process" if workers == 1 else "processes"
        said += f", {duration(whole / workers)} for {estimate.points} on {workers} {on}"
    if estimate.nbytes is not None:
        said += f", {size(estimate.nbytes * estimate.points, '.1f')} of disk at most"
    return said


def _took(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else duration(seconds)
