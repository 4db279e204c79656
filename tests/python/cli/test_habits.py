"""First and frequent uses: no arguments, examples, --watch, Tab, an editor's schema."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from rich.text import Text

import backwater
from backwater.cli import START
from backwater.cli.output import message
from backwater.cli.runs import _scaled, _short
from backwater.cli.watching import differences
from backwater.examples import names, shipped
from backwater.wording import prefixed, three
from kit.command import Command, run_python, start
from kit.tree import ROOT


@pytest.mark.usefixtures("undrawn")
def test_without_arguments_three_commands_are_named_that_work(command: Command) -> None:
    said = command()
    assert said.out == START + "\n"
    # Like any other unknown command.
    assert said.code == 2
    assert said.err == ""
    commands = re.findall(r"^  backwater (.*?)  ", said.out, re.MULTILINE)
    assert [line.split()[0] for line in commands] == ["new", "run", "report"]
    for line in commands:
        done = command(*line.split(), code=0)
    assert Path("results/first/report.html").exists() or "html" in done.err + done.out


def test_every_scenario_of_the_tree_is_shipped_and_listed(command: Command) -> None:
    there = sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml"))
    assert names() == there
    listed = json.loads(command("list", "scenarios", "--json", "-").out)
    assert [one["name"] for one in listed] == there
    assert all(one["summary"] for one in listed)
    by_name = {one["name"]: one["variants"] for one in listed}
    assert by_name["ring-deadlock"] == ["sfc", "sfc-proxy", "watchdog"]


@pytest.mark.parametrize("name", names())
def test_a_copy_of_a_shipped_scenario_is_whole(name: str, command: Command) -> None:
    command("new", "--from", name, code=0)
    copy, own = Path(f"{name}.toml"), ROOT / "scenarios" / f"{name}.toml"
    assert tomllib.loads(copy.read_text("utf-8")) == tomllib.loads(own.read_text("utf-8"))
    assert "scenarios/" + name not in copy.read_text("utf-8"), "comments name the copy"
    for table in shipped(name).tables:
        assert Path(table).read_bytes() == (ROOT / "scenarios" / table).read_bytes()
    assert backwater.load(copy).check() == backwater.load(own).check()


def test_a_copy_replaces_nothing_unasked(command: Command) -> None:
    unknown = command("new", "--from", "ring-deadlok")
    assert (unknown.code, unknown.out) == (2, "")
    assert "did you mean ring-deadlock?" in unknown.err
    command("new", code=2)
    Path("poisson-star.csv").write_text("mine\n", encoding="utf-8")
    said = command("new", "mine.toml", "--from", "poisson-star", code=2)
    assert said.err.startswith("error: poisson-star.csv: exists already\nhint: ")
    assert Path("poisson-star.csv").read_text(encoding="utf-8") == "mine\n"
    assert not Path("mine.toml").exists()
    command("new", "mine.toml", "--from", "poisson-star", "--force", code=0)
    command("run", "mine.toml", code=0)
    shown = command("new", "-", "--from", "poisson-star")
    assert shown.out == shipped("poisson-star").text
    assert "poisson-star.csv" in shown.err


def next_pass(process: subprocess.Popen[str]) -> str:
    """Return stderr up to the end of a pass."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("watching"):
            break
    return "".join(lines)


def test_a_watched_scenario_runs_again_when_it_is_saved(small: Path, tmp_path: Path) -> None:
    process = start("run", small.name, "--watch", cwd=tmp_path)
    try:
        first = next_pass(process)
        assert "results: results/small-watch" in first
        one = backwater.open_run(tmp_path / "results" / "small-watch").fingerprint
        text = small.read_text(encoding="utf-8")
        small.write_text(text.replace("[pfc]", "[pcf]"), encoding="utf-8")
        broken = next_pass(process)
        assert "unknown" in broken
        assert "hint: " in broken
        # Many editors save like this: another file takes the name.
        fresh = small.with_suffix(".new")
        changed = re.sub(r'(?m)^xoff = ".*?"', 'xoff = "300 KB"', text)
        assert changed != text
        fresh.write_text(changed, encoding="utf-8")
        fresh.replace(small)
        mended = next_pass(process)
        assert re.search(r"^pfc\.xoff: .* -> 300 KB", mended, re.MULTILINE)
        assert re.search(r"^victim: mean completion time .* -> .* us \(", mended, re.MULTILINE)
        two = backwater.open_run(tmp_path / "results" / "small-watch").fingerprint
        assert one != two
        assert two == backwater.load(small).run().fingerprint
    finally:
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in rest
    assert not (tmp_path / "results" / "small-watch-2").exists()


def test_of_files_that_belong_together_each_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "f.txt").write_text("1\n0 1 3 100 5000 2.0\n")
    (tmp_path / "t.txt").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    process = start("run", "f.txt", "t.txt", "--watch", cwd=tmp_path)
    try:
        assert "watching f.txt and t.txt: it runs again when one of" in next_pass(process)
        (tmp_path / "t.txt").write_text("3 1 2\n2\n0 2 50Gbps 1us 0\n1 2 50Gbps 1us 0\n")
        assert "100 Gb/s -> 50 Gb/s" in next_pass(process)
    finally:
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    "others",
    [["--seeds", "2"], ["--json", "-"], ["--until", "1 us", "--save", "f"], ["--capture", "all"]],
)
def test_watching_excludes_what_it_cannot_do(
    others: list[str], command: Command, small: Path
) -> None:
    said = command("run", str(small), "--watch", *others)
    assert (said.code, said.out) == (2, "")
    assert "and --watch exclude each other" in said.err


def test_watching_takes_a_file_that_is_there(command: Command) -> None:
    assert "there is no such file" in command("run", "nowhere.toml", "--watch").err
    command("run", "-", "--watch", code=2)


def test_differences_of_values_are_told() -> None:
    before = {"pfc.xoff": "340 KB", "pfc.xon": "240 KB", "sfc.pause": "6 us"}
    after = {"pfc.xoff": "300 KB", "pfc.xon": "240 KB", "ecn.kmin": "5 KB"}
    told = ["pfc.xoff: 340 KB -> 300 KB", "sfc.pause: 6 us -> none", "ecn.kmin: none -> 5 KB"]
    assert list(differences(before, after)) == told
    many = {f"k{number}": "1" for number in range(40)}
    assert list(differences({}, many)) == ["40 values changed"]


TABS = {
    "backwater new --from ring": ["ring-deadlock"],
    "backwater run scenario.toml --variant pfc-s": ["pfc-sfc"],
    "backwater run --set pfc.xo": ["pfc.xoff=", "pfc.xon=", "pfc.xon_offset="],
    "backwater run --set switc": ["switch."],
    "backwater run --with sf": ["sfc", "sfc_tofino2"],
    "backwater compare --metric max_c": ["max_cct"],
    "backwater compare --metric unf": ["unfinished", "unfinished_jobs"],
    "backwater reproduce uec": ["uec-2025"],
    "backwater explain pfc.xof": ["pfc.xoff"],
    "backwater list sc": ["scenarios"],
    "backwater wh": ["why"],
}


def test_a_shell_completes_words(tmp_path: Path) -> None:
    study = ROOT / "studies" / "sfc-aidc-2025" / "scenario.toml"
    shutil.copy(study, tmp_path / "scenario.toml")
    found = {}
    for line in TABS:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        words["_BACKWATER_COMPLETE"] = "complete_bash"
        program = "from backwater.__main__ import script; script()"
        done = run_python("-c", program, env=os.environ | words, cwd=tmp_path)
        assert done.err == ""
        found[line] = done.out.split()
    assert found == TABS


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


ERROR = "error: a.toml:3:1: pfc.xof: unknown key\n   |\n 3 | xof = 1\n   | ^^^\nhint: `xoff`?"


def test_errors_have_colours_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def told(stream: io.StringIO) -> str:
        monkeypatch.setattr(sys, "stderr", stream)
        message(ERROR, "results: here")
        return stream.getvalue()

    plain = f"{ERROR}\nresults: here\n"
    coloured = told(Terminal())
    assert "\x1b[1;31merror\x1b[0m" in coloured
    assert "\x1b[1;31m^^^\x1b[0m" in coloured
    assert "\x1b[1;36mhint\x1b[0m" in coloured
    assert Text.from_ansi(coloured).plain.rstrip("\n") == plain.rstrip("\n")
    assert told(io.StringIO()) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert told(Terminal()) == plain


@pytest.mark.parametrize(
    ("unit", "value", "written", "of"),
    [
        ("ps", 10_370_000_000, "10.37", "ms"),
        ("ps", 4.2e12, "4.2", "s"),
        ("us", 12_500_000.0, "12.5", "s"),
        ("B", 18_024_400, "18.0244", "MB"),
        ("us", 476.641, "476.641", "us"),
        ("", 123_456_789, "123.5 M", ""),
        ("", 9_999_999, "9999999", ""),
    ],
)
def test_large_numbers_have_human_units(unit: str, value: float, written: str, of: str) -> None:
    numbers = dict.fromkeys(("mean", "min", "max"), value)
    row = {"quantity": f"time_{unit}", "unit": unit, "std": 0.0, "ci_low": None, "ci_high": None}
    scaled = _scaled(row | numbers)
    assert (_short(scaled["mean"]), scaled["unit"]) == (written, of)
    assert scaled["quantity"] == (f"time_{unit}" if of == unit else "time")


def test_no_number_is_a_power_of_ten(command: Command) -> None:
    assert [prefixed(number) for number in (1.5e7, 2.5e10, -3e12)] == ["15 M", "25 G", "-3 T"]
    assert [three(number) for number in (0.00123, 2.951, 1234.0)] == ["0.00123", "2.95", "1230"]
    command("new", "--from", "poisson-star")
    said = command("run", "poisson-star.toml", "--seeds", "2", code=0)
    assert re.search(r"^run +time +us ", said.out, re.MULTILINE)
    assert not re.search(r"\de[+-]\d", said.out)


def test_the_schema_accepts_what_the_command_accepts() -> None:
    """An editor marks only mistakes: nothing in a good scenario or in its variants."""
    schema = jsonschema.Draft202012Validator(json.loads(backwater.schema()))
    files = [*ROOT.glob("scenarios/*.toml"), *ROOT.glob("studies/*/scenario.toml")]
    assert len(files) > 25
    for file in files:
        found = list(schema.iter_errors(tomllib.loads(file.read_text(encoding="utf-8"))))
        assert found == [], f"{file.name}: {found[0].json_path}: {found[0].message}"
    content = tomllib.loads(backwater.new_scenario())
    for path, value in [
        (("pfc", "xof"), "1 KB"),
        (("variant", "sfc", "pfc"), True),
        (("variant", "sfc", "flow"), {"incast": {"sise": "1 KB"}}),
        (("pfc",), False),
    ]:
        bad = json.loads(json.dumps(content))
        place = bad
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = value
        assert not schema.is_valid(bad), path


@pytest.mark.parametrize(
    ("given", "said", "unsaid"),
    [
        (("export", "run", "--format", "ns3"), "perhaps --to;", "--force"),
        (("run", "x.toml", "--sed", "3"), "perhaps --seed", "--force"),
        (("compare", "a", "b", "--figure"), "its options: --set, --with,", "perhaps"),
        (("run", "x.cm", "--command", "y"), "import FILE --command …` has it", "perhaps"),
        (("run", "x.json", "--memory", "1 MB"), "import FILE --memory …` has it", "perhaps"),
    ],
)
def test_an_unknown_option_names_one_that_may_be_meant(
    command: Command, given: tuple[str, ...], said: str, unsaid: str
) -> None:
    done = command(*given, code=2)
    assert said in done.err
    assert unsaid not in done.err
