"""Measures of what a control costs and how it shares: messages, octets, queues, fairness."""

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
    """Octets of a control message of a kind: the sum that the study gives for this kind.

    Its terms, with ` + ` between them, are sizes (`"64 B"`) or keys of the scenario
    (`"packet.header"`).
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
    """Control messages of all kinds, MAC control among them; a signal without a frame counts."""
    return count_of(run, "control_messages")


@kind("control_octets", "KB")
def control_octets(
    run: Observed, octets: Mapping[str, str], in_every_frame: Mapping[str, str] | None = None
) -> Reading:
    """Octets of all control messages where they begin, in KB.

    `octets` has those of each kind of message. `in_every_frame` has those that a table of the
    scenario adds to each data packet and each acknowledgement, where this table is on. A signal
    without a frame counts as the frame that it stands for.
    Acknowledgements are none, and what marks and cuts say costs no octets.
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
    """Most that waited at once for one port of a switch, in KB."""
    switches = run.run.ports.filter(pc.field("tier") != "host")
    if switches.num_rows == 0:
        raise NotThereError("the run has no table of ports of switches")
    return Reading((metric("max_queue").of(run.run) or 0) / 1e3)


@kind("ingress_peak", "KB")
def ingress_peak(run: Observed) -> Reading:
    """Most that a switch held at once of what had come in by one port, in KB."""
    switches = run.run.ports.filter(pc.field("tier") != "host")
    if switches.num_rows == 0:
        raise NotThereError("the run has no table of ports of switches")
    return Reading((metric("ingress_peak").of(run.run) or 0) / 1e3)


@kind("fairness", "", MORE)
def fairness(run: Observed, group: str) -> Reading:
    """Jain's index of a group's flows, 1 if all had the same rate: (sum x)^2 / (n sum x^2).

    A flow's rate x is its payload over its time to the last byte; all must be complete.
    """
    flows = [row for row in run.completions.to_pylist() if row["group"] == group]
    if not flows:
        raise NotThereError(f"there is no flow in group {group!r}")
    left = sum(row["fct_last_byte_ps"] is None for row in flows)
    if left:
        return Reading(None, f"{left} of {len(flows)} {group} flows not complete")
    rates = [row["bytes"] * PS_PER_S / row["fct_last_byte_ps"] for row in flows]
    return Reading(jain(rates))
