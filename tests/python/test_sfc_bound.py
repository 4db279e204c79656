"""What Source Flow Control needs: the derived bound against simulation, at both of its sides.

The closed forms stand here once more, by hand, so that code and derivation cannot err together.
"""

from __future__ import annotations

import math

import pytest

import backwater
from backwater import _core

HEADER = 64
MESSAGE = 64
LATENCY = 300
FRAMES_OF_THRESHOLD = 40

Shape = tuple[int, int, int, int]
"""Senders, Gb/s, bytes of a frame, ns of a link."""

SHAPES: list[Shape] = [
    (3, 200, 4064, 150),
    (6, 100, 9000, 50),
    (4, 400, 4064, 500),
    (3, 800, 4064, 50),
    (8, 1600, 9000, 50),
]


def loop(shape: Shape) -> tuple[float, float, int]:
    """Give a frame's time, the loop \\[ns\\], and the frames that a sender still brings."""
    _, gbps, frame, delay = shape
    time, message = frame * 8 / gbps, MESSAGE * 8 / gbps
    whole = 6 * delay + 6 * LATENCY + 3 * (time + message)
    return time, whole, math.ceil((whole + 3 * message) / time)


def least_pause(shape: Shape) -> float:
    time, whole, frames = loop(shape)
    return shape[0] * frames * time - whole


def pauses(shape: Shape, pause: float, xoff: float, size: int, counter: str) -> int:
    """Count the PFC pauses of an incast over as many spines as senders, each `size` bytes."""
    senders, gbps, frame, delay = shape
    text = f"""
    seed = 1
    [topology]
    kind = "leaf-spine"
    leaves = {senders + 1}
    spines = {senders}
    hosts_per_leaf = 1
    rate = "{gbps} Gb/s"
    link_delay = "{delay} ns"
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
    latency_at = "fabric"
    buffer_per = "none"
    [pfc]
    xoff = "{int(xoff)} B"
    xon = "{int(xoff) // 2} B"
    signal = "ideal"
    counter = "{counter}"
    [sfc]
    threshold = "{FRAMES_OF_THRESHOLD * frame} B"
    pause = "{round(pause * 1000)} ps"
    message_size = "{MESSAGE} B"
    [[flow]]
    from = "1..{senders}"
    to = 0
    size = "{size} B"
    via = {[[f"spine{i}"] for i in range(senders)]}
    """
    sent = backwater.parse(text).run().ports["pauses_sent"].to_pylist()
    return sum(number or 0 for number in sent)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pause_below_the_bound_fires_pfc_in_the_end_and_one_at_it_does_not(shape: Shape) -> None:
    """PFC's threshold is beyond what one burst needs; 3 % too short a pause fills the rest."""
    senders, gbps, frame, _ = shape
    _, _, frames = loop(shape)
    least = least_pause(shape)
    # Of an ingress: its share of threshold and headroom, a whole burst, and six frames.
    share = (FRAMES_OF_THRESHOLD + (senders - 1) * frames + 1) / senders
    xoff = (share + frames + 6) * frame
    growth = 0.03 * least * gbps / 8 / senders
    cycles = (xoff - FRAMES_OF_THRESHOLD / senders * frame) / growth + 5
    size = round(cycles) * frames * (frame - HEADER)
    assert pauses(shape, 0.97 * least, xoff, size, "ingress") > 0
    assert pauses(shape, least, xoff, size, "ingress") == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_headroom_suffices_and_is_tight_within_two_frames(shape: Shape) -> None:
    """PFC counts the queue itself; one frame of slack is a queue just below its threshold."""
    senders, _, frame, _ = shape
    _, _, frames = loop(shape)
    peak = (FRAMES_OF_THRESHOLD + (senders - 1) * frames + 1) * frame
    size = 12 * frames * (frame - HEADER)
    pause = least_pause(shape)
    assert pauses(shape, pause, peak, size, "egress") == 0
    assert pauses(shape, pause, peak - 2 * frame, size, "egress") > 0


@pytest.mark.parametrize("shape", SHAPES)
def test_advice_is_the_derivation(shape: Shape) -> None:
    senders, gbps, frame, delay = shape
    _, whole, frames = loop(shape)
    ours = _core.advise(
        "sfc",
        {
            "senders": senders,
            "rate": f"{gbps} Gb/s",
            "links": 3,
            "switches": 3,
            "link_delay": f"{delay} ns",
            "switch_latency": f"{LATENCY} ns",
            "pfc_threshold": "100 MB",
            "threshold": "200 KB",
            "packet": f"{frame} B",
            "message": f"{MESSAGE} B",
        },
    )["our_bound"]
    assert ours["frames"] == frames
    assert ours["loop_ps"] == pytest.approx(whole * 1000, abs=10)
    assert ours["pause_min_ps"] == pytest.approx(least_pause(shape) * 1000, abs=1000)
    assert ours["headroom_bytes"] == ((senders - 1) * frames + 1) * frame
