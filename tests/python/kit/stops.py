"""Stops each command at several instants by SIGINT and SIGTERM; measures how long it takes to end.

    PYTHONPATH=tests/python .venv/bin/python -m kit.stops --instants 5

Each command runs once to its end (or for some seconds), and is then stopped at instants spread over
that time. Prints the longest time from the signal to the end, and what was left: hidden or
temporary files, and processes. Ends with code 1 if a command failed before it was stopped, took too
long, ended with another code than the signal's, or left something.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

import backwater
from kit.scenarios import star
from kit.sweeping import HOT, LONG

LONGEST = 8.0
"""Seconds from its start within which a command is stopped."""
USUAL, WORKERS = 1.0, 2.0
"""Seconds that a command may take to end; the second for one with worker processes."""
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
LARGE = f"""{star(4000, title="Large")}
[switch]
buffer_per = "none"
[[flow]]
pattern = "permutation"
size = "100 MB"
"""
TRAINED = f"""{star(8, title="Trained")}
[switch]
buffer_per = "none"
[[job]]
label = "train"
ranks = 8
rounds = 100
[[job.step]]
label = "sum"
kind = "all-reduce"
size = "1 MB"
"""
MATRIX = "Nodes 1024\nConnections {0}\n" + "\n".join(
    f"{n % 1024}->{(n * 7 + 1) % 1024} id {n} start 0 size 2000000" for n in range(1, 200_001)
)
SWEEP = ("sweep", "long.toml", "--variant", "pfc", "--seeds", "1..400")
SAID = "said"
"""The file for the messages of the command that runs."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", "large.toml"),
    "run": ("run", "large.toml", "--out", "OUT"),
    "run --seeds": ("run", "large.toml", "--seeds", "4", "--out", "OUT"),
    "run --watch": ("run", "hot.toml", "--watch", "--out", "OUT"),
    "run --save": ("run", "large.toml", "--until", "1 s", "--save", "OUT.saved"),
    "compare": ("compare", "large.toml", "hot.toml", "--out", "OUT"),
    "sweep": (*SWEEP, "--out", "OUT"),
    "sweep --workers": (*SWEEP, "--workers", "2", "--out", "OUT"),
    "report": ("report", "run", "--out", "OUT.html"),
    "deck": ("deck", "run", "--out", "OUT.pptx"),
    "why": ("why", "run"),
    "query": (
        *("query", "swept"),
        "select sum(a.range * b.range) from range(200000) a, range(200000) b",
    ),
    "status": ("status", "swept"),
    "reproduce": ("reproduce", "sfc-aidc-2025", "--seeds", "1", "--out", "OUT"),
    "bench": ("bench", "incast", "--out", "OUT"),
    "advise": ("advise", "pfc", "--scenario", "large.toml"),
    "import": ("import", "large.cm", "--out", "OUT.toml"),
    "export": ("export", "trained", "--to", "goal", "--out", "OUT"),
    "explain": ("explain",),
    "list": ("list", "mechanisms"),
    "new": ("new", "OUT.toml"),
    "pcap": ("pcap", "sample", "OUT.pcapng"),
    "jobs": ("jobs", "trained"),
    "schema": ("schema", "--json", "OUT.json"),
}


def start(words: tuple[str, ...], place: Path, out: str) -> subprocess.Popen[bytes]:
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "backwater", *(word.replace("OUT", out) for word in words)],
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=(place / SAID).open("wb"),
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(place / "tmp")},
    )


def litter(place: Path) -> list[str]:
    """Remove what a command should not have left (hidden and temporary files); return the names.

    Without them, the next command is not blamed for them.
    """
    found = [*place.rglob(".*"), *(place / "tmp").iterdir()]
    for path in found:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return [path.name for path in found]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def left_running(session: int, seconds: float) -> bool:
    """Return whether a process of a command still runs after `seconds`; some end after others."""
    end = time.monotonic() + seconds
    while True:
        # A zombie has ended: its parent may take a while to notice.
        states = (one.info for one in psutil.process_iter(["pid", "status"]))
        here = [one["pid"] for one in states if one["status"] != psutil.STATUS_ZOMBIE]
        if session not in {_session(pid) for pid in here}:
            return False
        if time.monotonic() > end:
            return True
        time.sleep(0.01)


def prepare(place: Path) -> None:
    """Write the files that the commands need."""
    (place / "tmp").mkdir()
    for name, text in {"hot": HOT, "long": LONG, "large": LARGE, "train": TRAINED}.items():
        (place / f"{name}.toml").write_text(text, encoding="utf-8")
    (place / "large.cm").write_text(MATRIX.format(200_000), encoding="utf-8")
    for name, out in {"hot": "run", "train": "trained"}.items():
        backwater.load(place / f"{name}.toml").run(out=place / out)
    words = ("sweep", "hot.toml", "--vary", "flow.hot.size=1 KB,2 KB", "--out", "swept")
    if start(words, place, "").wait():
        sys.exit("the sweep has failed")


def main() -> None:
    """Stop each command, and print its longest time, and that of all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--instants", type=int, default=5)
    parser.add_argument("--command", choices=COMMANDS, help="this one alone")
    given = parser.parse_args()
    # A program that a shell starts in the background ignores SIGINT, and so do its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wrong, longest, stops = [], 0.0, 0
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        prepare(place)
        for name in [given.command] if given.command else COMMANDS:
            words = COMMANDS[name]
            # A directory for each command: results of another would be in the way.
            out = re.sub(r"\W+", "-", name)
            process, began = start(words, place, f"{out}-whole"), time.monotonic()
            try:
                code = process.wait(LONGEST)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGTERM)
                process.wait()
                code = 0
            whole = min(LONGEST, time.monotonic() - began)
            if left := litter(place):
                wrong.append(f"{name}: leaves {left}")
            if code:
                last = (place / SAID).read_text(encoding="utf-8").splitlines()[-1:]
                wrong.append(f"{name}: ends with {code} before it is stopped: {''.join(last)}")
                print(wrong[-1], flush=True)
                continue
            most = 0.0
            for number in range(given.instants):
                for what, ends in CODES.items():
                    process = start(words, place, f"{out}-{number}-{what.name}")
                    time.sleep(whole * (number + 0.5) / given.instants)
                    process.send_signal(what)
                    since = time.monotonic()
                    ended = process.wait()
                    took = time.monotonic() - since
                    most, stops = max(most, took), stops + 1
                    allowed = WORKERS if "sweep" in name else USUAL
                    left = ["a process"] * left_running(process.pid, allowed - took) + litter(place)
                    # It may have ended before, or still been in the interpreter's start.
                    known = ended in (ends, 0, -what, 1 if what is signal.SIGINT else ends)
                    if took > allowed or left or not known:
                        wrong.append(
                            f"{name}, {what.name} at {number}: {took:.2f} s, {ended}, {left}"
                        )
            longest = max(longest, most)
            print(f"{name:16} {whole:5.1f} s long: stopped within {most:.2f} s", flush=True)
    print(f"{stops} stops: the longest took {longest:.2f} s")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
