"""Lower bounds of completion times, from sizes and rates alone.

No congestion control can beat them: they are what the links need for the bytes, plus the time that
the last packet and its acknowledgement need over an empty network.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BITS = 8


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document's network as far as the bounds need it: equal links, store and forward.

    A flow's path has `links` links and `switches` switches; its ACKs take it back.
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
        """How many packets carry `size` bytes."""
        return math.ceil(size / self.payload_bytes)

    @property
    def slot_us(self) -> float:
        """Time of one full packet on one link."""
        return (self.payload_bytes + self.header_bytes) * BITS / self.rate_gbps / 1e3

    @property
    def pipe_us(self) -> float:
        """From the last bit put on the first link to its ACK's last bit at the source.

        The packet is sent anew on every further link, both ways pass every link and every switch:
        (links-1) slots + links ACKs + 2 (links · delay + switches · latency).
        """
        ack = self.ack_bytes * BITS / self.rate_gbps / 1e3
        one_way = (self.links * self.link_delay_ns + self.switches * self.switch_latency_ns) / 1e3
        return (self.links - 1) * self.slot_us + self.links * ack + 2 * one_way

    def alone_us(self, size: int) -> float:
        """Completion of one flow of `size` bytes alone in the network."""
        return self.packets(size) * self.slot_us + self.pipe_us

    def incast_last_us(self, sizes: Sequence[int]) -> float:
        """Completion of the last of flows that one receiver link must carry."""
        return sum(self.packets(size) for size in sizes) * self.slot_us + self.pipe_us

    def incast_mean_us(self, sizes: Sequence[int]) -> float:
        """Least possible *mean* completion of flows that one receiver link must carry.

        The mean is least when they are served one after another, shortest first: the k-th ends when
        the first k are through. It lies below `incast_last_us`, which bounds the last flow only.
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
"""Bounds that a measure of completion times can name, from the sizes of its flows in bytes."""
