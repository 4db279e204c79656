"""Works out the answer to a goal, as JSON holds it, from the points that were run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.sweep.findings import (
    Design,
    Unlike,
    alike,
    chosen,
    is_of_flows,
    paired,
    spread_json,
    takes,
)
from backwater.sweep.point import DONE
from backwater.sweep.seek import Thresholds
from backwater.sweep.values import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.sweep.bisect import Bisection
    from backwater.sweep.goal import Goal
    from backwater.sweep.plan import Plan, Point
    from backwater.sweep.seek import Batch, Line, Rows, Seeking

FOUND, EVERYWHERE, NOWHERE, ELSEWHERE = "found", "everywhere", "nowhere", "elsewhere"
FAILED, REFUSED, UNKNOWN, VALUELESS = "failed", "refused", "unknown", "no value"
"""Outcomes of a search for a threshold: the condition holds up to a value, at all values, at none,
or only away from the end where the search begins; the run at that end failed, no value is legal, no
value was tried, or a metric of the condition has no value at that end."""
TOTALS = ("pauses", "drops", "retransmitted", "unfinished")
"""Metrics of a point that an answer lists beside the times of its groups."""


class Answering:
    """The answer that follows from the plan of a search and the rows of its points."""

    def __init__(
        self,
        goal: Goal,
        plan: Plan,
        rows: Rows,
        base: tuple[str, list[Point]] | None,
        asked: Sequence[str] = (),
    ) -> None:
        """`base`: its name and its points. `asked`: further metrics to list."""
        self._goal, self._plan, self._rows = goal, plan, rows
        self._base = None
        self._called = ""
        self._base_points: list[str] = []
        if base is not None and base[1] and all(point.id in rows for point in base[1]):
            self._called = base[0]
            self._base = self._design(base[1])
            self._base_points = [point.id for point in base[1]]
        usual = [*goal.named, *asked]
        first = next((row for row in rows.values() if row["status"] == "done"), {})
        usual += [name for name in first if name.startswith(("mean_fct:", "max_fct:"))]
        self.metrics = list(dict.fromkeys([*usual, *TOTALS]))

    def _design(self, points: Sequence[Point]) -> Design:
        rows = [self._rows[point.id] for point in points if point.id in self._rows]
        values = tuple(rows[0].get(axis.key) for axis in self._plan.axes)
        return Design(points[0].variant, values, tuple(rows))

    def threshold(self, seeking: Thresholds) -> dict[str, Any]:
        """Return the answer for a threshold."""
        axis = self._plan.axes[seeking.axis]
        lines = [self._line(line, seeking.axis) for line in seeking.lines]
        return self._head("threshold") | {
            "key": axis.key,
            "unit": axis.unit,
            "largest": self._goal.largest,
            "range": [axis.values[0].text, axis.values[-1].text],
            "lines": lines,
        }

    def _unlike(self, line: Line) -> list[Unlike]:
        """Return the condition's metrics whose references differ between the tried values."""
        looked = [self._design(line.points[line.places[number]]) for number in line.search.held]
        named = (Unlike.of_designs(looked, name) for name in self._goal.named)
        return [one for one in named if one is not None]

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "text": self._goal.text,
            "kind": kind,
            "metrics": self.metrics,
            "seeds": list(self._plan.seeds),
            "base": self._called or None,
            "base_points": self._base_points,
        }

    def _line(self, line: Line, key: int) -> dict[str, Any]:
        axis, search = self._plan.axes[key], line.search

        def value(number: int) -> str:
            return axis.values[line.places[number]].text

        held = []
        for number in sorted(search.held):
            points = line.points[line.places[number]]
            rows = [self._rows[point.id] for point in points]
            holds = self._goal.judged(rows)
            needs = [f"{name} {takes(name)}" for name in self._goal.without(rows)]
            errors = [str(row["error"]).partition("\n")[0] for row in rows if row["error"]]
            held.append(
                {
                    "value": axis.values[line.places[number]].number,
                    "text": value(number),
                    "seeds": len(holds),
                    "hold": holds.count(True),
                    "unknown": holds.count(None),
                    "why": "; ".join(needs) or None,
                    "error": errors[0] if errors else None,
                }
            )
        low, high = search.low, search.high
        tests = []
        if low is not None:
            tests = self._tests(self._design(line.points[line.places[low]]))
        return {
            "variant": line.variant,
            "others": {
                one.key: one.values[at].text
                for one, at in zip(self._plan.axes, line.others, strict=True)
                if at >= 0
            },
            "outcome": _outcome(search, held),
            "answer": None if low is None else value(low),
            "fails": None if high is None else value(high),
            "against": [value(number) for number in search.against],
            "probes": held,
            "refused": [
                {
                    "from": axis.values[min(line.whole[one.first], line.whole[one.last])].text,
                    "to": axis.values[max(line.whole[one.first], line.whole[one.last])].text,
                    "reason": one.reason,
                }
                for one in line.refused
            ],
            "tests": tests,
            "unlike": [one.as_json() for one in self._unlike(line)],
        }

    def _tests(self, one: Design) -> list[dict[str, Any]]:
        """List the metrics of a design, and how they differ from the base."""
        found = []
        for name in self.metrics:
            test = None if self._base is None else paired(one, self._base, name)
            if test is not None:
                found.append(test.as_json())
                continue
            spread = one.spread(name)
            if spread is not None:
                found.append({"metric": name, "value": spread_json(spread)})
        return found

    def point(self, rounds: Sequence[Batch]) -> dict[str, Any]:
        """Return the answer for a best point or a front of two metrics. Raises `InputError`."""
        designs = self._designs(rounds)
        allowed = [one for one in designs if all(self._goal.holds(one.rows))]
        answer = self._head("best" if len(self._goal.metrics) == 1 else "front")
        broken = [row for one in designs for row in one.rows if row["status"] != DONE][:1]
        answer |= {
            "designs": len(designs),
            "allowed": len(allowed),
            "failed": sum(any(row["status"] != DONE for row in one.rows) for one in designs),
            "valueless": self._valueless(designs),
            "error": str(broken[0]["error"]).partition("\n")[0] if broken else None,
            "survivors": self._survivors(designs),
            "points": [],
        }
        names = [name for name, _ in self._goal.metrics]
        for name in names:
            if designs and not any(one.spread(name) for one in designs):
                raise InputError(
                    f"--goal {self._goal.text}: {name} has no value at any point: it {takes(name)}",
                    "max_ in place of a percentile needs only one",
                )
        found, differ = chosen(allowed, self._goal.metrics)
        answer["unlike"] = [one.as_json() for one in differ]
        if len(names) == 1 and found:
            answer |= alike(found[0], [one for one in allowed if one is not found[0]], names[0])
        for one in found:
            answer["points"].append(
                {
                    "variant": one.variant,
                    "values": {
                        axis.key: text_of(axis.key, value)
                        for axis, value in zip(self._plan.axes, one.values, strict=True)
                        if value is not None
                    },
                    "tests": self._tests(one),
                }
            )
        return answer

    def _survivors(self, designs: Sequence[Design]) -> dict[str, Any] | None:
        """Count incomplete flows, if the count varies and a metric covers complete flows only."""
        of_flows = [name for name, _ in self._goal.metrics if is_of_flows(name)]
        counts = {row.get("unfinished") or 0 for one in designs for row in one.rows}
        if not of_flows or len(counts) < 2:
            return None
        return {"metrics": of_flows, "least": min(counts), "most": max(counts)}

    def _valueless(self, designs: Sequence[Design]) -> list[dict[str, Any]]:
        """Count the designs at which a metric of the goal has no value, with the reason."""
        found: dict[str, int] = {}
        for one in designs:
            rows = [row for row in one.rows if row["status"] == DONE]
            names = [name for name, _ in self._goal.metrics]
            lacking = [name for name in names if any(row.get(name) is None for row in rows)]
            # A design that breaks the condition is out, whatever other metric has no value.
            allowed = False not in self._goal.judged(rows)
            for name in dict.fromkeys([*(lacking if allowed else []), *self._goal.without(rows)]):
                found[name] = found.get(name, 0) + 1
        return [
            {"metric": name, "designs": many, "why": takes(name)} for name, many in found.items()
        ]

    def _designs(self, rounds: Sequence[Batch]) -> list[Design]:
        found: dict[tuple[object, ...], list[Point]] = {}
        for batch in rounds:
            if batch.apart:
                continue
            for point in batch.points:
                settings = tuple(batch.plan.settings(point))
                found.setdefault((point.variant, settings), []).append(point)
        unique = ({point.id: point for point in some} for some in found.values())
        return [
            self._design(list(some.values()))
            for some in unique
            if all(point in self._rows for point in some)
        ]


def _outcome(search: Bisection, probes: Sequence[Mapping[str, Any]]) -> str:
    """Name the outcome of a search for a threshold."""
    if not search.count:
        return REFUSED
    if search.low is not None:
        return FOUND if search.high is not None else EVERYWHERE
    if not probes:
        return UNKNOWN
    if probes[0]["error"] is not None:
        return FAILED
    if probes[0]["unknown"] and probes[0]["hold"] + probes[0]["unknown"] == probes[0]["seeds"]:
        return VALUELESS
    return ELSEWHERE if any(one["hold"] == one["seeds"] for one in probes) else NOWHERE


def answered(seeking: Seeking, answering: Answering, rounds: Sequence[Batch]) -> dict[str, Any]:
    """Return the answer to a goal as JSON holds it. Raises `InputError`."""
    if isinstance(seeking, Thresholds):
        return answering.threshold(seeking)
    return answering.point(rounds)
