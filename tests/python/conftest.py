"""What the tests share: the command in this process, a small scenario, a study, and tshark."""

from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

import backwater
from backwater import study
from backwater.cli import main
from kit.command import Command, Said, run_apart
from kit.results import Shared
from kit.studies import one_seed
from kit.sweeping import HOT, Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


def pytest_configure() -> None:
    """Let programs that tests start hear Ctrl-C.

    What a shell starts in the background ignores it, and so does all that it starts itself.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Run `backwater ARGUMENTS` in an empty directory, at the width of a plain terminal.

    `code` is the one that it must end with.
    """
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("BACKWATER_DEBUG", raising=False)

    def run(*arguments: str, code: int | None = None) -> Said:
        capsys.readouterr()
        ended = main(arguments)
        heard = capsys.readouterr()
        assert code in (None, ended), (arguments, ended, heard.err)
        return Said(ended, heard.out, heard.err)

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The scenario that `backwater new` writes."""
    file = tmp_path / "small.toml"
    file.write_text(backwater.new_scenario(), encoding="utf-8")
    return file


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
        plain = os.environ | {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
        done = run_apart(*arguments, cwd=folder, env=plain)
        (folder / "out.txt").write_text(done.out, encoding="utf-8")
        (folder / "code.txt").write_text(str(done.code), encoding="utf-8")

    return shared_folders.folder("published-study", make)


@pytest.fixture(scope="session")
def first_case(shared_folders: Shared) -> Path:
    """Case 1 of the Source Flow Control study, with its first seed."""

    def make(folder: Path) -> None:
        study.reproduce("sfc-aidc-2025", case="1", out=folder, seeds=one_seed)

    return shared_folders.folder("first-case", make)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a file."""
    from kit.browsing import chromium

    with chromium() as one:
        yield one


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages and slides without drawings, which take half of their time.

    For tests that look for words; what is drawn is tested where it is looked at.
    """
    empty = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9"></svg>'
    monkeypatch.setattr("backwater.plot.sheet._drawn", lambda _specification: empty)
    monkeypatch.setattr("backwater.report.page._bundle", str)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers that nobody kills."""
    one = Cluster(tmp_path_factory.mktemp("cluster"))
    yield one.start()
    one.close()


@pytest.fixture
def cluster_of(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Start clusters of a test's own."""
    made = []

    def make(**options: Any) -> Cluster:  # noqa: ANN401 - fields of a cluster
        made.append(Cluster(tmp_path / "cluster", **options))
        return made[-1].start()

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def tshark() -> str:
    found = shutil.which("tshark")
    if found is None:
        said = "tshark is not installed: what Wireshark makes of captures was NOT tested"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(f"{said} (apt-get install tshark)")
    return found


@pytest.fixture
def ungrouped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each run of a series write its own parts when it ends."""
    monkeypatch.setattr("backwater.series.GROUP_SECONDS", 0.0)


@pytest.fixture
def hot(tmp_path: Path) -> Path:
    """Return the file of a scenario for sweeps."""
    file = tmp_path / "hot.toml"
    file.write_text(HOT, encoding="utf-8")
    return file
