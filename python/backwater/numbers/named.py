"""The numbers of a run that a sweep keeps of each point, by the names of metrics.

Those that `backwater.numbers.metrics` has, too, have its names and its values; others are counts of
flows and ports. They come from the rows of a run without a library of tables, in some tenths of a
millisecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from backwater.numbers.run import completion_times, group_times, job_times, port_totals
from backwater.numbers.statistics import TOLD
from backwater.numbers.units import PS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from backwater.results import Run


class Named(NamedTuple):
    """A number of a run."""

    name: str
    unit: str
    about: str
    value: float | None


_STATISTICS = {name: "median" if name == "p50" else name for name in TOLD}
_COUNTS = {
    "flows": ("flows", "flows"),
    "complete": ("flows", "complete flows"),
    "failed": ("flows", "flows that gave up"),
    "unfinished": ("flows", "flows that were neither complete nor had failed"),
    "bytes": ("B", "payload to be sent"),
    "received": ("B", "payload received"),
    "retransmitted": ("packets", "data packets retransmitted"),
    "inferred_lost": ("packets", "data packets taken for lost before a timeout"),
    "timeouts": ("", "timeouts of senders"),
}
_PORTS = {
    "pauses_sent": ("pauses_sent", "", "pauses that ports sent"),
    "pauses_received": ("pauses", "pauses", "pauses that ports received"),
    "paused_ps": ("pause_time", "us", "time that ports were paused, summed over them"),
    "drop_frames": ("drops", "frames", "frames dropped for want of memory"),
    "trimmed": ("trimmed", "packets", "packets trimmed for want of memory"),
    "flushed_frames": ("flushed", "frames", "frames that a mechanism dropped from queues"),
    "marked_frames": ("marked_frames", "frames", "frames marked"),
    "ports_paused": ("ports_paused", "", "ports that received a pause"),
}
_SUMMARY = {
    "time_ps": ("ps", "simulated time"),
    "events": ("", "events"),
    "hops": ("", "frames put on links"),
    "data_hops": ("", "data frames put on links"),
    "fault_losses": ("frames", "frames lost by faults"),
}
# What each run has, by the part of a name before the group; statistics have a name of their own.
KNOWN = frozenset(
    [
        *_COUNTS,
        *(name for name, _, _ in _PORTS.values()),
        *_SUMMARY.keys() - {"time_ps"},
    ]
    + [f"{one}_fct_last_byte" for one in _STATISTICS.values()]
)
"""Names that a sweep has of each point and `backwater.numbers.metrics` does not know."""


REFERENCE = "reference:"
"""What names of numbers begin with that are no metrics: those that metrics are held against."""


def reference(name: str) -> str:
    """Name what a metric is held against, beside the metric in the rows of points."""
    return f"{REFERENCE}{name}"


def named(run: Run) -> Iterator[Named]:
    """Give every number of a complete run that sweeps keep."""
    groups = group_times(run)
    for group in groups:
        of = group["group"]
        for name, (unit, about) in _COUNTS.items():
            yield Named(f"{name}:{of}", unit, f"{about}, group {of}", group[name])
        to_byte = group["fct_last_byte_us"]
        acknowledged = group["fct_last_ack_us"] or to_byte
        yield from _spread("fct", of, "us", "completion time", acknowledged)
        yield from _spread("fct_last_byte", of, "us", "time to the last byte", to_byte)
        about = "time to the last byte over that in an idle network"
        yield from _spread("slowdown", of, "", about, group["slowdown"])
    yield from _jobs(run)
    ports = port_totals(run)
    for column, (name, unit, about) in _PORTS.items():
        value = ports.get(column, 0)
        yield Named(name, unit, about, value / PS_PER_US if unit == "us" else value)
    again = sum(group["retransmitted"] for group in groups)
    yield Named("retransmitted", "packets", "data packets retransmitted", again)
    left = sum(group["flows"] - group["complete"] for group in groups)
    yield Named("unfinished", "flows", "flows that did not complete", left)
    for name, (unit, about) in _SUMMARY.items():
        yield Named(name, unit, about, run.summary.get(name))


def _jobs(run: Run) -> Iterator[Named]:
    for job in completion_times(run):
        of, whole = job["job"], job["complete"] == job["instances"]
        took = job["duration_us"] if whole else None
        yield from _spread("jct", of, "us", "job completion time", took)
    for step in job_times(run):
        of = f"{step['job']}/{step['step']}"
        whole = step["complete"] == step["collectives"]
        for name, column, unit, about in (
            ("cct", "duration_us", "us", "collective completion time"),
            (
                "bound",
                "bound_us",
                "us",
                "what the busiest host needs for a collective, with all of its links",
            ),
            ("algbw", "algbw_gbps", "Gb/s", "algorithm bandwidth of a collective"),
            ("busbw", "busbw_gbps", "Gb/s", "bus bandwidth of a collective"),
        ):
            yield from _spread(name, of, unit, about, step[column] if whole else None)


def _spread(
    name: str, of: str, unit: str, about: str, found: Mapping[str, Any] | None
) -> Iterator[Named]:
    for column, statistic in _STATISTICS.items():
        value = None if found is None else found[column]
        yield Named(f"{statistic}_{name}:{of}", unit, f"{about}, {statistic}, {of}", value)
