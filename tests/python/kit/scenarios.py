"""Scenarios as text: a star, flows, an incast, a run that loses packets."""

from __future__ import annotations

import json
from collections.abc import Sequence

import backwater


def star(
    hosts: int, *, rate: str = "100 Gb/s", link_delay: str = "500 ns", title: str | None = None
) -> str:
    """Return the scenario's title and the topology of a star."""
    lines = [] if title is None else [f'title = "{title}"']
    lines += ["[topology]", 'kind = "star"', f"hosts = {hosts}"]
    return "\n".join([*lines, f'rate = "{rate}"', f'link_delay = "{link_delay}"'])


def flow(source: object, target: object, size: str, label: str | None = None) -> str:
    """Return a `[[flow]]`; more keys may follow it."""
    keys = {"from": source, "to": target, "size": size}
    if label is not None:
        keys = {"label": label} | keys
    return "\n".join(["[[flow]]", *(f"{key} = {json.dumps(it)}" for key, it in keys.items())])


def bare(payload: str) -> str:
    """Return tables for packets without headers, and without acknowledgements."""
    packet = f'[packet]\npayload = "{payload}"\nheader = "0 B"\ngap = "0 B"'
    return f"{packet}\n[ack]\nenabled = false"


# Three hosts send 75 packets of 4,096 B each into a queue of 30 KB: most of the second and third
# burst is dropped, and nothing retransmits it.
LOSSY = f"""{star(4, rate="10 Gb/s", title="Lossy")}
[switch]
buffer = "30 KB"
{flow("1..3", 0, "300 KB", "hot")}
"""


def incast_star(switch: str, pfc: str) -> str:
    """Return an incast of four; `switch` and `pfc` are lines of their tables, others may follow."""
    return f"""{star(5)}
[switch]
{switch}
[pfc]
{pfc}
{flow("0..3", "h4", "1 MB", "incast")}
"""


TRIMMED = """[transport]
recovery = "selective-repeat"
in_order = false
timeout = "500 us"
window = "128 KB"
[trim]
class = 6"""
RING = f"""{star(4)}
[[job]]
label = "train"
ranks = 4
[[job.step]]
label = "sum"
kind = "all-reduce"
size = "60 KB"
{flow("h0", "h1", "60 KB", "alone")}
start = "1 ms"
"""


SAMPLES = ("queues", "links", "pauses", "flows")


def sampled(
    scenario: backwater.Scenario, interval: str = "1 us", names: Sequence[str] = SAMPLES
) -> backwater.Scenario:
    """Return the scenario with the samples that pages and charts show over time."""
    scenario = scenario.set("output.interval", interval)
    for name in names:
        scenario = scenario.set(f"output.{name}", True)
    return scenario
