"""Scenarios of a star."""

from __future__ import annotations

# Three hosts send 75 packets of 4,096 B each into a queue of 30 KB: most of the second and third
# burst finds no room, and nothing sends it again.
LOSSY = """
title = "Lossy"
[topology]
kind = "star"
hosts = 4
rate = "10 Gb/s"
link_delay = "500 ns"
[switch]
buffer = "30 KB"
[[flow]]
label = "hot"
from = "1..3"
to = 0
size = "300 KB"
"""


def incast_star(switch: str, pfc: str) -> str:
    """Write an incast of four; `switch` and `pfc` are lines of their tables, others may follow."""
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
