"""How many samples percentiles and winners need: one rule for all reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import backwater
from backwater.comparison import row
from backwater.numbers.metrics import metric
from backwater.numbers.statistics import spread
from backwater.plot import data
from backwater.samples import needed
from backwater.study.measures import NotThereError, statistic_of
from kit.command import Command


@pytest.mark.parametrize(
    ("share", "least"),
    [(0.99, 100), (0.999, 1000), (0.9, 10), (0.95, 20), (0.1, 10), (0.01, 100), (0.5, 1), (1, 1)],
)
def test_a_percentile_needs_a_sample_beyond_it(share: float, least: int) -> None:
    assert needed(share) == least


def test_everybody_has_the_same_rule() -> None:
    for count, there in ((99, False), (100, True)):
        values = [float(value) for value in range(count)]
        told = spread(values)
        assert told is not None
        assert told["n"] == count
        assert (told["p99"] is not None) == there
        assert told["p50"] == pytest.approx((count - 1) / 2), "any sample has a median"
        assert (0.99 in data.shares(count)) == there
        if there:
            assert statistic_of(values, "p99") == told["p99"]
        else:
            with pytest.raises(NotThereError, match="p99 of 99 values: it takes 100"):
                statistic_of(values, "p99")
        assert statistic_of(values, "exact-p99") == pytest.approx(0.99 * (count - 1))


def test_a_metric_of_too_few_flows_says_so(small: Path) -> None:
    run = backwater.load(small).run()
    found = metric("p99_fct")
    flows = run.flows.num_rows
    assert flows < 100
    assert (found.of(run), found.count(run)) == (None, flows)
    assert found.why_not(flows) == f"p99 of {flows} complete flows: it takes 100"
    assert metric("p50_fct").of(run) == metric("median_fct").of(run)
    assert metric("pauses").count(run) is None


def test_a_winner_needs_five_seeds_and_a_difference_that_matters() -> None:
    fct = metric("mean_fct")

    def verdict(seeds: int, more: float, least: float = 0.01) -> str:
        base = {seed: 100.0 + seed for seed in range(seeds)}
        # Clear of zero: the same share more in every seed.
        worse = {seed: value * (1 + more) for seed, value in base.items()}
        return row(fct, [base, worse], None, least).verdict

    assert verdict(4, 0.5) == "too few seeds"
    assert verdict(5, 0.5) == "winner"
    assert verdict(5, 0.009) == "no difference that matters"
    assert verdict(5, 0.011) == "winner"
    assert verdict(5, 0.009, 0.001) == "winner"
    assert verdict(5, 0.0) == "no difference that matters"


def test_zero_against_something_matters() -> None:
    pauses = metric("pauses")
    none, some = dict.fromkeys(range(5), 0.0), {seed: 3.0 + seed for seed in range(5)}
    assert row(pauses, [some, none]).winners == [1]
    assert row(pauses, [none, dict(none)]).verdict == "no difference that matters"


def test_a_percentile_of_too_few_has_no_value(command: Command, small: Path) -> None:
    said = command("run", str(small), "--json", "r.json", code=0)
    assert "99th" not in said.out, "no group has a column of it to fill"
    groups = json.loads(Path("r.json").read_text())["groups"]
    for group in groups:
        times = group["fct_last_ack_us"]
        assert (times["p99"], times["n"]) == (None, group["complete"])
    other = Path("other.toml")
    other.write_text(small.read_text(encoding="utf-8"), encoding="utf-8")
    said = command(
        "compare",
        str(small),
        str(other),
        "--seeds",
        "2",
        "--metric",
        "p99_fct",
        "--json",
        "c.json",
        code=0,
    )
    assert "it takes 100" in " ".join(said.out.split())
    assert "--seeds 5" in said.out
    one = json.loads(Path("c.json").read_text())["rows"][0]
    assert [side["mean"] for side in one["scenarios"]] == [None, None]
    assert all("it takes 100" in side["reason"] for side in one["scenarios"])


@pytest.mark.parametrize("text", ["x", "100%", "-1%", "nan", "1.5"])
def test_a_share_that_is_none_is_refused(command: Command, small: Path, text: str) -> None:
    said = command("compare", str(small), "other.toml", "--least", text, code=2)
    assert "--least" in said.err
    assert "hint: " in said.err


def test_nobody_is_shown_a_percentile_of_too_few_unasked(command: Command, small: Path) -> None:
    other = Path("other.toml")
    other.write_text(small.read_text(encoding="utf-8"), encoding="utf-8")
    command("compare", str(small), str(other), "--seeds", "1", "--json", "c.json", code=0)
    metrics = [one["metric"] for one in json.loads(Path("c.json").read_text())["rows"]]
    assert any(name.startswith("max_fct") for name in metrics)
    assert not any(name.startswith("p99") for name in metrics)
