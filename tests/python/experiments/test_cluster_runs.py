"""Runs of studies, series and comparisons by workers of Dask: real ones, over TCP."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

import backwater
from backwater import Run, _core, study
from backwater.errors import InputError, ResultError
from backwater.experiments import clusters, execute
from backwater.experiments.hands import Workers
from backwater.journal import Journal
from backwater.manifest import read_manifest
from backwater.results import SpoolSink, opening
from backwater.running import Job, Standing, simulate
from backwater.stopping import Stop
from backwater.study import definition
from kit.command import Command, start
from kit.studies import RANDOM, write_random_study
from kit.sweeping import Cluster, Done, Here, other_build, until
from kit.tree import ROOT

TABLES = ("flows", "series", "ports")
# Facts of a run that depend neither on its directory nor on the clock.
FACTS = ("seed", "status", "summary", "warnings", "scenario", "origins", "inputs")
# Runs of a second or two.
SECONDS = RANDOM.replace('at = "2 ms"', 'at = "500 ms"')
# Runs that are stopped before their end.
FAR = RANDOM.replace('at = "2 ms"', 'at = "1000 s"')


@pytest.fixture
def small_study(tmp_path: Path) -> definition.Study:
    return definition.read(write_random_study(tmp_path))


class Heard:
    """Listens to runs."""

    def __init__(self) -> None:
        self.running: dict[int, list[int]] = {}
        self.over: list[int] = []

    def advanced(self, job: int, status: Standing) -> None:
        self.running.setdefault(job, []).append(status.time_ps)

    def finished(self, job: int) -> None:
        self.over.append(job)

    def noticed(self, job: int, what: str) -> None:
        raise AssertionError(job, what)


def runs(outcome: study.Outcome) -> dict[str, list[Run]]:
    return {str(key): list(outcome.runs(key)) for key in outcome.points}


@pytest.mark.parametrize("kept", [True, False])
def test_python_has_a_cluster_run_the_seeds(
    cluster: Cluster, tmp_path: Path, *, kept: bool
) -> None:
    scenario = backwater.parse(RANDOM)
    here = scenario.run(seeds=3)
    elsewhere = scenario.run(
        seeds=3,
        out=tmp_path / "there" if kept else None,
        workers=clusters.scheduler(cluster.address),
    )
    assert elsewhere.status == "done"
    assert [run.fingerprint for run in elsewhere.runs] == [run.fingerprint for run in here.runs]
    assert all(
        mine.flows.equals(its.flows) for mine, its in zip(here.runs, elsewhere.runs, strict=True)
    )


def test_a_listener_of_runs_elsewhere_gets_the_status_of_runs_here(cluster: Cluster) -> None:
    there = clusters.scheduler(cluster.address)
    names = [name for name in dir(_core.Status) if not name.startswith("_")]
    heard: list[list[Any]] = []

    def listen(status: _core.Status) -> None:
        heard.append([getattr(status, name) for name in names])

    backwater.parse(SECONDS).run(seeds=2, workers=there, progress=listen)
    assert heard

    def faulty(_: _core.Status) -> None:
        raise ZeroDivisionError("by hand")

    with pytest.raises(ZeroDivisionError, match="by hand"):
        backwater.parse(SECONDS).run(seeds=2, workers=there, progress=faulty)


@pytest.mark.parametrize("workers", ["tcp://host:8786", 0, -1, True, 1.5, 1025])
def test_workers_are_a_number_or_a_cluster(workers: Any) -> None:  # noqa: ANN401 - anything
    with pytest.raises(InputError, match=r"neither a number from 1 to 1024 nor a cluster"):
        backwater.parse(RANDOM).run(seeds=2, workers=workers)
    with pytest.raises(InputError, match="workers: is for several runs"):
        cast("Any", backwater.parse(RANDOM)).run(workers=workers)


def test_a_class_of_python_is_not_run_elsewhere() -> None:
    class Idle(backwater.Control):
        """Does nothing."""

    scenario = backwater.parse(RANDOM).set("ack.enabled", "true")
    nobody = Workers(lambda _: pytest.fail("workers are started"))
    with pytest.raises(InputError, match="a cluster cannot run it"):
        scenario.prototype(Idle).run(seeds=2, workers=nobody)


def test_a_cluster_makes_the_results_of_one_machine(
    small_study: definition.Study, cluster: Cluster, tmp_path: Path
) -> None:
    heard = Heard()
    there = clusters.scheduler(cluster.address)
    one = study.reproduce(small_study, out=tmp_path / "one")
    other = study.reproduce(
        small_study, out=tmp_path / "other", workers=there, progress=lambda _: heard
    )
    assert other.rows == one.rows
    assert other.beside == one.beside
    assert sorted(heard.over) == list(range(11))
    here, elsewhere = runs(one), runs(other)
    assert here.keys() == elsewhere.keys()
    assert [len(some) for some in here.values()] == [6, 2, 3]
    for key, some in here.items():
        for mine, its in zip(some, elsewhere[key], strict=True):
            assert {fact: mine.manifest[fact] for fact in FACTS} == {
                fact: its.manifest[fact] for fact in FACTS
            }
            assert its.manifest["started"] <= its.manifest["ended"]
            for table in TABLES:
                assert mine.read(table).equals(its.read(table)), (key, table)
    lines = [
        {line["of"]: line["measures"] for line in map(json.loads, path.read_text().splitlines())}
        for path in (tmp_path / "one" / "measured.jsonl", tmp_path / "other" / "measured.jsonl")
    ]
    assert lines[0] == lines[1]
    # Nothing is missing, so no worker is asked.
    nobody = Workers(lambda _: pytest.fail("workers are started"))
    assert study.reproduce(small_study, out=tmp_path / "one", workers=nobody).rows == one.rows


def jobs_of(text: str, many: int, series: Path | None) -> list[Job]:
    prepared = backwater.parse(text).prepare()
    return [Job.repeated(prepared, seed, series) for seed in range(1, many + 1)]


def test_a_run_that_fails_there_fails_alone(cluster: Cluster, tmp_path: Path) -> None:
    """As it does here, with the rows up to then; the others go on."""
    broken = backwater.load(ROOT / "scenarios" / "ring-deadlock.toml").prepare()
    found = []
    for name, workers in (("here", None), ("there", clusters.scheduler(cluster.address))):
        jobs = [Job(broken, 1, tmp_path / name), *jobs_of(RANDOM, 1, None)]
        found.append(
            execute.run_jobs(jobs, None, Stop(), lambda run: f"{run.fingerprint}", workers)
        )
    (here, whole), (there, its) = found
    assert whole == its
    assert isinstance(here, backwater.RunError)
    assert isinstance(there, backwater.RunError)
    assert (str(there), there.reason, there.hint) == (str(here), here.reason, here.hint)
    mine, other = (backwater.open_run(tmp_path / name, backwater.Run) for name in ("here", "there"))
    assert other.status == "failed"
    assert other.manifest["error"] == mine.manifest["error"] == str(there)
    assert other.flows.equals(mine.flows)
    assert other.flows.num_rows
    assert there.run.ports.equals(mine.ports)


def test_a_run_over_which_workers_die_fails_alone(tmp_path: Path) -> None:
    """Which a client tells that is no Dask's; the others come to their end."""
    killed = pytest.importorskip("distributed").KilledWorker

    class Dead:
        status = "error"

        def add_done_callback(self, call: Callable[[Dead], object]) -> None:
            call(self)

        def exception(self) -> Exception:
            return cast("Exception", killed("task", None, 3))

    class Deadly(Here):
        def submit(self, function: Callable[..., object], *given: object, pure: bool) -> Any:  # noqa: ANN401
            del function, pure
            number = cast("int", given[-1])
            if number == 1:
                return Dead()
            folder = tmp_path / f"spool-{number}"
            folder.mkdir()
            sink = SpoolSink(folder, opening())
            return Done(simulate(jobs[number], number, None, Stop(), lambda: sink))

    jobs = jobs_of(RANDOM, 3, tmp_path / "o")
    workers = Workers(lambda _: nullcontext(Deadly()))
    found = execute.run_jobs(jobs, None, Stop(), lambda run: run.seed, workers)
    assert found[0] == 1
    assert isinstance(found[1], backwater.RunError)
    assert "its worker ended repeatedly without an error" in found[1].reason
    assert found[2] == 3
    series = backwater.open_run(tmp_path / "o", backwater.Series)
    assert [run.status for run in series.runs] == ["done", "failed", "done"]
    assert series.status == "failed"


def test_a_worker_that_dies_is_replaced(cluster_of: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = cluster_of()
    heard = Heard()
    killed: list[int] = []
    jobs = jobs_of(SECONDS, 4, tmp_path / "o")

    def kill(job: int, status: Standing) -> None:
        Heard.advanced(heard, job, status)
        if not killed and status.time_ps > 10**9:
            killed.append(job)
            cluster.kill("worker-0")

    heard.advanced = kill  # type: ignore[method-assign]
    found = execute.run_jobs(
        jobs, heard, Stop(), lambda run: run.fingerprint, clusters.scheduler(cluster.address)
    )
    assert killed
    alone = jobs_of(SECONDS, 4, None)
    assert found == execute.run_jobs(alone, None, Stop(), lambda run: run.fingerprint)


def busy(address: str) -> int:
    """How many tasks the workers of a scheduler run."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(address) as client:
        states = client.run(lambda dask_worker: len(dask_worker.state.executing))
    return sum(states.values())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_ends_has_no_run_go_on_for_nobody(
    number: int, cluster: Cluster, tmp_path: Path
) -> None:
    folder = write_random_study(tmp_path, FAR)
    shutil.copytree(folder, tmp_path / "studies" / "small-2026")
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from backwater.study import definition\n"
        "definition.STUDIES = Path('studies')\n"
        "from backwater.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    (tmp_path / "command.py").write_text(script, encoding="utf-8")
    words = ("reproduce", "small-2026", "--case", "b", "--scheduler", cluster.address, "--out", "o")
    with subprocess.Popen(
        [sys.executable, "command.py", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert until(30, lambda: busy(cluster.address) == 2), process.communicate()
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "what was simulated by then is in o" in said
        assert f"--scheduler {cluster.address} --out o" in said
        assert read_manifest(tmp_path / "o")["status"] == "interrupted"
    assert until(10, lambda: busy(cluster.address) == 0)


def test_a_sweep_that_is_killed_has_no_point_go_on(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "far.toml").write_text(FAR, encoding="utf-8")
    words = ("sweep", "far.toml", "--vary", "switch.buffer=6 KB,7 KB,8 KB", "--out", "o")
    with start(*words, "--scheduler", cluster.address, cwd=tmp_path) as process:
        assert until(30, lambda: busy(cluster.address) == 2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert until(10, lambda: busy(cluster.address) == 0)


def test_a_series_killed_on_a_cluster_goes_on_here(cluster: Cluster, tmp_path: Path) -> None:
    text = RANDOM.replace('at = "2 ms"', 'at = "1500 ms"')
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    words = ("run", "case.toml", "--seeds", "20", "--out", "s", "--allow-unfinished")
    with start(*words, "--scheduler", cluster.address, cwd=tmp_path) as process:
        assert until(60, lambda: len(Journal.read(tmp_path / "s").runs) > 2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    before = Journal.read(tmp_path / "s").runs
    assert 2 < len(before) < 20
    assert {line["status"] for line in before.values()} == {"done"}
    with start(*words, cwd=tmp_path) as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert f"{len(before)} of 20 runs are in s already" in said
    after = Journal.read(tmp_path / "s").runs
    assert {seed: after[seed] for seed in before} == before
    whole = backwater.load(tmp_path / "case.toml").run(seeds=20)
    series = backwater.open_run(tmp_path / "s", backwater.Series)
    assert [run.fingerprint for run in series.runs] == [run.fingerprint for run in whole.runs]
    assert all(
        mine.flows.equals(its.flows) for mine, its in zip(series.runs, whole.runs, strict=True)
    )


def test_tables_of_flows_travel(cluster: Cluster, tmp_path: Path) -> None:
    """Those of a scenario whose names are relative, and those that Python has added."""
    rows = "".join(f"{n},{1 + n % 2},0,20000,{n} us\n" for n in range(9))
    (tmp_path / "flows.csv").write_text(f"id,src,dst,bytes,start\n{rows}", encoding="utf-8")
    text = RANDOM[: RANDOM.index("[[flow]]")]
    text += (
        '[[flow]]\nlabel = "t"\ntable = "flows.csv"\n[output]\nflows = true\ninterval = "1 ms"\n'
    )
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    pa = pytest.importorskip("pyarrow")
    more = pa.table({"id": [0], "src": [2], "dst": [0], "bytes": [3000], "start_ps": [0]})
    prepared = backwater.load(tmp_path / "case.toml").flows(more).prepare()
    [found] = execute.run_jobs(
        [Job.repeated(prepared, 1, None)],
        None,
        Stop(),
        lambda run: run,
        clusters.scheduler(cluster.address),
    )
    assert isinstance(found, backwater.Run)
    assert found.flows.num_rows == 10
    here = backwater.load(tmp_path / "case.toml").flows(more).run(seed=1)
    assert found.fingerprint == here.fingerprint


def test_a_worker_of_another_build_is_refused(
    cluster_of: Callable[..., Cluster], tmp_path: Path
) -> None:
    other = other_build(tmp_path)
    cluster = cluster_of(workers=1, environment={"PYTHONPATH": str(other)})
    with pytest.raises(InputError, match="has another version or build"):
        execute.run_jobs(
            jobs_of(RANDOM, 1, tmp_path / "o"),
            None,
            Stop(),
            lambda run: run,
            clusters.scheduler(cluster.address),
        )
    assert not (tmp_path / "o").exists()


def test_runs_without_any_worker_end(cluster_of: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = cluster_of(workers=0)
    workers = Workers(clusters.scheduler(cluster.address).connect, 0.5)
    with pytest.raises(ResultError, match="no worker has come within 0 s"):
        execute.run_jobs(jobs_of(RANDOM, 1, tmp_path / "o"), None, Stop(), lambda run: run, workers)


def test_commands_for_several_runs_take_a_cluster(
    command: Command, cluster: Cluster, tmp_path: Path
) -> None:
    """Their output and their tables are those of one machine."""
    (tmp_path / "case.toml").write_text(RANDOM, encoding="utf-8")
    there = ("--scheduler", cluster.address)
    for name, words in {
        "series": ("run", "case.toml", "--seeds", "3"),
        "comparison": ("compare", "case.toml", "case.toml@larger", "--seeds", "3"),
    }.items():
        here = command(*words, "--out", f"{name}-here", "--json", "here.json")
        away = command(*words, "--out", f"{name}-away", "--json", "away.json", *there)
        assert (away.code, away.out) == (here.code, here.out), away.err
        texts = [(tmp_path / f"{one}.json").read_text(encoding="utf-8") for one in ("here", "away")]
        assert texts[1].replace("-away", "-here") == texts[0]
        # Nobody is asked for what is there.
        nobody = ("--scheduler", "tcp://127.0.0.1:1")
        again = command(*words, "--out", f"{name}-away", *nobody)
        assert (again.code, again.out) == (here.code, here.out), again.err
    one, other = (
        backwater.open_run(tmp_path / f"series-{at}", backwater.Series) for at in ("here", "away")
    )
    for mine, its in zip(one.runs, other.runs, strict=True):
        assert its.flows.equals(mine.flows)


def test_a_cluster_is_for_several_runs(command: Command, tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(RANDOM, encoding="utf-8")
    said = command("run", "case.toml", "--scheduler", "tcp://127.0.0.1:1", code=2)
    assert "--scheduler: only runs of --seeds use a cluster" in said.err
    for words in (
        ("run", "case.toml", "--seeds", "2"),
        ("compare", "case.toml", "case.toml@larger"),
    ):
        said = command(*words, "--scheduler", "tcp://127.0.0.1:1", "--slurm", "jobs=1", code=2)
        assert "--scheduler and --slurm exclude each other" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["case.toml"]
