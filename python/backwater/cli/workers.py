"""Options that choose the workers of a command: on this machine, on a cluster, by SLURM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from backwater.cli.options import exclusive
from backwater.cli.output import message
from backwater.errors import InputError
from backwater.wording import many

if TYPE_CHECKING:
    from backwater.experiments.clusters import Slurm
    from backwater.experiments.hands import Workers


@exclusive("--scheduler", "--slurm", "give one of them")
@dataclass(frozen=True)
class Cluster:
    """The cluster whose workers do the runs of a command, if any."""

    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Use an existing Dask scheduler."),
    ] = None
    slurm: Annotated[
        str | None,
        typer.Option(
            "--slurm", metavar="OPTIONS", help='Run in jobs of SLURM: "queue=q cores=8 jobs=4".'
        ),
    ] = None

    def jobs(self) -> Slurm | None:
        """Return the jobs that `--slurm` describes. Raises `InputError`."""
        if self.slurm is None:
            return None
        from backwater.experiments.clusters import Slurm

        return Slurm.of(self.slurm)

    def workers(self) -> Workers | None:
        """Return the workers of the cluster, or None without one. Raises `InputError`."""
        jobs = self.jobs()
        if self.scheduler is None and jobs is None:
            return None
        from backwater.experiments import clusters
        from backwater.experiments.hands import Workers
        from backwater.optional_dependencies import see

        see("distributed", "sweep")
        if self.scheduler is not None:
            return clusters.scheduler(self.scheduler)
        assert jobs is not None
        clusters.check_sbatch()
        message(f"{many(jobs.jobs, 'job')} of SLURM will be submitted; they may wait in its queue")
        return Workers(lambda stop: clusters.slurm(jobs, stop), math.inf)


def here(workers: int | None, memory: str | None) -> Workers:
    """Return worker processes on this machine. Raises `InputError`."""
    from backwater.experiments import clusters
    from backwater.experiments.hands import Workers
    from backwater.numbers.units import size_bytes
    from backwater.optional_dependencies import see

    # This only checks that it is installed: a sweep without workers need not import it.
    see("distributed", "sweep")
    limit = None if memory is None else size_bytes(memory, "--memory")
    if limit is not None and limit < clusters.LEAST_MEMORY:
        raise InputError(
            f"--memory {memory}: too little: a process needs some 150 MB before its first point",
            f"{clusters.LEAST_MEMORY // 10**6} MB or more, as in --memory 2GB",
        )
    return Workers(lambda stop: clusters.local(workers or clusters.processors(), limit, stop))
