"""`backwater compare`: metrics, paired differences, winners and ties, and reuse of runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import backwater
from backwater.comparison import Difference, judged, row
from backwater.errors import InputError
from backwater.numbers.metrics import metric
from backwater.numbers.registry import QUANTITIES
from kit.command import Command
from kit.scenarios import RING, star
from kit.tree import ROOT

# Random arrivals, so that seeds matter.
RANDOM = f"""{star(6)}
[switch]
buffer_per = "none"
[[flow]]
label = "rpc"
pattern = "random"
arrivals = "poisson"
load = "40 %"
size = "20 KB"
until = "100 us"
[variant.slow.switch]
latency = "2 us"
[variant.same.topology]
link_delay = "500 ns"
"""


@pytest.fixture
def random(tmp_path: Path) -> Path:
    file = tmp_path / "random.toml"
    file.write_text(RANDOM, encoding="utf-8")
    return file


def test_a_paired_difference() -> None:
    # 1, 3 and 5 more: mean 3, s = 2, t(2) = 4.30265, 2 / sqrt(3) = 1.1547.
    found = Difference.of({1: 11.0, 2: 23.0, 3: 35.0, 9: 0.0}, {1: 10.0, 2: 20.0, 3: 30.0, 4: 1.0})
    assert found is not None
    assert (found.n, found.mean) == (3, 3.0)
    assert found.ci_high == pytest.approx(3 + 4.30265 * 1.1547, abs=1e-3)
    assert found.sign == 0, "the interval covers zero"
    assert Difference.of({1: 1.0}, {2: 1.0}) is None
    single = Difference.of({1: 1.0}, {1: 3.0})
    assert single == Difference(1, -2.0, None, None)
    assert single.sign is None


def test_verdicts_are_written_of_the_scenarios_with_values() -> None:
    same = dict.fromkeys(range(5), 100.0)
    one = row(metric("mean_fct"), [same, dict(same), {}])
    assert judged(one.verdict, ["A", "B"], 2) == "equal"
    assert judged(one.verdict, ["A", "B"], 3) == "A = B"
    assert judged("not told apart", ["A", "C"], 3) == "A or C"


def test_pairing_sees_what_means_do_not() -> None:
    """Seeds differ by 100, scenarios by 4: only differences within a seed show the latter."""
    base = {seed: 100.0 * seed for seed in range(1, 6)}
    more = {seed: value + 4 + 0.01 * seed for seed, value in base.items()}
    one = row(metric("mean_fct"), [base, more])
    assert (one.verdict, one.winners) == ("winner", [0])
    assert row(metric("mean_throughput"), [base, more]).winners == [1], "more is better"
    shuffled = dict(zip(base, [3.0, 1.0, 2.0, 5.0, 4.0], strict=True))
    # Differences of -2, -2, 1, 2, 0 decide nothing. Differences within a hundredth would be a tie.
    assert row(metric("mean_fct"), [{s: float(s) for s in base}, shuffled]).verdict == (
        "not told apart"
    )
    near = {seed: value + (0.1, -0.1, 0.1, -0.1, 0.0)[seed - 1] for seed, value in base.items()}
    assert row(metric("mean_fct"), [base, near]).verdict == "no difference that matters"
    # The first is noisy, and the second beats the third in every seed: only the third is out.
    noisy = dict(enumerate([60.0, 140.0, 70.0, 135.0, 95.0]))
    second, third = ({seed: of + 0.1 * seed for seed in range(5)} for of in (101.0, 110.0))
    found = row(metric("mean_fct"), [noisy, second, third])
    assert (found.verdict, found.winners) == ("not told apart", [0, 1])
    # The first two differ by less than a hundredth; only the first beats the third.
    first = dict.fromkeys(range(5), 100.0)
    second = dict(enumerate([100.9, 100.0, 100.9, 100.0, 100.2]))
    third = dict.fromkeys(range(5), 101.3)
    assert row(metric("mean_fct"), [first, second]).verdict == "no difference that matters"
    assert row(metric("mean_fct"), [second, third]).verdict == "not told apart"
    found = row(metric("mean_fct"), [first, second, third])
    assert (found.verdict, found.winners) == ("not told apart", [0, 1])
    three = row(metric("mean_fct"), [base, dict(base), more])
    assert (three.verdict, three.winners) == ("no difference that matters", [0, 1])
    assert row(metric("mean_fct"), [{1: 1.0}, {1: 2.0}]).verdict == "too few seeds"
    assert row(metric("mean_fct"), [{1: 1.0}, {}]).verdict == "no values"


def test_means_and_winner_are_of_the_seeds_that_all_have() -> None:
    """B is worse in each common seed, which a hard seed that only A has must not hide."""
    hard = {1: 10.0, 2: 10.1, 3: 10.2, 4: 10.1, 5: 10.1, 6: 500.0}
    found = row(metric("mean_fct"), [hard, {1: 12.0, 2: 12.1, 3: 12.2, 4: 12.1, 5: 12.1}])
    assert (found.verdict, found.winners) == ("winner", [0])
    assert found.seeds == [1, 2, 3, 4, 5]
    assert found.means == pytest.approx([10.1, 12.1])
    assert found.counts == [6, 5]
    apart = row(metric("mean_fct"), [{1: 1.0, 2: 1.0}, {3: 2.0, 4: 2.0}])
    assert (apart.verdict, apart.winners, apart.means) == ("values missing", [], [None, None])


def test_who_has_no_values_voids_no_row() -> None:
    threes, ones = dict.fromkeys(range(5), 3.0), dict.fromkeys(range(5), 1.0)
    found = row(metric("mean_fct"), [{}, threes, ones])
    assert (found.verdict, found.winners, found.base) == ("winner", [2], 1)
    assert found.means == [None, 3.0, 1.0]
    assert found.differences == [None, None, Difference(5, -2.0, -2.0, -2.0)]


def test_runs_that_fail_are_counted(command: Command) -> None:
    ring = ROOT / "scenarios" / "ring-deadlock.toml"
    names = [f"{ring}", f"{ring}@sfc", f"{ring}@watchdog"]
    said = command("compare", *names, "--seeds", "5", "--json", "c.json", code=1)
    assert "A failed 5 of 5" in said.out
    assert "C - B: " in said.out
    told = json.loads(Path("c.json").read_text())
    assert [(one["complete"], one["failed"]) for one in told["scenarios"]] == [
        (0, 5),
        (5, 0),
        (5, 0),
    ]
    rows = {one["metric"]: one for one in told["rows"]}
    left = rows["unfinished"]
    assert left["scenarios"][0]["mean"] > 0
    assert left["winners"] == names[1:]
    times = [one for name, one in rows.items() if name.startswith("max_fct")]
    assert times
    assert all(one["winners"] == [names[1]] for one in times), "sfc, not the watchdog"
    assert all(one["against"] == names[1] for one in times)


def test_metrics_are_those_of_the_tables(small: Path) -> None:
    run = backwater.load(small).run()
    flows = run.flows.to_pylist()
    times = [flow["fct_last_ack_ps"] / 1e6 for flow in flows]
    incast = [flow["fct_last_ack_ps"] / 1e6 for flow in flows if flow["group"] == "incast"]
    assert metric("max_fct:incast").of(run) == max(incast)
    assert metric("mean_fct").of(run) == pytest.approx(sum(times) / len(times))
    assert metric("p0_fct:incast").of(run) == min(incast)
    assert metric("p99_fct:nobody").of(run) is None
    assert metric("pause_time").of(run) == sum(p["paused_ps"] for p in run.ports.to_pylist()) / 1e6
    assert metric("unfinished").of(run) == 0
    first = flows[0]
    goodput = first["bytes"] * 8 / (first["fct_last_byte_ps"] / 1e12) / 1e9
    assert metric(f"min_throughput:{first['group']}").of(run) == pytest.approx(goodput, rel=0.5)


@pytest.mark.parametrize(
    "text", ["p99_fect", "fct", "p101_fct", "mean_pauses", "pauses:incast", ""]
)
def test_unknown_metrics_say_what_there_is(text: str) -> None:
    with pytest.raises(InputError) as caught:
        metric(text)
    if text == "p99_fect":
        assert all(name in str(caught.value) for name in QUANTITIES)


def test_plan_runs_and_what_is_found_again(command: Command, random: Path) -> None:
    names = [f"{random}", f"{random}@slow", f"{random}@same"]
    said = command("compare", *names, "--seeds", "1..5", "--plan", code=0)
    assert "3 scenarios, 5 seeds (1..5): 15 runs; 0 are done already, 15 to do" in said.err
    assert re.search(
        r"^  estimate by pilots: .* a run, .* for 15 on \d+ processors?$", said.err, re.M
    )
    assert not Path("results").exists()
    asked = ("compare", *names, "--seeds", "1..5", "--json", "c.json")
    said = command(*asked, code=0)
    rows = {one["metric"]: one for one in json.loads(Path("c.json").read_text())["rows"]}
    mean = rows["mean_fct:rpc"]
    assert mean["verdict"] == "no difference that matters"
    assert mean["winners"] == [names[0], names[2]], "two are the same, and slow loses"
    slow = mean["scenarios"][1]["difference"]
    assert slow["n"] == 5
    assert slow["ci_low"] > 3.0, "two ways through a switch of 2 us more, data and ACK"
    assert mean["scenarios"][2]["difference"] == {
        "n": 5,
        "mean": 0.0,
        "ci_low": 0.0,
        "ci_high": 0.0,
    }
    [line] = [line for line in said.out.splitlines() if line.startswith("mean_fct:rpc")]
    assert line.endswith(" A = C"), "these two are equal"
    assert "All 0: " in said.out
    assert re.search(r"^All 0: .*unfinished", said.out, re.M), "no row of what is 0 in all"
    assert not re.search(r"^unfinished", said.out, re.M)
    again = command(*asked[:-2])
    assert "15 are done already, 0 to do" in again.err
    assert again.out == said.out
    more = command("compare", *names, "--seeds", "1..6", "--plan")
    assert "15 are done already, 3 to do" in more.err
    changed = command("compare", *names, "--seeds", "1..5", "--set", "seed=3", "--plan")
    assert "15 to do" in changed.err, "another scenario is kept elsewhere"


def test_result_directories_lend_their_runs(command: Command, random: Path) -> None:
    command("run", str(random), "--seeds", "1..3", "--out", "mine")
    command("run", str(random), "--variant", "slow", "--seed", "2", "--out", "one")
    said = command("compare", "mine", "one", "--seeds", "1..3", "--metric", "mean_fct", code=0)
    assert "4 are done already, 2 to do" in said.err
    assert "mean_fct" in said.out
    single = command("compare", "mine", "one", "--seeds", "2..2", "--metric", "mean_fct")
    assert "One seed is too few to name a winner: --seeds 5 or more" in " ".join(single.out.split())


def test_one_content_under_two_names_runs_once(command: Command, random: Path) -> None:
    Path("other").mkdir()
    other = Path("other", random.name)
    other.write_text(RANDOM, encoding="utf-8")
    said = command("compare", str(random), str(other), "--seeds", "2", "--json", "c.json", code=0)
    assert "4 runs; 0 are done already, 2 to do" in said.err
    rows = json.loads(Path("c.json").read_text())["rows"]
    assert {one["verdict"] for one in rows} == {"too few seeds"}
    assert all(one["scenarios"][1]["n"] == 2 for one in rows)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["{}"], "needs two or more scenarios"),
        (["{}", "{}"], "given twice"),
        (["{}", "nothing.toml"], "no such file or directory"),
        (["{}", "{}@fast"], "fast"),
        (["{}", "{}@slow", "--metric", "p99_fct:rcp"], "there are rpc"),
        (["{}", "{}@slow", "--metric", "p99_ftc"], "slowdown"),
        (["{}", "{}@slow", "--seeds", "x"], "neither a number"),
    ],
)
def test_what_cannot_be_compared(
    command: Command, random: Path, arguments: list[str], text: str
) -> None:
    said = command("compare", *(one.format(random) for one in arguments), code=2)
    assert said.err.startswith("error: ")
    assert text in said.err
    assert "hint: " in said.err
    assert not Path("results").exists()


BOUNDED = f"""{RING}[[variant.gray.link.at]]
between = ["h0", "s0"]
rate = "50 Gb/s"
"""


def test_a_slower_link_wins_nothing_that_is_held_against_its_bound(
    command: Command, tmp_path: Path
) -> None:
    """Half the rate of a link doubles the bound of a ring, and the time of a flow alone."""
    file, out = tmp_path / "b.toml", tmp_path / "b.json"
    file.write_text(BOUNDED, encoding="utf-8")
    held = ["mean_bound", "mean_above_bound", "mean_over_bound"]
    names = [*(f"{name}:train/sum" for name in held), "mean_slowdown:alone", "mean_cct:train/sum"]
    wanted = [argument for name in names for argument in ("--metric", name)]
    said = command("compare", f"{file}", f"{file}@gray", *wanted, "--json", f"{out}", code=0)
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    found = {one["metric"]: (one["verdict"], one["winners"]) for one in rows}
    assert found == {
        **dict.fromkeys(names[:4], ("references differ", [])),
        "mean_cct:train/sum": ("winner", [f"{file}"]),
    }
    # Three quarters of the sum leave each host, and three quarters return: 90 KB and headers.
    plain, gray = (one["reference"] for one in rows[0]["scenarios"])
    assert gray == pytest.approx(2 * plain, rel=1e-6)
    assert (
        "mean_above_bound:train/sum: no winner, since the scenarios have different references"
        in said.out
    )
    command("compare", f"{file}", f"{file},ack.path=reverse", *wanted, "--json", f"{out}", code=0)
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert {one["verdict"] for one in rows} == {"no difference that matters"}


def test_one_scenario_that_is_wrong_leaves_the_others_compared(
    command: Command, random: Path
) -> None:
    wrong = f"{random},flow.rpc.from=h9"
    said = command("compare", str(random), wrong, f"{random}@slow", "--seeds", "1", code=1)
    assert "flow.rpc.from" in said.err
    assert f"{wrong} is left out, and the others are compared" in said.err
    assert f"B = {random}@slow" in said.out
    alone = command("compare", str(random), wrong, "--seeds", "1", code=2)
    assert "left out" not in alone.err


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("@nosuch", "there is no variant `nosuch`"),
        (",switch.bufer=1MB", "did you mean `buffer`?"),
        ("@slow+nothing", "nothing"),
        (",seed=3", "the seed of one scenario"),
        (",ecn.kmin=1KB", "+ecn switches it on"),
    ],
)
def test_one_scenario_that_cannot_be_read_leaves_the_others_compared(
    command: Command, random: Path, change: str, text: str
) -> None:
    wrong = f"{random}{change}"
    said = command("compare", str(random), wrong, f"{random}@slow", "--seeds", "1", code=1)
    assert text in said.err
    assert "hint: " in said.err
    assert f"{wrong} is left out, and the others are compared" in said.err
    assert f"B = {random}@slow" in said.out
    command("compare", str(random), wrong, code=2)
