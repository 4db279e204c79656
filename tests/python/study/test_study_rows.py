"""Rows of a document that hold several numbers: ranges, medians, rows of the full size alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from backwater import study
from backwater.errors import InputError
from backwater.study import definition
from backwater.study.execute import Sample
from backwater.study.prediction import interval
from backwater.study.texts import band_text
from kit.scenarios import bare, flow, star
from kit.studies import write_study

# A frame of 1000 B takes 0.8 us on a link, and there are two. The second flow begins 10 us later.
SCENARIO = f"""{star(3, rate="10 Gb/s", link_delay="0 ns")}
{bare("1000 B")}
[switch]
latency = "0 ns"
{flow(0, 2, "1 KB", "early")}
{flow(1, 2, "2 KB", "late")}
start = "10 us"
[variant.plain]
"""
STUDY = """
title = "Small"
scenario = "scenario.toml"
seeds = "1..3"
together = true
[mechanisms]
"plain" = "plain"
[[measure]]
name = "least"
kind = "finish"
of = "min"
until = "last_byte"
unit = "us"
text = "first to be complete"
[[measure]]
name = "last"
kind = "finish"
until = "last_byte"
unit = "us"
text = "last to be complete"
[[case]]
id = "small"
text = "as it is"
[[case]]
id = "large"
text = "twice as much"
only = "full"
[case.set]
"flow.late.size" = "4 KB"
[full]
size = "all"
"""
ROW = """
[[row]]
case = "{case}"
mechanism = "plain"
{band}
values = {{ {quantity} = {value} }}
"""


def published(*rows: tuple[str, str, str, float]) -> str:
    text = (ROW.format(case=c, quantity=q, band=b, value=v) for c, q, b, v in rows)
    return 'document = "none"\n' + "".join(text)


BOTH = published(
    ("small", "least", "band_range = [1.5, 1.6]", 1.55),
    ("small", "last", 'band_range = [12, 13]\nover = "median"', 12.5),
    ("large", "least", "band_range = [1.5, 1.6]", 1.55),
    ("large", "last", "band_range = [12, 13]", 12.5),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_study(tmp_path, SCENARIO, STUDY, BOTH)


def test_finish_is_a_time_of_day(folder: Path) -> None:
    """1.6 us of a flow that begins at once, 12.4 of one that begins at 10 us."""
    small = definition.read(folder)
    outcome = study.reproduce(small)
    assert [row.measured for row in outcome.rows] == [pytest.approx(1.6), pytest.approx(12.4)]
    assert [row.over for row in outcome.rows] == ["mean", "median"]
    assert [row.verdict for row in outcome.rows] == ["agrees", "agrees"]
    assert [band_text(row) for row in outcome.rows] == ["1.5 to 1.6", "12 to 13"]
    assert outcome.rows[1].statistic == "last to be complete; median of 3 seeds"


def test_what_the_full_size_alone_has_has_no_row_otherwise(folder: Path) -> None:
    """The last byte of 4 KB arrives at 14 us, beyond its range: that row does not agree."""
    outcome = study.reproduce(definition.read(folder, full=True))
    assert [row.case for row in outcome.rows] == ["small", "small", "large", "large"]
    assert [row.good for row in outcome.rows] == [True, True, True, False]
    assert (outcome.summary.rows, outcome.summary.rows_agree) == (2, 1)
    assert outcome.summary.sentences[0] == "1 of 2 rows agree (all of their numbers do)."
    plain = study.reproduce(definition.read(folder))
    assert (plain.summary.rows, plain.summary.rows_agree) == (1, 1)


def test_a_number_that_chance_decides_is_no_part_of_its_row(tmp_path: Path) -> None:
    rows = published(
        ("small", "least", 'apart = "chaotic"', 99),
        ("small", "last", "band_range = [12, 13]", 12.5),
    )
    outcome = study.reproduce(definition.read(write_study(tmp_path, SCENARIO, STUDY, rows)))
    assert [row.verdict for row in outcome.rows] == ["not judged", "agrees"]
    summary = outcome.summary
    assert (summary.rows, summary.rows_agree, summary.chance, summary.apart) == (1, 1, 1, 0)
    chance = "1 number is not judged individually: it depends on chance"
    assert any(text.startswith(chance) for text in summary.sentences)


def test_a_range_is_read_back_as_it_was(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = definition.read(folder)
    outcome = study.reproduce(small, out=tmp_path / "out")
    monkeypatch.setattr("backwater.study.outcome.load", lambda *_, **__: small)
    assert study.open_study(tmp_path / "out").rows == outcome.rows


def test_a_range_that_ends_before_it_begins_is_refused(tmp_path: Path) -> None:
    rows = published(("small", "least", "band_range = [2, 1]", 1.5))
    with pytest.raises(InputError, match="LEAST, GREATEST"):
        definition.read(write_study(tmp_path, SCENARIO, STUDY, rows))


def test_a_median_is_the_middle_value() -> None:
    sample = Sample((1.0, 100.0, 3.0))
    assert sample.statistic("median") == 3.0
    assert sample.statistic("median", 2) == 50.5


def test_medians_of_several_runs_lie_among_ours() -> None:
    """If nineteen of twenty values are 1, a median of five runs is nearly always 1."""
    low, high = interval([1.0] * 19 + [50.0], "median", 5) or (0.0, 0.0)
    assert (low, high) == (1.0, 1.0)
