"""Measures of what a control costs and how it shares: messages, octets, queues, fairness."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from backwater.numbers.units import PS_PER_S, size_bytes
from backwater.study.measures import NotThereError, Observed, Reading, kind

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_FRAME = 64
"""Octets of the shortest Ethernet frame, which MAC control and credits of UEC's transport are."""

ORDERED_SET = 8
"""Octets of a CF_Update (UEC 1.0, 5.2)."""

TELEMETRY = 42
"""Octets that HPCC adds to each data packet and each acknowledgement."""


def _cim_octets(ci: Mapping[str, Any]) -> int:
    """Octets of a CIM: Ethernet 18 with its FCS, tag and type, the PDU 22, and those it quotes."""
    network = {"l2": 0, "ipv4": 28, "ipv6": 48}[ci["cim_type"]]
    return max(MIN_FRAME, 40 + network + size_bytes(ci["min_header_octets"]))


def octets_of(message: str, scenario: Mapping[str, Any]) -> int:
    """Octets of a control message, by its kind: those of its own parameter, or of its format."""
    if message.startswith("sfc-"):
        return size_bytes(scenario["sfc"]["message_size"])
    if message == "cnp":
        return size_bytes(scenario["dcqcn"]["cnp_size"])
    if message == "cim":
        return _cim_octets(scenario["ci"])
    if message == "cf-update":
        return ORDERED_SET
    if message in ("mac-control", "pull", "rts", "cc-update"):
        return MIN_FRAME
    raise NotThereError(f"nothing is known of the octets of {message!r}")


@kind("all_control_messages", counts=True)
def all_control_messages(run: Observed) -> Reading:
    """Control messages of all kinds, MAC control among them; a signal without a frame counts."""
    return Reading(run.run.control.num_rows)


@kind("control_octets")
def control_octets(run: Observed) -> Reading:
    """Octets of all control messages where they begin, and of HPCC's telemetry, in KB.

    A pause that is signalled without a frame (`pfc.signal = "ideal"`) counts as the frame that it
    stands for. Acknowledgements are none, and what marks and cuts say costs no octets.
    """
    counts = run.run.control.group_by("kind").aggregate([("kind", "count")]).to_pylist()
    total = sum(row["kind_count"] * octets_of(row["kind"], run.run.scenario) for row in counts)
    if run.run.scenario.get("hpcc"):
        hosts = run.run.ports.filter(pc.field("tier") == "host")
        total += TELEMETRY * int(pc.sum(hosts["tx_frames"]).as_py() or 0)
    return Reading(total / 1e3)


@kind("queue_peak")
def queue_peak(run: Observed) -> Reading:
    """Most that waited at once for one port of a switch, in KB."""
    switches = run.run.ports.filter(pc.field("tier") != "host")
    if switches.num_rows == 0:
        raise NotThereError("the run has no table of ports of switches")
    return Reading((pc.max(switches["max_egress_bytes"]).as_py() or 0) / 1e3)


@kind("ingress_peak")
def ingress_peak(run: Observed) -> Reading:
    """Most that a switch held at once of what had come in by one port, in KB."""
    switches = run.run.ports.filter(pc.field("tier") != "host")
    if switches.num_rows == 0:
        raise NotThereError("the run has no table of ports of switches")
    return Reading((pc.max(switches["max_ingress_bytes"]).as_py() or 0) / 1e3)


@kind("fairness")
def fairness(run: Observed, group: str) -> Reading:
    """Jain's index of a group's flows, 1 if all had the same rate: (sum x)^2 / (n sum x^2).

    A flow's rate x is its payload over its time to the last byte; all must be complete. R. Jain et
    al., DEC-TR-301, 1984.
    """
    flows = [row for row in run.completions.to_pylist() if row["group"] == group]
    if not flows:
        raise NotThereError(f"there is no flow in group {group!r}")
    left = sum(row["fct_last_byte_ps"] is None for row in flows)
    if left:
        return Reading(None, f"{left} of {len(flows)} {group} flows not complete")
    rates = [row["bytes"] * PS_PER_S / row["fct_last_byte_ps"] for row in flows]
    return Reading(math.fsum(rates) ** 2 / (len(rates) * math.fsum(rate**2 for rate in rates)))
