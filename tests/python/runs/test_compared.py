"""Comparisons without a verdict: values of other flows, of another time, or another base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from backwater import report
from backwater.cli import main
from backwater.comparison import ALIKE, OTHERS, UNLIKE, row
from backwater.numbers.metrics import Part, metric
from backwater.plot import data
from backwater.plot.seeds import differences
from backwater.reading import Comparison, open_run
from kit.command import Command
from kit.results import Shared
from kit.scenarios import flow, star

# A host pauses forever and blocks half of the victims, until a watchdog frees them late.
STORM = f"""
title = "A host pauses for ever"
stop.at = "2 ms"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 3
rate = "100 Gb/s"
link_delay = "500 ns"
[switch]
buffer = "2 MB"
buffer_per = "ingress"
[pfc]
xoff = "500 KB"
{flow(["h3"], "h0", "4 MB", "to-sick")}
via = ["spine0"]
[[flow]]
label = "victim"
via = [["spine1"], ["spine0"]]
from = ["h4", "h7"]
to = "h1"
size = "4 MB"
[[fault]]
kind = "pause-storm"
host = "h0"
at = "20 us"
[variant.wd.pfc]
watchdog = "200 us"
watchdog_restore = "200 us"
[variant.wd.transport]
recovery = "go-back-n"
"""


@pytest.fixture(scope="session")
def storm(shared_folders: Shared) -> Path:
    """Return the folder of a comparison whose first scenario blocks half of the victims."""

    def make(folder: Path) -> None:
        folder.mkdir()
        file = folder / "storm.toml"
        file.write_text(STORM, encoding="utf-8")
        both = [str(file), f"{file}@wd", "--seeds", "1..5", "--out", str(folder / "c")]
        assert main(["compare", *both, "--json", str(folder / "c.json")]) == 0

    return shared_folders.folder("storm", make)


def test_times_of_other_flows_have_no_winner(command: Command, storm: Path) -> None:
    rows = {
        one["metric"]: one
        for one in json.loads((storm / "c.json").read_text(encoding="utf-8"))["rows"]
    }
    mean = rows["mean_fct:victim"]
    assert [one["flows"] for one in mean["scenarios"]] == [1, 2]
    assert [one["of_flows"] for one in mean["scenarios"]] == [2, None]
    first, second = (one["mean"] for one in mean["scenarios"])
    assert first < second, "the one flow that is complete is faster than both"
    for name in ("mean_fct:victim", "max_fct:victim"):
        assert (rows[name]["verdict"], rows[name]["winners"]) == (OTHERS, []), name
    assert [name.endswith("storm.toml@wd") for name in rows["unfinished"]["winners"]] == [True]
    file = str(storm / "storm.toml")
    both = [file, f"{file}@wd", "--seeds", "1..5"]
    wanted = ("mean_slowdown:victim", "mean_throughput:victim", "max_fct:victim")
    said = command(
        "compare", *both, *(word for name in wanted for word in ("--metric", name)), code=0
    )
    told = " ".join(said.out.split())
    assert (
        f"{', '.join(wanted)}: no winner, since different flows are complete (A 1 of 2, B 2 "
        "of 2), and only these have times."
    ) in told


def test_the_page_says_of_how_many_flows_its_times_are(storm: Path) -> None:
    page = report.of(storm / "c")
    [results] = [one for one in page.sections if one.id == "results"]
    table: Any = next(part for part in results.parts if hasattr(part, "rows"))
    titles = [column.title for column in table.columns]
    [line] = [cells for cells in table.rows if cells[0].startswith("mean_fct:victim")]
    assert line[titles.index("samples")] == "1 of 2, 2"
    assert line[titles.index("better")] == OTHERS
    assert "A scenario that completes only its fast flows is no faster." in table.note
    assert not any("fct:victim" in said for said in page.lead)
    [figure] = [one for one in page.figures if one.id == "differences"]
    assert "fct:victim" not in json.dumps(figure.chart.to_dict())


def test_what_the_base_has_none_of_is_named_where_shares_are(storm: Path) -> None:
    """Without a watchdog no frames are flushed, and a share of nothing cannot be drawn."""
    page = report.of(storm / "c")
    [figure] = [one for one in page.figures if one.id == "differences"]
    assert "Not drawn: flushed and retransmitted, with a mean of 0 there." in figure.caption


def test_a_curve_ends_where_flows_are_not_complete(storm: Path) -> None:
    """The first scenario blocks one of two victims: its curve does not rise to 100 %."""
    page = report.of(storm / "c")
    spec = next(one.chart.to_dict() for one in page.figures if one.id == "completion-2")
    spec = spec if isinstance(spec, dict) else json.loads(spec)
    [drawn] = spec["datasets"].values()
    most = {name: max(r["share"] for r in drawn if r["line"] == name) for name in ("storm@wd",)}
    half = max(row["share"] for row in drawn if row["line"] == "storm")
    assert (half, most["storm@wd"]) == (0.5, 1.0)
    assert "complete in all runs: storm 50" in json.dumps(spec["title"])
    assert [one for one in _scales(spec) if one.get("domain") == [0, 1]]
    [[run, *_], _] = open_run(storm / "c", Comparison).runs.values()
    chart = run.plot.completion().to_dict()
    assert chart["title"]["subtitle"] == [
        "complete flows: to-sick 0 of 1, victim 1 of 2; marks: the only complete flow"
    ]
    [[spot]] = chart["datasets"].values()
    assert spot["share"] == 0.5


def _scales(part: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a specification
    if isinstance(part, list):
        return [found for one in part for found in _scales(one)]
    if not isinstance(part, dict):
        return []
    own = [part["scale"]] if isinstance(part.get("scale"), dict) else []
    return own + [found for one in part.values() for found in _scales(one)]


def test_shares_are_of_all_that_there_are() -> None:
    """Three of ten flows are complete: the median is unknown, and the curve ends at 30 %."""
    known = pl.Series([1.0, 2.0, 4.0])
    assert data.distribution(known, 10) == ([1.0, 2.0, 4.0], [0.1, 0.2, 0.3])
    assert data.reached(known, 10, 0.5) is None
    # The median of five is the third; that of four is between the second and the third.
    assert data.reached(known, 5, 0.5) == 4.0
    assert data.reached(known, 4, 0.5) == pytest.approx(3.0)
    assert data.reached(known, 6, 0.5) is None, "it lies between a known and an unknown one"
    assert data.reached(pl.Series([7.0]), 1, 0.5) == 7.0
    many = pl.Series([float(n) for n in range(1000)])
    values, shares = data.distribution(many, 4000)
    assert (values[-1], shares[-1]) == (999.0, 0.25)


@pytest.mark.usefixtures("undrawn")
def test_who_flushed_frames_is_said(command: Command, storm: Path) -> None:
    """The watchdog drops the frames for the host that pauses, and every output reports it."""
    told = json.loads((storm / "c.json").read_text(encoding="utf-8"))
    [flushed] = [one for one in told["rows"] if one["metric"] == "flushed"]
    assert [one["mean"] > 0 for one in flushed["scenarios"]] == [False, True]
    assert [one["given_up"] for one in told["scenarios"]] == [[], ["leaf0 -> h0"]]
    page = report.of(storm / "c").html()
    assert "storm@wd: watchdogs gave up queues of leaf0 -&gt; h0." in page
    file = storm / "storm.toml"
    said = command("run", f"{file}@wd", "--json", "r.json")
    one = json.loads(Path("r.json").read_text(encoding="utf-8"))
    [gave] = one["watchdogs"]
    # The watchdog's timer of 200 us started when the frame of the pause at 20 us arrived.
    assert (gave["node"], gave["peer"], gave["classes"], gave["times"]) == ("leaf0", "h0", [3], 1)
    assert 220e6 < gave["first_ps"] < 221e6
    assert gave["flushed_frames"] == one["ports"]["flushed_frames"] == one["summary"]["flushed"]
    words = " ".join(said.out.split())
    dropped = f"{gave['flushed_frames']:,} frames dropped."
    assert f"The watchdog gave up leaf0 -> h0 (class 3) at 220.507 us: {dropped}" in words
    forward = ("--set", "pfc.watchdog_action=forward")
    said = command("run", f"{file}@wd", *forward, "--out", "f")
    assert "(class 3) at 220.507 us: frames were forwarded." in " ".join(said.out.split())
    page = report.of(Path("f")).html()
    assert "at 220.507 us: frames were forwarded." in page
    assert "flushed from queues" not in page
    command("run", f"{file}@wd", "--out", "d", code=0)
    [lead] = report.of(Path("d")).lead
    assert "frames flushed from queues; " in lead


def test_the_same_flows_have_a_winner_though_others_are_not_complete() -> None:
    fast, slow = dict.fromkeys(range(5), 1.0), dict.fromkeys(range(5), 2.0)
    some, others = (dict.fromkeys(range(5), Part(1, 2, which)) for which in ("first", "second"))
    name = metric("mean_fct:victim")
    assert row(name, [fast, slow], parts=[some, some]).winners == [0]
    assert row(name, [fast, slow], parts=[some, others]).verdict == OTHERS
    assert row(name, [fast, slow], parts=[some, {}]).verdict == OTHERS
    one_seed = {0: some[0]}
    assert row(name, [fast, slow], parts=[one_seed, {}]).verdict == OTHERS, "in one of the seeds"
    assert row(name, [fast, slow, {}], parts=[some, some, others]).winners == [0], "C has no value"


# Two equal incasts; the second scenario has a small flow long after.
LATE = f"""
stop.at = "3 ms"
{star(3)}
[switch]
buffer = "4 MB"
buffer_per = "ingress"
[output]
queues = true
interval = "2 us"
{flow([0, 1], 2, "1 MB", "in")}
{flow(0, 1, "1 KB", "tail")}
start = "10 us"
[variant.late]
flow.tail.start = "2900 us"
[variant.small-packets]
packet.payload = "1000 B"
[variant.half.switch]
buffer = "400 KB"
buffer_per = "egress"
[variant.half.transport]
recovery = "go-back-n"
"""


def verdicts(command: Command, *words: str) -> dict[str, tuple[str, list[str]]]:
    """Compare over five seeds, and return the verdict and the winners of each metric."""
    command("compare", *words, "--seeds", "5", "--json", "c.json", code=0)
    rows = json.loads(Path("c.json").read_text(encoding="utf-8"))["rows"]
    return {one["metric"]: (one["verdict"], one["winners"]) for one in rows}


def test_queues_over_other_times_have_no_winner(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "late.toml"
    file.write_text(LATE, encoding="utf-8")
    wanted = [f"--metric={name}" for name in ("mean_queue", "p90_queue", "max_queue")]
    found = verdicts(command, f"{file}", f"{file}@late", *wanted)
    assert found["mean_queue"] == found["p90_queue"] == (UNLIKE, [])
    assert found["max_queue"][0] == ALIKE
    # A queue that is smaller over more time, and in sum, is better, except for percentiles.
    found = verdicts(command, f"{file}", f"{file}@half", *wanted)
    assert found["mean_queue"] == ("winner", [f"{file}@half"])


def test_a_slowdown_with_other_headers_has_a_winner_who_is_faster_as_well(
    command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "late.toml"
    file.write_text(LATE, encoding="utf-8")
    wanted = [f"--metric={name}" for name in ("mean_slowdown:in", "mean_fct:in")]
    found = verdicts(command, f"{file}", f"{file}@small-packets", *wanted)
    # The ratios are equal, and the times are not: the better one depends on the headers.
    assert list(found.values()) == [(UNLIKE, []), ("winner", [f"{file}"])]
    short = (f"{file},flow.in.size=40KB", f"{file}@small-packets,flow.in.size=40KB")
    assert list(verdicts(command, *short, *wanted).values()) == [("winner", [short[0]])] * 2


def test_who_is_better_by_both_owes_it_to_no_reference() -> None:
    seeds = range(5)
    low, high = dict.fromkeys(seeds, 1.0), dict.fromkeys(seeds, 2.0)
    fast, slow = dict.fromkeys(seeds, 50.0), dict.fromkeys(seeds, 100.0)

    def judged(name: str, *references: dict[int, float]) -> tuple[str, list[int]]:
        found = row(metric(name), [low, high], references=references)
        return found.verdict, found.winners

    # A smaller bound, and less above it: faster in any case.
    assert judged("mean_slowdown", fast, slow) == ("winner", [0])
    # Twice the ratio to half of the bound is the same time.
    assert judged("mean_slowdown", slow, fast) == (UNLIKE, [])
    assert judged("mean_over_bound", fast, slow) == ("winner", [0])
    # 1 us above 100 us is later than 2 us above 50 us.
    assert judged("mean_above_bound", slow, fast) == (UNLIKE, [])
    assert judged("mean_above_bound", fast, slow) == ("winner", [0])
    assert judged("mean_bound", low, high) == (UNLIKE, []), "a faster network is no merit"
    assert judged("p90_queue", fast, slow) == (UNLIKE, [])
    assert judged("mean_queue", fast, slow) == ("winner", [0])
    assert judged("mean_queue", fast, dict.fromkeys(seeds, 50.4)) == ("winner", [0])


# Two flows meet at a port that marks all. Their senders react to CNPs or to acknowledgements.
MARKED = f"""{star(3)}
[switch]
buffer = "4 MB"
buffer_per = "ingress"
[ecn]
kmin = "10 KB"
kmax = "20 KB"
[dcqcn]
{flow([0, 1], 2, "1 MB", "in")}
[variant.echoed.dcqcn]
preset = "ns3-hpcc"
"""


def test_who_reacts_to_acknowledgements_has_no_number_of_cnps(
    command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "m.toml"
    file.write_text(MARKED, encoding="utf-8")
    why = 'dcqcn.law = "ns3" reacts to marks in acknowledgements, and no CNPs are sent'
    both = (f"{file}", f"{file}@echoed")
    command("compare", *both, "--metric", "cnps", "--seeds", "5", "--json", "c.json", code=0)
    [one] = json.loads(Path("c.json").read_text(encoding="utf-8"))["rows"]
    assert one["verdict"] == "no values"
    assert one["scenarios"][0]["mean"] > 0
    assert (one["scenarios"][1]["mean"], one["scenarios"][1]["reason"]) == (None, why)
    goal = ("--variant", "echoed", "--vary", "ecn.kmin=5 KB,10 KB", "--goal", "cnps min")
    said = command("sweep", str(file), *goal, "--seeds", "1", "--out", "s", code=2)
    assert f"cnps: has no value: {why}" in said.err
    assert "hint: marked_frames" in said.err
    said = command("compare", both[1], f"{both[1]},ecn.kmin=5KB", "--metric", "cnps", code=2)
    assert why in said.err


def test_one_large_difference_leaves_room_to_the_others() -> None:
    def drawn(most: float) -> dict[str, Any]:
        shares = {"pauses": most, "mean_fct": -1.0, "drops": 0.05}
        rows = [
            {"metric": name, "scenario": "b", "share": one, "low": one, "high": one}
            for name, one in shares.items()
        ]
        found: dict[str, Any] = differences(rows, ["b"], "a", ["a", "b"]).to_dict()
        return found

    far = json.dumps(drawn(160.0))
    assert '"type": "symlog"' in far
    assert "linear up to 10%, logarithmic beyond" in far
    near = json.dumps(drawn(0.8))
    assert "symlog" not in near
    assert '"padding": 12' in near, "a point at -100 % is beside the labels"
