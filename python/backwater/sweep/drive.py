"""Drives the points of a sweep: hands them out in batches, and writes the rows that return.

A batch has as many points as take a quarter of a second, so that handing out costs little. A point
that takes longer goes alone. Rows that return reach the disk within half a second.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from backwater.experiments.hands import WAIT_SECONDS, Work, hand_out
from backwater.experiments.pilot import Cut
from backwater.sweep.costs import Costs
from backwater.sweep.point import FAILED, Recipe, Task, lost, run_batch, run_points
from backwater.sweep.store import POINTS, Store, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from backwater.stopping import Stop
    from backwater.sweep.plan import Plan, Point

BATCH_SECONDS = 0.25
COMMIT_SECONDS = 0.5
# The most points of a batch: if a worker dies, all of its batch runs again.
_MOST = 2000


@dataclass
class State:
    """The progress of a sweep."""

    points: int
    """Points of the plan."""
    done: int = 0
    failed: int = 0
    running: int = 0
    """Points that workers have, including a batch that waits."""
    workers: int = 0
    seconds_left: float | None = None
    began: float = field(default_factory=time.monotonic)
    fresh: int = 0
    """Points that this command has run."""

    @property
    def rate(self) -> float:
        """Points per second since this command began."""
        return self.fresh / max(time.monotonic() - self.began, 1e-9)

    def told(self) -> dict[str, Any]:
        """Return the progress as JSON holds it."""
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
    """Shows the progress of a sweep, several times a second."""

    def show(self, state: State) -> None:
        """Show the progress."""


def task(plan: Plan, point: Point) -> Task:
    """Return a point as workers receive it."""
    values = tuple(
        None if at < 0 else (axis.values[at].text if axis.unit is None else axis.values[at].number)
        for axis, at in zip(plan.drawn, point.values, strict=True)
    )
    return point.id, point.variant, values, tuple(plan.settings(point)), point.seed


class Drive(Work):
    """Runs the missing points of a plan."""

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
        """`missing`: points to run. `later`: how many more follow, of mean cost."""
        self._later = later
        self._plan, self._recipe, self._store = plan, recipe, store
        self._state, self._watching = state, watching
        self._points = list(missing)
        super().__init__(len(self._points))
        self._places = {point.id: place for place, point in enumerate(self._points)}
        self._costs = Costs(plan, self._points)
        self._waiting: list[dict[str, pa.Table]] = []
        self._since = 0.0
        self._told = 0.0
        self._packed: Any = None

    def take(self, tables: dict[str, pa.Table]) -> None:
        """Take the rows of points that have ended."""
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
        self.pending.remove(place)
        self.take(tables)

    def alone(self, stop: Stop, seconds: float) -> None:
        """Run points here for at most `seconds`: workers would take longer to start."""
        until = time.monotonic() + seconds

        def over() -> bool:
            return stop.is_set() or time.monotonic() > until

        self._state.workers = self._state.running = 1
        try:
            while self.pending and not over():
                place = self.pending[0]
                self.here(
                    place, run_points(self._recipe, [task(self._plan, self._points[place])], over)
                )
                if time.monotonic() - self._since >= COMMIT_SECONDS:
                    self.commit()
                self._watching.show(self._state)
        except Cut:
            # The point takes longer than expected, so workers run it.
            return
        finally:
            self.commit()
            self._state.running = 0

    def commit(self) -> None:
        """Write the rows that wait."""
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
        """Have workers run the points that are left until `stop` is set: see `hand_out`."""
        try:
            hand_out(client, self, stop, wait)
        finally:
            self.commit()
            self._state.running = 0

    def begin(self, client: Any) -> None:  # noqa: ANN401 - the library has no types
        """Send the data that all points share."""
        # A task, which the scheduler can repeat if the worker that holds its result is lost.
        self._packed = client.submit(bytes, self._recipe.packed(), pure=False)

    def task(self, places: Sequence[int]) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Return the function and arguments that run some points."""
        tasks = [task(self._plan, self._points[n]) for n in places]
        return run_batch, (self._packed, dict(self._recipe.code), tasks)

    def together(self, slots: int) -> int:
        """Return how many of the next points may go together."""
        # Towards the end each worker gets a part of the points that are left.
        most = max(1, min(_MOST, len(self.pending) // slots))
        some = [self.pending[n] for n in range(most)]
        expected = self._costs.expected(some)
        return 0 if expected is None else int((expected.cumsum() <= BATCH_SECONDS).sum())

    def came(self, places: Sequence[int], value: dict[str, pa.Table]) -> None:  # noqa: ARG002
        """Take the rows of some points."""
        self.take(value)

    def lost(self, place: int, reason: str) -> None:
        """Record a point at which workers die."""
        self.take(lost(self._recipe, task(self._plan, self._points[place]), reason))

    def stands(self, running: Sequence[int], workers: int) -> None:
        """Write rows that have waited long enough, and show the progress."""
        now = time.monotonic()
        self._state.workers = workers
        if self._waiting and now - self._since >= COMMIT_SECONDS:
            self.commit()
        if now - self._told >= 0.5:
            self._told = now
            self._state.running = len(running)
            expected = self._costs.expected([*self.pending, *running])
            if expected is not None and workers:
                work = float(expected.sum()) + self._later * (self._costs.mean or 0.0)
                self._state.seconds_left = work / workers
            self._watching.show(self._state)
