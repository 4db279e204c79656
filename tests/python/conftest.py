"""What the tests share: the command in this process, a small scenario, a study, and tshark."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backwater
from backwater import study
from backwater.cli import main
from backwater.journal import Journal
from sweeping import HOT

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def pytest_configure() -> None:
    """Let programs that tests start hear Ctrl-C.

    What a shell starts in the background ignores it, and so does all that it starts itself.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Three hosts send 75 packets of 4,096 B each into a queue of 30 KB: most of the second and third
# burst finds no room, and nothing sends it again.
LOSSY = """
title = "Lossy"
[topology]
kind = "star"
hosts = 4
rate = "10 Gb/s"
link_delay = "500 ns"
[switch]
buffer = "30 KB"
[[flow]]
label = "hot"
from = "1..3"
to = 0
size = "300 KB"
"""


def load_file(path: Path) -> ModuleType:
    """Load a script that belongs to no package, as a module by the name of its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look themselves up.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def write_study(base: Path, scenario: str, study_: str, published: str) -> Path:
    """Write the files of a study; gives its folder."""
    folder = base / "small-2026"
    folder.mkdir()
    for name, text in {
        "scenario.toml": scenario,
        "study.toml": study_,
        "published.toml": published,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


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


class Shared:
    """Folders that are made once, whichever worker needs one first."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def folder(self, name: str, make: Callable[[Path], object]) -> Path:
        """Give the folder `name`, made by `make` if it is not there; nobody changes it."""
        folder = self.base / name
        with (self.base / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                being_made = self.base / f"{name}.being-made"
                shutil.rmtree(being_made, ignore_errors=True)
                make(being_made)
                being_made.rename(folder)
        return folder


@pytest.fixture(scope="session")
def shared_folders(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    base = tmp_path_factory.getbasetemp()
    return Shared(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


@pytest.fixture(scope="session")
def published_study(shared_folders: Shared) -> Path:
    """The Source Flow Control study with one seed, as `reproduce --json out.json --out o` has it.

    `out.txt` is what it printed, `code.txt` the exit code.
    """

    def make(folder: Path) -> None:
        folder.mkdir()
        arguments = ["reproduce", "sfc-aidc-2025", "--seeds", "1"]
        arguments += ["--json", "out.json", "--out", "o"]
        done = subprocess.run(
            [sys.executable, "-m", "backwater", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"},
        )
        (folder / "out.txt").write_text(done.stdout, encoding="utf-8")
        (folder / "code.txt").write_text(str(done.returncode), encoding="utf-8")

    return shared_folders.folder("published-study", make)


@pytest.fixture(scope="session")
def first_case(shared_folders: Shared) -> Path:
    """Case 1 of the Source Flow Control study, with its first seed."""

    def make(folder: Path) -> None:
        study.reproduce("sfc-aidc-2025", case="1", out=folder, seeds=one_seed)

    return shared_folders.folder("first-case", make)


def one_seed(own: tuple[int, ...], _: int) -> tuple[int, ...]:
    """Only the first seed of each point of a study."""
    return own[:1]


@pytest.fixture(scope="session")
def tshark() -> str:
    found = shutil.which("tshark")
    if found is None:
        said = "tshark is not installed: what Wireshark makes of captures was NOT tested"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(f"{said} (apt-get install tshark)")
    return found


def start(
    *arguments: str,
    cwd: Path,
    pass_fds: tuple[int, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start the command as a process of its own, for signals and pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "backwater", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"} | dict(environment or {}),
        pass_fds=pass_fds,
    )


def run_apart(*arguments: str, cwd: Path, python: tuple[str, ...] = ()) -> Said:
    """Run the command as a process of its own, to its end; `python`: options of the interpreter."""
    run = subprocess.run(
        [sys.executable, *python, "-m", "backwater", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    return Said(run.returncode, run.stdout, run.stderr)


def change_line(series: Path, seed: int, **changes: object) -> None:
    """Change what the journal of a series says of a run, as if it had been written so."""
    journal = Journal.read(series)
    journal.runs[seed] |= changes
    journal.write(series)


@pytest.fixture
def ungrouped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each run of a series go to the disk when it ends, into parts of its own."""
    monkeypatch.setattr("backwater.series.GROUP_SECONDS", 0.0)


@pytest.fixture
def hot(tmp_path: Path) -> Path:
    """Give the file of a scenario for sweeps."""
    file = tmp_path / "hot.toml"
    file.write_text(HOT, encoding="utf-8")
    return file
