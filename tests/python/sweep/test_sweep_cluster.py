"""Sweeps on clusters: real schedulers and workers in separate processes and directories."""

from __future__ import annotations

import math
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import backwater
from backwater.errors import InputError
from backwater.experiments.clusters import Slurm
from backwater.stopping import Stop
from backwater.sweep.drive import Drive
from backwater.sweep.store import POINTS as POINTS_TABLE
from backwater.sweep.store import table_of
from kit.command import Command, start
from kit.sweeping import HOT, LONG, Cluster, other_build, rows, until

# Points of some milliseconds, so that a kill can hit one. `make kills` repeats this.
MANY = 600
SWEEP = ("sweep", "long.toml", "--variant", "pfc")
POINTS = (*SWEEP, "--vary", "topology.link_delay=500 ns..640 ns step 10 ns", "--seeds", "1..40")
# Without it the command itself runs short sweeps, as workers take longer to start.
LOCAL = ("--workers", "2")
FEW = (*SWEEP, "--vary", "topology.link_delay=500 ns..640 ns step 10 ns")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    return tmp_path


def ended(place: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    with start(*arguments, cwd=place, environment=environment) as process:
        _, said = process.communicate(timeout=120)
    return process.returncode, said


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Return the worker processes that a sweep has started."""
    psutil = pytest.importorskip("psutil")
    found = psutil.Process(process.pid).children()
    return [one.pid for one in found if "spawn_main" in " ".join(one.cmdline())]


def written(directory: Path) -> int:
    """Return the number of points on the disk."""
    return len(table_of(directory, POINTS_TABLE))


def test_a_cluster_makes_the_dataset_of_one_machine(place: Path, cluster: Cluster) -> None:
    """A scheduler and two workers are three processes, each with its directory, over TCP."""
    scratch = place / "tmp"
    scratch.mkdir()
    for name, more in (("here", LOCAL), ("there", ("--scheduler", cluster.address))):
        asked = (*FEW, "--keep", "flows", "--out", name, *more)
        code, said = ended(place, *asked, TMPDIR=str(scratch))
        assert (code, list(scratch.iterdir())) == (0, []), said
    assert rows(place / "there") == rows(place / "here")
    assert {row["status"] for row in rows(place / "there")} == {"done"}
    flows = [backwater.open_sweep(place / name).polars("flows") for name in ("here", "there")]
    assert len(flows[0]) == 15 * 4
    assert flows[0].sort("point", "flow_id").equals(flows[1].sort("point", "flow_id"))


def test_killed_at_any_instant_it_comes_to_the_same_rows(
    place: Path,
    cluster_of: Callable[..., Cluster],
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Driver, workers and scheduler are killed. Timings differ, and have a separate table."""
    alone = ("--scheduler", cluster.address)
    assert ended(place, *POINTS, "--out", "whole", *alone)[0] == 0
    whole = rows(place / "whole")
    assert len(whole) == MANY
    assert {row["status"] for row in whole} == {"done"}
    chance = random.Random(1)
    # On this machine: kill a worker, then the driver.
    with start(*POINTS, *LOCAL, "--out", "here", cwd=place) as process:
        assert until(30, lambda: written(place / "here") > 1)
        os.kill(chance.choice(workers_of(process)), signal.SIGKILL)
        process.kill()
    before = written(place / "here")
    assert 1 < before < MANY
    # On the cluster: kill a worker, the driver, and the scheduler with all its workers.
    mortal = cluster_of()
    there = (*POINTS, "--out", "here", "--scheduler", mortal.address)
    # How long a command looks for a lost scheduler; the default is ten seconds.
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "2s")
    with start(*there, cwd=place) as process:
        assert until(30, lambda: written(place / "here") > before + 1)
        mortal.kill("worker-0")
        mortal.worker(0)
        process.kill()
    before = written(place / "here")
    # A command runs one point before it connects.
    with start(*there, cwd=place) as process:
        assert until(30, lambda: written(place / "here") > before + 1)
        mortal.kill("scheduler")
        _, said = process.communicate(timeout=60)
    if process.returncode:
        assert "Traceback" not in said
        assert "the same command resumes it" in said
    code, said = ended(place, *POINTS, "--out", "here", *alone)
    assert code == 0, said
    assert rows(place / "here") == whole


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(place: Path) -> None:
    with start(*POINTS, *LOCAL, "--out", "o", cwd=place) as process:
        assert until(30, lambda: written(place / "o") > 1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "points are done in o" in said
    assert "the same command resumes it" in said
    assert "Traceback" not in said
    assert 1 < len(rows(place / "o")) < MANY


def test_a_worker_of_another_build_is_refused(
    place: Path, cluster_of: Callable[..., Cluster]
) -> None:
    other = other_build(place)
    cluster = cluster_of(workers=1, environment={"PYTHONPATH": str(other)})
    code, said = ended(place, *POINTS, "--out", "o", "--scheduler", cluster.address)
    assert code == 2
    assert "has another version or build" in said
    assert "install the same version of Backwater there" in said


def test_a_worker_without_backwater_is_refused(
    place: Path, cluster_of: Callable[..., Cluster]
) -> None:
    (place / "none" / "backwater").mkdir(parents=True)
    (place / "none" / "backwater" / "__init__.py").write_text("", encoding="utf-8")
    cluster = cluster_of(workers=1, environment={"PYTHONPATH": str(place / "none")})
    code, said = ended(place, *POINTS, "--out", "o", "--scheduler", cluster.address)
    assert code == 2
    assert "a worker cannot load this version of Backwater" in said


def test_tables_travel_to_workers(place: Path, cluster_of: Callable[..., Cluster]) -> None:
    """The tables have relative names, from a folder that is not that of the workers."""
    folder = place / "folder"
    folder.mkdir()
    rows_ = "".join(f"{n},{1 + n % 3},0,20000,{n} us\n" for n in range(9))
    (folder / "flows.csv").write_text(f"id,src,dst,bytes,start\n{rows_}", encoding="utf-8")
    text = HOT[: HOT.index("[[flow]]")] + '[[flow]]\nlabel = "t"\ntable = "flows.csv"\n'
    (folder / "case.toml").write_text(text, encoding="utf-8")
    cluster = cluster_of(workers=1)
    vary = ("--vary", "switch.buffer=100KB..200KB step 10 KB", "--out", "o")
    code, said = ended(place, "sweep", "folder/case.toml", *vary, "--scheduler", cluster.address)
    assert code == 0, said
    assert {row["flows:t"] for row in rows(place / "o")} == {9.0}


SBATCH = """#!/bin/bash
cp "$1" {place}/script
bash {place}/script >> {place}/job.log 2>&1 &
echo $! >> {place}/jobs
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/bash
pkill -P "$1"
kill "$1" 2>/dev/null
exit 0
"""


def test_jobs_of_slurm_run_the_points(
    place: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """A stub of `sbatch` starts the script here: SLURM itself is not tested."""
    tools = place / "bin"
    tools.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tools / name).write_text(text.format(place=place), encoding="utf-8")
        (tools / name).chmod(stat.S_IRWXU)
    options = "queue=short cores=2 memory=2GB jobs=1 interface=lo walltime=01:00:00 --constraint=x"
    said = command("sweep", "long.toml", "--slurm", options, code=2)
    assert "there is no `sbatch` here" in said.err
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    code, told = ended(place, *FEW, "--out", "o", "--slurm", options)
    assert code == 0, told
    assert len(rows(place / "o")) == 15
    script = (place / "script").read_text(encoding="utf-8")
    for line in ("-p short", "--cpus-per-task=2", "-t 01:00:00", "--constraint=x"):
        assert f"#SBATCH {line}\n" in script


def test_a_job_that_sbatch_refuses_is_reported(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = place / "bin"
    tools.mkdir()
    for name in ("sbatch", "scancel"):
        text = "#!/bin/bash\necho 'sbatch: error: invalid partition specified: short' >&2\nexit 1\n"
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    code, told = ended(place, *FEW, "--out", "o", "--slurm", "queue=short interface=lo")
    assert code == 2, told
    assert "error: --slurm: sbatch has refused a job: sbatch: error: invalid partition" in told
    assert "Traceback" not in told


def test_jobs_may_wait_in_a_queue(
    place: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """Jobs get more time than workers of an existing scheduler."""
    tools = place / "bin"
    tools.mkdir()
    late = SBATCH.replace("bash {place}/script", "(sleep 2; exec bash {place}/script)")
    for name, text in (("sbatch", late), ("scancel", SCANCEL)):
        (tools / name).write_text(text.format(place=place), encoding="utf-8")
        (tools / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    waits = []
    run = Drive.run

    def seen(self: Drive, client: object, stop: Stop, wait: float = 0.0) -> None:
        waits.append(wait)
        run(self, client, stop, wait)

    monkeypatch.setattr(Drive, "run", seen)
    said = command(*FEW, "--out", "o", "--slurm", "queue=short interface=lo memory=2GB", code=0)
    assert waits == [math.inf]
    assert "1 job of SLURM will be submitted; they may wait in its queue" in said.err


def test_the_script_of_a_job_is_shown(command: Command, place: Path) -> None:
    assert place.exists()
    said = command(
        *("sweep", "long.toml", "--dry-run"),
        *("--slurm", "queue=q account=a cores=4 memory=8GB --gres=none"),
        code=0,
    )
    lines = said.out.splitlines()
    assert lines[0].startswith("#!")
    for line in ("-p q", "-A a", "--cpus-per-task=4", "--mem=8G", "--gres=none"):
        assert f"#SBATCH {line}" in lines
    assert lines[-1].startswith(sys.executable)
    assert "distributed.cli.dask_worker" in lines[-1]
    # One process per core, each with one thread.
    assert "--nthreads 1" in lines[-1]
    assert "--nworkers 4" in lines[-1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("quue=x", "not NAME=VALUE with one of jobs, queue"),
        ("cores=many", "not a whole number of 1 or more"),
        ("queue='x", "No closing quotation"),
    ],
)
def test_invalid_options_of_slurm_are_refused(options: str, reason: str) -> None:
    with pytest.raises(InputError, match="--slurm") as refused:
        Slurm.of(options)
    assert reason in str(refused.value)
