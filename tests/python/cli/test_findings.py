"""Incomplete runs are reported first, by exit code and in JSON; idle mechanisms are named."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pytest

import backwater
from kit.command import Command
from kit.scenarios import LOSSY, flow, star

# Every frame from h0 is lost at once: no round can end.
JOB = f"""{star(4)}
[switch]
buffer_per = "none"
[[job]]
label = "a2a"
ranks = 4
rounds = 3
[[job.step]]
label = "x"
kind = "all-to-all"
size = "400 KB"
[[fault]]
kind = "loss"
from = "h0"
to = "s0"
probability = 1.0
"""


@pytest.fixture
def lossy(tmp_path: Path) -> str:
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY, encoding="utf-8")
    return str(path)


def test_an_incomplete_run_says_so_first(command: Command, lossy: str) -> None:
    said = command("run", lossy, "--out", "o", "--json", "o.json", code=3)
    first = said.out.splitlines()[0]
    assert first.startswith("incomplete: ")
    assert "flows unfinished: " in first
    assert "dropped for want of memory at s0, `transport.recovery` is none" in " ".join(
        said.out.splitlines()[:3]
    )
    run = backwater.open_run("o")
    told = json.loads(Path("o.json").read_text(encoding="utf-8"))
    assert told["warnings"] == run.warnings
    [found] = [one for one in run.warnings if one["kind"] == "incomplete"]
    assert found["failure"]
    assert "transport.recovery" in found["hint"]
    assert not run.complete
    # The numbers are those of the tables.
    drops = pc.sum(run.ports.column("drop_frames")).as_py()
    left = run.flows.column("state").to_pylist().count("unfinished")
    assert found["message"].startswith(f"{left} of 3 flows unfinished: {drops} frames dropped")


def test_allowed_or_asked_for_it_is_no_failure(command: Command, lossy: str) -> None:
    allowed = command("run", lossy, "--allow-unfinished", "--json", "-", code=0)
    assert "incomplete: " in allowed.err
    expected = command("run", lossy, "--set", "transport.loss=expected", "--json", "-", code=0)
    warnings = json.loads(expected.out)["warnings"]
    assert not [one for one in warnings if one["kind"] == "incomplete"]
    again = command("run", lossy, "--set", "transport.recovery=go-back-n", code=0)
    assert "incomplete" not in again.out


def test_an_end_that_was_asked_for(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(LOSSY.replace('buffer = "30 KB"', 'buffer_per = "none"'), encoding="utf-8")
    cut = command("run", str(path), "--set", "stop.at=100 us", code=0)
    assert "incomplete" not in cut.out
    # Losses that nothing repairs are reported with any end.
    path.write_text(LOSSY, encoding="utf-8")
    lost = command("run", str(path), "--set", "stop.at=100 us", code=3)
    assert "unfinished at `stop.at`: " in lost.out.splitlines()[0]


def test_rounds_of_a_job(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text(JOB, encoding="utf-8")
    said = command("run", str(path), code=3)
    line = " ".join(said.out.splitlines()[:4])
    assert line.startswith("incomplete: job a2a: 0 of 3 rounds complete; ")
    # A round has 12 transfers: the three from h0 lose their data, and the three to it their
    # acknowledgements; 24 of the other rounds never begin. 100 KB are 25 packets.
    assert "6 of 12 flows unfinished; 24 flows never began: " in line
    run = backwater.load(path).run()
    lost = pc.sum(run.ports.column("fault_frames")).as_py()
    assert f"{lost} frames lost by the fault on the link from h0 to s0" in line


@pytest.mark.usefixtures("undrawn")
def test_several_seeds(command: Command, lossy: str) -> None:
    said = command("run", lossy, "--seeds", "1..2", "--out", "o", "--json", "o.json", code=3)
    assert said.out.startswith("incomplete: 2 of 2 runs; seed 1: ")
    told = json.loads(Path("o.json").read_text(encoding="utf-8"))
    [found] = told["warnings"]
    assert (found["kind"], found["seeds"]) == ("incomplete", [1, 2])
    manifest = json.loads(Path("o/manifest.json").read_text(encoding="utf-8"))
    assert manifest["warnings"] == told["warnings"]
    command("run", lossy, "--seeds", "2", "--allow-unfinished", code=0)
    command("report", "o", "-o", "o.html", code=0)
    assert "Incomplete: 2 of 2 runs" in Path("o.html").read_text(encoding="utf-8")


def test_a_comparison_does_not_judge_by_survivors(command: Command, lossy: str) -> None:
    good = lossy.replace("lossy.toml", "good.toml")
    Path(good).write_text(LOSSY.replace('"30 KB"', '"30 MB"'), encoding="utf-8")
    said = command("compare", lossy, good, "--seeds", "2", "--json", "c.json", code=3)
    assert "lossy.toml: incomplete: 2 of 2 runs; seed 1: " in " ".join(said.out.splitlines()[:2])
    assert "A incomplete 2 of 2" in said.out
    told = json.loads(Path("c.json").read_text(encoding="utf-8"))
    assert [one["incomplete"] for one in told["scenarios"]] == [2, 0]
    rows = {row["metric"]: row for row in told["rows"]}
    assert rows["p99_fct:hot"]["scenarios"][0]["n"] == 0
    command("compare", lossy, good, "--seeds", "2", "--allow-unfinished", code=0)


@pytest.mark.usefixtures("undrawn")
def test_a_report_begins_with_it(command: Command, lossy: str) -> None:
    command("run", lossy, "--out", "o")
    command("report", "o", "-o", "o.html", code=0)
    page = Path("o.html").read_text(encoding="utf-8")
    assert "Incomplete: " in page
    assert page.index("flows unfinished: ") < page.index("flows complete in")


# One flow of 16 full frames of 4,158 B (4,096 and 62) over links of one rate: the switch holds two
# frames at most, 8,316 B. 400 KB is far.
IDLE = f"""{star(3)}
[switch]
buffer = "1 MB"
buffer_per = "ingress"
[pfc]
xoff = "400 KB"
[ecn]
kmin = "100 KB"
kmax = "200 KB"
[dcqcn]
preset = "paper"
{flow(1, 0, "65536 B")}
"""


@pytest.mark.usefixtures("undrawn")
def test_a_mechanism_that_never_acted_is_named_with_its_margin(
    command: Command, tmp_path: Path
) -> None:
    path = tmp_path / "idle.toml"
    path.write_text(IDLE, encoding="utf-8")
    said = command("run", str(path), "--out", "o", code=0)
    text = " ".join(said.out.split())
    assert "`pfc` never paused a neighbour: peak " in text
    assert " of 400 KB (most bytes of a class from one port, at s0)" in text
    assert "`ecn` never marked a packet: peak " in text
    assert "`dcqcn` never lowered a rate" in text
    run = backwater.open_run("o")
    assert run.complete
    idle = {one["mechanism"]: one["message"] for one in run.warnings}
    assert idle.keys() == {"pfc", "ecn", "dcqcn"}
    # The peak is that of the one class in the ports table.
    most = pc.max(run.ports.column("max_ingress_bytes")).as_py()
    peak = idle["pfc"].partition("peak ")[2].partition(" of")[0]
    assert 4158 <= most <= 2 * 4158
    assert float(peak.split()[0]) * 1000 == pytest.approx(most)
    # With a threshold below it PFC acts, and is not reported as idle.
    acted = backwater.load(path).set("pfc.xoff", "1 KB").run()
    assert "pfc" not in {one.get("mechanism") for one in acted.warnings}
    command("report", "o", "-o", "o.html", code=0)
    assert "never paused a neighbour" in Path("o.html").read_text(encoding="utf-8")


def test_what_was_not_done_is_that_of_the_law_in_use() -> None:
    star = {"kind": "star", "hosts": 2, "rate": "100 Gb/s", "link_delay": "500 ns"}
    flow = [{"from": 0, "to": 1, "size": "10 KB"}]
    for law, said in (("rfc8257", "never narrowed a window"), ("ns3", "never lowered a rate")):
        scenario = {"topology": star, "flow": flow, "ecn": {}, "dctcp": {"law": law}}
        run = backwater.build(scenario).run()
        idle = {one.get("mechanism"): one["message"] for one in run.warnings}
        assert idle["dctcp"].startswith(f"`dctcp` {said}")


def test_check_warns_of_losses_that_nothing_repairs(command: Command, lossy: str) -> None:
    said = command("check", lossy)
    assert "transport.recovery = none: s0 drops frames of class 3" in said.err
    for cure in ("transport.loss=expected", "transport.recovery=go-back-n"):
        assert "nothing sends them again" not in command("check", lossy, "--set", cure).err
    kept = command("check", lossy, "--set", "switch.buffer_per=none")
    assert "nothing sends them again" not in kept.err
    faulty = command("check", lossy, "--set", "switch.buffer_per=none", "--set", FAULT)
    assert "`fault.0` loses frames, and nothing sends them again" in faulty.err
    # A pause prevents losses from full memory, not those of a link that is down.
    assert "a mechanism that pauses before memory is full" in said.err
    assert "a mechanism that pauses" not in faulty.err


FAULT = 'fault=[{kind="link-down", at="1 us", a="h1", b="s0"}]'


def test_a_lossless_scenario_keeps_every_class(command: Command, tmp_path: Path) -> None:
    """Acknowledgements of a class without PFC share the memory of the class with PFC."""
    path = tmp_path / "acks.toml"
    path.write_text("lossless = true\n" + IDLE, encoding="utf-8")
    command("check", str(path), code=0)
    bad = command("check", str(path), "--set", "ack.class=0", code=2)
    assert "ack.class" in bad.err
    assert "acknowledgements travel in class 0: at s0 only class 3 is kept" in bad.err
    command("check", str(path), "--set", "ack.class=0", "--set", "pfc.classes=[0, 3]", code=0)
    data = command("check", str(path), "--set", "flow.0.class=4", code=2)
    assert "data travels in class 4" in data.err


@pytest.mark.usefixtures("undrawn")
def test_a_job_that_never_ends_is_a_failure_though_losses_are_expected(
    command: Command, tmp_path: Path
) -> None:
    path = tmp_path / "job.toml"
    path.write_text(JOB + '[transport]\nrecovery = "none"\nloss = "expected"\n', encoding="utf-8")
    said = command("run", str(path), "--out", "o", code=3)
    assert said.out.splitlines()[0].startswith("incomplete: job a2a: 0 of 3 rounds complete; ")
    assert "stop.at" in said.err
    # A later reader of the results gets the warning, too.
    for words in (("report", "o"), ("jobs", "o")):
        told = command(*words, code=0)
        assert "ncomplete: job a2a: 0 of 3 rounds complete" in told.err
    command("run", str(path), "--set", "stop.at=10 us", code=0)
