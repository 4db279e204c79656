"""One run on a worker of Dask: what it is sent, its progress, and its results.

A scenario travels as text with its changes and the files that it names. The tables of its run
return as parts in Parquet, which the worker keeps on its own disk until then.
"""

from __future__ import annotations

import importlib
import pickle
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.experiments.builds import check_code
from backwater.experiments.unwanted import LOOK_SECONDS, unwanted
from backwater.files import temporary_directory
from backwater.results import Packed, Run, SpoolSink, opening
from backwater.running import Job, keeping_in, simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from backwater.running import Standing
    from backwater.scenario import Scenario
    from backwater.series import SeriesWriter


@dataclass(frozen=True)
class Standings:
    """The progress of a run on a worker, as it is sent: the fields of `backwater.Status`."""

    done: bool
    reached: bool
    time_ps: int
    end_ps: int | None
    events: int
    hops: int
    data_hops: int
    flows_done: int
    flows_total: int | None


def packed(job: Job) -> bytes:
    """Return the scenario of a job as bytes."""
    assert job.prepared.source is not None
    return pickle.dumps(job.prepared.source)


def run_there(
    wanted: Mapping[str, str], scenario: bytes, seed: int, topic: str, number: int
) -> Run | _core.RunError | None:
    """Run a job on this worker; returns the run, its error, or None if the command has ended.

    Raises `OtherCodeError` if this is another build than that of the command.
    """
    # First of all: another build might unpack the scenario differently.
    check_code(wanted)
    case: Scenario = pickle.loads(scenario)
    worker = importlib.import_module("distributed").get_worker()
    # The directory that the worker's options name has room, unlike that of temporary files.
    with temporary_directory("backwater-run-", Path(worker.local_directory)) as folder:
        sink = partial(SpoolSink, folder, opening())
        job = Job(case.prepare(), seed, None)
        try:
            return simulate(job, number, _Saying(worker, topic), unwanted(), sink)
        except _core.RunError as error:
            return error


class _Saying:
    """Sends the progress of a run to the command that asked for it."""

    def __init__(self, worker: Any, topic: str) -> None:  # noqa: ANN401 - the library has no types
        self._worker, self._topic = worker, topic
        self._next = 0.0

    def advanced(self, job: int, status: Standing) -> None:
        """Send it once a second."""
        if (now := time.monotonic()) >= self._next:
            self._next = now + LOOK_SECONDS
            said = [getattr(status, name) for name in Standings.__dataclass_fields__]
            self._worker.log_event(self._topic, (job, *said))

    def finished(self, job: int) -> None:
        """Send nothing: the result follows."""

    def noticed(self, job: int, what: str) -> None:
        """Send nothing: only runs with saves or several threads call this, and none is here."""


def take_in(job: Job, run: Run | _core.RunError, series: SeriesWriter | None) -> Run:
    """Write the rows of a run that a worker has done, as if it had been done here.

    Raises the `backwater.RunError` of a run that failed.
    """
    error = run if isinstance(run, _core.RunError) else None
    came: Run = run.run if isinstance(run, _core.RunError) else run
    with keeping_in(job, series) as opened:
        sink = opened()
        try:
            assert isinstance(came.read, Packed)
            for part in came.read.parts:
                for batch in part.batches():
                    sink.write(part.table, batch)
            sink.manifest["started"] = came.manifest["started"]
            summary = {**came.summary, "findings": came.warnings}
            done = sink.finish(came.status, summary, None if error is None else str(error))
        except BaseException as failure:
            sink.abandon(failure)
            raise
    if error is not None:
        error.run = done
        raise error
    return done


def lost(reason: str) -> _core.RunError:
    """Return the error of a run over which workers died; it has no rows."""
    error = _core.RunError(reason)
    error.time_ps, error.reason, error.hint = 0, reason, None
    manifest = opening() | {"status": "failed", "summary": {}, "warnings": []}
    error.run = Run(manifest, None, Packed([]))
    return error
