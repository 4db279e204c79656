"""Kinds of measures of a study: functions of a run with parameters, and metrics by name.

The decorator `kind` registers a function under the name that study.toml uses, with its unit and the
better direction. The function takes a run and parameters and returns a `Reading`. Times in
study.toml are written as in scenarios (`"5 ms"`). Any other kind in study.toml is the name of a
metric (`numbers.metrics`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from backwater.errors import InputError
from backwater.numbers.metrics import metric
from backwater.numbers.registry import LESS, MORE
from backwater.numbers.statistics import NAMES, statistic
from backwater.numbers.units import (
    BITS,
    BPS_PER_GBPS,
    PS_PER_MS,
    PS_PER_S,
    PS_PER_US,
    rate_bps,
    size_bytes,
    time_ps,
    window_ps,
)
from backwater.samples import share_of, why_not

if TYPE_CHECKING:
    from backwater.results import Run


@dataclass(frozen=True)
class Reading:
    """The value of one measure in one run."""

    value: float | None
    problem: str | None = None
    """Why there is no value."""
    sizes: tuple[int, ...] = ()
    """Sizes of the flows behind it, in bytes, for lower bounds."""
    each: tuple[tuple[int, float], ...] = ()
    """Number and value of each flow behind it, for a measure of the flows that two runs share."""


class NotThereError(LookupError):
    """A run lacks data that a measure needs; its text names them."""


class Observed:
    """A run for measures: data that several of them need are computed once."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def end_ps(self) -> int:
        """Time at which the run ended."""
        return int(self.run.summary["time_ps"])

    @cached_property
    def completions(self) -> pa.Table:
        """Numbers, sizes, starts, states and completion times of all flows."""
        times = ["start_ps", "fct_last_byte_ps", "fct_last_ack_ps"]
        return self.run.flows.select(["flow_id", "group", "bytes", *times, "state"])

    @cached_property
    def _flows(self) -> dict[str, list[dict[str, Any]]]:
        columns = ["group", "flow_id", "src", "start_ps", "received", "fct_last_byte_ps", "state"]
        groups: dict[str, list[dict[str, Any]]] = {}
        for flow in self.run.flows.select(columns).to_pylist():
            groups.setdefault(flow["group"], []).append(flow)
        return groups

    @cached_property
    def _samples(self) -> dict[str, pa.Table]:
        """The time series by quantity."""
        series = self.run.series
        if series.num_rows == 0:
            return {}
        names = pc.unique(series["quantity"]).to_pylist()
        return {str(name): series.filter(pc.field("quantity") == name) for name in names}

    @cached_property
    def _received(self) -> dict[int, dict[int, int]]:
        """Payload received, in bytes, by time and flow."""
        found: dict[int, dict[int, int]] = {}
        table = self._samples.get("flow_received_bytes")
        if table is not None:
            for row in table.select(["time_ps", "flow", "value"]).to_pylist():
                found.setdefault(row["time_ps"], {})[row["flow"]] = row["value"]
        return found

    @cached_property
    def _port_numbers(self) -> dict[tuple[str, str], list[tuple[int, int]]]:
        """Numbers and rates, in b/s, of the ports, by the nodes that they connect."""
        numbers: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for port in self.run.ports.select(["node", "peer", "port", "rate_bps"]).to_pylist():
            key = (port["node"], port["peer"])
            numbers.setdefault(key, []).append((port["port"], port["rate_bps"]))
        return numbers

    def port(self, node: str, to: str) -> tuple[int, int]:
        """Return number and rate, in b/s, of the only port from a node to another."""
        found = self._port_numbers.get((node, to), [])
        if len(found) != 1:
            raise NotThereError(f"{len(found)} ports lead from {node} to {to}")
        return found[0]

    def group(self, label: str) -> list[dict[str, Any]]:
        """Return the flows of a group."""
        if label not in self._flows:
            raise NotThereError(f"there is no flow in group {label!r}")
        return self._flows[label]

    def delivered(self, label: str, time_ps: int) -> int:
        """Return the payload bytes that a group's receivers got up to and including a time."""
        samples = self._received.get(time_ps, {})
        total = 0
        for flow in self.group(label):
            last = flow["fct_last_byte_ps"]
            if flow["flow_id"] in samples:
                total += samples[flow["flow_id"]]
            elif flow["start_ps"] >= time_ps:
                continue
            elif time_ps >= self.end_ps or (
                last is not None and flow["start_ps"] + last <= time_ps
            ):
                total += flow["received"]
            elif flow["state"] == "failed" and time_ps % self.sampling_ps == 0:
                # A failed flow has no samples after its end, and receives no more.
                total += flow["received"]
            else:
                raise NotThereError(
                    f"no sample of the flows at {time_ps / 1e9:g} ms: see output.interval"
                )
        return total

    def rate(self, label: str, window: Sequence[str] | None) -> float:
        """Return the rate of payload to a group's receivers over a window or the run, in b/s.

        The run lasts until `stop.at` or its last event. This may be a timer that expires after the
        end of the last flow: state a window unless the scenario has a `stop.at`.
        """
        begin, end = (0, self.end_ps) if window is None else window_ps(window)
        bits = BITS * (self.delivered(label, end) - self.delivered(label, begin))
        return bits * PS_PER_S / (end - begin)

    def over(self, name: str, node: str, port: int, window: Sequence[str]) -> list[tuple[int, int]]:
        """Return (end in ps, value) of the samples of a port whose intervals lie in a window."""
        begin, end = window_ps(window)
        output = self.run.scenario["output"]
        key = "links" if name == "sent_bytes" else "backlogs"
        if not output.get(key):
            raise NotThereError(f"the run has no {name}: see output.{key}")
        nodes = output.get("nodes") or []
        if nodes and node not in nodes:
            raise NotThereError(f"{node} was not sampled: see output.nodes")
        table = self._samples.get(name)
        if table is None:
            return []
        here = (pc.field("node") == node) & (pc.field("port") == port)
        inside = (pc.field("time_ps") > begin) & (pc.field("time_ps") <= end)
        found = table.filter(here & inside)
        rows = found.select(["time_ps", "value"]).to_pylist()
        return [(row["time_ps"], row["value"]) for row in rows]

    @cached_property
    def sampling_ps(self) -> int:
        """Time between two samples, in ps."""
        interval = self.run.scenario["output"].get("interval")
        if interval is None:
            raise NotThereError("the scenario has no output.interval")
        return time_ps(interval, "output.interval")

    def steps(self, window: Sequence[str]) -> int:
        """Return the number of whole sampling intervals in a window."""
        begin, end = window_ps(window)
        if begin % self.sampling_ps or end % self.sampling_ps:
            raise NotThereError(f"{window[0]} to {window[1]} is no whole number of output.interval")
        if end > self.end_ps:
            raise NotThereError(f"the run ended before {window[1]}")
        return (end - begin) // self.sampling_ps


EXACT = "exact-"
"""Prefix of a percentile that is read from any number of values."""

Read = Callable[..., Reading]


@dataclass(frozen=True)
class Kind:
    """A kind of measure that a study reads from a run."""

    name: str
    """Its name in study.toml."""
    unit: str
    better: str | None
    """`less`, `more`, or None if neither is better."""
    counts: bool
    """True if its readings are numbers of things."""
    read: Read

    @property
    def text(self) -> str:
        """The first paragraph of its docstring."""
        return " ".join((inspect.getdoc(self.read) or "").partition("\n\n")[0].split())

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters, without the run."""
        return list(inspect.signature(self.read).parameters)[1:]


KINDS: dict[str, Kind] = {}


def kind(
    name: str, unit: str, better: str | None = LESS, *, counts: bool = False
) -> Callable[[Read], Read]:
    """Register a function as a kind of measure under its name in study.toml."""

    def register(function: Read) -> Read:
        KINDS[name] = Kind(name, unit, better, counts, function)
        return function

    return register


def _metric(name: str) -> Kind:
    """Return a metric as a kind without parameters. Raises `InputError` for an unknown name."""
    try:
        asked = metric(name)
    except InputError:
        raise InputError(
            f"there is no kind of measure {name!r}",
            f"there are {', '.join(KINDS)}, and all metrics (`backwater list metrics`)",
        ) from None

    def of(run: Observed) -> Reading:
        value = asked.of(run.run)
        if value is not None:
            return Reading(int(value) if asked.quantity.counts else value)
        problem = asked.lacking(run.run) or asked.why_not(asked.count(run.run) or 0)
        return Reading(None, problem or f"the run has no {name}")

    quantity = asked.quantity
    return Kind(name, asked.unit, quantity.better, quantity.counts, of)


def named(name: str) -> Kind:
    """Return a kind of measure by its name. Raises `InputError` for an unknown name."""
    return KINDS[name] if name in KINDS else _metric(name)


def count_of(run: Observed, name: str) -> Reading:
    """Read a metric that counts things and that every run has."""
    return Reading(int(metric(name).of(run.run) or 0))


def check(kind: str, parameters: Mapping[str, Any]) -> None:
    """Raise `InputError` for an unknown kind of measure, or parameters that it does not take."""
    found = named(kind)
    try:
        inspect.signature(found.read).bind(None, **parameters)
    except TypeError as error:
        hint = f"it takes {', '.join(found.parameters) or 'none'}"
        raise InputError(f"measure {kind}: {error}", hint) from None


def read(run: Observed, kind: str, parameters: Mapping[str, Any]) -> Reading:
    """Read one measure from a run."""
    try:
        return named(kind).read(run, **parameters)
    except NotThereError as error:
        return Reading(None, str(error))


def statistic_of(values: Iterable[float] | pl.Series, name: str) -> float:
    """Return a statistic of at least one value by its name.

    Raises `InputError` for an unknown name, and `NotThereError` for a percentile that needs more
    values (`backwater.samples`). `exact-p99` takes any number of values, since a document may have
    a percentile of few.
    """
    ordered = values.sort() if isinstance(values, pl.Series) else sorted(values)
    bare = name.removeprefix(EXACT)
    if share_of(bare) is None and name not in NAMES:
        raise InputError(
            f"{name!r} is no statistic",
            "there are mean, median, min, max, std, variance, percentiles such as p50 or p99.9, "
            "and exact-p99 of any number of values",
        )
    if bare == name and (problem := why_not(name, len(ordered), "values")) is not None:
        raise NotThereError(problem)
    return statistic(ordered, bare)


@kind("fct", "us")
def fct(run: Observed, group: str, of: str = "mean", until: str = "last_ack") -> Reading:
    """Completion times of a group's flows in us; all must be complete."""
    flows = run.run.flows.filter(pc.field("group") == group)
    sizes = tuple(row["bytes"] for row in flows.select(["bytes"]).to_pylist())
    name = f"fct_{until}_ps"
    times = flows[name]
    if flows.num_rows == 0:
        return Reading(None, f"there is no flow in group {group!r}", sizes)
    if times.null_count:
        left = f"{times.null_count} of {flows.num_rows} {group} flows not complete"
        return Reading(None, left, sizes)
    return Reading(statistic_of(pl.Series(times) / PS_PER_US, of), None, sizes)


@kind("finish", "us")
def finish(run: Observed, of: str = "max", until: str = "last_ack", per: str = "flow") -> Reading:
    """Times in the run at which flows were complete, in us; all must be complete.

    With `per = "connection"` only the last of the messages that share a connection counts.
    """
    if per not in ("flow", "connection"):
        raise InputError(f"finish counts per {per!r}", "it counts per flow or per connection")
    flows = run.completions
    times = flows[f"fct_{until}_ps"]
    if times.null_count:
        return Reading(None, f"{times.null_count} of {flows.num_rows} flows not complete")
    ends = pl.Series("end", times) + pl.Series(flows["start_ps"])
    if per == "connection":
        ends = _last_of_connections(run, ends)
    return Reading(statistic_of(ends / PS_PER_US, of))


def _last_of_connections(run: Observed, ends: pl.Series) -> pl.Series:
    """Return the last end of each connection, and the end of each flow without a shared one."""
    entries = [*run.run.scenario.get("flow", []), *run.run.scenario.get("job", [])]
    kept = {entry["label"] for entry in entries if entry.get("keep_queue_pairs")}
    flows = pl.DataFrame(run.run.flows.select(["flow_id", "group", "src", "dst"]))
    shared = pl.col("group").is_in(kept)
    connection = pl.when(shared).then(pl.lit(None, pl.Int64)).otherwise(pl.col("flow_id"))
    ended = flows.with_columns(end=ends, alone=connection)
    return ended.group_by("group", "src", "dst", "alone").agg(pl.col("end").max())["end"]


@kind("transaction_time", "us")
def transaction_time(run: Observed, groups: Sequence[str], of: str = "variance") -> Reading:
    """Times to the last byte of the complete flows of some groups, in us, a variance in us²."""
    flows = [flow for group in groups for flow in run.group(group)]
    times = [flow["fct_last_byte_ps"] for flow in flows if flow["fct_last_byte_ps"] is not None]
    if len(times) < 2:
        return Reading(None, f"only {len(times)} of {len(flows)} flows are complete")
    return Reading(statistic_of([time / PS_PER_US for time in times], of))


@kind("throughput", "Mb/s", MORE)
def throughput(
    run: Observed,
    groups: Sequence[str],
    window: Sequence[str] | None = None,
    count: str = "payload",
) -> Reading:
    """Rate at which the receivers of some groups got payload, or full frames, in Mb/s."""
    if count not in ("payload", "frame"):
        raise InputError(f"throughput counts {count!r}", "it counts payload or frame")
    payload = math.fsum(run.rate(group, window) for group in groups) / 1e6
    if count == "payload":
        return Reading(payload)
    packet = run.run.scenario["packet"]
    sizes = {name: size_bytes(packet[name], f"packet.{name}") for name in ("payload", "header")}
    return Reading(payload * (sizes["payload"] + sizes["header"]) / sizes["payload"])


@kind("sent", "GB/s", MORE)
def sent(run: Observed, group: str) -> Reading:
    """Payload that a sender of a group sends on average over the group's time, in GB/s.

    The time is from the first start of a flow to the last byte of the last one. All flows must be
    complete.
    """
    flows = run.group(group)
    missing = sum(flow["fct_last_byte_ps"] is None for flow in flows)
    if missing:
        raise NotThereError(f"{missing} of {len(flows)} flows of {group} not complete")
    first = min(flow["start_ps"] for flow in flows)
    last = max(flow["start_ps"] + flow["fct_last_byte_ps"] for flow in flows)
    senders = len({flow["src"] for flow in flows})
    bits = BITS * sum(flow["received"] for flow in flows) / senders
    return Reading(bits * PS_PER_S / (last - first) / (BITS * BPS_PER_GBPS))


@kind("rms_fairness", "")
def rms_fairness(
    run: Observed, groups: Sequence[str], target: str, window: Sequence[str]
) -> Reading:
    """Root mean square of the groups' relative distances from a target rate of payload."""
    wanted = rate_bps(target, "target")
    errors = [(run.rate(group, window) - wanted) / wanted for group in groups]
    return Reading(math.sqrt(math.fsum(error**2 for error in errors) / len(errors)))


@kind("drops", "frames", counts=True)
def drops(run: Observed, nodes: Sequence[str] | None = None) -> Reading:
    """Frames dropped for want of memory in the whole run, at all nodes or at some."""
    ports = run.run.ports
    if nodes is not None:
        ports = ports.filter(pc.field("node").isin(list(nodes)))
    return Reading(int(pc.sum(ports["drop_frames"]).as_py() or 0))


@kind("retransmissions", "packets", counts=True)
def retransmissions(run: Observed, group: str | None = None) -> Reading:
    """Data packets that all flows, or those of a group, retransmitted after losses and timeouts."""
    name = "retransmitted" if group is None else f"retransmitted:{group}"
    return count_of(run, name)


@kind("queue", "KB")
def queue(run: Observed, node: str, to: str, window: Sequence[str], of: str = "mean") -> Reading:
    """Exact backlog of the port from a node to another: mean, std, max in KB; time empty in %.

    Needs `output.backlogs`; the window is a whole number of `output.interval`.
    """
    steps = run.steps(window)
    port, _ = run.port(node, to)

    def values(name: str) -> list[int]:
        return [value for _, value in run.over(f"backlog_{name}", node, port, window)]

    # An interval has no row until the first frame has waited.
    if of == "max":
        return Reading(max(values("max_bytes"), default=0) / 1e3)
    if of == "empty":
        rows = values("empty_ps")
        empty = sum(rows) + (steps - len(rows)) * run.sampling_ps
        return Reading(100 * empty / (steps * run.sampling_ps))
    mean = sum(values("mean_bytes")) / steps
    if of == "mean":
        return Reading(mean / 1e3)
    if of != "std":
        raise InputError(f"queue: of = {of!r}", "there are mean, std, max, empty")
    square = sum(values("mean_square_bytes2")) / steps
    return Reading(math.sqrt(max(0.0, square - mean**2)) / 1e3)


@kind("settles", "ms")
def settles(run: Observed, node: str, to: str, window: Sequence[str], most: str) -> Reading:
    """Time from the window's start until a port's backlog last exceeded `most`, in ms.

    Needs `output.backlogs`; the window is a whole number of `output.interval`, and the time is that
    of an interval's end. 0: the backlog never exceeded `most`.
    """
    run.steps(window)
    port, _ = run.port(node, to)
    begin, end = window_ps(window)
    limit = size_bytes(most, "most")
    rows = run.over("backlog_max_bytes", node, port, window)
    last = max((time for time, value in rows if value > limit), default=begin)
    if last >= end:
        return Reading(None, f"the backlog exceeded {most} up to {window[1]}")
    return Reading((last - begin) / PS_PER_MS)


@kind("utilisation", "%", MORE)
def utilisation(
    run: Observed, node: str, to: str, window: Sequence[str], rate: str | None = None
) -> Reading:
    """Share of its rate that the port from a node to another sent, in %, headers included.

    Needs `output.links`. A frame counts when its transmission begins. `rate` replaces the port's
    rate where that changes during the run.
    """
    port, bps = run.port(node, to)
    full = bps if rate is None else rate_bps(rate)
    run.steps(window)
    begin, end = window_ps(window)
    sent = BITS * sum(value for _, value in run.over("sent_bytes", node, port, window))
    return Reading(100 * sent * PS_PER_S / ((end - begin) * full))


@kind("control_messages", "messages", counts=True)
def control_messages(run: Observed, message: str) -> Reading:
    """Control messages of one kind that were sent."""
    return count_of(run, f"control_messages:{message}")


@kind("paused_ports", "ports", counts=True)
def paused_ports(run: Observed) -> Reading:
    """Ports that received a pause."""
    return count_of(run, "ports_paused")
