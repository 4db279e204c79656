"""The derived bound of Source Flow Control against simulation, on both sides of the bound.

The study's own script has its copy of the formulas, so that an error in the code shows.
"""

from __future__ import annotations

from typing import Protocol

import pytest

import backwater
from backwater import _core
from kit.tree import ROOT, load_file

STUDY = load_file(ROOT / "studies" / "sfc-buffer" / "bisection.py")


class Shape(Protocol):
    """Return the script's numbers for an incast."""

    senders: int
    gbps: int
    frame: int
    delay: int
    frames: int
    loop: float
    least: float
    headroom: int


# Senders, Gb/s, bytes of a frame, ns of a link.
SHAPES = [
    STUDY.Shape(3, 200, 4064, 150),
    STUDY.Shape(6, 100, 9000, 50),
    STUDY.Shape(4, 400, 4064, 500),
    STUDY.Shape(3, 800, 4064, 50),
    STUDY.Shape(8, 1600, 9000, 50),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pause_below_the_bound_fires_pfc_in_the_end_and_one_at_it_does_not(shape: Shape) -> None:
    """PFC's threshold exceeds the need of one burst; a pause 3 % too short fills the rest."""
    xoff, size = STUDY.long_incast(shape, 0.03)
    assert STUDY.pauses(shape, 0.97 * shape.least, xoff, size) > 0
    assert STUDY.pauses(shape, shape.least, xoff, size) == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_headroom_suffices_and_is_tight_within_two_frames(shape: Shape) -> None:
    """PFC counts the queue itself; one frame of slack is a queue just below its threshold."""
    peak = STUDY.FRAMES_OF_THRESHOLD * shape.frame + shape.headroom
    size = 12 * shape.frames * (shape.frame - STUDY.HEADER)
    assert STUDY.pauses(shape, shape.least, peak, size, "egress") == 0
    assert STUDY.pauses(shape, shape.least, peak - 2 * shape.frame, size, "egress") > 0


# Senders, Gb/s of hosts and of the fabric, bytes of a gap and of a frame.
MIXED = [(3, 100, 400, 20, 4158), (4, 100, 400, 100, 1500)]


@pytest.mark.parametrize(("senders", "gbps", "fabric", "gap", "frame"), MIXED)
def test_the_bound_is_tight_where_links_differ_and_frames_have_gaps(
    senders: int, gbps: int, fabric: int, gap: int, frame: int
) -> None:
    """The advice for a scenario with links of two rates is the need of its simulation."""
    threshold = STUDY.FRAMES_OF_THRESHOLD * frame

    def scenario(xoff: int, pause: int, size: int) -> backwater.Scenario:
        return backwater.parse(f"""
            [topology]
            kind = "leaf-spine"
            leaves = {senders + 1}
            spines = {senders}
            hosts_per_leaf = 1
            rate = "{gbps} Gb/s"
            fabric_rate = "{fabric} Gb/s"
            link_delay = "150 ns"
            [packet]
            payload = "{frame - 64} B"
            header = "64 B"
            gap = "{gap} B"
            [ack]
            size = "64 B"
            path = "reverse"
            [switch]
            buffer_per = "none"
            [pfc]
            xoff = "{xoff} B"
            xon = "{xoff // 2} B"
            signal = "ideal"
            counter = "egress"
            [sfc]
            threshold = "{threshold} B"
            pause = "{pause} ps"
            message_size = "64 B"
            [[flow]]
            from = "1..{senders}"
            to = 0
            size = "{size} B"
            via = {[[f"spine{i}"] for i in range(senders)]}
            """)

    facts = scenario(10_000_000, 9_000_000, 1_000_000).advice_facts("sfc")
    ours = _core.advise("sfc", {}, facts, "net.toml")["our_bound"]

    def pauses(xoff: int) -> int:
        size = 12 * ours["frames"] * (frame - 64)
        run = scenario(xoff, int(ours["pause_min_ps"]), size).run()
        return sum(number or 0 for number in run.ports["pauses_sent"].to_pylist())

    assert pauses(threshold + ours["headroom_bytes"]) == 0
    assert pauses(threshold + ours["headroom_bytes"] - 2 * frame) > 0


@pytest.mark.parametrize("shape", SHAPES)
def test_advice_is_the_derivation(shape: Shape) -> None:
    ours = _core.advise(
        "sfc",
        {
            "senders": shape.senders,
            "rate": f"{shape.gbps} Gb/s",
            "links": 3,
            "switches": 3,
            "link_delay": f"{shape.delay} ns",
            "switch_latency": f"{STUDY.LATENCY} ns",
            "pfc_threshold": "100 MB",
            "threshold": "200 KB",
            "packet": f"{shape.frame} B",
            "message": f"{STUDY.MESSAGE} B",
        },
    )["our_bound"]
    assert ours["frames"] == shape.frames
    assert ours["loop_ps"] == pytest.approx(shape.loop * 1000, abs=10)
    assert ours["pause_min_ps"] == pytest.approx(shape.least * 1000, abs=1000)
    assert ours["headroom_bytes"] == shape.headroom
