"""Numbers of a run by name, such as `p99_fct:victim`: what `backwater compare` compares."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from backwater.errors import InputError
from backwater.samples import share_of, why_not
from backwater.stats import BPS_PER_GBPS, PS_PER_US

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from backwater.results import Run


@dataclass(frozen=True)
class Quantity:
    """Something that flows, or a run, have a number of."""

    unit: str
    text: str
    more_is_better: bool
    of_flows: Callable[[pa.Table], Any] | None = None
    """Its values, one a flow; a metric says which statistic of them."""
    of_run: Callable[[Run], float] | None = None
    """Its one value of a run."""
    of_jobs: Callable[[Run], pa.Table] | None = None
    """What jobs have it: a table with `job`, perhaps `step`, and its `value`, null of what is not
    complete; a metric says which statistic of them."""
    of_failed: bool = False
    """Whether a run that failed has it too: what else it has was cut short."""


def _fct(flows: pa.Table) -> Any:  # noqa: ANN401 - pyarrow's stubs know no common type
    acknowledged = pc.coalesce(flows["fct_last_ack_ps"], flows["fct_last_byte_ps"])
    return pc.divide(pc.cast(acknowledged, pa.float64()), PS_PER_US)


def _last_byte(flows: pa.Table) -> Any:  # noqa: ANN401 - as above
    return pc.divide(pc.cast(flows["fct_last_byte_ps"], pa.float64()), PS_PER_US)


def _goodput(flows: pa.Table) -> Any:  # noqa: ANN401 - as above
    bits = pc.multiply(pc.cast(flows["bytes"], pa.float64()), 8.0)
    seconds = pc.divide(pc.cast(flows["fct_last_byte_ps"], pa.float64()), 1e12)
    return pc.divide(pc.divide(bits, seconds), BPS_PER_GBPS)


def _sum(table: pa.Table, column: str) -> float:
    return float(pc.sum(table[column]).as_py() or 0) if table.num_rows else 0.0


def _jobs(table: str, column: str, divisor: float) -> Callable[[Run], pa.Table]:
    """Give the values of a column of one of the tables of jobs."""

    def values(run: Run) -> pa.Table:
        rows = run.read(table)
        return _valued(rows, lambda: pc.divide(pc.cast(rows[column], pa.float64()), divisor))

    return values


def _above_bound(run: Run) -> pa.Table:
    rows = run.collectives

    def above() -> Any:  # noqa: ANN401 - pyarrow's stubs know no common type
        return pc.cast(pc.subtract(rows["duration_ps"], rows["bound_ps"]), pa.float64())

    return _valued(rows, lambda: pc.divide(above(), PS_PER_US))


def _over_bound(run: Run) -> pa.Table:
    # What no link needs time for has no ratio.
    rows = run.collectives
    if rows.num_rows:
        rows = rows.filter(pc.field("bound_ps") > 0)

    def ratio() -> Any:  # noqa: ANN401 - pyarrow's stubs know no common type
        took = pc.cast(rows["duration_ps"], pa.float64())
        return pc.divide(took, pc.cast(rows["bound_ps"], pa.float64()))

    return _valued(rows, ratio)


def _valued(rows: pa.Table, value: Callable[[], Any]) -> pa.Table:
    if rows.num_rows == 0:
        return pa.table({})
    names = [name for name in ("job", "step") if name in rows.column_names]
    return rows.select(names).append_column("value", value())


def _unfinished_jobs(run: Run) -> float:
    return float(run.jobs["end_ps"].null_count) if run.jobs.num_rows else 0.0


QUANTITIES = {
    "jct": Quantity(
        "us",
        "job completion time of an instance, from job.start",
        False,
        of_jobs=_jobs("jobs", "duration_ps", PS_PER_US),
    ),
    "round_time": Quantity(
        "us",
        "a round of an instance, from its first step to its last",
        False,
        of_jobs=_jobs("rounds", "duration_ps", PS_PER_US),
    ),
    "cct": Quantity(
        "us",
        "collective completion time",
        False,
        of_jobs=_jobs("collectives", "duration_ps", PS_PER_US),
    ),
    "algbw": Quantity(
        "Gb/s",
        "algorithm bandwidth of a collective, as nccl-tests has it",
        True,
        of_jobs=_jobs("collectives", "algbw_bps", BPS_PER_GBPS),
    ),
    "busbw": Quantity(
        "Gb/s",
        "bus bandwidth of a collective, as nccl-tests has it",
        True,
        of_jobs=_jobs("collectives", "busbw_bps", BPS_PER_GBPS),
    ),
    "bound": Quantity(
        "us",
        "what the busiest host link needs for a collective",
        False,
        of_jobs=_jobs("collectives", "bound_ps", PS_PER_US),
    ),
    "above_bound": Quantity(
        "us", "a collective's completion time less its bound", False, of_jobs=_above_bound
    ),
    "over_bound": Quantity(
        "", "a collective's completion time over its bound", False, of_jobs=_over_bound
    ),
    "unfinished_jobs": Quantity(
        "instances",
        "instances of jobs that did not complete",
        False,
        of_run=_unfinished_jobs,
        of_failed=True,
    ),
    "fct": Quantity("us", "completion time, to the last ACK (without ACKs: byte)", False, _fct),
    "fct_last_byte": Quantity("us", "time to the last byte", False, _last_byte),
    "slowdown": Quantity(
        "", "time to the last byte over that in an idle network", False, lambda f: f["slowdown"]
    ),
    "throughput": Quantity(
        "Gb/s", "a flow's payload over its time to the last byte", True, _goodput
    ),
    "pauses": Quantity(
        "pauses",
        "pauses that ports received",
        False,
        of_run=lambda run: _sum(run.ports, "pauses_received"),
    ),
    "pause_time": Quantity(
        "us",
        "time that ports were paused, summed over them",
        False,
        of_run=lambda run: _sum(run.ports, "paused_ps") / PS_PER_US,
    ),
    "drops": Quantity(
        "frames",
        "frames dropped for want of memory",
        False,
        of_run=lambda run: _sum(run.ports, "drop_frames"),
    ),
    "retransmitted": Quantity(
        "packets",
        "data packets sent again",
        False,
        of_run=lambda run: _sum(run.flows, "retransmitted"),
    ),
    "unfinished": Quantity(
        "flows",
        "flows that did not complete",
        False,
        of_run=lambda run: float(
            run.flows.filter(pc.field("state") != "complete").num_rows if run.flows.num_rows else 0
        ),
        of_failed=True,
    ),
}

STATISTICS = "mean, median, min, max, and percentiles such as p99 or p99.9"
_FORM = re.compile(r"(?:(mean|median|min|max|p\d+(?:\.\d+)?)_)?(\w+)(?::(.+))?")


@dataclass(frozen=True)
class Metric:
    """One number of a run: a statistic of a group's flows, or a total of the run."""

    name: str
    quantity: Quantity
    statistic: str | None
    group: str | None
    """None: of all flows, or of the run."""

    @property
    def unit(self) -> str:
        """Its unit; empty: a ratio."""
        return self.quantity.unit

    def of(self, run: Run) -> float | None:
        """Its value in a run; None where there is none, as too few flows are complete."""
        if self.quantity.of_run is not None:
            return self.quantity.of_run(run)
        values = self._samples(run)
        if values is None or self.statistic is None or self.why_not(len(values)) is not None:
            return None
        return _statistic(values, self.statistic)

    def count(self, run: Run) -> int | None:
        """How many flows or parts of jobs it is of; None: it is a number of the run."""
        values = self._samples(run)
        return None if values is None else len(values)

    def why_not(self, count: int) -> str | None:
        """Say why so many samples have no such number; None: they have."""
        of = "complete flows" if self.quantity.of_jobs is None else "complete parts of jobs"
        return None if self.statistic is None else why_not(self.statistic, count, of)

    def _samples(self, run: Run) -> Any:  # noqa: ANN401 - pyarrow's stubs know no common type
        """Give the values of what it is of; None of a number of the run."""
        if self.quantity.of_jobs is not None:
            return self._of_jobs(self.quantity.of_jobs(run))
        if self.quantity.of_flows is None:
            return None
        flows = run.flows
        if flows.num_rows == 0:
            return []
        of = pc.field("state") == "complete"
        if self.group is not None:
            of = of & (pc.field("group") == self.group)
        return pc.drop_null(self.quantity.of_flows(flows.filter(of)))

    def _of_jobs(self, rows: pa.Table) -> Any:  # noqa: ANN401 - pyarrow's stubs know no common type
        """Give the values of parts of jobs; none if any is not complete: the rest would mislead.

        The group is a job, or a step of one as `JOB/STEP`.
        """
        if self.group is not None and rows.num_rows:
            of = pc.field("job") == self.group
            if "step" in rows.column_names:
                pairs = zip(rows["job"].to_pylist(), rows["step"].to_pylist(), strict=True)
                rows = rows.append_column("named", pa.array([f"{a}/{b}" for a, b in pairs]))
                of = of | (pc.field("named") == self.group)
            rows = rows.filter(of)
        return [] if rows.num_rows == 0 or rows["value"].null_count else rows["value"]


def _statistic(values: Any, name: str) -> float:  # noqa: ANN401 - pyarrow's stubs know no common type
    if (share := share_of(name)) is not None:
        return float(pc.quantile(values, q=share)[0].as_py())
    if name == "median":
        return float(pc.quantile(values, q=0.5)[0].as_py())
    if name == "mean":
        return float(pc.mean(values).as_py())
    return float((pc.min(values) if name == "min" else pc.max(values)).as_py())


def metric(text: str) -> Metric:
    """Read a metric: `STATISTIC_QUANTITY[:GROUP]` of flows, or `TOTAL` of a run.

    Raises `InputError` that lists what there is.
    """
    match = _FORM.fullmatch(text.strip())
    found = QUANTITIES.get(match[2]) if match else None
    if match is None or found is None:
        raise InputError(f"--metric {text}: there is no such metric", listed())
    statistic, group = match[1], match[3]
    if found.of_run is not None:
        if statistic or group:
            raise InputError(
                f"--metric {text}: {match[2]} is one number of a run", f"write {match[2]} alone"
            )
        return Metric(match[2], found, None, None)
    if statistic is None:
        raise InputError(
            f"--metric {text}: which statistic of {match[2]} is not said",
            f"for example p99_{match[2]}; there are {STATISTICS}",
        )
    if statistic.startswith("p") and float(statistic[1:]) > 100:
        raise InputError(f"--metric {text}: a percentile is from p0 to p100")
    return Metric(text.strip(), found, statistic, group)


def listed() -> str:
    """Say what metrics there are."""
    flows = ", ".join(name for name, one in QUANTITIES.items() if one.of_flows is not None)
    jobs = ", ".join(name for name, one in QUANTITIES.items() if one.of_jobs is not None)
    runs = ", ".join(name for name, one in QUANTITIES.items() if one.of_run is not None)
    return (
        f"of flows STATISTIC_QUANTITY[:GROUP], as in p99_fct:victim, with {flows} "
        f"({STATISTICS}); of jobs STATISTIC_QUANTITY[:JOB or :JOB/STEP], as in max_cct:train/sum, "
        f"with {jobs}; of the run {runs}"
    )


def usual(groups: Sequence[str], steps: Sequence[tuple[str, str]] = ()) -> list[Metric]:
    """What is compared unless somebody says otherwise; `steps` are the job and step of each."""
    named = {f"{job}/{step}" for job, step in steps}
    groups = [group for group in groups if group not in named]
    names = [f"{statistic}_fct:{group}" for group in groups for statistic in ("mean", "p99", "max")]
    for job in dict.fromkeys(job for job, _ in steps):
        names += [f"max_jct:{job}", f"mean_round_time:{job}", f"max_round_time:{job}"]
    for job, step in steps:
        quantities = ("mean_cct", "max_cct", "mean_algbw", "mean_busbw")
        bounds = ("mean_bound", "mean_above_bound", "mean_over_bound")
        names += [f"{quantity}:{job}/{step}" for quantity in (*quantities, *bounds)]
    totals = (
        *(["unfinished_jobs"] if steps else []),
        "pauses",
        "pause_time",
        "drops",
        "retransmitted",
        "unfinished",
    )
    return [metric(name) for name in (*names, *totals)]
