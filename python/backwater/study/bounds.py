"""Lower bounds of completion times, from sizes and rates alone.

No congestion control can beat them. A bound has two parts: the time that the links need for the
bytes, and the time of the last packet and its acknowledgement over an empty network.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BITS = 8


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document's network, reduced to equal links with store and forward.

    A flow's path has `links` links and `switches` switches. Its ACKs return on the same path.
    """

    payload_bytes: int
    header_bytes: int
    ack_bytes: int
    rate_gbps: float
    link_delay_ns: float
    switch_latency_ns: float
    links: int
    switches: int

    def packets(self, size: int) -> int:
        """Return the number of packets that carry `size` bytes."""
        return math.ceil(size / self.payload_bytes)

    @property
    def slot_us(self) -> float:
        """Time to send one full packet on one link, in us."""
        return (self.payload_bytes + self.header_bytes) * BITS / self.rate_gbps / 1e3

    @property
    def pipe_us(self) -> float:
        """Time from the last bit on the first link to the last bit of its ACK at the source, in us.

        Each further link sends the packet anew, and both directions pass every link and switch:
        (links-1) slots + links ACKs + 2 (links · delay + switches · latency).
        """
        ack = self.ack_bytes * BITS / self.rate_gbps / 1e3
        one_way = (self.links * self.link_delay_ns + self.switches * self.switch_latency_ns) / 1e3
        return (self.links - 1) * self.slot_us + self.links * ack + 2 * one_way

    def alone_us(self, size: int) -> float:
        """Return the completion time of a flow of `size` bytes alone in the network, in us."""
        return self.packets(size) * self.slot_us + self.pipe_us

    def incast_last_us(self, sizes: Sequence[int]) -> float:
        """Return the least last completion of flows that share one receiver link, in us."""
        return sum(self.packets(size) for size in sizes) * self.slot_us + self.pipe_us

    def incast_mean_us(self, sizes: Sequence[int]) -> float:
        """Return the least *mean* completion of flows that share one receiver link, in us.

        The mean is least when the link serves them one after another, shortest first: the k-th ends
        with the last packet of the first k. `incast_last_us` is higher, but bounds the last flow
        only.
        """
        through = 0
        total = 0.0
        for size in sorted(sizes):
            through += self.packets(size)
            total += through * self.slot_us + self.pipe_us
        return total / len(sizes)


BOUNDS: dict[str, Callable[[Model, Sequence[int]], float]] = {
    "alone": lambda model, sizes: model.alone_us(sizes[0]),
    "shared-link": Model.incast_mean_us,
    "shared-link-last": Model.incast_last_us,
}
"""Bounds that a measure of completion times can name; each takes the sizes of flows, in bytes."""
