"""Answers to goals if parts of a range are illegal, runs fail, or no condition holds.

Searches run in this process, point by point, without a cluster.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater.cli.sweep_plan import PlanOptions, sweeping
from backwater.errors import InputError
from backwater.plot.sweep import SweepPlots
from backwater.report.sweep import sweep_page
from backwater.sweep.drive import task
from backwater.sweep.findings import Design, alike, chosen, paired
from backwater.sweep.legal import stretch
from backwater.sweep.pilot import recipe_of
from backwater.sweep.point import run_points
from backwater.sweep.seek import known
from backwater.sweep.values import shown
from backwater.sweep.words import hints, remarks, tables, words
from kit.command import Command
from kit.scenarios import RING
from kit.sweeping import HOT, run_here
from kit.tree import ROOT


def sought(hot: Path, goal: str, *vary: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Search, and return the answer as JSON holds it."""
    given = {"variants": ["pfc"], "seeds": "1..2", "vary": list(vary)} | more
    asked = sweeping(str(hot), PlanOptions(**given, goal=goal), str(hot.parent / "o"))
    asked.directory.mkdir(exist_ok=True)
    assert asked.seeking is not None
    assert asked.answering is not None
    seeking = asked.seeking()
    rows: dict[str, dict[str, Any]] = {}
    rounds = []
    while (batch := seeking.ask(rows)) is not None:
        rounds.append(batch)
        missing = [task(batch.plan, point) for point in batch.points if point.id not in rows]
        found = run_points(recipe_of(batch.plan, asked.metrics, ()), missing)["points"]
        rows |= known(found.to_pylist())
    return asked.answering(seeking, rounds, rows)


def pauses(hot: Path, xoff: int) -> list[int]:
    case = backwater.load(hot).variant("pfc").set("pfc.xoff", f"{xoff} KB")
    totals = (case.run(seed).ports.to_pylist() for seed in (1, 2))
    return [sum(row["pauses_received"] for row in ports) for ports in totals]


def test_a_range_with_an_illegal_corner_is_searched_where_it_is_legal(hot: Path) -> None:
    """xoff cannot be below xon, 2 KB; single runs show where pauses cease."""
    told = sought(hot, "largest pfc.xoff in 1 KB..60 KB step 1 KB where pauses >= 8")
    [line] = told["lines"]
    held = {size: min(pauses(hot, size)) >= 8 for size in range(2, 61)}
    last = next(size for size in held if not held[size]) - 1
    assert 2 < last < 60
    assert (line["outcome"], line["answer"]) == ("found", f"{last} KB")
    [refused] = line["refused"]
    assert (refused["from"], refused["to"]) == ("1 KB", "1 KB")
    assert "pfc.xoff 1 KB was left out, as the scenario refuses it: " in words(told)[1]
    assert "xon (2 KB) is above xoff (1 KB)" in words(told)[1]


def test_draws_keep_to_what_is_legal(hot: Path) -> None:
    """Three quarters of the interval are illegal: below xon, which is 75 KB."""
    told = sought(
        hot, "mean_fct:hot min", "pfc.xoff=1 KB..100 KB", settings=["pfc.xon=75 KB"], trials=4
    )
    assert (told["designs"], told["failed"]) == (4, 0)
    assert told["points"]


def test_a_search_of_keys_in_another_order_is_the_same(hot: Path) -> None:
    vary = ("pfc.xoff=5 KB..150 KB", "topology.link_delay=100ns..2us")
    told = [sought(hot, "mean_fct:hot min", *some, trials=12) for some in (vary, vary[::-1])]
    assert told[0]["points"] == told[1]["points"]
    assert told[0]["designs"] == told[1]["designs"]


def test_a_scenario_that_is_refused_with_its_own_values_has_no_base(
    command: Command, hot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hot.write_text(HOT.replace('xoff = "20 KB"', 'xoff = "1 KB"'), encoding="utf-8")
    run_here(monkeypatch)
    goal = ("--goal", "max_fct:victim min", "--vary", "pfc.xoff=20 KB,40 KB")
    said = command("sweep", str(hot), "--variant", "pfc", *goal, "--out", "o", code=0)
    assert "no base: the scenario is refused with its own values: xon (2 KB)" in said.err
    assert "best: pfc, pfc.xoff = " in said.out
    assert "difference" not in said.out
    # A user who requests a base gets an error.
    said = command(
        "sweep", str(hot), "--variant", "pfc", *goal, "--base", "pfc", "--out", "p", code=2
    )
    assert "pfc.xon: xon (2 KB) is above xoff (1 KB)" in said.err


def test_points_of_a_grid_that_are_illegal_are_counted(hot: Path) -> None:
    told = sought(hot, "mean_fct:hot min", "pfc.xoff=1KB,10KB,20KB")
    assert (told["designs"], told["failed"]) == (3, 1)
    assert any("a run failed at 1 of them" in line for line in words(told))
    assert told["points"]


@pytest.mark.parametrize(
    ("goal", "vary"),
    [
        ("largest pfc.xoff in 100 B..1 KB step 100 B where pauses >= 1", ()),
        ("max_fct:victim min", ("--vary", "pfc.xoff=100 B..1 KB")),
        ("max_fct:victim min", ("--vary", "pfc.xoff=1 KB,1.5 KB")),
    ],
)
def test_a_range_without_a_legal_point_is_refused(
    command: Command, hot: Path, tmp_path: Path, goal: str, vary: tuple[str, ...]
) -> None:
    said = command(
        "sweep", str(hot), "--variant", "pfc", *vary, "--goal", goal, "--out", "o", code=2
    )
    assert "pfc.xon: xon (2 KB) is above xoff" in said.err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("count", [1, 2, 7, 100, 5000])
def test_the_legal_stretch_is_the_one_of_all_values(count: int) -> None:
    for low, high in ((0, count), (count // 3, count), (0, count - count // 3), (count // 3,) * 2):
        bounds = range(low, high)
        asked: list[int] = []

        def why(number: int, bounds: range = bounds, asked: list[int] = asked) -> str | None:
            asked.append(number)
            return None if number in bounds else f"{number} is bad"

        legal, refused = stretch(count, why)
        assert (list(legal) or None) == (list(range(low, high)) or None)
        outside = [n for one in refused for n in range(one.first, one.last + 1)]
        assert outside == [n for n in range(count) if not low <= n < high]
        # Two ends; or both ends, 63 values between, and two bisections.
        assert len(asked) <= 65 + 2 * (count // 64 + 1).bit_length()


def test_nowhere_everywhere_and_elsewhere_differ(hot: Path) -> None:
    range_ = "pfc.xoff in 5 KB..75 KB step 5 KB"
    told = sought(hot, f"largest {range_} where unfinished > 0")
    assert told["lines"][0]["outcome"] == "nowhere"
    assert "holds at none of the tried values" in words(told)[0]
    told = sought(hot, f"largest {range_} where unfinished == 0")
    assert told["lines"][0]["outcome"] == "everywhere"
    assert "held at all tried values" in words(told)[0]
    # Pauses cease with a large threshold: at the small end the condition does not hold.
    told = sought(hot, f"largest {range_} where pauses == 0")
    assert told["lines"][0]["outcome"] == "elsewhere"
    assert "does not hold at 5 KB, where the search begins (0 of 2 seeds)" in words(told)[0]
    assert "is the smallest meant?" in words(told)[-1]


def test_a_run_that_fails_at_an_end_is_no_absent_threshold(
    hot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backwater.sweep import point

    real = point._run

    def broken(core: Any, *of: Any) -> Any:  # noqa: ANN401
        # Only the smallest threshold pauses this often.
        run = real(core, *of)
        if sum(row["pauses_sent"] for row in run.ports.to_pylist()) > limit:
            raise backwater.ResultError("too much of it", None)
        return run

    limit = sum(
        row["pauses_sent"]
        for row in backwater.load(hot)
        .variant("pfc")
        .set("pfc.xoff", "10 KB")
        .run(1)
        .ports.to_pylist()
    )
    monkeypatch.setattr(point, "_run", broken)
    told = sought(hot, "largest pfc.xoff in 3 KB..75 KB step 1 KB where pauses >= 0", seeds="1")
    [line] = told["lines"]
    assert (line["outcome"], line["answer"]) == ("failed", None)
    said = words(told)
    assert "no answer, as the run at 3 KB, where the search begins, failed" in said[0]
    assert "too much of it" in said[0]
    assert "begin the range there" in said[-1]


def test_an_answer_is_written_as_users_write_values(hot: Path) -> None:
    told = sought(hot, "mean_fct:hot min", "pfc.xoff=12345 B..54321 B", trials=3)
    [best] = told["points"]
    [(_, exact)] = best["values"].items()
    # Five digits were drawn, and the data has all of them.
    assert exact.endswith(" B")
    size = int(exact.removesuffix(" B"))
    rounded = f"{size / 1000:.2f}".rstrip("0").rstrip(".")
    assert f"best: pfc, pfc.xoff = {rounded} KB: " in words(told)[0]
    assert any("the exact ones are in the data" in line for line in words(told))
    [(title, _)] = tables(told)
    assert "KB" in title


@pytest.mark.parametrize(
    ("key", "value", "digits", "text"),
    [
        ("pfc.xoff", 37_291, 4, "37.29 KB"),
        ("pfc.xoff", "37291 B", 9, "37.291 KB"),
        ("pfc.xoff", 20_000, 9, "20 KB"),
        ("pfc.xoff", 999, 4, "999 B"),
        ("pfc.xoff", 0, 4, "0 B"),
        ("topology.link_delay", 347_812, 4, "347.8 ns"),
        ("topology.rate", 400_000_000_000, 4, "400 Gb/s"),
        ("ecn.pmax", 0.123456, 4, "0.1235"),
        ("topology.hosts", 12, 4, "12"),
        ("pfc.threshold", "dynamic", 4, "dynamic"),
    ],
)
def test_values_have_units_and_digits_that_people_write(
    key: str, value: object, digits: int, text: str
) -> None:
    assert shown(key, value, digits) == text


def test_the_question_of_the_readme_has_the_answer_that_it_says(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [(goal, said)] = re.findall(r'--goal "([^"]+)" --base "" --seeds 1\.\.3` finds (\d+ KB)', text)
    file = tmp_path / "incast.toml"
    file.write_text(backwater.new_scenario(), encoding="utf-8")
    [line] = sought(file, goal, variants=["sfc"], seeds="1..3")["lines"]
    assert (line["outcome"], line["answer"]) == ("found", said)


def rows(values: dict[int, float | None], failed: tuple[int, ...] = ()) -> Design:
    return Design(
        "",
        (),
        tuple(
            {"seed": seed, "status": "failed" if seed in failed else "done", "m": value}
            for seed, value in values.items()
        ),
    )


def test_a_paired_test_says_which_seeds_have_no_part_in_it() -> None:
    test = paired(
        rows({1: 1.0, 2: 5.0, 3: None, 4: 2.0, 6: 1.5}, failed=(2,)),
        rows({1: 2.0, 2: 3.0, 3: 4.0, 4: 2.5, 5: 1.0, 6: None}),
        "m",
    )
    assert test is not None
    told = test.as_json()
    assert told["difference"]["n"] == 2
    assert told["left_out"] == [
        {"seed": 2, "why": "failed here"},
        {"seed": 3, "why": "no value here"},
        {"seed": 5, "why": "not run here"},
        {"seed": 6, "why": "no value at the base"},
    ]
    said = " ".join(remarks([told], "b"))
    assert "paired t-test over 2 pairs of seeds" in said
    assert "Seeds not in the tests: 2 (failed here); 3 (no value here)" in said
    whole = paired(rows({1: 1.0, 2: 2.0}), rows({1: 1.0, 2: 3.0}), "m")
    assert whole is not None
    assert "Seeds not in" not in " ".join(remarks([whole.as_json()], "b"))


def design(number: int, *values: float) -> Design:
    rows = [{"seed": seed, "status": "done", "m": value} for seed, value in enumerate(values)]
    return Design("pfc", (number,), tuple(rows))


def test_points_that_do_not_differ_clearly_from_the_best() -> None:
    """By hand: differences 1, -1, 1, -1 have t = 0; 10, 11, 10, 11 have t = 10.5 / 0.289 = 36."""
    best = design(0, 1.0, 2.0, 1.0, 2.0)
    noise, worse = design(1, 2.0, 1.0, 2.0, 1.0), design(2, 11.0, 13.0, 11.0, 13.0)
    equal, single = design(3, 1.0, 2.0, 1.0, 2.0), design(4, 1.5)
    assert alike(best, [noise, worse, equal], "m") == {"tested": 3, "alike": 2}
    assert alike(best, [worse], "m") == {"tested": 1, "alike": 0}
    assert alike(best, [single], "m") == {"tested": 0, "alike": 0}


def test_a_best_point_among_equal_ones_is_said_to_be_one_of_them(hot: Path) -> None:
    """Where PFC never acts, all of its thresholds are equally good."""
    more = {"seeds": "1..3", "trials": 4}
    told = sought(hot, "mean_fct:hot min", "pfc.xoff=150 KB..190 KB", **more)
    assert told["alike"] == told["tested"] > 0
    assert any(line.startswith("none of the ") for line in words(told))


RATES = "topology.rate=25 Gb/s,50 Gb/s,100 Gb/s"


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    file = tmp_path / "ring.toml"
    file.write_text(RING, encoding="utf-8")
    return file


def test_no_point_is_best_if_references_differ(ring: Path) -> None:
    """The slowest rate has the least ratio of time to bound, and the greatest time."""
    told = sought(ring, "mean_over_bound min where drops == 0", RATES, variants=None)
    assert told["points"] == []
    [one] = told["unlike"]
    assert (one["metric"], one["of"], one["unit"]) == ("mean_over_bound", "mean bound", "us")
    assert one["most"] == pytest.approx(4 * one["least"], rel=1e-6)
    said = words(told)
    assert said[0] == (
        "no point is best: mean_over_bound is relative to mean bound, which differs (7.357 to "
        "29.43 us) between the points, and the ranking depends on that"
    )
    assert said[-1] == ('mean_cct has no reference: --goal "mean_cct min where drops == 0"')
    assert "best: " not in "".join(said).replace("no point is best: ", "")
    # By time alone, the slowest rate is the worst.
    best = sought(ring, "mean_cct min", RATES, variants=None)
    assert best["points"][0]["values"] == {"topology.rate": "100 Gb/s"}
    assert best["unlike"] == []


def test_no_front_if_references_differ(ring: Path) -> None:
    """By the ratio no rate is beaten in both; by time the fastest beats all."""
    told = sought(ring, "mean_over_bound min, mean_cct min", RATES, variants=None)
    assert (told["points"], [one["metric"] for one in told["unlike"]]) == ([], ["mean_over_bound"])
    said = words(told)
    assert said[0].startswith("no front: mean_over_bound is relative to mean bound, which differs")


def test_a_report_without_a_front_draws_none(command: Command, ring: Path, tmp_path: Path) -> None:
    goal = "mean_over_bound min, mean_cct min"
    said = command("sweep", f"{ring}", "--vary", RATES, "--goal", goal, "--out", "o", code=1)
    assert "no front: mean_over_bound is relative to mean bound" in " ".join(said.out.split())
    sweep = backwater.open_sweep(tmp_path / "o")
    page = sweep_page(sweep)
    assert "front" not in {figure.id for figure in page.figures}
    [answer] = [section for section in page.sections if section.id == "answer"]
    assert any(line.startswith("no front: ") for line in answer.text)
    with pytest.raises(InputError, match="mean_over_bound: no point is better, as mean bound"):
        SweepPlots(sweep).pareto(("mean_over_bound", True), ("mean_cct", True))
    with pytest.raises(InputError, match="mean_slowdown:alone: its reference was not stored"):
        SweepPlots(sweep).pareto(("mean_slowdown:alone", True), ("mean_cct", True))
    assert SweepPlots(sweep).pareto(("max_fct:alone", True), ("mean_cct", True)) is not None
    # References are no metrics, but SQL can select them.
    assert not [name for name in SweepPlots(sweep).metrics if name.startswith("reference")]
    [row] = sweep.query("select max(reference_mean_over_bound) as most from points").to_pylist()
    assert row["most"] == pytest.approx(29.43, rel=1e-3)


def test_a_point_that_is_best_by_both_is_best(ring: Path) -> None:
    """Ideal times and times grow by the same amount with link delay: both rank alike."""
    vary = "topology.link_delay=100 ns,3 us"
    for metric in ("mean_bound", "mean_over_bound"):
        told = sought(ring, f"{metric} max", vary, variants=None)
        assert (told["unlike"], len(told["points"])) == ([], 1)
    values = [{1: 2.0, 2: 2.0}, {1: 1.0, 2: 1.0}]
    rows_ = [
        tuple(
            {
                "seed": seed,
                "status": "done",
                "mean_over_bound": value,
                "reference:mean_over_bound": against,
            }
            for seed, value in one.items()
        )
        for one, against in zip(values, (20.0, 10.0), strict=True)
    ]
    designs = [Design("", (n,), some) for n, some in enumerate(rows_)]
    assert chosen(designs, [("mean_over_bound", True)]) == ([designs[1]], [])


def test_a_mean_queue_over_other_times_is_no_merit(hot: Path) -> None:
    """Longer links make a run longer, so the mean covers more time."""
    told = sought(
        hot,
        "p99_queue min",
        "topology.link_delay=100 ns,200 us",
        settings=["output.queues=true", "output.interval=100 ns"],
    )
    assert told["points"] == []
    assert [(one["of"], one["instead"]) for one in told["unlike"]] == [
        ("time sampled", "max_queue")
    ]
    assert words(told)[-1].endswith('--goal "max_queue min"')


def test_a_threshold_says_that_references_differ(ring: Path) -> None:
    told = sought(
        ring, f"largest {RATES.replace('=', ' in ')} where mean_over_bound < 100", variants=None
    )
    [line] = told["lines"]
    assert line["answer"] == "100 Gb/s"
    assert any(
        one.startswith("mean_over_bound is relative to mean bound, which differs (7.357 to 29.43")
        for one in words(told)
    )
    told = sought(ring, f"largest {RATES.replace('=', ' in ')} where mean_cct < 100", variants=None)
    assert told["lines"][0]["unlike"] == []


@pytest.mark.parametrize(
    ("metric", "key", "other"),
    [
        ("mean_over_bound:train/sum", "topology.rate=25 Gb/s..100 Gb/s", "mean_cct:train/sum"),
        (
            "mean_slowdown:train/sum",
            "topology.rate=25 Gb/s..100 Gb/s",
            "mean_fct_last_byte:train/sum",
        ),
    ],
)
def test_a_search_whose_keys_move_its_reference_is_refused_before_it_runs(
    ring: Path, metric: str, key: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backwater.sweep.point.run_points", None)
    with pytest.raises(InputError) as error:
        sought(
            ring, f"{metric} min", key, "topology.link_delay=100 ns..3 us", variants=None, trials=4
        )
    assert error.value.reason.startswith(f"--goal {metric} min: {metric} is relative to ")
    assert "which topology.rate changes: " in error.value.reason
    assert error.value.hint == (f'{other} has no reference: --goal "{other} min"')


def test_a_goal_that_ranks_has_the_other_metrics_and_the_condition() -> None:
    [said] = hints(
        "mean_slowdown:a min, drops min where drops < 3",
        [{"metric": "mean_slowdown:a", "instead": "mean_fct_last_byte:a"}],
    )
    assert said.endswith('--goal "mean_fct_last_byte:a min, drops min where drops < 3"')


def test_a_search_whose_keys_leave_its_reference_runs(ring: Path) -> None:
    """The algorithm decides how much of a collective begins at once, but not its bound."""
    vary = (
        "topology.link_delay=100 ns..3 us",
        "job.train.step.sum.algorithm=ring,halving-doubling",
    )
    told = sought(ring, "mean_over_bound min", *vary, variants=None, trials=4)
    assert told["points"]
