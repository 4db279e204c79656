"""Trimming: the receiver answers a trimmed packet at once, and the sender retransmits it once."""

from __future__ import annotations

import pytest

import backwater
from kit.scenarios import TRIMMED, flow, star

INCAST = f"""{star(9, link_delay="1 us")}
[packet]
payload = "4086 B"
header = "64 B"
gap = "0 B"
[ack]
size = "64 B"
[switch]
buffer = "178450 B"
buffer_per = "queue"
latency = "0 s"
{TRIMMED}
{flow("1..8", "h0", "1 MB")}
"""
FRAMES = 245  # of 1 MB, the last one shorter
BYTES = 1_000_000 + FRAMES * 64
PS_PER_BYTE = 80
# A frame to its receiver and its acknowledgement back: two links each way, stored and forwarded.
ROUND_TRIP_PS = 4 * 1_000_000 + 2 * 4150 * PS_PER_BYTE + 2 * 64 * PS_PER_BYTE


def counted(run: backwater.Run, name: str) -> int:
    return sum(row["value"] for row in run.counters.to_pylist() if row["counter"] == name)


def test_an_incast_is_as_fast_as_its_link() -> None:
    """8 x 1 MB over one link. No flow waits for a timeout, and the link to the receiver is never
    idle before the end: retransmissions arrive before the queue is empty, except for the last
    ones."""
    run = backwater.parse(INCAST).run()
    flows = run.flows.to_pylist()
    trimmed = counted(run, "trimmed")
    assert trimmed > 100
    assert counted(run, "trimmed_lost") == 0
    assert sum(row["retransmitted"] for row in flows) == trimmed
    # Packets carry 4086 B, except the last of each flow.
    assert 0 <= trimmed * 4086 - counted(run, "trimmed_bytes") <= trimmed * (4086 - 3016) / 10
    assert sum(row["timeouts"] for row in flows) == 0
    assert run.summary["drops"] == 0
    last = max(row["fct_last_ack_ps"] for row in flows)
    link = 8 * BYTES * PS_PER_BYTE
    headers = trimmed * 64 * PS_PER_BYTE
    first = 1_000_000 + 4150 * PS_PER_BYTE + 1_000_000
    assert link + first < last < link + headers + 2 * ROUND_TRIP_PS


def test_without_it_an_incast_waits_for_timeouts() -> None:
    run = backwater.parse(INCAST).set("trim", False).run()
    assert run.summary["drops"] > 100
    assert max(row["fct_last_ack_ps"] for row in run.flows.to_pylist()) > 500_000_000


def test_a_lone_flow_is_never_cut() -> None:
    run = backwater.parse(INCAST).set("flow.0.from", "1").run()
    assert counted(run, "trimmed") == 0
    [found] = [one for one in run.warnings if one["kind"] == "never-acted"]
    assert found["mechanism"] == "trim"
    [flow] = run.flows.to_pylist()
    short = 1_000_000 - 244 * 4086 + 64
    # All full frames drain ahead of the short last one.
    way = 2 * 1_000_000 + 4150 * PS_PER_BYTE + short * PS_PER_BYTE
    assert flow["fct_last_byte_ps"] == 244 * 4150 * PS_PER_BYTE + way


def test_the_length_of_what_is_left() -> None:
    """Trimmed packets go first and take time on the last link: with 256 B of each frame kept, a
    quarter of 1024 B, four times as long as with 64 B."""
    long = backwater.parse(INCAST).set("trim.size", "256 B").run()
    trimmed = counted(long, "trimmed")
    last = max(row["fct_last_ack_ps"] for row in long.flows.to_pylist())
    assert trimmed > 100
    link = (8 * BYTES + trimmed * 256) * PS_PER_BYTE
    # Packets trimmed at the very end delay nothing.
    assert link * 0.98 < last < link + 2 * ROUND_TRIP_PS
    # A packet that is no longer than that cannot be trimmed.
    whole = backwater.parse(INCAST).set("trim.size", "4150 B").run()
    assert counted(whole, "trimmed") == 0
    assert whole.summary["drops"] > 100


@pytest.mark.parametrize("every", ["2", "8"])
def test_what_closes_a_gap_is_acknowledged_at_once(every: str) -> None:
    """With several packets for each acknowledgement, a full window would wait for the timeout."""
    run = backwater.parse(INCAST).set("ack.every", every).run()
    flows = run.flows.to_pylist()
    assert sum(row["timeouts"] for row in flows) == 0
    link = (8 * BYTES + counted(run, "trimmed") * 64) * PS_PER_BYTE
    assert max(row["fct_last_ack_ps"] for row in flows) < link + 3 * ROUND_TRIP_PS


def test_other_classes_are_lost_as_ever() -> None:
    run = backwater.parse(INCAST).set("trim.classes", "[5]").run()
    assert counted(run, "trimmed") == 0
    assert run.summary["drops"] > 100


BACK = backwater.parse(INCAST).set("trim.to", "source")


def test_what_goes_back_is_sent_again_sooner() -> None:
    """The link to the receiver carries no trimmed packets, and is never idle before the end."""
    run = BACK.run()
    flows = run.flows.to_pylist()
    returned = counted(run, "returned")
    assert returned > 100
    assert counted(run, "trimmed") == counted(run, "trimmed_lost") == run.summary["drops"] == 0
    assert sum(row["retransmitted"] for row in flows) == returned
    assert sum(row["timeouts"] for row in flows) == 0
    assert 0 <= returned * 4086 - counted(run, "trimmed_bytes") <= returned * (4086 - 3016) / 10
    link = 8 * BYTES * PS_PER_BYTE
    first = 1_000_000 + 4150 * PS_PER_BYTE + 1_000_000
    assert link + first < max(row["fct_last_ack_ps"] for row in flows) < link + 2 * ROUND_TRIP_PS


@pytest.mark.parametrize("recovery", ["selective-repeat", "go-back-n"])
def test_what_goes_back_overtakes_nothing(recovery: str) -> None:
    """So receivers may take a gap for a loss."""
    run = BACK.set("transport.recovery", recovery).set("transport.in_order", True).run()
    assert counted(run, "returned") > 100
    assert run.summary["drops"] == 0
    assert all(row["fct_last_ack_ps"] is not None for row in run.flows.to_pylist())
    assert sum(row["timeouts"] for row in run.flows.to_pylist()) == 0


# As in `htsim_uec`: C bytes for data, and 2 C for short packets; half of the times, the newest
# packet of a full queue is trimmed in place of the arriving one.
EITHER = (
    INCAST.replace(
        'buffer = "178450 B"', f"queue_buffers = {[f'{c} B' for c in [178450] * 6 + [356900] * 2]}"
    )
    .replace("class = 6\n", 'class = 6\nvictim = "either"\n')
    .replace('size = "64 B"\n', 'size = "64 B"\nclass = 6\n')
)


def test_the_newest_packet_may_be_cut_instead() -> None:
    """The link to the receiver is as busy as when the arriving packet is trimmed, and no packet is
    lost or trimmed twice for each retransmission."""
    scenario = backwater.parse(EITHER)
    runs = [scenario.run(), scenario.set("trim.victim", "arriving").run()]
    for run in runs:
        flows = run.flows.to_pylist()
        trimmed = counted(run, "trimmed")
        assert trimmed > 100
        assert counted(run, "trimmed_lost") == run.summary["drops"] == 0
        assert sum(row["retransmitted"] for row in flows) == trimmed
        assert sum(row["timeouts"] for row in flows) == 0
        link = 8 * BYTES * PS_PER_BYTE
        last = max(row["fct_last_ack_ps"] for row in flows)
        assert link < last < link + trimmed * 64 * PS_PER_BYTE + 2 * ROUND_TRIP_PS
        # A queue of C bytes, to which others give way, exceeds them by less than a frame.
        longest = max(
            row["max_egress_bytes"] for row in run.ports.to_pylist() if row["node"] == "s0"
        )
        assert 178450 - 4150 < longest < 178450 + 4150 + 356900
    assert runs[0].fingerprint != runs[1].fingerprint


def test_coins_are_tossed_alike_whoever_tosses_them() -> None:
    """In two leaves and a spine, on one thread and on two."""
    leaves = 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts_per_leaf = 5'
    scenario = backwater.parse(EITHER.replace('kind = "star"\nhosts = 9', leaves))
    run = scenario.run()
    assert counted(run, "trimmed") > 100
    assert scenario.run(threads=2).fingerprint == scenario.run().fingerprint == run.fingerprint


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("transport.recovery", "none", "`trim` counts on lost packets being retransmitted"),
        ("transport.in_order", "true", "`trim` lets packets overtake each other"),
        ("transport.recovery", "go-back-n", "go-back-n drops what comes out of order"),
        ("trim.class", "8", "`8` is more than 7"),
        ("trim.size", "0 B", "trim.size"),
        ("trim.victim", "newest", "newest"),
        ("switch.queue_buffers", "['1 KB']", "queue_buffers"),
    ],
)
def test_what_cannot_work_is_refused(key: str, value: str, reason: str) -> None:
    with pytest.raises(backwater.ScenarioError, match=reason):
        backwater.parse(INCAST).set(key, value).check()
