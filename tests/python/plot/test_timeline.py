"""The timeline of a job: bars by the table of transfers, and the critical path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater.errors import InputError
from backwater.jobs import TRANSFER, critical_path
from backwater.plot.timeline import timelines
from kit.tree import ROOT


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> backwater.Run:
    """A training step of 128 ranks in three rounds."""
    folder = tmp_path_factory.mktemp("timeline") / "run"
    return backwater.load(ROOT / "scenarios" / "ai-training.toml").run(out=folder)


def rows(spec: dict[str, Any], layer: int) -> list[dict[str, Any]]:
    named: list[dict[str, Any]] = spec["datasets"][spec["layer"][layer]["data"]["name"]]
    return named


def test_a_bar_reaches_from_a_ranks_first_transfer_in_a_collective_to_its_last(
    run: backwater.Run,
) -> None:
    spec = run.plot.timeline(most=128).to_dict()
    expected: dict[tuple[str, str, str], list[int]] = {}
    for one in run.transfers.to_pylist():
        collective = (
            f"{one['job']}/{one['step']}, instance {one['instance']}, round {one['round']}, "
            f"group {one['communicator']}"
        )
        for rank in {one["src_rank"], one["dst_rank"]}:
            key = (str(rank), one["step"], collective)
            known = expected.setdefault(key, [one["start_ps"], one["end_ps"]])
            known[0] = min(known[0], one["start_ps"])
            known[1] = max(known[1], one["end_ps"])
    drawn = {
        (one["rank"], one["step"], one["collective"]): [one["begin"], one["end"]]
        for one in rows(spec, 0)
    }
    assert drawn.keys() == expected.keys()
    for key, ends in expected.items():
        assert drawn[key] == pytest.approx([end / 1e6 for end in ends])


def test_the_critical_path_leads_from_start_to_end_and_its_ranks_have_rows(
    run: backwater.Run,
) -> None:
    legs = critical_path(run, "training")
    ends = [leg.transfer for leg in legs if leg.kind == TRANSFER and leg.transfer is not None]
    on_path = {str(one[end]) for one in ends for end in ("src_rank", "dst_rank")}
    spec = run.plot.timeline(most=len(on_path) + 1).to_dict()
    corners = sorted(rows(spec, 1), key=lambda one: one["number"])
    assert (corners[0]["begin"], corners[-1]["begin"]) == pytest.approx((0.0, 301.19842))
    assert len(corners) == 2 * len(legs)
    shown = {one["rank"] for one in rows(spec, 0)}
    assert on_path < shown
    assert len(shown) == len(on_path) + 1
    assert {one["rank"] for one in corners} <= shown


def test_each_corner_of_the_path_lies_in_a_row_whatever_their_number(run: backwater.Run) -> None:
    """With too few rows, only the last part of the path is drawn, and a note reports that."""
    legs = critical_path(run, "training")
    every = run.plot.timeline().to_dict()
    assert len(rows(every, 1)) == 2 * len(legs)
    assert "line: the critical path; each transfer" in str(every["title"])
    few = run.plot.timeline(most=4).to_dict()
    shown = {one["rank"] for one in rows(few, 0)}
    corners = rows(few, 1)
    assert len(shown) == 4
    assert {one["rank"] for one in corners} <= shown
    assert corners[-1] == rows(every, 1)[-1]
    assert 0 < len(corners) < 2 * len(legs)
    assert "the last part of the critical path" in str(few["title"])


def test_many_short_collectives_are_few_bars(
    run: backwater.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If bars are at least a third of the time apart, a row has at most three."""
    monkeypatch.setattr("backwater.plot.timeline.MERGED", 3)
    [one] = timelines(run, most=4)
    spec = one.chart.to_dict()
    bars = rows(spec, 0)
    for rank in {bar["rank"] for bar in bars}:
        for step in ("experts", "next"):
            assert sum(bar["rank"] == rank and bar["step"] == step for bar in bars) <= 3


def test_a_run_without_jobs_has_no_timeline(tmp_path: Path) -> None:
    run = backwater.parse(backwater.new_scenario()).run(out=tmp_path / "run")
    with pytest.raises(InputError, match="no transfers"):
        run.plot.timeline()
