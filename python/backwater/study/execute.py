"""Runs a study: which runs its cases, mechanisms and seeds need, each done once, over all cores."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backwater import _core
from backwater.running import Job, Progress, run_jobs
from backwater.scenario import load as load_scenario
from backwater.stats import Spread
from backwater.study.claims import NotKnownError, NotMeasuredError
from backwater.study.measures import Observed, Reading, read

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from backwater.results import Run
    from backwater.scenario import Scenario
    from backwater.study.definition import Case, Study

TABLE = ""
"""The setup of the published table itself, as against those beside it."""


@dataclass(frozen=True)
class Key:
    """Which of a study's points: case, mechanism, and `TABLE` or a setup beside it."""

    case: str
    mechanism: str
    setup: str


@dataclass(frozen=True)
class Plan:
    """What will be run: every point of a study, and the distinct runs behind the points."""

    study: Study
    points: dict[Key, list[int]]
    """For each point its runs, one a seed; points with equal scenario and seed share them."""
    jobs: list[Job]
    changed: tuple[str, ...]
    """Keys that the user overrides over what the study says."""


@dataclass(frozen=True)
class Sample:
    """What one measure came to at one point: a value a seed, or why there is none."""

    values: tuple[float, ...]
    problem: str | None = None
    sizes: tuple[int, ...] = ()

    def first(self, count: int | None) -> tuple[float, ...]:
        """Give the values of the first so many seeds."""
        return self.values if count is None else self.values[:count]

    def statistic(self, over: str, first: int | None = None) -> float | None:
        """Give mean, min, max or std over the first so many seeds; None if there is none."""
        values = self.first(first)
        if self.problem is not None or not values:
            return None
        if len(values) == 1 and over != "std":
            return values[0]
        value: float | None = getattr(Spread.of(values), over)
        return value

    def interval(self, first: int | None = None) -> tuple[float, float] | None:
        """Give the 95 % confidence interval of the mean; None of less than two seeds."""
        values = self.first(first)
        if self.problem is not None or len(values) < 2:
            return None
        spread = Spread.of(values)
        assert spread.ci_low is not None
        assert spread.ci_high is not None
        return spread.ci_low, spread.ci_high

    def less_than(self, other: Sample) -> Sample:
        """Give by how many % each seed's value is below the other's."""
        problem = other.problem or self.problem
        if problem is None and not all(other.values):
            problem = "a seed has nothing that could be reduced"
        if problem is not None:
            return Sample((), problem)
        pairs = zip(self.values, other.values, strict=True)
        return Sample(tuple(100 * (1 - one / two) for one, two in pairs))


Point = dict[str, Sample]
"""What one point came to, by the names of the measures."""


def plan(
    study: Study,
    case: str | None,
    overrides: Sequence[tuple[str, str]],
    out: Path | None,
    seeds: Callable[[tuple[int, ...], int], tuple[int, ...]] | None = None,
) -> Plan:
    """Read, change and check every scenario of a study (of one case); nothing is written yet.

    `seeds` replaces the seeds of each point, from those that the study says and the scenario's own.
    """
    wanted = study.cases if case is None else (study.case(case),)
    bases = {one.scenario: load_scenario(one.scenario) for one in wanted}
    points: dict[Key, list[int]] = {}
    jobs: list[Job] = []
    known: dict[tuple[str, int], int] = {}

    def add(
        key: Key, one: Case, variant: str, sets: Sequence[tuple[str, str]], own: tuple[int, ...]
    ) -> None:
        scenario = _change(bases[one.scenario], variant, sets)
        prepared = scenario.prepare()
        place = None if out is None else out / "runs" / _folder(key)
        numbers = own if seeds is None else seeds(own, scenario.seed)
        runs = []
        for seed in numbers or (scenario.seed,):
            identity = (prepared.identity, seed)
            if identity not in known:
                known[identity] = len(jobs)
                inner = place / f"seed-{seed}" if place is not None and numbers else place
                jobs.append(Job(prepared, seed, inner))
            runs.append(known[identity])
        points[key] = runs

    for one in wanted:
        for mechanism in study.mechanisms_of(one.id):
            sets = [*one.changes(mechanism), *overrides]
            key = Key(one.id, mechanism, TABLE)
            add(key, one, study.mechanisms[mechanism], sets, one.seeds)
    for beside in study.beside:
        for one in (one for one in wanted if one.id in beside.cases):
            for mechanism, setup in itertools.product(beside.mechanisms, beside.setups):
                variant = study.mechanisms[mechanism] if setup.variant is None else setup.variant
                # What makes a setup the one it is stays, whatever the user sets.
                sets = [*one.changes(mechanism), *overrides, *setup.set.items()]
                key = Key(one.id, mechanism, setup.id)
                add(key, one, variant, sets, beside.seeds or one.seeds)
    return Plan(study, points, jobs, tuple(name for name, _ in overrides))


def places(plan: Plan) -> dict[Key, list[str]]:
    """Say where the runs of each point lie, below `runs`; of runs kept in memory nowhere."""

    def place(number: int) -> str | None:
        out = plan.jobs[number].out
        if out is None:
            return None
        return out.name if out.parent.name == "runs" else f"{out.parent.name}/{out.name}"

    return {
        key: [found for number in numbers if (found := place(number)) is not None]
        for key, numbers in plan.points.items()
    }


def seeds_of(plan: Plan) -> dict[Key, list[int]]:
    """Give the seeds of each point."""
    return {key: [plan.jobs[n].seed for n in numbers] for key, numbers in plan.points.items()}


def changed(study: Study, key: Key, overrides: Sequence[tuple[str, str]]) -> Scenario:
    """Give the scenario of a point of the table: its case under its mechanism, then `overrides`."""
    case = study.case(key.case)
    sets = [*case.changes(key.mechanism), *overrides]
    return _change(load_scenario(case.scenario), study.mechanisms[key.mechanism], sets)


def _change(base: Scenario, variant: str, sets: Sequence[tuple[str, str]]) -> Scenario:
    scenario = base.variant(variant) if variant else base
    for name, value in sets:
        scenario = scenario.set(name, value)
    return scenario


def _folder(key: Key) -> str:
    setup = f"-{key.setup}" if key.setup else ""
    name = f"case-{key.case}-{key.mechanism}{setup}".replace("'", "-prime")
    return name.replace(" ", "-")


def execute(
    plan: Plan,
    there: Sequence[Run | None],
    progress: Callable[[int], Progress | None] | None,
    stop: threading.Event,
    workers: int | None = None,
) -> dict[Key, Point]:
    """Do the runs of a plan that are not `there` yet, and measure all of them.

    `progress` makes a listener once it is known how many runs are to be done.
    """

    def measure(run: Run) -> dict[str, Reading] | None:
        if run.status != "done":
            return None
        observed = Observed(run)
        return {m.name: read(observed, m.kind, m.parameters) for m in plan.study.measures}

    missing = [number for number, run in enumerate(there) if run is None]
    listener = progress(len(missing)) if progress is not None else None
    jobs = [plan.jobs[number] for number in missing]
    fresh = dict(zip(missing, run_jobs(jobs, listener, stop, measure, workers), strict=True))
    outcomes = [fresh[number] if run is None else measure(run) for number, run in enumerate(there)]
    return {
        key: {m.name: _sample([outcomes[n] for n in runs], m.name) for m in plan.study.measures}
        for key, runs in plan.points.items()
    }


def _sample(outcomes: Sequence[dict[str, Reading] | _core.RunError | None], name: str) -> Sample:
    values: list[float] = []
    sizes: tuple[int, ...] = ()
    for outcome in outcomes:
        if outcome is None:
            return Sample((), "not run to its end")
        if isinstance(outcome, _core.RunError):
            return Sample((), f"the run failed: {outcome.reason}")
        reading = outcome[name]
        sizes = sizes or reading.sizes
        if reading.value is None:
            return Sample((), reading.problem or "no value", sizes)
        values.append(reading.value)
    return Sample(tuple(values), None, sizes)


@dataclass(frozen=True)
class MeasuredNumbers:
    """The measured points, as claims ask for them."""

    plan: Plan
    points: dict[Key, Point]

    def _sample(self, case: str, mechanism: str, quantity: str, setup: str) -> Sample:
        key = Key(case, mechanism, setup)
        if key not in self.plan.points:
            raise NotKnownError(case, mechanism, setup)
        point = self.points.get(key)
        problem = "not run to its end" if point is None else point[quantity].problem
        if point is None or problem is not None:
            place = f"case {case} {mechanism} {setup}".rstrip()
            raise NotMeasuredError(f"{place}: {problem}")
        return point[quantity]

    def value(self, case: str, mechanism: str, quantity: str, setup: str = TABLE) -> float:
        """Mean over the seeds; with one seed, its number."""
        value = self._sample(case, mechanism, quantity, setup).statistic("mean")
        assert value is not None
        return value

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = TABLE) -> list[float]:
        """The number of every seed, in the order of seeds."""
        return list(self._sample(case, mechanism, quantity, setup).values)

    def interval(
        self, case: str, mechanism: str, quantity: str, setup: str = TABLE
    ) -> tuple[float, float]:
        """95 % confidence interval of the mean; with one seed, its number twice."""
        sample = self._sample(case, mechanism, quantity, setup)
        value = sample.values[0]
        return sample.interval() or (value, value)
