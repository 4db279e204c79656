"""The report of a study: the document's figures, drawn from the runs of its table."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater import study
from backwater.manifest import FORMATS
from backwater.notices import heard
from backwater.plot import StudyPlots, theme
from backwater.report.page import Figure
from backwater.report.study import NOT_DRAWN, OVER_TIME, _points, study_page
from backwater.study import definition
from backwater.study.execute import Sample
from backwater.study.key import Key
from backwater.study.observe import Observation, observe
from kit.charts import rows
from kit.command import Command
from kit.results import change_line
from kit.studies import one_seed
from kit.tree import ROOT

STUDIES = sorted(path.parent.name for path in (ROOT / "studies").glob("*/figures.toml"))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, first_case: Path) -> study.Outcome:
    """Case 1 of the Source Flow Control study, opened from its directory."""
    folder = tmp_path_factory.mktemp("study") / "sfc"
    shutil.copytree(first_case, folder)
    made = study.reproduce("sfc-aidc-2025", case="1", out=folder, seeds=one_seed)
    again = study.open_study(folder)
    assert again.rows == made.rows
    assert again.summary == made.summary
    assert again.points == {
        key: {name: type(one)(one.values, one.problem) for name, one in point.items()}
        for key, point in made.points.items()
    }
    assert again.seeds == made.seeds
    return again


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_declares_its_figures_and_names_what_there_is(name: str) -> None:
    about = study.load(name)
    # Some cases run at full size only; a page without them reports that.
    whole = study.load(name, full=True) if definition.has_full_size(name) else about
    cases = {case.id for case in whole.cases}
    measures = {measure.name for measure in about.measures}
    text = tomllib.loads((ROOT / "studies" / name / "figures.toml").read_text(encoding="utf-8"))
    observed = {one["id"]: Observation.of(one) for one in text.get("observe", [])}
    for one in observed.values():
        assert one.case in cases
        assert one.mechanism in about.mechanisms_of(one.case)
    for figure in text["figure"]:
        assert figure["kind"] in OVER_TIME or hasattr(StudyPlots, figure["kind"])
        if figure["kind"] not in OVER_TIME:
            given = {key: value for key, value in figure.items() if key not in NOT_DRAWN}
            inspect.signature(getattr(StudyPlots, figure["kind"])).bind(None, **given)
        assert {*figure.get("cases", ()), *figure.get("at", {})} <= cases
        assert {*figure.get("measures", ())} <= measures
        assert {*figure.get("mechanisms", ())} <= set(about.mechanisms)
        assert {*figure.get("observe", ())} <= set(observed)
    for film in text.get("film", []):
        assert {*film["observe"]} <= set(observed)
        assert len({observed[one].interval for one in film["observe"]}) == 1
    drawn = [*text["figure"], *text.get("film", [])]
    assert len({one["id"] for one in drawn}) == len(drawn)


def test_a_study_that_declares_none_has_its_measures_drawn(
    outcome: study.Outcome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("backwater.report.study.STUDIES", tmp_path)
    page = study_page(outcome)
    assert [figure.id for figure in page.figures] == ["measures"]


def test_the_guide_maps_every_figure() -> None:
    """The guide has figures beside their counterparts, and those without one beside nothing."""
    guide = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    for name in STUDIES:
        text = tomllib.loads((ROOT / "studies" / name / "figures.toml").read_text(encoding="utf-8"))
        section = guide.partition(f"**{name}**")[2].partition("\n**")[0].partition("\n## ")[0]
        cells = [row.split("|")[1:3] for row in section.splitlines() if row.startswith("| ")]
        ours = {
            figure: document.strip() != "nothing"
            for document, here in cells
            for figure in re.findall(r"`([^`]+)`", here)
        }
        drawn = [*text["figure"], *text.get("film", [])]
        assert ours == {one["id"]: "counterpart" in one for one in drawn}, name


def test_bars_show_what_was_measured_beside_what_was_published(outcome: study.Outcome) -> None:
    drawn = rows(outcome.plot.completion(), "case", "mechanism", "what", "published")
    for row in outcome.rows:
        if not row.is_claim and row.against is None:
            label = f"{outcome.study.measure(row.quantity).label} (us)"
            one = drawn.filter((pl.col("mechanism") == row.mechanism) & (pl.col("what") == label))
            assert one["value"].item() == row.measured
            assert one["published"].item() == row.published


def test_improvement_is_relative_to_its_base(outcome: study.Outcome) -> None:
    drawn = rows(outcome.plot.improvement(), "mechanism", "what", "value", "published")
    point = drawn.filter((pl.col("mechanism") == "pfc+sfc") & (pl.col("what") == "victim"))
    values = {
        mechanism: outcome.points[Key("1", mechanism, "")]["victim_fct"].values[0]
        for mechanism in ("pfc", "pfc+sfc")
    }
    assert point["value"].item() == pytest.approx(1 - values["pfc+sfc"] / values["pfc"])
    # As printed in the document's chart; 1 - 288.14 / 355.553 is .189600.
    assert point["published"].item() == pytest.approx(0.1896)


def test_axes_of_layered_charts_keep_their_titles(outcome: study.Outcome) -> None:
    """A layer without a title removes the titles of others, which only the drawing shows."""
    lines = outcome.plot.lines(measures=["victim_fct", "drops"], reference=("1", "pfc"))
    drawn = Figure("lines", lines, "").drawing
    for text in ("victim (us)", "drops (frames)", "pfc, case 1"):
        assert f">{text}<" in drawn
    assert ">value" not in drawn
    improved = Figure("improvement", outcome.plot.improvement(), "").drawing
    assert ">reduction against 'pfc' (%)<" in improved


def test_a_run_that_is_looked_at_is_the_run_of_the_table(outcome: study.Outcome) -> None:
    wanted = Observation("seen", "PFC", "1", "pfc", "5 us")
    told: list[str] = []
    with heard(told.append):
        runs = observe(outcome, [wanted])
        observe(outcome, [wanted])
    # Only once: complete runs are not repeated.
    assert told == [f"{outcome.directory}: repeating 1 run with samples, for the figures over time"]
    [own] = outcome.runs(wanted.key)
    assert runs["seen"].fingerprint == own.fingerprint
    assert own.series.num_rows == 0
    assert runs["seen"].series.num_rows > 0
    # The run exists now, and is not repeated.
    assert observe(outcome, [wanted])["seen"].manifest == runs["seen"].manifest


def test_a_table_of_another_run_is_not_drawn_over_time(outcome: study.Outcome) -> None:
    [own] = outcome.runs(Key("1", "pfc", ""))
    assert own.within is not None
    file = own.within / "runs.jsonl"
    before = file.read_bytes()
    try:
        change_line(own.within, own.seed, summary=own.summary | {"fingerprint": "0" * 16})
        with pytest.raises(backwater.ResultError, match="differs from the one in the table"):
            observe(outcome, [Observation("other", "PFC", "1", "pfc", "5 us")])
    finally:
        file.write_bytes(before)


@pytest.mark.parametrize(
    ("kind", "shared"),
    [("queue", {"x": "shared", "y": "shared"}), ("paused", {"x": "shared"})],
)
def test_runs_one_below_the_other_have_the_same_scales(
    outcome: study.Outcome, kind: str, shared: dict[str, str]
) -> None:
    scenario = backwater.parse(backwater.new_scenario()).set("output.interval", "2 us")
    run = scenario.set("output.queues", True).set("output.pauses", True).run()
    chart = outcome.plot.over_time(kind, [("one", run), ("other", run)])
    assert chart.to_dict()["resolve"]["scale"] == shared


@pytest.mark.parametrize("kind", ["queue", "paused"])
def test_runs_of_other_lengths_have_one_axis_of_time(outcome: study.Outcome, kind: str) -> None:
    """A run of 9 ms by itself is drawn in us, one of 12 ms in ms."""
    scenario = backwater.parse(backwater.new_scenario()).set("output.interval", "20 us")
    scenario = scenario.set("output.queues", True).set("output.pauses", True)
    runs = [(size, scenario.set("flow.incast.size", size).run()) for size in ("20 MB", "100 MB")]
    spec = outcome.plot.over_time(kind, runs).to_dict()
    scales = re.findall(r'"domain": (\[0.0, [\d.]+\])', json.dumps(spec))
    assert len(set(scales)) == 1
    assert len(scales) >= 2
    assert set(re.findall(r"time \((\w+)\)", json.dumps(spec))) == {"ms"}


def test_reductions_are_in_the_order_asked_for_each_on_its_own_scale(
    outcome: study.Outcome,
) -> None:
    names = [m.name for m in outcome.study.measures if m.unit == "us"][::-1]
    spec = outcome.plot.improvement(measures=names).to_dict()
    labels = [outcome.study.measure(name).label for name in names]
    assert len(labels) > 1
    assert spec["facet"]["row"]["sort"] == labels
    assert spec["resolve"]["scale"] == {"y": "independent"}
    assert "reduction against 'pfc' (%)" in json.dumps(spec)


def test_names_of_measures_side_by_side_have_room(outcome: study.Outcome) -> None:
    names = ["incast_mean_fct", "victim_fct"]
    wide = outcome.plot.bars(measures=names, cases=["1"], mechanisms=["pfc"]).to_dict()
    longest = max(len(one) for one in wide["facet"]["column"]["sort"])
    assert wide["spec"]["width"] >= 7 * longest


def test_reductions_have_their_axis_titles_below_each_other(outcome: study.Outcome) -> None:
    """However wide the numbers of an axis are: its title does not move outwards."""
    slow, fast = Key("1", "pfc", ""), Key("1", "pfc+sfc", "")
    points = {
        slow: {"incast_mean_fct": Sample((100.0,)), "victim_fct": Sample((100.0,))},
        fast: {"incast_mean_fct": Sample((98.0,)), "victim_fct": Sample((450.0,))},
    }
    chart = replace(outcome, points=points).plot.improvement()
    drawn = Figure("improvement", chart, "").drawing
    places = re.findall(r"translate\(([-.\d]+),[-.\d]+\) rotate\(-90\) [^>]*>reduction", drawn)
    assert len(places) == 2
    assert len(set(places)) == 1, places


def test_setups_beside_the_table_have_colours_that_no_mechanism_has(
    outcome: study.Outcome,
) -> None:
    spec = outcome.plot.bars(beside="qcn").to_json()
    scale = next(iter(re.findall(r'"scale": (\{[^}]*"PFC alone"[^}]*\})', spec)))
    shades = dict(zip(*(json.loads(scale)[name] for name in ("domain", "range")), strict=True))
    own = dict(zip(outcome.study.mechanisms, theme.COLOURS, strict=False))
    assert len(shades) == 6
    assert shades.pop("PFC alone") == own["pfc"]
    assert len(set(shades.values())) == len(shades)
    assert not set(shades.values()) & set(own.values())


def test_a_figure_over_time_says_which_of_the_seeds_it_is_of(outcome: study.Outcome) -> None:
    wanted = Observation("seen", "PFC", "1", "pfc", "5 us")
    many = replace(outcome, seeds={**outcome.seeds, wanted.key: [4, 5, 6]})
    entry = {"observe": ["seen"]}
    assert _points(many, entry, {"seen": wanted}) == [
        "PFC: case 1 under pfc, seed 4, the first of 3."
    ]
    [one] = _points(outcome, entry, {"seen": wanted})
    assert one == "PFC: case 1 under pfc, seed 1."


def test_the_page_of_a_study(command: Command, outcome: study.Outcome, tmp_path: Path) -> None:
    folder = str(outcome.directory)
    command("report", folder, "-o", "page.html", code=0)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    headings = re.findall(r"^<h2>(.*?)</h2>$", page, re.MULTILINE)
    assert headings[0] == "Figures", "pictures come before the long table"
    assert headings[-3:-2] == ["Published and measured"], headings
    assert headings[-2:] == ["Assumptions", "Run it again"]
    assert headings[-1] == "Run it again"
    ids = re.findall(r'<[a-z]+ [^>]*?\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)), ids
    for figure in ("completion", "improvement", "queues", "throughput", "pauses"):
        assert f'<figure id="{figure}">' in page
    # Figures of cases that were not run are left out, and the page names them.
    assert "Figure paused-ports is not drawn" in page
    assert "288.14" in page
    assert "Counterpart: part 1, tables of flow completion times" in page
    seeds = next(iter(outcome.seeds.values()))
    asked = f"--case 1 --seeds {seeds[0]}..{seeds[-1]}"
    assert f"backwater reproduce sfc-aidc-2025 {asked} --out {folder}" in page


def test_an_unfinished_study_is_not_reported(command: Command, tmp_path: Path) -> None:
    manifest = {"format": FORMATS["study"], "kind": "study", "study": "sfc-aidc-2025", "points": []}
    manifest |= {"status": "interrupted"}
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    said = command("report", "cut", "-o", "page.html", code=1)
    assert "not complete" in said.err
    assert "backwater reproduce sfc-aidc-2025 --out cut" in said.err
