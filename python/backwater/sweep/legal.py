"""Finds the values that a scenario accepts.

A sweep begins if any point is legal; a search uses legal points only. To check a scenario with its
values takes some tenths of a millisecond, without a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from backwater import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from backwater.sweep.plan import Plan, Point

_MOST = 4096
"""Points, or samples of intervals, to try before all count as illegal."""
_PARTS = 64
"""Parts into which ordered values are divided to find a legal one."""


@dataclass(frozen=True)
class Refused:
    """Consecutive values that the scenario refuses, and why."""

    first: int
    last: int
    """Numbers of the values, both included."""
    reason: str


def refusal(plan: Plan, point: Point) -> _core.ScenarioError | None:
    """Return why the scenario refuses a point; None: it accepts the point."""
    try:
        plan.at(point).resolved()
    except _core.ScenarioError as error:
        return error
    return None


def examples(plan: Plan) -> dict[str, str]:
    """Return the resolved scenario of a legal point for each variant that has one.

    Raises the `backwater.ScenarioError` of the first point if no point is legal.
    """
    found: dict[str, str] = {}
    first: _core.ScenarioError | None = None
    for its, point in _candidates(plan):
        if point.variant in found:
            continue
        try:
            found[point.variant] = its.at(point).resolved()
        except _core.ScenarioError as error:
            first = first or error
            continue
        if len(found) == len(plan.scenarios):
            break
    if not found and first is not None:
        raise first
    return found


def _candidates(plan: Plan) -> Iterator[tuple[Plan, Point]]:
    """Yield points to try: the first of each variant, then some from all over the plan."""
    firsts: dict[str, Point] = {}
    for point in plan.points:
        firsts.setdefault(point.variant, point)
    yield from ((plan, point) for point in firsts.values())
    if not plan.searched:
        unique = {(point.variant, point.values): point for point in plan.points}
        designs = list(unique.values())
        # An odd stride, so that the last key does not repeat the same few values.
        stride = max(1, len(designs) // _MOST) | 1
        yield from ((plan, point) for point in designs[1::stride])
        return
    yield from _drawn(plan)


def _drawn(plan: Plan) -> Iterator[tuple[Plan, Point]]:
    """Yield points of a plan whose values a search chooses: the highest corner, then samples."""
    from backwater.sweep.plan import Sampling

    many = len(plan.axes)
    # A few at first, since the first of them is nearly always legal.
    for count in (16, _MOST // 4):
        shares = [[1.0] * many, *Sampling("lhs", count, 1).shares(many)]
        its, found = plan.exactly(
            [
                (variant, tuple(axis.share(one) for axis, one in zip(plan.axes, some, strict=True)))
                for some in shares
                for variant in plan.scenarios
            ]
        )
        yield from ((its, points[0]) for points in found if points)


def stretch(count: int, refused: Callable[[int], str | None]) -> tuple[range, Sequence[Refused]]:
    """Return the legal stretch of ordered values, and the refused values before and after it.

    The search checks both ends first, and bisects from an illegal end to the first legal value.
    Values between two legal ones count as legal unchecked. `refused` returns the reason, or None.
    """
    ends = {number: refused(number) for number in {0, count - 1}}
    if not any(ends.values()):
        return range(count), []
    ladder = sorted({round((count - 1) * part / _PARTS) for part in range(_PARTS + 1)})
    known = {number: ends.get(number) or refused(number) for number in ladder if number not in ends}
    known |= ends
    legal = [number for number in ladder if known[number] is None]
    if not legal:
        return range(0), [Refused(0, count - 1, known[0] or "")]

    def edge(bad: int, good: int) -> int:
        """Bisect between an illegal and a legal value; return the last illegal one."""
        while abs(good - bad) > 1:
            middle = (good + bad) // 2
            reason = refused(middle)
            if reason is None:
                good = middle
            else:
                bad, known[middle] = middle, reason
        return bad

    low, high = legal[0], legal[-1]
    outside = []
    if low > 0:
        last = edge(ladder[ladder.index(low) - 1], low)
        outside.append(Refused(0, last, known[last] or ""))
        low = last + 1
    if high < count - 1:
        first = edge(ladder[ladder.index(high) + 1], high)
        outside.append(Refused(first, count - 1, known[first] or ""))
        high = first - 1
    return range(low, high + 1), outside
