"""Searches for the answer to a goal: each chooses the next points from the results so far.

The choice depends only on the goal, the values, the seeds and the results, not on the number of
workers or on when a command was stopped. So a continued search requests the same points again,
finds the existing ones, and ends with the same answer.
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
"""Rows of the table of points, by id."""


@dataclass(frozen=True)
class Batch:
    """Points to run together, and their plan."""

    plan: Plan
    points: list[Point]
    later: int
    """The most points that may follow."""
    apart: bool = False
    """Whether the points are outside the search, such as those of the base."""


class Seeking(Protocol):
    """Chooses the points to run next."""

    def ask(self, rows: Rows) -> Batch | None:
        """Take the rows of all existing points; return the next batch. None: the search is over.

        Raises `InputError` if the rows lack a needed metric.
        """


class Grid:
    """Runs all points of a plan, and no others."""

    def __init__(self, plan: Plan, more: Sequence[Batch] = ()) -> None:
        """`more`: batches of other plans to run as well."""
        self._batches = [Batch(plan, plan.points, sum(len(one.points) for one in more)), *more]

    def ask(self, rows: Rows) -> Batch | None:
        """Return the next batch."""
        del rows
        return self._batches.pop(0) if self._batches else None


@dataclass
class Line:
    """Points that differ only in the sought key and in their seeds."""

    variant: str
    others: tuple[int, ...]
    """Numbers of the values of the other axes; -1 for the sought key."""
    places: list[int]
    """Numbers of the key's legal values, beginning at the end where the condition should hold."""
    points: dict[int, list[Point]]
    """The points of each value."""
    search: Bisection
    refused: list[Refused] = field(default_factory=list)
    """Refused values before and after `places`, as numbers in `whole`."""
    whole: list[int] = field(default_factory=list)
    """Numbers of all values, including refused ones."""


class Thresholds:
    """Seeks the largest or smallest value of a key at which a condition holds.

    There is one search for each variant and combination of the other keys.
    """

    def __init__(self, plan: Plan, goal: Goal, more: Sequence[Batch] = ()) -> None:
        """`plan`: the grid of values. Raises `InputError` if a line has fewer than two."""
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
        """Make a line of the legal values. Raises `InputError`."""
        whole = sorted(points, reverse=not self._goal.largest)
        if len(whole) < 2:
            raise InputError(
                f"--goal {self._goal.text}: --where leaves {len(whole)} value of {self._goal.key}",
                "a search needs at least two values",
            )

        def why(number: int) -> str | None:
            error = refusal(self._plan, points[whole[number]][0])
            return None if error is None else error.reason

        legal, refused = stretch(len(whole), why)
        places = [whole[number] for number in legal]
        return Line(variant, others, places, points, Bisection(len(places)), list(refused), whole)

    def ask(self, rows: Rows) -> Batch | None:
        """Return the points of the next values to try, for all lines at once."""
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

    It tries `count` points, `together` at a time. Each has a sampler with its own seed, whose
    suggestion depends only on earlier trials.
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
        """Report the results of the last trials to Optuna; return the points of the next ones."""
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
    """Return rows of the table of points by id."""
    return {str(row["point"]): dict(row) for row in rows}
