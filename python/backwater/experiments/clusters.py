"""Starts or finds workers of Dask: processes on this machine, a scheduler, or jobs of SLURM.

Dask is imported when it is needed; if it is missing, the error names what to install. All waits for
other processes use `waited`, so that a stop ends them. A stop also kills workers on this machine at
once, since unfinished work is run again.
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
"""How long a scheduler may take to answer, unless Dask's own configuration has a value."""
_CONNECT = "distributed.comm.timeouts.connect"
LEAST_MEMORY = 200_000_000
"""The smallest memory limit of a worker process, in B: its libraries take 150 MB."""
_ADDRESS = (
    "`dask scheduler` on some machine prints its address, as tcp://HOST:8786; "
    "`dask worker ADDRESS` on others works for it"
)
_TRIES = 3
# The time that a cluster or a client has to close once a stop is set, in s.
_CLOSE_SECONDS = 0.6
_BEGIN_SECONDS = 0.1
# The same where jobs are removed from a queue.
_CANCEL_SECONDS = 1.5
_SUBMIT_SECONDS = 60.0
_QUIET = (
    *("distributed", "distributed.client", "distributed.scheduler", "distributed.worker"),
    *("distributed.nanny", "distributed.core", "distributed.comm", "bokeh", "tornado"),
)


def _dask() -> Any:  # noqa: ANN401 - the library has no types
    """Import Dask and silence it: Backwater reports what a user has to know."""
    config = needed("dask.config", "sweep")
    config.set(
        {
            "logging": dict.fromkeys(_QUIET, "critical"),
            # Tasks of a dead worker are tried by others so often; then its points one by one.
            "distributed.scheduler.allowed-failures": 3,
            # It samples all stacks a hundred times a second, for pages that are switched off.
            "distributed.worker.profile.enabled": False,
        }
    )
    distributed = needed("distributed", "sweep")
    config.update_defaults({"distributed": {"comm": {"timeouts": {"connect": CONNECT_SECONDS}}}})
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed


def _scratch(folder: Path) -> Any:  # noqa: ANN401 - the library has no types
    """Have schedulers that are created in this context keep their files in `folder`.

    They have no option for it, and by default they leave a directory among the temporary files.
    """
    return needed("dask.config", "sweep").set({"temporary-directory": str(folder)})


@contextlib.contextmanager
def local(workers: int, memory: int | None, stop: Stop) -> Iterator[Any]:
    """Start worker processes on this machine, and yield a client. Raises `StoppedError`.

    `memory` is the limit of each, in B; by default they share the memory of the machine. Dask
    replaces a worker that comes near its limit.
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
    """Close a cluster or a client; once the stop is set, within so many seconds at most.

    `ending` is called after closing has begun, and ends what closing would wait for.
    """
    if not stop.is_set():
        with contextlib.suppress(StoppedError):
            waited(stop, what.close)
            return
    # The command is stopped: errors of closing help nobody.
    with contextlib.suppress(Exception):
        if ending is not None:
            with contextlib.suppress(TimeoutError):
                waited(Stop(), what.close, _BEGIN_SECONDS)
            ending()
        waited(Stop(), what.close, seconds)


def end_children() -> None:
    """Kill the worker processes that this process has started."""
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
    """Return the workers of a running scheduler. Raises `InputError` for a malformed address."""
    _check_address(address)
    return Workers(lambda stop: connected(address, stop))


@contextlib.contextmanager
def connected(address: str, stop: Stop) -> Iterator[Any]:
    """Connect to a running scheduler, such as `tcp://node1:8786`, and yield a client.

    Raises `InputError`, `StoppedError`.
    """
    distributed = waited(stop, _dask)
    given = needed("dask.config", "sweep").get(_CONNECT)
    seconds = needed("dask.utils", "sweep").parse_timedelta(given)
    try:
        # Dask waits without end for a server that accepts a connection and sends nothing.
        client = waited(stop, lambda: distributed.Client(address, timeout=seconds), 2 * seconds)
    except MemoryError:
        # The first bytes of an HTTP answer are read as a length of petabytes.
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


# When a command is stopped, the resource tracker of Python would warn about leaked objects.
_UNSAID = "ignore::UserWarning:multiprocessing.resource_tracker"


def _started(
    distributed: Any,  # noqa: ANN401
    workers: int,
    memory: int | None,
    folder: Path,
) -> Any:  # noqa: ANN401
    """Start a local cluster; tries again if a worker dies meanwhile. Raises `ResultError`."""
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
                    # Files that a killed worker leaves there are removed with the folder.
                    env={"TMPDIR": str(folder)},
                    # The scheduler listens for browsers even without a page, by default at a port
                    # that another cluster may use; port 0 takes any.
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
    """The value of `--slurm`: options of dask-jobqueue's SLURMCluster, and how many jobs."""

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
        # One process a core: a run uses one thread.
        options["processes"] = options["processes"] or options["cores"]
        return Slurm(options | {"job_extra_directives": extra, "python": sys.executable}, jobs)

    def cluster(self, folder: Path) -> Any:  # noqa: ANN401 - the library has no types
        """Create the cluster, without submitting jobs yet. Raises `InputError`.

        `folder` is for files of its scheduler, which runs in this process.
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
        """Return the script of a job, as it would be submitted."""
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
    """Check that jobs can be submitted here. Raises `InputError`."""
    if shutil.which("sbatch") is None:
        raise InputError(
            "--slurm: there is no `sbatch` here",
            "give the command on a machine from which jobs are submitted; --dry-run shows the "
            "script",
        )


@contextlib.contextmanager
def slurm(options: Slurm, stop: Stop) -> Iterator[Any]:
    """Start jobs of SLURM that run workers, and yield a client.

    Raises `InputError`, `StoppedError`.
    """
    check_sbatch()
    with temporary_directory("backwater-jobs-") as folder:
        # In this thread: the library sets signal handlers.
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
                # Otherwise Dask waits ten seconds for the job when the process ends.
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
        # Dask cannot close a job that was refused.
        with contextlib.suppress(AssertionError, TimeoutError):
            what.close(timeout=2)
        return
    _close(what, stop, _CANCEL_SECONDS)


def _check_submitted(
    cluster: Any,  # noqa: ANN401 - the library has no types
    jobs: int,
    stop: Stop,
) -> None:
    """Wait until jobs are submitted. Raises `RuntimeError` if one is refused, and `StoppedError`.

    Dask submits in the background and hides refusals, so a job that has not started by then is
    submitted once more.
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
    """Return the message of sbatch from the error that dask-jobqueue makes of it."""
    said = told.rpartition("stderr:")[2].strip() or told.strip()
    return " ".join(said.split())


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))
