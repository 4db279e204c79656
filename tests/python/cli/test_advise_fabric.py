"""Advice on twelve senders of a fabric: links of two rates, which the senders share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import backwater
from kit.command import Command
from kit.scenarios import flow

FABRIC = f"""
lossless = true
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 5
rate = "100 Gb/s"
fabric_rate = "200 Gb/s"
link_delay = "150 ns"
[packet]
GAP
[switch]
latency = "300 ns"
buffer = "800 KB"
buffer_per = "ingress"
[pfc]
xoff = "740 KB"
xon = "640 KB"
[sfc]
threshold = "64 KB"
pause = "42 us"
{flow(["h5..8", "h10..13", "h15..18"], "h0", "1 MB", "incast")}
{flow("h9", "h1", "1 MB", "victim")}
"""


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    file = tmp_path / "fabric.toml"
    file.write_text(FABRIC.replace("GAP", ""), encoding="utf-8")
    return file


def said_of(command: Command, *words: str) -> dict[str, Any]:
    """Return the JSON of the advice, and the shown text in one line."""
    file = Path("said.json")
    file.unlink(missing_ok=True)
    ran = command("advise", *words, "--json", str(file))
    assert file.exists(), ran.err
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found | {"code": ran.code, "shown": " ".join(ran.out.split())}


def quiet(file: Path, threshold: int, pause: str) -> bool:
    case = backwater.load(file).set("sfc.threshold", f"{threshold} B").set("sfc.pause", pause)
    run = case.set("lossless", value=False).run(2)
    pauses = sum(row["pauses_received"] for row in run.ports.to_pylist())
    return bool(pauses == 0 and run.summary["drops"] == 0)


def test_small_thresholds_are_looked_at_where_the_advice_is_far_too_large(
    command: Command, fabric: Path
) -> None:
    """The range begins at 740 KB / 64; the advice is several times the largest value that holds."""
    words = ("sfc", "--scenario", str(fabric), "--pause", "42 us", "--prove", "--seeds", "2..2")
    said = said_of(command, *words)
    proof = said["proof"]
    assert proof["looked_at"] == ["11562 B", "739999 B"]
    assert "sought with sfc.threshold from 11.562 KB to 739.999 KB" in said["shown"]
    found, step = proof["simulated_bytes"], (739_999 - 11_562) / 63
    assert 0 < found < proof["advised_bytes"] / 3
    assert proof["simulated_with"] == {"sfc.pause": "42 us"}
    assert "Simulated with sfc.pause 42 us." in said["shown"]
    assert "The advice does not hold in this scenario." in said["shown"]
    assert quiet(fabric, found, "42 us")
    assert not quiet(fabric, int(found + step + 1), "42 us")


def row(said: dict[str, Any], name: str) -> tuple[str, str]:
    [found] = [one for one in said["rows"] if one["name"] == name]
    return f"{found['value']} {found['unit']}", found["formula"]


def test_each_link_of_the_way_has_its_own_rate(command: Command, fabric: Path) -> None:
    """By hand for frames of 4158 B: 332.64 ns at 100 Gb/s, 166.32 ns at 200 Gb/s.

    Messages of 116 B take 9.28 and 4.64 ns; 900 ns of links and 1.5 us of switches make a loop of
    3083.84 ns, in which 11 senders bring 12.5 B/ns each. `check` computes the same greatest pause.
    """
    fabric.write_text(FABRIC.replace("GAP", 'gap = "0 B"'), encoding="utf-8")
    said = said_of(command, "sfc", "--scenario", str(fabric))
    assert row(said, "data frames") == ("665.28 ns", "332.64 ns + 2 x 166.32 ns for 4.158 KB")
    assert row(said, "messages") == ("18.56 ns", "9.28 ns + 2 x 4.64 ns for 116 B")
    assert row(said, "loop with serialisation")[0] == "3.08384 us"
    assert row(said, "headroom with serialisation")[0] == "424.028 KB"
    assert row(said, "pause shorter than with serialisation")[0] == "39.04224 us"
    assert row(said, "loop, our bound")[0] == "3.08384 us"
    assert "shorter than 39.04224 us" in command("check", str(fabric)).err
    # An option gives one rate for all links: 3 x (332.64 + 9.28) ns.
    said = said_of(command, "sfc", "--scenario", str(fabric), "--rate", "100 Gb/s")
    assert row(said, "data frames") == ("997.92 ns", "3 links x 332.64 ns for 4.158 KB")
    assert row(said, "loop with serialisation")[0] == "3.42576 us"


@pytest.mark.parametrize(("threshold", "code"), [("64 KB", 1), ("200 KB", 0)])
def test_senders_that_share_links_are_cautioned_of(
    command: Command, fabric: Path, threshold: str, code: int
) -> None:
    """Two spines bring 400 Gb/s into the receiver's leaf: four senders of 100 Gb/s at once."""
    words = ("sfc", "--scenario", str(fabric), "--pause", "38 us", "--threshold", threshold)
    said = said_of(command, *words)
    assert said["code"] == code
    [caution] = [one for one in said["cautions"] if "shared links" in one]
    assert "of senders that share nothing but the last switch" in caution
    assert "shared links bring 4 of 12 at once" in caution
    assert "--prove" in caution
    # The sentence appears whether or not the setting is feasible.
    assert "of senders that share nothing but the last switch" in said["shown"]
    own = said_of(command, *words, "--senders", "3")
    assert not any("shared links" in one for one in own["cautions"])


@pytest.mark.parametrize(("threshold", "pauses"), [("94 KB", False), ("95 KB", True)])
def test_where_no_pause_is_legal_by_both_formulas_it_is_said(
    command: Command, fabric: Path, threshold: str, pauses: bool
) -> None:
    """Headrooms of 330 KB and 424.028 KB: up to 94.028 KB one range ends where the other begins.

    330 KB and 94 KB leave in 33.92 us, 424.028 KB in 33.92224 us.
    """
    fabric.write_text(FABRIC.replace("GAP", 'gap = "0 B"'), encoding="utf-8")
    settings = ("--set", "sfc.pause=33.95 us", "--threshold", threshold)
    said = said_of(command, "sfc", "--scenario", str(fabric), *settings)
    found = [one for one in said["problems"] if one.startswith("no pause is legal by both")]
    assert (said["code"] == 0, not found) == (pauses, pauses)
    if found:
        assert "shorter than 33.92 us, with it longer than 33.92224 us" in found[0]
        assert "a threshold above 94.028 KB (at most 315.972 KB) has such pauses" in found[0]


def test_the_gap_between_frames_takes_time_on_links(command: Command, fabric: Path) -> None:
    """20 B are 1.6 ns at 100 Gb/s and 0.8 ns at 200 Gb/s: 3.2 ns of a way, for each kind of frame.

    A loop of 3090.24 ns brings 424.908 KB. The queue has frames without gaps: ten of 334.24 ns.
    """
    said = said_of(command, "sfc", "--scenario", str(fabric))
    times = "334.24 ns + 2 x 167.12 ns for 4.158 KB and 20 B of gap"
    assert row(said, "data frames") == ("668.48 ns", times)
    assert row(said, "messages")[0] == "21.76 ns"
    assert row(said, "loop with serialisation")[0] == "3.09024 us"
    assert row(said, "headroom with serialisation")[0] == "424.908 KB"
    # (11 x 10 + 1) x 4158 B.
    assert row(said, "headroom, our bound")[0] == "461.538 KB"
