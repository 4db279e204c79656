"""Every metric, once: what it is called, its unit, meaning and better direction, of what it is.

A metric is one entry of `ENTRIES`. Commands, comparisons, sweeps, goals, studies, reports and the
documentation read it here; how one is asked for by name is in `backwater.numbers.metrics`.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backwater.numbers.of_mechanisms import no_cnps
from backwater.numbers.pauses import REQUESTS, requested_ps
from backwater.numbers.statistics import jain
from backwater.numbers.units import BITS, BPS_PER_GBPS, PS_PER_S, PS_PER_US

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from backwater.numbers.rows import Rows
    from backwater.numbers.statistics import Ordered
    from backwater.results import Run

FLOW, GROUP = "flow", "group"
JOB, ROUND, COLLECTIVE = "job", "round", "collective"
QUEUE, CLASS, KIND, RUN = "queue", "class", "kind", "run"
TABLES = {
    FLOW: "flows",
    GROUP: "flows",
    JOB: "jobs",
    ROUND: "rounds",
    COLLECTIVE: "collectives",
    QUEUE: "ports",
    CLASS: "control",
    KIND: "control",
    RUN: "ports",
}
"""What metrics are of, and the table that has a row for each, or that they count in."""
WRITTEN = {
    FLOW: "STATISTIC_{}[:GROUP]",
    GROUP: "{}[:GROUP]",
    JOB: "STATISTIC_{}[:JOB]",
    ROUND: "STATISTIC_{}[:JOB]",
    COLLECTIVE: "STATISTIC_{}[:JOB[/STEP]]",
    QUEUE: "STATISTIC_{}",
    CLASS: "{}[:CLASS]",
    KIND: "{}[:KIND]",
    RUN: "{}",
}
"""How they are asked for."""
LESS, MORE = "less", "more"


@dataclass(frozen=True)
class Reference:
    """What the values of a metric are held against.

    Where it differs between runs, a smaller value of one may be no merit of it.
    """

    what: str
    unit: str
    of: Callable[[Rows], float | None] | None
    """Of the rows with values; None: it is of the run (`Metric.reference`)."""
    instead: str
    """The metric that is held against nothing and says the same of a network."""
    absolute: Callable[[float, float], float] | None = None
    """What a value and its reference come to, which is held against nothing; None: who is better
    cannot be said where references differ."""


@dataclass(frozen=True)
class Quantity:
    """A metric: something that flows, jobs, queues, or a run have numbers of."""

    name: str
    unit: str
    text: str
    better: str | None
    """`less`, `more`, or None: it says how much there is, and not how good that is."""
    of: str
    """Where it applies: one of `TABLES`."""
    values: Callable[[Rows], Ordered] | None = field(default=None, compare=False)
    """Its values, ascending, one a row; a statistic of them is the metric."""
    needs: tuple[str, ...] = ()
    """Columns that each of its rows must have a value in, of jobs and of what is reduced."""
    number: Callable[[Rows, Run], float | None] | None = field(default=None, compare=False)
    """Its one number, of the rows of its table that it is of."""
    whole: Callable[[Rows, Run], float | None] | None = field(default=None, compare=False)
    """The same of all rows, where that counts more than all groups together."""
    reduced: Callable[[Ordered], float] | None = field(default=None, compare=False)
    """What makes one number of all its values, where that is no statistic: of all or of none."""
    sampled: Callable[[Run, str], pl.Series] | None = field(default=None, compare=False)
    """Its samples over time for a statistic, but for the greatest, which is its `number`."""
    per: float = 1
    """By how much a number in the unit of its table is divided for its own unit."""
    own: str = ""
    """The table it is of, where that is another than what `of` says."""
    report: str = ""
    """What the summary of a run (`run --json`) calls it; empty: it is not in it by itself."""
    kept: bool = False
    """Whether a sweep keeps it of each point, asked or not."""
    total: bool = False
    """Whether that is also of all groups together."""
    of_failed: bool = False
    """Whether a run that failed has it too: what else it has was cut short."""
    where_some: bool = False
    """Whether it is reported unasked only where a run has some."""
    reference: Reference | None = field(default=None, compare=False)
    lacking: Callable[[Mapping[str, Any]], str | None] | None = field(default=None, compare=False)
    """Why runs of a scenario have none, by its values; None: they have."""

    @property
    def table(self) -> str:
        """The table that it is computed from."""
        return self.own or TABLES[self.of]

    @property
    def written(self) -> str:
        """How it is asked for, as in `STATISTIC_fct[:GROUP]`."""
        return WRITTEN[self.of].format(self.name)

    @property
    def of_flows(self) -> bool:
        """Whether each flow has one."""
        return self.of == FLOW

    @property
    def of_jobs(self) -> bool:
        """Whether jobs, their rounds or their collectives have one."""
        return self.of in (JOB, ROUND, COLLECTIVE)

    @property
    def counts(self) -> bool:
        """Whether it is a whole number of things."""
        return self.number is not None and self.per == 1 and self.unit != "%"

    @property
    def has_statistics(self) -> bool:
        """Whether a statistic is part of its name."""
        return "STATISTIC" in WRITTEN[self.of]


def _column(name: str) -> Callable[[Rows], Ordered]:
    return lambda rows: rows.ordered(name)


def _state(*names: str) -> Callable[[Rows, Run], int]:
    return lambda rows, _: sum(len(rows.only(state=name)) for name in names)


def _most(name: str) -> Callable[[Rows, Run], float]:
    """Give the greatest value of a column; 0 of no row."""

    def most(rows: Rows, _: Run) -> float:
        ordered = rows.ordered(name)
        return ordered[-1] if len(ordered) else 0

    return most


def _acknowledged(rows: Rows) -> Ordered:
    # All flows of a run have a last ACK, or none has.
    acknowledged = rows.ordered("fct_last_ack_ps")
    return acknowledged if len(acknowledged) else rows.ordered("fct_last_byte_ps")


def _goodput(size: float, took: float) -> float:
    return size * BITS / (took / PS_PER_S) / BPS_PER_GBPS if took else float("inf")


def _goodputs(rows: Rows) -> Ordered:
    return rows.made(_goodput, "bytes", "fct_last_byte_ps")


def _above_bound(rows: Rows) -> Ordered:
    return rows.made(lambda took, bound: took - bound, "duration_ps", "bound_ps")


def _over_bound(rows: Rows) -> Ordered:
    # What no link needs time for has no ratio.
    return rows.made(lambda took, bound: took / bound if bound else None, "duration_ps", "bound_ps")


def _mean_bound(rows: Rows) -> float | None:
    return rows.total("bound_ps") / len(rows) / PS_PER_US if len(rows) else None


def _ideal(rows: Rows) -> float | None:
    # Flows that are drawn differ in size from seed to seed: the time of a byte differs by the
    # network, and by the headers of packets.
    size = rows.total("bytes")
    return rows.total("ideal_fct_ps") / size if size else None


def _depths(run: Run, statistic: str) -> pl.Series:
    # They take a library of tables, which nothing else here does.
    from backwater.numbers.queues import depths

    return depths(run, statistic)


def _lost(rows: Rows, _: Run) -> float | None:
    sent = rows.only(tier="host").total("tx_data_frames")
    return 100 * rows.total("drop_frames") / sent if sent else None


def _ingress(rows: Rows, run: Run) -> float:
    tiers = [tier for (tier,) in rows.distinct("tier") if tier != "host"]
    return max((_most("max_ingress_bytes")(rows.only(tier=tier), run) for tier in tiers), default=0)


def _requested(rows: Rows, run: Run) -> int:
    columns = ("time_ps", "node", "port", "class", "value")
    frames = rows.only(kind=REQUESTS).distinct(*columns, by="time_ps")
    return requested_ps(frames, 0, int(run.summary["time_ps"]))


def _cut(rows: Rows, _: Run) -> int:
    return sum(rows.only(counter=name).total("value") for name in CUT)


def _sum(
    of: str,
    name: str,
    unit: str,
    text: str,
    better: str | None,
    column: str = "",
    **more: Any,  # noqa: ANN401 - fields of an entry
) -> Quantity:
    """Make an entry of the sum of a column, which summaries of runs and sweeps have, too."""
    column = column or name
    facts: dict[str, Any] = {
        "number": lambda rows, _: rows.total(column),
        "report": column,
        "kept": True,
    }
    return Quantity(name, unit, text, better, of, **facts | more)


def _counted(
    name: str,
    text: str,
    better: str | None,
    number: Callable[[Rows, Run], float],
    **more: Any,  # noqa: ANN401 - as above
) -> Quantity:
    """Make an entry of a number of flows, which is known of runs that failed, too."""
    facts: dict[str, Any] = {"number": number, "report": name, "kept": True, "of_failed": True}
    return Quantity(name, "flows", text, better, GROUP, **facts | more)


def _summed(
    name: str, unit: str, text: str, better: str | None = None, *, where_some: bool = False
) -> Quantity:
    """Make an entry of a number that the core sums up by itself."""

    def number(_: Rows, run: Run) -> float | None:
        return run.summary.get(name, 0 if where_some else None)

    facts: dict[str, Any] = {"number": number, "own": "flows", "kept": True}
    return Quantity(name, unit, text, better, RUN, **facts, where_some=where_some)


CNP = "cnp"
"""Kind of message of the table of control, by which a receiver reports marks."""
CUT = ("trimmed", "returned")
"""Counters of packets that a port trimmed, and sent on or back."""
_TOOK: dict[str, Any] = {
    "values": _column("duration_ps"),
    "needs": ("duration_ps",),
    "per": PS_PER_US,
}
_BOUND = ("mean bound", "us", _mean_bound, "cct")
_ALONE = ("time alone, headers included", "ps a byte", _ideal, "fct_last_byte")

_FLOWS = (
    Quantity(
        *("fct", "us", "completion time, to the last ACK (without ACKs: byte)", LESS, FLOW),
        values=_acknowledged,
        per=PS_PER_US,
        report="fct_last_ack_us",
        kept=True,
    ),
    Quantity(
        *("fct_last_byte", "us", "time to the last byte", LESS, FLOW),
        values=_column("fct_last_byte_ps"),
        per=PS_PER_US,
        report="fct_last_byte_us",
        kept=True,
    ),
    Quantity(
        *("slowdown", "", "time to the last byte over that in an idle network", LESS, FLOW),
        values=_column("slowdown"),
        needs=("slowdown",),
        report="slowdown",
        kept=True,
        reference=Reference(*_ALONE, operator.mul),
    ),
    Quantity(
        *("throughput", "Gb/s", "a flow's payload over its time to the last byte", MORE, FLOW),
        values=_goodputs,
    ),
    Quantity(
        "fairness",
        "",
        "Jain's index of the throughput x of n flows, (sum x)^2 / (n sum x^2), 1 if all had the "
        "same (DEC-TR-301, 1984); all are complete",
        MORE,
        GROUP,
        values=_goodputs,
        needs=("fct_last_byte_ps",),
        reduced=jain,
    ),
    _counted("flows", "flows", None, lambda rows, _: len(rows)),
    _counted("complete", "complete flows", MORE, _state("complete")),
    _counted("failed", "flows that gave up", LESS, _state("failed")),
    _counted(
        "unfinished",
        "flows that did not complete; of a group: those of them that did not give up",
        LESS,
        _state("unfinished"),
        whole=_state("unfinished", "failed"),
        total=True,
    ),
    _sum(GROUP, "bytes", "B", "payload to be sent", None),
    _sum(GROUP, "packets", "packets", "data packets sent", None, kept=False),
    _sum(GROUP, "received", "B", "payload received", None),
    _sum(GROUP, "retransmitted", "packets", "data packets retransmitted", LESS, total=True),
    _sum(GROUP, "inferred_lost", "packets", "data packets taken for lost before a timeout", LESS),
    _sum(GROUP, "timeouts", "", "timeouts of senders", LESS),
    _sum(
        *(GROUP, "marked", "packets"),
        *("data packets that arrived with congestion experienced (ECN)", LESS),
        report="",
        kept=False,
    ),
)
_JOBS = (
    Quantity(
        *("jct", "us", "job completion time of an instance, from job.start", LESS, JOB),
        **_TOOK,
        report="jct_us",
        kept=True,
    ),
    Quantity(
        *("round_time", "us", "a round of an instance, from its first step to its last", LESS),
        ROUND,
        **_TOOK,
    ),
    Quantity(
        *("cct", "us", "collective completion time", LESS, COLLECTIVE),
        **_TOOK,
        report="duration_us",
        kept=True,
    ),
    Quantity(
        *("algbw", "Gb/s", "algorithm bandwidth of a collective, as nccl-tests has it", MORE),
        COLLECTIVE,
        values=_column("algbw_bps"),
        needs=("algbw_bps",),
        per=BPS_PER_GBPS,
        report="algbw_gbps",
        kept=True,
    ),
    Quantity(
        *("busbw", "Gb/s", "bus bandwidth of a collective, as nccl-tests has it", MORE),
        COLLECTIVE,
        values=_column("busbw_bps"),
        needs=("busbw_bps",),
        per=BPS_PER_GBPS,
        report="busbw_gbps",
        kept=True,
    ),
    Quantity(
        *("bound", "us", "what the busiest host needs for a collective, with all of its links"),
        *(LESS, COLLECTIVE),
        values=_column("bound_ps"),
        needs=("bound_ps",),
        per=PS_PER_US,
        report="bound_us",
        kept=True,
        reference=Reference(*_BOUND),
    ),
    Quantity(
        *("above_bound", "us", "a collective's completion time less its bound", LESS, COLLECTIVE),
        **_TOOK | {"values": _above_bound},
        reference=Reference(*_BOUND, operator.add),
    ),
    Quantity(
        *("over_bound", "", "a collective's completion time over its bound", LESS, COLLECTIVE),
        **_TOOK | {"values": _over_bound, "per": 1},
        reference=Reference(*_BOUND, operator.mul),
    ),
    Quantity(
        *("unfinished_jobs", "instances", "instances of jobs that did not complete", LESS, RUN),
        number=lambda rows, _: len(rows) - len(rows.known("end_ps")),
        own="jobs",
        of_failed=True,
    ),
)
_PORTS = (
    Quantity(
        *("queue", "B", "what waits for the port of a switch where most does, in all its queues"),
        *(LESS, QUEUE),
        # Nothing waits so for the ports of hosts, which have no queue of their own.
        number=_most("max_egress_bytes"),
        own="series",
        sampled=_depths,
        reference=Reference("time sampled", "us", None, "queue", operator.mul),
    ),
    Quantity(
        *("ingress_peak", "B"),
        *("most bytes held at once in a switch that had come in by one of its ports", LESS, RUN),
        number=_ingress,
    ),
    Quantity(
        *("isolated_peak", "B"),
        *("most bytes that waited at once in the isolation queues of one switch", LESS, RUN),
        number=_most("held_max_bytes"),
        own="switches",
    ),
    _sum(RUN, "pauses_sent", "", "pauses that ports sent", LESS),
    _sum(RUN, "pauses", "pauses", "pauses that ports received", LESS, "pauses_received"),
    _sum(
        *(RUN, "pause_time", "us", "time that ports were paused, summed over them", LESS),
        "paused_ps",
        per=PS_PER_US,
    ),
    _sum(RUN, "drops", "frames", "frames dropped for want of memory", LESS, "drop_frames"),
    _sum(
        *(RUN, "flushed", "frames"),
        *("frames that a mechanism, such as the watchdog of PFC, dropped from queues", LESS),
        "flushed_frames",
        where_some=True,
    ),
    _sum(
        *(RUN, "marked_frames", "frames"),
        *("data frames marked (ECN) on their way out of ports", LESS),
        where_some=True,
    ),
    Quantity(
        *("ports_paused", "", "ports that received a pause", LESS, RUN),
        number=lambda rows, _: len(rows.above("pauses_received", 0)),
        report="ports_paused",
        kept=True,
    ),
    Quantity(
        *("trimmed", "packets", "packets trimmed for want of memory", LESS, RUN),
        number=_cut,
        own="counters",
        report="trimmed",
        kept=True,
        where_some=True,
    ),
    Quantity(
        *("loss_rate", "%"),
        *("frames dropped for want of memory, of the data frames that hosts sent", LESS, RUN),
        number=_lost,
    ),
)
_MESSAGES = (
    Quantity(
        *("pause_frames", "frames"),
        *("PAUSE and PFC frames that requested a pause, repetitions among them", LESS, CLASS),
        number=lambda rows, _: len(rows.only(kind=REQUESTS).above("value", 0)),
    ),
    Quantity(
        "pause_request_time",
        "us",
        "time from the first frame that requested a pause to the one that ended it, summed over "
        "ports and classes; one that did not end lasts until the run's end",
        LESS,
        CLASS,
        number=_requested,
        per=PS_PER_US,
    ),
    Quantity(
        *("control_messages", "messages"),
        *("control messages of mechanisms, such as cnp or mac-control", LESS, KIND),
        number=lambda rows, _: len(rows),
    ),
    Quantity(
        *("cnps", "CNPs", "congestion notification packets that hosts sent", LESS, RUN),
        number=lambda rows, _: len(rows.only(kind=CNP)),
        own="control",
        where_some=True,
        lacking=no_cnps,
    ),
)
_RUN = (
    _summed("time_ps", "ps", "simulated time"),
    _summed("events", "", "events"),
    _summed("hops", "", "frames put on links"),
    _summed("data_hops", "", "data frames put on links"),
    _summed("fault_losses", "frames", "frames lost by faults", LESS, where_some=True),
    Quantity(
        *("deadlocks", "", "1 if pauses of switches waited for each other in a cycle", LESS, RUN),
        number=lambda _, run: int(run.summary.get("deadlock") is not None),
        own="flows",
    ),
)
ENTRIES = (*_FLOWS, *_JOBS, *_PORTS, *_MESSAGES, *_RUN)
"""Every metric, in the order in which lists have them."""
QUANTITIES = {one.name: one for one in ENTRIES}
