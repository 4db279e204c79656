"""A metric is one entry of the registry: every command, page and table then has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import backwater
from backwater.cli import completing
from backwater.numbers.metrics import listed, metric
from backwater.numbers.registry import GROUP, LESS, QUANTITIES, Quantity
from backwater.numbers.run import group_times
from backwater.study.measures import Observed, check, read
from backwater.sweep.goal import Goal
from backwater.sweep.point import Recipe, run_points
from kit.command import Command
from kit.reference import metrics

HALF = Quantity(
    "half_packets",
    "packets",
    "half of the data packets sent",
    LESS,
    GROUP,
    number=lambda rows, _: rows.total("packets") / 2,
    report="half",
    kept=True,
    total=True,
)


@pytest.fixture(autouse=True)
def half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(QUANTITIES, HALF.name, HALF)


def test_lists_pages_and_completion_have_it(command: Command) -> None:
    said = command("list", "metrics", "--json", "-")
    entry = {"name": "half_packets[:GROUP]", "summary": HALF.text, "unit": "packets"}
    assert {**entry, "better": "less"} in json.loads(said.out)
    assert "| `half_packets` | packets | less | half of the data packets sent |" in metrics()
    assert completing.metrics("half") == ["half_packets"]
    assert "half_packets" in listed()


def test_summaries_and_studies_have_it(small: Path) -> None:
    run = backwater.load(small).run()
    [first, *_] = group_times(run)
    assert first["half"] == first["packets"] / 2 > 0
    name = f"half_packets:{first['group']}"
    check(name, {})
    assert read(Observed(run), name, {}).value == int(first["half"])


def test_comparisons_have_it(command: Command, small: Path) -> None:
    asked = ("compare", str(small), f"{small},switch.buffer=9MB", "--seeds", "1", "--metric")
    said = command(*asked, "half_packets", "--json", "c.json", code=0)
    assert "half_packets" in said.out
    [row] = json.loads(Path("c.json").read_text(encoding="utf-8"))["rows"]
    run = backwater.load(small).run()
    assert (row["unit"], row["better"]) == ("packets", "less")
    assert row["scenarios"][0]["mean"] == metric("half_packets").of(run)


def test_points_of_sweeps_and_goals_have_it(small: Path) -> None:
    case = backwater.load(small)
    recipe = Recipe({"": case}, (), (), False, {})
    points = run_points(recipe, [("point", "", (), (), 1)])["points"]
    run = case.run()
    for name in ("half_packets", f"half_packets:{group_times(run)[0]['group']}"):
        assert points[name].to_pylist() == [metric(name).of(run)]
        told = points.schema.field(name).metadata or {}
        assert told[b"unit"] == b"packets"
        assert told[b"description"].startswith(HALF.text.encode())
    goal = Goal.of("half_packets min where half_packets < 9000")
    assert goal.see([]) == []
    [row] = points.to_pylist()
    assert goal.holds([row]) == [row["half_packets"] < 9000]
