"""The command as people and scripts use it: help, data, errors, exit codes, signals."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from syrupy.assertion import SnapshotAssertion

import backwater
from backwater.cli.describe import Listable
from backwater.errors import Interrupted
from backwater.numbers.metrics import metric
from kit.command import Command, run_apart, start
from kit.scenarios import LOSSY
from kit.tree import ROOT

SCENARIO = ROOT / "studies" / "sfc-aidc-2025" / "scenario.toml"
COMMANDS = [
    "run",
    "compare",
    "why",
    "jobs",
    "export",
    "deck",
    "check",
    "explain",
    "list",
    "reproduce",
    "bench",
    "new",
    "schema",
]
HELP = [[], *([name] for name in COMMANDS), ["advise"], ["advise", "sfc"], ["advise", "pfc"]]


@pytest.mark.parametrize("path", HELP, ids=lambda path: " ".join(path) or "backwater")
def test_help(path: list[str], command: Command, snapshot: SnapshotAssertion) -> None:
    said = command(*path, "--help", code=0)
    assert said.err == ""
    assert said.out == snapshot


BAD_INPUT = {
    "no file": ["run"],
    "missing file": ["run", "nowhere.toml"],
    "directory": ["run", "."],
    "unknown command": ["simulate"],
    "unknown option": ["run", "small.toml", "--sed", "1"],
    "set without value": ["run", "small.toml", "--set", "switch.buffer"],
    "unknown key": ["run", "small.toml", "--set", "swich.buffer=400 KB"],
    "unknown variant": ["run", "small.toml", "--variant", "nope"],
    "negative seed": ["run", "small.toml", "--seed", "-1"],
    "two kinds of seed": ["run", "small.toml", "--seed", "1", "--seeds", "2"],
    "seeds backwards": ["run", "small.toml", "--seeds", "5..1"],
    "seeds not a number": ["run", "small.toml", "--seeds", "many"],
    "no seeds": ["run", "small.toml", "--seeds", "0"],
    "json into nowhere": ["run", "small.toml", "--json", "nowhere/out.json"],
    "json onto a directory": ["run", "small.toml", "--json", "."],
    "out is a file": ["run", "small.toml", "--out", "small.toml"],
    "out is in use": ["run", "small.toml", "--out", "."],
    "unknown study": ["reproduce", "sfc-2025"],
    "unknown case": ["reproduce", "sfc-aidc-2025", "--case", "12"],
    "unknown key in a study": ["reproduce", "sfc-aidc-2025", "--set", "swich.buffer=400 KB"],
    "unknown list": ["list", "switches"],
    "unknown key to explain": ["explain", "pfc.xof"],
    "new over a file": ["new", "small.toml"],
    "binary": ["check", "binary.toml"],
    "advice without senders": ["advise", "sfc"],
    "advice in no unit": ["advise", "sfc", "--senders", "3", "--rate", "200"],
    "advice without an incast": ["advise", "sfc", "--scenario", "alone.toml"],
    "advice with --set alone": ["advise", "sfc", "--senders", "3", "--set", "seed=1"],
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input(
    case: str, command: Command, small: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    alone = small.read_text(encoding="utf-8").partition("[[flow]]")[0]
    (tmp_path / "alone.toml").write_text(alone, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    said = command(*BAD_INPUT[case], code=2)
    assert said.out == ""
    assert "Traceback" not in said.err
    assert said.err.replace(str(tmp_path), "DIR") == snapshot
    assert sorted(tmp_path.iterdir()) == before, "bad input must write nothing"
    assert small.read_text(encoding="utf-8") == backwater.new_scenario()


def test_run_keeps_its_results(command: Command, small: Path) -> None:
    said = command("run", str(small), code=0)
    assert "results: results/small" in said.err
    run = backwater.open_run("results/small")
    assert run.status == "done"
    assert run.fingerprint
    assert run.flows.num_rows > 0
    again = command("run", str(small))
    assert "results: results/small-2" in again.err, "earlier results are never replaced unasked"


def test_run_replaces_results_only_when_told(command: Command, small: Path) -> None:
    command("run", str(small), "--out", "here", code=0)
    other = ("run", str(small), "--seed", "2", "--out", "here")
    command(*other, code=2)
    command(*other, "--force", code=0)


def test_json_is_all_there_is_on_stdout(command: Command, small: Path) -> None:
    said = command("run", str(small), "--seed", "3", "--json", "-")
    report = json.loads(said.out)
    assert report["seed"] == 3
    assert report["status"] == "done"
    assert report["groups"][0]["fct_last_ack_us"]["mean"] > 0


def test_same_seed_same_fingerprint(command: Command, small: Path) -> None:
    reports = [json.loads(command("run", str(small), "--json", "-").out) for _ in range(2)]
    assert reports[0]["fingerprint"] == reports[1]["fingerprint"]


def test_seeds_repeat_a_run(command: Command, small: Path) -> None:
    command("run", str(small), "--seeds", "4..6", "--json", "seeds.json", "--out", "o", code=0)
    repeated = json.loads(Path("seeds.json").read_text(encoding="utf-8"))
    assert [report["seed"] for report in repeated["runs"]] == [4, 5, 6]
    assert {row["n"] for row in repeated["statistics"]} == {3}
    assert backwater.open_run("o/seed-5").seed == 5


def test_scenario_from_stdin(small: Path, tmp_path: Path) -> None:
    text = small.read_text(encoding="utf-8")
    done = run_apart("check", "-", "--json", "-", input=text, cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["values"]


def test_check_tells_every_value_and_its_origin(command: Command, small: Path) -> None:
    said = command("check", str(small), "--json", "-")
    values = json.loads(said.out)["values"]
    assert all(value.keys() >= {"key", "value", "origin"} for value in values)
    assert "default" in {value["origin"] for value in values}


CASES = {
    "8": ("sfc.pause", "30 us"),
    "8'": ("sfc.pause", "50 us"),
    "9": ("sfc.pause", "3 us"),
    "10": ("sfc.threshold", "260 KB"),
}


@pytest.mark.parametrize("case", CASES)
def test_illegal_sfc_settings_run_with_a_warning(case: str, tmp_path: Path) -> None:
    key, value = CASES[case]
    run = (
        backwater.load(SCENARIO)
        .variant("pfc-sfc")
        .set(key, value)
        .set("stop.at", "10 us")
        .run(out=tmp_path / "out")
    )
    said_before = [one for one in run.warnings if one["kind"] == "setting"]
    assert [(one["key"], one["value"]) for one in said_before] == [(key, value)]
    assert run.warnings == backwater.open_run(tmp_path / "out").warnings


def test_advice_from_a_scenario(command: Command) -> None:
    study = ["advise", "sfc", "--scenario", str(SCENARIO), "--variant", "pfc-sfc", "--json", "-"]
    said = command(*study, code=0)
    # By the document's formula 6 us are legal; by the bound they are not.
    assert "caution: by our bound a pause of 6 us is shorter than 6.55824 us" in said.err
    own = json.loads(said.out)
    same = command(
        *["advise", "sfc", "--senders", "3", "--threshold", "200 KB", "--pause", "6 us"],
        *["--packet", "4064 B", "--json", "-"],
    )
    assert own["headroom_bytes"] == json.loads(same.out)["headroom_bytes"] == 120_000
    # The study's messages are shorter than those of the default.
    assert own["with_serialisation"]["headroom_bytes"] == 144_768
    six = command(*study, "--senders", "6", code=1)
    assert json.loads(six.out)["headroom_bytes"] == 300_000
    assert "at most 80 KB" in six.err
    late = command(*study, "--set", "sfc.pause=30 us", code=1)
    assert "a pause of 30 us is not shorter" in late.err


def test_pfc_s_advice_from_a_scenario(command: Command, tmp_path: Path) -> None:
    """A scenario and options give the same advice; an option overrides the scenario."""
    scenario = tmp_path / "star.toml"
    scenario.write_text(
        '[topology]\nkind = "star"\nhosts = 3\nrate = "100 Gb/s"\nlink_delay = "2 us"\n'
        '[packet]\npayload = "1 KB"\n[pfc]\nxoff = "100 KB"\nresponse = "1 us"\n',
        encoding="utf-8",
    )
    given = ["--rate=100 Gb/s", "--link-delay=2 us", "--packet=1062 B", "--response=1 us"]
    known = command("advise", "pfc", "--scenario", str(scenario), "--json", "-")
    asked = command("advise", "pfc", *given, "--json", "-")
    assert known.code == asked.code == 0
    assert json.loads(known.out)["rows"] == json.loads(asked.out)["rows"]
    shown = command("advise", "pfc", "--scenario", str(scenario), "--rate", "40 Gb/s").out
    assert "PFC headroom of a port and class in this simulator, 40 Gb/s and 2 us" in shown
    assert f"From {scenario}: link delay, packet, response, gap." in shown.replace("\n", " ")


def test_a_key_is_explained_as_check_prints_it(command: Command) -> None:
    values = json.loads(command("check", str(SCENARIO), "--json", "-").out)["values"]
    keys = [value["key"] for value in values if value["key"].endswith(".size")]
    assert {"flow.incast.size", "flow.victim.size"} <= set(keys)
    assert command("explain", "flow.incast.size").out == command("explain", "flow.size").out
    facts = json.loads(command("explain", "flow.incast.size", "--json", "-").out)
    assert facts["source"]
    assert facts["range"] == "at least 1 B"


def test_the_summary_of_a_run_fits_into_80_columns(command: Command, small: Path) -> None:
    lines = command("run", str(small)).out.splitlines()
    totals = [line for line in lines if "ports paused:" in line or "simulated" in line]
    assert len(totals) == 2
    assert all(len(line) < 80 for line in totals)


def test_new_writes_a_scenario_that_runs(command: Command) -> None:
    command("new", "fresh.toml", code=0)
    command("check", "fresh.toml", code=0)
    assert command("new", "-").out == Path("fresh.toml").read_text(encoding="utf-8")
    command("new", "fresh.toml", "--force", code=0)


def test_the_new_scenario_says_of_its_pause_what_advise_says(command: Command) -> None:
    command("new", "fresh.toml")
    options = ("--scenario", "fresh.toml", "--variant", "sfc", "--json", "-")
    rows = json.loads(command("advise", "sfc", *options).out)["rows"]
    known = {row["name"]: (float(row["value"]), row["unit"]) for row in rows if row["unit"]}
    text = Path("fresh.toml").read_text(encoding="utf-8")
    comment = text.partition("--variant sfc` merges")[2].partition("[variant")[0]
    document, own = (float(number) for number in re.findall(r"([\d.]+) us", comment))
    assert known["pause longer than"] == (document, "us")
    least, unit = known["pause at least, our bound"]
    assert (round(least, 2), unit) == (own, "us")


def test_schema_is_json(command: Command) -> None:
    assert "$schema" in json.loads(command("schema").out)


@pytest.mark.parametrize("what", list(Listable))
def test_list(what: str, command: Command) -> None:
    entries = json.loads(command("list", what, "--json", "-").out)
    assert entries
    text = command("list", what).out
    if what != Listable.METRICS:
        assert all(entry["name"] in text for entry in entries)


@pytest.mark.parametrize("what", [Listable.METRICS, Listable.FAULTS])
def test_lists_of_metrics_and_faults(
    what: str, command: Command, snapshot: SnapshotAssertion
) -> None:
    assert command("list", what).out == snapshot


def test_every_metric_is_asked_for_as_its_list_says(command: Command) -> None:
    parts = {"STATISTIC": "mean", "[:GROUP]": ":a", "[:JOB]": ":a", "[:JOB[/STEP]]": ":a/b"}
    parts |= {"[:CLASS]": ":3", "[:KIND]": ":cnp"}
    for entry in json.loads(command("list", "metrics", "--json", "-").out):
        name = entry["name"]
        for part, text in parts.items():
            name = name.replace(part, text)
        assert metric(name).quantity.text == entry["summary"]


@pytest.mark.usefixtures("undrawn")
def test_a_report_is_no_other_kind_of_file(command: Command, small: Path) -> None:
    command("run", f"{small}", "--out", "r", code=0)
    for name in ("x.md", "x.pdf", "x.HTML.txt"):
        said = command("report", "r", "-o", name, code=2)
        assert f"-o {name}: a report is HTML" in said.err
        assert "hint: a name that ends with .html" in said.err
        assert not Path(name).exists()
    for name in ("x.HTM", "x"):
        command("report", "r", "-o", name, code=0)


def test_what_became_of_flows_is_said(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY, encoding="utf-8")
    said = command("run", str(path))
    assert "hot: 3 flows are not finished" in said.out
    assert "`transport.recovery` is none" in " ".join(said.out.split())
    said = command("run", str(path), "--set", "transport.retries=3")
    assert "transport.retries = 3: without effect" in said.err
    said = command("run", str(path), "--set", "transport.retries=unlimited")
    assert "transport.retries = unlimited: without effect" in said.err
    said = command("run", str(path), "--set", "transport.recovery=selective-repeat", "--force")
    assert "hot: slowdown" in said.out
    assert "not finished" not in said.out
    said = command("run", str(path), "--seeds", "2", "--set", "transport.recovery=go-back-n")
    assert "mean_slowdown" in said.out
    assert "…" not in said.out


def test_our_own_fault_ends_in_one_message(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("backwater.cli.runs.run_jobs", fail)
    said = command("run", str(small), code=1)
    assert "error: Backwater is at fault" in said.err
    assert "hint: please report" in said.err
    assert "Traceback" not in said.err


def test_a_panic_in_rust_ends_in_one_message(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pyo3 derives its exception from BaseException, too.
    panic = type("PanicException", (BaseException,), {})

    def fail(*_: object) -> None:
        raise panic("index out of bounds")

    monkeypatch.setattr("backwater.cli.runs.run_jobs", fail)
    said = command("run", str(small), code=1)
    assert "error: Backwater is at fault: PanicException: index out of bounds" in said.err
    assert "hint: please report" in said.err
    assert "Traceback" not in said.err


def test_debugging_shows_where_it_happened(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BACKWATER_DEBUG", "1")
    monkeypatch.setattr("backwater.cli.runs.run_jobs", None)
    said = command("run", str(small), code=1)
    assert "Traceback" in said.err
    assert "error: Backwater is at fault: TypeError" in said.err


def test_closed_pipe_is_quiet(small: Path, tmp_path: Path) -> None:
    process = start("check", str(small), cwd=tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert "Broken" not in said
    assert "Traceback" not in said


def _long(tmp_path: Path) -> subprocess.Popen[str]:
    """Start a run of many seconds, and wait until it has closed a part of a table."""
    sizes = ["--set", "flow.incast.size=100 GB", "--set", "pfc.signal=timed", "--variant", "pfc"]
    process = start("run", str(SCENARIO), *sizes, "--out", "out", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("out/control/part-*.parquet")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "stopped"), (signal.SIGTERM, 143, "stopped by SIGTERM")],
)
def test_an_interrupted_study_says_how_to_go_on(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    code: int,
    word: str,
) -> None:
    """The command in the hint has the same case, seeds, values and directory."""
    asked = []

    def interrupted(*arguments: object, **options: object) -> None:
        del options["progress"]
        seeds = cast("Callable[[tuple[int, ...], int], tuple[int, ...]]", options.pop("seeds"))
        asked.append((arguments, seeds((1, 2, 3), 1), options))
        raise Interrupted([], number)

    monkeypatch.setattr("backwater.study.reproduce", interrupted)
    said = command(
        "reproduce",
        "sfc-aidc-2025-training",
        *("--seeds", "2", "--case", "pipeline", "--set", "switch.buffer=4 MB", "--full"),
        code=code,
    )
    assert f"{word}; what was simulated by then is in " in said.err
    [hint] = [line for line in said.err.splitlines() if line.startswith("hint: ")]
    program, *again = shlex.split(hint.partition("to continue: ")[2])
    assert program == "backwater"
    command(*again)
    first, second = asked
    assert first == second


def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    process = _long(tmp_path)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; what was simulated by then is in out" in said
    run = backwater.open_run(tmp_path / "out")
    assert run.status == "interrupted"
    assert run.fingerprint
    assert "unfinished" in run.flows["state"].to_pylist()
    assert run.ports.num_rows > 0


@pytest.mark.parametrize("delay_ms", [0, 20, 50, 100, 200, 400])
@pytest.mark.parametrize("arguments", [["--help"], ["run", str(SCENARIO), "--out", "out"]])
def test_ctrl_c_while_it_starts_is_quiet(
    arguments: list[str], delay_ms: int, tmp_path: Path
) -> None:
    """Ctrl-C ends the command at any moment from the program's first line on.

    No program controls the interpreter before that line, so the signal is blocked until then: in
    this thread, and so in the process that it starts.
    """
    if arguments[0] == "run":
        arguments = [*arguments, "--set", "flow.incast.size=100 GB"]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = start(*arguments, cwd=tmp_path)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    time.sleep(delay_ms / 1000)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert "Traceback" not in said
    if process.returncode != 0 or arguments[0] == "run":  # The help may have been printed by then.
        assert process.returncode == 130
        assert said.startswith("stopped") or "\nstopped" in said


def test_ctrl_c_is_ignored_where_the_starter_ignores_it(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = start("list", "mechanisms", cwd=tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "")
    assert "sfc" in out


def test_ctrl_c_within_a_command_of_this_process(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("backwater._core.explain", interrupt)
    said = command("explain", "pfc.xoff")
    assert (said.code, "Traceback" in said.err) == (130, False)


@pytest.mark.parametrize(
    "arguments", [["--version"], ["run", "--help"], ["explain", "pfc"], ["check", str(SCENARIO)]]
)
def test_what_runs_nothing_loads_no_heavy_library(arguments: list[str], tmp_path: Path) -> None:
    loaded = run_apart(*arguments, cwd=tmp_path, check=True, python=("-X", "importtime")).err
    assert "backwater.cli" in loaded
    assert "pyarrow" not in loaded


def test_killed_run_is_readable(tmp_path: Path) -> None:
    process = _long(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    run = backwater.open_run(tmp_path / "out")
    assert run.status == "running"
    assert run.fingerprint is None
    assert run.control.num_rows > 0
    assert backwater.parse(run.manifest["scenario"]).check() is not None
