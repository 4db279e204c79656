"""Numbers of a run by name, such as `p99_fct:victim`: what `backwater compare` compares."""

from __future__ import annotations

import hashlib
import operator
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from backwater.errors import InputError
from backwater.numbers.of_mechanisms import no_cnps
from backwater.numbers.queues import depths, flows_end_ps
from backwater.numbers.rows import rows, scan
from backwater.numbers.run import count_control, deepest, port_totals
from backwater.numbers.statistics import jain, statistic
from backwater.numbers.units import BITS, BPS_PER_GBPS, PS_PER_S, PS_PER_US
from backwater.samples import needed, share_of, why_not

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from backwater.numbers.statistics import Ordered
    from backwater.results import Run


@dataclass(frozen=True)
class Quantity:
    """Something that flows, parts of jobs, or a run have a number of."""

    unit: str
    text: str
    more_is_better: bool
    values: pl.Expr | None = field(default=None, compare=False)
    """Its values, one a row of its table; a metric says which statistic of them."""
    table: str = "flows"
    """The table that has a row for each, or that its one value is of; null of what is not
    complete."""
    reduced: Callable[[Ordered], float] | None = None
    """What makes one number of all its values, where that is no statistic: of all or of none."""
    sampled: Callable[[Run, str], pl.Series] | None = None
    """Its samples in a run, for a statistic; but for the greatest, which `of_run` knows."""
    of_run: Callable[[Run], float] | None = None
    """Its one value of a run."""
    of_failed: bool = False
    """Whether a run that failed has it too: what else it has was cut short."""
    where_some: bool = False
    """Whether it is told unasked only where a run has some."""
    reference: pl.Expr | None = field(default=None, compare=False)
    """What its values are held against, as one number of their rows. Where it differs between runs,
    a smaller value of one may be no merit of it."""
    against: tuple[str, str] | None = None
    """What that is, and its unit."""
    absolute: Callable[[float, float], float] | None = field(default=None, compare=False)
    """What a value and its reference come to, which is held against nothing; None: who is better
    cannot be said where references differ."""
    instead: str | None = None
    """The quantity that is held against nothing and says the same of a network."""
    lacking: Callable[[Mapping[str, Any]], str | None] | None = None
    """Why runs of a scenario have none, by its values; None: they have."""

    @property
    def of_flows(self) -> bool:
        """Whether each flow has one."""
        return self.values is not None and self.table == "flows" and self.reduced is None

    @property
    def alone(self) -> bool:
        """Whether it is one number of a run, written by its name alone."""
        return self.of_run is not None and self.sampled is None

    @property
    def of_jobs(self) -> bool:
        """Whether jobs, their rounds or their collectives have one."""
        return self.values is not None and self.table != "flows"

    def written(self, name: str) -> str:
        """Say how it is asked for, as in `STATISTIC_fct[:GROUP]`."""
        if self.of_jobs:
            return f"STATISTIC_{name}[:JOB{'[/STEP]' if self.of_steps else ''}]"
        if self.alone:
            return name
        of = "" if self.sampled is not None else "[:GROUP]"
        return f"{name}{of}" if self.reduced is not None else f"STATISTIC_{name}{of}"

    @property
    def of_steps(self) -> bool:
        """Whether each collective has one, and so the steps of jobs."""
        return self.values is not None and self.table == "collectives"


def _us(column: str) -> pl.Expr:
    return pl.col(column) / PS_PER_US


_ACKNOWLEDGED = pl.coalesce("fct_last_ack_ps", "fct_last_byte_ps")
_GOODPUT = (
    pl.col("bytes").cast(pl.Float64) * BITS / (pl.col("fct_last_byte_ps") / PS_PER_S) / BPS_PER_GBPS
)
_TOOK, _BOUND = (pl.col(name).cast(pl.Float64) for name in ("duration_ps", "bound_ps"))
# What no link needs time for has no ratio.
_OVER_BOUND = pl.when(_BOUND > 0).then(_TOOK / _BOUND).otherwise(float("nan"))
_MEAN_BOUND = _BOUND.mean() / PS_PER_US
# Flows that are drawn differ in size from seed to seed: the time of a byte differs by the network,
# and by the headers of packets.
_IDEAL = pl.col("ideal_fct_ps").cast(pl.Float64).sum() / pl.col("bytes").cast(pl.Float64).sum()
_BY_BOUND, _BY_IDEAL = ("mean bound", "us"), ("time alone, headers included", "ps a byte")


def _unfinished_jobs(run: Run) -> float:
    jobs = rows(run, "jobs", "end_ps")
    return float(len(jobs) - len(jobs.known("end_ps")))


def _retransmitted(run: Run) -> float:
    return float(rows(run, "flows", "retransmitted").total("retransmitted"))


def _unfinished(run: Run) -> float:
    flows = rows(run, "flows", "state")
    return float(len(flows) - len(flows.only(state="complete")))


def _cnps(run: Run) -> float:
    return float(count_control(run, CNP))


def _ports(name: str, divisor: float = 1.0) -> Callable[[Run], float]:
    return lambda run: port_totals(run).get(name, 0) / divisor


QUANTITIES = {
    "jct": Quantity(
        "us",
        "job completion time of an instance, from job.start",
        False,
        _us("duration_ps"),
        "jobs",
    ),
    "round_time": Quantity(
        "us",
        "a round of an instance, from its first step to its last",
        False,
        _us("duration_ps"),
        "rounds",
    ),
    "cct": Quantity(
        "us",
        "collective completion time",
        False,
        _us("duration_ps"),
        "collectives",
    ),
    "algbw": Quantity(
        "Gb/s",
        "algorithm bandwidth of a collective, as nccl-tests has it",
        True,
        pl.col("algbw_bps") / BPS_PER_GBPS,
        "collectives",
    ),
    "busbw": Quantity(
        "Gb/s",
        "bus bandwidth of a collective, as nccl-tests has it",
        True,
        pl.col("busbw_bps") / BPS_PER_GBPS,
        "collectives",
    ),
    "bound": Quantity(
        "us",
        "what the busiest host needs for a collective, with all of its links",
        False,
        _us("bound_ps"),
        "collectives",
        reference=_MEAN_BOUND,
        against=_BY_BOUND,
        instead="cct",
    ),
    "above_bound": Quantity(
        "us",
        "a collective's completion time less its bound",
        False,
        (_TOOK - _BOUND) / PS_PER_US,
        "collectives",
        reference=_MEAN_BOUND,
        against=_BY_BOUND,
        absolute=operator.add,
        instead="cct",
    ),
    "over_bound": Quantity(
        "",
        "a collective's completion time over its bound",
        False,
        _OVER_BOUND,
        "collectives",
        reference=_MEAN_BOUND,
        against=_BY_BOUND,
        absolute=operator.mul,
        instead="cct",
    ),
    "unfinished_jobs": Quantity(
        "instances",
        "instances of jobs that did not complete",
        False,
        of_run=_unfinished_jobs,
        of_failed=True,
    ),
    "fct": Quantity(
        "us",
        "completion time, to the last ACK (without ACKs: byte)",
        False,
        _ACKNOWLEDGED / PS_PER_US,
    ),
    "fct_last_byte": Quantity("us", "time to the last byte", False, _us("fct_last_byte_ps")),
    "slowdown": Quantity(
        "",
        "time to the last byte over that in an idle network",
        False,
        pl.col("slowdown"),
        reference=_IDEAL,
        against=_BY_IDEAL,
        absolute=operator.mul,
        instead="fct_last_byte",
    ),
    "throughput": Quantity(
        "Gb/s", "a flow's payload over its time to the last byte", True, _GOODPUT
    ),
    "fairness": Quantity(
        "",
        "Jain's index of the throughput x of n flows, (sum x)^2 / (n sum x^2), 1 if all had the "
        "same (DEC-TR-301, 1984); all are complete",
        True,
        _GOODPUT,
        reduced=jain,
    ),
    "queue": Quantity(
        "B",
        "what waits for the port of a switch where most does, in all its queues",
        False,
        table="series",
        of_run=lambda run: float(deepest(run)),
        sampled=depths,
        against=("time sampled", "us"),
        absolute=operator.mul,
        instead="queue",
    ),
    "pauses": Quantity(
        "pauses",
        "pauses that ports received",
        False,
        of_run=_ports("pauses_received"),
    ),
    "pause_time": Quantity(
        "us",
        "time that ports were paused, summed over them",
        False,
        of_run=_ports("paused_ps", PS_PER_US),
    ),
    "drops": Quantity(
        "frames",
        "frames dropped for want of memory",
        False,
        of_run=_ports("drop_frames"),
    ),
    "marked_frames": Quantity(
        "frames",
        "data frames marked (ECN) on their way out of ports",
        False,
        of_run=_ports("marked_frames"),
        where_some=True,
    ),
    "cnps": Quantity(
        "CNPs",
        "congestion notification packets that hosts sent",
        False,
        table="control",
        of_run=_cnps,
        where_some=True,
        lacking=no_cnps,
    ),
    "fault_losses": Quantity(
        "frames",
        "frames lost by faults",
        False,
        of_run=lambda run: float(run.summary.get("fault_losses", 0)),
        where_some=True,
    ),
    "flushed": Quantity(
        "frames",
        "frames that a mechanism, such as the watchdog of PFC, dropped from queues",
        False,
        of_run=_ports("flushed_frames"),
        where_some=True,
    ),
    "trimmed": Quantity(
        "packets",
        "packets trimmed for want of memory",
        False,
        of_run=_ports("trimmed"),
        where_some=True,
    ),
    "retransmitted": Quantity(
        "packets",
        "data packets retransmitted",
        False,
        of_run=_retransmitted,
    ),
    "unfinished": Quantity(
        "flows",
        "flows that did not complete",
        False,
        of_run=_unfinished,
        of_failed=True,
    ),
}


@dataclass(frozen=True)
class Part:
    """The flows that times are of, where others of their group are not complete."""

    complete: int
    flows: int
    """Those of the group, complete or not."""
    which: str
    """A hash of the numbers of the complete ones."""


CNP = "cnp"
"""Kind of message of the table of control, by which a receiver reports marks."""
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
        if self.lacking(run) is not None:
            return None
        if self._whole:
            assert self.quantity.of_run is not None
            return self.quantity.of_run(run)
        values = self._samples(run)
        if values is None or self.why_not(values.len()) is not None:
            return None
        if self.quantity.reduced is not None:
            return self.quantity.reduced(values)
        assert self.statistic is not None
        return statistic(values, self.statistic)

    def lacking(self, run: Run) -> str | None:
        """Say why a run has none by its scenario; None: it has."""
        return None if self.quantity.lacking is None else self.quantity.lacking(run.scenario)

    @property
    def _whole(self) -> bool:
        """Whether it is a number of the run, which needs no samples."""
        greatest = self.quantity.sampled is None or self.statistic == "max"
        return self.quantity.of_run is not None and greatest

    @property
    def needs_samples(self) -> bool:
        """Whether it is of samples of queues."""
        return self.quantity.sampled is not None and not self._whole

    def count(self, run: Run) -> int | None:
        """How many flows or parts of jobs it is of; None: it is a number of the run."""
        values = self._samples(run)
        return None if values is None else values.len()

    def part(self, run: Run) -> Part | None:
        """Say of which flows its value is; None: of all of the group, or of something else."""
        table = scan(run, "flows") if self.quantity.of_flows else None
        if table is None:
            return None
        mine = table if self.group is None else table.filter(pl.col("group") == self.group)
        rows = mine.select("flow_id", complete=pl.col("state") == "complete")
        found = rows.collect(engine="streaming")
        numbers = found.filter("complete")["flow_id"].sort()
        if numbers.len() == found.height:
            return None
        which = hashlib.sha256(numbers.cast(pl.Int64).to_numpy().tobytes()).hexdigest()
        return Part(numbers.len(), found.height, which)

    @property
    def held_against(self) -> tuple[str, str] | None:
        """What its values are held against, and the unit of that; None: nothing."""
        exact = self.quantity.sampled is not None and self._whole
        return None if exact else self.quantity.against

    def reference(self, run: Run, *, begun: bool = False) -> float | None:
        """What its values in a run are held against; None: nothing.

        `begun`: of a run that has only begun, what they will be, if all come to be complete.
        """
        if self.needs_samples:
            # A mean over more time is less, whatever waited.
            return flows_end_ps(run) / PS_PER_US
        of, values = self.quantity.reference, self.quantity.values
        table = scan(run, self.quantity.table)
        if of is None or values is None or table is None:
            return None
        counts = pl.lit(value=True) if begun else values.is_not_null()
        rows = table.filter(self._members(table, complete=not begun), counts)
        found: float | None = rows.select(of).collect(engine="streaming").item()
        return found

    def absolute(self, value: float, reference: float) -> float | None:
        """What a value and what it is held against come to together; None: nothing that is known.

        A mean over a time and that time are a sum; a percentile and a time are nothing.
        """
        found = self.quantity.absolute
        if found is None or (self.needs_samples and self.statistic != "mean"):
            return None
        return found(value, reference)

    @property
    def instead(self) -> str | None:
        """The metric that tells networks apart whose references differ; None: it does itself."""
        found = self.quantity.instead
        if found is None or (self.quantity.sampled is not None and self._whole):
            return None
        # The greatest is of no samples.
        statistic = "max" if self.quantity.sampled is not None else self.statistic
        return f"{statistic}_{found}" + (f":{self.group}" if self.group is not None else "")

    def why_not(self, count: int) -> str | None:
        """Say why so many samples have no such number; None: they have."""
        if self._whole:
            return None
        if self.quantity.reduced is not None:
            return None if count else "not all of its flows are complete"
        return None if self.statistic is None else why_not(self.statistic, count, self._what)

    def takes(self) -> str:
        """Say what it needs to have a value, as in `takes 100 complete flows`."""
        if self.quantity.reduced is not None:
            return "takes that all of its flows are complete"
        of = self._what
        if self.quantity.lacking is not None:
            return "is of scenarios that have such a thing"
        if self.quantity.of_jobs:
            of = "parts of jobs, all complete"
        least = 1 if (share := share_of(self.statistic or "")) is None else needed(share)
        return f"takes {least} {of}" if least > 1 else f"takes {of}"

    @property
    def _what(self) -> str:
        """What its samples are."""
        if self.quantity.sampled is not None:
            return "samples of queues"
        return "complete parts of jobs" if self.quantity.of_jobs else "complete flows"

    def _samples(self, run: Run) -> pl.Series | None:
        """Give the values of what it is of, in order; None of a number of the run.

        Of parts of jobs none if any is not complete: the rest would mislead. So with flows whose
        values are put together.
        """
        if self.quantity.sampled is not None and not self._whole:
            assert self.statistic is not None
            return self.quantity.sampled(run, self.statistic)
        if self.quantity.values is None:
            return None
        table = scan(run, self.quantity.table)
        if table is None:
            return pl.Series(dtype=pl.Float64)
        found = table.filter(self._members(table)).select(value=self.quantity.values)
        values = found.collect(engine="streaming")["value"]
        if not self.quantity.of_flows and values.null_count():
            return pl.Series(dtype=pl.Float64)
        return values.drop_nulls().drop_nans().sort()

    def _members(self, table: pl.LazyFrame, *, complete: bool = True) -> pl.Expr:
        """Pick the rows that it is of: flows of a group, a job, or a step (`JOB/STEP`)."""
        if self.quantity.of_flows:
            done = pl.col("state") == "complete" if complete else pl.lit(value=True)
            return done if self.group is None else done & (pl.col("group") == self.group)
        if self.group is None:
            return pl.lit(value=True)
        if self.quantity.table == "flows":
            return pl.col("group") == self.group
        job = pl.col("job") == self.group
        if "step" not in table.collect_schema().names():
            return job
        return job | (pl.format("{}/{}", "job", "step") == self.group)


def metric(text: str) -> Metric:
    """Read a metric: `STATISTIC_QUANTITY[:GROUP]` of flows, `fairness[:GROUP]`, or one of a run.

    Raises `InputError` that lists what there is.
    """
    match = _FORM.fullmatch(text.strip())
    found = QUANTITIES.get(match[2]) if match else None
    if match is None or found is None:
        raise InputError(f"--metric {text}: there is no such metric", listed())
    statistic, group = match[1], match[3]
    if found.reduced is not None:
        if statistic:
            raise InputError(
                f"--metric {text}: {match[2]} is one number of a group's flows",
                f"write {match[2]}, or {match[2]}:GROUP",
            )
        return Metric(text.strip(), found, None, group)
    if found.sampled is not None and group:
        raise InputError(
            f"--metric {text}: {match[2]} is of the port where most waits",
            f"write {statistic or 'max'}_{match[2]} alone",
        )
    if found.alone:
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
        raise InputError(
            f"--metric {text}: a percentile is from p0 to p100",
            f"as in p99_{match[2]} or p99.9_{match[2]}",
        )
    return Metric(text.strip(), found, statistic, group)


def listed() -> str:
    """Say what metrics there are."""
    flows = ", ".join(name for name, one in QUANTITIES.items() if one.of_flows)
    jobs = ", ".join(name for name, one in QUANTITIES.items() if one.of_jobs)
    groups = ", ".join(name for name, one in QUANTITIES.items() if one.reduced is not None)
    sampled = ", ".join(name for name, one in QUANTITIES.items() if one.sampled is not None)
    runs = ", ".join(name for name, one in QUANTITIES.items() if one.alone)
    return (
        f"of flows STATISTIC_QUANTITY[:GROUP], as in p99_fct:victim, with {flows} "
        f"({STATISTICS}); QUANTITY[:GROUP] with {groups}; "
        "of jobs STATISTIC_QUANTITY[:JOB or :JOB/STEP], as in max_cct:train/sum, "
        f"with {jobs}; STATISTIC_QUANTITY, as in max_queue, with {sampled}; of the run {runs}"
    )


def usual(
    groups: Sequence[str], steps: Sequence[tuple[str, str]] = (), jobs: Sequence[str] = ()
) -> list[Metric]:
    """What is compared unless somebody says otherwise.

    `steps` are those that have collectives, each as its job and its own label; `jobs` all jobs.
    """
    named = {f"{job}/{step}" for job, step in steps}
    groups = [group for group in groups if group not in named]
    names = [f"{statistic}_fct:{group}" for group in groups for statistic in ("mean", "p99", "max")]
    rounds = {job for job, _ in steps}
    for job in jobs:
        names += [f"mean_jct:{job}", f"max_jct:{job}"]
        if job in rounds:
            names += [f"mean_round_time:{job}", f"max_round_time:{job}"]
    for job, step in steps:
        quantities = ("mean_cct", "max_cct", "mean_algbw", "mean_busbw")
        bounds = ("mean_bound", "mean_above_bound", "mean_over_bound")
        names += [f"{quantity}:{job}/{step}" for quantity in (*quantities, *bounds)]
    totals = (
        *(["unfinished_jobs"] if jobs else []),
        "pauses",
        "pause_time",
        "drops",
        "marked_frames",
        "cnps",
        "fault_losses",
        "flushed",
        "trimmed",
        "retransmitted",
        "unfinished",
    )
    return [metric(name) for name in (*names, *totals)]
