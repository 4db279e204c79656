"""How long frames requested that a neighbour pauses: PAUSE of 802.3 and PFC alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

REQUESTS = "mac-control"
"""Kind of message of the table of control: MAC control, a pause time in quanta or 0."""


def requested_ps(
    frames: Iterable[tuple[int, str, int, int | None, int]], begin: int, end: int
) -> int:
    """Sum up the time from the first frame that requested a pause to the one that ended it.

    `frames`: time, node, port, class and value of each, by ascending time. Over all ports and
    classes. A pause that has not ended by `end` lasts until then, and of one that began before
    `begin` only the rest counts.
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
