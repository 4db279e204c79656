"""A number of a run is the same wherever it is told, and however long the run was."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backwater
from backwater.errors import InputError
from backwater.numbers import rows
from backwater.numbers.metrics import metric
from backwater.numbers.run import group_times, groups, job_steps, job_times, port_totals, waiting
from backwater.numbers.run import round_times as rounds
from backwater.numbers.statistics import quantile, spread, statistic
from backwater.numbers.units import rate_bps, size_bytes, time_ps
from conftest import LOSSY, ROOT

if TYPE_CHECKING:
    from pathlib import Path

VALUES = st.lists(st.integers(0, 10**15), min_size=1, max_size=40).map(sorted)
# Shared machines may take a second for what takes a millisecond.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SHARED
@given(VALUES, st.floats(0, 1))
def test_quantiles_are_those_of_arrow(values: list[int], share: float) -> None:
    # Its default is type 7 of Hyndman and Fan, too.
    expected = pc.quantile(pa.array(values), q=share)[0].as_py()
    assert quantile(values, share) == pytest.approx(expected, rel=1e-12)
    assert quantile(pl.Series(values), share) == quantile(values, share)


@SHARED
@given(VALUES)
def test_other_statistics_are_those_of_arrow(values: list[int]) -> None:
    array = pa.array(values, pa.float64())
    assert statistic(values, "mean") == pytest.approx(pc.mean(array).as_py(), rel=1e-12)
    assert statistic(values, "min") == pc.min(array).as_py()
    assert statistic(values, "max") == pc.max(array).as_py()
    if len(values) > 1:
        std = math.sqrt(pc.variance(array, ddof=1).as_py())
        assert statistic(values, "std") == pytest.approx(std, rel=1e-9, abs=1e-3)
    assert spread(pl.Series(values)) == spread(values)


def test_what_is_no_statistic_is_an_error() -> None:
    with pytest.raises(ValueError, match="'middle' is no statistic"):
        statistic([1.0], "middle")


@pytest.mark.parametrize("name", ["incast-victim", "ai-training"])
def test_short_and_long_runs_have_the_same_numbers(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = backwater.load(ROOT / "scenarios" / f"{name}.toml").run()
    every = (group_times, groups, waiting, job_times, job_steps, rounds, port_totals)
    short = [of(run) for of in every]
    assert short[0]
    monkeypatch.setattr(rows, "SHORT", -1)
    assert [of(run) for of in every] == short


def test_numbers_of_a_run_are_those_of_its_directory(tmp_path: Path) -> None:
    run = backwater.parse(LOSSY).run(out=tmp_path / "o")
    again = backwater.open_run(tmp_path / "o", backwater.Run)
    assert group_times(run) == group_times(again)
    assert waiting(run) == waiting(again)
    assert waiting(run)[0]["waits_for"]
    assert port_totals(run) == port_totals(again)


def test_a_metric_is_the_number_of_the_report(small: Path) -> None:
    run = backwater.load(small).run()
    for group in group_times(run):
        for name in ("mean", "max", "min"):
            found = metric(f"{name}_fct:{group['group']}").of(run)
            assert found == pytest.approx(group["fct_last_ack_us"][name], rel=1e-12)
    assert metric("drops").of(run) == port_totals(run)["drop_frames"]


def test_the_core_reads_quantities() -> None:
    assert time_ps("1.5 ms") == 1_500_000_000
    assert size_bytes("10 KiB") == 10_240
    assert rate_bps("40 Gb/s") == 40_000_000_000
    with pytest.raises(InputError, match=r"output.interval: `fortnights` is not a unit of a time"):
        time_ps("2 fortnights", "output.interval")
