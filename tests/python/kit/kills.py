"""Kills sweeps at random instants, and compares their results with those of an undisturbed sweep.

    PYTHONPATH=tests/python .venv/bin/python -m kit.kills --kills 100 --seed 1
    PYTHONPATH=tests/python .venv/bin/python -m kit.kills --kills 10 --keep flows
    PYTHONPATH=tests/python .venv/bin/python -m kit.kills --kills 10 --goal

Rounds alternate between this machine, and a scheduler with two workers, each a process with a
directory of its own. A round kills (SIGKILL) a worker, the command or the scheduler of its sweep
again and again, at any instant from its start on. A command that has ended is repeated. When it is
through, its rows, sorted by point, must be those of the undisturbed sweep, and no point that was on
the disk may be lost meanwhile. `--keep flows` also compares the rows of flows, and `--goal` the
answer to a goal. Ends with code 1 otherwise.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import backwater
from backwater.sweep.store import POINTS, table_of
from kit.sweeping import LONG, Cluster, rows

psutil: Any = importlib.import_module("psutil")

SWEEP = (
    *("sweep", "long.toml", "--variant", "pfc"),
    *("--vary", "topology.link_delay=500 ns..790 ns step 10 ns", "--seeds", "1..40"),
)
SEARCH = (
    *("sweep", "long.toml", "--variant", "pfc", "--vary", "topology.link_delay=500 ns,1 us,2 us"),
    *("--goal", "smallest pfc.xoff in 5 KB..150 KB step 1 KB where pauses <= 400"),
    *("--seeds", "1..24"),
)
HERE, CLUSTER = 4.0, 1.5
"""Most seconds from one kill to the next; on this machine workers must start each time."""
ENDS = 120.0
"""Seconds within which a command without its scheduler ends."""


class FailureError(Exception):
    """A defect that a kill has revealed."""


class Round:
    """A sweep that is killed until it is through."""

    def __init__(
        self,
        place: Path,
        name: str,
        chance: random.Random,
        cluster: Cluster | None,
        sweep: tuple[str, ...],
    ) -> None:
        self.place, self.name, self.chance, self.cluster = place, name, chance, cluster
        self.sweep = sweep
        self.kills: collections.Counter[str] = collections.Counter()
        self.most = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """Start the command, again."""
        where = ("--workers", "2")
        if self.cluster is not None:
            where = ("--scheduler", self.cluster.address)
        command = (sys.executable, "-m", "backwater", *self.sweep, "--out", self.name, *where)
        with (self.place / f"{self.name}.log").open("a") as log:
            self.process = subprocess.Popen(
                command, cwd=self.place, stdout=log, stderr=log, text=True
            )
        return self.process

    def there(self) -> None:
        """Check that no point is lost that was on the disk."""
        found = len(table_of(self.place / self.name, POINTS))
        if found < self.most:
            raise FailureError(f"{self.name}: {found} points after {self.most}")
        self.most = found

    def run(self, many: int) -> None:
        """Kill the sweep at most `many` times, and then let it end."""
        process = self.start()
        longest = HERE if self.cluster is None else CLUSTER
        while sum(self.kills.values()) < many:
            with contextlib.suppress(subprocess.TimeoutExpired):
                if self.ended(process.wait(self.chance.uniform(0, longest))):
                    return
                process = self.start()
                continue
            what = self.chance.choice(self.victims(process))
            if what == "worker":
                self.kill_worker(process)
            elif what == "command":
                process.kill()
                process.wait()
            else:
                assert self.cluster is not None
                self.cluster.kill("scheduler")
            self.kills[what] += 1
            if what == "scheduler":
                self.after_the_scheduler(process)
            if what != "worker":
                self.there()
                process = self.start()
        while not self.ended(process.wait(ENDS)):
            process = self.start()

    def victims(self, process: subprocess.Popen[str]) -> list[str]:
        """Return what can be killed now."""
        if self.cluster is not None:
            return ["worker", "command", "scheduler"]
        return ["worker", "command"] if workers(process) else ["command"]

    def kill_worker(self, process: subprocess.Popen[str]) -> None:
        """Kill one of the two workers, and replace it if it is a scheduler's."""
        if self.cluster is None:
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(self.chance.choice(workers(process)), signal.SIGKILL)
            return
        number = self.chance.randrange(self.cluster.workers)
        self.cluster.kill(f"worker-{number}")
        self.cluster.worker(number)

    def after_the_scheduler(self, process: subprocess.Popen[str]) -> None:
        """Wait until the command reports the lost scheduler, and start the cluster again."""
        assert self.cluster is not None
        self.ended(process.wait(ENDS))
        self.cluster.close()
        self.cluster.start()

    def ended(self, code: int) -> bool:
        """Check how a command ended that was not killed, and return whether it is through."""
        said = (self.place / f"{self.name}.log").read_text()
        if "Traceback" in said:
            raise FailureError(f"{self.name}: {said[-3000:]}")
        if code not in (0, -signal.SIGKILL):
            last = said.rpartition("error: ")[2]
            if "resumes it" not in last and "does not answer" not in last:
                raise FailureError(f"{self.name}: ended with {code}: {last}")
        return code == 0


def result(directory: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], object]:
    """Return the results of a sweep: points, flows if they are kept, answer to a goal."""
    opened = backwater.open_sweep(directory)
    if opened.status != "done":
        raise FailureError(f"{directory.name}: is {opened.status}")
    flows = opened.arrow("flows")
    if len(flows):
        flows = flows.sort_by([("point", "ascending"), ("flow_id", "ascending")])
    timings = opened.arrow("timings")["point"].to_pylist()
    if len(timings) != len(set(timings)):
        raise FailureError(f"{directory.name}: a point has several timings")
    return rows(directory), flows.to_pylist(), opened.manifest.get("answer")


def workers(process: subprocess.Popen[str]) -> list[int]:
    """Return the worker processes that a sweep has started."""
    try:
        found = psutil.Process(process.pid).children()
        return [one.pid for one in found if "spawn_main" in " ".join(one.cmdline())]
    except psutil.Error:
        return []


def main() -> None:
    """Print each round, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", choices=["flows"], help="keep flows, and compare these, too")
    parser.add_argument("--goal", action="store_true", help="kill a search for a threshold")
    given = parser.parse_args()
    sweep = SEARCH if given.goal else SWEEP
    if given.keep:
        sweep = (*sweep, "--keep", given.keep)
    chance = random.Random(given.seed)
    total: collections.Counter[str] = collections.Counter()
    rounds = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        place = Path(scratch)
        (place / "long.toml").write_text(LONG, encoding="utf-8")
        alone = Round(place, "alone", chance, None, sweep)
        alone.run(0)
        wanted = result(place / "alone")
        points, flows, answer = wanted
        assert {row["status"] for row in points} == {"done"}
        assert bool(flows) == bool(given.keep)
        assert (answer is not None) == given.goal
        whole = f"{len(points)} points" + (f", {len(flows)} flows" if flows else "")
        whole += " and answer" if answer is not None else ""
        cluster = Cluster(place / "cluster").start()
        stack.callback(cluster.close)
        turns: dict[str, Callable[[], Any]] = {"here": lambda: None, "cluster": lambda: cluster}
        while sum(total.values()) < given.kills:
            kind = ("here", "cluster")[rounds % 2]
            one = Round(place, f"{kind}-{rounds}", chance, turns[kind](), sweep)
            try:
                one.run(min(8, given.kills - sum(total.values())))
                if result(place / one.name) != wanted:
                    raise FailureError(f"{one.name}: differs from the undisturbed sweep")
            except FailureError as failure:
                sys.exit(f"seed {given.seed}: {failure}")
            finally:
                if one.process is not None:
                    one.process.kill()
            print(f"{one.name}: {dict(one.kills)}, the same {whole}", flush=True)
            total += one.kills
            rounds += 1
    kinds = ", ".join(f"{what} {many}" for what, many in sorted(total.items()))
    print(
        f"{sum(total.values())} kills ({kinds}) in {rounds} sweeps of {whole}: "
        f"the same each time; {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
