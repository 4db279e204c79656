"""Measures of the cost and the fairness of a control: messages, octets, queues, Jain's index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from backwater.numbers.metrics import metric
from backwater.numbers.registry import MORE
from backwater.numbers.statistics import jain
from backwater.numbers.units import PS_PER_S, size_bytes
from backwater.study.measures import NotThereError, Observed, Reading, count_of, kind


def octets_of(message: str, sizes: Mapping[str, str], scenario: Mapping[str, Any]) -> int:
    """Return the octets of one control message of a kind: the sum that `sizes` has for it.

    The terms of a sum, joined by ` + `, are sizes (`"64 B"`) or keys of the scenario
    (`"packet.header"`). Raises `NotThereError` if the kind or a key is missing.
    """
    if message not in sizes:
        raise NotThereError(f"the measure has no octets of {message!r}")
    return sum(_size(term, scenario) for term in sizes[message].split(" + "))


def _size(term: str, scenario: Mapping[str, Any]) -> int:
    if term[:1].isdigit():
        return size_bytes(term)
    found: Any = scenario
    for key in term.split("."):
        if not isinstance(found, Mapping) or key not in found:
            raise NotThereError(f"the scenario has no {term}, which the measure's octets name")
        found = found[key]
    return size_bytes(found)


@kind("all_control_messages", "messages", counts=True)
def all_control_messages(run: Observed) -> Reading:
    """Control messages of all kinds, including MAC control and signals without a frame."""
    return count_of(run, "control_messages")


@kind("control_octets", "KB")
def control_octets(
    run: Observed, octets: Mapping[str, str], in_every_frame: Mapping[str, str] | None = None
) -> Reading:
    """Octets of all control messages, each counted once, at its origin, in KB.

    `octets` has the octets of each kind of message. `in_every_frame` has the octets that a table of
    the scenario, where it is on, adds to each data packet and each acknowledgement. A signal
    without a frame counts as the frame that it replaces. Acknowledgements are no control messages.
    Marks and trimming add no octets.
    """
    scenario = run.run.scenario
    counts = run.run.control.group_by("kind").aggregate([("kind", "count")]).to_pylist()
    total = sum(row["kind_count"] * octets_of(row["kind"], octets, scenario) for row in counts)
    added = [size for table, size in (in_every_frame or {}).items() if scenario.get(table)]
    if added:
        hosts = run.run.ports.filter(pc.field("tier") == "host")
        frames = int(pc.sum(hosts["tx_frames"]).as_py() or 0)
        total += frames * sum(_size(one, scenario) for one in added)
    return Reading(total / 1e3)


@kind("queue_peak", "KB")
def queue_peak(run: Observed) -> Reading:
    """Most bytes that waited at once for one port of a switch, in KB."""
    return _peak(run, "max_queue")


@kind("ingress_peak", "KB")
def ingress_peak(run: Observed) -> Reading:
    """Most bytes that frames from one ingress of a switch held at once, in KB."""
    return _peak(run, "ingress_peak")


def _peak(run: Observed, name: str) -> Reading:
    """Read a metric of switch ports in KB; raises `NotThereError` for a run without their table."""
    switches = run.run.ports.filter(pc.field("tier") != "host")
    if switches.num_rows == 0:
        raise NotThereError("the run has no table of ports of switches")
    return Reading((metric(name).of(run.run) or 0) / 1e3)


@kind("fairness", "", MORE)
def fairness(run: Observed, group: str) -> Reading:
    """Jain's index of a group's flows, 1 if all have the same rate: (sum x)^2 / (n sum x^2).

    A flow's rate x is its payload over its time to the last byte. All flows must be complete.
    """
    flows = run.completions.filter(pc.field("group") == group).to_pylist()
    if not flows:
        raise NotThereError(f"there is no flow in group {group!r}")
    left = sum(row["fct_last_byte_ps"] is None for row in flows)
    if left:
        return Reading(None, f"{left} of {len(flows)} {group} flows not complete")
    rates = [row["bytes"] * PS_PER_S / row["fct_last_byte_ps"] for row in flows]
    return Reading(jain(rates))
