"""Every command takes a variant both as `FILE@VARIANT` and by `--variant`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backwater import _core
from backwater.cli.app import COMMANDS, built
from kit.command import Command
from kit.scenarios import flow, star

SCENARIO = f"""{star(4, rate="10 Gb/s", title="Hot")}
[switch]
buffer = "200 KB"
[transport]
loss = "expected"
[ecn]
kmin = "20 KB"
kmax = "20 KB"
[sfc]
threshold = "20 KB"
pause = "8 us"
[pfc]
xoff = "40 KB"
xon = "2 KB"
{flow("1..3", 0, "90 KB", "hot")}
[variant.slow.topology]
rate = "1 Gb/s"
[variant.late.switch]
latency = "2 us"
"""
SWEEP = """
[sweep]
scenario = "{scenario}"
seeds = 1
vary = {{"flow.hot.size" = "1 KB,2 KB"}}
"""
FOUND = ("--json", "-")
SIZES = ("--vary", "flow.hot.size=1 KB,2 KB")
ASKED: dict[str, tuple[tuple[str, ...], ...]] = {
    "check": (("check",), FOUND),
    "run": (("run",), FOUND),
    "why": (("why",), FOUND),
    "compare": (("compare", "hot.toml@late"), ("--seeds", "1", *FOUND)),
    "bench": (
        ("bench", "training-5.2", "--fabric"),
        ("--seeds", "1", "--out", "o", "--force", *FOUND),
    ),
    "sweep": (("sweep",), (*SIZES, "--out", "o", "--force", *FOUND)),
    **{
        f"advise {name}": (("advise", name, "--scenario"), FOUND)
        for name, form in _core.advice_forms()
        if form["scenario"]
    },
}
"""Each command that takes a scenario: what comes before its file, and after it."""
UNLIKE = ("directory", "variant", "scenario", "file", "seconds", "run")


@pytest.fixture(autouse=True)
def files(command: Command) -> None:  # noqa: ARG001 - for its working directory
    for name, text in {
        "hot": SCENARIO,
        "points": SWEEP.format(scenario="hot.toml"),
        "slow": SWEEP.format(scenario="hot.toml@slow"),
    }.items():
        Path(f"{name}.toml").write_text(text, encoding="utf-8")


def taking(group: Any, before: str = "") -> Iterator[str]:  # noqa: ANN401 - typer's have no type
    """Name the commands that have the option `--variant`."""
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from taking(one, f"{name} ")
        elif any("--variant" in param.opts for param in one.params):
            yield f"{before}{name}"


def found(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Read the JSON of a command, without entries that differ between the two ways."""

    def plain(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items() if key not in UNLIKE}
        if isinstance(value, list):
            return [plain(one) for one in value]
        return value.replace("@slow", "") if isinstance(value, str) else value

    return plain(json.loads(text))


def test_all_commands_that_take_a_variant_are_here() -> None:
    assert sorted(taking(built(tuple(COMMANDS)))) == sorted(ASKED)


@pytest.mark.parametrize("name", ASKED)
def test_either_way_is_the_same(name: str, command: Command) -> None:
    before, after = ASKED[name]
    one = command(*before, "hot.toml@slow", *after)
    other = command(*before, "hot.toml", "--variant", "slow", *after)
    assert one.code == other.code < 2, (one.err, other.err)
    assert found(one.out) == found(other.out)
    # Points of a sweep are in a table, and not all advice depends on what the variant changes.
    if name in ("check", "run", "why", "compare"):
        assert found(one.out) != found(command(*before, "hot.toml", *after).out)


@pytest.mark.parametrize("name", ASKED)
def test_a_variant_that_is_not_there_is_named(name: str, command: Command) -> None:
    before, after = ASKED[name]
    for given in (("hot.toml@fast",), ("hot.toml", "--variant", "fast")):
        said = command(*before, *given, *after)
        assert (said.code, said.out) == (2, "")
        assert "there is no variant `fast`\nhint: there are: slow, late" in said.err


@pytest.mark.parametrize("name", ASKED)
def test_both_at_once_exclude_each_other(name: str, command: Command) -> None:
    before, after = ASKED[name]
    said = command(*before, "hot.toml@slow", "--variant", "late", *after)
    assert (said.code, said.out) == (2, "")
    assert "hot.toml@slow and --variant late: each names a variant" in said.err


def test_of_two_files_the_one_without_a_variant_has_that_of_the_option(command: Command) -> None:
    asked = ("--seeds", "1", "--metric", "mean_fct:hot", *FOUND)
    one = command("compare", "hot.toml@late", "hot.toml,seed=1", "--variant", "slow", *asked)
    other = command("compare", "hot.toml@late", "hot.toml@slow,seed=1", *asked)
    assert one.code == other.code == 2, "a seed of one scenario"
    one = command("compare", "hot.toml", "hot.toml@late", "--variant", "slow", *asked)
    other = command("compare", "hot.toml@slow", "hot.toml@late", *asked)
    assert (one.code, other.code) == (0, 0), (one.err, other.err)
    assert found(one.out) == found(other.out)
    twice = command("compare", "hot.toml", "hot.toml@slow", "--variant", "slow", *asked, code=2)
    assert "hot.toml@slow: is given twice" in twice.err


def test_a_variant_without_its_file_is_told_how(command: Command) -> None:
    for words in (("compare",), ("why",)):
        said = command(*words, "hot.toml", "slow", code=2)
        assert "slow: there is no such file or directory" in said.err
        assert "hint: slow is a variant: hot.toml@slow" in said.err


@pytest.mark.parametrize("name", ["sweep", "check"])
def test_the_file_of_a_sweep_names_variants_as_scenarios_do(name: str, command: Command) -> None:
    after = ("--out", "o", "--force") if name == "sweep" else ()
    given = [("points.toml@slow",), ("points.toml", "--variant", "slow"), ("slow.toml",)]
    said = [command(name, *one, *after, *FOUND) for one in given]
    assert {one.code for one in said} == {0}, [one.err for one in said]
    if name == "sweep":
        assert found(said[0].out) == found(said[1].out) == found(said[2].out)
    both = command(name, "points.toml@slow", "--variant", "late", *after, code=2)
    assert "points.toml@slow and --variant late: each names a variant" in both.err
    # The option replaces the entry of the file.
    command(name, "slow.toml", "--variant", "late", *after, code=0)


def test_the_runs_of_a_sweep_are_of_the_variant(command: Command) -> None:
    for given in (("points.toml@slow",), ("slow.toml",), ("hot.toml@slow", *SIZES)):
        command("sweep", *given, "--out", "o", "--force", code=0)
        said = command("query", "o", "select distinct variant from points", *FOUND)
        assert json.loads(said.out) == [{"variant": "slow"}]


@pytest.mark.parametrize(
    ("words", "run"),
    [
        (("report",), "run"),
        (("deck",), "run"),
        (("jobs",), "run"),
        (("export", "--to", "fct"), "run"),
        (("status",), "sweep"),
        (("query", "select 1"), "run"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
@pytest.mark.parametrize("file", ["hot.toml", "hot.toml@slow"])
def test_where_results_are_asked_for_a_scenario_is_told_to_be_run(
    words: tuple[str, ...], run: str, file: str, command: Command
) -> None:
    name, *more = words
    said = command(name, file, *more, code=1)
    assert f"error: {file}: is a scenario, not a result directory" in said.err
    place = "results/hot-slow" if "@" in file else "results/hot"
    assert f"hint: run it first: `backwater {run} {file} --out {place}`" in said.err


def test_a_variant_that_is_wrong_stops_only_who_asks_for_it(command: Command) -> None:
    Path("hot.toml").write_text(f'{SCENARIO}[variant.bad]\nswitch.bufer = "1 KB"\n')
    for words in (
        ("run", "hot.toml", "--out", "r"),
        ("run", "hot.toml@slow", "--out", "s"),
        ("compare", "hot.toml", "hot.toml@late", "--seeds", "1", "--out", "c"),
        ("check", "hot.toml@slow"),
        ("why", "hot.toml@late"),
        ("sweep", "hot.toml", *SIZES, "--seeds", "1", "--out", "w"),
    ):
        said = command(*words)
        assert said.code == 0, (words, said.err)
    for asking in (
        ("check", "hot.toml"),
        ("run", "hot.toml@bad"),
        ("run", "hot.toml", "--variant", "bad"),
        ("sweep", "hot.toml", *SIZES, "--variant", "slow,bad"),
    ):
        said = command(*asking)
        assert said.code == 2, asking
        assert "variant.bad.switch.bufer: unknown key `bufer`" in said.err, asking
