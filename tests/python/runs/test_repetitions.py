"""Series of runs: statistics, independence of the number of cores, and continuation."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import backwater
from backwater import _core
from backwater.journal import Journal
from backwater.numbers.repeats import Spread, fold, named, over_runs, said_same, student_t
from backwater.report.repeated import _plus_minus
from kit.command import Command, start
from kit.results import change_line


def statistics(file: str) -> dict[tuple[str, str], dict[str, Any]]:
    rows = json.loads(Path(file).read_text(encoding="utf-8"))["statistics"]
    return {(row["of"], row["quantity"]): row for row in rows}


def test_student_s_t() -> None:
    # Two-sided 5 % points, as in every table.
    assert student_t(1) == pytest.approx(12.706, abs=1e-3)
    assert student_t(24) == pytest.approx(2.064, abs=1e-3)
    assert student_t(299) == pytest.approx(1.968, abs=1e-3)


def test_spread() -> None:
    spread = Spread.of([2.0, 4.0, 9.0])
    assert (spread.n, spread.mean, spread.min, spread.max) == (3, 5.0, 2.0, 9.0)
    assert spread.std == pytest.approx(13**0.5)
    assert spread.ci_high == pytest.approx(5 + 4.30265 * (13 / 3) ** 0.5, abs=1e-3)
    assert Spread.of([7.0]) == Spread(1, 7.0, 7.0, 7.0, None, None, None)
    values = [0.1 * n for n in range(50)]
    assert Spread.of(values) == Spread.of(values[::-1])


def test_statistics_are_over_runs_that_have_the_number() -> None:
    def report(mean: float | None) -> dict[str, Any]:
        times = None if mean is None else dict.fromkeys(("mean", "p50", "p99", "min", "max"), mean)
        group = {"group": "g", "flows": 1, "complete": 1, "bytes": 5, "received": 5}
        return {
            "groups": [group | {"fct_last_byte_us": times, "fct_last_ack_us": times}],
            "ports": {"drop_frames": 3},
            "summary": {"time_ps": 10, "fingerprint": "f"},
        }

    rows = {row["quantity"]: row for row in over_runs([report(1.0), report(None), report(3.0)])}
    assert (rows["fct_last_ack_us.mean"]["n"], rows["fct_last_ack_us.mean"]["mean"]) == (2, 2.0)
    assert rows["drop_frames"]["n"] == 3
    assert rows["time_ps"]["unit"] == "ps"
    assert "fingerprint" not in rows


def test_table_json_and_file_say_the_same(command: Command, small: Path) -> None:
    said = command("run", str(small), "--seeds", "1..5", "--out", "o", "--json", "o.json", code=0)
    rows = statistics("o.json")
    victim = rows["incast", "fct_last_ack_us.mean"]
    runs = [backwater.open_run(f"o/seed-{seed}") for seed in range(1, 6)]
    means = []
    for run in runs:
        flows = run.flows.to_pylist()
        times = [f["fct_last_ack_ps"] / 1e6 for f in flows if f["group"] == "incast"]
        means.append(sum(times) / len(times))
    assert victim["n"] == 5
    assert victim["mean"] == pytest.approx(sum(means) / 5)
    assert (victim["min"], victim["max"]) == pytest.approx((min(means), max(means)))
    assert victim["ci_low"] < victim["mean"] < victim["ci_high"]
    table = pq.ParquetFile("o/statistics.parquet").read()
    assert table.to_pylist() == json.loads(Path("o.json").read_text())["statistics"]
    assert "mean_fct " in said.out
    assert "fct_last_ack_us" not in said.out, "rows are named as metrics"
    below = said.out[said.out.index("The same in all runs") :]
    assert "incast: flows" in below
    assert "bytes 6000000 B" in below
    assert "drop_frames" in below[below.index("0 in all runs: ") :]
    assert max(len(line) for line in said.out.splitlines()) <= 100


def test_what_is_the_same_in_all_runs_is_a_number_with_its_unit() -> None:
    same = {"n": 3, "std": 0.0, "ci_low": 2.0, "ci_high": 2.0, "mean": 2.0, "min": 2.0, "max": 2.0}
    told: list[dict[str, Any]] = [
        {"of": "run", "quantity": "time", "unit": "us", **same},
        {"of": "hot", "quantity": "flows", "unit": "flows", **same},
        {"of": "hot", "quantity": "fct_last_byte_us.p50", "unit": "us", **same},
    ]
    folded = fold(told, 3)
    assert folded.counts == {"run": ["time 2 us"], "hot": ["flows 2"]}
    [(row, is_same)] = folded.rows
    assert (named(row["quantity"]), is_same) == ("median_fct_last_byte", True)
    assert named("jct_us") == "jct"
    assert named("duration_us.max") == "max_cct"


def test_no_half_of_an_interval_is_written_as_nothing() -> None:
    def told(mean: float, half: float) -> str:
        return _plus_minus({"mean": mean, "ci_low": mean - half, "ci_high": mean + half})

    assert told(247.903, 0.0379) == "247.90 ± 0.04"
    assert told(247.903, 1.76) == "247.9 ± 1.8"
    assert told(15310.29, 0.5) == "15,310.3 ± 0.5"
    assert told(3.0, 0.0) == "3"
    assert told(2.9532, 0.000385) == "2.9532 ± 0.0004"


def test_numbers_do_not_depend_on_the_number_of_cores(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cores in (1, 2):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        command("run", str(small), "--seeds", "6", "--out", f"o{cores}", "--json", f"o{cores}.json")
    assert statistics("o1.json") == statistics("o2.json")


def ended(directory: Path) -> dict[int, tuple[str, int]]:
    """Return the files of each complete run's flows, and when they were written."""
    journal = Journal.read(directory)
    files = {seed: directory / journal.names(line)[0] for seed, line in journal.runs.items()}
    return {seed: (str(file), file.stat().st_mtime_ns) for seed, file in files.items()}


@pytest.mark.usefixtures("ungrouped")
def test_only_what_is_not_there_is_run(command: Command, small: Path) -> None:
    command("run", str(small), "--seeds", "1..4", "--out", "o", code=0)
    before = ended(Path("o"))
    # Cut short, damaged and removed: each is repeated.
    change_line(Path("o"), 2, status="interrupted")
    journal = Journal.read(Path("o"))
    damaged = Path("o") / journal.names(journal.runs[3])[0]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    del journal.runs[4]
    journal.write(Path("o"))
    said = command("run", str(small), "--seeds", "1..5", "--out", "o", "--json", "o.json", code=0)
    assert "1 of 5 runs are in o already" in said.err
    after = ended(Path("o"))
    assert set(after) == {1, 2, 3, 4, 5}
    assert after[1] == before[1]
    assert backwater.open_run("o/seed-3").flows.num_rows > 0
    # A reader of the whole table gets each row once.
    flows = pl.read_parquet("o/flows/*.parquet")
    assert flows.group_by("run").len().sort("run").rows() == [
        (seed, backwater.open_run(f"o/seed-{seed}").flows.num_rows) for seed in range(1, 6)
    ]
    command("run", str(small), "--seeds", "1..5", "--out", "fresh", "--json", "fresh.json")
    assert statistics("o.json") == statistics("fresh.json")


def test_a_different_run_is_replaced_only_when_told(command: Command, small: Path) -> None:
    command("run", str(small), "--seeds", "1..3", "--out", "o", code=0)
    before = ended(Path("o"))
    change = ("run", str(small), "--set", "flow.incast.size=1 MB", "--seeds", "2..4", "--out", "o")
    said = command(*change, code=2)
    assert said.err.count("error") == 1
    assert "o: holds runs of another scenario" in said.err
    assert "--force" in said.err
    assert ended(Path("o")) == before, "an error has changed nothing"
    command(*change, "--force", code=0)
    assert set(ended(Path("o"))) == {2, 3, 4}
    assert command(*change).err.startswith("3 of 3 runs")
    Path("o/manifest.json").write_text("{", encoding="utf-8")
    damaged = command(*change, code=2)
    assert "o/manifest.json" in damaged.err
    assert "--force" in damaged.err
    command(*change, "--force", code=0)


def test_runs_of_another_core_are_not_taken_up(command: Command, small: Path) -> None:
    command("run", str(small), "--seeds", "1..2", "--out", "o", code=0)
    before = ended(Path("o"))
    build = _core.version()["build"]
    assert re.fullmatch("[0-9a-f]{16}", build)
    manifest = Path("o/manifest.json")
    text = manifest.read_text(encoding="utf-8")
    assert build in text
    manifest.write_text(text.replace(build, "0123456789abcdef"), encoding="utf-8")
    said = command("run", str(small), "--seeds", "1..2", "--out", "o", code=2)
    assert "o: holds runs of another version" in said.err
    assert ended(Path("o")) == before
    command("run", str(small), "--seeds", "1..2", "--out", "o", "--force", code=0)
    assert build in manifest.read_text(encoding="utf-8")


def test_results_of_another_kind_are_in_the_way(command: Command, small: Path) -> None:
    command("run", str(small), "--out", "o", code=0)
    said = command("run", str(small), "--seeds", "2", "--out", "o", code=2)
    assert "holds earlier results" in said.err
    command("run", str(small), "--seeds", "2", "--out", "o", "--force", code=0)
    assert pl.read_parquet("o/flows/*.parquet")["run"].unique().sort().to_list() == [1, 2]
    Path("o/manifest.json").unlink()
    said = command("run", str(small), "--seeds", "2", "--out", "o", code=2)
    assert "holds no results of Backwater" in said.err


def test_ctrl_c_keeps_what_is_complete_and_says_how_to_go_on(tmp_path: Path, small: Path) -> None:
    slow = ["--set", "flow.incast.size=40 MB"]
    process = start("run", str(small), *slow, "--seeds", "1..500", "--out", "o", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not any(line["status"] == "done" for line in Journal.read(tmp_path / "o").runs.values()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    series = backwater.open_run(tmp_path / "o", backwater.Series)
    complete = [run for run in series.runs if run.status == "done"]
    assert 0 < len(complete) < 500
    assert f"stopped; {len(complete)} of 500 runs are complete in o" in said
    assert "--seeds 1..500 --out o` does the others" in said
    assert pq.ParquetFile(tmp_path / "o" / "statistics.parquet").read().num_rows > 0


def test_what_is_the_same_in_all_runs_has_one_row_or_none() -> None:
    def row(quantity: str, mean: float, least: float, most: float, n: int = 3) -> dict[str, Any]:
        about = {"of": "a", "quantity": quantity, "unit": ""}
        return about | {"n": n, "mean": mean, "min": least, "max": most}

    rows = [
        row("flows", 4, 4, 4),
        row("drops", 0, 0, 0),
        row("slowdown.mean", 2.5, 2.5, 2.5),
        row("slowdown.max", 2.5, 2.5, 2.5),
        row("fct.mean", 7, 6, 8),
        # One of three runs lacks the number: that two agree is not enough.
        row("timeouts", 4, 4, 4, n=2),
    ]
    folded = fold(rows, 3)
    assert [(one["quantity"], same) for one, same in folded.rows] == [
        ("slowdown.mean", True),
        ("fct.mean", False),
        ("timeouts", False),
    ]
    assert said_same(folded.counts) == "The same in all runs: a: flows 4."
    assert folded.zeros == {"drops": ["a"]}
    # In one run nothing varies, and everything is printed.
    assert len(fold([row("flows", 4, 4, 4, n=1)], 1).rows) == 1


def test_a_percentile_that_no_group_has_takes_no_room(command: Command, small: Path) -> None:
    """Groups of one and three flows: no column without a number, and no line for each flow."""
    said = command("run", str(small), code=0)
    assert "99th" not in said.out
    assert "p99" not in said.out
    more = ("--set", "flow.incast.count=34", "--set", "flow.incast.size=4 KB")
    said = command("run", str(small), *more, "--out", "o")
    assert "99th perc." in said.out, said.err
    assert "A 99th percentile takes 100 complete flows." in said.out
