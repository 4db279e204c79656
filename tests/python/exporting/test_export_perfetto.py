"""The export as a trace for Perfetto: spans, lanes, instants and counters."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater.results import Run
from kit.exports import STAR, build, chain, exported, flow, run_of

# A flow of one packet: 83.84 ns on each of two links, whose delays are 500 ns.
ALONE_PS = 2 * (83_840 + 500_000)


def events(run: Run, place: Path) -> list[dict[str, Any]]:
    found = json.loads(exported(run, "perfetto", place))
    assert found["displayTimeUnit"] == "ns"
    listed: list[dict[str, Any]] = found["traceEvents"]
    return listed


def tracks(found: list[dict[str, Any]]) -> dict[int, str]:
    """Return the name of each track, with that of its process."""
    of = {e["pid"]: e["args"]["name"] for e in found if e["name"] == "process_name"}
    named = [e for e in found if e["name"] == "thread_name"]
    return {e["tid"]: f"{of[e['pid']]}: {e['args']['name']}" for e in named}


def spans(found: list[dict[str, Any]]) -> dict[str, list[tuple[str, float, float]]]:
    """Return name, begin and length (us) of the spans of each track."""
    names, listed = tracks(found), defaultdict(list)
    for event in found:
        if event["ph"] == "X":
            listed[names[event["tid"]]].append((event["name"], event["ts"], event["dur"]))
    return listed


def test_a_flow_is_a_span_of_its_sender(tmp_path: Path) -> None:
    found = events(build(STAR, flow("a", 1, 0, "1 KB", start="1500 ns")).run(), tmp_path)
    # 1167.68 ns, of which Perfetto keeps whole ns; the exact end is an argument.
    assert spans(found) == {"flows, by sender: h1": [("a to h0", 1.5, 1.167)]}
    [span] = [event for event in found if event["ph"] == "X"]
    assert span["args"]["start_ps"] == 1_500_000
    assert span["args"]["end_ps"] == 1_500_000 + ALONE_PS
    assert (span["args"]["bytes"], span["args"]["state"]) == (1000, "complete")


def test_flows_that_overlap_lie_in_lanes(tmp_path: Path) -> None:
    """The third begins when the first has ended, so it takes the first one's lane."""
    starts = {"a": 0, "b": 100, "c": 2000}
    flows = [flow(name, 1, 0, "1 KB", start=f"{at} ns") for name, at in starts.items()]
    found = spans(events(build(STAR, *flows).run(), tmp_path))
    assert [span[0] for span in found["flows, by sender: h1"]] == ["a to h0", "c to h0"]
    assert [span[0] for span in found["flows, by sender: h1 (2)"]] == ["b to h0"]


def test_a_job_has_its_rounds_and_the_transfers_of_each_rank(tmp_path: Path) -> None:
    run = backwater.build(chain((0, 1), (1, 2), rounds=2, start="1 us")).run()
    found = spans(events(run, tmp_path))
    # 2 KB are two frames: the second ends one frame after the first.
    one = (ALONE_PS + 83_840) // 1000 / 1000
    assert found["job j/0: rank 0 sends"][0] == ("s0 to 1", 1.0, one)
    assert [span[0] for span in found["job j/0: rank 1 sends"]] == ["s1 to 2", "s1 to 2"]
    assert [span[0] for span in found["job j/0: rounds"]] == ["round 0", "round 1"]
    [(name, begin, length)] = found["job j/0: job"]
    [row] = run.jobs.to_pylist()
    assert (name, begin) == ("j", 1.0)
    assert length == pytest.approx(row["duration_ps"] / 1e6, abs=0.001)
    assert "flows, by sender: h0" not in found


def test_what_did_not_end_lasts_until_the_run_does(tmp_path: Path) -> None:
    run = build(STAR, flow("a", 1, 0, "1 MB"), stop={"at": "3 us"}).run()
    assert spans(events(run, tmp_path)) == {"flows, by sender: h1": [("a to h0", 0.0, 3.0)]}
    told = backwater.export(run, "perfetto", tmp_path / "x")
    assert "spans that the run ended before, drawn until its end: 1" in told
    assert "pauses: output.pause_causes records them" in told
    assert "queues and rates: output.interval samples them" in told


def test_pauses_messages_and_samples_have_their_places(tmp_path: Path) -> None:
    """A queue that was empty at a sample has no row: its counter falls to zero."""
    like = build(STAR, flow("a", 1, 0, "1 KB"), output={"interval": "1 us", "queues": True}).run()
    pause = {"asked_ps": 1_000, "start_ps": 5_000, "end_ps": 9_000, "node": "sw", "port": 2}
    pause |= {"peer": "h2", "peer_port": 0, "class": 3, "cause": "pfc"}
    sample = {"node": "sw", "port": 0, "queue": 3, "quantity": "queue_bytes"}
    lengths = {1_000_000: 70, 2_000_000: 80, 5_000_000: 90}
    tables = {
        "pauses": [pause],
        "control": [{"time_ps": 7_000, "kind": "cnp", "node": "h0", "to": 1, "class": 6}],
        "series": [{"time_ps": at, "value": value, **sample} for at, value in lengths.items()],
    }
    found = events(run_of(tables, like), tmp_path)
    assert spans(found) == {"paused ports: h2 port 0": [("class 3", 0.005, 0.004)]}
    [message] = [event for event in found if event["ph"] == "i"]
    assert (message["name"], message["ts"], message["args"]["to"]) == ("cnp", 0.007, 1)
    assert tracks(found)[message["tid"]] == "control messages, by sender: h0"
    counted = [event for event in found if event["ph"] == "C"]
    assert {event["name"] for event in counted} == {"queue_bytes port 0 queue 3"}
    assert [(event["ts"], event["args"]["value"]) for event in counted] == [
        (1.0, 70),
        (2.0, 80),
        (3.0, 0),
        (5.0, 90),
        (6.0, 0),
    ]
