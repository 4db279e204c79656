"""Measures of open-loop traffic, in runs whose numbers follow from sizes and rates alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_measures import observe

import backwater
from backwater import study
from backwater.errors import InputError
from backwater.study import definition, messages
from backwater.study.measures import Observed, check, read
from kit.studies import value, write_study

if TYPE_CHECKING:
    from pathlib import Path

# 1, 2, 11 and 20 frames of 1000 B, each alone: 0.8 us a frame, and one for the second link.
FLOWS = [
    {"label": "calls", "from": "h1", "to": "h0", "size": size, "start": start}
    for size, start in (("1 KB", "0 us"), ("2 KB", "2 us"), ("11 KB", "5 us"), ("20 KB", "15 us"))
]


def calls() -> Observed:
    return observe(*FLOWS, stop={"at": "40 us"})


def test_messages_are_told_apart_by_size() -> None:
    run = calls()

    def mean(*sizes: str) -> float:
        return value(run, "message_time", group="calls", until="last_byte", sizes=list(sizes))

    assert mean("0 B", "2 KB") == pytest.approx(1.6)
    assert mean("0 B", "10 KB") == pytest.approx((1.6 + 2.4) / 2)
    assert mean("2 KB", "20 KB") == pytest.approx((2.4 + 9.6) / 2)
    assert mean("20 KB") == pytest.approx(16.8)
    assert value(run, "messages", group="calls", sizes=["2 KB", "20 KB"]) == 2
    assert value(run, "messages", group="calls") == 4


def test_the_warm_up_is_left_out() -> None:
    run = calls()
    late = {"group": "calls", "after": "5 us"}
    assert value(run, "messages", **late) == 2
    mean = value(run, "message_time", until="last_byte", **late)
    assert mean == pytest.approx((9.6 + 16.8) / 2)
    greatest = value(run, "message_time", until="last_byte", of="max", group="calls", after="0 us")
    assert greatest == pytest.approx(16.8)


def test_a_percentile_needs_messages_beyond_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run = calls()
    asked = {"group": "calls", "of": "p75", "until": "last_byte"}
    reading = read(run, "message_time", asked)
    assert (reading.value, reading.problem) == (None, "p75 of 4 messages; it takes 20")
    monkeypatch.setattr(messages, "BEYOND", 1)
    # A quarter of the way from the third of four to the fourth.
    assert value(run, "message_time", **asked) == pytest.approx(9.6 + 0.25 * (16.8 - 9.6))


def test_unfinished_messages_have_no_mean() -> None:
    reading = read(observe(*FLOWS), "message_time", {"group": "calls", "until": "last_byte"})
    assert reading.value is None
    assert reading.problem == "1 of 4 calls messages not complete"
    nobody = read(calls(), "message_time", {"group": "calls", "sizes": ["1 MB"]})
    assert nobody.problem == "mean of 0 messages; it takes 1"


def test_unfinished_messages_may_count_with_their_age() -> None:
    # The last of the four starts at 15 us and takes 16.8 us; the others end before it starts.
    run = observe(*FLOWS, stop={"at": "20 us"})
    asked = {"group": "calls", "until": "last_byte", "unfinished": "age"}
    mean = value(run, "message_time", **asked)
    assert mean == pytest.approx((1.6 + 2.4 + 9.6 + 5.0) / 4)
    early = value(run, "message_time", before="5 us", **asked)
    assert early == pytest.approx((1.6 + 2.4) / 2)
    assert value(run, "messages", group="calls", state="unfinished") == 1
    assert value(run, "messages", group="calls", before="15 us", state="unfinished") == 0
    with pytest.raises(InputError, match="it is none, age or omit"):
        read(run, "message_time", {"group": "calls", "unfinished": "dropped"})


def test_unfinished_messages_may_be_omitted() -> None:
    run = observe(*FLOWS, stop={"at": "20 us"})
    asked = {"group": "calls", "until": "last_byte", "unfinished": "omit", "each": True}
    reading = read(run, "message_time", asked)
    assert reading.value == pytest.approx((1.6 + 2.4 + 9.6) / 3)
    assert [time for _, time in reading.each] == pytest.approx([1.6, 2.4, 9.6])
    none = read(run, "message_time", {**asked, "after": "15 us"})
    assert none.problem == "mean of 0 messages; it takes 1"


# At half the rate a frame of 1250 B takes 2 us at each of two links in place of 1 us. A flow of
# nine frames takes ten times that.
TWICE = """title = "Two rates"
[topology]
kind = "star"
hosts = 4
rate = "10 Gb/s"
link_delay = "0 s"
[packet]
payload = "1250 B"
header = "0 B"
gap = "0 B"
[switch]
latency = "0 s"
[stop]
at = "15 us"
[[flow]]
label = "calls"
from = [0, 1]
to = [2, 3]
size = "1250 B"
[[flow]]
label = "calls"
from = 0
to = 3
size = "11250 B"
start = "4 us"
[variant.half]
topology.rate = "5 Gb/s"
"""
SHARED = """title = "Same flows"
scenario = "scenario.toml"
[mechanisms]
"whole" = ""
"half" = "half"
[[measure]]
name = "own"
kind = "message_time"
group = "calls"
until = "last_byte"
unfinished = "omit"
[[measure]]
name = "same"
kind = "message_time"
group = "calls"
until = "last_byte"
against = "whole"
[[case]]
id = "a"
text = "a case"
mechanisms = ["whole", "half"]
[[beside]]
id = "rates"
title = "Rates"
cases = ["a"]
mechanisms = ["whole", "half"]
shows = ["own", "same"]
"""


def test_flows_that_two_runs_complete_are_compared(tmp_path: Path) -> None:
    small = definition.read(write_study(tmp_path, TWICE, SHARED, "document = 'none'\n"))
    result = study.reproduce(small, out=tmp_path / "out")
    whole, half = result.beside
    # The long flow is not complete at half the rate: the mean of those complete hardly grows.
    assert (whole["own"], half["own"]) == (pytest.approx((2 + 2 + 10) / 3), pytest.approx(4))
    assert (whole["same"], half["same"]) == (0, pytest.approx(-100))
    # What is kept of the runs has the times of their flows.
    again = study.reproduce(small, measured=tmp_path / "out" / "measured.jsonl")
    assert again.beside[1]["same"] == half["same"]


INCAST = {"label": "incast", "from": ["h1", "h2"], "to": "h0", "size": "200 KB"}
SFC = {"threshold": "20 KB", "target": "5 KB", "resume": True}


def sfc(at_source: str, **tables: dict[str, object]) -> Observed:
    return observe(INCAST, stop={"at": "1 ms"}, sfc={**SFC, "at_source": at_source}, **tables)


def test_pauses_of_hosts_and_switches_are_told_apart() -> None:
    run = sfc("proxy")
    assert value(run, "pauses", at="hosts") > 0
    assert value(run, "pauses", at="switches") == 0
    chain = backwater.build(
        {
            "topology": {
                "kind": "dumbbell",
                "left_hosts": 2,
                "right_hosts": 1,
                "rate": "10 Gb/s",
                "link_delay": "100 ns",
                "trunk_rate": "40 Gb/s",
            },
            "switch": {"buffer": "1 MB", "buffer_per": "ingress"},
            "pfc": {"xoff": "50 KB"},
            "flow": [{"from": ["h0", "h1"], "to": "h2", "size": "400 KB"}],
        }
    )
    assert value(Observed(chain.run()), "pauses", at="switches") > 0


def test_what_a_switch_held_is_of_the_switch_with_most() -> None:
    run = sfc("isolation")
    tier = run.run.switches["tier"][0].as_py()
    most = value(run, "held", tier=tier, of="max")
    assert most == run.run.switches["held_max_bytes"][0].as_py() / 1e3 > 0
    assert value(run, "held", tier=tier) <= most
    assert value(sfc("proxy"), "held", tier=tier, of="max") == 0
    assert "no switch" in str(read(run, "held", {"tier": "tor"}).problem)


def test_wrong_parameters_are_named() -> None:
    run = calls()
    with pytest.raises(InputError, match="obeyed by hosts or by switches"):
        read(run, "pauses", {"at": "tors"})
    with pytest.raises(InputError, match="sizes = "):
        read(run, "messages", {"group": "calls", "sizes": []})
    with pytest.raises(InputError, match="of = 'p5'"):
        read(run, "held", {"tier": "switch", "of": "p5"})
    with pytest.raises(InputError, match="it takes group, sizes, after"):
        check("messages", {"group": "calls", "until": "1 us"})
