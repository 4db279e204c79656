"""What the tests share: the command in this process, a small scenario, quick to run, and tshark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import backwater
from backwater.cli import main

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Said:
    """What a command said."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Run `backwater ARGUMENTS` in an empty directory, at the width of a plain terminal."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("BACKWATER_DEBUG", raising=False)

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        code = main(arguments)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The scenario that `backwater new` writes."""
    file = tmp_path / "small.toml"
    file.write_text(backwater.new_scenario(), encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def tshark() -> str:
    found = shutil.which("tshark")
    if found is None:
        said = "tshark is not installed: what Wireshark makes of captures was NOT tested"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(f"{said} (apt-get install tshark)")
    return found


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """Start the command as a process of its own, for signals and pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "backwater", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
