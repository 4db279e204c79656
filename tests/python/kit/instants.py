"""Kills a command before each change that it makes below its directory `o`, and repeats it.

    python instants.py '[["COMMAND", "BEFORE"], ["COMMAND", "WORDS"]]' [MOST]

The first command, which may be empty, prepares `o` for each instant. MOST limits the instants to
the first ones. Commands run in children of this process, which only copies and forks. An audit hook
in the child sees each change (a file opened for writing, a name made, changed or removed) and ends
the child before it. Prints JSON: the number of instants, and those after which the repeated command
had a code other than 0, or left temporary files.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shutil
import sys
from pathlib import Path
from typing import Any

KILLED = 9
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.symlink")
OUT = Path("o").absolute()


def killing(number: int) -> None:
    """Let this process end before its N-th change below OUT."""
    left = number

    def see(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event == "open":
            if not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return
        elif event not in CHANGES:
            return
        name = arguments[0]
        if isinstance(name, int) or OUT not in (
            path := Path(os.fsdecode(name)).absolute(),
            *path.parents,
        ):
            return
        left -= 1
        if left == 0:
            os._exit(KILLED)

    sys.addaudithook(see)


def give(words: list[str], kill_at: int | None = None) -> int:
    """Run a command in a child, and return its code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            if kill_at is not None:
                killing(kill_at)
            code = main(words)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def everything() -> None:
    """Kill and repeat a command at all its instants."""
    before, words = json.loads(sys.argv[1])
    most = int(sys.argv[2]) if len(sys.argv) > 2 else sys.maxsize
    number, wrong = 0, []
    prepared = OUT.with_name("prepared")
    if before:
        if give(before):
            sys.exit("the first command has failed")
        OUT.rename(prepared)
    while number < most:
        shutil.rmtree(OUT, ignore_errors=True)
        if before:
            shutil.copytree(prepared, OUT)
        code = give(words, number + 1)
        if code != KILLED:
            if code:
                sys.exit(f"the command has failed: {code}")
            break
        number += 1
        there = sorted(path.name for path in OUT.rglob("*")) if OUT.is_dir() else []
        code = give(words)
        left = [path.name for path in OUT.rglob("*") if path.name.endswith((".tmp", ".lock"))]
        if code or left:
            wrong.append({"instant": number, "there": there, "code": code, "left": left})
    print(json.dumps({"instants": number, "wrong": wrong}))


if __name__ == "__main__":
    # Everything that a command imports, so that no child has to.
    for module in ("polars", "scipy.stats", "pyarrow.parquet", "pyarrow.compute", "pandas"):
        importlib.import_module(module)
    for name in ("sweep", "numbers", "cli"):
        package = importlib.import_module(f"backwater.{name}")
        for found in pkgutil.iter_modules(package.__path__, f"backwater.{name}."):
            importlib.import_module(found.name)

    from backwater.cli import main

    everything()
