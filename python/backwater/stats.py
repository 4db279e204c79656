"""Numbers about a run's tables and about repeated runs: completion times, totals, spreads."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from backwater.samples import has

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.results import Run

PS_PER_US = 1e6
BPS_PER_GBPS = 1e9

# What is told of the completion times of a group.
TIMES = ("mean", "p50", "p99", "min", "max")


def group_times(flows: pa.Table) -> list[dict[str, Any]]:
    """Give, for each group of flows, how many completed and their completion times in us.

    Times are of complete flows only, from the flow's start to `fct_last_byte` (last byte at the
    receiver) and to `fct_last_ack` (last acknowledgement back at the sender). `slowdown`, a ratio,
    is of complete flows only, too.
    """
    if flows.num_rows == 0:
        return []
    rows = []
    for group in groups(flows):
        members = flows.filter(pc.field("group") == group)
        complete = members.filter(pc.field("state") == "complete")
        rows.append(
            {
                "group": group,
                "flows": members.num_rows,
                "complete": complete.num_rows,
                "failed": _in_state(members, "failed"),
                "unfinished": _in_state(members, "unfinished"),
                "bytes": pc.sum(members["bytes"]).as_py(),
                "received": pc.sum(members["received"]).as_py(),
                "retransmitted": pc.sum(members["retransmitted"]).as_py(),
                "timeouts": pc.sum(members["timeouts"]).as_py(),
                "fct_last_byte_us": spread(complete["fct_last_byte_ps"]),
                "fct_last_ack_us": spread(complete["fct_last_ack_ps"]),
                "slowdown": spread(complete["slowdown"], 1),
            }
        )
    return rows


def groups(flows: pa.Table) -> list[str]:
    """Labels of the groups of flows, in the order of the scenario."""
    # Flows are numbered in the order of the scenario, rows come in the order of completion.
    return [str(group) for group in pc.unique(flows.sort_by("flow_id")["group"]).to_pylist()]


def waiting(flows: pa.Table) -> list[dict[str, Any]]:
    """Give, for each group with unfinished flows, the first of them and what it waited for."""
    if flows.num_rows == 0:
        return []
    unfinished = flows.filter(pc.field("state") == "unfinished").sort_by("flow_id")
    columns = {
        "group": "group",
        "flow": "flow_id",
        "src": "src",
        "dst": "dst",
        "waits_for": "waits_for",
    }
    first = []
    for group in groups(unfinished):
        row = unfinished.filter(pc.field("group") == group).slice(0, 1)
        first.append({name: row[column][0].as_py() for name, column in columns.items()})
    return first


def job_times(collectives: pa.Table) -> list[dict[str, Any]]:
    """Give, for each step of each job, how long its collectives took, in us, beside their bound.

    Times and bandwidths (Gb/s) are of complete ones only; `bound_us` is what the busiest host link
    needs. A collective is what one group of ranks does in one round.
    """
    rows = []
    for job, step in _distinct(collectives, "job", "step"):
        members = collectives.filter((pc.field("job") == job) & (pc.field("step") == step))
        complete = members.filter(pc.is_valid(pc.field("end_ps")))
        rows.append(
            {
                "job": job,
                "step": step,
                "kind": members["kind"][0].as_py(),
                "algorithm": members["algorithm"][0].as_py(),
                "collectives": members.num_rows,
                "complete": complete.num_rows,
                "bytes": pc.sum(members["bytes"]).as_py(),
                "duration_us": spread(complete["duration_ps"]),
                "bound_us": spread(complete["bound_ps"]),
                "algbw_gbps": spread(complete["algbw_bps"], BPS_PER_GBPS),
                "busbw_gbps": spread(complete["busbw_bps"], BPS_PER_GBPS),
            }
        )
    return rows


def job_steps(collectives: pa.Table) -> list[tuple[str, str]]:
    """The steps of jobs that have collectives, each as its job and its own label."""
    if collectives.num_rows == 0:
        return []
    return _distinct(collectives.sort_by([("start_ps", "ascending")]), "job", "step")


def round_times(rounds: pa.Table) -> list[dict[str, Any]]:
    """Give, for each round of each job, when its first step began and its last ended, in us.

    `instances` is the spread of that time over the job's instances. Rounds that an instance has
    begun and not completed are left out.
    """
    if rounds.num_rows == 0:
        return []
    rows = []
    for job, number in _distinct(rounds.sort_by([("round", "ascending")]), "job", "round"):
        members = rounds.filter((pc.field("job") == job) & (pc.field("round") == number))
        if members["end_ps"].null_count == 0:
            rows.append(
                {
                    "job": job,
                    "round": number,
                    "start_us": pc.min(members["start_ps"]).as_py() / PS_PER_US,
                    "end_us": pc.max(members["end_ps"]).as_py() / PS_PER_US,
                    "instances": spread(members["duration_ps"]),
                }
            )
    return rows


def _distinct(rows: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    """The combinations of values that there are, in the order in which they first come."""
    if rows.num_rows == 0:
        return []
    return list(dict.fromkeys(zip(*(rows[name].to_pylist() for name in columns), strict=True)))


def _in_state(flows: pa.Table, state: str) -> int:
    return flows.filter(pc.field("state") == state).num_rows


def spread(
    times_ps: pa.ChunkedArray[Any], divisor: float = PS_PER_US
) -> dict[str, float | None] | None:
    """Mean, median, 99th percentile, least and greatest of times in ps, as us; None of nothing.

    A percentile of too few times is None (`backwater.samples`); `n` says how many they are.
    """
    times = pc.drop_null(times_ps)
    if len(times) == 0:
        return None
    quantiles = [
        pc.quantile(times, q=q)[0].as_py() if has(q, len(times)) else None for q in (0.5, 0.99)
    ]
    least, greatest = pc.min(times).as_py(), pc.max(times).as_py()
    values = (pc.mean(times).as_py(), *quantiles, least, greatest)
    told = {
        name: None if value is None else value / divisor
        for name, value in zip(TIMES, values, strict=True)
    }
    return told | {"n": len(times)}


def port_totals(ports: pa.Table) -> dict[str, int]:
    """Sums over all ports, and how many ports received a pause."""
    if ports.num_rows == 0:
        return {}
    columns = (
        "pauses_sent",
        "pauses_received",
        "paused_ps",
        "drop_frames",
        "flushed_frames",
        "marked_frames",
    )
    totals = {name: int(pc.sum(ports[name]).as_py() or 0) for name in columns}
    totals["ports_paused"] = ports.filter(pc.field("pauses_received") > 0).num_rows
    return totals


def count_control(run: Run, kind: str) -> int:
    """How many control messages of one kind a run sent."""
    if run.control.num_rows == 0:
        return 0
    return run.control.filter(pc.field("kind") == kind).num_rows


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
        mean, least, greatest = statistics.fmean(ordered), ordered[0], ordered[-1]
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


# Unit of each number of a run's summary and of its ports; None: a count.
SUMMARY_UNITS = {"time_ps": "ps", "paused_ps": "ps"}
GROUP_UNITS = {
    "flows": "flows",
    "complete": "flows",
    "failed": "flows",
    "unfinished": "flows",
    "bytes": "B",
    "received": "B",
    "retransmitted": "packets",
    "timeouts": "",
}


@dataclass(frozen=True)
class Quantity:
    """One number of a run's report: of a group of flows, of all `ports`, or of the `run`."""

    of: str
    name: str
    unit: str
    value: float | None


def quantities(report: Mapping[str, Any]) -> list[Quantity]:
    """Every number of a run's report (`cli.runs.report`), in its order."""
    found = []
    for group in report["groups"]:
        found += [
            Quantity(group["group"], name, unit, group.get(name))
            for name, unit in GROUP_UNITS.items()
        ]
        for name, unit in (("fct_last_byte_us", "us"), ("fct_last_ack_us", "us"), ("slowdown", "")):
            times = group.get(name) or dict.fromkeys(TIMES)
            found += [
                Quantity(group["group"], f"{name}.{statistic}", unit, times[statistic])
                for statistic in TIMES
            ]
    for step in report.get("jobs", []):
        of = f"{step['job']}/{step['step']}"
        for name, unit in (("duration_us", "us"), ("bound_us", "us"), ("busbw_gbps", "Gb/s")):
            values = step[name] or dict.fromkeys(TIMES)
            found += [Quantity(of, f"{name}.{one}", unit, values[one]) for one in TIMES]
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
