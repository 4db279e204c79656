"""The answer to a goal, from the points that were run: as JSON has it, and in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.numbers.metrics import QUANTITIES, metric
from backwater.sweep.findings import Design, best, front, paired, spread_told
from backwater.sweep.seek import Thresholds
from backwater.sweep.values import text_of
from backwater.wording import figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.sweep.goal import Goal
    from backwater.sweep.plan import Plan, Point
    from backwater.sweep.seek import Batch, Line, Rows, Seeking

TOTALS = ("pauses", "drops", "retransmitted", "unfinished")
"""What is told of a point beside the times of its groups."""


class Answering:
    """Works out the answer from the plan of a search, and the rows of its points."""

    def __init__(
        self,
        goal: Goal,
        plan: Plan,
        rows: Rows,
        base: tuple[str, list[Point]] | None,
        asked: Sequence[str] = (),
    ) -> None:
        """`base`: what it is called, and its points. `asked`: metrics to be told, too."""
        self._goal, self._plan, self._rows = goal, plan, rows
        self._base = None
        self._called = ""
        if base is not None and base[1] and all(point.id in rows for point in base[1]):
            self._called = base[0]
            self._base = self._design(base[1])
        usual = [*goal.named, *asked]
        first = next((row for row in rows.values() if row["status"] == "done"), {})
        usual += [name for name in first if name.startswith(("mean_fct:", "max_fct:"))]
        self.metrics = list(dict.fromkeys([*usual, *TOTALS]))

    def _design(self, points: Sequence[Point]) -> Design:
        rows = [self._rows[point.id] for point in points if point.id in self._rows]
        values = tuple(rows[0].get(axis.key) for axis in self._plan.axes)
        return Design(points[0].variant, values, tuple(rows))

    def threshold(self, seeking: Thresholds) -> dict[str, Any]:
        """Answer for a threshold."""
        axis = self._plan.axes[seeking.axis]
        lines = [self._line(line, seeking.axis) for line in seeking.lines]
        return self._told("threshold") | {
            "key": axis.key,
            "unit": axis.unit,
            "largest": self._goal.largest,
            "range": [axis.values[0].text, axis.values[-1].text],
            "lines": lines,
        }

    def _told(self, kind: str) -> dict[str, Any]:
        return {
            "text": self._goal.text,
            "kind": kind,
            "metrics": self.metrics,
            "seeds": list(self._plan.seeds),
            "base": self._called or None,
        }

    def _line(self, line: Line, key: int) -> dict[str, Any]:
        axis, search = self._plan.axes[key], line.search

        def value(number: int) -> str:
            return axis.values[line.places[number]].text

        held = []
        for number in sorted(search.held):
            points = line.points[line.places[number]]
            rows = [self._rows[point.id] for point in points]
            holds = self._goal.holds(rows)
            errors = [str(row["error"]).partition("\n")[0] for row in rows if row["error"]]
            held.append(
                {
                    "value": axis.values[line.places[number]].number,
                    "text": value(number),
                    "seeds": len(holds),
                    "hold": sum(holds),
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
            "answer": None if low is None else value(low),
            "fails": None if high is None else value(high),
            "against": [value(number) for number in search.against],
            "probes": held,
            "tests": tests,
        }

    def _tests(self, one: Design) -> list[dict[str, Any]]:
        """Tell the metrics of a design, and how they differ from the base."""
        found = []
        for name in self.metrics:
            test = None if self._base is None else paired(one, self._base, name)
            if test is not None:
                found.append(test.told())
                continue
            spread = one.spread(name)
            if spread is not None:
                found.append({"metric": name, "value": spread_told(spread)})
        return found

    def point(self, rounds: Sequence[Batch]) -> dict[str, Any]:
        """Answer for a best point, or for a front of two metrics. Raises `InputError`."""
        designs = self._designs(rounds)
        allowed = [one for one in designs if all(self._goal.holds(one.rows))]
        told = self._told("best" if len(self._goal.metrics) == 1 else "front")
        told |= {"designs": len(designs), "allowed": len(allowed), "points": []}
        names = [name for name, _ in self._goal.metrics]
        for name in names:
            if designs and not any(one.spread(name) for one in designs):
                raise InputError(
                    f"--goal {self._goal.text}: {name} has no value at any point: {_why(name)}"
                )
        if len(names) == 1:
            found = best(allowed, names[0], least=self._goal.metrics[0][1])
            chosen = [] if found is None else [found]
        else:
            known = [one for one in allowed if all(one.spread(name) for name in names)]
            values = [
                [spread.mean for name in names if (spread := one.spread(name))] for one in known
            ]
            chosen = [known[n] for n in front(values, [least for _, least in self._goal.metrics])]
        for one in chosen:
            told["points"].append(
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
        return told

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


def _why(name: str) -> str:
    try:
        wanted = metric(name)
    except InputError:
        return "no run has it"
    if wanted.statistic is not None and wanted.statistic.startswith("p"):
        return "it needs more complete flows; max_ in its place needs one"
    return "no flow of it was complete"


def answered(seeking: Seeking, answering: Answering, rounds: Sequence[Batch]) -> dict[str, Any]:
    """Give the answer to a goal as JSON has it. Raises `InputError`."""
    if isinstance(seeking, Thresholds):
        return answering.threshold(seeking)
    return answering.point(rounds)


def unit_of(name: str) -> str:
    """Give the unit of a metric by its name."""
    quantity = name.partition(":")[0]
    for part in (quantity, quantity.partition("_")[2]):
        if part in QUANTITIES:
            return QUANTITIES[part].unit
    return "us" if "fct" in quantity else ""


def words(told: Mapping[str, Any]) -> list[str]:
    """Write an answer for people, without its table."""
    if told["kind"] == "threshold":
        lines = []
        for line in told["lines"]:
            lines += _line_words(told, line)
        return lines or ["the key has no effect in any variant: nothing was sought"]
    return _point_words(told)


def _line_words(told: Mapping[str, Any], line: Mapping[str, Any]) -> list[str]:
    which = "largest" if told["largest"] else "smallest"
    seeds = len(told["seeds"])
    of = [line["variant"]] if line["variant"] else []
    of += [f"{key} {value}" for key, value in line["others"].items()]
    begin = f"{', '.join(of)}: " if of else ""
    condition = told["text"].partition(" where ")[2]
    over = f"{seeds} seeds" if seeds > 1 else "1 seed"
    if line["answer"] is None:
        first = line["probes"][0] if line["probes"] else None
        if first is None:
            return [f"{begin}nothing was looked at yet"]
        lines = [
            f"{begin}no {told['key']} from {told['range'][0]} to {told['range'][1]}: `{condition}` "
            f"does not hold at {first['text']} ({first['hold']} of {first['seeds']} seeds)"
        ]
        if first["error"] is not None:
            lines.append(f"a run fails there: {first['error']}")
        held = [one["text"] for one in line["probes"] if one["hold"] == one["seeds"]]
        if held:
            other = "smallest" if told["largest"] else "largest"
            lines.append(f"it does at {', '.join(held)}: is the {other} meant?")
        return lines
    lines = [f"{begin}{which} {told['key']}: {line['answer']}, with all of {over}"]
    if line["fails"] is None:
        lines[0] += f"; that is the end of the range: `{condition}` held at all values looked at"
    else:
        failing = next(one for one in line["probes"] if one["text"] == line["fails"])
        lines[0] += (
            f"; at {line['fails']} `{condition}` fails with {failing['seeds'] - failing['hold']} "
            f"of {failing['seeds']}"
        )
        if failing["error"] is not None:
            lines[0] += f", since a run fails: {failing['error']}"
    lines.append(
        f"{len(line['probes'])} values were looked at: "
        + ", ".join(f"{one['text']} {one['hold']}/{one['seeds']}" for one in line["probes"])
    )
    if line["against"]:
        lines.append(
            f"NOT MONOTONE: `{condition}` holds again at {', '.join(line['against'])}; the answer "
            "is the end of the first stretch, and there may be others between values looked at"
        )
    else:
        lines.append("monotone at these values; between them it was not looked at")
    if seeds > 1:
        share = 0.05 ** (1 / seeds)
        lines.append(
            f"with {seeds} of {seeds} seeds, at least {share:.0%} of all seeds hold (95 % "
            "confidence, one-sided)"
        )
    return lines


def _point_words(told: Mapping[str, Any]) -> list[str]:
    condition = told["text"].partition(" where ")[2]
    within = f", {told['allowed']} of which meet `{condition}` with all seeds" if condition else ""
    looked = f"{told['designs']} sets of values were looked at{within}"
    if not told["points"]:
        return [f"no point: {looked}"]
    lines = [looked]
    if told["kind"] == "front":
        return [*lines, f"{len(told['points'])} of them no other beats in both metrics"]
    one = told["points"][0]
    values = [f"{key} = {value}" for key, value in one["values"].items()]
    name = told["text"].split()[0]
    test = next((test for test in one["tests"] if test["metric"] == name), None)
    if test is None:
        return lines
    said = f"best: {', '.join([*([one['variant']] if one['variant'] else []), *values])}: "
    return [
        said + f"{name} {interval(test['value'])} {unit_of(name)}".rstrip(),
        looked,
        "the interval does not count that the best of many was chosen: new seeds may find less",
    ]


def interval(spread: Mapping[str, Any]) -> str:
    """Write a mean and the half of its interval."""
    if spread["ci_low"] is None:
        return figure(spread["mean"])
    half = (spread["ci_high"] - spread["ci_low"]) / 2
    if half <= 0:
        return f"{figure(spread['mean'])} ± 0"
    # Three digits of the interval say enough, and the mean has as many places.
    places = max(0, 2 - math.floor(math.log10(half)))
    return f"{spread['mean']:.{places}f} ± {half:.{places}f}"
