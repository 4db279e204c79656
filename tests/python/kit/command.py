"""The command: its output, and ways to start it as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Said:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


def start(
    *arguments: str,
    cwd: Path,
    pass_fds: tuple[int, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start the command in a process of its own, for signals and pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "backwater", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"} | dict(environment or {}),
        pass_fds=pass_fds,
    )


def run_python(*arguments: str, check: bool = False, **more: Any) -> Said:  # noqa: ANN401 - as asked
    """Run Python in a process of its own, to its end; `more`: options of `subprocess.run`."""
    run = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=check, **more
    )
    return Said(run.returncode, run.stdout, run.stderr)


def run_apart(*arguments: str, cwd: Path, python: tuple[str, ...] = (), **more: Any) -> Said:  # noqa: ANN401 - as asked
    """Run the command in a process of its own, to its end; `python`: options of the interpreter."""
    return run_python(*python, "-m", "backwater", *arguments, cwd=cwd, **more)
