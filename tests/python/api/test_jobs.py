"""Jobs through Python: the table of collectives, the command's report, runs cut short."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater import report
from backwater.manifest import write_manifest
from backwater.numbers.metrics import metric
from backwater.numbers.repeats import over_runs
from backwater.numbers.run import job_times, round_times
from backwater.wording import us
from kit.command import Command, start
from kit.scenarios import star
from kit.tree import ROOT

STAR: dict[str, Any] = {
    "topology": {"kind": "star", "hosts": 8, "rate": "100 Gb/s", "link_delay": "500 ns"},
    "switch": {"buffer_per": "none"},
}


def job(*steps: dict[str, Any], **more: Any) -> backwater.Scenario:  # noqa: ANN401 - TOML values
    return backwater.build(
        STAR | {"job": [{"label": "j", "ranks": 8, "step": list(steps), **more}]}
    )


def test_bandwidths_are_those_of_the_times() -> None:
    scenario = job({"label": "sum", "kind": "all-reduce", "size": "8 MB"}, rounds=3)
    run = scenario.run()
    rows = run.collectives.to_pylist()
    assert [row["round"] for row in rows] == [0, 1, 2]
    for row in rows:
        seconds = row["duration_ps"] / 1e12
        assert row["algbw_bps"] == pytest.approx(8e6 * 8 / seconds)
        assert row["busbw_bps"] == pytest.approx(row["algbw_bps"] * 14 / 8)
        assert row["bytes"] == 14 * 8_000_000
        assert 0.9 < row["bound_ps"] / row["duration_ps"] < 1
    [step] = job_times(run)
    assert (step["job"], step["step"], step["complete"], step["algorithm"]) == (
        "j",
        "sum",
        3,
        "ring",
    )
    assert step["busbw_gbps"]["mean"] < 100
    rounds = round_times(run)
    assert [row["round"] for row in rounds] == [0, 1, 2]
    assert rounds[0]["end_us"] == rounds[1]["start_us"]
    assert run.flows["group"].unique().to_pylist() == ["j/sum"]


def test_rounds_include_computations_at_their_begin_and_end() -> None:
    def think(label: str, us: int) -> dict[str, Any]:
        return {"label": label, "kind": "compute", "time": f"{us} us"}

    mix = {"label": "mix", "kind": "all-to-all", "size": "80 KB"}
    run = job(think("before", 10), mix, think("after", 30), rounds=2).run()
    first, second = round_times(run)
    ends = [row["end_ps"] for row in run.collectives.to_pylist()]
    assert (first["start_us"], first["end_us"]) == (0, pytest.approx(ends[0] / 1e6 + 30))
    assert second["end_us"] == pytest.approx(ends[1] / 1e6 + 30)


def test_a_graph_of_any_form() -> None:
    # A diamond: 0 sends to 1 and 2, which compute for different times and then send to 3.
    def send(label: str, pair: list[int], after: list[str]) -> dict[str, Any]:
        return {
            "label": label,
            "kind": "point-to-point",
            "size": "100 KB",
            "pairs": [pair],
            "after": after,
        }

    def think(label: str, rank: int, us: int, after: str) -> dict[str, Any]:
        return {
            "label": label,
            "kind": "compute",
            "time": f"{us} us",
            "ranks": rank,
            "after": [after],
        }

    scenario = job(
        send("a", [0, 1], []),
        send("b", [0, 2], []),
        think("c", 1, 10, "a"),
        think("d", 2, 50, "b"),
        send("e", [1, 3], ["c"]),
        send("f", [2, 3], ["d"]),
        send("g", [3, 0], ["e", "f"]),
    )
    rows = {row["step"]: row for row in scenario.run().collectives.to_pylist()}
    assert rows["e"]["start_ps"] == rows["a"]["end_ps"] + 10_000_000
    assert rows["f"]["start_ps"] == rows["b"]["end_ps"] + 50_000_000
    assert rows["g"]["start_ps"] == max(rows["e"]["end_ps"], rows["f"]["end_ps"])


def test_metrics_of_jobs_are_their_closed_forms() -> None:
    # Three rounds of 10 us of computing and a transfer of 100 KB to the neighbour.
    think = {"label": "think", "kind": "compute", "time": "10 us", "after_previous": ["send"]}
    send = {
        "label": "send",
        "kind": "point-to-point",
        "size": "100 KB",
        "shift": 1,
        "wrap": True,
        "after": ["think"],
    }
    run = job(think, send, rounds=3).run()
    value = {
        name: metric(name).of(run)
        for name in (
            "max_jct:j",
            "max_round_time:j",
            "max_cct:j/send",
            "min_bound:j/send",
            "min_above_bound:j",
            "max_algbw:j",
            "max_busbw:j",
            "unfinished_jobs",
        )
    }
    took = value["max_cct:j/send"]
    assert took is not None
    least = metric("min_cct").of(run)
    assert least is not None
    assert value["max_round_time:j"] == pytest.approx(10 + took)
    assert 3 * (10 + least) <= (value["max_jct:j"] or 0) <= 3 * (10 + took) + 1e-6
    assert value["min_above_bound:j"] == pytest.approx(least - (value["min_bound:j/send"] or 0))
    assert value["max_algbw:j"] == value["max_busbw:j"] == pytest.approx(100_000 * 8 / least / 1e3)
    assert value["unfinished_jobs"] == 0
    assert run.jobs["complete_rounds"].to_pylist() == [3]
    cut = job(think, send, rounds=3).set("stop.at", "25 us").run()
    assert metric("unfinished_jobs").of(cut) == 1
    assert metric("max_jct").of(cut) is None
    assert metric("mean_round_time").of(cut) is None, "what is not complete is not averaged away"


def test_a_comparison_shows_jobs(command: Command) -> None:
    scenario = str(ROOT / "scenarios" / "ai-prefill.toml")
    said = command(
        "compare", scenario, f"{scenario}@balanced", "--seeds", "1", "--json", "c.json", code=0
    )
    for name in ("max_jct:prefill", "mean_busbw:prefill/experts", "mean_over_bound:prefill"):
        # The group of a long name is on a line of its own.
        assert {name, name.partition(":")[0] + ":"} & set(said.out.split()), name


def test_the_command_tells_collectives_and_rounds(command: Command) -> None:
    said = command("run", str(ROOT / "scenarios" / "ai-prefill.toml"), "--out", "run", code=0)
    assert "prefill/experts  all-to-all-v (direct)" in said.out
    assert "prefill: round 1 ended at" in said.out
    report = command(
        "run", str(ROOT / "scenarios" / "ai-prefill.toml"), "--json", "-", "--seeds", "2"
    )
    assert '"of": "prefill/experts"' in report.out
    assert '"quantity": "duration_us.max"' in report.out


PIPELINE = f"""{star(2)}
[switch]
buffer_per = "none"
[[job]]
label = "training"
ranks = 2
[job.pipeline]
stages = 2
micro_batches = 1
forward = "100 us"
size = "4 KB"
"""
SMALLER = "p.toml,job.training.pipeline.size=1KB"


def test_the_command_tells_when_a_pipeline_was_complete(command: Command, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PIPELINE)
    said = command("run", "p.toml", "--json", "p.json", code=0)
    [jct] = json.loads((tmp_path / "p.json").read_text())["jct"]
    # Two forward passes, two backward ones that are twice as long, and two short messages.
    assert (jct["job"], jct["instances"], jct["complete"]) == ("training", 1, 1)
    took = jct["duration_us"]["max"]
    assert 600 < took < 605
    # With the times of the table of groups.
    assert f"training: job completion time {us(took)} us." in said.out
    cut = command("run", "p.toml", "--set", "stop.at=50 us")
    assert "job completion time" not in cut.out


def test_the_command_tells_of_several_instances(command: Command, tmp_path: Path) -> None:
    twice = PIPELINE.replace("hosts = 2", "hosts = 4")
    (tmp_path / "p.toml").write_text(twice.replace("ranks = 2", "ranks = 2\ninstances = 2"))
    said = command("run", "p.toml")
    line = r"training: job completion time 60\d\.\d+ us \(mean\), 60\d\.\d+ us \(greatest\) of 2 "
    assert re.search(line + r"instances\.", said.out), said.out


def test_a_comparison_shows_a_pipeline_without_being_asked(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "p.toml").write_text(PIPELINE)
    slower = "p.toml,job.training.pipeline.size=4MB"
    command("compare", "p.toml", slower, "--seeds", "1", "--json", "c.json", code=0)
    rows = {row["metric"]: row for row in json.loads((tmp_path / "c.json").read_text())["rows"]}
    assert {"mean_jct:training", "max_jct:training", "unfinished_jobs"} <= rows.keys()
    [short, long] = rows["max_jct:training"]["scenarios"]
    # 4 MB at 100 Gb/s are 320 us each way.
    assert 640 < long["mean"] - short["mean"] < 700
    assert "mean_fct:training/activations" in rows


@pytest.mark.parametrize(
    ("metric", "reason", "hint"),
    [
        ("max_jct:other", "no job is called other", "there are training"),
        ("max_jct:training/x", "no job is called training/x", "there are training"),
        ("max_cct:training/x", "no job or step is called training/x", "there are training"),
        ("max_fct:other", "no group of flows is called other", "there are training/…"),
    ],
)
def test_a_metric_of_nothing_says_what_there_is(
    metric: str, reason: str, hint: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "p.toml").write_text(PIPELINE)
    said = command("compare", "p.toml", SMALLER, "--seeds", "1", "--metric", metric, code=2)
    assert f"--metric {metric}: {reason}" in said.err
    assert hint in said.err


def test_messages_of_a_pipeline_are_groups(command: Command, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PIPELINE)
    words = ("--seeds", "1", "--metric", "max_fct:training/gradients")
    command("compare", "p.toml", SMALLER, *words, code=0)


@pytest.mark.usefixtures("undrawn")
def test_the_jobs_of_a_run_that_failed_say_why(command: Command, tmp_path: Path) -> None:
    """The text is that of the report."""
    done = job({"kind": "all-gather", "size": "8 KB"}).run(out=tmp_path / "r")
    write_manifest(tmp_path / "r", done.manifest | {"status": "failed", "error": "full\nhint: x"})
    said = command("jobs", "r")
    assert (said.code, said.err) == (0, "the run is failed: full\n")
    assert "The run is failed: full." in command("report", "r").err.splitlines()


def test_no_statistics_of_what_is_not_complete() -> None:
    scenario = job({"label": "s", "kind": "all-to-all", "size": "1 MB"}, rounds=5)
    run = scenario.set("stop.at", "1 ms").run()
    [step] = job_times(run)
    assert step["complete"] < step["collectives"] < 5
    assert len(round_times(run)) == step["complete"]
    report = {"groups": [], "jobs": [step], "ports": {}, "summary": {}}
    names = {row["quantity"]: row["n"] for row in over_runs([report])}
    assert names["duration_us.mean"] == 1


def test_statistics_over_seeds_have_job_completion_times(command: Command, tmp_path: Path) -> None:
    """Random loads of experts make the seeds differ; the table of jobs has each run's time."""
    file = ROOT / "scenarios" / "ai-experts.toml"
    said = command("run", str(file), "--seeds", "1..3", "--out", "s", code=0)
    runs = [backwater.open_run(tmp_path / "s" / f"seed-{seed}") for seed in (1, 2, 3)]
    took: list[list[int]] = [run.jobs.to_pydict()["duration_ps"] for run in runs]
    label = runs[0].jobs["job"].to_pylist()[0]
    assert [len(one) for one in took] == [1, 1, 1]
    mean = sum(one[0] for one in took) / 3 / 1e6
    [line] = [line for line in said.out.splitlines() if line.startswith(f"{label} ")]
    assert line.split()[1] == "jct"
    assert float(line.split()[3]) == pytest.approx(mean, rel=1e-4)
    [results] = [one for one in report.of(tmp_path / "s").sections if one.id == "results"]
    assert [column.title for column in results.parts[0].columns][1] == "job completion time us"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_cut_short_leaves_its_collectives(tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "long.toml"
    file.write_text(
        f"""{star(16)}
[switch]
buffer_per = "none"
[[job]]
ranks = 16
rounds = 1_000_000
[[job.step]]
kind = "all-reduce"
size = "1 MB"
""",
        encoding="utf-8",
    )
    process = start("run", str(file), "--out", "run", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("run/collectives/part-*.parquet")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(number)
    process.communicate(timeout=60)
    run = backwater.open_run(tmp_path / "run")
    assert run.status == ("running" if number == signal.SIGKILL else "interrupted")
    rounds = run.collectives["round"].to_pylist()
    assert rounds == list(range(len(rounds)))
    assert len(rounds) > 1
    ends = run.collectives["end_ps"].to_pylist()
    assert all(end is not None for end in ends[:-1])
    assert (ends[-1] is None) == (number == signal.SIGINT)
