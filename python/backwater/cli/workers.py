"""The options that say which workers do the runs of a command: here, on a cluster, by SLURM."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from backwater.cli.output import message
from backwater.errors import InputError
from backwater.wording import many

if TYPE_CHECKING:
    from backwater.experiments.clusters import Slurm
    from backwater.experiments.hands import Workers

Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Use a Dask scheduler that is there."),
]
SlurmJobs = Annotated[
    str | None,
    typer.Option(
        "--slurm", metavar="OPTIONS", help='Run in jobs of SLURM: "queue=q cores=8 jobs=4".'
    ),
]


def check_workers(scheduler: str | None, slurm: str | None, **own: object) -> None:
    """Refuse options that exclude each other; `own`: those of workers on this machine."""
    if scheduler is not None and slurm is not None:
        raise InputError("--scheduler and --slurm exclude each other", "give one of them")
    for name, value in own.items():
        if value is not None and (scheduler is not None or slurm is not None):
            raise InputError(
                f"--{name}: is of the processes on this machine", "a cluster has its own workers"
            )


def slurm_jobs(text: str | None) -> Slurm | None:
    """Read `--slurm`."""
    if text is None:
        return None
    from backwater.experiments.clusters import Slurm

    return Slurm.of(text)


def cluster(scheduler: str | None, jobs: Slurm | None) -> Workers | None:
    """Give the workers of a cluster that is asked for; None: of none."""
    if scheduler is None and jobs is None:
        return None
    from backwater.experiments import clusters
    from backwater.experiments.hands import Workers
    from backwater.optional_dependencies import see

    see("distributed", "sweep")
    if jobs is not None:
        clusters.check_sbatch()
        message(f"{many(jobs.jobs, 'job')} of SLURM to be submitted; they may wait in its queue")
        return Workers(lambda stop: clusters.slurm(jobs, stop), math.inf)
    assert scheduler is not None
    return clusters.scheduler(scheduler)


def here(workers: int | None, memory: str | None) -> Workers:
    """Give worker processes on this machine."""
    from backwater.experiments import clusters
    from backwater.experiments.hands import Workers
    from backwater.numbers.units import size_bytes
    from backwater.optional_dependencies import see

    # It takes a second to import, which a sweep without workers does not need.
    see("distributed", "sweep")
    limit = None if memory is None else size_bytes(memory, "--memory")
    if limit is not None and limit < clusters.LEAST_MEMORY:
        raise InputError(
            f"--memory {memory}: too little, a process takes some 150 MB before its first point",
            f"{clusters.LEAST_MEMORY // 10**6} MB or more, as in --memory 2GB",
        )
    return Workers(lambda stop: clusters.local(workers or clusters.processors(), limit, stop))
