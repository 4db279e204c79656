"""Measures the cost of a sweep beside its runs: for 2,000 tiny points, and for 100,000.

Run with .venv/bin/python benches/sweep.py [--large]. Processor time is that of all processes of the
command. Points are runs of the scenario that `backwater new` writes, one for each seed. `--large`
runs 100,000 points (some minutes). Otherwise the store's writer repeats the rows of 2,000 under
other ids and seeds.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

import backwater
from backwater.manifest import write_manifest
from backwater.numbers.arrays import array
from backwater.saving import SLICE_MS
from backwater.sweep.store import POINTS, Store

FEW, MANY, LARGE = 200, 2000, 100_000
RUNS = 300
CORES = 2
_SUBREAPER = 36


@dataclass
class Command:
    """A command, the time that it took, and samples of its processes' time."""

    wall: float = 0.0
    processor: float = 0.0
    samples: list[tuple[float, float, float]] = field(default_factory=list)
    """Time of day, processor time of its processes, and of all of this machine, in s."""

    @property
    def took(self) -> str:
        """Wall time and processor time, as text."""
        return f"{self.wall:.2f} s, {self.processor:.2f} s of processor time"

    def run(self, *arguments: str, sampled: bool = False) -> Command:
        """Run `backwater` with these arguments; `sampled`: also sample its processor time."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-m", "backwater", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            ended = threading.Event()
            watch = threading.Thread(target=self._watch, args=(process.pid, ended))
            if sampled:
                watch.start()
            said = process.stderr.read() if process.stderr else ""
            code = process.wait()
            self.wall = time.monotonic() - began
            ended.set()
            if sampled:
                watch.join()
        _reap()
        if code:
            sys.exit(f"backwater {' '.join(arguments)} ended with {code}: {said}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return self

    def _watch(self, pid: int, ended: threading.Event) -> None:
        while not ended.wait(0.05):
            mine = 0.0
            try:
                root = psutil.Process(pid)
                for one in (root, *root.children(recursive=True)):
                    times = one.cpu_times()
                    mine += times.user + times.system
            except psutil.NoSuchProcess:
                continue
            whole = psutil.cpu_times()
            busy = whole.user + whole.system + whole.nice + whole.softirq
            self.samples.append((time.time(), mine, busy))

    def between(self, first: float, last: float) -> tuple[float, float]:
        """Return the processor time of the command, and of all others, between two times of day."""
        times, mine, whole = (np.array(column) for column in zip(*self.samples, strict=True))
        own = float(np.interp(last, times, mine) - np.interp(first, times, mine))
        both = float(np.interp(last, times, whole) - np.interp(first, times, whole))
        return own, max(0.0, both - own)


def _reap() -> None:
    """Wait for processes whose parent has ended, so that their time is counted."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _alone(file: str) -> float:
    core = backwater.load(file).complete()
    began = time.process_time()
    for seed in range(1, RUNS + 1):
        simulation = core.start(seed)
        while not simulation.advance(SLICE_MS).done:
            pass
    return (time.process_time() - began) / RUNS


def run_itself(file: Path) -> float:
    """Return the processor time of a run, from building the network to its end, in s.

    As many processes run at once as in a sweep: cores that share their caches are slower.
    """
    asked = [sys.executable, __file__, "--alone", str(file)]
    running = [subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) for _ in range(CORES)]
    return statistics.mean(float(one.communicate()[0]) for one in running)


def disk(directory: Path) -> int:
    """Return the size of all files in a directory, in B."""
    return sum(one.stat().st_size for one in directory.rglob("*") if one.is_file())


def small(place: Path, file: Path) -> None:
    """Print the cost of 2,000 points in one command."""
    run = run_itself(file)
    print(f"a run itself: {run * 1e3:.2f} ms of processor time")
    # Explicit, since the command runs few points itself, without workers.
    sweep = ("sweep", str(file), "--workers", str(CORES))
    few = Command().run(*sweep, "--seeds", f"1..{FEW}", "--out", str(place / "few"))
    many = Command().run(
        *sweep, *("--seeds", f"1..{MANY}", "--out", str(place / "many")), sampled=True
    )
    alone = run_itself(file)
    print(f"a run itself, afterwards: {alone * 1e3:.2f} ms")
    run = (run + alone) / 2
    print(f"{MANY} points: {many.took}")
    print(f"{FEW} points: {few.took}")
    further = (many.processor - few.processor) / (MANY - FEW)
    print(
        f"beside the run: {(many.processor / MANY - run) * 1e3:.2f} ms a point, start and end of "
        f"the command included; {(further - run) * 1e3:.2f} ms for each further point"
    )
    timings = backwater.open_sweep(place / "many").polars("timings").sort("ended")
    # The first point is the pilot's, before workers start.
    ends = [datetime.fromisoformat(text).timestamp() for text in timings["ended"]]
    first, last = ends[1] - timings["seconds"][1], ends[-1]
    own, others = many.between(first, last)
    wall = last - first
    left = CORES * wall - others
    print(
        f"from the first point of a worker to the last one {wall:.1f} s: busy "
        f"{own / wall / CORES:.1%} of {CORES} cores; other programs {others / wall / CORES:.1%}; "
        f"busy {own / left:.1%} of what these left"
    )
    size = disk(place / "many")
    print(f"disk: {size} B, {size / MANY:.0f} B a point")


def dataset(place: Path, file: Path, *, real: bool) -> None:
    """Print the time to plan a sweep of 100,000 points, and to query it."""
    sweep = ("sweep", str(file), "--vary", "switch.buffer=400 KB..499 KB step 1 KB")
    seeds, out = ("--seeds", f"1..{LARGE // 100}"), ("--out", str(place / "large"))
    dry = Command().run(*sweep, *seeds, "--dry-run")
    print(f"{LARGE} points counted and estimated: {dry.took}")
    if real:
        whole = Command().run(*sweep, *seeds, *out)
        print(f"{LARGE} points: {whole.took}")
    else:
        Command().run(*sweep, "--seeds", "1..20", *out)
        _repeat(place / "large")
    size = disk(place / "large")
    print(f"disk: {size / 1e6:.1f} MB, {size / LARGE:.0f} B a point")
    for sql in (
        "select count(*), avg(pauses) from points",
        "select switch_buffer, avg(mean_fct_victim), max(max_fct_incast) from points group by 1",
        "select metric, avg(value), stddev(value) from metrics group by 1",
    ):
        asked = Command().run("query", str(place / "large"), sql)
        began = time.perf_counter()
        backwater.open_sweep(place / "large").query(sql)
        inner = time.perf_counter() - began
        print(f"{asked.took}; from Python {inner:.2f} s: {sql}")


def _repeat(directory: Path) -> None:
    """Write the rows of a sweep again and again, under other ids and seeds."""
    sweep = backwater.open_sweep(directory)
    points, timings = sweep.arrow(), sweep.arrow("timings")
    ids = [str(one) for one in points["point"].to_pylist()]
    seeds = [int(one) for one in points["seed"].to_pylist() if one is not None]
    place = points.schema.get_field_index("seed")
    store = Store(directory)
    for number in range(1, LARGE // len(points)):
        known = array([f"{number:04x}{one[4:]}" for one in ids], pa.string())
        other = array([20 * number + seed for seed in seeds], pa.int64())
        rows = points.set_column(0, points.schema.field(0), known)
        rows = rows.set_column(place, points.schema.field(place), other)
        store.add({POINTS: rows, "timings": timings.set_column(0, timings.schema.field(0), known)})
    store.close()
    # Without the hashes of parts, which have been merged since.
    kept = {key: value for key, value in sweep.manifest.items() if key != "parts"}
    write_manifest(directory, kept)


def main() -> None:
    """Print all measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="run 100,000 points for real")
    parser.add_argument("--alone", metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone is not None:
        print(_alone(given.alone))
        return
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        file = place / "tiny.toml"
        Command().run("new", str(file))
        small(place, file)
        dataset(place, file, real=given.large)


if __name__ == "__main__":
    main()
