"""Measures of studies, in runs whose numbers follow from sizes and rates alone."""

from __future__ import annotations

from typing import Any

import pytest

import backwater
from backwater.errors import InputError
from backwater.numbers.units import time_ps, window_ps
from backwater.study import load, names
from backwater.study.measures import KINDS, Observed, check, named, read
from kit.studies import value

# A frame of 1000 B takes 0.8 us on a link; links and the switch add nothing.
STAR: dict[str, Any] = {
    "topology": {"kind": "star", "hosts": 3, "rate": "10 Gb/s", "link_delay": "0 ns"},
    "packet": {"payload": "1000 B", "header": "0 B", "gap": "0 B"},
    "ack": {"enabled": False},
    "switch": {"latency": "0 ns", "buffer": "1 MB", "buffer_per": "egress"},
    "stop": {"at": "20 us"},
    "output": {"interval": "4 us", "flows": True, "links": True, "backlogs": True},
}


def observe(*flows: dict[str, Any], **tables: dict[str, Any] | list[dict[str, Any]]) -> Observed:
    content = {**STAR, "flow": list(flows)}
    for name, table in tables.items():
        content[name] = table if isinstance(table, list) else {**content.get(name, {}), **table}
    return Observed(backwater.build(content).run())


ONE = {"label": "one", "from": "h1", "to": "h0", "size": "11 KB"}
PAIR = {"label": "pair", "from": ["h1", "h2"], "to": "h0", "size": "1 KB"}


def test_throughput_counts_what_was_delivered_within_the_window() -> None:
    # 4000 B have arrived by 4 us, 9000 B by 8 us, and all 11000 B by 10.4 us.
    run = observe(ONE)
    assert value(run, "throughput", groups=["one"], window=["0 ns", "4 us"]) == 8000
    assert value(run, "throughput", groups=["one"], window=["4 us", "8 us"]) == 10000
    assert value(run, "throughput", groups=["one"], window=["8 us", "12 us"]) == 4000
    assert value(run, "throughput", groups=["one"], window=["12 us", "16 us"]) == 0
    with_headers = observe(ONE, packet={"payload": "800 B", "header": "200 B"})
    window = ["4 us", "8 us"]
    payload = value(with_headers, "throughput", groups=["one"], window=window)
    frames = value(with_headers, "throughput", groups=["one"], window=window, count="frame")
    assert (payload, frames) == (8000, 10000)


def test_throughput_counts_what_failed_flows_delivered_before() -> None:
    run = observe(
        ONE,
        {"label": "two", "from": "h2", "to": "h0", "size": "10 KB"},
        ack={"enabled": True, "size": "64 B"},
        transport={"recovery": "go-back-n", "timeout": "5 us", "retries": 0},
        # No frame that leaves h1 from 3 us on arrives.
        fault=[{"kind": "loss", "at": "3 us", "from": "h1", "to": "s0", "probability": 1.0}],
    )
    states = {row["group"]: row for row in run.run.flows.to_pylist()}
    assert (states["one"]["state"], states["two"]["state"]) == ("failed", "complete")
    got = value(run, "throughput", groups=["one"], window=["0 ns", "16 us"])
    assert got == states["one"]["received"] * 8 / 16 > 0


def test_throughput_refuses_to_count_what_it_does_not_know() -> None:
    with pytest.raises(InputError, match="counts 'packets'"):
        read(observe(ONE), "throughput", {"groups": ["one"], "count": "packets"})


def test_throughput_says_what_it_lacks() -> None:
    run = observe(ONE)
    odd = read(run, "throughput", {"groups": ["one"], "window": ["0 ns", "5 us"]})
    assert odd.value is None
    assert "output.interval" in (odd.problem or "")
    assert "no flow" in (read(run, "throughput", {"groups": ["two"]}).problem or "")


def test_fairness_is_the_root_mean_square() -> None:
    # 10 and 0 Gb/s for a target of 5 Gb/s: both deviate by 100 %.
    late = {**ONE, "label": "late", "start": "8 us"}
    run = observe(ONE, late)
    window = ["4 us", "8 us"]
    index = value(run, "rms_fairness", groups=["one", "late"], target="5 Gb/s", window=window)
    assert index == 1.0
    alone = value(run, "rms_fairness", groups=["one"], target="8 Gb/s", window=window)
    assert alone == 0.25


def test_queue_is_weighted_by_time() -> None:
    # 2000 B for 0.8 us, 1000 B for 0.8 us, nothing for 6.4 of 8 us: 0.3 KB, 0.5 KB² in the mean.
    run = observe(PAIR)
    place = {"node": "s0", "to": "h0", "window": ["0 ns", "8 us"]}
    assert value(run, "queue", **place, of="mean") == 0.3
    assert value(run, "queue", **place, of="std") == pytest.approx((0.5 - 0.09) ** 0.5)
    assert value(run, "queue", **place, of="max") == 2.0
    assert value(run, "queue", **place, of="empty") == 80.0
    long = read(run, "queue", place | {"window": ["0 ns", "40 us"]})
    assert "ended before" in (long.problem or "")


def test_a_sender_reacts_in_the_interval_in_which_it_first_sends_less() -> None:
    # 11 frames of 0.8 us: five in each interval of 4 us, then one, and then none.
    run = observe(ONE)
    place = {"node": "h1", "to": "s0"}
    assert value(run, "reaction", **place, window=["0 ns", "20 us"]) == 12
    # The first sender of a pair has only one frame: a fifth of what its link carries.
    pair = observe(PAIR)
    assert value(pair, "reaction", **place, window=["0 ns", "20 us"]) == 4
    assert value(pair, "reaction", **place, window=["0 ns", "20 us"], below=0.1) == 8
    full = read(run, "reaction", place | {"window": ["0 ns", "8 us"]})
    assert (full.value, full.problem) == (None, "h1 sent at its full rate from 0 ns to 8 us")


def test_first_messages_count_each_sender_and_receiver_once() -> None:
    # Both flows are marked from the second frame on: a CNP for each, and another after 50 us.
    run = observe(
        {"label": "pair", "from": ["h1", "h2"], "to": "h0", "size": "100 KB"},
        ack={"enabled": True, "size": "64 B"},
        ecn={"kmin": "1 KB", "kmax": "1 KB", "pmax": 1.0},
        dcqcn={"preset": "paper"},
        stop={"at": "200 us"},
    )
    cnps = run.run.control.to_pylist()
    first: dict[tuple[str, str], float] = {}
    for row in cnps:
        first.setdefault((row["node"], row["to"]), row["time_ps"] / 1e6)
    assert len(cnps) > len(first) == 2
    for of, expected in (("min", min(first.values())), ("max", max(first.values()))):
        assert value(run, "first_messages", message="cnp", since="0 ns", of=of) == expected
        at = value(run, "first_messages", message="cnp", since="1 us", of=of)
        assert at == pytest.approx(expected - 1)
    late = read(run, "first_messages", {"message": "cnp", "since": "199 us"})
    assert (late.value, late.problem) == (None, "no cnp was sent after 199 us")


def test_a_queue_settles_when_it_has_been_above_a_length_for_the_last_time() -> None:
    # Two frames of 1 KB come every 0.8 us until 8 us and one leaves: 11 KB then, 8 KB at 10.4 us.
    run = observe({**PAIR, "size": "10 KB"})
    place = {"node": "s0", "to": "h0", "window": ["0 ns", "20 us"]}
    assert value(run, "settles", **place, most="8 KB") == 0.012
    assert value(run, "settles", **place, most="5 KB") == 0.016
    assert value(run, "settles", **place, most="12 KB") == 0
    short = read(run, "settles", place | {"window": ["0 ns", "8 us"], "most": "2 KB"})
    assert short.problem == "the backlog exceeded 2 KB up to 8 us"


def test_utilisation_is_the_share_of_the_rate() -> None:
    run = observe(ONE)
    # Frames begin at 0.8, 1.6, ... 8.8 us.
    window = ["0 ns", "20 us"]
    assert value(run, "utilisation", node="s0", to="h0", window=window) == pytest.approx(44.0)
    half = value(run, "utilisation", node="s0", to="h0", window=window, rate="20 Gb/s")
    assert half == pytest.approx(22.0)


def test_what_was_not_recorded_is_no_nought() -> None:
    place = {"node": "s0", "to": "h0", "window": ["0 ns", "8 us"]}
    for kind, key in (("queue", "backlogs"), ("utilisation", "links")):
        run = observe(PAIR, output={"nodes": ["h0"]})
        assert "output.nodes" in (read(run, kind, place).problem or "")
        run = observe(PAIR, output={key: False})
        assert f"output.{key}" in (read(run, kind, place).problem or "")


def test_completion_and_transaction_times() -> None:
    run = observe(PAIR)
    # The two end at 1.6 and 2.4 us.
    mean = value(run, "fct", group="pair", until="last_byte")
    assert mean == pytest.approx(2.0)
    assert value(run, "fct", group="pair", of="max", until="last_byte") == pytest.approx(2.4)
    variance = value(run, "transaction_time", groups=["pair"], of="variance")
    assert variance == pytest.approx(0.32)
    unfinished = observe({**ONE, "size": "1 MB"})
    assert "not complete" in (read(unfinished, "fct", {"group": "one"}).problem or "")


def test_counts() -> None:
    flows = {"label": "all", "from": ["h1", "h2"], "to": "h0", "size": "20 KB"}
    run = observe(flows, switch={"buffer": "3 KB"})
    dropped = value(run, "drops")
    assert dropped > 0
    assert value(run, "drops", nodes=["s0"]) == dropped
    assert value(run, "drops", nodes=["h0"]) == 0
    assert value(run, "retransmissions") == 0
    # Lost packets are retransmitted; go-back-N retransmits some others, too.
    again = observe(
        flows,
        switch={"buffer": "3 KB"},
        ack={"enabled": True},
        transport={"recovery": "go-back-n", "timeout": "50 us"},
        stop={"at": "10 ms"},
    )
    assert value(again, "retransmissions") >= value(again, "drops") > 0
    paused = observe(flows, pause={"xoff": "4 KB", "xon": "2 KB"}, switch={"buffer": "100 KB"})
    assert value(paused, "paused_ports") == 2
    assert value(paused, "control_messages", message="mac-control") > 0
    assert value(paused, "control_messages", message="cnp") == 0


def test_quantities() -> None:
    assert time_ps("1.5 ms") == 1_500_000_000
    assert window_ps(["5 ms", "80 ms"]) == (5 * 10**9, 80 * 10**9)
    for wrong in ("5", "5 min", "ms"):
        with pytest.raises(InputError, match=r"is not a time|unit of a time|has no unit"):
            time_ps(wrong)
    with pytest.raises(InputError, match="is not a window"):
        window_ps(["80 ms", "5 ms"])


def test_a_measure_names_a_kind_and_its_parameters() -> None:
    with pytest.raises(InputError, match="no kind of measure 'speed'"):
        check("speed", {})
    with pytest.raises(InputError, match="unexpected keyword argument 'grup'"):
        check("fct", {"group": "incast", "grup": "incast"})
    with pytest.raises(InputError, match="missing a required argument: 'group'"):
        check("fct", {})
    assert all(one.text for one in KINDS.values())


def test_a_measure_may_be_of_any_metric() -> None:
    run = observe(ONE, PAIR)
    assert value(run, "bytes:pair") == 2000
    assert value(run, "max_fct_last_byte:one") > 10
    few = read(run, "p99_fct:pair", {})
    assert (few.value, few.problem) == (None, "p99 of 2 complete flows: it takes 100")
    with pytest.raises(InputError, match="unexpected keyword argument 'group'"):
        check("max_fct", {"group": "one"})


@pytest.mark.parametrize("study", names())
def test_studies_give_units_as_their_kinds_do(study: str) -> None:
    """Except for counts, whose unit is up to the document, and reductions, which are in %."""
    for measure in load(study).measures:
        unit = "%" if measure.against is not None else named(measure.kind).unit or "times"
        unit = {"variance": f"{unit}²", "empty": "%"}.get(measure.parameters.get("of", ""), unit)
        assert measure.counts or (measure.unit or "times") == unit, measure.name
