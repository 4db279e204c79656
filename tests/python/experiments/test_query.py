"""SQL of runs, series, comparisons and studies: each run is a point, its tables are there."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pyarrow.compute as pc
import pytest

import backwater
from backwater import study
from backwater.errors import InputError, ResultError
from backwater.journal import Journal
from backwater.numbers.metrics import metric
from backwater.study import definition
from kit.command import Command, start
from kit.studies import write_random_study
from kit.sweeping import HOT, until
from kit.tree import ROOT


@pytest.fixture
def hot(tmp_path: Path) -> Path:
    path = tmp_path / "hot.toml"
    path.write_text(HOT, encoding="utf-8")
    return path


def test_the_runs_of_a_series_are_points(hot: Path, tmp_path: Path) -> None:
    seeds = [3, 2**64 - 1]
    series = backwater.load(hot).variant("pfc").run(seeds=seeds, out=tmp_path / "s")
    rows = backwater.query(
        tmp_path / "s",
        "select point, variant, seed, status, fingerprint, max_fct_victim, pauses from points",
    ).to_pylist()
    for row, run in zip(rows, series.runs, strict=True):
        assert row == {
            "point": f"seed-{run.seed}",
            "variant": "pfc",
            "seed": run.seed,
            "status": "done",
            "fingerprint": run.fingerprint,
            "max_fct_victim": metric("max_fct:victim").of(run),
            "pauses": metric("pauses").of(run),
        }
    found = backwater.query(
        tmp_path / "s",
        "select point, run, count(*) n, sum(received) b from flows group by all order by run",
    ).to_pylist()
    assert found == [
        {
            "point": f"seed-{run.seed}",
            "run": run.seed,
            "n": run.flows.num_rows,
            "b": pc.sum(run.flows["received"]).as_py(),
        }
        for run in series.runs
    ]


def test_a_single_run_is_a_point(hot: Path, tmp_path: Path) -> None:
    run = backwater.load(hot).run(seed=7, out=tmp_path / "r")
    asked = "select p.seed, count(*) n from points p join flows using (point) group by all"
    assert backwater.query(tmp_path / "r", asked).to_pylist() == [
        {"seed": 7, "n": run.flows.num_rows}
    ]
    backwater.load(hot).run(seeds=[7, 8], out=tmp_path / "s")
    [row] = backwater.query(tmp_path / "s" / "seed-7", "select * from points").to_pylist()
    assert (row["seed"], row["fingerprint"]) == (7, run.fingerprint)


def test_scenarios_of_a_comparison_tell_its_points(
    command: Command, hot: Path, tmp_path: Path
) -> None:
    words = ("hot.toml", "hot.toml@pfc,topology.link_delay=1 us", "--seeds", "2", "--out", "c")
    command("compare", *words, code=0)
    assert hot.exists()
    comparison = backwater.open_run(tmp_path / "c", backwater.Comparison)
    rows = backwater.query(
        tmp_path / "c", "select scenario, seed, drops, pauses from points order by all"
    ).to_pylist()
    assert rows == [
        {
            "scenario": label,
            "seed": run.seed,
            "drops": metric("drops").of(run),
            "pauses": metric("pauses").of(run),
        }
        for label, runs in sorted(comparison.runs.items())
        for run in runs
    ]
    found = backwater.query(
        tmp_path / "c",
        "select scenario, count(distinct point) points, count(*) ports from ports group by all "
        "order by all",
    ).to_pylist()
    assert found == [
        {"scenario": label, "points": 2, "ports": sum(run.ports.num_rows for run in runs)}
        for label, runs in sorted(comparison.runs.items())
    ]


def test_points_of_a_study_have_what_was_measured(tmp_path: Path) -> None:
    small = definition.read(write_random_study(tmp_path))
    outcome = study.reproduce(small, out=tmp_path / "o")
    asked = "select study_case, setup, seed, measure_rate rate, measure_drops drops from points"
    rows = backwater.query(tmp_path / "o", asked).to_pylist()
    assert rows == [
        {
            "study_case": key.case,
            "setup": key.setup,
            "seed": seed,
            "rate": point["rate"].values[place],
            "drops": point["drops"].values[place],
        }
        for key, point in outcome.points.items()
        for place, seed in enumerate(outcome.seeds[key])
    ]
    # Also one that is not complete.
    shutil.rmtree(tmp_path / "o" / "runs" / "case-b-plain")
    left = backwater.query(tmp_path / "o", "select distinct study_case from points").to_pylist()
    assert left == [{"study_case": "a"}]


def test_a_killed_series_has_the_points_that_it_has_written(hot: Path, tmp_path: Path) -> None:
    hot.write_text(HOT.replace('"90 KB"', '"30 MB"'), encoding="utf-8")
    with start("run", "hot.toml@pfc", "--seeds", "400", "--out", "s", cwd=tmp_path) as process:
        assert until(30, lambda: len(Journal.read(tmp_path / "s").runs) > 2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    known = Journal.read(tmp_path / "s").runs
    assert 2 < len(known) < 400
    asked = "select run, count(*) n from flows group by all"
    found = {row["run"]: row["n"] for row in backwater.query(tmp_path / "s", asked).to_pylist()}
    done = {seed for seed, line in known.items() if line["status"] == "done"}
    assert done <= found.keys() <= known.keys()
    assert {found[seed] for seed in done} == {4}


def test_a_run_that_failed_says_why(tmp_path: Path) -> None:
    case = backwater.load(ROOT / "scenarios" / "ring-deadlock.toml")
    with pytest.raises(backwater.RunError) as caught:
        case.run(out=tmp_path / "r")
    [row] = backwater.query(tmp_path / "r", "select status, error from failed").to_pylist()
    assert row == {"status": "failed", "error": str(caught.value)}


def test_the_command_lists_what_can_be_asked(command: Command, hot: Path, tmp_path: Path) -> None:
    backwater.load(hot).run(seeds=2, out=tmp_path / "s")
    said = command("query", "s", "--json", "-", code=0)
    told = json.loads(said.out)
    of_runs = ("flows", "ports", "switches")
    assert [*told["views"]] == ["points", "metrics", "failed", "columns", *of_runs]
    assert {"column": "drops", "name": "drops", "unit": "frames"}.items() <= next(
        one for one in told["columns"] if one["column"] == "drops"
    ).items()
    assert command("query", "s", "select count(*) n from points").out.split() == ["n", "2"]


def test_what_cannot_be_asked_is_refused(hot: Path, tmp_path: Path) -> None:
    backwater.load(hot).run(seeds=2, out=tmp_path / "s")
    for sql in (
        "select * from read_text('hot.toml')",
        f"select * from read_text('{hot}')",
        "create table t as select 1",
        "copy points to 'x.csv'",
        "select nothing from points",
    ):
        with pytest.raises(InputError, match="query: "):
            backwater.query(tmp_path / "s", sql)
    with pytest.raises(ResultError):
        backwater.query(tmp_path / "none", "select 1")
    part = next((tmp_path / "s" / "flows").iterdir())
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(ResultError, match="part-00000"):
        backwater.query(tmp_path / "s", "select * from points")
