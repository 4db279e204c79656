"""Every metric, once: its name, unit, meaning, subject and better direction.

A metric is one entry of `ENTRIES`. Commands, comparisons, sweeps, goals, studies, reports and the
documentation read it here. `backwater.numbers.metrics` reads the names that users write.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backwater.numbers.links import evenness, max_mean
from backwater.numbers.of_mechanisms import no_cnps
from backwater.numbers.pauses import REQUESTS, requested_ps
from backwater.numbers.shares import convergence, fairness_at_end, no_rates
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
"""The subjects of metrics, each with the table that has a row for it or counts it."""
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
"""The form in which users write a metric, by its subject."""
LESS, MORE = "less", "more"


@dataclass(frozen=True)
class Reference:
    """The quantity to which the values of a metric are relative.

    If it differs between runs, the run with the smaller value need not be the better one.
    """

    what: str
    unit: str
    of: Callable[[Rows], float | None] | None
    """Computes it from the rows with values; None: it belongs to the run (`Metric.reference`)."""
    instead: str
    """An absolute metric that answers the same question about a network."""
    absolute: Callable[[float, float], float] | None = None
    """Makes an absolute number of a value and its reference; None: runs whose references differ
    cannot be ranked."""


@dataclass(frozen=True)
class Quantity:
    """A metric: a quantity of flows, jobs, queues, or a run."""

    name: str
    unit: str
    text: str
    better: str | None
    """`less`, `more`, or None: neither is better."""
    of: str
    """Its subject: one of `TABLES`."""
    values: Callable[[Rows], Ordered] | None = field(default=None, compare=False)
    """Its values in ascending order, one per row; the metric is a statistic of them."""
    needs: tuple[str, ...] = ()
    """Columns in which each row needs a value: for metrics of jobs, and those with `reduced`."""
    number: Callable[[Rows, Run], float | None] | None = field(default=None, compare=False)
    """Computes its one number from the rows of its subject."""
    whole: Callable[[Rows, Run], float | None] | None = field(default=None, compare=False)
    """Computes it from all rows, if the whole run counts more than the sum of its groups."""
    reduced: Callable[[Ordered], float] | None = field(default=None, compare=False)
    """Makes one number of all its values, if that is no statistic; it needs every value."""
    sampled: Callable[[Run, str], pl.Series] | None = field(default=None, compare=False)
    """Returns its samples over time for a statistic; its maximum is its `number` instead."""
    ratio: bool = False
    """Whether its one number is a ratio, not a count."""
    per: float = 1
    """The divisor from the unit of its table to its own unit."""
    own: str = ""
    """Its table, if that is not the one that `of` implies."""
    report: str = ""
    """Its name in the summary of a run (`run --json`); empty: the summary has no entry for it."""
    kept: bool = False
    """Whether a sweep stores it for each point without a request."""
    total: bool = False
    """Whether a sweep also stores it for all groups together."""
    of_failed: bool = False
    """Whether failed runs have it, too. Their other numbers are cut short."""
    where_some: bool = False
    """Whether it is reported without a request only if some run has more than 0."""
    reference: Reference | None = field(default=None, compare=False)
    lacking: Callable[[Mapping[str, Any]], str | None] | None = field(default=None, compare=False)
    """Returns why runs of a scenario, given by its values, lack the metric; None: they have it."""

    @property
    def table(self) -> str:
        """The table from which it is computed."""
        return self.own or TABLES[self.of]

    @property
    def written(self) -> str:
        """The form in which users write it, such as `STATISTIC_fct[:GROUP]`."""
        return WRITTEN[self.of].format(self.name)

    @property
    def of_flows(self) -> bool:
        """Whether it has a value for each flow."""
        return self.of == FLOW

    @property
    def of_jobs(self) -> bool:
        """Whether it has a value for each job, round or collective."""
        return self.of in (JOB, ROUND, COLLECTIVE)

    @property
    def counts(self) -> bool:
        """Whether it is a count, a whole number."""
        one = self.number is not None and self.per == 1 and not self.ratio
        return one and self.unit != "%"

    @property
    def has_statistics(self) -> bool:
        """Whether its name includes a statistic."""
        return "STATISTIC" in WRITTEN[self.of]


def _column(name: str) -> Callable[[Rows], Ordered]:
    return lambda rows: rows.ordered(name)


def _state(*names: str) -> Callable[[Rows, Run], int]:
    return lambda rows, _: sum(len(rows.only(state=name)) for name in names)


def _most(name: str) -> Callable[[Rows, Run], float]:
    """Return a function for the greatest value of a column; 0 without rows."""

    def most(rows: Rows, _: Run) -> float:
        ordered = rows.ordered(name)
        return ordered[-1] if len(ordered) else 0

    return most


def _acknowledged(rows: Rows) -> Ordered:
    # Either all flows of a run have a last ACK, or none.
    acknowledged = rows.ordered("fct_last_ack_ps")
    return acknowledged if len(acknowledged) else rows.ordered("fct_last_byte_ps")


def _goodput(size: float, took: float) -> float:
    return size * BITS / (took / PS_PER_S) / BPS_PER_GBPS if took else float("inf")


def _goodputs(rows: Rows) -> Ordered:
    return rows.made(_goodput, "bytes", "fct_last_byte_ps")


def _above_bound(rows: Rows) -> Ordered:
    return rows.made(lambda took, bound: took - bound, "duration_ps", "bound_ps")


def _over_bound(rows: Rows) -> Ordered:
    # A bound of 0 has no ratio.
    return rows.made(lambda took, bound: took / bound if bound else None, "duration_ps", "bound_ps")


def _mean_bound(rows: Rows) -> float | None:
    return rows.total("bound_ps") / len(rows) / PS_PER_US if len(rows) else None


def _ideal(rows: Rows) -> float | None:
    # Random flow sizes differ between seeds. The time per byte depends only on the network and on
    # packet headers.
    size = rows.total("bytes")
    return rows.total("ideal_fct_ps") / size if size else None


def _depths(run: Run, statistic: str) -> pl.Series:
    # Imported here: only these samples need polars, which takes long to import.
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


def _first_pause(rows: Rows, _: Run) -> float | None:
    asked = rows.only(kind=REQUESTS).above("value", 0).ordered("time_ps")
    return asked[0] if len(asked) else None


def _together(rows: Rows, _: Run) -> float | None:
    """Return the payload of complete flows over the time from first start to last byte, in b/s."""
    done = rows.only(state="complete").known("fct_last_byte_ps")
    if not len(done) or len(done) < len(rows):
        return None
    end = done.made(operator.add, "start_ps", "fct_last_byte_ps")[-1]
    took = end - done.ordered("start_ps")[0]
    return done.total("bytes") * BITS * PS_PER_S / took if took else None


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
    """Make an entry for the sum of a column; summaries of runs and sweeps include it."""
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
    """Make an entry for a number of flows; failed runs have it, too."""
    facts: dict[str, Any] = {"number": number, "report": name, "kept": True, "of_failed": True}
    return Quantity(name, "flows", text, better, GROUP, **facts | more)


def _summed(
    name: str, unit: str, text: str, better: str | None = None, *, where_some: bool = False
) -> Quantity:
    """Make an entry for a total that the core counts."""

    def number(_: Rows, run: Run) -> float | None:
        return run.summary.get(name, 0 if where_some else None)

    facts: dict[str, Any] = {"number": number, "own": "flows", "kept": True}
    return Quantity(name, unit, text, better, RUN, **facts, where_some=where_some)


CNP = "cnp"
"""The kind, in table `control`, of messages with which a receiver reports marks."""
CUT = ("trimmed", "returned")
"""Counters of packets that a port trimmed: forwarded ones, and those returned to the source."""
_TOOK: dict[str, Any] = {
    "values": _column("duration_ps"),
    "needs": ("duration_ps",),
    "per": PS_PER_US,
}
_BOUND = ("mean bound", "us", _mean_bound, "cct")
_ALONE = ("time in an idle network, headers included", "ps a byte", _ideal, "fct_last_byte")

_FLOWS = (
    Quantity(
        *("fct", "us", "completion time to the last ACK (without ACKs: last byte)", LESS, FLOW),
        values=_acknowledged,
        per=PS_PER_US,
        report="fct_last_ack_us",
        kept=True,
    ),
    Quantity(
        *("fct_last_byte", "us", "time from a flow's start to its last byte", LESS, FLOW),
        values=_column("fct_last_byte_ps"),
        per=PS_PER_US,
        report="fct_last_byte_us",
        kept=True,
    ),
    Quantity(
        *("slowdown", "", "time to the last byte divided by that in an idle network", LESS, FLOW),
        values=_column("slowdown"),
        needs=("slowdown",),
        report="slowdown",
        kept=True,
        reference=Reference(*_ALONE, operator.mul),
    ),
    Quantity(
        *("throughput", "Gb/s", "a flow's payload divided by its time to the last byte"),
        *(MORE, FLOW),
        values=_goodputs,
    ),
    Quantity(
        "fairness",
        "",
        "Jain's index of the throughputs x of n flows, (sum x)^2 / (n sum x^2): 1 if all are equal "
        "(DEC-TR-301, 1984); it needs all flows to be complete",
        MORE,
        GROUP,
        values=_goodputs,
        needs=("fct_last_byte_ps",),
        reduced=jain,
    ),
    Quantity(
        "group_throughput",
        "Gb/s",
        "payload of all flows divided by the time from their first start to their last byte; it "
        "needs all flows to be complete",
        MORE,
        GROUP,
        number=_together,
        per=BPS_PER_GBPS,
    ),
    Quantity(
        "convergence",
        "us",
        "time from the last start of the flows until all of them receive within 10 % of their mean "
        "rate, for an interval of output.interval",
        LESS,
        GROUP,
        number=convergence,
        per=PS_PER_US,
        lacking=no_rates,
    ),
    Quantity(
        "rate_fairness",
        "",
        "Jain's index of what flows receive in the second half of the time from their last start "
        "to the end of the run; it needs all flows to be active until then",
        MORE,
        GROUP,
        number=fairness_at_end,
        ratio=True,
        lacking=no_rates,
    ),
    _counted("flows", "all flows, complete or not", None, lambda rows, _: len(rows)),
    _counted("complete", "complete flows", MORE, _state("complete")),
    _counted("failed", "flows whose sender gave up", LESS, _state("failed")),
    _counted(
        "unfinished",
        "flows that did not complete; with :GROUP, without those whose sender gave up",
        LESS,
        _state("unfinished"),
        whole=_state("unfinished", "failed"),
        total=True,
    ),
    _sum(GROUP, "bytes", "B", "payload that flows have to send", None),
    _sum(GROUP, "packets", "packets", "data packets sent", None, kept=False),
    _sum(GROUP, "received", "B", "payload received", None),
    _sum(
        *(GROUP, "reordered", "packets", "data packets that arrived after a later one", LESS),
        report="",
        kept=False,
    ),
    _sum(GROUP, "retransmitted", "packets", "data packets retransmitted", LESS, total=True),
    _sum(GROUP, "inferred_lost", "packets", "data packets inferred lost before a timeout", LESS),
    _sum(GROUP, "timeouts", "", "timeouts at senders", LESS),
    _sum(
        *(GROUP, "marked", "packets"),
        *("data packets that arrived with an ECN mark (congestion experienced)", LESS),
        report="",
        kept=False,
    ),
)
_JOBS = (
    Quantity(
        *("jct", "us", "job completion time: from job.start to the end of an instance", LESS, JOB),
        **_TOOK,
        report="jct_us",
        kept=True,
    ),
    Quantity(
        *("round_time", "us", "time from the start of a round's first step to the end of its last"),
        *(LESS, ROUND),
        **_TOOK,
    ),
    Quantity(
        *("cct", "us", "collective completion time", LESS, COLLECTIVE),
        **_TOOK,
        report="duration_us",
        kept=True,
    ),
    Quantity(
        *("algbw", "Gb/s", "algorithm bandwidth of a collective, as nccl-tests defines it", MORE),
        COLLECTIVE,
        values=_column("algbw_bps"),
        needs=("algbw_bps",),
        per=BPS_PER_GBPS,
        report="algbw_gbps",
        kept=True,
    ),
    Quantity(
        *("busbw", "Gb/s", "bus bandwidth of a collective, as nccl-tests defines it", MORE),
        COLLECTIVE,
        values=_column("busbw_bps"),
        needs=("busbw_bps",),
        per=BPS_PER_GBPS,
        report="busbw_gbps",
        kept=True,
    ),
    Quantity(
        *("bound", "us", "time that the busiest host needs for a collective with all of its links"),
        *(LESS, COLLECTIVE),
        values=_column("bound_ps"),
        needs=("bound_ps",),
        per=PS_PER_US,
        report="bound_us",
        kept=True,
        reference=Reference(*_BOUND),
    ),
    Quantity(
        *("above_bound", "us", "a collective's completion time minus its bound", LESS, COLLECTIVE),
        **_TOOK | {"values": _above_bound},
        reference=Reference(*_BOUND, operator.add),
    ),
    Quantity(
        *("over_bound", "", "a collective's completion time divided by its bound"),
        *(LESS, COLLECTIVE),
        **_TOOK | {"values": _over_bound, "per": 1},
        reference=Reference(*_BOUND, operator.mul),
    ),
    Quantity(
        *("unfinished_jobs", "instances", "job instances that did not complete", LESS, RUN),
        number=lambda rows, _: len(rows) - len(rows.known("end_ps")),
        own="jobs",
        of_failed=True,
    ),
)
_PORTS = (
    Quantity(
        *("queue", "B", "bytes in all queues of one switch port, the one with the most"),
        *(LESS, QUEUE),
        # Ports of hosts have no queue, so their value is 0.
        number=_most("max_egress_bytes"),
        own="series",
        sampled=_depths,
        reference=Reference("time sampled", "us", None, "queue", operator.mul),
    ),
    Quantity(
        *("ingress_peak", "B"),
        *("most bytes from one ingress port that a switch held at once", LESS, RUN),
        number=_ingress,
    ),
    Quantity(
        *("isolated_peak", "B"),
        *("most bytes that waited at once in one switch's isolation queues", LESS, RUN),
        number=_most("held_max_bytes"),
        own="switches",
    ),
    _sum(RUN, "pauses_sent", "", "pauses that ports requested, without refreshes", LESS),
    _sum(
        *(RUN, "pauses", "pauses", "pauses that ports received, without refreshes", LESS),
        "pauses_received",
    ),
    _sum(
        *(RUN, "pause_time", "us", "time that ports were paused, summed over all ports", LESS),
        "paused_ps",
        per=PS_PER_US,
    ),
    _sum(RUN, "drops", "frames", "frames dropped for want of memory", LESS, "drop_frames"),
    _sum(
        *(RUN, "flushed", "frames"),
        *("frames that a mechanism, such as the PFC watchdog, dropped from queues", LESS),
        "flushed_frames",
        where_some=True,
    ),
    _sum(
        *(RUN, "marked_frames", "frames"),
        *("data frames marked (ECN) as they left a port", LESS),
        where_some=True,
    ),
    Quantity(
        "uplink_max_mean",
        "",
        "most bytes that an uplink sent, divided by the mean of all uplinks: links from switches "
        "with hosts to switches without",
        LESS,
        RUN,
        number=lambda rows, _: max_mean(rows),
        ratio=True,
    ),
    Quantity(
        *("uplink_fairness", "", "Jain's index of the bytes that uplinks sent", MORE, RUN),
        number=lambda rows, _: evenness(rows),
        ratio=True,
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
        *("frames dropped for want of memory, in % of the data frames that hosts sent", LESS, RUN),
        number=_lost,
    ),
)
_MESSAGES = (
    Quantity(
        *("pause_frames", "frames"),
        *("PAUSE and PFC frames that requested a pause, refreshes included", LESS, CLASS),
        number=lambda rows, _: len(rows.only(kind=REQUESTS).above("value", 0)),
    ),
    Quantity(
        *("first_pause", "us", "time of the first frame that requests a pause", MORE, CLASS),
        number=_first_pause,
        per=PS_PER_US,
    ),
    Quantity(
        "pause_request_time",
        "us",
        "time from the first frame that requests a pause to the one that ends it, summed over "
        "ports and classes; a pause that does not end counts until the end of the run",
        LESS,
        CLASS,
        number=_requested,
        per=PS_PER_US,
    ),
    Quantity(
        *("control_messages", "messages"),
        *("control messages of mechanisms, of a kind such as cnp or mac-control", LESS, KIND),
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
    _summed("events", "", "simulated events"),
    _summed("hops", "", "frames put on links"),
    _summed("data_hops", "", "data frames put on links"),
    _summed("fault_losses", "frames", "frames lost to faults", LESS, where_some=True),
    Quantity(
        *("deadlocks", "", "1 if pauses of switches waited for each other in a cycle, else 0"),
        *(LESS, RUN),
        number=lambda _, run: int(run.summary.get("deadlock") is not None),
        own="flows",
    ),
)
ENTRIES = (*_FLOWS, *_JOBS, *_PORTS, *_MESSAGES, *_RUN)
"""Every metric, in the order of lists."""
QUANTITIES = {one.name: one for one in ENTRIES}
