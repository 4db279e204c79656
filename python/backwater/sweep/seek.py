"""Searches for what a goal asks: which points are run next, by what has come of those before.

What is asked next depends on the goal, the values, the seeds, and on results alone: not on how many
workers there are, and not on when a command was stopped. So a search that goes on asks for the same
points once more, finds those that are there, and ends with the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from backwater.errors import InputError
from backwater.sweep.bisect import Bisection
from backwater.sweep.legal import Refused, refusal, stretch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.sweep.goal import Goal
    from backwater.sweep.plan import Plan, Point

Rows = dict[str, dict[str, Any]]
"""Rows of the table of points, by their ids."""


@dataclass(frozen=True)
class Batch:
    """Points that are run together, and the plan that they are of."""

    plan: Plan
    points: list[Point]
    later: int
    """Points that follow, at most."""
    apart: bool = False
    """Whether they are no part of what is searched, such as those of the base."""


class Seeking(Protocol):
    """Says what is run next."""

    def ask(self, rows: Rows) -> Batch | None:
        """Take the rows of all points that are there; gives the next ones. None: it is over.

        Raises `InputError` if what it is to judge by is not there.
        """


class Grid:
    """Runs all points of a plan, and no others."""

    def __init__(self, plan: Plan, more: Sequence[Batch] = ()) -> None:
        """`more`: points of other plans that are run as well."""
        self._batches = [Batch(plan, plan.points, sum(len(one.points) for one in more)), *more]

    def ask(self, rows: Rows) -> Batch | None:
        """Give the next plan."""
        del rows
        return self._batches.pop(0) if self._batches else None


@dataclass
class Line:
    """Points that differ in nothing but the key that is sought, and in their seeds."""

    variant: str
    others: tuple[int, ...]
    """The values of the other axes; -1 of the one that is sought."""
    places: list[int]
    """Numbers of the values of the key, as the condition is to hold: first where it does."""
    points: dict[int, list[Point]]
    """The points of each of them."""
    search: Bisection
    refused: list[Refused] = field(default_factory=list)
    """Values before and behind those, which the scenario refuses; numbers of `whole`."""
    whole: list[int] = field(default_factory=list)
    """Numbers of all values, those that are refused included."""


class Thresholds:
    """Seeks the largest, or smallest, value of a key at which a condition holds.

    Once for each variant and each combination of the other keys.
    """

    def __init__(self, plan: Plan, goal: Goal, more: Sequence[Batch] = ()) -> None:
        """Take the grid of values. Raises `InputError` if it has less than two."""
        self._plan, self._goal = plan, goal
        self.axis = next(n for n, one in enumerate(plan.axes) if one.key == goal.key)
        self.lines = self._lines()
        self._more = list(more)

    def _lines(self) -> list[Line]:
        found: dict[tuple[str, tuple[int, ...]], dict[int, list[Point]]] = {}
        for point in self._plan.points:
            at = point.values[self.axis]
            if at < 0:
                continue
            others = tuple(-1 if n == self.axis else v for n, v in enumerate(point.values))
            found.setdefault((point.variant, others), {}).setdefault(at, []).append(point)
        return [self._line(variant, others, points) for (variant, others), points in found.items()]

    def _line(self, variant: str, others: tuple[int, ...], points: dict[int, list[Point]]) -> Line:
        """Make a line of the legal ones among the values. Raises `InputError`."""
        whole = sorted(points, reverse=not self._goal.largest)
        if len(whole) < 2:
            raise InputError(
                f"--goal {self._goal.text}: --where leaves {len(whole)} value of {self._goal.key}",
                "a search needs two ends at least",
            )

        def why(number: int) -> str | None:
            error = refusal(self._plan, points[whole[number]][0])
            return None if error is None else error.reason

        legal, refused = stretch(len(whole), why)
        places = [whole[number] for number in legal]
        return Line(variant, others, places, points, Bisection(len(places)), list(refused), whole)

    def ask(self, rows: Rows) -> Batch | None:
        """Give the points of the values that are looked at next, in all lines at once."""
        self._tell(rows)
        points = [
            point
            for line in self.lines
            for number in line.search.ask()
            for point in line.points[line.places[number]]
        ]
        if points:
            later = sum(max(0, line.search.left) for line in self.lines)
            many = len(self._plan.seeds)
            extra = sum(len(one.points) for one in self._more)
            return Batch(self._plan, points, max(0, later * many - len(points)) + extra)
        return self._more.pop(0) if self._more else None

    def _tell(self, rows: Rows) -> None:
        for line in self.lines:
            for number in line.search.ask():
                points = line.points[line.places[number]]
                if all(point.id in rows for point in points):
                    found = self._goal.holds([rows[point.id] for point in points])
                    line.search.tell(number, holds=all(found))


class Trials:
    """Seeks the best point by Optuna's sampler: a tree-structured Parzen estimator (TPE).

    `count` points are tried, `together` at a time. Each has a sampler with a seed of its own, and
    what it suggests depends on the trials before it alone.
    """

    together = 4

    def __init__(
        self,
        plan: Plan,
        goal: Goal,
        count: int,
        seed: int,
        store: Any,  # noqa: ANN401 - of Optuna, which is imported late
        more: Sequence[Batch] = (),
    ) -> None:
        """`store` keeps the trials for Optuna's own tools. Raises `InputError`."""
        from backwater.sweep.trials import Study

        self._plan, self._goal = plan, goal
        self._study = Study(plan, goal, seed, store)
        self._count = count
        self._asked: list[tuple[int, list[Point]]] = []
        self._more = list(more)

    def ask(self, rows: Rows) -> Batch | None:
        """Tell what has come of the last trials, and give the points of the next ones."""
        for number, points in self._asked:
            self._study.tell(number, [rows[point.id] for point in points if point.id in rows])
        left = self._count - self._study.many
        extra = sum(len(one.points) for one in self._more)
        self._asked = []
        if left > 0:
            designs = self._study.ask(min(left, self.together))
            plan, found = self._plan.exactly([design for _, design in designs])
            self._asked = [(n, points) for (n, _), points in zip(designs, found, strict=True)]
            unique = {point.id: point for points in found for point in points}
            later = (left - len(designs)) * len(self._plan.seeds) + extra
            return Batch(plan, list(unique.values()), later)
        self._study.close()
        return self._more.pop(0) if self._more else None


def known(rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Give rows of the table of points by their ids."""
    return {str(row["point"]): dict(row) for row in rows}
