"""Where the points of a sweep run: worker processes of Dask, here or on a cluster.

Dask and its parts are imported when they are needed, and a wheel without them says what to install.
Whatever waits for other processes is done by `waited`, so that a stop ends it; a stop also ends
workers on this machine at once, since what they have not handed in is run again.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import shlex
import shutil
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError, ResultError
from backwater.experiments.hands import Workers
from backwater.files import temporary_directory
from backwater.optional_dependencies import needed
from backwater.stopping import Stop, StoppedError, waited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONNECT_SECONDS = 10.0
"""How long a scheduler may take to answer, unless Dask's own configuration says it."""
_CONNECT = "distributed.comm.timeouts.connect"
LEAST_MEMORY = 200_000_000
"""Limit of a worker process at least, in B: what it is made of takes 150 MB."""
_ADDRESS = (
    "`dask scheduler` on some machine prints its address, as tcp://HOST:8786; "
    "`dask worker ADDRESS` on others works for it"
)
_TRIES = 3
# So long a cluster or a client has to close once a stop is set.
_CLOSE_SECONDS = 0.6
_BEGIN_SECONDS = 0.1
# The same where jobs are taken back from a queue.
_CANCEL_SECONDS = 1.5
_SUBMIT_SECONDS = 60.0
_QUIET = (
    *("distributed", "distributed.client", "distributed.scheduler", "distributed.worker"),
    *("distributed.nanny", "distributed.core", "distributed.comm", "bokeh", "tornado"),
)


def _dask() -> Any:  # noqa: ANN401 - the library has no types
    """Import Dask, and have it say nothing: what a user has to know is told by us."""
    config = needed("dask.config", "sweep")
    config.set(
        {
            "logging": dict.fromkeys(_QUIET, "critical"),
            # A worker that has died has its tasks tried elsewhere; then its points one by one.
            "distributed.scheduler.allowed-failures": 3,
            # Looks at the stacks of all workers a hundred times a second, for pages that are off.
            "distributed.worker.profile.enabled": False,
        }
    )
    distributed = needed("distributed", "sweep")
    config.update_defaults({"distributed": {"comm": {"timeouts": {"connect": CONNECT_SECONDS}}}})
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed


def _scratch(folder: Path) -> Any:  # noqa: ANN401 - the library has no types
    """Have a scheduler that is made meanwhile keep its files there: no option of its own says it.

    Left to itself, it makes a directory among the temporary files that nobody removes.
    """
    return needed("dask.config", "sweep").set({"temporary-directory": str(folder)})


@contextlib.contextmanager
def local(workers: int, memory: int | None, stop: Stop) -> Iterator[Any]:
    """Start worker processes on this machine; gives a client. Raises `StoppedError`.

    `memory` is the limit of each, in B; by default they share what there is. A worker that comes
    near its limit is ended, and another takes its place.
    """
    with temporary_directory("backwater-workers-") as folder:
        cluster = waited(stop, lambda: _started(_dask(), workers, memory, folder))
        try:
            client = waited(stop, lambda: _dask().Client(cluster))
            try:
                yield client
            finally:
                _close(client, stop)
        finally:
            _close(cluster, stop, ending=end_children)


def _close(
    what: Any,  # noqa: ANN401 - the library has no types
    stop: Stop,
    seconds: float = _CLOSE_SECONDS,
    ending: Callable[[], None] | None = None,
) -> None:
    """Close a cluster or a client; once the stop is set, within so many seconds or not at all.

    `ending` ends what closing would wait for: it is called when closing has begun.
    """
    if not stop.is_set():
        with contextlib.suppress(StoppedError):
            waited(stop, what.close)
            return
    # Whatever it says now, it is of no use to anybody.
    with contextlib.suppress(Exception):
        if ending is not None:
            with contextlib.suppress(TimeoutError):
                waited(Stop(), what.close, _BEGIN_SECONDS)
            ending()
        waited(Stop(), what.close, seconds)


def end_children() -> None:
    """End the worker processes that this one has started, there and then."""
    for child in multiprocessing.active_children():
        child.kill()


def _check_address(text: str) -> None:
    _dask()
    addressing = needed("distributed.comm.addressing", "sweep")
    try:
        addressing.get_address_host_port(text)
    except (ValueError, TypeError, ImportError, NotImplementedError) as error:
        raise InputError(f"--scheduler {text}: is no address: {error}", _ADDRESS) from None


def scheduler(address: str) -> Workers:
    """Give the workers of a scheduler that is there. Raises `InputError` for what is no address."""
    _check_address(address)
    return Workers(lambda stop: connected(address, stop))


@contextlib.contextmanager
def connected(address: str, stop: Stop) -> Iterator[Any]:
    """Use a scheduler that is there, such as `tcp://node1:8786`.

    Raises `InputError`, `StoppedError`.
    """
    distributed = waited(stop, _dask)
    given = needed("dask.config", "sweep").get(_CONNECT)
    seconds = needed("dask.utils", "sweep").parse_timedelta(given)
    try:
        # What accepts and says nothing, Dask waits for without an end.
        client = waited(stop, lambda: distributed.Client(address, timeout=seconds), 2 * seconds)
    except MemoryError:
        # A page's server begins its answer with what would be a length of petabytes.
        raise InputError(
            f"--scheduler {address}: what answers there is no scheduler of Dask", _ADDRESS
        ) from None
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"--scheduler {address}: does not answer within {seconds:g} s: {reason}", _ADDRESS
        ) from None
    try:
        yield client
    finally:
        _close(client, stop)


# Of a command that was stopped, the process that cleans up after it would say how much that is.
_UNSAID = "ignore::UserWarning:multiprocessing.resource_tracker"


def _started(
    distributed: Any,  # noqa: ANN401
    workers: int,
    memory: int | None,
    folder: Path,
) -> Any:  # noqa: ANN401
    """Start a local cluster, again if a worker is ended meanwhile. Raises `ResultError`."""
    os.environ.setdefault("PYTHONWARNINGS", _UNSAID)
    reason: object = None
    for _ in range(_TRIES):
        try:
            with _scratch(folder):
                return distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    memory_limit="auto" if memory is None else memory,
                    local_directory=str(folder),
                    # What a worker that is ended at once has left there goes with it.
                    env={"TMPDIR": str(folder)},
                    # Without a page for browsers the scheduler still listens for them, and at a
                    # port that another cluster may have unless it takes any.
                    scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                    silence_logs=logging.CRITICAL,
                    preload=["backwater.experiments.worker"],
                )
        except (OSError, RuntimeError) as error:
            reason = error
    raise ResultError(
        f"worker processes cannot be started on this machine: {reason}",
        "is there memory for them? --workers 1 --memory 2GB needs less",
    )


@dataclass(frozen=True)
class Slurm:
    """What `--slurm` says: options of dask-jobqueue's SLURMCluster, and how many jobs."""

    options: dict[str, Any]
    jobs: int

    @staticmethod
    def of(text: str) -> Slurm:
        """Read words `NAME=VALUE`, and options of sbatch, which begin with `--`.

        Raises `InputError`.
        """
        options: dict[str, Any] = {"cores": 1, "processes": None, "memory": "4GB"}
        extra: list[str] = []
        jobs = 1
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise InputError(f"--slurm {text}: {error}", "close the quotes") from None
        for word in words:
            name, equals, value = word.partition("=")
            if word.startswith("-"):
                extra.append(word)
            elif not equals or name not in _SLURM:
                raise InputError(
                    f"--slurm {word}: not NAME=VALUE with one of {', '.join(_SLURM)}",
                    "options of sbatch begin with --, as --constraint=haswell",
                )
            elif name == "jobs":
                jobs = _whole(word, value)
            else:
                options[name] = _whole(word, value) if name in _WHOLE else value
        # A process a core: a run of one seed uses one.
        options["processes"] = options["processes"] or options["cores"]
        return Slurm(options | {"job_extra_directives": extra, "python": sys.executable}, jobs)

    def cluster(self, folder: Path) -> Any:  # noqa: ANN401 - the library has no types
        """Make the cluster, of which nothing is submitted yet. Raises `InputError`.

        `folder` is for files of its scheduler, which is in this process.
        """
        _dask()
        jobqueue = needed("dask_jobqueue", "slurm")
        try:
            with _scratch(folder):
                return jobqueue.SLURMCluster(
                    **self.options,
                    silence_logs="critical",
                    scheduler_options={"dashboard": False, "dashboard_address": ":0"},
                    worker_extra_args=["--preload", "backwater.experiments.worker"],
                )
        except (ValueError, TypeError, OSError, RuntimeError) as error:
            raise InputError(f"--slurm: {error}", "see the options of SLURMCluster") from None

    def script(self) -> str:
        """Give the script of a job, as it would be submitted."""
        with temporary_directory("backwater-jobs-") as folder, self.cluster(folder) as cluster:
            return str(cluster.job_script())


_WHOLE = ("cores", "processes", "jobs", "job_cpu")
_SLURM = (
    *("jobs", "queue", "account", "cores", "processes", "memory", "walltime", "job_cpu"),
    *("job_mem", "interface", "local_directory", "log_directory"),
)


def _whole(word: str, value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) < 10**6:
        raise InputError(f"--slurm {word}: not a whole number of 1 or more", "as in jobs=4")
    return int(value)


def check_sbatch() -> None:
    """Refuse to submit jobs where that cannot be done. Raises `InputError`."""
    if shutil.which("sbatch") is None:
        raise InputError(
            "--slurm: there is no `sbatch` here",
            "give the command on a machine from which jobs are submitted; --dry-run shows the "
            "script",
        )


@contextlib.contextmanager
def slurm(options: Slurm, stop: Stop) -> Iterator[Any]:
    """Start jobs of SLURM with workers in them; gives a client.

    Raises `InputError`, `StoppedError`.
    """
    check_sbatch()
    with temporary_directory("backwater-jobs-") as folder:
        # Here, and not in a thread: the library sets handlers of signals.
        yield from _submitted(options.cluster(folder), options.jobs, stop)


def _submitted(cluster: Any, jobs: int, stop: Stop) -> Iterator[Any]:  # noqa: ANN401 - as above
    refused = ""
    try:
        client = waited(stop, lambda: _dask().Client(cluster))
        try:
            cluster.scale(jobs=jobs)
            try:
                _check_submitted(cluster, jobs, stop)
            except RuntimeError as error:
                refused = _refusal(str(error))
                # Else Dask waits ten seconds for the job when the process ends.
                cluster.shutdown_on_close = False
            else:
                yield client
        finally:
            _close_slurm(client, stop, refused)
    finally:
        _close_slurm(cluster, stop, refused)
    if refused:
        raise InputError(
            f"--slurm: sbatch has refused a job: {refused}", "--dry-run shows the script of a job"
        )


def _close_slurm(what: Any, stop: Stop, refused: str) -> None:  # noqa: ANN401 - as above
    if refused:
        # A job that was refused has no end that Dask would understand.
        with contextlib.suppress(AssertionError, TimeoutError):
            what.close(timeout=2)
        return
    _close(what, stop, _CANCEL_SECONDS)


def _check_submitted(
    cluster: Any,  # noqa: ANN401 - the library has no types
    jobs: int,
    stop: Stop,
) -> None:
    """Wait until jobs are submitted. Raises `RuntimeError` of one that is refused.

    That is done in the background, where nobody hears of a refusal: a job that has not begun then
    is submitted once more. Raises `StoppedError`.
    """
    end = time.monotonic() + _SUBMIT_SECONDS
    while len(cluster.workers) < jobs and time.monotonic() < end:
        if stop.is_set():
            raise StoppedError
        time.sleep(0.05)

    async def begun(job: Any) -> None:  # noqa: ANN401 - as above
        await job

    for job in list(cluster.workers.values()):
        if job.status.name == "created":
            waited(stop, partial(cluster.sync, begun, job))


def _refusal(told: str) -> str:
    """Give what sbatch had to say, of the error that dask-jobqueue makes of it."""
    said = told.rpartition("stderr:")[2].strip() or told.strip()
    return " ".join(said.split())


def processors() -> int:
    """Give the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))
