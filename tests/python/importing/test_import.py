"""Files of other tools: imported, refused, and run in place of a scenario."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import backwater
from backwater.errors import InputError, ResultError
from backwater.import_files import imported
from kit.command import Command
from kit.tree import ROOT

FILES = ROOT / "crates/backwater-import/tests/files/htsim"
UEC = "htsim_uec -end 1000 -sender_cc_only"
RCCC = "htsim_uec -end 1000 -receiver_cc_only"
BOTH = "htsim_uec -end 1000 -sender_cc -receiver_cc"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to the test's directory, with the user's cache in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def ends(scenario: Path) -> list[str]:
    """Return the end of each flow, in us, to six digits as htsim prints them."""
    flows = backwater.load(scenario).run().flows.sort_by("flow_id").to_pylist()
    return [f"{(flow['start_ps'] + flow['fct_last_ack_ps']) / 1e6:.6g}" for flow in flows]


# Ends of ten messages of one connection, in us, as printed by htsim_uec.
TEN_MESSAGES = [
    *("18.0067", "20.6627", "24.6467", "27.3027", "31.2867"),
    *("33.9427", "37.9267", "40.5827", "44.5667", "46.8907"),
]


# Output of htsim_uec of uet-htsim at 40ccb05: the published results of its validate files.
@pytest.mark.parametrize(
    ("name", "command", "expected"),
    [
        ("one", UEC, ["176.2"]),
        ("chain", UEC, ["29.9416", "59.8832", "89.8248"]),
        ("bidir", UEC, ["176.804", "176.804"]),
        ("test_cr_1f1m10p", UEC, ["17.0107"]),
        ("test_cr_1f10m10p", UEC + " -conn_reuse", TEN_MESSAGES),
        ("one", RCCC, ["177.368"]),
        ("one", BOTH, ["177.368"]),
        ("test_cr_1f1m10p", RCCC, ["17.0107"]),
        (
            "test_cr_1f10m10p",
            RCCC + " -conn_reuse",
            [*TEN_MESSAGES[:7], "40.2507", "44.2347", "46.8907"],
        ),
    ],
)
def test_flows_without_congestion_end_when_htsims_do(
    name: str, command: str, expected: list[str]
) -> None:
    done = backwater.import_(FILES / f"{name}.cm", f"{name}.toml", command=command)
    assert done.kinds == ["htsim-cm"]
    assert ends(done.path) == expected


def test_a_serial_all_to_all_runs_to_its_end_in_the_order_of_its_triggers() -> None:
    done = backwater.import_(FILES / "alltoall_serial_16n.cm", "serial.toml", command=UEC)
    flows = backwater.load(done.path).run().flows.to_pylist()
    assert [flow["state"] for flow in flows] == ["complete"] * 240
    # In each of the file's 16 chains, a flow starts when the sender of the one before has got its
    # last acknowledgement.
    started = {flow["flow_id"] % 2**40: flow["start_ps"] for flow in flows}
    ended = {flow["flow_id"] % 2**40: flow["start_ps"] + flow["fct_last_ack_ps"] for flow in flows}
    firsts = [number for number, start in started.items() if start == 0]
    assert len(firsts) == 16
    for first in firsts:
        for number in range(first + 1, first + 15):
            assert started[number] == ended[number - 1]


def test_the_command_says_what_it_has_left_out(command: Command) -> None:
    shutil.copy(FILES / "one.cm", "one.cm")
    done = command("import", "one.cm", "--command", f"{UEC} -qa_gate 2", code=0)
    assert "--command: ignored: -qa_gate 2: the gate of quick adapt is an eighth" in done.err
    assert "one.toml: written; `backwater run one.toml` runs it" in done.err
    assert sorted(path.name for path in Path().iterdir()) == ["one.cm", "one.flows.csv", "one.toml"]
    again = command("import", "one.cm", code=2)
    assert "one.toml: exists already" in again.err
    command("import", "one.cm", "--force", code=0)


def test_options_and_fractions_that_are_not_taken_over_are_told(
    command: Command, tmp_path: Path
) -> None:
    matrix = "Nodes 16\nConnections 1\n1->0 id 1 msg start 1.5 size 20000\n"
    (tmp_path / "f.cm").write_text(matrix, encoding="utf-8")
    line = "htsim_uec -end 500 -seed 7"
    said = command("import", "f.cm", "--command", line, "--out", "f.toml", code=0)
    for told in ("ignored: -end 500", "ignored: -seed 7", "f.cm:3: differs: starts are whole"):
        assert told in said.err
    [start] = backwater.load(tmp_path / "f.toml").run().flows["start_ps"].to_pylist()
    assert start == 1_000_000


def test_notes_name_all_that_they_are_about(command: Command, tmp_path: Path) -> None:
    flows = "".join(f"0->{n} start {n}.5 size 1000\n" for n in range(1, 31, 2))
    matrix = f"Nodes 54\nConnections 15\n{flows}"
    (tmp_path / "f.cm").write_text(matrix, encoding="utf-8")
    line = "htsim_uec -Ai 1 -Md 2 -alpha 3"
    said = command(
        "import", "f.cm", "--command", line, "--out", "f.toml", "--json", "notes.json", code=0
    )
    told = "--command: ignored: -Ai 1, -Md 2, -alpha 3: constants of pulls that slow down"
    assert told in said.err
    whole = "f.cm:3: differs: starts are whole microseconds, as htsim_uec reads them: what is"
    assert whole in said.err
    assert "(and lines 4-17)" in said.err
    notes = json.loads(Path("notes.json").read_text(encoding="utf-8"))["notes"]
    [starts] = [note for note in notes if note["text"].startswith("starts are whole")]
    assert (starts["line"], starts["lines"]) == (3, list(range(3, 18)))


def test_run_and_check_take_a_matrix_as_it_is(command: Command) -> None:
    shutil.copy(FILES / "one.cm", "one.cm")
    checked = command("check", "one.cm", code=0)
    assert "one.cm: assumed: no program is named: transport and queues" in checked.err
    command("run", "one.cm", "--out", "there", code=0)
    assert backwater.open_run("there").flows["bytes"].to_pylist() == [2_000_000]
    command("compare", "one.cm", "one.cm,ack.bytes=64 B", "--out", "both", code=0)
    # The table is where the scenario beside the results names it.
    command("run", "there/scenario.toml", "--out", "again", code=0)


# Two servers of two GPUs, their messages, and the program's configuration.
SIMAI = {
    "workload.txt": "MICRO all_gpus: 4\n1\nexchange -1 1 NONE 0 1 NONE 0 1 ALLTOALL 65536 1\n",
    "topology.txt": "9 2 2 3 10 H100\n4 5 6 7 8\n"
    "0 4 2880Gbps 25ns 0\n1 4 2880Gbps 25ns 0\n2 5 2880Gbps 25ns 0\n3 5 2880Gbps 25ns 0\n"
    "0 6 400Gbps 500ns 0\n1 7 400Gbps 500ns 0\n2 6 400Gbps 500ns 0\n3 7 400Gbps 500ns 0\n"
    "6 8 400Gbps 500ns 0\n7 8 400Gbps 500ns 0\n",
    "SimAI.conf": "CC_MODE 1\nRATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nMIN_RATE 100Mb/s\nRP_TIMER 900\n"
    "FAST_RECOVERY_TIMES 1\nEWMA_GAIN 0.00390625\nENABLE_QCN 0\n",
}


def test_run_and_check_take_files_that_belong_together(command: Command) -> None:
    files = list(SIMAI)
    for name, content in SIMAI.items():
        Path(name).write_text(content)
    command("import", *files, "--out", "whole.toml", code=0)
    command("run", "whole.toml", "--out", "imported", code=0)
    checked = command("check", *files, "--json", "check.json", code=0)
    assert "workload.txt, topology.txt and SimAI.conf: good" in checked.err
    done = command("run", *files, "--out", "given", code=0)
    assert "SimAI.conf:" in done.err
    given = backwater.open_run("given")
    assert given.fingerprint == backwater.open_run("imported").fingerprint
    assert given.manifest["beside"] == ["topology.txt", "SimAI.conf"]
    # Texts about the results name all of the files.
    command("compare", "given", "given+ecn", "--out", "both", code=0)
    assert backwater.load(*files).run().fingerprint == given.fingerprint
    # A series of seeds, and the command that continues it.
    command("run", *files, "--seeds", "2", "--out", "series", code=0)


def test_a_scenario_is_given_alone(command: Command) -> None:
    """A file that ends with .toml, or stdin, is a scenario; any other is of another tool."""
    shutil.copy(FILES / "one.cm", "one.cm")
    text = (
        '[topology]\nkind = "star"\nhosts = 16\nrate = "100 Gb/s"\nlink_delay = "1 us"\n'
        '[[flow]]\nfrom = "h0"\nto = "h1"\nsize = "1 KB"\n'
    )
    for name in ("a.toml", "b.toml"):
        Path(name).write_text(text)
    for verb in ("run", "check"):
        for given, reason, hint in [
            (
                ["a.toml", "b.toml"],
                "a.toml and b.toml: are 2 scenarios, and only one can run at a time",
                "`backwater compare a.toml b.toml` runs them beside each other",
            ),
            (
                ["one.cm", "a.toml"],
                "a.toml: is a scenario, and must be alone",
                "`backwater import one.cm --fabric a.toml --out NAME.toml` makes a scenario of",
            ),
            (
                ["a.toml", "sfc"],
                "sfc: there is no such file, and a.toml is a scenario, which must be alone",
                "`--with MECHANISM`",
            ),
            (["-", "a.toml"], "-: is a scenario from stdin, and must be alone", "leave one"),
            (["one.cm", "absent.topo"], "absent.topo: there is no such file", ""),
            (["one.cm", "one.cm"], "one.cm", "hint: "),
        ]:
            done = command(verb, *given)
            assert done.code == 2, (given, done)
            assert reason in done.err, (given, done)
            assert hint in done.err, (given, done)
    # The command in the hint works.
    command("import", "one.cm", "--fabric", "a.toml", "--out", "NAME.toml", code=0)


def named_flows(size: int) -> str:
    """Return 20 flows of one size, enough for a table."""
    rows = [f"{n % 2} {1 - n % 2} 3 100 {size} 2.0" for n in range(20)]
    return "\n".join([str(len(rows)), *rows]) + "\n"


def test_files_that_an_imported_file_names_are_imported_anew(command: Command) -> None:
    control = "CC_MODE 3\nU_TARGET 0.95\nMI_THRESH 0\nRATE_AI 40Mb/s\nMIN_RATE 1000Mb/s\n"
    Path("config.txt").write_text(f"TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\n{control}")
    Path("topology.txt").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    Path("flow.txt").write_text(named_flows(1000))
    command("run", "config.txt", "--out", "first", code=0)
    first = {path: path.read_bytes() for path in Path("cache").rglob("*") if path.is_file()}
    Path("flow.txt").write_text(named_flows(2000))
    command("run", "config.txt", "--out", "second", code=0)
    assert set(backwater.open_run("first").flows["bytes"].to_pylist()) == {1000}
    assert set(backwater.open_run("second").flows["bytes"].to_pylist()) == {2000}
    # The table of the first results is unchanged, and so is their run.
    assert len(first) == 2
    assert {path: path.read_bytes() for path in first} == first
    command("run", "first/scenario.toml", "--out", "again", code=0)
    again, before = (backwater.open_run(name).flows for name in ("again", "first"))
    assert again.equals(before)
    # The same files lead to the same place.
    count = len(list(Path("cache").rglob("*")))
    command("run", "config.txt", "--out", "third", code=0)
    assert len(list(Path("cache").rglob("*"))) == count
    Path("topology.txt").write_text("3 1 2\n2\n0 2 50Gbps 1us 0\n1 2 50Gbps 1us 0\n")
    assert "50 Gb/s" in backwater.load("config.txt").resolved()


@pytest.mark.parametrize("octets", [1, 2, 3, 1000, 1002])
@pytest.mark.parametrize("control", [1, 3, 7, 10])
def test_an_imported_clock_is_the_longest_that_is_allowed(control: int, octets: int) -> None:
    """At 400 Gb/s a nanosecond takes 50 B."""
    maps = "".join(f"{key} 1 400000000000 100\n" for key in ("KMIN_MAP", "KMAX_MAP"))
    config = (
        f"TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE {control}\nU_TARGET 0.95\n"
        "MI_THRESH 0\nRATE_AI 40Mb/s\nRATE_HAI 40Mb/s\nMIN_RATE 1000Mb/s\nRP_TIMER 300\n"
        f"FAST_RECOVERY_TIMES 1\n{maps}PMAX_MAP 1 400000000000 0.2\n"
    )
    Path("config.txt").write_text(config)
    Path("topology.txt").write_text("3 1 2\n2\n0 2 400Gbps 1us 0\n1 2 400Gbps 1us 0\n")
    Path("flow.txt").write_text(f"1\n0 1 3 100 {octets} 2.0\n")
    scenario = backwater.load("config.txt")
    [clock] = [one["value"] for one in scenario.values() if one["key"] == "packet.clock"]
    assert scenario.run().flows["retransmitted"].to_pylist() == [0]
    if clock != "1 ns":
        with pytest.raises(backwater.ScenarioError, match="is no possible clock"):
            scenario.set("packet.clock", f"{int(clock.removesuffix(' ps')) + 1} ps").check()


def test_flows_behind_a_wide_trunk_end_when_they_do_in_ns3() -> None:
    """DCTCP, four flows to one host and a victim, with the times of HPCC's ns-3 code, in ns.

    That code truncates starts: the third began a nanosecond earlier.
    """
    config = (
        "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE 8\nEWMA_GAIN 0.0625\nHAS_WIN 1\n"
        "GLOBAL_T 1\nVAR_WIN 1\nRATE_AI 10Mb/s\nRATE_HAI 10Mb/s\nMIN_RATE 1000Mb/s\n"
        "DCTCP_RATE_AI 615Mb/s\nBUFFER_SIZE 32\nL2_ACK_INTERVAL 1\nPMAX_MAP 2 100000000000 1.0 "
        "400000000000 1.0\n"
    )
    maps = [f"{key} 2 100000000000 300 400000000000 1200\n" for key in ("KMIN_MAP", "KMAX_MAP")]
    Path("config.txt").write_text("".join([config, *maps]))
    hosts = [f"{host} {16 + host // 8} 100Gbps 1000ns 0\n" for host in range(16)]
    Path("topology.txt").write_text(f"18 2 17\n16 17\n{''.join(hosts)}16 17 400Gbps 1000ns 0\n")
    flows = [f"{n} 8 3 100 2000000 2.0000000{13 * n:02}\n" for n in range(4)]
    Path("flow.txt").write_text(f"5\n{''.join(flows)}4 9 3 100 2000000 2.000020000\n")
    done = backwater.load("config.txt").run().flows.sort_by("src")
    took = done["fct_last_ack_ps"].to_pylist()
    assert took == pytest.approx([669863e3, 669933e3, 670004e3, 670073e3, 172112e3], abs=1000)
    assert done["retransmitted"].to_pylist() == [0] * 5


def test_what_is_no_such_file_is_refused_with_its_line(command: Command) -> None:
    Path("bad.cm").write_text("Nodes 16\nConnections 1\n0->1 start 0 size 1 colour 3\n")
    done = command("import", "bad.cm", code=2)
    assert done.err.startswith("error: bad.cm:3: `colour`: is no word of a connection")
    assert "hint: " in done.err
    # Nothing is left behind.
    assert [path.name for path in Path().iterdir()] == ["bad.cm"]
    Path("nothing.txt").write_text("hello\n")
    done = command("import", "nothing.txt", code=2)
    assert "nothing.txt: its content is of no kind that can be imported" in done.err
    done = command("import", "absent.cm", code=2)
    assert "absent.cm: there is no such file" in done.err


def test_a_workload_runs_on_the_fabric_of_a_scenario(command: Command) -> None:
    shutil.copy(FILES / "one.cm", "one.cm")
    fabric = (
        'title = "mine"\n[topology]\nkind = "star"\nhosts = 16\n'
        'rate = "400 Gb/s"\nlink_delay = "1 us"\n'
    )
    Path("star.toml").write_text(fabric)
    command("import", "one.cm", "--fabric", "star.toml", "-o", "on-star.toml", code=0)
    assert backwater.load("on-star.toml").resolved().count('kind = "star"') == 1
    assert len(ends(Path("on-star.toml"))) == 1


def test_a_matrix_comes_back_as_it_was(command: Command) -> None:
    text = (
        "Nodes 16\nConnections 3\n"
        "0->13 id 4 start 0 size 2000000\n1->13 id 2 start 5000000 size 200\n"
        "13->5 id 7 start 40000000 size 4086\n"
    )
    Path("three.cm").write_text(text)
    # Times of an export are picoseconds by default.
    command("import", "three.cm", "--start-unit", "ps", code=0)
    command("run", "three.toml", "--out", "there", code=0)
    command("export", "there", "--to", "cm", "-o", "back.cm", code=0)
    assert Path("back.cm").read_text() == text
    # And its table, which the second import rewrites.
    before = Path("three.flows.csv").read_text()
    command("import", "back.cm", "--start-unit", "ps", code=0)
    assert Path("back.flows.csv").read_text() == before


def test_formats_are_listed(command: Command) -> None:
    done = command("list", "formats", code=0)
    assert "htsim-cm" in done.out


def test_tables_that_are_there_are_not_replaced(tmp_path: Path) -> None:
    """Their names follow from the scenario's, which does not exist yet."""
    matrix = tmp_path / "one.cm"
    matrix.write_text("Nodes 16\nConnections 1\n0->13 id 1 start 0 size 2000000\n")
    mine = tmp_path / "o.flows.csv"
    mine.write_text("my precious data")
    with pytest.raises(InputError, match=r"o\.flows\.csv: exists already"):
        backwater.import_([matrix], tmp_path / "o.toml")
    assert mine.read_text() == "my precious data"
    assert not (tmp_path / "o.toml").exists()
    backwater.import_([matrix], tmp_path / "o.toml", force=True)
    assert "my precious" not in mine.read_text()


def test_an_import_in_the_cache_that_was_changed_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    matrix = tmp_path / "one.cm"
    matrix.write_text("Nodes 16\nConnections 1\n0->13 id 1 start 0 size 2000000\n")
    first = imported([matrix]).path
    text = first.read_text()
    first.write_text(text.replace("100 Gb/s", "1 Gb/s"))
    assert imported([matrix]).path == first
    assert first.read_text() == text


def test_what_is_there_is_kept_without_force(command: Command) -> None:
    shutil.copy(FILES / "one.cm", "one.cm")
    command("import", "one.cm", code=0)
    again = command("import", "one.cm")
    assert again.code != 0
    assert "hint: give another name, or --force to replace it" in again.err
    # Another scenario whose table would replace what is there.
    shutil.move("one.toml", "other.toml")
    again = command("import", "one.cm")
    assert "hint: give the scenario another name, or --force to replace it" in again.err
    command("import", "one.cm", "--force", code=0)


def test_a_place_that_may_not_be_written_is_said_once_the_files_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the reason, whichever file system was used meanwhile."""
    monkeypatch.setattr("backwater.import_files.os.access", lambda *_: False)
    file, target = tmp_path / "a.cm", tmp_path / "there" / "new.toml"
    file.write_text("Nodes 2\nConnections 1\n0->5 id 1 start 0 size 5\n")
    with pytest.raises(backwater.ScenarioError, match=r"a\.cm"):
        backwater.import_(file, target)
    shutil.copy(FILES / "alltoall_serial_16n.cm", file)
    with pytest.raises(ResultError, match=r"new\.toml: cannot be written: Permission denied"):
        backwater.import_(file, target)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.cm"]
