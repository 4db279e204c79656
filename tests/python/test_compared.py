"""What a comparison may not conclude: values of other flows, over another time, of another base."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from backwater import report
from backwater.cli import main
from backwater.comparison import OTHERS, row
from backwater.numbers.metrics import Part, metric
from backwater.plot import data
from backwater.reading import Comparison, open_run

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command, Shared

# A host pauses for ever. Half of the victims stands behind it; the watchdog sets it free, late.
STORM = """
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
[[flow]]
label = "to-sick"
from = ["h3"]
to = "h0"
size = "4 MB"
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
    """The folder of a comparison in which half of the victims stands still under the first."""

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
    said = command("compare", *both, *(word for name in wanted for word in ("--metric", name)))
    assert said.code == 0, said.err
    told = " ".join(said.out.split())
    assert (
        f"{', '.join(wanted)}: no winner, as other flows are complete (A 1 of 2, B 2 of 2), and "
        "times are of those alone."
    ) in told


def test_the_page_says_of_how_many_flows_its_times_are(storm: Path) -> None:
    page = report.of(storm / "c")
    [results] = [one for one in page.sections if one.id == "results"]
    table: Any = next(part for part in results.parts if hasattr(part, "rows"))
    titles = [column.title for column in table.columns]
    [line] = [cells for cells in table.rows if cells[0].startswith("mean_fct:victim")]
    assert line[titles.index("samples")] == "1 of 2, 2"
    assert line[titles.index("better")] == OTHERS
    assert "Whoever completes only its fast flows is no faster." in table.note
    assert not any("fct:victim" in said for said in page.lead)
    [figure] = [one for one in page.figures if one.id == "differences"]
    assert "fct:victim" not in json.dumps(figure.chart.to_dict())


def test_a_curve_ends_where_flows_are_not_complete(storm: Path) -> None:
    """One of two victims stands still under the first: its curve does not rise to 100 %."""
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
    """Of ten the three fastest are known: the median is not, and the curve ends at 30 %."""
    known = pl.Series([1.0, 2.0, 4.0])
    assert data.distribution(known, 10) == ([1.0, 2.0, 4.0], [0.1, 0.2, 0.3])
    assert data.reached(known, 10, 0.5) is None
    # The median of five is the third, that of four between the second and the third.
    assert data.reached(known, 5, 0.5) == 4.0
    assert data.reached(known, 4, 0.5) == pytest.approx(3.0)
    assert data.reached(known, 6, 0.5) is None, "it lies between a known and an unknown one"
    assert data.reached(pl.Series([7.0]), 1, 0.5) == 7.0
    many = pl.Series([float(n) for n in range(1000)])
    values, shares = data.distribution(many, 4000)
    assert (values[-1], shares[-1]) == (999.0, 0.25)


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
