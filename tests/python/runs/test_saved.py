"""Saved runs: they continue as if never stopped, or with other values, which results record."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater import saving
from backwater.errors import InputError, ResultError
from backwater.results import load_run
from backwater.saved import Part, SavedRun, write
from backwater.wording import simulated
from kit.command import Command
from kit.scenarios import flow, star
from kit.tree import ROOT

STAR = f"""{star(6, title="Four to one")}
[switch]
buffer = "400 KB"
buffer_per = "ingress"
[ecn]
kmin = "20 KB"
kmax = "80 KB"
[pfc]
xoff = "60 KB"
[dcqcn]
{flow("1..4", "h0", "400 KB", "incast")}
[[flow]]
label = "background"
pattern = "random"
size = "30 KB"
arrivals = "poisson"
load = "30 %"
until = "100 us"
[output]
interval = "5 us"
flows = true
"""
TABLES = ("flows", "control", "series", "ports", "counters", "switches")


@pytest.fixture
def four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "star.toml"
    path.write_text(STAR, encoding="utf-8")
    return path


def rows(run: backwater.Run) -> dict[str, Any]:
    return {name: run.read(name).to_pylist() for name in TABLES}


@pytest.mark.parametrize("until", ["0 s", "1 us", "50 us", "120 us"])
def test_a_run_goes_on_as_if_it_had_not_stopped(four: Path, until: str) -> None:
    case = backwater.load(four)
    case.save("there.run", until, seed=3)
    again = backwater.resume("there.run").run()
    whole = case.run(seed=3)
    assert rows(again) == rows(whole)
    assert again.summary == whole.summary
    assert again.warnings == whole.warnings
    assert again.manifest["scenario"] == whole.manifest["scenario"]
    assert "changed" not in again.manifest


def test_saved_twice_and_into_a_directory(four: Path) -> None:
    case = backwater.load(four)
    case.save("there.run", "20 us")
    backwater.resume("there.run").save("there.run", "60 us")
    assert backwater.resume("there.run").time_ps == 60_000_000
    again = backwater.resume("there.run").run("results")
    whole = case.run()
    assert rows(load_run(Path("results"))) == rows(again) == rows(whole)
    assert case.run(out="results").directory == Path("results"), "it is the run of that scenario"


def test_a_run_that_is_saved_on_its_way_is_the_same_run(four: Path) -> None:
    case = backwater.load(four)
    run = case.run(out="on-its-way", save="last.run", every="30 us")
    whole = case.run()
    assert rows(run) == rows(whole)
    assert run.summary == whole.summary
    last = backwater.resume("last.run")
    assert last.time_ps % 30_000_000 == 0
    assert last.time_ps > 60_000_000
    assert rows(last.run()) == rows(whole)


def test_a_value_counts_from_the_time_on_and_the_result_says_so(four: Path) -> None:
    case = backwater.load(four)
    case.save("there.run", "40 us")
    saved = backwater.resume("there.run")
    fork = saved.set("pfc.xoff", "30 KB").run("fork")
    plain, other = case.run(), case.set("pfc.xoff", "30 KB").run()
    assert fork.manifest["changed"] == [{"from_ps": 40_000_000, "set": {"pfc.xoff": "30 KB"}}]
    assert len({run.fingerprint for run in (fork, plain, other)}) == 3
    until = [row for row in rows(plain)["control"] if row["time_ps"] <= 40_000_000]
    assert until == [row for row in rows(fork)["control"] if row["time_ps"] <= 40_000_000]
    for taken in (case, case.set("pfc.xoff", "30 KB")):
        with pytest.raises(InputError, match="holds a run of another"):
            taken.run(out="fork")
    assert saved.set("pfc.xoff", "30 KB").run("fork").fingerprint == fork.fingerprint
    with pytest.raises(InputError, match="values were changed during it"):
        saved.run("fork")


@pytest.mark.parametrize(
    ("tables", "key", "value"),
    [
        ("[pfc]\nxoff = '60 KB'\n", "pfc.xoff", "30 KB"),
        ("[pause]\nxoff = '60 KB'\n", "pause.xoff", "30 KB"),
        ("[ecn]\nkmin = '20 KB'\nkmax = '80 KB'\n[dcqcn]\n", "ecn.kmax", "20 KB"),
        ("[ecn]\nkmin = '20 KB'\nkmax = '80 KB'\n[dcqcn]\n", "dcqcn.cnp_interval", "4 us"),
        (
            "[ecn]\nkmin = '20 KB'\nkmax = '80 KB'\n[dcqcn]\nlaw = 'ns3'\n",
            "dcqcn.decrease_interval",
            "20 us",
        ),
        ("[ecn]\nkmin = '20 KB'\nkmax = '80 KB'\n[dctcp]\n", "dctcp.g", "1.0"),
        (
            "[ecn]\nkmin = '20 KB'\nkmax = '80 KB'\n[dctcp]\nlaw = 'ns3'\n",
            "dctcp.g",
            "1.0",
        ),
        ("[sfc]\nthreshold = '30 KB'\n", "sfc.threshold", "60 KB"),
        ("[qcn]\n", "qcn.cp_qsp", "10 KB"),
        (
            "[bcn]\nqeq = '30 KB'\nqsc = '100 KB'\nsample = '30 KB'\njitter = '5 KB'\n",
            "bcn.qeq",
            "10 KB",
        ),
        ("[swift]\n", "swift.base_target", "5 us"),
        ("[timely]\n", "timely.t_low", "5 us"),
        ("[hpcc]\n", "hpcc.eta", "0.5"),
        ("[hpcc]\ntelemetry = 'pint'\n", "hpcc.eta", "0.5"),
    ],
)
def test_a_parameter_of_each_mechanism_takes_effect(
    tmp_path: Path, tables: str, key: str, value: str
) -> None:
    head, tail = STAR.split("[ecn]")[0], "[[flow]]" + STAR.split("[[flow]]", 1)[1]
    case = backwater.parse(head + tables + tail)
    case.save(tmp_path / "there.run", "30 us")
    saved = backwater.resume(tmp_path / "there.run")
    plain, fork = saved.run(), saved.set(key, value).run()
    assert plain.fingerprint == case.run().fingerprint
    assert fork.fingerprint != plain.fingerprint


# Four flows share two spines. With a window of two packets, a flow waits after each two.
SPINES = f"""
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
rate = "100 Gb/s"
link_delay = "500 ns"
[switch]
buffer_per = "none"
[transport]
window = "8192 B"
[spray]
order = "random"
{flow("0..3", "4..7", "1 MB")}
"""


@pytest.mark.parametrize(
    ("text", "until", "key", "value"),
    [
        (SPINES, "20 us", "spray.order", "round-robin"),
        (SPINES.replace('[spray]\norder = "random"', "[flowlet]"), "20 us", "flowlet.gap", "1 us"),
        ((ROOT / "scenarios/ci-victim.toml").read_text(), "5 us", "ci.high", "20 KB"),
    ],
    ids=["spray", "flowlet", "ci"],
)
def test_a_parameter_of_what_moves_packets_elsewhere_takes_effect(
    tmp_path: Path, text: str, until: str, key: str, value: str
) -> None:
    case = backwater.parse(text)
    case.save(tmp_path / "there.run", until)
    saved = backwater.resume(tmp_path / "there.run")
    plain, fork = saved.run(), saved.set(key, value).run()
    assert plain.fingerprint == case.run().fingerprint
    assert fork.fingerprint != plain.fingerprint


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("topology.hosts", "7", "what was saved rests on it"),
        ("switch.buffer", "1 MB", "what was saved rests on it"),
        ("seed", "9", "what was saved rests on it"),
        ("flow.0.size", "1 MB", "what was saved rests on it"),
        ("dcqcn", "false", "mechanisms stay as they are"),
        ("dcqcn.flows.classes", "[3]", "is no parameter"),
        ("pfc.signal", "ideal", "what it claims, needs or adds"),
        ("pfc.classes", "[4]", "classes"),
        ("dcqcn.law", "ns3", "what it claims, needs or adds"),
        ("pfc.counter", "egress", "cannot change while a run is under way"),
        ("ecn.weight", "0.5", "was not when"),
    ],
)
def test_what_cannot_change_is_refused(four: Path, key: str, value: str, said: str) -> None:
    backwater.load(four).save("there.run", "40 us")
    with pytest.raises(backwater.ScenarioError) as raised:
        backwater.resume("there.run").set(key, value).run()
    text = str(raised.value)
    assert said in text
    assert "hint: " in text
    assert key.split(".")[0] in text


def test_a_damaged_file_is_refused_whatever_has_changed(four: Path) -> None:
    backwater.load(four).save("there.run", "40 us")
    content = Path("there.run").read_bytes()
    dice = random.Random(1)
    damaged = Path("damaged.run")
    for _ in range(300):
        mutated = bytearray(content)
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(mutated))
            match dice.randrange(4):
                case 0:
                    mutated[at] ^= 1 << dice.randrange(8)
                case 1:
                    del mutated[at:]
                case 2:
                    del mutated[at : at + dice.randint(1, 9)]
                case _:
                    mutated[at:at] = dice.randbytes(dice.randint(1, 9))
            if not mutated:
                break
        if bytes(mutated) == content:
            continue
        damaged.write_bytes(mutated)
        with pytest.raises(InputError, match=r"^damaged.run: (is|there)"):
            SavedRun.open(damaged)


def sealed(header: dict[str, Any], rest: bytes) -> bytes:
    import hashlib

    body = json.dumps(header).encode() + b"\n" + rest
    return b"backwater saved run 1\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def test_a_state_that_is_no_state_is_refused(four: Path) -> None:
    """The file has a correct hash: the simulator itself must find the defect."""
    backwater.load(four).save("there.run", "40 us")
    saved = SavedRun.open(Path("there.run"))
    header, state = {**saved.header, "parts": []}, saved.state()
    for length in range(0, len(state), len(state) // 60):
        Path("cut.run").write_bytes(sealed({**header, "state": length}, state[:length]))
        with pytest.raises(backwater.ScenarioError, match="does not fit its scenario"):
            backwater.resume("cut.run").run()


def test_another_build_is_refused(four: Path) -> None:
    backwater.load(four).save("there.run", "40 us")
    saved = SavedRun.open(Path("there.run"))
    header = {**saved.header, "parts": []}
    header["build"] = {**header["build"], "build": "0" * 12}
    Path("other.run").write_bytes(sealed(header, saved.state()))
    with pytest.raises(InputError, match="was saved by another build"):
        backwater.resume("other.run")


@pytest.mark.usefixtures("four")
def test_the_command(command: Command) -> None:
    saved = command("run", "star.toml", "--until", "40 us", "--save", "there.run", code=0)
    assert "saved at 40 us: there.run" in saved.err
    assert not Path("results").exists(), "there are no results yet"
    again = command("run", "--from", "there.run", "--json", "-", "--out", "again")
    whole = command("run", "star.toml", "--json", "-", "--out", "whole")
    told = [json.loads(one.out) | {"directory": ""} for one in (again, whole)]
    assert told[0] == told[1]
    fork = command("run", "--from", "there.run", "--set", "pfc.xoff=30 KB", "--out", "fork")
    assert "from 40.000 us on: pfc.xoff = 30 KB." in fork.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["star.toml", "--until", "1 us"], "--until: no file for the saved run"),
        (["star.toml", "--save", "F"], "--save: no time at which the run is saved"),
        (["star.toml", "--every", "1 us"], "--every: no file for"),
        (["star.toml", "--until", "9 s", "--save", "F"], "the run ends at"),
        (["star.toml", "--until", "x", "--save", "F"], "is not a time"),
        (["star.toml", "--until", "1 us", "--save", "no/F"], "there is no directory no"),
        (["star.toml", "--until", "1 us", "--every", "1 us", "--save", "F"], "exclude each other"),
        (
            ["star.toml", "--until", "1 us", "--save", "F", "--threads", "2"],
            "a run on several threads cannot be saved",
        ),
        (
            ["star.toml", "--until", "1 us", "--save", "F", "--capture", "all", "-o", "c.pcapng"],
            "a run whose frames are captured cannot be saved",
        ),
        (["star.toml", "--seeds", "2", "--until", "1 us", "--save", "F"], "--save and --seeds"),
        (["star.toml", "--from", "F"], "FILE and --from exclude each other"),
        (["--from", "F"], "F: there is no such file"),
        (["--from", "star.toml"], "star.toml: is not a saved run"),
        ([], "Missing argument 'FILE'."),
    ],
)
@pytest.mark.usefixtures("four")
def test_what_the_command_refuses(command: Command, arguments: list[str], said: str) -> None:
    done = command("run", *arguments, code=2)
    assert said in done.err
    assert "Traceback" not in done.err


TWO_TABLES = f"""{star(4)}
[switch]
buffer_per = "none"
[[flow]]
label = "first"
table = "a.csv"
[[flow]]
label = "second"
table = "b.csv"
"""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a scenario with two tables of flows, in a directory below the current one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "a.csv").write_text("id,src,dst,bytes,start\n0,0,3,500000,0\n")
    (folder / "b.csv").write_text("id,src,dst,bytes,start\n0,1,3,200000,5 us\n")
    scenario = folder / "tables.toml"
    scenario.write_text(TWO_TABLES)
    return scenario


def test_tables_that_have_changed_places_are_other_flows(tables: Path) -> None:
    backwater.load(tables).save("there.run", "10 us")
    folder = tables.parent
    one, other = (folder / "a.csv").read_text(), (folder / "b.csv").read_text()
    (folder / "a.csv").write_text(other)
    (folder / "b.csv").write_text(one)
    with pytest.raises(InputError, match="has changed since the run was saved"):
        backwater.resume("there.run").run()
    (folder / "a.csv").write_text(one)
    (folder / "b.csv").write_text(other)
    assert (
        backwater.resume("there.run").run().fingerprint == backwater.load(tables).run().fingerprint
    )


def test_a_table_named_twice_is_one_file(tables: Path) -> None:
    tables.write_text(TWO_TABLES.replace('"b.csv"', '"./a.csv"'))
    backwater.load(tables).save("there.run", "10 us")
    assert (
        backwater.resume("there.run").run().fingerprint == backwater.load(tables).run().fingerprint
    )


def test_a_run_of_a_matrix_goes_on_from_anywhere(tables: Path) -> None:
    head = TWO_TABLES.split("[[flow]]")[0]
    (tables.parent / "m.csv").write_text("src,dst,weight\n0,1,1\n1,2,1\n3,0,2\n")
    tables.write_text(
        head
        + '[[flow]]\nlabel = "m"\npattern = "matrix"\nmatrix = "m.csv"\nsize = "20 KB"\n'
        + 'arrivals = "poisson"\nload = "40 %"\nuntil = "50 us"\n'
    )
    backwater.load(tables).save("there.run", "10 us")
    assert (
        backwater.resume("there.run").run().fingerprint == backwater.load(tables).run().fingerprint
    )


def test_a_run_that_is_there_is_done_again_to_be_saved(command: Command, four: Path) -> None:
    command("run", str(four), "--out", "there", code=0)
    command("run", str(four), "--out", "there", "--save", "s.run", "--every", "20 us", code=0)
    assert Path("s.run").is_file()


@pytest.mark.parametrize(
    "options",
    [
        ("--until", "20 us", "--save", "s.run", "--out", "there"),
        ("--until", "20 us", "--save", "s.run", "--force"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    command: Command, four: Path, options: tuple[str, ...]
) -> None:
    said = command("run", str(four), *options, code=2)
    assert "exclude each other" in said.err
    assert not Path("s.run").exists()


def test_options_of_a_capture_do_not_go_with_from(command: Command, four: Path) -> None:
    backwater.load(four).save("there.run", "20 us")
    said = command("run", "--from", "there.run", "--capture-snap", "64 B", code=2)
    assert "--capture-snap and --from exclude each other" in said.err


def test_a_quoted_key_is_the_key(four: Path) -> None:
    backwater.load(four).save("there.run", "20 us")
    with pytest.raises(backwater.ScenarioError, match="is no parameter"):
        backwater.resume("there.run").set('dcqcn."preset"', "ns3-hpcc").run()


def test_no_time_is_beyond_the_last(four: Path) -> None:
    case = backwater.load(four)
    run = case.run(save="s.run", every="8640000 s")
    assert run.fingerprint == case.run().fingerprint


def test_a_save_that_fails_leaves_the_one_before_and_the_run_goes_on(
    command: Command, four: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, whole = backwater.load(four), backwater.load(four).run()
    times: list[int] = []
    failing = {2, 3}

    def full(path: Path, facts: dict[str, Any], state: bytes, parts: list[Part]) -> None:
        times.append(facts["time_ps"])
        if len(times) in failing:
            raise ResultError(f"{path}: cannot save the run: No space left on device")
        write(path, facts, state, parts)

    monkeypatch.setattr(saving, "write", full)
    run = case.run(save="s.run", every="30 us")
    assert times == [30_000_000 * n for n in range(1, len(times) + 1)]
    assert len(times) > 3
    assert rows(run) == rows(whole)
    assert backwater.resume("s.run").time_ps == times[-1]
    assert run.warnings == whole.warnings, "the last save has not failed"

    times.clear()
    failing |= set(range(2, 100))
    said = command(
        "run", "star.toml", "--save", "t.run", "--every", "100 us", "--out", "there", code=0
    )
    expected = "t.run: cannot save the run: No space left on device, at {}; "
    expected += "t.run has it as it was at 100.000 us"
    for late in times[1:]:
        assert f"warning: {expected.format(simulated(late))}\n" in said.err
    assert backwater.resume("t.run").time_ps == 100_000_000
    found = load_run(Path("there")).warnings[-1]
    assert (found["kind"], found["failure"]) == ("save", False)
    assert found["message"] == expected.format(simulated(times[-1]))


def test_a_link_stays_and_what_it_leads_to_is_replaced(four: Path) -> None:
    Path("real.run").write_bytes(b"")
    Path("link.run").symlink_to("real.run")
    backwater.load(four).save("link.run", "20 us")
    assert Path("link.run").is_symlink()
    assert backwater.resume("real.run").time_ps == 20_000_000


@pytest.mark.parametrize("name", ["/proc/x.run", "a" * 300 + ".run", "none/x.run"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_simulated(
    four: Path, name: str
) -> None:
    case = backwater.load(four)
    with pytest.raises(InputError) as there:
        case.save(name, "20 us")
    with pytest.raises(InputError) as on_its_way:
        case.run(save=name, every="20 us")
    assert there.value.hint is not None
    assert on_its_way.value.hint is not None


def test_what_a_killed_save_left_is_removed_by_the_next(four: Path) -> None:
    left = [Path(f".s.run.0123456{n}.tmp") for n in range(2)]
    others = [Path(f".{name}.tmp") for name in ("s.run.mine", "t.run.01234567", "s.run.2.01234567")]
    for file in left + others:
        file.write_bytes(b"half")
        os.utime(file, (0, 0))
    fresh = Path(".s.run.89abcdef.tmp")
    fresh.write_bytes(b"being written by somebody")
    backwater.load(four).save("s.run", "20 us")
    assert [file.exists() for file in left] == [False, False]
    assert all(file.exists() for file in [*others, fresh])


@pytest.mark.parametrize("every", ["0 s", "1 ps", "999999 ps"])
def test_a_run_is_not_saved_more_often_than_it_can_be(four: Path, every: str) -> None:
    with pytest.raises(InputError, match="less than 1 us of simulated time"):
        backwater.load(four).run(save="s.run", every=every)


def test_a_long_name_of_wide_characters_is_a_name(four: Path) -> None:
    name = "\U0001f30a" * 60 + ".run"
    backwater.load(four).save(name, "20 us")
    assert backwater.resume(name).time_ps == 20_000_000


def test_a_saved_run_that_is_replaced_meanwhile_is_told(four: Path) -> None:
    case = backwater.load(four)
    case.save("there.run", "20 us")
    resumed = backwater.resume("there.run")
    case.save("there.run", "30 us")
    with pytest.raises(InputError, match="another run was saved there meanwhile"):
        resumed.run()


@pytest.mark.usefixtures("undrawn")
def test_a_run_with_values_changed_on_the_way_stands_for_no_scenario(
    command: Command, four: Path
) -> None:
    case = backwater.load(four)
    case.save("there.run", "40 us")
    backwater.resume("there.run").set("pfc.xoff", "30 KB").run("fork")
    for words in (["compare", "fork", "star.toml", "--seeds", "2"], ["why", "fork"]):
        said = command(*words)
        assert said.code == 2, words
        changed = "values changed during the run (from 40.000 us on: pfc.xoff = 30 KB)"
        assert f"fork: {changed}" in said.err
    command("report", "fork", "-o", "fork.html", code=0)
    page = Path("fork.html").read_text(encoding="utf-8")
    assert "from 40.000 us on: pfc.xoff = 30 KB." in page


@pytest.mark.parametrize("every", [True, False])
def test_a_saved_run_takes_the_place_of_no_other_file(
    command: Command, four: Path, every: bool
) -> None:
    backwater.load(four).run(out="there")
    Path("notes.txt").write_text("mine", encoding="utf-8")
    part = next(Path("there/flows").iterdir())
    how = ("--every", "20 us") if every else ("--until", "40 us")
    for target in (four, Path("notes.txt"), part, Path("there/manifest.json")):
        before = target.read_bytes()
        said = command("run", str(four), *how, "--save", str(target))
        assert said.code == 2, target
        assert target.read_bytes() == before
        with pytest.raises(InputError, match=r"exists already, and is not a saved|part of a dir"):
            backwater.load(four).save(target, "40 us")
    command("run", str(four), *how, "--save", "-", code=2)
    assert not Path("-").exists()
    assert not Path("results").exists(), "nothing has been run or written"


def test_a_stopped_run_says_from_where_it_goes_on_and_is_not_begun_anew(
    command: Command, four: Path
) -> None:
    long = four.read_text(encoding="utf-8").replace("400 KB", "40 MB").replace("100 us", "20 ms")
    four.write_text(long, encoding="utf-8")
    words = ("run", "star.toml", "--save", "s.run", "--every", "100 us", "--out", "there")

    def stop(status: backwater.Status) -> None:
        if status.time_ps > 250_000_000:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(backwater.Interrupted):
        backwater.load(four).run(out="there", save="s.run", every="100 us", progress=stop)
    saved = backwater.resume("s.run").time_ps
    before = Path("s.run").read_bytes()
    said = command(*words, code=2)
    assert f"s.run: holds this run, saved at {simulated(saved)}" in said.err
    assert "--from s.run" in said.err
    with pytest.raises(InputError, match="holds this run"):
        backwater.load(four).run(out="there", save="s.run", every="100 us")
    assert Path("s.run").read_bytes() == before
