"""Runs Optuna's trials one after the other, so that a search is reproducible.

Optuna is imported on first use. Each trial has a new sampler, seeded by the seed of the samples and
the trial's number, so a continued search makes the same suggestions as an uninterrupted one.
"""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from backwater.optional_dependencies import needed
from backwater.sweep.legal import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from backwater.sweep.goal import Goal
    from backwater.sweep.plan import Plan
    from backwater.sweep.values import Axis, Value

_CONSTRAINT = "violated"
_VARIANT = "variant"
# Random trials before the estimator begins.
_RANDOM = 10
# The most redraws for a point that the scenario refuses.
_AGAIN = 64


@contextlib.contextmanager
def _quietly() -> Iterator[Any]:
    optuna = needed("optuna", "sweep")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield optuna


def storage(path: Path) -> Any:  # noqa: ANN401 - Optuna's, which is imported late
    """Return a storage that writes the trials to a new file.

    A continued search repeats its trials from the first, so an old file is removed.
    `optuna.load_study(study_name="backwater", storage=…)` opens the file.
    """
    with _quietly() as optuna:
        path.unlink(missing_ok=True)
        backend = optuna.storages.journal.JournalFileBackend(str(path))
        return optuna.storages.JournalStorage(backend)


class Study:
    """A search over the axes of a plan, and over its variants."""

    def __init__(self, plan: Plan, goal: Goal, seed: int, store: Any) -> None:  # noqa: ANN401
        self._plan, self._goal, self._seed = plan, goal, seed
        self.many = 0
        """The number of accepted trials."""
        self._drawn = 0
        """The number of drawn trials, including those that the scenario refuses."""
        with _quietly() as optuna:
            ways = ["minimize" if least else "maximize" for _, least in goal.metrics]
            self._study = optuna.create_study(
                study_name="backwater", directions=ways, storage=store, sampler=self._sampler(0)
            )

    def _sampler(self, number: int) -> Any:  # noqa: ANN401
        text = f"{self._seed}\0{number}".encode()
        seed = int.from_bytes(hashlib.sha256(text).digest()[:4], "little")
        with _quietly() as optuna:
            return optuna.samplers.TPESampler(
                seed=seed,
                multivariate=True,
                constant_liar=True,
                n_startup_trials=_RANDOM,
                constraints_func=lambda trial: [trial.user_attrs.get(_CONSTRAINT, 0.0)],
            )

    def ask(self, many: int) -> list[tuple[int, tuple[str, tuple[Value, ...]]]]:
        """Suggest points: numbers of trials, variants and values."""
        found = []
        for _ in range(many):
            number, design = self._suggest()
            for _ in range(_AGAIN):
                if not self._refused(design):
                    break
                self._drop(number)
                number, design = self._suggest()
            self.many += 1
            found.append((number, design))
        return found

    def _suggest(self) -> tuple[int, tuple[str, tuple[Value, ...]]]:
        """Draw a trial, independent of the order of keys and variants."""
        with _quietly():
            self._study.sampler = self._sampler(self._drawn)
            trial = self._study.ask()
            self._drawn += 1
            variants = sorted(self._plan.scenarios)
            variant = variants[0]
            if len(variants) > 1:
                variant = trial.suggest_categorical(_VARIANT, variants)
            ordered = sorted(self._plan.axes, key=lambda axis: axis.key)
            values = {axis.key: _suggested(trial, axis) for axis in ordered}
            return trial.number, (variant, tuple(values[axis.key] for axis in self._plan.axes))

    def _refused(self, design: tuple[str, tuple[Value, ...]]) -> bool:
        """Whether the scenario refuses a point."""
        plan, [points] = self._plan.exactly([design])
        return bool(points) and refusal(plan, points[0]) is not None

    def _drop(self, number: int) -> None:
        with _quietly() as optuna:
            self._study.tell(number, state=optuna.trial.TrialState.FAIL)

    def tell(self, number: int, rows: Sequence[dict[str, Any]]) -> None:
        """Report the result of a trial to Optuna: means over its seeds.

        It breaks the condition if one of its seeds does; a failed point has no value.
        """
        with _quietly() as optuna:
            states = optuna.trial.TrialState
            trial = self._study._storage.get_all_trials(self._study._study_id, deepcopy=False)
            identity = trial[number]._trial_id
            held = self._goal.holds(rows)
            # The share of seeds that break it teaches the sampler more than a yes or no.
            broken = held.count(False) / len(held) if held else 1.0
            self._study._storage.set_trial_user_attr(identity, _CONSTRAINT, broken)
            columns: list[list[Any]]
            columns = [[row.get(name) for row in rows] for name, _ in self._goal.metrics]
            if not rows or any(None in column for column in columns):
                self._study.tell(number, state=states.FAIL)
                return
            self._study.tell(number, [sum(column) / len(column) for column in columns])

    def close(self) -> None:
        """Close the connection to the file."""
        with contextlib.suppress(AttributeError):
            self._study._storage.remove_session()


def _suggested(trial: Any, axis: Axis) -> Value:  # noqa: ANN401
    interval = axis.interval
    if interval is None:
        if any(value.number is None for value in axis.values):
            texts = [value.text for value in axis.values]
            text = trial.suggest_categorical(axis.key, texts)
            return axis.values[texts.index(text)]
        place: int = trial.suggest_int(f"{axis.key} (number)", 0, len(axis.values) - 1)
        return axis.values[place]
    low, high = float(interval.low), float(interval.high)
    number = trial.suggest_float(axis.key, low, high, log=interval.log)
    exact = Decimal(round(number)) if interval.kind.whole else Decimal(f"{number:.9g}")
    return interval.kind.value(min(max(exact, interval.low), interval.high))
