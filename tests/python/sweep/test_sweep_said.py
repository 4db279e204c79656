"""Texts of answers and queries: points without a value, and metrics that do not differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backwater.sweep.goal import Goal
from backwater.wording import figure
from kit.command import Command
from kit.scenarios import flow, star
from kit.sweeping import HOT, run_here


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run points in the process of the tests."""
    run_here(monkeypatch)


CONGESTED = f"""{star(5)}
[switch]
buffer = "4 MB"
[output]
queues = true
interval = "2 us"
{flow([0, 1, 2], 4, "300 KB", "in")}
"""


def test_a_condition_without_a_value_is_no_condition_that_fails(
    command: Command, tmp_path: Path
) -> None:
    """A queue of 100 KB cannot hold more than 200 KB, but a run of 40 samples has no p99."""
    file = tmp_path / "c.toml"
    file.write_text(CONGESTED, encoding="utf-8")
    why = "p99_queue takes 100 samples of queues"
    goal = "largest switch.buffer in 100 KB..400 KB step 100 KB where p99_queue <= 200 KB"
    said = command("sweep", str(file), "--goal", goal, "--seeds", "1", "--out", "q")
    words = " ".join(said.out.split())
    assert "no answer, as `p99_queue <= 200 KB` has no value at 100 KB" in words
    assert why in words
    assert "100 KB 0/1 (1 without a value)" in words
    assert "holds at none" not in words
    assert why in (tmp_path / "q" / "summary.txt").read_text(encoding="utf-8")
    # Flows are complete above some buffer: below it fairness is not low, but has no value.
    goal = "largest switch.buffer in 100 KB..4 MB step 100 KB where fairness >= 0.5"
    said = command("sweep", str(file), "--goal", goal, "--seeds", "1", "--out", "f")
    words = " ".join(said.out.split())
    assert "no answer, as `fairness >= 0.5` has no value at 100 KB" in words
    assert "fairness needs all of its flows to be complete" in words
    assert "holds at" in words
    assert "begin the range there" in words


def test_a_condition_that_fails_whatever_has_no_value_fails() -> None:
    goal = Goal.of("max_fct:in min where drops == 0 and fairness > 0.5")
    rows = [
        {"status": "done", "drops": drops, "fairness": fairness}
        for drops, fairness in ((0.0, 0.9), (0.0, None), (3.0, None), (0.0, 0.1))
    ]
    assert goal.judged(rows) == [True, None, False, False]
    assert goal.holds(rows) == [True, False, False, False]
    assert goal.without(rows) == ["fairness"]
    assert goal.without(rows[2:]) == []
    assert goal.judged([{**rows[0], "status": "failed"}]) == [False]


def test_a_best_point_names_what_is_unknown(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(CONGESTED, encoding="utf-8")
    vary = ("--vary", "switch.buffer=100 KB,4 MB", "--seeds", "1", "--metric", "fairness")
    goal = ("--goal", "mean_fct:in min where fairness > 0.5")
    said = command("sweep", str(file), *vary, *goal, "--out", "f")
    words = " ".join(said.out.split())
    assert "at 1 of them fairness has no value: it needs all of its flows" in words
    assert "`where unfinished == 0` excludes" in words
    assert "mean_fct:in: of complete flows only" in words


@pytest.mark.usefixtures("undrawn")
def test_a_metric_that_some_points_lack_is_not_the_same_at_all(
    command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "c.toml"
    file.write_text(CONGESTED, encoding="utf-8")
    vary = ("--vary", "switch.buffer=100 KB,4 MB", "--seeds", "1", "--metric", "fairness")
    said = command("sweep", str(file), *vary, "--out", "f")
    words = " ".join(said.out.split())
    assert "fairness at 1 of 2, as it needs all of its flows to be complete" in words
    assert "the same at every point: fairness" not in words
    command("report", "f", "-o", "f.html", code=0)
    assert "Points without a value: fairness at 1 of 2" in (tmp_path / "f.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("sql", "shown", "found"),
    [
        ("1e400::double", "inf", None),
        ("'-inf'::double", "-inf", None),
        ("'nan'::double", "nan", None),
        ("[1.5::double, 'inf'::double]", "1.5; inf", [1.5, None]),
        ("1.50::decimal(5, 2)", "1.50", 1.5),
        ("sum(seed)", "3", 3),
        ("date '2020-01-02'", "2020-01-02", "2020-01-02"),
        ("timestamp '2020-01-02 10:00:00'", "2020-01-02 10:00:00", "2020-01-02 10:00:00"),
        ("{'a': 'inf'::double}", "{'a': inf}", {"a": None}),
        ("'x'::blob", "b'x'", "78"),
        ("null", "-", None),
        ("true", "True", True),
    ],
)
def test_a_query_answers_all_types_of_sql(
    command: Command, tmp_path: Path, sql: str, shown: str, found: object
) -> None:
    file = tmp_path / "c.toml"
    file.write_text(CONGESTED, encoding="utf-8")
    vary = ("--vary", "switch.buffer=4 MB", "--seeds", "2", "--out", "s")
    command("sweep", str(file), *vary, code=0)
    question = ("query", "s", f"select {sql} as x from points limit 1")
    said = command(*question, code=0)
    assert said.out.splitlines() == ["x", shown]
    said = command(*question, "--json", "-", code=0)
    assert json.loads(said.out, parse_constant=_refuse) == [{"x": found}]


def _refuse(name: str) -> Any:  # noqa: ANN401 - it gives nothing
    raise AssertionError(f"{name} is no JSON")


def test_figures_that_are_not_finite_are_written() -> None:
    assert [figure(float(one)) for one in ("inf", "-inf", "nan")] == ["inf", "-inf", "nan"]


def test_a_base_is_a_variant_or_the_file_without_one(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "hot.toml"
    file.write_text(HOT, encoding="utf-8")
    goal = ("--goal", "max_fct:victim min", "--vary", "pfc.xoff=20 KB,40 KB", "--seeds", "1")
    begin = ("sweep", str(file), "--variant", "pfc", *goal)
    for wrong in ("none", "default", "hot.toml"):
        said = command(*begin, "--base", wrong, "--out", "w", code=2)
        assert said.err.startswith(f"error: --base {wrong}: is not a variant\n")
        assert 'hint: there are pfc, and "" is the file without a variant' in said.err
    said = command(*begin, "--base", "", "--out", "o", code=0)
    assert "base: the file without a variant." in said.out


@pytest.mark.usefixtures("undrawn")
def test_points_of_a_front_that_are_the_same_are_one_row(command: Command, tmp_path: Path) -> None:
    """More buffer than is ever used changes nothing, so these points share a row."""
    file = tmp_path / "hot.toml"
    file.write_text(HOT, encoding="utf-8")
    vary = ("--vary", "switch.buffer=900 KB,1 MB,2 MB,30 KB", "--seeds", "1")
    goal = ("--goal", "max_fct:hot max, drops min")
    said = command("sweep", str(file), *vary, *goal, "--out", "f", code=0)
    lines = [line.split("  ") for line in said.out.splitlines()]
    row = next(line for line in lines if line[0].startswith("900 KB to 2 MB"))
    assert [cell for cell in row if cell][1].strip() == "3"
    assert sum(line[0].startswith("switch.buffer") for line in lines) <= 2, "one table, perhaps cut"
    command("report", "f", "-o", "f.html", code=0)
    page = (tmp_path / "f.html").read_text("utf-8")
    assert "Points of the front" in page
    assert "900 KB to 2 MB" in page
