"""Reports of repeated runs and of comparisons: intervals over all seeds."""

from __future__ import annotations

import re
import shlex
import statistics
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater import report
from backwater.manifest import COMPARISON, read_manifest, write_manifest
from backwater.plot.seeds import _place, completion
from backwater.report.compare import _table
from backwater.report.page import Page
from kit.command import Command
from kit.results import Shared

# Half of the 95 % interval of a mean of three, in standard errors: Student's t with 2 degrees.
T_OF_THREE = 4.302653


@pytest.fixture(scope="session")
def repeated(shared_folders: Shared) -> Path:
    """Three seeds of the small scenario, which differ since its flows begin at random times."""

    def make(folder: Path) -> None:
        folder.mkdir()
        scenario = folder / "small.toml"
        scenario.write_text(backwater.new_scenario(), encoding="utf-8")
        from backwater.cli import main

        assert main(["run", str(scenario), "--seeds", "1..3", "--out", str(folder / "s")]) == 0
        both = [str(scenario), f"{scenario}@sfc", "--seeds", "1..3"]
        assert main(["compare", *both, "--out", str(folder / "c")]) == 0

    return shared_folders.folder("repeated", make)


def part(page: Page, section: str, figure: str) -> Any:  # noqa: ANN401 - some chart
    [found] = [one for one in page.sections if one.id == section]
    return next(one.chart for one in found.parts if getattr(one, "id", "") == figure)


def rows(spec: dict[str, Any], view: dict[str, Any]) -> list[dict[str, Any]]:
    named: list[dict[str, Any]] = spec["datasets"][view["data"]["name"]]
    return named


def test_a_share_of_the_flows_is_reached_by_the_first_that_complete_it() -> None:
    assert [_place(share, 3) for share in (0.0, 1 / 3, 0.34, 2 / 3, 0.67, 1.0)] == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]


def test_completion_times_are_a_band_over_the_seeds(repeated: Path) -> None:
    series = backwater.open_run(repeated / "s", backwater.Series)
    spec = completion({"all": (series.runs, "incast")}, "x").to_dict()
    drawn = rows(spec, spec) if "data" in spec else rows(spec, spec["layer"][0])
    last = next(row for row in drawn if row["share"] == 1.0)
    times = [
        max(flow["fct_last_ack_ps"] for flow in run.flows.to_pylist() if flow["group"] == "incast")
        / 1e6
        for run in series.runs
    ]
    mean, half = statistics.fmean(times), T_OF_THREE * statistics.stdev(times) / 3**0.5
    assert last["time"] == pytest.approx(mean)
    assert (last["low"], last["high"]) == pytest.approx((mean - half, mean + half))


def test_a_series_shows_numbers_with_their_intervals(repeated: Path) -> None:
    page = report.of(repeated / "s")
    html = page.html()
    assert "report of 3 runs, seeds 1 to 3" in html
    # First each group with ±, then pictures, then, folded, all numbers.
    results = html.partition(">Results over the seeds</h2>")[2].partition("<section")[0]
    ends = [results.index(text) for text in ("±", 'id="completion"', 'id="intervals"', "<details>")]
    assert ends == sorted(ends)
    assert "95 % interval from" in results
    spec = part(page, "results", "intervals").to_dict()
    mean = rows(spec, spec["vconcat"][0])[0]
    assert mean["of"] == "incast"
    known = backwater.open_run(repeated / "s", backwater.Series).statistics.to_pylist()
    same = next(r for r in known if r["of"] == "incast" and r["quantity"] == "fct_last_ack_us.mean")
    assert [mean[key] for key in ("mean", "ci_low", "ci_high")] == [
        same[key] for key in ("mean", "ci_low", "ci_high")
    ]
    # Figures of a single run name its seed.
    captions = re.findall(r"<figure id=\"(.*?)\".*?<figcaption>(.*?)</figcaption>", html, re.DOTALL)
    alone = [text for name, text in captions if name not in ("completion", "intervals")]
    assert len(alone) >= 4
    assert all(text.startswith("Seed 1, the first of 3. ") for text in alone)
    assert "Seed 1, the first of 3. A step is" in html


@pytest.mark.usefixtures("undrawn")
def test_broken_statistics_are_named(command: Command, small: Path, tmp_path: Path) -> None:
    command("run", str(small), "--seeds", "1..2", "--out", "seeds", code=0)
    # A folder that is not Backwater's is not one of the runs.
    (tmp_path / "seeds" / "seed-old").mkdir()
    command("report", "seeds", "-o", "page.html", "--no-rerun", code=0)
    (tmp_path / "seeds" / "statistics.parquet").write_bytes(b"not a table")
    said = command("report", "seeds", "-o", "page.html", code=1)
    assert "statistics.parquet" in said.err
    assert "at fault" not in said.err


def test_a_comparison_says_who_is_better_and_shows_both(repeated: Path) -> None:
    page = report.of(repeated / "c")
    assert page.title == "small against small@sfc"
    html = page.html()
    headings = re.findall(r"^<h2>(.*?)</h2>$", html, re.MULTILINE)
    assert headings == ["Results", "The fabric over time", "Assumptions", "Run it again"]
    # Two films, moved by one slider; each reports that its run was repeated.
    assert html.count('<figure class="track">') == 2
    assert html.count("its fingerprint is the same") == 2
    differs = html.partition(">What differs</h3>")[2].partition("</table>")[0]
    assert "sfc.threshold" in differs
    assert "pfc.xoff" not in differs
    # Parameters that were not set share one row; the folded table has all.
    assert "sfc.quanta" not in differs
    assert re.search(r"sfc, \d+ defaults</td>.*?>absent<.*?>default<", differs)
    assert "sfc.quanta" in html.partition("parameters that differ</summary>")[2]
    compared = backwater.open_run(repeated / "c", backwater.Comparison)
    row = next(one for one in compared.rows if one["metric"] == "mean_fct:victim")
    base, other = row["scenarios"]
    spec = part(page, "results", "differences").to_dict()
    shown = next(r for r in rows(spec, spec["layer"][1]) if r["metric"] == "mean_fct:victim")
    assert shown["scenario"] == "small@sfc"
    assert shown["share"] == pytest.approx(other["difference"]["mean"] / base["mean"])
    assert shown["low"] == pytest.approx(other["difference"]["ci_low"] / base["mean"])


def test_warnings_of_scenarios_stand_with_their_results(
    command: Command, small: Path, tmp_path: Path
) -> None:
    """A key without effect in one of two scenarios, and in a series of that one."""
    text = small.read_text(encoding="utf-8")
    both_keys = '[variant.sfc.sfc]\nisolation_threshold = "1 KB"\n'
    small.write_text(text.replace("[variant.sfc.sfc]\n", both_keys), encoding="utf-8")
    warning = "Warning: sfc.isolation_threshold = 1 KB: without effect"
    both = ("compare", str(small), f"{small}@sfc", "--seeds", "1..2", "--out", "c")
    command(*both, code=0)
    [results] = [one for one in report.of(tmp_path / "c").sections if one.id == "results"]
    # The warning of the check, followed by what the runs showed.
    [told] = results.text
    said, showed = told.split(" What the 2 runs showed: ")
    assert said.startswith(f"{small.stem}@sfc: {warning}")
    assert showed.startswith("0 pauses sent, 0 frames dropped. 2 of 2 runs; seed 1: `pfc` never")
    series = ("run", str(small), "--variant", "sfc", "--seeds", "2", "--out", "s")
    command(*series, code=0)
    [results] = [one for one in report.of(tmp_path / "s").sections if one.id == "results"]
    assert any(line.startswith(warning) for line in results.text)


def test_few_seeds_name_no_winner_and_the_command_has_all_that_was_set(
    command: Command, small: Path, tmp_path: Path
) -> None:
    """Settings that are skipped where their mechanism is off were given for all scenarios."""
    both = ("compare", str(small), f"{small}@sfc", "--seeds", "1..2", "--out", "c")
    command(*both, "--set", "sfc.pause=8 us", "--with", "ecn", code=0)
    page = report.of(tmp_path / "c")
    assert page.lead == ["2 seeds are too few to name a winner: --seeds 5 or more."]
    again = page.sections[-1].parts[0].text
    assert "--with ecn --set 'sfc.pause=8 us' --seeds 1..2" in again


def test_what_one_scenario_has_alone_is_not_given_to_all(
    command: Command, small: Path, tmp_path: Path
) -> None:
    cases = (str(small), f"{small},switch.buffer=900KB", f"{small}@sfc+ecn")
    more = ("--seeds", "1..2", "--out", "c", "--set", "sfc.pause=8 us", "--with", "pfc")
    command("compare", *cases, *more, code=0)
    again = report.of(tmp_path / "c").sections[-1].parts[0].text
    told = shlex.split(again.splitlines()[0])
    assert told[2:5] == list(cases)
    place = str(tmp_path / "c")
    given = ["--with", "pfc", "--set", "sfc.pause=8 us", *more[:2]]
    assert told[5:] == [*given, "--out", place]
    # The command repeats the existing runs, and no others.
    assert "6 are done already" in command(*told[1:], "--plan").err
    # Results of an earlier version do not record what was given for all.
    manifest = read_manifest(tmp_path / "c", COMPARISON)
    del manifest["set"], manifest["with"]
    write_manifest(tmp_path / "c", manifest)
    again = report.of(tmp_path / "c").sections[-1].parts[0].text
    assert again.splitlines()[0].endswith(f"{cases[-1]} --seeds 1..2 --out {place}")


def test_differences_are_told_as_the_terminal_tells_them() -> None:
    def row(metric: str, means: tuple[float, float], mean: float, half: float) -> dict[str, Any]:
        found = {"mean": mean, "ci_low": mean - half, "ci_high": mean + half}
        none = {"flows": None, "of_flows": None}
        one, two = ({"scenario": name, "mean": means[n], **none} for n, name in enumerate("ab"))
        many = [one | {"difference": None}, two | {"difference": found}]
        said = {"metric": metric, "unit": "us", "verdict": "too few seeds", "winners": []}
        return said | {"scenarios": many, "against": "a"}

    rows = [
        row("pauses", (123456.75, 123132.85), -323.9, 213.0),
        row("max_fct", (822.389426, 822.389426), 0.0, 0.0),
        row("drops", (0.0, 0.0), 0.0, 0.0),
    ]
    table = _table(rows, {"a": "a", "b": "b"}, 0.01)
    assert [one[:3] for one in table.rows] == [
        ["pauses (us)", "123457", "123133 (-323.9 ±210)"],
        ["max_fct (us)", "822.389", "822.389 (0)"],
    ]
    assert table.note.endswith("All 0: drops.")


@pytest.mark.usefixtures("undrawn")
def test_films_of_different_networks_are_not_put_together(
    command: Command, small: Path, tmp_path: Path
) -> None:
    both = (str(small), f"{small},topology.spines=3")
    command("compare", *both, "--seeds", "1", "--out", "c", code=0)
    html = report.of(tmp_path / "c").html()
    assert "film (the scenarios have different networks" in html
    assert '<figure id="queue">' in html


@pytest.mark.usefixtures("undrawn")
def test_who_replaces_a_comparison_replaces_what_was_done_again(
    command: Command, small: Path, tmp_path: Path
) -> None:
    both = ("compare", str(small), f"{small}@sfc", "--seeds", "1", "--out", "c")
    command(*both, code=0)
    command("report", "c", code=0)
    assert len(list((tmp_path / "c").glob("*/observed/seed-1"))) == 2
    assert "2 are done already" in command(*both, "--plan").err
    command("run", str(small), "--out", "c", "--force", code=0)
    assert not list((tmp_path / "c").glob("*/observed"))
