"""Shared parts of the tests of sweeps: a scenario, and a cluster of Dask in its own processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater.experiments.hands import Workers
from kit.scenarios import flow, star
from kit.tree import ROOT

# Three hosts send to one, and one of the three also to another: a victim of the pauses of `pfc`.
HOT = f"""{star(5, rate="10 Gb/s", title="Hot")}
[switch]
buffer = "200 KB"
[transport]
loss = "expected"
{flow("1..3", 0, "90 KB", "hot")}
{flow("1", 4, "30 KB", "victim")}
[variant.pfc.pfc]
xoff = "20 KB"
xon = "2 KB"
"""
# A point takes some milliseconds: long enough to be killed.
LONG = HOT.replace('"90 KB"', '"3 MB"').replace('"30 KB"', '"3 MB"')


def rows(directory: Path) -> list[dict[str, Any]]:
    """Return the points of a sweep, sorted; timings are in another table."""
    found: list[dict[str, Any]] = backwater.open_sweep(directory).points.to_pylist()
    return found


class Done:
    """A task that is done."""

    status = "finished"

    def __init__(self, value: object) -> None:
        self.value = value

    def add_done_callback(self, call: Callable[[Done], object]) -> None:
        call(self)

    def result(self, timeout: float | None = None) -> object:
        del timeout
        return self.value


class Here:
    """Runs tasks in this process, for tests that need no cluster, which takes seconds to start."""

    status = "running"
    scheduler = None

    def nthreads(self) -> dict[str, int]:
        return {"here": 1}

    def submit(self, function: Callable[..., object], *arguments: object, pure: bool) -> Done:
        del pure
        given = (one.value if isinstance(one, Done) else one for one in arguments)
        return Done(function(*given))


def run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `backwater sweep` run points in this process."""

    here = Workers(lambda _: contextlib.nullcontext(Here()))
    monkeypatch.setattr("backwater.cli.sweep.here", lambda *_: here)


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass
class Cluster:
    """A scheduler and workers, each a process with a directory of its own."""

    base: Path
    workers: int = 2
    python: str = sys.executable
    environment: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def _start(self, name: str, module: str, *arguments: str) -> None:
        place = self.base / name
        place.mkdir(exist_ok=True, parents=True)
        with (place / "log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [self.python, "-m", f"distributed.cli.{module}", *arguments],
                cwd=place,
                stdout=log,
                stderr=log,
                env=os.environ | self.environment,
            )

    def scheduler(self) -> None:
        where = ["--host", "127.0.0.1", "--port", str(self.port)]
        self._start("scheduler", "dask_scheduler", *where, "--no-dashboard")

    def worker(self, number: int) -> None:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "20"]
        place = self.base / f"worker-{number}"
        options += ["--local-directory", str(place)]
        self._start(f"worker-{number}", "dask_worker", self.address, *options)

    def start(self) -> Cluster:
        self.scheduler()
        for number in range(self.workers):
            self.worker(number)
        return self

    def kill(self, name: str) -> None:
        one = self.processes[name]
        one.send_signal(signal.SIGKILL)
        one.wait()

    def close(self) -> None:
        for one in self.processes.values():
            one.kill()
        for one in self.processes.values():
            one.wait()


def other_build(place: Path) -> Path:
    """Make a copy of the package with one more line, for workers of another build."""
    other = place / "other"
    shutil.copytree(ROOT / "python", other, symlinks=True, ignore=shutil.ignore_patterns("*.so"))
    for binding in (ROOT / "python" / "backwater").glob("*.so"):
        (other / "backwater" / binding.name).symlink_to(binding)
    with (other / "backwater" / "numbers" / "named.py").open("a", encoding="utf-8") as numbers:
        numbers.write("# Another one.\n")
    return other


def until(seconds: float, done: Any) -> bool:  # noqa: ANN401 - any function
    """Wait until a function returns true; return whether it did in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.02)
    return False
