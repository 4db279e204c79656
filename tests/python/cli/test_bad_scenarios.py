"""Scenarios that cannot be run: one clear error each, exit code 2, nothing written.

The command is tried with all kinds of files; the tests of the core try many more texts.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import backwater
from kit.command import Command

STAR = """
[topology]
kind = "star"
hosts = 4
rate = "200 Gb/s"
link_delay = "150 ns"
[switch]
buffer = "400 KB"
buffer_per = "ingress"
"""
FLOW = """
[[flow]]
from = [1, 2]
to = 0
size = "1 MB"
"""
EXPLICIT = """
[topology]
kind = "explicit"
node = [
    { name = "a", kind = "host" },
    { name = "b", kind = "host" },
    { name = "s", kind = "switch" },
    { name = "t", kind = "switch" },
]
link = [
    { a = "a", b = "s:0", rate = "1 Gb/s", delay = "0 ns" },
    { a = "b", b = "OTHER", rate = "1 Gb/s", delay = "0 ns" },
]
[[flow]]
from = "a"
to = "b"
size = "1 MB"
"""
LOAD = """
[stop]
at = "1 ms"
[[flow]]
from = 1
to = 0
size = "1 MB"
arrivals = "poisson"
load = "70 %"
[[flow]]
label = "more"
from = 1
to = 2
size = "1 MB"
arrivals = "periodic"
load = "40 %"
"""

TEXTS: dict[str, str | bytes] = {
    "empty": "",
    "not TOML": "[topology\n",
    "binary": bytes(range(256)) * 16,
    "an executable's beginning": b"\x7fELF\x02\x01\x01" + bytes(64),
    "not UTF-8": STAR.encode() + 'title = "größe"\n'.encode("latin-1"),
    "unknown key": STAR + '[pfc]\nxof = "380 KB"\n' + FLOW,
    "unknown table": STAR + '[pcf]\nxoff = "380 KB"\n' + FLOW,
    "wrong unit": STAR + '[pfc]\nxoff = "380 us"\n' + FLOW,
    "no unit": STAR + "[pfc]\nxoff = 380000\n" + FLOW,
    "KiB where KB was meant": STAR + '[pfc]\nxoff = "400 KiB"\n' + FLOW,
    "threshold above buffer": STAR + '[pfc]\nxoff = "500 KB"\n' + FLOW,
    "too little headroom": "lossless = true\n" + STAR + '[pfc]\nxoff = "399 KB"\n' + FLOW,
    "unknown host": STAR + FLOW.replace("to = 0", 'to = "h7"'),
    "unreachable host": EXPLICIT.replace("OTHER", "t:0"),
    "same port twice": EXPLICIT.replace("OTHER", "s:0"),
    "more load than the link carries": STAR + LOAD,
    "two mechanisms claim the same": STAR
    + '[pause]\nxoff = "200 KB"\n[pfc]\nxoff = "200 KB"\n'
    + FLOW,
    "variants that are none": "variant = 3\n" + STAR + FLOW,
    "flow table that does not exist": STAR + '[[flow]]\ntable = "none.csv"\n',
    "Parquet table that does not exist": STAR + '[[flow]]\ntable = "none.parquet"\n',
    "Parquet table that is none": STAR + '[[flow]]\ntable = "false.parquet"\n',
}


def refused(command: Command, tmp_path: Path, *arguments: str) -> str:
    """Check that a command refuses its input cleanly, and return its messages."""
    before = sorted(tmp_path.rglob("*"))
    said = command(*arguments, code=2)
    assert said.out == ""
    assert said.err.count("error:") == 1
    assert "Traceback" not in said.err
    assert "panicked" not in said.err
    assert str(tmp_path) not in said.err, "a path is named as the user named it"
    assert sorted(tmp_path.rglob("*")) == before, "bad input must write nothing"
    return said.err


@pytest.mark.parametrize("name", TEXTS)
def test_bad_scenario(
    name: str, command: Command, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    text = TEXTS[name]
    file = tmp_path / "case.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "false.parquet").write_bytes(b"PAR1 and no more")
    said = refused(command, tmp_path, "run", "case.toml")
    assert said == snapshot
    assert refused(command, tmp_path, "check", "case.toml", "--json", "out.json") == said


@pytest.mark.parametrize("what", ["missing.toml", ".", "huge.toml", "/dev/zero"])
def test_bad_file(what: str, command: Command, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    # 10 GB without a block on the disk; reading it would take the tests' time and memory.
    with (tmp_path / "huge.toml").open("wb") as huge:
        os.truncate(huge.fileno(), 10_000_000_000)
    assert refused(command, tmp_path, "run", what) == snapshot


def test_a_matrix_is_not_a_scenario_but_may_be_named_in_one(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "racks.csv").write_text("0,1,2\n1,0,3\n4,5,0\n", encoding="utf-8")
    said = refused(command, tmp_path, "run", "racks.csv")
    assert 'pattern = "matrix" and matrix = "racks.csv"' in said
    for key in ("flow.matrix", "flow.table"):
        assert "CSV" in command("explain", key).out


def test_a_sweep_over_variants_is_told_how(command: Command, tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text(STAR + FLOW, encoding="utf-8")
    said = refused(command, tmp_path, "sweep", "star.toml", "--vary", "variant=a,b", "--out", "out")
    assert "--variant NAME" in said


def test_unreadable_file(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "secret.toml"
    file.write_text(STAR, encoding="utf-8")
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read every file")
    assert "ermission denied" in refused(command, tmp_path, "run", "secret.toml")


@pytest.mark.parametrize("given", [b"\xff\xfe", b"#" * (17 << 20), b""], ids=["bytes", "long", "-"])
def test_bad_stdin(
    given: bytes,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    assert refused(command, tmp_path, "run", "-") == snapshot


def test_headroom_is_a_warning_where_nothing_is_promised(command: Command, tmp_path: Path) -> None:
    text = STAR + '[pfc]\nxoff = "399 KB"\n' + FLOW
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    said = command("run", "case.toml", "--out", "out", code=3)
    # The warning comes true, and nothing retransmits the lost frames.
    assert "warning: pfc.xoff" in said.err
    kept = backwater.open_run("out").warnings
    assert [warning["key"] for warning in kept if "key" in warning] == ["pfc.xoff"]
    assert said.out.startswith("incomplete: 2 of 2 flows unfinished: ")


def test_a_broken_promise_fails_the_run(command: Command, tmp_path: Path) -> None:
    text = "lossless = true\n" + STAR + FLOW
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    said = command("run", "case.toml", "--out", "out", code=1)
    assert "Traceback" not in said.err
    assert "lossless" in said.err
    assert backwater.open_run("out").status == "failed"
