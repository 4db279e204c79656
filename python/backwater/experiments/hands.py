"""Hands work to workers of Dask, and takes its results: points of a sweep, or whole runs.

When a worker dies, another one gets its work. If workers die repeatedly over the same batch, its
pieces are handed out one by one, and a piece that kills its worker again has failed.
"""

from __future__ import annotations

import contextlib
import importlib
import queue
import time
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError, ResultError
from backwater.stopping import Stop, StoppedError, waited

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

# Batches of each worker: one runs, and one waits.
AHEAD = 2
# The time that a scheduler has to forget its tasks, in s.
DROP_SECONDS = 0.3
# The interval between counts of workers, and how long there may be no worker, in s.
_COUNT_SECONDS = 1.0
WAIT_SECONDS = 60.0
MOST_WORKERS = 1024
# The time that the tables of a run may take to arrive, in s.
_FETCH_SECONDS = 300.0


@dataclass(frozen=True)
class Workers:
    """Workers of Dask that a command may use."""

    connect: Callable[[Stop], AbstractContextManager[Any]]
    """Starts or finds them, and yields a client."""
    wait: float = WAIT_SECONDS
    """Seconds without any worker before an error; infinite for jobs that wait in a queue."""


class Work(ABC):
    """Numbered pieces of work; `pending` are those that no worker has yet."""

    def __init__(self, many: int) -> None:
        self.pending = deque(range(many))
        self._lone: set[int] = set()
        """Pieces to be handed out alone: their worker died while it had others as well."""

    @property
    def left(self) -> int:
        """The number of pieces that no worker has yet."""
        return len(self.pending)

    @abstractmethod
    def begin(self, client: Any) -> None:  # noqa: ANN401 - the library has no types
        """Prepare the workers, before the first piece."""

    @abstractmethod
    def task(self, places: Sequence[int]) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Return the function that does some pieces, and its arguments."""

    @abstractmethod
    def came(self, places: Sequence[int], value: Any) -> None:  # noqa: ANN401 - what a worker gives
        """Take the result of some pieces."""

    @abstractmethod
    def lost(self, place: int, reason: str) -> None:
        """Record the failure of a piece over which workers died."""

    @abstractmethod
    def stands(self, running: Sequence[int], workers: int) -> None:
        """Report progress, ten times a second; `running` are the pieces that workers have."""

    def together(self, slots: int) -> int:  # noqa: ARG002 - most pieces go alone
        """Return how many of the next pieces may go together; workers have so many slots."""
        return 1

    def batch(self, slots: int) -> list[int]:
        """Take the next pieces out of `pending`."""
        many = 1 if self.pending[0] in self._lone else self.together(slots)
        return [self.pending.popleft() for _ in range(max(1, many))]

    def again(self, places: Sequence[int], *, alone: bool = False) -> None:
        """Put pieces back."""
        self.pending.extendleft(reversed(places))
        if alone:
            self._lone.update(places)


def hand_out(
    client: Any,  # noqa: ANN401 - the library has no types
    work: Work,
    stop: Stop,
    wait: float = WAIT_SECONDS,
) -> None:
    """Have workers do the pieces that are left, until `stop` is set.

    `wait` is how many seconds there may be no worker. Raises `ResultError`, `InputError`.
    """
    hands = _Hands(client, stop)
    counted, last_worker = 0.0, time.monotonic()
    workers = 0
    try:
        work.begin(client)
        while (work.left or hands.running) and not stop.is_set():
            now = time.monotonic()
            if now - counted >= (_COUNT_SECONDS if workers else 0.1):
                workers, counted = hands.workers(), now
            last_worker = now if workers else last_worker
            if now - last_worker > wait:
                raise ResultError(
                    f"no worker has come within {wait:.0f} s, or all are gone",
                    "start workers for the scheduler: `dask worker ADDRESS`; what was done is "
                    "kept, and the same command resumes it",
                )
            while work.left and len(hands.running) < AHEAD * workers:
                places = work.batch(AHEAD * workers)
                hands.hand(places, *work.task(places))
            for places, outcome in hands.ended():
                _take(work, places, outcome)
            work.stands([one for places in hands.running.values() for one in places], workers)
    except StoppedError:
        # `stop` was set during a wait.
        return
    finally:
        hands.drop()


def _take(work: Work, places: list[int], outcome: object) -> None:
    if isinstance(outcome, Came):
        work.came(places, outcome.value)
    elif isinstance(outcome, Gone):
        work.again(places)
    elif not isinstance(outcome, Died):
        raise _refusal(outcome)
    elif len(places) > 1:
        work.again(places, alone=True)
    else:
        work.lost(places[0], outcome.reason)


@dataclass(frozen=True)
class Came:
    """The result of a worker."""

    value: Any


@dataclass(frozen=True)
class Died:
    """Workers died repeatedly over some work."""

    reason: str


class Gone:
    """Work was lost, with its scheduler or in the network."""


def _refusal(outcome: object) -> Exception:
    """Return the error by which the answer of a worker ends a command."""
    if isinstance(outcome, InputError):
        return outcome
    # Dask reports a function that a worker does not have in these ways.
    if isinstance(outcome, ImportError) or "deserialization" in str(outcome):
        reason = outcome.__cause__ if isinstance(outcome, RuntimeError) else outcome
        return InputError(
            f"a worker cannot load this version of Backwater: {reason or outcome}",
            "install the same version there, with the extra `sweep`",
        )
    return ResultError(
        f"a worker could not do its work: {type(outcome).__name__}: {outcome}",
        "what was done is kept, and the same command resumes it",
    )


class _Hands:
    """The tasks that workers have, and those that have ended."""

    def __init__(self, client: Any, stop: Stop) -> None:  # noqa: ANN401
        self._client = client
        self._stop = stop
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
            f"the scheduler {address} does not answer any more: {error}",
            "what was done is kept; start it again, and the same command resumes it",
        )

    def hand(
        self, places: list[int], function: Callable[..., object], given: tuple[object, ...]
    ) -> None:
        """Hand out some pieces."""
        future = self._client.submit(function, *given, pure=False)
        self.running[future] = places
        future.add_done_callback(self._ended.put)

    def ended(self) -> list[tuple[list[int], object]]:
        """Return the tasks that have ended, with their outcomes; waits a tenth of a second."""
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
                return Came(waited(self._stop, partial(future.result, timeout=_FETCH_SECONDS)))
            except (OSError, RuntimeError, TimeoutError):
                return self._gone()
        if future.status != "error":
            return self._gone()
        error = waited(self._stop, future.exception)
        if isinstance(error, killed):
            return Died(
                "its worker ended repeatedly without an error: it needs more memory than --memory "
                "allows, or than the machine has"
            )
        return error

    def _gone(self) -> Gone:
        if self._client.status not in ("running", "connecting"):
            raise self._lost(self._client.status)
        return Gone()

    def drop(self) -> None:
        """Cancel the tasks of workers. A silent scheduler forgets them when this process ends."""
        if self.running and self._client.status == "running":
            forget = partial(self._client.cancel, list(self.running), force=True)
            with contextlib.suppress(TimeoutError):
                waited(Stop(), forget, DROP_SECONDS)
        self.running.clear()
