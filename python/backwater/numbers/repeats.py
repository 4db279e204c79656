"""The numbers of repeated runs: the spread of each, with its confidence interval."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from backwater.numbers.registry import GROUP, QUANTITIES
from backwater.numbers.statistics import REPORTED
from backwater.wording import figure, unit_beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True)
class Spread:
    """The spread of a number over independent repetitions."""

    n: int
    mean: float
    min: float
    max: float
    std: float | None
    """Standard deviation of the sample (n - 1); None for one value."""
    ci_low: float | None
    ci_high: float | None
    """The 95 % confidence interval of the mean (Student's t); None for one value."""

    @property
    def low(self) -> float:
        """The lower end of the interval; for one value, that value."""
        return self.mean if self.ci_low is None else self.ci_low

    @property
    def high(self) -> float:
        """The upper end of the interval; for one value, that value."""
        return self.mean if self.ci_high is None else self.ci_high

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Return the spread of at least one value, in any order."""
        # Sorted, so that the last bit of the sum does not depend on the order of runs.
        ordered = sorted(values)
        n = len(ordered)
        least, greatest = ordered[0], ordered[-1]
        # The rounded mean of equal values may differ from them in the last bit.
        mean = float(least) if least == greatest else statistics.fmean(ordered)
        if n == 1:
            return Spread(1, mean, least, greatest, None, None, None)
        std = statistics.stdev(ordered, mean)
        half = student_t(n - 1) * std / math.sqrt(n)
        return Spread(n, mean, least, greatest, std, mean - half, mean + half)


@cache
def student_t(degrees: int) -> float:
    """Return the standard errors to either side that hold 95 % of Student's t distribution."""
    # Imported here: only repetitions need it, and it takes a third of a second.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975))


_UNITS = {one.report: one.unit for one in QUANTITIES.values() if one.has_statistics}
"""Units of the quantities whose statistics are in summaries of runs."""
SUMMARY_UNITS = {"time_ps": "ps", "paused_ps": "ps"}
"""Units of those numbers of a run's summary and ports that are no counts."""


def _numbers(report: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str], float | None]]:
    """Yield the numbers of a run's report in its order: subject, name and unit, then the value.

    The subject is a group of flows, a job, a step, `ports` (all of them) or `run`.
    """
    counts = {one.report: one.unit for one in QUANTITIES.values() if one.of == GROUP and one.kept}
    for job in report.get("jct", []):
        # A job has a time only if all its instances are complete, as in a single run.
        took = job["duration_us"] if job["complete"] == job["instances"] else None
        if job["instances"] == 1:
            yield (job["job"], "jct_us", _UNITS["jct_us"]), took and took["max"]
        else:
            yield from _statistics(job["job"], "jct_us", took)
    for group in report["groups"]:
        for name, unit in counts.items():
            yield (group["group"], name, unit), group.get(name)
        for name in ("fct_last_byte_us", "fct_last_ack_us", "slowdown"):
            yield from _statistics(group["group"], name, group.get(name))
    for step in report.get("jobs", []):
        for name in ("duration_us", "bound_us", "busbw_gbps"):
            yield from _statistics(f"{step['job']}/{step['step']}", name, step[name])
    for of, numbers in (("ports", report["ports"]), ("run", report["summary"])):
        for name, value in numbers.items():
            if isinstance(value, (int, float)):
                yield (of, name, SUMMARY_UNITS.get(name, "")), value


def _statistics(
    of: str, name: str, values: Mapping[str, float | None] | None
) -> Iterator[tuple[tuple[str, str, str], float | None]]:
    for one in REPORTED:
        yield (of, f"{name}.{one}", _UNITS[name]), None if values is None else values[one]


def over_runs(reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the spread of every number over the reports of repeated runs, one row per number.

    `n` counts the runs that have the number: a group may have no complete flow in some.
    """
    values: dict[tuple[str, str, str], list[float]] = {}
    for report in reports:
        for key, value in _numbers(report):
            if value is not None:
                values.setdefault(key, []).append(value)
    return [
        {"of": of, "quantity": name, "unit": unit, **asdict(Spread.of(numbers))}
        for (of, name, unit), numbers in values.items()
    ]


_METRICS = {one.report: one.name for one in QUANTITIES.values() if one.has_statistics}
"""Names of the metrics whose statistics are in summaries of runs."""


def named(quantity: str) -> str:
    """Return the name that users read for a number of a report: that of the metric, `mean_fct`."""
    of, _, statistic = quantity.partition(".")
    name = _METRICS.get(of, of)
    return f"{'median' if statistic == 'p50' else statistic}_{name}" if statistic else name


def _count(row: Mapping[str, Any]) -> str:
    unit = unit_beside(row["quantity"], row["unit"])
    return f"{named(row['quantity'])} {figure(row['mean'])} {unit}".rstrip()


@dataclass(frozen=True)
class Folded:
    """Rows of `over_runs` that are worth showing, and the numbers that need no row."""

    rows: list[tuple[dict[str, Any], bool]]
    """Each row with whether its number is the same in all runs."""
    counts: dict[str, list[str]]
    """Counts that are the same in all runs, such as `flows 4`, by subject."""
    zeros: dict[str, list[str]]
    """The subjects for which a quantity is 0 in all runs, by its name."""


def fold(rows: Sequence[dict[str, Any]], runs: int) -> Folded:
    """Combine what is the same in all runs: statistics get one row, counts and zeros none."""
    found = Folded([], {}, {})
    shown: set[tuple[str, str, float]] = set()
    for row in rows:
        of, quantity = row["of"], row["quantity"]
        same = row["min"] == row["max"] and row["n"] == runs > 1
        base, dot, _ = quantity.partition(".")
        if same and not row["mean"]:
            found.zeros.setdefault(named(quantity), []).append(of)
        elif same and not dot:
            found.counts.setdefault(of, []).append(_count(row))
        elif not same or (of, base, row["mean"]) not in shown:
            shown.update({(of, base, row["mean"])} if same else ())
            found.rows.append((row, same))
    return found


def said_same(counts: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence with the counts that are the same in all runs; empty without one."""
    known = "; ".join(f"{of}: {', '.join(these)}" for of, these in counts.items())
    return f"The same in all runs: {known}." if known else ""
