"""Exports of workloads: connection matrices of htsim, and GOAL, which a test executes."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import tomli_w

import backwater
from kit.exports import STAR, build, chain, exported, flow


def test_a_connection_matrix(tmp_path: Path) -> None:
    scenario = build(
        STAR,
        flow("a", 1, 0, "10 KB", start="1500 ns"),
        flow("b", [2, 3], 0, "20 KB"),
    )
    run = scenario.run()
    assert exported(run, "cm", tmp_path) == (
        "Nodes 4\nConnections 3\n"
        "2->0 id 1 start 0 size 20000\n"
        "3->0 id 2 start 0 size 20000\n"
        "1->0 id 3 start 1500000 size 10000\n"
    )
    assert exported(run, "cm", tmp_path, start_unit="us").splitlines()[-1] == (
        "1->0 id 3 start 1.5 size 10000"
    )
    told = backwater.export(run, "cm", tmp_path / "c", start_unit="us")
    assert told == ["starts that are no whole microsecond, which htsim_uec cuts off: 1"]


def test_classes_are_priorities_where_they_differ(tmp_path: Path) -> None:
    run = build(STAR, flow("a", 1, 0, "1 KB"), flow("b", 2, 0, "1 KB", **{"class": 5})).run()
    assert exported(run, "cm", tmp_path).splitlines()[2:] == [
        "1->0 id 1 start 0 size 1000 prio 3",
        "2->0 id 2 start 0 size 1000 prio 5",
    ]


@pytest.mark.parametrize("complete_at", ["last-byte", "last-ack"])
def test_transfers_wait_by_triggers(complete_at: str, tmp_path: Path) -> None:
    scenario = chain((0, 1), (1, 2), (2, 3), start="1 us", complete_at=complete_at)
    run = backwater.build(scenario).run()
    done = {"last-byte": "recv_done_trigger", "last-ack": "send_done_trigger"}[complete_at]
    assert exported(run, "cm", tmp_path) == (
        "Nodes 4\nConnections 3\nTriggers 2\n"
        f"0->1 id 1 start 1000000 size 2000 {done} 1\n"
        f"1->2 id 2 trigger 1 size 2000 {done} 2\n"
        "2->3 id 3 trigger 2 size 2000\n"
        "trigger id 1 oneshot\ntrigger id 2 oneshot\n"
    )


def test_goal_of_a_chain(tmp_path: Path) -> None:
    scenario = chain((0, 1), (1, 2), (2, 1), (1, 0))
    thinks = {"label": "think", "kind": "compute", "time": "4 us"}
    scenario["job"][0]["step"].insert(1, thinks)
    run = backwater.build(scenario).run()
    assert exported(run, "goal", tmp_path) == (
        "num_ranks 4\n"
        "\nrank 0 {\ns1: send 2000b to 1 tag 1\nr4: recv 2000b from 1 tag 4\n}\n"
        "\nrank 1 {\nr1: recv 2000b from 0 tag 1\n"
        "c2: calc 4000\nc2 requires r1\n"
        "s2: send 2000b to 2 tag 2\ns2 requires c2\n"
        "r3: recv 2000b from 2 tag 3\n"
        "s4: send 2000b to 0 tag 4\ns4 requires r3\n}\n"
        "\nrank 2 {\nr2: recv 2000b from 1 tag 2\n"
        "s3: send 2000b to 1 tag 3\ns3 requires r2\n}\n"
        "\nrank 3 {\n}\n"
    )
    told = backwater.export(run, "goal", tmp_path / "g")
    assert [line.rpartition(" ")[2] for line in told] == ["3"]


LINE = re.compile(
    r"(\w+): (?:(send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)|calc (\d+)(?: cpu \d+)?)"
)


def perform(text: str, flight_ps: dict[int, int]) -> dict[int, int]:
    """Execute a GOAL file, and return when each message with a tag of `flight_ps` was sent.

    A send ends at once, and its message is in flight for `flight_ps`; others take no time.
    """
    words: dict[tuple[int, str], tuple[Any, ...]] = {}
    needs: dict[tuple[int, str], list[tuple[int, str]]] = defaultdict(list)
    for part in re.split(r"^rank ", text, flags=re.MULTILINE)[1:]:
        rank = int(part.split()[0])
        for line in part.splitlines()[1:]:
            if found := LINE.fullmatch(line):
                words[rank, found[1]] = found.groups()[1:]
            elif " requires " in line:
                what, on = line.split(" requires ")
                assert (rank, on) in words, f"{line}: {on} is unknown"
                needs[rank, what].append((rank, on))
            else:
                assert line in ("}", "")
    sends = {
        (rank, int(peer), int(tag), int(size)): (rank, label)
        for (rank, label), (kind, size, peer, tag, _) in words.items()
        if kind == "send"
    }
    over: dict[tuple[int, str], int] = {}

    def end(of: tuple[int, str]) -> int:
        if of not in over:
            kind, size, peer, tag, calc = words[of]
            begun = max((end(on) for on in needs[of]), default=0)
            if kind == "recv":
                other = sends[int(peer), of[0], int(tag), int(size)]
                begun = max(begun, end(other) + flight_ps.get(int(tag), 0))
            over[of] = begun + 1000 * int(calc or 0)
        return over[of]

    for of in words:
        end(of)
    assert sum(kind == "recv" for kind, *_ in words.values()) == len(sends)
    return {
        int(words[of][3]): time
        for of, time in over.items()
        if words[of][0] == "send" and int(words[of][3]) in flight_ps
    }


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling"])
def test_goal_gives_the_starts_of_the_run(algorithm: str, tmp_path: Path) -> None:
    steps = [
        {"label": "think", "kind": "compute", "time": "3 us"},
        {"label": "sum", "kind": "all-reduce", "size": "8 KB", "algorithm": algorithm},
        {"label": "mix", "kind": "all-to-all", "size": "4 KB"},
        {"label": "on", "kind": "point-to-point", "size": "3 KB", "shift": 1},
        {"label": "end", "kind": "compute", "time": "5 us"},
    ]
    job = {"label": "j", "ranks": 4, "rounds": 3, "step": steps}
    run = backwater.build(STAR | {"job": [job]}).run()
    sent = run.transfers.sort_by([("start_ps", "ascending"), ("flow_id", "ascending")])
    found = dict(enumerate(sent.to_pylist(), 1))
    flight = {number: row["end_ps"] - row["start_ps"] for number, row in found.items()}
    text = exported(run, "goal", tmp_path)
    begun = perform(text, flight)
    # A sender that waits only for its own message begins early, and so do the sends after it.
    assert begun.keys() == found.keys()
    for number, time in begun.items():
        assert time <= found[number]["start_ps"] + 1000
    [told] = [line for line in backwater.export(run, "goal", tmp_path / "g") if "own" in line] or [
        "0"
    ]
    if told.endswith("0"):
        assert begun == pytest.approx({n: row["start_ps"] for n, row in found.items()}, abs=1000)


def test_goal_is_of_one_instance_of_one_job(tmp_path: Path) -> None:
    scenario = chain((0, 1), instances=2, label="first")
    scenario["topology"] = STAR["topology"] | {"hosts": 12}
    other = {**scenario["job"][0], "label": "second", "instances": 1, "ranks": 2}
    scenario["job"] = [scenario["job"][0], other | {"hosts": "8..11"}]
    scenario["job"][0]["hosts"] = "0..7"
    run = backwater.build(scenario).run()
    for options, said in (
        ({}, "the run has 2 jobs.*--job is first and second"),
        ({"job": "third"}, "--job third: the run has no such job.*first and second"),
        ({"job": "first", "instance": 2}, "--instance 2: .* no such instance.*0 to 1"),
    ):
        with pytest.raises(backwater.InputError, match=re.compile(said, re.DOTALL)):
            exported(run, "goal", tmp_path, **options)
    for job, ranks in (("first", 4), ("second", 2)):
        assert exported(run, "goal", tmp_path, job=job).startswith(f"num_ranks {ranks}\n")
    assert "tag 1" in exported(run, "goal", tmp_path, job="first", instance=1)


def both_ways(scenario: dict[str, Any], place: Path) -> tuple[int, int, str]:
    """Return the completion times (ps) of a job, and of its GOAL on the same fabric; and GOAL."""
    run = backwater.build(scenario).run()
    fabric, text = place / "fabric.toml", exported(run, "goal", place)
    alone = {table: value for table, value in scenario.items() if table != "job"}
    fabric.write_text(tomli_w.dumps(alone), encoding="utf-8")
    brought = backwater.import_(place / "goal.txt", place / "again.toml", fabric=fabric)
    again = backwater.load(brought.path).run()
    return run.jobs["duration_ps"][0].as_py(), again.jobs["duration_ps"][0].as_py(), text


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_goal_of_a_pipeline_takes_as_long(schedule: str, tmp_path: Path) -> None:
    pipeline = {
        "stages": 2,
        "micro_batches": 4,
        "schedule": schedule,
        "forward": "100 us",
        "size": "100 KB",
    }
    job = {"label": "j", "ranks": 2, "pipeline": pipeline}
    took, again, text = both_ways(STAR | {"job": [job]}, tmp_path)
    # Five forward and five backward passes in sequence, and two transfers.
    assert took > 5 * 100_000_000 + 5 * 200_000_000
    # GOAL rounds to ns: an error of half a ns for each computation on the path.
    assert again == pytest.approx(took, abs=10 * 500)
    assert "calc 100000\n" in text


def test_goal_of_computations_that_overlap_takes_as_long(tmp_path: Path) -> None:
    """Rank 1 computes for 50 us after each message of rank 0, for 60 us after each of rank 2."""
    pair = {"kind": "point-to-point", "size": "10 KB"}
    steps = [
        pair | {"label": "a", "pairs": [[0, 1]], "after": []},
        pair | {"label": "b", "pairs": [[2, 1]], "after": []},
        {"label": "x", "kind": "compute", "time": "50 us", "ranks": 1, "after": ["a"]},
        {"label": "y", "kind": "compute", "time": "60 us", "ranks": 1, "after": ["b"]},
        pair | {"label": "c", "pairs": [[1, 0]], "after": ["x"]},
        pair | {"label": "d", "pairs": [[1, 2]], "after": ["y"]},
    ]
    job = {"label": "j", "ranks": 4, "step": steps, "rounds": 3, "rounds_in_flight": 2}
    took, again, text = both_ways(STAR | {"job": [job]}, tmp_path)
    assert again == pytest.approx(took, abs=10 * 500)
    assert " cpu 1\n" in text


def test_computations_after_one_message_follow_each_other(tmp_path: Path) -> None:
    """A rank that sends 3 us, 3 us and 5 us after its start computes 3 us and then 2 us."""
    pair = {"kind": "point-to-point", "size": "1 KB"}
    steps = [
        {"label": "x", "kind": "compute", "time": "3 us", "ranks": 0, "after": []},
        {"label": "y", "kind": "compute", "time": "5 us", "ranks": 0, "after": []},
        pair | {"label": "a", "pairs": [[0, 1]], "after": ["x"]},
        pair | {"label": "b", "pairs": [[0, 2]], "after": ["x"]},
        pair | {"label": "c", "pairs": [[0, 3]], "after": ["y"]},
    ]
    run = backwater.build(STAR | {"job": [{"label": "j", "ranks": 4, "step": steps}]}).run()
    assert exported(run, "goal", tmp_path).startswith(
        "num_ranks 4\n\nrank 0 {\n"
        "c1: calc 3000\ns1: send 1000b to 1 tag 1\ns1 requires c1\n"
        "s2: send 1000b to 2 tag 2\ns2 requires c1\n"
        "c3: calc 2000\nc3 requires c1\ns3: send 1000b to 3 tag 3\ns3 requires c3\n}\n"
    )
