"""The time for which frames requested a pause: PAUSE of 802.3 and PFC alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

REQUESTS = "mac-control"
"""The kind of MAC control frames in table `control`; their value is a pause in quanta, or 0."""


def requested_ps(
    frames: Iterable[tuple[int, str, int, int | None, int]], begin: int, end: int
) -> int:
    """Sum up the time from the first frame that requests a pause to the one that ends it, in ps.

    The sum is over all ports and classes, within `begin` and `end` (ps). `frames` has time (ps),
    node, port, class and value of each frame, by ascending time. A pause that has not ended by
    `end` counts until then.
    """
    since: dict[tuple[str, int, int | None], int] = {}
    total = 0
    for time, node, port, of_class, value in frames:
        key = (node, port, of_class)
        if value > 0:
            since.setdefault(key, time)
        elif key in since:
            total += max(0, time - max(begin, since.pop(key)))
    return total + sum(max(0, end - max(begin, start)) for start in since.values())
