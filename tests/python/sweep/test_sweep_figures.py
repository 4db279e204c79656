"""Figures and pages of sweeps: their content, read from the charts and from the drawings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import backwater
from backwater import report
from backwater.errors import InputError
from backwater.plot.sweep import SweepPlots
from kit.command import Command
from kit.sweeping import HOT, rows, run_here

SWEPT = (
    *("hot.toml", "--variant", "pfc", "--vary", "pfc.xoff=5 KB,20 KB,60 KB"),
    *("--vary", "topology.link_delay=100ns,2us", "--seeds", "1..2", "--out", "o"),
)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch)


@pytest.fixture
def swept(command: Command, tmp_path: Path) -> Path:
    """A grid of two keys and two seeds."""
    (tmp_path / "hot.toml").write_text(HOT, encoding="utf-8")
    command("sweep", *SWEPT, code=0)
    return tmp_path / "o"


def values(chart: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any of Altair's
    """Return all rows of data of a chart."""
    sets = chart.to_dict()["datasets"]
    return [row for rows in sets.values() for row in rows]


def test_a_curve_has_the_means_of_the_points(swept: Path) -> None:
    chart = SweepPlots(backwater.open_sweep(swept)).curve("pfc.xoff", ["pauses"])
    means: dict[tuple[float, str], list[float]] = {}
    for row in rows(swept):
        delay = {100_000: "100 ns", 2_000_000: "2 us"}[row["topology.link_delay"]]
        at = (row["pfc.xoff"] / 1000, f"topology.link_delay {delay}")
        means.setdefault(at, []).append(row["pauses"])
    drawn = {(row["x"], row["series"]): row["value"] for row in values(chart)}
    assert drawn == {at: pytest.approx(sum(some) / 2) for at, some in means.items()}


def test_a_map_has_a_cell_for_each_pair(swept: Path) -> None:
    plots = SweepPlots(backwater.open_sweep(swept))
    cells = values(plots.heat("pfc.xoff", "topology.link_delay", "max_fct:victim"))
    assert {(one["across"], one["up"]) for one in cells} == {
        (x, y) for x in ("5 KB", "20 KB", "60 KB") for y in ("100 ns", "2 us")
    }
    victim = [row["max_fct:victim"] for row in rows(swept) if row["pfc.xoff"] == 5000]
    slow = [row for row in rows(swept) if row["pfc.xoff"] == 5000]
    of_slow = [r["max_fct:victim"] for r in slow if r["topology.link_delay"] == 2_000_000]
    [cell] = [one for one in cells if (one["across"], one["up"]) == ("5 KB", "2 us")]
    assert len(victim) == 4
    assert cell["value"] == pytest.approx(sum(of_slow) / 2)


def test_what_cannot_be_drawn_is_reported(swept: Path) -> None:
    plots = SweepPlots(backwater.open_sweep(swept))
    with pytest.raises(InputError, match=r"switch\.buffer: is not varied"):
        plots.curve("switch.buffer", ["pauses"])
    with pytest.raises(InputError, match="none of p99_fct:victim has values"):
        plots.curve("pfc.xoff", ["p99_fct:victim"])
    with pytest.raises(InputError, match="unfinished_jobs: its effects are unknown"):
        plots.effects("unfinished_jobs")


def test_many_settings_are_averaged_if_all_are_there(command: Command, swept: Path) -> None:
    """Eight settings beside a key give one line: their mean, seed by seed."""
    command(
        *("sweep", "hot.toml", "--variant", "pfc", "--vary", "pfc.xoff=5 KB,60 KB"),
        *("--vary", "topology.link_delay=100ns..800ns in 8", "--out", "many"),
        code=0,
    )
    place = swept.parent / "many"
    drawn = values(SweepPlots(backwater.open_sweep(place)).curve("pfc.xoff", ["mean_fct:hot"]))
    for at in (5, 60):
        some = [r["mean_fct:hot"] for r in rows(place) if r["pfc.xoff"] == at * 1000]
        [value] = [row["value"] for row in drawn if row["x"] == at]
        assert value == pytest.approx(sum(some) / 8)


def test_an_answer_is_kept_with_its_figures(command: Command, swept: Path) -> None:
    goal = "smallest pfc.xoff in 5 KB..60 KB step 5 KB where pauses <= 4"
    begin = ("sweep", "hot.toml", "--variant", "pfc", "--goal", goal, "--seeds", "1..2")
    command(*begin, "--out", "g", code=0)
    place = swept.parent / "g"
    summary = (place / "summary.txt").read_text()
    [found] = re.findall(r"smallest pfc\.xoff: (\d+ KB), with all of 2 seeds", summary)
    assert summary.startswith(f"goal: {goal}\n")
    figures = sorted((place / "figures").iterdir())
    assert [one.name for one in figures] == ["curve-1.svg"]
    texts = list(ElementTree.parse(figures[0]).getroot().itertext())
    assert "Over pfc.xoff" in "".join(texts)
    assert "pfc.xoff (KB)" in texts
    # The dashed line marks the answer.
    chart = SweepPlots(backwater.open_sweep(place)).curve("pfc.xoff", ["pauses"])
    marks = [row for row in values(chart) if "t" in row]
    assert marks == [{"x": float(found.split()[0]), "t": found}]
    # Another goal replaces them, and --force removes only files of Backwater.
    (place / "figures" / "mine.txt").write_text("mine")
    command(*begin, "--out", "g", "--force", code=0)
    assert (place / "figures" / "mine.txt").read_text() == "mine"


def test_a_sweep_has_a_page(command: Command, swept: Path, tmp_path: Path) -> None:
    command("report", str(swept), "-o", "page.html", "--figures", "figures", code=0)
    page = report.of(swept)
    assert [figure.id for figure in page.figures] == [
        *("curve-1", "curve-2", "map-1", "effects-1", "effects-2", "effects-3"),
    ]
    html = (tmp_path / "page.html").read_text()
    assert "12 points of pfc.xoff and topology.link_delay, with 2 seeds" in html
    assert "backwater sweep hot.toml --vary" in html
    assert (tmp_path / "figures" / "map-1.svg").is_file()
    assert "Intervals over 2 seeds are wide: --seeds 5 or more narrows them." in page.lead
    # The page lists the points, and the command printed the same numbers.
    [listed] = [one for one in page.sections if one.id == "points"]
    table = listed.parts[0]
    assert [column.title for column in table.columns][:2] == ["pfc.xoff", "topology.link_delay"]
    assert len(table.rows) == 6
    again = command("sweep", *SWEPT, code=0)
    told = [line.split() for line in again.out.splitlines()]
    for row in table.rows:
        assert " ".join(row[:3]).split() in [
            line[: len(" ".join(row[:3]).split())] for line in told
        ]
    assert f"`backwater report {swept.name}` draws them" in again.err


def test_failed_points_have_reasons_and_many_are_summed_up_by_their_ends(
    command: Command, tmp_path: Path
) -> None:
    """A threshold below its xon is illegal; of twenty points, those at the ends have rows."""
    (tmp_path / "hot.toml").write_text(HOT)
    varied = ("--variant", "pfc", "--vary", "pfc.xoff=1KB..39KB step 2KB", "--seeds", "1")
    said = command("sweep", "hot.toml", *varied, "--out", "o", code=1)
    by_xoff = {row["pfc.xoff"]: row["pauses"] for row in rows(tmp_path / "o")}
    least = min(count for count in by_xoff.values() if count is not None)
    [line] = [line for line in said.out.splitlines() if line.startswith("pauses ")]
    words = line.split()
    assert float(words[1]) == least
    assert words[2] == "pfc.xoff"
    assert by_xoff[int(float(words[3]) * 1000)] == least
    page = report.of(tmp_path / "o")
    assert "1 point failed, and is in no figure." in page.lead
    [listed] = [one for one in page.sections if one.id == "points"]
    assert listed.parts[0].folded
    assert listed.parts[1].title == "Points that failed"
    [[count, why]] = listed.parts[1].rows
    assert count == "1"
    assert "xon (2 KB) is above xoff (1 KB)" in why


def test_a_page_says_that_nothing_differs(command: Command, tmp_path: Path) -> None:
    """The time limit for endless runs makes no difference to runs that end."""
    (tmp_path / "hot.toml").write_text(HOT)
    varied = ("--vary", "stop.stall=50 ms,60 ms", "--seeds", "1..2", "--out", "same")
    command("sweep", "hot.toml", *varied, code=0)
    page = report.of(tmp_path / "same")
    assert not page.figures
    assert "No metric differs between points: what is varied has no effect here." in page.lead


def test_a_page_draws_what_differs_where_nothing_is_asked_for(
    command: Command, tmp_path: Path
) -> None:
    """ECN marks that no sender uses change, and completion times do not."""
    (tmp_path / "hot.toml").write_text(HOT)
    varied = ("--with", "ecn", "--vary", "ecn.kmax=10 KB,90 KB", "--set", "ecn.kmin=5 KB")
    command("sweep", "hot.toml", *varied, "--seeds", "1..2", "--out", "marks", code=0)
    assert [figure.id for figure in report.of(tmp_path / "marks").figures] == ["curve-1"]
