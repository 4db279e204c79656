"""Errors of captures' options have place, value, reason and hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import backwater
from kit.captures import read
from kit.command import Command


@pytest.mark.parametrize(
    ("options", "reason", "hint"),
    [
        ("--capture lef0 -o a", "--capture: `lef0` names no port", "did you mean `leaf0`?"),
        ("--capture leaf0/99 -o a", "--capture: `leaf0/99` names no", "leaf0 has the ports 0"),
        ("--capture h0:h1 -o a", "--capture: `h0:h1` names no port", "h0 has the ports 0 to 0"),
        ("--capture h0", "--capture needs -o FILE", "--capture leaf0 -o leaf0.pcapng"),
        ("-o a", "-o needs --capture PORTS", "--capture leaf0 -o leaf0.pcapng"),
        ("--capture-snap 64", "--capture-snap needs --capture PORTS", "--capture leaf0"),
        ("--capture h0 -o -", "-o -: the report goes to stdout", "name a file"),
        ("--capture h0 -o no/a", "no/a: the directory no does not exist", "make it"),
        ("--capture h0 -o .", ".: is a directory", "give the name of a file in it"),
        ("--capture h0 -o a --capture-kind cmn", "--capture-kind: `cmn` is no kind", "kinds of f"),
        ("--capture h0 -o a --capture-class 8", "--capture-class: 8 is no class", "0 to 7"),
        ("--capture h0 -o a --capture-class 00008", "--capture-class: 8 is no class", "0 to 7"),
        ("--capture h0 -o a --capture-class x", "--capture-class x: not a whole", "0 to 7"),
        ("--capture h0 -o a --capture-snap 64", "--capture-snap: `64` has no unit", "units of a"),
        ("--capture h0 -o a --capture-snap 9_B", "--capture-snap: `9 B` is out", "14 B to 262144"),
        ("--capture h0 -o a --capture-limit 0_B", "--capture-limit: `0 B` is no bound", "leave it"),
        ("--capture h0 -o a --capture-limit 10_B", "--capture-limit: `10 B` has no", "1 port and"),
        ("--capture h0 -o a --seeds 2", "--capture and --seeds exclude", "of one run"),
    ],
)
def test_bad_options_do_nothing(
    command: Command, small: Path, options: str, reason: str, hint: str
) -> None:
    words = [word.replace("_", " ") for word in options.split()]
    said = command("run", str(small), "--out", "r", *words, code=2)
    error, hinted = said.err.splitlines()
    assert error.startswith(f"error: {reason}")
    assert hinted.startswith("hint: ")
    assert hint in hinted
    assert not Path("r").exists()
    assert not Path("a").exists()


@pytest.mark.parametrize(
    ("options", "key", "value", "reason", "hint"),
    [
        ({"kinds": "pfc"}, "kind", "'pfc'", "`'pfc'` is a text, not a list", '["pfc", "sfcm"]'),
        ({"kinds": [3]}, "kind", "[3]", "`[3]` is no list of texts", '["pfc", "sfcm"]'),
        ({"kinds": ["pcf"]}, "kind", "pcf", "`pcf` is no kind of frame", "data, ack, control, pa"),
        ({"classes": [-1]}, "class", "-1", "-1 is no class", "0 to 7"),
        ({"classes": [3, 8]}, "class", "8", "8 is no class", "0 to 7"),
        ({"classes": [1.5]}, "class", "[1.5]", "`[1.5]` is no list of classes", "such as [3]"),
        ({"classes": "3"}, "class", "'3'", "`'3'` is a text, not a list", "such as [3]"),
        ({"classes": 3}, "class", "3", "`3` is no list of classes", "such as [3]"),
        ({"snap": 128}, "snap", "128", "`128` is no text", 'such as "128 B"'),
        ({"limit": 1e9}, "limit", "1000000000.0", "`1000000000.0` is no text", 'such as "128 B"'),
        ({"ports": ["h0"]}, "ports", "['h0']", "`['h0']` is no text", '"leaf0,spine1/3"'),
    ],
)
def test_bad_options_in_python(
    options: dict[str, Any], key: str, value: str, reason: str, hint: str
) -> None:
    with pytest.raises(backwater.ScenarioError) as caught:
        backwater.Capture("a.pcapng", **{"ports": "all"} | options)
    error = caught.value
    assert (error.key, error.value, error.reason) == (f"capture.{key}", value, reason)
    assert hint in str(error.hint)
    assert str(error).startswith(f"capture.{key}: {reason}\nhint: ")


def test_the_least_limit_has_room_for_a_frame(small: Path, tmp_path: Path) -> None:
    scenario = backwater.load(small)
    file = tmp_path / "a.pcapng"

    def run(limit: str) -> int:
        capture = backwater.Capture(file, "all", kinds=["ack"], snap="60 B", limit=limit)
        scenario.run(capture=capture)
        return len(read(file))

    with pytest.raises(backwater.ScenarioError) as caught:
        run("100 B")
    assert not file.exists()
    least = int(str(caught.value.hint).split(" take ")[1].split()[0])
    assert run(f"{least} B") == 1
    assert file.stat().st_size == least
    with pytest.raises(backwater.ScenarioError, match="has no room for a frame"):
        run(f"{least - 1} B")


@pytest.mark.parametrize(
    "words",
    [("run", "own.toml", "--capture", "h0", "-o", "own.toml"), ("pcap", "sample", "own.toml")],
)
def test_what_is_no_capture_is_not_written_over(
    command: Command, small: Path, words: tuple[str, ...]
) -> None:
    own, text = Path("own.toml"), small.read_text()
    own.write_text(text)
    said = command(*words, code=2)
    why = "is an input of" if words[0] == "run" else "exists, is no capture by Backwater"
    assert said.err.startswith(f"error: own.toml: {why}")
    assert own.read_text() == text


def test_a_full_disk_ends_the_run_with_a_reason(command: Command, small: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    said = command("run", str(small), "--capture", "h0", "-o", "/dev/full", "--out", "r")
    assert said.code in (1, 2)
    assert "/dev/full" in said.err
    assert "cannot be written: No space left" in said.err
    assert said.err.splitlines()[-1].startswith("hint: make room on its disk")
    assert "Traceback" not in said.err
