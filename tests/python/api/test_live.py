"""`backwater.Live`: messages that a program sends while the run is in progress."""

from __future__ import annotations

from pathlib import Path

import pytest

import backwater
from kit.tree import ROOT

# A frame of 4064 B takes 325.12 ns at 100 Gb/s, an acknowledgement 5.12 ns, and each link 500 ns.
STAR = Path(ROOT, "crates/backwater/tests/it/star.toml").read_text(encoding="utf-8")


def test_moments_are_exact() -> None:
    with backwater.Live(backwater.parse(STAR), sent=True) as live:
        assert (live.hosts, live.now_ps) == (4, 0)
        assert live.send("h0", 1, 8_000, token="mine", delay_ps=1_000_000) == 0
        live.timer(2_000_000)
        last = 1_000_000 + 3 * 325_120 + 2 * 500_000
        expected = [
            (1_325_120, "mine", "sent"),
            (2_000_000, None, "timer"),
            (last, "mine", "delivered"),
            (last + 2 * 505_120, "mine", "acknowledged"),
        ]
        for one in expected:
            assert live.step() == [one]
            assert live.now_ps == one[0]
        assert live.step() == []
        assert live.step(9_000_000) == []
        assert (live.now_ps, live.messages) == (9_000_000, (1, 1))
        [own] = [one for one in live.links if one["node"] == "h0"]
        assert (own["tx_frames"], own["tx_bytes"], own["rate_bps"]) == (2, 2 * 4_064, 10**11)


def test_a_run_leaves_its_scenario(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with backwater.Live(backwater.parse(STAR), seed=5, directory=place) as live:
        for number in range(20):
            live.send(number % 4, (number + 1) % 4, 30_000, token=number, delay_ps=number * 500_000)
        told: dict[tuple[object, str], int] = {}
        while occurred := live.step():
            told |= {(one.token, one.what): one.at_ps for one in occurred}
        fingerprint = live.fingerprint
    run = backwater.load(place / "scenario.toml").run()
    assert (run.seed, run.fingerprint) == (5, fingerprint)
    for row in run.flows.to_pylist():
        number = row["start_ps"] // 500_000
        assert row["fct_last_byte_ps"] == told[number, "delivered"] - row["start_ps"]


def test_a_saved_run_goes_on() -> None:
    scenario = backwater.parse(STAR)
    live = backwater.Live(scenario)
    for number in range(9):
        live.send(number % 4, 3 - number % 4, 9_000, delay_ps=number * 1_000_000)
    live.step(4_000_000)
    resumed = backwater.Live(scenario, saved=live.save())
    assert resumed.now_ps == live.now_ps
    for run in (live, resumed):
        while run.step():
            pass
    assert (resumed.now_ps, resumed.fingerprint) == (live.now_ps, live.fingerprint)


def test_tokens_of_a_saved_run_are_gone_after_a_second_time_too() -> None:
    scenario = backwater.parse(STAR)
    live = backwater.Live(scenario)
    live.send(0, 1, 1_000, "first")
    for name in ("second", "third"):
        live = backwater.Live(scenario, saved=live.save())
        live.send(2, 3, 1_000_000, name)
    delivered = []
    while occurred := live.step():
        delivered += [one.token for one in occurred if one.what == "delivered"]
    assert delivered == [None, None, "third"]


def test_misuse_is_an_error() -> None:
    live = backwater.Live(backwater.parse(STAR))
    with pytest.raises(backwater.InputError, match="there is no host 'h9'"):
        live.send("h9", 0, 1)
    with pytest.raises(backwater.InputError, match="hosts are 0 to 3"):
        live.send(0, -1, 1)
    with pytest.raises(backwater.InputError, match="size"):
        live.send(0, 1, 1 << 61)
    with pytest.raises(backwater.InputError, match="traffic_class"):
        live.send(0, 1, 1, traffic_class=8)
    with pytest.raises(backwater.ScenarioError, match="sends to itself"):
        live.send(1, 1, 1)
    live.step(1_000_000)
    with pytest.raises(backwater.ScenarioError, match="has passed"):
        live.timer(999_999)
    with pytest.raises(backwater.ScenarioError, match="has passed"):
        live.step(999_999)
    live.close()
    live.close()
    with pytest.raises(backwater.RunError, match="closed"):
        live.step()
    with pytest.raises(backwater.ScenarioError, match="recovery"):
        backwater.Live(backwater.parse(STAR), keep_connections=True)
