"""How evenly the parallel links of a fabric are loaded: the uplinks of switches that have hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.numbers.statistics import jain

if TYPE_CHECKING:
    from backwater.numbers.rows import Rows

HOST = "host"
"""The tier of hosts."""


def uplinks(ports: Rows) -> list[int]:
    """Return the bytes that each uplink sent, of the table `ports`.

    An uplink leads from a switch with hosts to a switch without hosts. A fabric in which every
    switch has hosts, such as a star, has none.
    """
    links = ports.distinct("node", "port", "peer", "tier", "tx_bytes")
    edge = {peer for _, _, peer, tier, _ in links if tier == HOST}
    hosts = {node for node, _, _, tier, _ in links if tier == HOST}
    inner = edge | hosts
    return [sent for node, _, peer, _, sent in links if node in edge and peer not in inner]


def max_mean(ports: Rows) -> float | None:
    """Return the most that an uplink sent divided by the mean of all; None: they sent nothing."""
    sent = uplinks(ports)
    return max(sent) * len(sent) / sum(sent) if any(sent) else None


def evenness(ports: Rows) -> float | None:
    """Return Jain's index of what the uplinks sent; None: they sent nothing."""
    sent = uplinks(ports)
    return jain(sent) if any(sent) else None
