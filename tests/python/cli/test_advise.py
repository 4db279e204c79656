"""Advice for scenarios that are incomplete."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kit.command import Command
from kit.scenarios import flow, incast_star
from kit.tree import ROOT

STAR = incast_star('buffer = "400 KB"', "PFC")


@pytest.mark.parametrize("mechanism", ["pfc", "ecn", "sfc"])
def test_who_asks_for_advice_may_lack_the_value(
    command: Command, tmp_path: Path, mechanism: str
) -> None:
    """The headroom does not depend on the threshold; without a limit the memory is one."""

    def asked(pfc: str, *options: str) -> dict[str, Any]:
        file = tmp_path / "star.toml"
        file.write_text(STAR.replace("PFC", pfc), encoding="utf-8")
        ran = command("advise", mechanism, "--scenario", str(file), *options, "--json", "-")
        found: dict[str, Any] = json.loads(ran.out)
        return found

    limit = [] if mechanism == "pfc" else ["--pfc-threshold", "400 KB"]
    without, given = asked(""), asked('xoff = "200 KB"\nxon = "190 KB"', *limit)
    assert [row["value"] for row in without["rows"]] == [row["value"] for row in given["rows"]]
    why = "pfc.xoff: a static threshold needs xoff; answered without it"
    assert why in without["cautions"]
    assert why not in given["cautions"]


def advice(command: Command, tmp_path: Path, text: str, *words: str) -> dict[str, Any]:
    mechanism, *options = words
    file = tmp_path / "star.toml"
    file.write_text(text, encoding="utf-8")
    ran = command("advise", mechanism, "--scenario", str(file), *options, "--json", "-")
    assert ran.out, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found | {"err": ran.err}


@pytest.mark.parametrize(
    ("pfc", "options"),
    [('response = "5 us"', []), ('signal = "ideal"', []), ("", ["--set", "pfc.xon=100 KB"])],
)
def test_what_is_there_beside_a_missing_value_is_kept(
    command: Command, tmp_path: Path, pfc: str, options: list[str]
) -> None:
    without = advice(command, tmp_path, STAR.replace("PFC", pfc), "pfc", *options)
    whole = STAR.replace("PFC", f'xoff = "200 KB"\n{pfc}')
    given = advice(command, tmp_path, whole, "pfc", *options)
    assert without["rows"] == given["rows"]
    assert "pfc.xoff: a static threshold needs xoff; answered without it" in without["cautions"]
    if "response" in pfc:
        [row] = [row for row in without["rows"] if row["name"] == "response"]
        assert (row["value"], row["unit"]) == ("5", "us")


@pytest.mark.parametrize(
    ("pfc", "reason"),
    [
        ('xoff = "20 KB"\nxon = "30 KB"', "pfc.xon"),
        ('xoff = "500 KB"', "is not below the buffer"),
        # Each override has the values of the table above it.
        (
            'xoff = "500 KB"\n[[pfc.at]]\ntier = "switch"\nresponse = "1 us"',
            "is not below the buffer",
        ),
    ],
)
def test_contradictions_are_refused_as_ever(
    command: Command, tmp_path: Path, pfc: str, reason: str
) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR.replace("PFC", pfc), encoding="utf-8")
    ran = command("advise", "pfc", "--scenario", str(file), code=2)
    assert reason in ran.err


SFC = """xoff = "200 KB"
[sfc]
threshold = "100 KB"
pause = "10 us"
"""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("", ""), True),
        # Such an incast never fills the queue beyond the threshold.
        (('size = "1 MB"', 'size = "20 KB"'), False),
        (('pause = "10 us"', 'pause = "10 us"\nclasses = [5]'), False),
    ],
)
def test_where_check_judges_no_incast_no_limit_of_it_is_told(
    command: Command, tmp_path: Path, change: tuple[str, str], says: bool
) -> None:
    text = STAR.replace("PFC", SFC).replace(*change)
    said = advice(command, tmp_path, text, "sfc")
    assert said["rows"]
    shown = command("advise", "sfc", "--scenario", str(tmp_path / "star.toml"))
    assert ("`backwater check` warns above" in shown.out) == says
    # `check` does the same.
    checked = command("check", str(tmp_path / "star.toml"), "--set", "sfc.threshold=190 KB")
    assert ("warning: sfc.threshold" in checked.err) == says


ECN = """xoff = "200 KB"
[ecn]
reference_rate = "50 Gb/s"
"""


def test_marks_to_begin_with_are_told_at_the_reference_rate(
    command: Command, tmp_path: Path
) -> None:
    """At 50 Gb/s a threshold is half of that at 100 Gb/s."""

    def quantity(name: str) -> float:
        [row] = [row for row in said["rows"] if row["name"] == f"{name} to begin with"]
        assert row["unit"] == "KB"
        return float(row["value"])

    said = advice(command, tmp_path, STAR.replace("PFC", ECN), "ecn")
    shown = " ".join(
        command("advise", "ecn", "--scenario", str(tmp_path / "star.toml")).out.split()
    )
    begin = re.search(r'kmin = "([\d.]+) KB" and kmax = "([\d.]+) KB" at the reference rate', shown)
    assert begin is not None, shown
    for name, text in zip(("kmin", "kmax"), begin.groups(), strict=True):
        assert float(text) == pytest.approx(quantity(name) / 2, abs=0.001)


def test_marks_that_come_after_pauses_are_cautioned_of(command: Command, tmp_path: Path) -> None:
    text = STAR.replace("PFC", 'xoff = "200 KB"\n[ecn]\nkmin = "210 KB"\nkmax = "220 KB"')
    said = advice(command, tmp_path, text, "ecn")
    order, short = said["cautions"]
    assert order == "ecn.kmin is 210 KB: PFC pauses from 200 KB on, before any are marked"
    # A star has one switch, and a fabric has more.
    assert short.startswith("the round trip of 3.27552 us is that of one switch and its cables")
    with_rtt = advice(command, tmp_path, text, "ecn", "--rtt", "10 us")
    assert not any("round trip" in caution for caution in with_rtt["cautions"])


def test_defaults_are_not_told_as_the_scenarios(command: Command, tmp_path: Path) -> None:
    text = STAR.replace("PFC", 'xoff = "200 KB"\n[ecn]\nkmin = "30 KB"')
    said = advice(command, tmp_path, text, "ecn")
    shown = " ".join(
        command("advise", "ecn", "--scenario", str(tmp_path / "star.toml")).out.split()
    )
    assert ", kmin." in shown
    assert "kmax." not in shown
    [caution] = [one for one in said["cautions"] if "kmax" in one]
    assert "(the default)" in caution


@pytest.mark.parametrize("kmin", ["5 KB", "5000 B"])
def test_a_given_value_is_no_default_though_it_is_the_same_number(
    command: Command, tmp_path: Path, kmin: str
) -> None:
    """5 KB is the default of ecn.kmin."""
    text = STAR.replace("PFC", f'xoff = "200 KB"\n[ecn]\nkmin = "{kmin}"')
    options = ["--set", f"ecn.kmin={kmin}"]
    bare = STAR.replace("PFC", 'xoff = "200 KB"\n[ecn]\nkmax = "30 KB"')
    for said in (
        advice(command, tmp_path, text, "ecn"),
        advice(command, tmp_path, bare, "ecn", *options),
    ):
        [caution] = [one for one in said["cautions"] if "ecn.kmin" in one]
        assert "ecn.kmin is 5 KB" in caution
    [caution] = [one for one in advice(command, tmp_path, bare, "ecn")["cautions"] if "kmin" in one]
    assert "ecn.kmin (the default) is 5 KB" in caution


FABRIC = """
[topology]
kind = "leaf-spine"
leaves = 16
spines = 4
hosts_per_leaf = 4
rate = "400 Gb/s"
link_delay = "100 ns"
[switch]
buffer = "64 MB"
headroom = "100 KB"
[pfc]
threshold = "dynamic"
[ecn]
kmin = "200 KB"
kmax = "800 KB"
"""


def test_a_dynamic_threshold_has_a_headroom_and_no_largest_xoff(
    command: Command, tmp_path: Path
) -> None:
    """For memory that is shared, and for memory of each ingress."""
    for per in ("switch", "ingress"):
        said = advice(command, tmp_path, FABRIC, "pfc", "--set", f"switch.buffer_per={per}")
        names = [row["name"] for row in said["rows"]]
        assert "headroom" in names
        assert "largest xoff" not in names
    file = str(tmp_path / "star.toml")
    shown = " ".join(command("advise", "pfc", "--scenario", file).out.split())
    assert "A dynamic threshold moves with the free memory" in shown
    assert "no largest xoff" in shown


OWN = incast_star('buffer = "400 KB"\nbuffer_per = "ingress"', 'xoff = "200 KB"')


def test_check_agrees_with_the_largest_xoff(command: Command, tmp_path: Path) -> None:
    """4158 B at 100 Gb/s over 500 ns, by hand.

    The frame takes 334.24 ns with its gap, the PFC frame 6.72 ns: 1340.96 ns with both ways. In
    that come 16681 B, with two whole frames 24997 B, which leave 375003 B of 400 KB.
    """
    rows = advice(command, tmp_path, OWN, "pfc")["rows"]
    assert (rows[-1]["name"], rows[-1]["value"]) == ("largest xoff", "375.003")
    file = str(tmp_path / "star.toml")
    for xoff, warned in ((375_003, False), (375_004, True)):
        said = command("check", file, "--set", f"pfc.xoff={xoff} B", "--set", "lossless=false")
        assert ("of headroom" in said.out + said.err) is warned


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"200 KB"\n', '"200 KB"\nclasses = [3, 4]\n', "several classes are paused"),
        ("[pfc]", 'reserve = "1 KB"\n[pfc]', "reserves or headrooms are set aside"),
        ('"200 KB"\n', '"200 KB"\ncounter = "egress"\n', "pfc.counter is not"),
        ('size = "1 MB"', 'size = "1 MB"\nclass = 0', "frames of a class that is not paused"),
        (
            "[[flow]]",
            '[[pfc.at]]\ntier = "switch"\nxoff = "100 KB"\nxon = "90 KB"\n[[flow]]',
            "switches differ",
        ),
    ],
)
def test_no_largest_xoff_where_other_things_take_of_the_memory(
    command: Command, tmp_path: Path, old: str, new: str, why: str
) -> None:
    said = advice(command, tmp_path, OWN.replace(old, new, 1), "pfc")
    assert "largest xoff" not in [row["name"] for row in said["rows"]]
    file = str(tmp_path / "star.toml")
    shown = " ".join(command("advise", "pfc", "--scenario", file).out.split())
    assert f"No largest xoff is told: {why}" in shown


MIXED = f"""
[topology]
kind = "explicit"
node = [
    {{ name = "s0", kind = "switch" }},
    {{ name = "r", kind = "host" }},
    {{ name = "h1", kind = "host" }},
    {{ name = "h2", kind = "host" }},
]
link = [
    {{ a = "r", b = "s0", rate = "100 Gb/s", delay = "2 us" }},
    {{ a = "h1", b = "s0", rate = "100 Gb/s", delay = "2 us" }},
    {{ a = "h2", b = "s0", rate = "FAST", delay = "2 us" }},
]
[switch]
buffer = "1 MB"
[transport]
recovery = "go-back-n"
[sfc]
threshold = "150 KB"
{flow(["h1", "h2"], "r", "2 MB", "in")}
"""


@pytest.mark.parametrize(("fast", "told"), [("400 Gb/s", True), ("100 Gb/s", False)])
@pytest.mark.parametrize("options", [[], ["--rate", "100 Gb/s"], ["--links", "1"]])
def test_any_sender_faster_than_the_receiver_is_told(
    command: Command, tmp_path: Path, fast: str, told: bool, options: list[str]
) -> None:
    """The slowest path has a sender at the receiver's rate."""
    said = advice(command, tmp_path, MIXED.replace("FAST", fast), "sfc", *options)
    assert any("too small here" in one for one in said["cautions"]) is told


def test_a_pause_is_judged_at_one_threshold(command: Command) -> None:
    """Three senders at 200 Gb/s in a loop of 6 us: 300 KB, or 306.984 KB with frames and messages.

    13 us are 325 KB. By the plain formula the threshold must be above 25 KB. By the other the
    largest threshold is 22.53 KB (329.514 KB less its headroom).
    """
    file = str(ROOT / "scenarios" / "ns3-incast.toml")
    for pause, code in (("13 us", 1), ("12.5 us", 0)):
        ran = command("advise", "sfc", "--scenario", file, "--with", "sfc", "--pause", pause)
        assert ran.code == code, ran.out + ran.err
        shown = " ".join(ran.out.split())
        assert "threshold, our bound 20.354 KB the largest by this bound" in shown


@pytest.mark.parametrize(
    ("response", "told"), [("", False), ('response = "0 s"', True), ('response = "1 us"', True)]
)
def test_a_response_that_nobody_gives_is_not_told_as_the_scenarios(
    command: Command, tmp_path: Path, response: str, told: bool
) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR.replace("PFC", f'xoff = "200 KB"\n{response}'), encoding="utf-8")
    shown = " ".join(command("advise", "pfc", "--scenario", str(file)).out.split())
    assert ("packet, response, gap." in shown) == told
    assert ("packet, gap." in shown) != told


def test_the_lowest_threshold_of_pfc_on_the_way_counts(command: Command, tmp_path: Path) -> None:
    """An alpha of 1/8 leaves a ninth.

    The memory is 64 MB less 8 x 100 KB at a leaf, and less 16 x 100 KB at a spine.
    """
    said = advice(command, tmp_path, FABRIC, "ecn")
    [below] = [row for row in said["rows"] if row["name"] == "threshold below"]
    assert (below["value"], below["unit"]) == ("6.933333", "MB")
    assert below["formula"].startswith("PFC threshold of spine")


def test_without_pfc_the_limit_of_sfc_is_the_memory(command: Command, tmp_path: Path) -> None:
    text = STAR.replace("[pfc]\nPFC", '[sfc]\nthreshold = "390 KB"\npause = "1 us"')
    said = advice(command, tmp_path, text, "sfc")
    [row] = [row for row in said["rows"] if row["name"] == "largest threshold"]
    assert row["formula"] == "memory 400 KB - headroom"
    words = [row["formula"] for row in said["rows"]] + said["problems"] + said["cautions"]
    assert not any("PFC" in one for one in words), words
    assert any("frames may be dropped first" in one for one in said["problems"])


def test_a_misspelt_key_is_refused_as_ever(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR.replace("PFC", 'xof = "200 KB"'), encoding="utf-8")
    ran = command("advise", "pfc", "--scenario", str(file), code=2)
    assert "xof" in ran.err


def test_flows_of_jobs_are_not_known_beforehand(command: Command, tmp_path: Path) -> None:
    """An all-to-all has many senders at once, so the advice must not claim that it has none."""
    flow = STAR[STAR.index("[[flow]]") :]
    job = """[[job]]
label = "train"
ranks = 4
[[job.step]]
label = "moe"
kind = "all-to-all"
size = "32 KB"
"""
    file = tmp_path / "star.toml"
    file.write_text(STAR.replace("PFC", 'xoff = "200 KB"').replace(flow, job), encoding="utf-8")
    ran = command("advise", "sfc", "--scenario", str(file), code=2)
    assert "which flows of jobs are there at once is not known beforehand" in ran.err
    assert "--senders" in ran.err
    assert "no flows" not in ran.err
    assert command("advise", "sfc", "--scenario", str(file), "--senders", "3").out
