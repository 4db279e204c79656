"""What repeated runs come to: the spread of each number over them, with its confidence interval."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from backwater.numbers.registry import GROUP, QUANTITIES
from backwater.numbers.statistics import TOLD
from backwater.wording import figure, unit_beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Spread:
    """What independent repetitions of a number came to."""

    n: int
    mean: float
    min: float
    max: float
    std: float | None
    """Standard deviation of the sample (n - 1); None of one value."""
    ci_low: float | None
    ci_high: float | None
    """The 95 % confidence interval of the mean (Student's t); None of one value."""

    @property
    def low(self) -> float:
        """The lower end of the interval; of one value that value."""
        return self.mean if self.ci_low is None else self.ci_low

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Sum up at least one value; their order does not matter."""
        # Summed in an order of their own, so that the last bit does not depend on who came first.
        ordered = sorted(values)
        n = len(ordered)
        least, greatest = ordered[0], ordered[-1]
        # Of equal values a sum, divided, may be a last bit beside them: an interval of nothing.
        mean = float(least) if least == greatest else statistics.fmean(ordered)
        if n == 1:
            return Spread(1, mean, least, greatest, None, None, None)
        std = statistics.stdev(ordered, mean)
        half = student_t(n - 1) * std / math.sqrt(n)
        return Spread(n, mean, least, greatest, std, mean - half, mean + half)


@cache
def student_t(degrees: int) -> float:
    """How many standard errors either way hold 95 % of Student's t with `degrees` of freedom."""
    # Imported here: it takes a third of a second that only repetitions need.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975))


_UNITS = {one.report: one.unit for one in QUANTITIES.values() if one.has_statistics}
"""Units of what summaries of runs have statistics of."""
SUMMARY_UNITS = {"time_ps": "ps", "paused_ps": "ps"}
"""Units of what a run's summary and its ports have that is no count."""


@dataclass(frozen=True)
class Quantity:
    """One number of a run's report: of a group of flows, of all `ports`, or of the `run`."""

    of: str
    name: str
    unit: str
    value: float | None


def quantities(report: Mapping[str, Any]) -> list[Quantity]:
    """Every number of a run's report (`backwater.numbers.report`), in its order."""
    found = []
    counts = {one.report: one.unit for one in QUANTITIES.values() if one.of == GROUP and one.kept}
    for job in report.get("jct", []):
        # Of a job of which an instance is not complete no time is told, as in a single run.
        took = job["duration_us"] if job["complete"] == job["instances"] else None
        named = [("jct_us", "max")] if job["instances"] == 1 else [(f"jct_us.{s}", s) for s in TOLD]
        found += [
            Quantity(job["job"], name, _UNITS["jct_us"], None if took is None else took[statistic])
            for name, statistic in named
        ]
    for group in report["groups"]:
        found += [
            Quantity(group["group"], name, unit, group.get(name)) for name, unit in counts.items()
        ]
        for name in ("fct_last_byte_us", "fct_last_ack_us", "slowdown"):
            times = group.get(name) or dict.fromkeys(TOLD)
            found += [
                Quantity(group["group"], f"{name}.{statistic}", _UNITS[name], times[statistic])
                for statistic in TOLD
            ]
    for step in report.get("jobs", []):
        of = f"{step['job']}/{step['step']}"
        for name in ("duration_us", "bound_us", "busbw_gbps"):
            values = step[name] or dict.fromkeys(TOLD)
            found += [Quantity(of, f"{name}.{one}", _UNITS[name], values[one]) for one in TOLD]
    for of, numbers in (("ports", report["ports"]), ("run", report["summary"])):
        found += [
            Quantity(of, name, SUMMARY_UNITS.get(name, ""), value)
            for name, value in numbers.items()
            if isinstance(value, (int, float))
        ]
    return found


def over_runs(reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sum up every number of the reports of repeated runs, one row a number.

    A run that has no such number (no flow of the group was complete) is not among its `n`.
    """
    values: dict[tuple[str, str, str], list[float]] = {}
    for report in reports:
        for one in quantities(report):
            if one.value is not None:
                values.setdefault((one.of, one.name, one.unit), []).append(one.value)
    return [
        {"of": of, "quantity": name, "unit": unit, **asdict(Spread.of(numbers))}
        for (of, name, unit), numbers in values.items()
    ]


_METRICS = {one.report: one.name for one in QUANTITIES.values() if one.has_statistics}
"""The metrics of what summaries of runs have statistics of."""


def named(quantity: str) -> str:
    """Give what a number of a report is called for people: as the metric, `mean_fct`."""
    of, _, statistic = quantity.partition(".")
    name = _METRICS.get(of, of)
    return f"{'median' if statistic == 'p50' else statistic}_{name}" if statistic else name


def _count(row: Mapping[str, Any]) -> str:
    unit = unit_beside(row["quantity"], row["unit"])
    return f"{named(row['quantity'])} {figure(row['mean'])} {unit}".rstrip()


@dataclass(frozen=True)
class Folded:
    """Rows of `over_runs` that say something each, and what needs no row."""

    rows: list[tuple[dict[str, Any], bool]]
    """Each with whether it is the same in all runs."""
    counts: dict[str, list[str]]
    """Counts that are the same in all runs, such as `flows 4`, by what they are of."""
    zeros: dict[str, list[str]]
    """Of what a quantity is 0 in all runs."""


def fold(rows: Sequence[dict[str, Any]], runs: int) -> Folded:
    """Take together what never changes: statistics have one row, counts and zeros none."""
    found = Folded([], {}, {})
    told: set[tuple[str, str, float]] = set()
    for row in rows:
        of, quantity = row["of"], row["quantity"]
        same = row["min"] == row["max"] and row["n"] == runs > 1
        base, dot, _ = quantity.partition(".")
        if same and not row["mean"]:
            found.zeros.setdefault(named(quantity), []).append(of)
        elif same and not dot:
            found.counts.setdefault(of, []).append(_count(row))
        elif not same or (of, base, row["mean"]) not in told:
            told.update({(of, base, row["mean"])} if same else ())
            found.rows.append((row, same))
    return found


def said_same(counts: Mapping[str, Sequence[str]]) -> str:
    """Say which counts are the same in all runs; empty without one."""
    said = "; ".join(f"{of}: {', '.join(known)}" for of, known in counts.items())
    return f"The same in all runs: {said}." if said else ""
