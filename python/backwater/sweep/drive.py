"""Drives the points of a sweep: hands them out in batches, and writes what comes back.

A batch is as many points as take a quarter of a second, so that handing out costs little, and one
that takes longer than that goes alone. What has come back goes to the disk within half a second.
"""

from __future__ import annotations

import contextlib
import importlib
import queue
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from backwater.errors import InputError, ResultError
from backwater.stopping import Stop, StoppedError, waited
from backwater.sweep.costs import Costs
from backwater.sweep.point import (
    FAILED,
    Cut,
    OtherCodeError,
    Recipe,
    Task,
    lost,
    run_batch,
    run_points,
)
from backwater.sweep.store import POINTS, Store, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from backwater.sweep.plan import Plan, Point

BATCH_SECONDS = 0.25
COMMIT_SECONDS = 0.5
# Batches that each worker has: one that it runs, and one that waits.
_AHEAD = 2
# So long a scheduler may take to forget what it was given, in s.
DROP_SECONDS = 0.3
# As often workers are counted, and so long there may be none.
_COUNT_SECONDS = 1.0
WAIT_SECONDS = 60.0
# Points in a batch at most: a worker that dies has them all done again.
_MOST = 2000


@dataclass
class State:
    """Where a sweep stands."""

    points: int
    """Those of the plan."""
    done: int = 0
    failed: int = 0
    running: int = 0
    """Those that workers have, a batch that waits included."""
    workers: int = 0
    seconds_left: float | None = None
    began: float = field(default_factory=time.monotonic)
    fresh: int = 0
    """Points that this command has done."""

    @property
    def rate(self) -> float:
        """Points a second, since this command began."""
        return self.fresh / max(time.monotonic() - self.began, 1e-9)

    def told(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        left = self.seconds_left
        return {
            "points": self.points,
            "done": self.done,
            "failed": self.failed,
            "running": self.running,
            "workers": self.workers,
            "points_per_s": round(self.rate, 3),
            "seconds_left": None if left is None else round(left, 1),
        }


class Watching(Protocol):
    """Is told where a sweep stands, several times a second."""

    def stands(self, state: State) -> None:
        """Take note of it."""


def task(plan: Plan, point: Point) -> Task:
    """Give a point as workers get it."""
    values = tuple(
        None if at < 0 else (axis.values[at].text if axis.unit is None else axis.values[at].number)
        for axis, at in zip(plan.drawn, point.values, strict=True)
    )
    return point.id, point.variant, values, tuple(plan.settings(point)), point.seed


class Drive:
    """Runs the points of a plan that are not there yet."""

    def __init__(
        self,
        plan: Plan,
        recipe: Recipe,
        store: Store,
        state: State,
        watching: Watching,
        missing: Sequence[Point],
        later: int = 0,
    ) -> None:
        """Take the points that are missing; `later`: others that follow, of mean cost."""
        self._later = later
        self._plan, self._recipe, self._store = plan, recipe, store
        self._state, self._watching = state, watching
        self._points = list(missing)
        self._places = {point.id: place for place, point in enumerate(self._points)}
        self._costs = Costs(plan, self._points)
        self._pending = deque(range(len(self._points)))
        self._waiting: list[dict[str, pa.Table]] = []
        self._since = 0.0
        self._lone: set[int] = set()
        """Points to be run alone: their worker has died with others at hand."""
        self._told = 0.0

    @property
    def costs(self) -> Costs:
        """What points took."""
        return self._costs

    def take(self, tables: dict[str, pa.Table]) -> None:
        """Take the rows of points that have come to an end."""
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.append(tables)
        statuses = tables[POINTS]["status"].to_pylist()
        failed = sum(status == FAILED for status in statuses)
        self._state.failed += failed
        self._state.done += len(statuses) - failed
        self._state.fresh += len(statuses)
        for row in tables["timings"].to_pylist():
            self._costs.took(self._places[row["point"]], row["seconds"])

    def here(self, place: int, tables: dict[str, pa.Table]) -> None:
        """Take the rows of a point that was run in this process."""
        self._pending.remove(place)
        self.take(tables)

    def alone(self, stop: Stop, seconds: float) -> None:
        """Run points in this process, for so many seconds at most: workers take longer to start."""
        until = time.monotonic() + seconds

        def over() -> bool:
            return stop.is_set() or time.monotonic() > until

        self._state.workers = self._state.running = 1
        try:
            while self._pending and not over():
                place = self._pending[0]
                self.here(
                    place, run_points(self._recipe, [task(self._plan, self._points[place])], over)
                )
                if time.monotonic() - self._since >= COMMIT_SECONDS:
                    self.commit()
                self._watching.stands(self._state)
        except Cut:
            # It takes longer than was foreseen, and workers run it.
            return
        finally:
            self.commit()
            self._state.running = 0

    @property
    def left(self) -> int:
        """How many points no worker has yet."""
        return len(self._pending)

    def commit(self) -> None:
        """Write what has come back."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            names = dict.fromkeys(name for tables in waiting for name in tables)
            self._store.add(
                {name: joined([one[name] for one in waiting if name in one]) for name in names}
            )

    def run(
        self,
        client: Any,  # noqa: ANN401 - the library has no types
        stop: Stop,
        wait: float = WAIT_SECONDS,
    ) -> None:
        """Run what is left, up to where `stop` is seen set.

        `wait`: so many seconds there may be no worker. Raises `ResultError`, `InputError`.
        """
        handing = _Handing(client, self._recipe, stop)
        counted, last_worker = 0.0, time.monotonic()
        workers = 0
        try:
            while (self._pending or handing.running) and not stop.is_set():
                now = time.monotonic()
                if now - counted >= (_COUNT_SECONDS if workers else 0.1):
                    workers, counted = handing.workers(), now
                    self._state.workers = workers
                last_worker = now if workers else last_worker
                if now - last_worker > wait:
                    raise ResultError(
                        f"no worker has come within {wait:.0f} s, or all are gone",
                        "start workers for the scheduler: `dask worker ADDRESS`; what was done is "
                        "kept, and the same command goes on",
                    )
                while self._pending and len(handing.running) < _AHEAD * workers:
                    places = self._batch(workers)
                    handing.hand(places, [task(self._plan, self._points[n]) for n in places])
                for places, outcome in handing.ended():
                    self._take_outcome(places, outcome)
                self._tick(handing, workers)
        except StoppedError:
            # While something was waited for.
            return
        finally:
            handing.drop()
            self.commit()
            self._state.running = 0

    def _batch(self, workers: int) -> list[int]:
        """Take the places of the next batch."""
        if self._pending[0] in self._lone:
            return [self._pending.popleft()]
        # Towards the end all workers get a part of what is left.
        most = max(1, min(_MOST, len(self._pending) // (_AHEAD * workers)))
        some = [self._pending[n] for n in range(most)]
        expected = self._costs.expected(some)
        many = 0 if expected is None else int((expected.cumsum() <= BATCH_SECONDS).sum())
        return [self._pending.popleft() for _ in range(max(1, many))]

    def _take_outcome(self, places: list[int], outcome: object) -> None:
        if isinstance(outcome, dict):
            self.take(outcome)
        elif isinstance(outcome, Gone):
            self._pending.extendleft(reversed(places))
        elif not isinstance(outcome, Died):
            raise _refusal(outcome)
        elif len(places) > 1:
            self._lone.update(places)
            self._pending.extendleft(reversed(places))
        else:
            point = task(self._plan, self._points[places[0]])
            self.take(lost(self._recipe, point, outcome.reason))

    def _tick(self, handing: _Handing, workers: int) -> None:
        now = time.monotonic()
        if self._waiting and now - self._since >= COMMIT_SECONDS:
            self.commit()
        if now - self._told >= 0.5:
            self._told = now
            self._state.running = sum(len(places) for places in handing.running.values())
            left = [*self._pending, *(n for some in handing.running.values() for n in some)]
            expected = self._costs.expected(left)
            if expected is not None and workers:
                work = float(expected.sum()) + self._later * (self._costs.mean or 0.0)
                self._state.seconds_left = work / workers
            self._watching.stands(self._state)


@dataclass(frozen=True)
class Died:
    """Workers have died over a batch, again and again."""

    reason: str


class Gone:
    """A batch was lost with its scheduler, or on the way."""


def _refusal(outcome: object) -> Exception:
    """Make the error that ends a sweep of what a worker has answered."""
    if isinstance(outcome, OtherCodeError):
        return outcome
    # Dask says so of a function that a worker does not have.
    if isinstance(outcome, ImportError) or "deserialization" in str(outcome):
        reason = outcome.__cause__ if isinstance(outcome, RuntimeError) else outcome
        return InputError(
            f"a worker cannot load this version of Backwater: {reason or outcome}",
            "install the same version there, with the extra `sweep`",
        )
    return ResultError(
        f"a worker could not run a batch: {type(outcome).__name__}: {outcome}",
        "what was done is kept, and the same command goes on",
    )


class _Handing:
    """Hands batches to workers, and takes what comes back."""

    def __init__(self, client: Any, recipe: Recipe, stop: Stop) -> None:  # noqa: ANN401
        self._client = client
        self._stop = stop
        self._code = dict(recipe.code)
        # A task, which a scheduler knows how to do again if the worker that has it is lost.
        self._packed = client.submit(bytes, recipe.packed(), pure=False)
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.running: dict[Any, list[int]] = {}

    def workers(self) -> int:
        """Count the threads of workers. Raises `ResultError` if the scheduler is gone."""
        try:
            return sum(waited(self._stop, self._client.nthreads).values())
        except (OSError, ValueError, RuntimeError) as error:
            raise self._lost(error) from None

    def _lost(self, error: object) -> ResultError:
        address = getattr(self._client.scheduler, "address", "")
        return ResultError(
            f"the scheduler {address} answers no more: {error}",
            "what was done is kept; start it again, and the same command goes on",
        )

    def hand(self, places: list[int], tasks: list[Task]) -> None:
        """Hand out a batch."""
        future = self._client.submit(run_batch, self._packed, self._code, tasks, pure=False)
        self.running[future] = places
        future.add_done_callback(self._ended.put)

    def ended(self) -> list[tuple[list[int], object]]:
        """Wait a tenth of a second for batches that have ended; gives what came of each."""
        found = []
        try:
            future = self._ended.get(timeout=0.1)
            while True:
                if (places := self.running.pop(future, None)) is not None:
                    found.append((places, self._outcome(future)))
                future = self._ended.get_nowait()
        except queue.Empty:
            return found

    def _outcome(self, future: Any) -> object:  # noqa: ANN401
        killed = importlib.import_module("distributed").KilledWorker
        if future.status == "finished":
            try:
                return waited(self._stop, partial(future.result, timeout=30))
            except (OSError, RuntimeError, TimeoutError):
                return self._gone()
        if future.status != "error":
            return self._gone()
        error = waited(self._stop, future.exception)
        if isinstance(error, killed):
            return Died(
                "its worker ended without a word, again and again: it needs more memory than "
                "--memory allows, or the machine has"
            )
        return error

    def _gone(self) -> Gone:
        if self._client.status not in ("running", "connecting"):
            raise self._lost(self._client.status)
        return Gone()

    def drop(self) -> None:
        """Forget what is under way. A scheduler that is silent does so when we are gone."""
        if self.running and self._client.status == "running":
            forget = partial(self._client.cancel, list(self.running), force=True)
            with contextlib.suppress(TimeoutError):
                waited(Stop(), forget, DROP_SECONDS)
        self.running.clear()
