"""An incast of four senders at a star, whose switch and PFC are the test's."""

from __future__ import annotations


def incast_star(switch: str, pfc: str) -> str:
    """Write the scenario; `switch` and `pfc` are lines of these tables, with others behind."""
    return f"""
[topology]
kind = "star"
hosts = 5
rate = "100 Gb/s"
link_delay = "500 ns"
[switch]
{switch}
[pfc]
{pfc}
[[flow]]
label = "incast"
from = "0..3"
to = "h4"
size = "1 MB"
"""
