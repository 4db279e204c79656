"""Plan and do the runs that the cases, mechanisms and seeds of a study need, each run once."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError
from backwater.experiments.execute import run_jobs
from backwater.numbers.repeats import Spread
from backwater.running import Job, Progress
from backwater.scenario import load as load_scenario
from backwater.study.claims import NotKnownError, NotMeasuredError
from backwater.study.key import TABLE, Key
from backwater.study.measures import Observed, Reading, read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from backwater.experiments.hands import Workers
    from backwater.results import Run
    from backwater.scenario import Scenario
    from backwater.stopping import Stop
    from backwater.study.definition import Case, Measure, Study
    from backwater.study.measured import Measured, Readings


@dataclass(frozen=True)
class Changes:
    """A user's changes to every model of a study."""

    settings: tuple[tuple[str, str], ...] = ()
    """Keys and values; a key is skipped where its mechanism is off."""
    mechanisms: tuple[str, ...] = ()
    """Mechanisms that are switched on."""

    def __bool__(self) -> bool:
        return bool(self.settings or self.mechanisms)

    def words(self, skipped: Sequence[Mapping[str, str]] = ()) -> list[str]:
        """Return the changes as options of the command, without skipped ones."""
        off = {one["key"] for one in skipped}
        return [
            *(f"--with {name}" for name in self.mechanisms),
            *(f"--set {key}={value}" for key, value in self.settings if key not in off),
        ]


@dataclass(frozen=True)
class Plan:
    """The points of a study and the distinct runs behind them."""

    study: Study
    points: dict[Key, list[int]]
    """For each point the numbers of its jobs, one for each seed.

    Points with equal scenario and seed share a job.
    """
    jobs: list[Job]
    changes: Changes = field(default_factory=lambda: Changes())
    changed: Mapping[Key, list[str]] = field(default_factory=dict)
    """Options of the command that make a point another model than the study's; empty if all of
    them are skipped or repeat the study's values."""
    skipped: Mapping[Key, list[dict[str, str]]] = field(default_factory=dict)
    """Settings whose mechanism is off at a point: {key, value, mechanism, reason}."""
    own_seeds: Mapping[Key, tuple[int, ...]] = field(default_factory=dict)
    """The study's own seeds of the points that run with other seeds."""
    refused: Mapping[Key, str] = field(default_factory=dict)
    """For points without runs: why their scenario is not valid, as the study expects."""


@dataclass(frozen=True)
class Sample:
    """The values of one measure at one point, one for each seed, or why there are no values."""

    values: tuple[float, ...]
    problem: str | None = None
    sizes: tuple[int, ...] = ()
    each: tuple[Mapping[int, float], ...] = ()
    """The values of the flows behind each seed's value, by their numbers."""

    def first(self, count: int | None) -> tuple[float, ...]:
        """Return the values of the first `count` seeds; None: of all."""
        return self.values if count is None else self.values[:count]

    def statistic(self, over: str, first: int | None = None) -> float | None:
        """Return mean, median, min, max or std over the first seeds; None if it has no value."""
        values = self.first(first)
        if self.problem is not None or not values:
            return None
        if len(values) == 1 and over != "std":
            return values[0]
        if over == "median":
            return statistics.median(values)
        value: float | None = getattr(Spread.of(values), over)
        return value

    def interval(self, first: int | None = None) -> tuple[float, float] | None:
        """Return the 95 % confidence interval of the mean; None for fewer than two seeds."""
        values = self.first(first)
        if self.problem is not None or len(values) < 2:
            return None
        spread = Spread.of(values)
        assert spread.ci_low is not None
        assert spread.ci_high is not None
        return spread.ci_low, spread.ci_high

    def less_than(self, other: Sample) -> Sample:
        """Return by how many % each seed's value is below the other's."""
        problem = other.problem or self.problem
        if problem is None and not all(other.values):
            problem = "a seed has 0, which cannot be reduced"
        if problem is not None:
            return Sample((), problem)
        pairs = zip(self.values, other.values, strict=True)
        return Sample(tuple(100 * (1 - one / two) for one, two in pairs))

    def same_flows_as(self, other: Sample) -> Sample:
        """Return by how many % the mean of each seed is below the other's, over flows in both."""
        if other.problem is not None:
            return Sample((), other.problem)
        reductions = []
        for here, there in zip(self.each, other.each, strict=True):
            both = sorted(here.keys() & there.keys())
            if not both:
                return Sample((), "no flow is complete in both runs of a seed")
            ours, theirs = (math.fsum(one[flow] for flow in both) for one in (here, there))
            reductions.append(100 * (1 - ours / theirs))
        return Sample(tuple(reductions))


Point = dict[str, Sample]
"""The samples of one point, by the names of the measures."""


def plan(
    study: Study,
    case: str | None,
    changes: Changes,
    out: Path | None,
    seeds: Callable[[tuple[int, ...], int], tuple[int, ...]] | None = None,
) -> Plan:
    """Read, change and check every scenario of a study, or of one case, and write nothing.

    `seeds` maps the study's seeds of a point and the scenario's own seed to the seeds to run.
    Raises `InputError` for a setting that applies to no point.
    """
    wanted = study.cases if case is None else (study.case(case),)
    bases = {one.scenario: load_scenario(one.scenario) for one in wanted}
    points: dict[Key, list[int]] = {}
    jobs: list[Job] = []
    known: dict[tuple[str, int], int] = {}
    changed: dict[Key, list[str]] = {}
    skipped: dict[Key, list[dict[str, str]]] = {}
    own_seeds: dict[Key, tuple[int, ...]] = {}
    refused: dict[Key, str] = {}

    def add(
        key: Key,
        one: Case,
        variant: str,
        setup: Mapping[str, str],
        own: tuple[int, ...],
        *,
        invalid: bool = False,
    ) -> None:
        before = one.changes(key.mechanism)
        # The setup's own changes come last: a user's setting does not replace them.
        scenario = _change(bases[one.scenario], variant, before, changes, setup)
        if invalid and (reason := _refusal(scenario)) is not None:
            refused[key], points[key], skipped[key] = reason, [], []
            return
        if invalid and not changes:
            raise InputError(
                f"study {study.id}: {key.mechanism} under {key.setup} in case {key.case} is a "
                "valid scenario, although the study lists it as refused"
            )
        prepared = scenario.prepare()
        names = [name for name, _ in changes.settings]
        skipped[key] = [one for one in scenario.skipped if one["key"] in names]
        if changes:
            plain = _change(bases[one.scenario], variant, before, Changes(), setup)
            if plain.complete().resolved_toml() != prepared.resolved:
                changed[key] = changes.words(skipped[key])
        place = None if out is None else out / "runs" / _folder(key)
        numbers = own if seeds is None else seeds(own, scenario.seed)
        if (numbers or (scenario.seed,)) != (own or (scenario.seed,)):
            own_seeds[key] = own or (scenario.seed,)
        runs = []
        for seed in numbers or (scenario.seed,):
            identity = (prepared.identity, seed)
            if identity not in known:
                known[identity] = len(jobs)
                repeated = Job.repeated(prepared, seed, place)
                jobs.append(repeated if numbers else Job(prepared, seed, place))
            runs.append(known[identity])
        points[key] = runs

    for one in wanted:
        for mechanism in study.mechanisms_of(one.id):
            key = Key(one.id, mechanism, TABLE)
            add(key, one, study.mechanisms[mechanism], {}, one.seeds)
    for beside in study.beside:
        for one in (one for one in wanted if one.id in beside.cases):
            for mechanism, setup in itertools.product(beside.mechanisms, beside.setups):
                variant = study.mechanisms[mechanism] if setup.variant is None else setup.variant
                key = Key(one.id, mechanism, setup.id)
                add(
                    key,
                    one,
                    variant,
                    setup.changes(mechanism),
                    beside.seeds or one.seeds,
                    invalid=mechanism in setup.refused,
                )
    _check_used(study, changes, {key: here for key, here in skipped.items() if key not in refused})
    return Plan(study, points, jobs, changes, changed, skipped, own_seeds, refused)


def _refusal(scenario: Scenario) -> str | None:
    """Return why a scenario is not valid, without the file's name; None if it is valid."""
    try:
        scenario.prepare()
    except _core.ScenarioError as error:
        return str(error).splitlines()[0].split(": ", 1)[-1]
    return None


def _check_used(
    study: Study, changes: Changes, skipped: Mapping[Key, list[dict[str, str]]]
) -> None:
    """Raise `InputError` for a setting whose mechanism is off at all points."""
    found = [{one["key"]: one["mechanism"] for one in here} for here in skipped.values()]
    for key, value in changes.settings:
        if all(key in here for here in found):
            name = found[0][key]
            raise InputError(
                f"--set {key}={value}: `{name}` is off in every model of {study.id} to run, and a "
                "setting does not switch it on",
                f"--with {name} switches it on in all of them",
            )


def places(plan: Plan) -> dict[Key, list[str]]:
    """Return where the runs of each point lie, below `runs`; empty for runs in memory."""

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
    """Return the seeds of each point."""
    return {key: [plan.jobs[n].seed for n in numbers] for key, numbers in plan.points.items()}


def changed(study: Study, key: Key, changes: Changes) -> Scenario:
    """Return the scenario of a point of the table: its case under its mechanism, then `changes`."""
    case = study.case(key.case)
    base, variant = load_scenario(case.scenario), study.mechanisms[key.mechanism]
    return _change(base, variant, case.changes(key.mechanism), changes, {})


def _change(
    base: Scenario,
    variant: str,
    before: Sequence[tuple[str, str]],
    changes: Changes,
    after: Mapping[str, str],
) -> Scenario:
    scenario = base.variant(variant) if variant else base
    for name in changes.mechanisms:
        scenario = scenario.enable(name)
    # A study's setting fails if its mechanism is off, unless the user may have switched it off.
    for name, value in (*before, *changes.settings, *after.items()):
        scenario = scenario.set(name, value, where_on=bool(changes))
    return scenario


def _folder(key: Key) -> str:
    setup = f"-{key.setup}" if key.setup else ""
    name = f"case-{key.case}-{key.mechanism}{setup}".replace("'", "-prime")
    return name.replace(" ", "-")


def execute(
    plan: Plan,
    there: Sequence[Run | None],
    taken: Sequence[Readings | None],
    measured: Measured,
    progress: Callable[[int], Progress | None] | None,
    stop: Stop,
    workers: int | Workers | None = None,
) -> dict[Key, Point]:
    """Do and measure the runs of a plan; return the samples of each point.

    Runs in `there` are done already; runs in `taken` are measured, too. `progress` makes a listener
    from the number of runs to do.
    """

    def measure(run: Run) -> Readings | None:
        # A stopped study has no verdicts, and measuring hundreds of finished runs takes long.
        if run.status != "done" or (stop.is_set() and any(run is one for one in there)):
            return None
        known = measured.of(run)
        if known is None:
            observed = Observed(run)
            known = {m.name: read(observed, m.kind, m.parameters) for m in plan.study.measures}
            measured.keep(run, known)
        return known

    wanted = [number for number, readings in enumerate(taken) if readings is None]
    done = [there[number] for number in wanted]
    listener = progress(done.count(None)) if progress is not None else None
    jobs = [plan.jobs[number] for number in wanted]
    outcomes: list[Readings | _core.RunError | None] = list(taken)
    found = run_jobs(jobs, listener, stop, measure, workers, done)
    for number, outcome in zip(wanted, found, strict=True):
        outcomes[number] = outcome

    def sample(key: Key, measure: Measure) -> Sample:
        if key in plan.refused:
            return Sample((), f"not valid: {plan.refused[key]}")
        here = _sample([outcomes[n] for n in plan.points[key]], measure.name)
        if measure.against is None or here.problem is not None:
            return here
        other = replace(key, mechanism=measure.against)
        if other not in plan.points or other in plan.refused:
            return Sample((), f"{measure.against} is not run here")
        there = _sample([outcomes[n] for n in plan.points[other]], measure.name)
        return here.same_flows_as(there)

    return {key: {m.name: sample(key, m) for m in plan.study.measures} for key in plan.points}


def _sample(outcomes: Sequence[dict[str, Reading] | _core.RunError | None], name: str) -> Sample:
    values: list[float] = []
    each: list[dict[int, float]] = []
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
        each.append(dict(reading.each))
    return Sample(tuple(values), None, sizes, tuple(each))


@dataclass(frozen=True)
class MeasuredNumbers:
    """The measured points, as the `Numbers` of claims."""

    plan: Plan
    points: dict[Key, Point]
    instead: Mapping[str, str] = field(default_factory=dict)
    """Mechanisms to replace by others, for the verdict without them."""
    asked: dict[Key, None] = field(default_factory=dict)
    """The points that the claim has requested so far."""

    def _sample(self, case: str, mechanism: str, quantity: str, setup: str) -> Sample:
        mechanism = self.instead.get(mechanism, mechanism)
        key = Key(case, mechanism, setup)
        if key not in self.plan.points:
            raise NotKnownError(case, mechanism, setup)
        self.asked[key] = None
        point = self.points.get(key)
        problem = "not run to its end" if point is None else point[quantity].problem
        if point is None or problem is not None:
            place = f"case {case} {mechanism} {setup}".rstrip()
            raise NotMeasuredError(f"{place}: {problem}")
        return point[quantity]

    def value(self, case: str, mechanism: str, quantity: str, setup: str = TABLE) -> float:
        """Return the mean over the seeds."""
        value = self._sample(case, mechanism, quantity, setup).statistic("mean")
        assert value is not None
        return value

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = TABLE) -> list[float]:
        """Return the number of every seed, in the order of seeds."""
        return list(self._sample(case, mechanism, quantity, setup).values)

    def interval(
        self, case: str, mechanism: str, quantity: str, setup: str = TABLE
    ) -> tuple[float, float]:
        """Return the 95 % confidence interval of the mean; with one seed, its number twice."""
        sample = self._sample(case, mechanism, quantity, setup)
        value = sample.values[0]
        return sample.interval() or (value, value)
