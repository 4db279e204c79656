"""Output files: only an earlier product of the same kind is replaced."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import backwater
from kit.command import Command

# Files that people keep beside scenarios, with names that do not show their kind.
OWN: dict[str, bytes] = {
    "scen": backwater.new_scenario().encode(),
    "A.TOML": b"[topology]\nkind = 'star'\n",
    "[names].json": b'["a table"]\nkey = 1\n',
    "flows": b"id,src,dst,bytes,start\n1,0,2,10000,0\n",
    "t.PARQUET": b"PAR1 and more",
    "page.html": b"<!DOCTYPE html>\n<title>my own page</title>\n",
    "theirs.pcapng": b"\x0a\x0d\x0d\x0a" + b"\0" * 40 + b"Dumpcap 4.2",
    "notes": "a note: ½\n".encode("latin-1"),
    "data.json": b'[{"begun": ',
}
KINDS = {
    "JSON": ("explain", "pfc.xoff", "--json"),
    "report by Backwater": ("report", "r", "-o"),
    "capture by Backwater": ("pcap", "sample"),
    "scenario": ("new", "--force"),
}


@pytest.fixture
def run_there(made_run: Path, tmp_path: Path) -> None:
    shutil.copytree(made_run, tmp_path / "r")


@pytest.fixture(scope="module")
def made_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "r"
    backwater.parse(backwater.new_scenario()).run(out=out)
    return out


@pytest.mark.usefixtures("run_there")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_such_product_stays(kind: str, command: Command) -> None:
    for name, content in OWN.items():
        if kind == "scenario" and b"topology" in content:
            continue
        Path(name).write_bytes(content)
        Path("link").unlink(missing_ok=True)
        Path("link").symlink_to(name)
        for target in (name, "link"):
            said = command(*KINDS[kind], target)
            assert (said.code, said.out) == (2, ""), target
            assert said.err.startswith(
                f"error: {target}: exists, is no {kind}, and would be replaced\nhint: name "
            )
        assert Path(name).read_bytes() == content


@pytest.mark.usefixtures("run_there", "undrawn")
@pytest.mark.parametrize("kind", KINDS)
def test_an_earlier_product_is_replaced(kind: str, command: Command) -> None:
    Path("x").touch()
    for _ in range(2):
        command(*KINDS[kind], "x", code=0)
    for other in KINDS.values():
        if other != KINDS[kind]:
            command(*other, "x", code=2)


def test_what_a_command_reads_is_not_written_over(command: Command) -> None:
    """An input is kept, whatever its name, and even by another name."""
    Path("odd.json").write_text(backwater.new_scenario())
    command("pcap", "sample", "cap.json", code=0)
    for words in (
        ("run", "odd.json"),
        ("check", "odd.json"),
        ("why", "odd.json"),
        ("compare", "odd.json", "odd.json+sfc,sfc.threshold=50KB"),
        ("advise", "sfc", "--scenario", "odd.json"),
        ("pcap", "show", "cap.json"),
    ):
        read = Path(words[-1] if words[0] != "compare" else words[1])
        Path("other.json").unlink(missing_ok=True)
        Path("other.json").hardlink_to(read if read.exists() else "odd.json")
        own = Path("other.json").read_bytes()
        said = command(*words, "--json", "other.json")
        assert (said.code, said.out) == (2, ""), (words, said.err)
        assert "error: other.json: is an input of the command, and would be" in said.err, words
        assert Path("other.json").read_bytes() == own


def test_json_that_is_too_long_for_a_scenario_is_known_by_its_ends(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backwater.cli.targets.LONGEST", 10)
    for content, code in (('{"frames": [1, 2, 3]}\n', 0), ("{ = what is this? = \n", 2)):
        Path("x.json").write_text(content)
        command("explain", "pfc.xoff", "--json", "x.json", code=code)
    assert Path("x.json").read_text().startswith("{ =")


def test_the_commands_own_stdout_and_stderr_may_be_any_file(tmp_path: Path) -> None:
    """With `> out.csv` the shell has emptied the file, or keeps it on request."""
    out, err = tmp_path / "out.csv", tmp_path / "err.toml"
    for file in (out, err):
        file.write_text("kept = 1\n")
    explain = (sys.executable, "-m", "backwater", "explain", "pfc.xoff", "--json")
    for target, read in (("/dev/stdout", out), (str(out), out), ("/dev/stderr", err)):
        with out.open("ab") as stdout, err.open("ab") as stderr:
            subprocess.run((*explain, target), stdout=stdout, stderr=stderr, check=True)
        said = read.read_text(encoding="utf-8").removeprefix("kept = 1\n")
        assert json.JSONDecoder().raw_decode(said)[0]["key"] == "pfc.xoff"
        assert read.read_text().startswith("kept = 1\n")


@pytest.mark.usefixtures("undrawn")
def test_figures_take_the_place_of_figures_alone(command: Command, small: Path) -> None:
    command("run", str(small), "--out", "r", code=0)
    report = ("report", "r", "-o", "r.html", "--figures", "figures")
    command(*report, code=0)
    command(*report, code=0)
    for name in ("completion.svg", "completion.png", "completion.pdf"):
        path = Path("figures", name)
        before = path.read_bytes()
        path.write_text("my own")
        said = command(*report, code=2)
        assert said.err.startswith(f"error: {path}: exists, is no {path.suffix[1:].upper()}")
        assert path.read_text() == "my own"
        path.write_bytes(before)


def test_what_a_scenario_among_results_leads_to_stays(command: Command, small: Path) -> None:
    command("run", str(small), "--out", "r", code=0)
    Path("r/scenario.toml").rename("mine.toml")
    Path("r/scenario.toml").symlink_to("../mine.toml")
    before = Path("mine.toml").read_bytes()
    said = command("run", str(small), "--set", "seed=2", "--out", "r", "--force", code=2)
    assert said.err.startswith("error: r/scenario.toml: is a link")
    assert Path("mine.toml").read_bytes() == before


@pytest.mark.usefixtures("run_there")
@pytest.mark.parametrize(
    "asked",
    [
        ("new", "there/new.toml"),
        ("check", "{small}", "--json", "there/check.json"),
        ("run", "{small}", "--json", "there/run.json"),
        ("report", "r", "-o", "there/page.html"),
        ("run", "{small}", "--out", "there/run"),
    ],
)
def test_what_may_not_be_written_ends_every_command_alike(
    asked: tuple[str, ...], command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("there").mkdir()

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # The user of the tests may have all permissions.
    monkeypatch.setattr("backwater.cli.targets.os.access", lambda *_: False)
    monkeypatch.setattr(Path, "mkdir", refused)
    said = command(*(part.format(small=small) for part in asked), code=1)
    assert "ermission denied" in said.err
    assert not list(Path("there").iterdir())


# A wrong input of each command that writes, followed by its output: the directory `d`, which cannot
# be an output.
WRONG = {
    "run broken.toml --json d": "broken.toml:12:2: topologie",
    "run bad.toml --json d": "bad.toml",
    "run bad.toml --capture leaf0 -o d": "bad.toml",
    "run good.toml --set switch.bufer=1MB --figure d/x/a.svg": "--set switch.bufer",
    "run --from good.toml --json d": "good.toml",
    "check broken.toml --json d": "broken.toml",
    "check bad.toml --json d": "bad.toml",
    "compare broken.toml broken.toml@v --json d": "broken.toml",
    "compare bad.toml good.toml@nothing --json d": "good.toml: variant",
    "compare good.toml --json d": "compare: needs two or more",
    "why broken.toml --json d": "broken.toml",
    "why bad.toml --json d": "bad.toml",
    "sweep broken.toml --vary seed=1,2 --json d": "broken.toml",
    "sweep good.toml --vary switch.bufer=1MB,2MB --figure d/x/a.svg": "--vary switch.bufer",
    "advise sfc --scenario broken.toml --json d": "broken.toml",
    "explain pfc.xof --json d": "`pfc` has no key",
    "query d --json d": "d: ",
    "status d --json d": "d: ",
    "jobs d --json d": "d: ",
    "report nothing -o d": "nothing: neither a directory",
    "report d -o d": "d: not a result directory",
    "report d --figures good.toml": "d: not a result directory",
    "deck nothing -o d/x/talk.pptx": "nothing: has no results",
    "deck d -o d/x/talk.pptx": "d: not a result directory",
    "export d --to csv --out good.toml": "d: ",
    "reproduce nothing --json d": "there is no study 'nothing'",
    "pcap show notes.txt --json d": "notes.txt",
    "pcap show nothing.pcapng --json d": "nothing.pcapng",
    "new d --from nothing": "nothing: ",
    "new mechanism self --to good.toml": "self: ",
    "import nothing.json -o d": "nothing.json: there is no such file",
    "import notes.txt": "notes.txt: ",
    "import notes.txt -o d": "notes.txt: ",
    "import notes.txt -o x/y.toml": "notes.txt: ",
    "import notes.txt --json d": "notes.txt: ",
    "import ports.json -o good.toml": "ports.json",
    "import ports.json --format simai-topology -o d": "ports.json",
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_with_an_input_is_said_before_what_is_with_an_output(
    words: str, command: Command
) -> None:
    good = backwater.new_scenario()
    Path("good.toml").write_text(good)
    Path("broken.toml").write_text(good.replace("[topology]", "[topologie]"))
    # Its TOML is good; only a check of the whole scenario finds the error.
    Path("bad.toml").write_text(good + '\n[[flow]]\nfrom = "nobody"\nto = 0\nsize = "1 KB"\n')
    Path("notes.txt").write_text("what I mean to do\n")
    Path("notes.toml").write_text("mine = 1\n")
    Path("ports.json").write_text('{"PORT": {"Ethernet0": {"speed": "fast"}}}\n')
    Path("d").mkdir()
    said = command(*words.split())
    assert said.code in (1, 2)
    assert said.err.startswith(f"error: {WRONG[words]}"), said.err
    assert not Path("x").exists()
    assert not list(Path("d").iterdir())
