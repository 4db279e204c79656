"""Bisect the least pause of Source Flow Control with which PFC stays silent.

    python studies/sfc-buffer/bisection.py > studies/sfc-buffer/BISECTION.md

This script has its own copy of the bound's formula, so that an error in `advise` shows. Tests
compare simulation and advice with it, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

import backwater
from backwater import _core

HEADER = MESSAGE = 64
LATENCY = 300
FRAMES_OF_THRESHOLD = 40
STEPS = 20
"""Steps of 0.5 % from 0.90 to 1.00 of the bound."""
SHORT = 0.02
"""Flows last until a pause that is too short by this share has filled PFC's threshold."""


@dataclass(frozen=True)
class Shape:
    """An incast over as many spines as senders."""

    senders: int
    gbps: int
    frame: int
    delay: int
    latency_at: str = "fabric"

    @property
    def time(self) -> float:
        """Time of a frame [ns]."""
        return self.frame * 8 / self.gbps

    @property
    def loop(self) -> float:
        """Time from a first bit at its sender to the pause that it causes there [ns]."""
        passed = 5 if self.latency_at == "output" else 6
        return 6 * self.delay + passed * LATENCY + 3 * (self.time + MESSAGE * 8 / self.gbps)

    @property
    def frames(self) -> int:
        """Whole frames that a sender sends in this time and three message times."""
        return math.ceil((self.loop + 3 * MESSAGE * 8 / self.gbps) / self.time)

    @property
    def least(self) -> float:
        """Least pause [ns]."""
        return self.senders * self.frames * self.time - self.loop

    @property
    def headroom(self) -> int:
        """Headroom above the threshold [bytes]."""
        return ((self.senders - 1) * self.frames + 1) * self.frame


def long_incast(shape: Shape, short: float) -> tuple[int, int]:
    """Return PFC's threshold of an ingress, and the payload of each sender [bytes].

    The threshold exceeds the need of one burst: a share of threshold and headroom, a whole burst,
    and six frames. The flows last until a pause that is too short by the share `short` fills it.
    """
    n, frame, frames = shape.senders, shape.frame, shape.frames
    xoff = int(((FRAMES_OF_THRESHOLD + (n - 1) * frames + 1) / n + frames + 6) * frame)
    growth = short * shape.least * shape.gbps / 8 / n
    cycles = (xoff - FRAMES_OF_THRESHOLD / n * frame) / growth + 5
    return xoff, round(cycles) * frames * (frame - HEADER)


def pauses(shape: Shape, pause: float, xoff: int, size: int, counter: str = "ingress") -> int:
    """Return the number of PFC pauses in an incast of flows of `size` bytes.

    `pause` is the pause time of Source Flow Control [ns]; `xoff` is PFC's threshold [bytes] of the
    queues that `counter` counts.
    """
    n, frame = shape.senders, shape.frame
    text = f"""
    seed = 1
    [topology]
    kind = "leaf-spine"
    leaves = {n + 1}
    spines = {n}
    hosts_per_leaf = 1
    rate = "{shape.gbps} Gb/s"
    link_delay = "{shape.delay} ns"
    [packet]
    payload = "{frame - HEADER} B"
    header = "{HEADER} B"
    gap = "0 B"
    [ack]
    size = "64 B"
    path = "reverse"
    [switch]
    architecture = "output-queued"
    latency = "{LATENCY} ns"
    latency_at = "{shape.latency_at}"
    buffer_per = "none"
    [pfc]
    xoff = "{xoff} B"
    xon = "{xoff // 2} B"
    signal = "ideal"
    counter = "{counter}"
    [sfc]
    threshold = "{FRAMES_OF_THRESHOLD * frame} B"
    pause = "{round(pause * 1000)} ps"
    message_size = "{MESSAGE} B"
    [[flow]]
    from = "1..{n}"
    to = 0
    size = "{size} B"
    via = {[[f"spine{i}"] for i in range(n)]}
    """
    sent = backwater.parse(text).run().ports["pauses_sent"].to_pylist()
    return sum(number or 0 for number in sent)


def fires(shape: Shape, factor: float) -> bool:
    """Return True if PFC pauses with this share of the bound as the pause time."""
    xoff, size = long_incast(shape, SHORT)
    return pauses(shape, factor * shape.least, xoff, size) > 0


def last(shape: Shape) -> str:
    """Return the greatest share of the bound at which PFC pauses, by bisection, as text."""
    low, high = 0, STEPS
    if fires(shape, 1.0):
        return "fires at the bound"
    if not fires(shape, 0.9):
        return "silent at 0.900"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fires(shape, 0.9 + 0.005 * middle) else (low, middle)
    return f"{0.9 + 0.005 * low:.3f}"


def shapes() -> list[Shape]:
    """Return the rows: rates, delays and frames; numbers of senders; places of the latency."""
    all_ = [
        Shape(3, gbps, frame, delay)
        for gbps in (100, 200, 400, 800, 1600)
        for delay in (50, 500, 2500)
        for frame in (4064, 9000)
    ]
    all_ += [Shape(3, gbps, 1024, delay) for gbps in (100, 400) for delay in (50, 500)]
    all_ += [Shape(n, 200, 4064, 150) for n in (2, 3, 4, 5, 6, 8)]
    return all_ + [
        Shape(3, 200, frame, 150, at)
        for at in ("fabric", "output", "input")
        for frame in (1500, 4064, 9000)
    ]


def main() -> None:
    """Print the table."""
    made = _core.version()
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    print(
        "# Where PFC fires last, by bisection: the pause time as a share of the bound\n\n"
        f"{date}, backwater {made['backwater']} (build {made['build']}). By `bisection.py`.\n\n"
        "PFC counts by port of entry; its threshold is near one burst; flows are long enough for\n"
        "a pause 2 % short; steps of 0.5 % from 0.900 on. Seed 1, which orders arrivals of one\n"
        "moment only. Links of 5 ns a metre; switches of 300 ns.\n\n"
        "| senders | Gb/s | frame, B | link, ns | latency_at | bound: pause, us | headroom, KB "
        "| PFC fires last at |\n|---|---|---|---|---|---|---|---|"
    )
    for s in shapes():
        shape = f"{s.senders} | {s.gbps} | {s.frame} | {s.delay} | {s.latency_at}"
        numbers = f"{s.least / 1000:.2f} | {s.headroom / 1000:.1f}"
        print(f"| {shape} | {numbers} | {last(s)} |", flush=True)


if __name__ == "__main__":
    main()
