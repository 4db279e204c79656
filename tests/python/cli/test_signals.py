"""Ctrl-C and SIGTERM end every command soon, with a message, a code, and nothing half written.

Times here are bounds against endless waits, not measurements: without the signal each of these
commands would take far longer.
"""

from __future__ import annotations

import fcntl
import io
import os
import signal
import subprocess
import sys
import termios
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import backwater
import backwater.why.evidence
from backwater import _core
from backwater.errors import Interrupted
from backwater.experiments import execute
from backwater.repetitions import load_series
from backwater.running import Job, run_job
from backwater.stopping import Stop
from backwater.sweep.store import Store
from kit.command import Command, run_python, start
from kit.scenarios import flow, star

# The paths of 500,000 pairs among 11,001 nodes take half a minute both to check and to build, and
# hardly any memory.
LONG_CHECK = """
title = "Long to check"
[topology]
kind = "leaf-spine"
leaves = 1_000
spines = 1
hosts_per_leaf = 10
rate = "100 Gb/s"
link_delay = "500 ns"
[switch]
buffer_per = "none"
[[flow]]
from = "0..PAIRS"
to = "5000..5099"
pattern = "all-to-all"
via = ["spine0"]
size = "1 KB"
"""

LONG_RUN = f"""{star(4, title="Long to run")}
[switch]
buffer_per = "none"
{flow("1..3", 0, "100 GB")}
"""

# Python's start and its imports on a busy machine.
PATIENCE = 60

BOTH = [
    pytest.param(signal.SIGINT, 130, "stopped", id="SIGINT"),
    pytest.param(signal.SIGTERM, 143, "stopped by SIGTERM", id="SIGTERM"),
]


class Pipe:
    """An open pipe that a process inherits, as with a shell's `<(...)`."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        self.writer = io.FileIO(writer, "w")
        self.name = f"/dev/fd/{self.reader}"

    def write(self, text: str, process: subprocess.Popen[str]) -> None:
        """Write, and wait until the process has read it all."""
        os.set_blocking(self.writer.fileno(), True)
        self.writer.write(text.encode())
        give_up = time.monotonic() + PATIENCE
        while any(fcntl.ioctl(self.reader, termios.FIONREAD, b"\0" * 4)):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < give_up
            time.sleep(0.02)

    def close(self) -> None:
        """Close the pipe."""
        self.writer.close()
        os.close(self.reader)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    one = Pipe()
    yield one
    if not one.writer.closed:
        one.close()


def ended(process: subprocess.Popen[str], number: int) -> tuple[int, str, str]:
    """Send a signal, and return the code, stdout and stderr of the process that it ends."""
    with process:
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    return process.returncode, out, err


@pytest.mark.parametrize(("number", "code", "said"), BOTH)
def test_while_a_scenario_is_read(
    number: signal.Signals, code: int, said: str, pipe: Pipe, tmp_path: Path
) -> None:
    """A pipe whose writer continues is read until the signal."""
    process = start("check", pipe.name, cwd=tmp_path, pass_fds=(pipe.reader,))
    pipe.write("#", process)
    assert ended(process, number) == (code, "", f"{said}\n")


def test_a_pipe_is_read_once(pipe: Pipe, tmp_path: Path) -> None:
    """With a shell's `check <(...)` a second reader would find an empty pipe."""
    with start("check", pipe.name, cwd=tmp_path, pass_fds=(pipe.reader,)) as process:
        pipe.write(LONG_RUN, process)
        pipe.close()
        try:
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, err.splitlines()[-1]) == (0, f"{pipe.name}: good")


@pytest.mark.parametrize(
    "arguments", [["check"], ["run"], ["why"], ["advise", "pfc", "--scenario"], ["run", "--from"]]
)
@pytest.mark.parametrize("name", ["pipe.toml", "/dev/zero"])
def test_what_is_no_regular_file_is_no_scenario(
    arguments: list[str], name: str, command: Command, tmp_path: Path
) -> None:
    """A named pipe may never get a writer, and a device may have no end."""
    os.mkfifo(tmp_path / "pipe.toml")
    said = command(*arguments, name, code=2)
    assert "is not a regular file" in said.err


@pytest.mark.parametrize(
    ("arguments", "number", "code", "said"),
    [
        (["check"], signal.SIGINT, 130, "stopped\n"),
        (["run", "--out", "out"], signal.SIGTERM, 143, "stopped by SIGTERM\n"),
    ],
)
def test_while_a_scenario_is_checked(
    arguments: list[str], number: signal.Signals, code: int, said: str, pipe: Pipe, tmp_path: Path
) -> None:
    more = arguments[1:]
    process = start(arguments[0], pipe.name, *more, cwd=tmp_path, pass_fds=(pipe.reader,))
    pipe.write(LONG_CHECK.replace("PAIRS", "4999"), process)
    pipe.close()
    time.sleep(
        0.3
    )  # This waits until the check runs, or nearly so: the command ends in both cases.
    assert process.poll() is None
    assert ended(process, number) == (code, "", said)
    assert not (tmp_path / "out").exists()


def test_what_builds_a_network_is_asked_to_stop() -> None:
    """The build continues in another thread, so it takes at most a second."""
    scenario = _core.Scenario.from_text(LONG_CHECK.replace("PAIRS", "149"))
    asked = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) == 2

    with pytest.raises(KeyboardInterrupt):
        scenario.start(stop=stop)
    assert len(asked) == 2


def test_a_run_that_is_stopped_while_it_is_built_writes_nothing(
    tmp_path: Path,
) -> None:
    stop = Stop()

    class Slow:
        """A scenario whose run is interrupted while it starts."""

        def start(self, _seed: int, _capture: object, stopped: object, *_: object) -> None:
            stop.signalled(signal.SIGTERM)
            assert callable(stopped)
            assert stopped()
            raise KeyboardInterrupt

    (tmp_path / "long.toml").write_text(LONG_RUN, encoding="utf-8")
    prepared = backwater.load(tmp_path / "long.toml").prepare()
    slow = replace(prepared, scenario=cast("_core.Scenario", Slow()))
    assert run_job(Job(slow, 1, tmp_path / "out"), 0, None, stop) is None
    assert [path for path in tmp_path.rglob("*") if path.suffix in {".parquet", ".json"}] == []
    error = stop.interrupted(None)
    assert (error.runs, error.exit_code) == ([], 143)
    assert str(error) == "stopped by SIGTERM before the end"


@pytest.mark.parametrize(("number", "code", "said"), BOTH)
def test_while_it_runs(number: signal.Signals, code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG_RUN, encoding="utf-8")
    process = start("run", "long.toml", "--out", "out", cwd=tmp_path)
    give_up = time.monotonic() + PATIENCE
    while not (tmp_path / "out" / "manifest.json").exists():
        assert time.monotonic() < give_up
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    got, _, err = ended(process, number)
    assert (got, err.splitlines()[-1]) == (
        code,
        f"{said}; what was simulated by then is in out",
    )
    run = backwater.open_run(tmp_path / "out")
    assert run.status == "interrupted"
    assert run.flows["state"].to_pylist() == ["unfinished"] * 3


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal arrives after the last run, before the command has read its outcome."""

    def jobs(some: object, progress: object, stop: Stop, *more: object, **named: object) -> object:
        done = cast("Any", execute.run_jobs)(some, progress, stop, *more, **named)
        stop.signalled(signal.SIGINT)
        return done

    for module in ("cli.runs", "cli.comparing", "repetitions"):
        monkeypatch.setattr(f"backwater.{module}.run_jobs", jobs)


@pytest.mark.usefixtures("late")
def test_a_run_that_is_over_is_not_stopped(command: Command, small: Path) -> None:
    said = command("run", f"{small}", "--out", "out", "--json", "out.json")
    assert (said.code, said.err.splitlines()[-1]) == (0, "results: out")
    assert "stopped" not in said.err
    again = command("run", f"{small}", "--out", "out")
    assert (again.code, again.err.splitlines()[-1]) == (0, "results: out")
    left = command("run", f"{small}", "--out", "out2", "--figure", "f.svg")
    assert (left.code, left.err.splitlines()[-1]) == (130, "stopped; the run is over: out2")


@pytest.mark.usefixtures("late")
def test_runs_that_are_over_are_not_stopped(command: Command, small: Path, tmp_path: Path) -> None:
    said = command("run", f"{small}", "--seeds", "2", "--out", "out")
    assert (said.code, said.err.splitlines()[-1]) == (0, "results: out")
    assert load_series(tmp_path / "out").status == "done"
    left = command(
        "run", f"{small}", "--seeds", "2", "--out", "out2", "--figure", "f.svg", code=130
    )
    assert left.err.splitlines()[-1] == "stopped; 2 of 2 runs are complete in out2"
    assert load_series(tmp_path / "out2").status == "done"
    assert backwater.load(small).run(seeds=2).status == "done"
    assert backwater.load(small).run(seeds=2, out=tmp_path / "out3").status == "done"
    said = command("compare", f"{small}", f"{small},ack.path=reverse", "--seeds", "2")
    assert (said.code, "stopped" in said.err) == (0, False)


def test_a_sweep_that_is_over_is_not_stopped(
    command: Command, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(store: Store) -> None:
        closed(store)
        os.kill(os.getpid(), signal.SIGINT)

    closed = Store.close
    monkeypatch.setattr(Store, "close", close)
    vary = ("--vary", "topology.link_delay=100 ns,200 ns")
    said = command("sweep", f"{small}", *vary, "--out", "out")
    assert (said.code, "stopped" in said.err) == (0, False), said.err
    assert backwater.open_sweep(tmp_path / "out").status == "done"
    said = command("sweep", f"{small}", *vary, "--goal", "drops min", "--out", "out2")
    assert (said.code, "stopped" in said.err) == (0, False), said.err
    assert backwater.open_sweep(tmp_path / "out2").status == "done"


def test_why_says_what_has_stopped_it(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_job: Job, _number: int, _progress: object, stop: Stop) -> None:
        stop.signalled(signal.SIGTERM)

    monkeypatch.setattr(sys.modules["backwater.why.evidence"], "run_job", stopped)
    said = command("why", str(small))
    assert (said.code, said.out) == (143, "")
    assert said.err.endswith("stopped by SIGTERM\n")


def test_the_first_of_several_signals_is_told() -> None:
    stop = Stop()
    stop.signalled(signal.SIGTERM)
    stop.signalled(signal.SIGINT)
    assert (stop.is_set(), stop.exit_code, str(stop)) == (True, 143, "stopped by SIGTERM")
    assert Interrupted([]).exit_code == 130


@pytest.mark.parametrize(("number", "code", "said"), BOTH)
def test_a_file_that_is_being_written_is_left_as_it_was(
    number: signal.Signals, code: int, said: str, tmp_path: Path
) -> None:
    target = tmp_path / "report.html"
    target.write_text("as it was", encoding="utf-8")
    program = f"""
        import os, signal, time
        from pathlib import Path
        from backwater.__main__ import _stop
        from backwater.files import replacing

        signal.signal({int(number)}, _stop)
        with replacing(Path("report.html")) as file:
            file.write(b"half of what ")
            file.flush()
            os.kill(os.getpid(), {int(number)})
            time.sleep({PATIENCE})
    """
    done = run_python("-c", textwrap.dedent(program), cwd=tmp_path, timeout=PATIENCE)
    assert (done.code, done.out, done.err) == (code, "", f"{said}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert target.read_text(encoding="utf-8") == "as it was"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system knows no fork")
def test_a_forked_child_can_start_runs() -> None:
    # The child lacks its parent's threads, in which the core has worked before.
    script = (
        "import os, signal, backwater\n"
        "scenario = backwater.parse(backwater.new_scenario(), 'new')\n"
        "before = scenario.run().fingerprint\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.alarm(20)\n"
        "    os._exit(scenario.run().fingerprint != before)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
