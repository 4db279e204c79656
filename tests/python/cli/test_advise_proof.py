"""Advice compared with simulations: the findings are those of single runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import backwater
from kit.command import Command, run_apart
from kit.scenarios import incast_star

STAR = incast_star(
    switch='buffer = "100 KB"\nbuffer_per = "ingress"\n[transport]\nloss = "expected"',
    pfc='xoff = "60 KB"\nxon = "50 KB"',
)


@pytest.fixture
def star(tmp_path: Path) -> Path:
    file = tmp_path / "star.toml"
    file.write_text(STAR, encoding="utf-8")
    return file


def proved(star: Path, mechanism: str, *more: str) -> dict[str, Any]:
    """Run a proof in a separate process, which may start workers."""
    file = star.parent / "said.json"
    file.unlink(missing_ok=True)
    words = ["advise", mechanism, "--scenario", str(star), "--prove", "--json", str(file), *more]
    said = run_apart(*words, "--out", "proof", cwd=star.parent)
    assert file.exists(), said.err
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["proof"]
    return found | {"code": said.code, "shown": " ".join(said.out.split())}


def drops(star: Path, xoff: int, seed: int) -> int:
    case = backwater.load(star).set("pfc.xoff", f"{xoff} B").set("lossless", value=False)
    return int(case.run(seed).summary["drops"])


def test_the_least_headroom_is_the_one_of_single_runs(star: Path) -> None:
    found = proved(star, "pfc", "--seeds", "1..2")
    assert (found["seeds"], found["monotone"], found["holds"], found["code"]) == (2, True, True, 0)
    xoff = found["simulated_bytes"]
    assert found["simulated_room_bytes"] == 100_000 - xoff
    assert all(drops(star, xoff, seed) == 0 for seed in (1, 2))
    fails = int(found["fails_at"].split()[0]) * {"B": 1, "KB": 1000}[found["fails_at"].split()[1]]
    assert fails > xoff
    assert any(drops(star, fails, seed) > 0 for seed in (1, 2))
    # The advice is exact for the worst phase of a frame: at most two frames too much.
    assert 0 <= found["advised_room_bytes"] - found["simulated_room_bytes"] < 3 * 4158


@pytest.mark.parametrize(
    ("words", "reason", "hint"),
    [
        (["pfc", "--prove"], "nothing to simulate", "--scenario FILE"),
        (["pfc", "--seeds", "3"], "--seeds: nothing is simulated", "--prove"),
        (["sfc", "--scenario", "FILE", "--prove"], "`sfc` is off in", "--with sfc"),
        (
            ["pfc", "--scenario", "FILE", "--prove", "--set", "switch.buffer_per=switch"],
            "switch.buffer is not of each ingress",
            "switch.buffer_per",
        ),
        (["pfc", "--scenario", "FILE", "--prove", "--seeds", "x"], "--seeds x", "1..10"),
    ],
)
def test_proofs_that_cannot_be_made_say_so(
    command: Command, star: Path, words: list[str], reason: str, hint: str
) -> None:
    said = command("advise", *(str(star) if word == "FILE" else word for word in words), code=2)
    assert reason in said.err
    assert hint in said.err


def test_an_option_is_simulated_or_refused(command: Command, star: Path) -> None:
    """A pause given as an option is simulated; another rate would be another network."""
    words = ("advise", "sfc", "--scenario", str(star), "--with", "sfc", "--prove", "--seeds", "1")
    said = command(*words, "--rate", "40 Gb/s", code=2)
    assert "--prove and --rate exclude each other: the scenario is simulated" in said.err
    assert command(*words, "--pause", "9 us", "--out", "asked").code in (0, 1)
    assert backwater.open_sweep(star.parent / "asked").manifest["set"]["sfc.pause"] == "9 us"


def test_the_option_that_is_varied_is_not_to_be_set_either(command: Command, star: Path) -> None:
    words = ("advise", "sfc", "--scenario", str(star), "--with", "sfc", "--prove")
    said = command(*words, "--threshold", "50 KB", code=2)
    assert "--prove and --threshold exclude each other" in said.err
    assert "leave --threshold out: --prove varies sfc.threshold" in said.err
    assert "--set" not in said.err


ROOMY = incast_star(
    switch='buffer = "200 KB"\nbuffer_per = "ingress"\n[transport]\nloss = "expected"',
    pfc='xoff = "150 KB"\nxon = "140 KB"\n[sfc]\nthreshold = "20 KB"\npause = "4.4 us"',
)


@pytest.mark.parametrize(("pause", "legal"), [("3 us", False), ("10 us", True)])
def test_a_proof_names_its_setting_and_whether_that_is_legal(
    star: Path, pause: str, legal: bool
) -> None:
    """By hand: a loop of 1.3 us brings 48.75 KB, which take 3.9 us to leave.

    150 KB take 12 us. With frames and messages on links a loop is above 1.6 us, and the headroom
    takes more than 4.8 us: so 3 us are too short for any threshold, and 10 us are legal for the
    largest one, but not for the scenario's 20 KB.
    """
    star.write_text(ROOMY, encoding="utf-8")
    found = proved(star, "sfc", "--seeds", "1", "--pause", pause)
    assert found["simulated_with"] == {"sfc.pause": pause}
    assert (found["legal"], found["code"]) == (legal, 1)
    assert f"Simulated with sfc.pause {pause}." in found["shown"]
    verdict = "The advice holds" in found["shown"] or "The advice does not hold" in found["shown"]
    assert verdict == legal == (found["holds"] is not None)
    nothing = "is not legal by the advice: these runs test no legal one"
    assert (nothing in found["shown"]) != legal
    assert ("and not at the value of the scenario or the option" in found["shown"]) == legal


def test_headroom_is_proved_without_a_threshold(star: Path) -> None:
    """A scenario without a threshold can ask for the largest one."""
    with_xoff = proved(star, "pfc", "--seeds", "1")
    star.write_text(STAR.replace('xoff = "60 KB"\n', ""), encoding="utf-8")
    without = proved(star, "pfc", "--seeds", "1", "--out", "other")
    assert without["simulated_bytes"] == with_xoff["simulated_bytes"]


def test_a_key_that_has_no_effect_is_not_varied(command: Command, star: Path) -> None:
    """A dynamic threshold does not read the key of the static one: all its values are the same."""
    for per in ("ingress", "switch"):
        words = ["--set", "pfc.threshold=dynamic", "--set", f"switch.buffer_per={per}"]
        text = STAR.replace('xoff = "60 KB"', "").replace('xon = "50 KB"', "")
        star.write_text(text, encoding="utf-8")
        said = command("advise", "pfc", "--scenario", str(star), "--prove", *words, code=2)
        reason = 'pfc.xoff is without effect: it is read only with threshold = "static"'
        assert said.err.startswith(f"error: --prove: {reason}\nhint: a dynamic threshold moves")
        assert "--prove is for static thresholds" in said.err
        assert "the advice holds" not in said.out + said.err


def test_a_scenario_that_never_pauses_proves_nothing(star: Path) -> None:
    """One flow of 10 KB fills no memory with any threshold."""
    text = STAR.replace('"0..3"', '"h0"').replace('"1 MB"', '"10 KB"')
    star.write_text(text, encoding="utf-8")
    case = backwater.load(star).set("pfc.xoff", "50 KB")
    assert sum(row["pauses_received"] for row in case.run(1).ports.to_pylist()) == 0
    found = proved(star, "pfc", "--seeds", "1")
    assert (found["holds"], found["tested"], found["code"]) == (None, False, 1)


def test_what_is_set_and_varied_is_named_by_the_options_given(command: Command, star: Path) -> None:
    words = ("advise", "pfc", "--scenario", str(star), "--prove", "--set", "pfc.xoff=50 KB")
    said = command(*words, code=2)
    assert "--vary" not in said.err
    assert "--prove and --set pfc.xoff exclude each other" in said.err


def test_a_mechanism_that_does_nothing_at_the_advised_value_proves_nothing(star: Path) -> None:
    """Three flows of 20 KB never make a queue as long as the advised threshold."""
    text = STAR.replace('"0..3"', '"0..2"').replace('"1 MB"', '"20 KB"')
    text = text.replace('"100 KB"', '"500 KB"').replace('"60 KB"', '"400 KB"')
    star.write_text(f'{text}[sfc]\npause = "6 us"\nthreshold = "100 KB"\n', encoding="utf-8")
    found = proved(star, "sfc", "--seeds", "1")
    assert found["advised_bytes"] > 60_000
    assert (found["holds"], found["tested"], found["code"]) == (None, False, 1)
