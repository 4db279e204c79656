"""Lets a worker of Dask notice that its task was cancelled."""

from __future__ import annotations

import importlib
import time
from typing import Any

from backwater.stopping import Stop

# The interval between looks, in s.
LOOK_SECONDS = 1.0


def unwanted() -> Stop:
    """Return a stop that is set once the command of the current task was stopped or killed."""
    try:
        return _Unwanted(importlib.import_module("distributed").get_worker())
    except ValueError:
        # This is no worker.
        return Stop()


class _Unwanted(Stop):
    def __init__(self, worker: Any) -> None:  # noqa: ANN401 - the library has no types
        super().__init__()
        self._tasks, self._key = worker.state.tasks, worker.get_current_task()
        self._next = 0.0

    def is_set(self) -> bool:
        """Look once a second."""
        if (now := time.monotonic()) >= self._next:
            self._next = now + LOOK_SECONDS
            task = self._tasks.get(self._key)
            if task is None or task.state == "cancelled":
                self.set()
        return super().is_set()
