"""Metrics of a fabric: loads of uplinks, the first pause, throughput and convergence of a group."""

from __future__ import annotations

import pytest

import backwater
from backwater.numbers.metrics import metric

FABRIC = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
rate = "100 Gb/s"
link_delay = "500 ns"

[switch]
buffer_per = "none"

[ack]
enabled = false
"""
STAR = """
[topology]
kind = "star"
hosts = 3
rate = "100 Gb/s"
link_delay = "500 ns"

[switch]
buffer_per = "none"

[output]
flows = true
interval = "10 us"

[stop]
at = "100 us"
"""


def run(text: str) -> backwater.Run:
    return backwater.parse(text).run()


def flow(sender: int, receiver: int, size: str, more: str = "") -> str:
    return f'[[flow]]\nlabel = "g"\nfrom = {sender}\nto = {receiver}\nsize = "{size}"\n{more}\n'


def test_uplinks_that_share_three_to_one() -> None:
    # Uplinks of the first leaf send 3 x and x, those of the second nothing.
    pinned = flow(0, 2, "3072000 B", 'via = ["spine0"]') + flow(
        1, 3, "1024000 B", 'via = ["spine1"]'
    )
    done = run(FABRIC + pinned)
    assert metric("uplink_max_mean").of(done) == pytest.approx(3 / (4 / 4))
    assert metric("uplink_fairness").of(done) == pytest.approx((3 + 1) ** 2 / (4 * (9 + 1)))


def test_a_star_has_no_uplinks() -> None:
    done = run(STAR + flow(0, 1, "1 MB"))
    assert metric("uplink_fairness").of(done) is None
    assert metric("uplink_max_mean").of(done) is None


def test_the_throughput_of_a_group_is_over_its_whole_time() -> None:
    late = flow(0, 1, "1 MB") + flow(2, 1, "1 MB", 'start = "50 us"')
    done = run(STAR.replace('at = "100 us"', 'at = "1 ms"') + late)
    ends = [row["start_ps"] + row["fct_last_byte_ps"] for row in done.flows.to_pylist()]
    assert metric("group_throughput:g").of(done) == pytest.approx(16e6 / (max(ends) / 1e12) / 1e9)


def test_equal_flows_converge_in_the_first_interval_after_the_last_start() -> None:
    # Two hosts share the link of a third: its queue serves them in turns from the start on.
    late = flow(0, 1, "10 MB") + flow(2, 1, "10 MB", 'start = "20 us"')
    done = run(STAR + late)
    assert metric("convergence:g").of(done) in (10, 20)
    fair = metric("rate_fairness:g").of(done)
    assert fair is not None
    assert fair > 0.999


def test_flows_of_different_priority_do_not_converge() -> None:
    apart = flow(0, 1, "10 MB", "class = 5") + flow(2, 1, "10 MB", "class = 3")
    done = run(STAR + apart)
    assert metric("convergence:g").of(done) is None
    fair = metric("rate_fairness:g").of(done)
    assert fair is not None
    assert fair == pytest.approx(0.5, abs=0.01)


def test_without_rates_there_is_a_reason() -> None:
    done = run(STAR.replace("flows = true", "flows = false") + flow(0, 1, "1 MB"))
    assert metric("convergence:g").of(done) is None
    assert "output.flows" in (metric("convergence:g").lacking(done) or "")


def test_the_first_pause_is_that_of_the_control_table() -> None:
    text = STAR.replace('buffer_per = "none"', 'buffer = "1 MB"\nbuffer_per = "ingress"')
    text = text.replace("hosts = 3", "hosts = 5")
    text += '[pfc]\nxoff = "100 KB"\n' + "".join(flow(n, 4, "1 MB") for n in range(4))
    done = run(text)
    asked = [r for r in done.control.to_pylist() if r["kind"] == "mac-control" and r["value"]]
    assert metric("first_pause").of(done) == min(r["time_ps"] for r in asked) / 1e6
    assert metric("first_pause:5").of(done) is None
