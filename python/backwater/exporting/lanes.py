"""Lanes: spans that overlap lie in different ones, and each span has the lowest that is free."""

from __future__ import annotations

import heapq


class Lanes:
    """The lanes of one row of spans, which come in the order of their begins."""

    def __init__(self) -> None:
        self._busy: list[tuple[int, int]] = []
        self._free: list[int] = []

    def take(self, begin: int, end: int) -> int:
        """Return the lane of a span, from 0. It is free again at `end`."""
        while self._busy and self._busy[0][0] <= begin:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        lane = heapq.heappop(self._free) if self._free else len(self._busy)
        heapq.heappush(self._busy, (end, lane))
        return lane
