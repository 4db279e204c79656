"""Runs a study: which runs its cases and mechanisms need, each done once, over all cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from backwater import _core
from backwater.results import Run
from backwater.running import Job, Progress, run_jobs
from backwater.scenario import load as load_scenario
from backwater.stats import PS_PER_US, count_control, port_totals
from backwater.study.claims import NotKnownError, NotMeasuredError

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

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
    points: dict[Key, int]
    """For each point the number of its run; points with equal scenario and seed share one."""
    jobs: list[Job]
    changed: tuple[str, ...]
    """Keys that the user overrides over what the study says."""


@dataclass(frozen=True)
class Point:
    """What one point of a study came to. Times in us, None where a flow did not complete."""

    incast: float | None
    incast_sizes: list[int]
    victim: float | None
    victim_size: int | None
    messages: int
    paused_ports: int
    fingerprint: str | None
    problem: str | None
    """Why a number is missing."""


def plan(
    study: Study,
    case: str | None,
    overrides: Sequence[tuple[str, str]],
    out: Path | None,
) -> Plan:
    """Read, change and check every scenario of a study (of one case); nothing is written yet."""
    base = load_scenario(study.scenario)
    wanted = study.cases if case is None else (study.case(case),)
    points: dict[Key, int] = {}
    jobs: list[Job] = []
    known: dict[tuple[str, int], int] = {}

    def add(key: Key, variant: str, sets: Sequence[tuple[str, str]]) -> None:
        scenario = base.variant(variant)
        for name, value in sets:
            scenario = scenario.set(name, value)
        identity = (scenario.resolved(), scenario.seed)
        if identity not in known:
            known[identity] = len(jobs)
            place = None if out is None else out / "runs" / _folder(key)
            jobs.append(scenario.job(None, place))
        points[key] = known[identity]

    for one in wanted:
        for mechanism in _mechanisms(study, one):
            sets = [*one.changes(mechanism), *overrides]
            add(Key(one.id, mechanism, TABLE), study.mechanisms[mechanism], sets)
    for beside in study.beside:
        for one in (one for one in wanted if one.id in beside.cases):
            for mechanism in beside.mechanisms:
                for setup in beside.setups:
                    variant = setup.variant or study.mechanisms[mechanism]
                    # What makes a setup the one it is stays, whatever the user sets.
                    sets = [*one.changes(mechanism), *overrides, *setup.set.items()]
                    add(Key(one.id, mechanism, setup.id), variant, sets)
    return Plan(study, points, jobs, tuple(name for name, _ in overrides))


def _mechanisms(study: Study, case: Case) -> list[str]:
    """Mechanisms for which the document has numbers of this case."""
    return list(dict.fromkeys(n.mechanism for n in study.numbers if n.case == case.id))


def _folder(key: Key) -> str:
    setup = f"-{key.setup}" if key.setup else ""
    return f"case-{key.case}-{key.mechanism}{setup}".replace("'", "-prime")


def execute(
    plan: Plan, progress: Progress | None, stop: threading.Event, workers: int | None = None
) -> tuple[dict[Key, Point], list[Run]]:
    """Do the runs of a plan; gives its points and the runs, whatever came of each."""
    outcomes = run_jobs(plan.jobs, progress, stop, workers)
    points = {}
    for key, number in plan.points.items():
        outcome = outcomes[number]
        if isinstance(outcome, Run):
            points[key] = measure(outcome, plan.study.incast, plan.study.case(key.case).victim)
        elif isinstance(outcome, _core.RunError):
            points[key] = Point(
                None, [], None, None, 0, 0, None, f"the run failed: {outcome.reason}"
            )
    return points, [outcome for outcome in outcomes if isinstance(outcome, Run)]


def measure(run: Run, incast: str, victim: str) -> Point:
    """Read a study's two quantities, and what its claims count, from a run."""
    incast_us, incast_sizes, incast_problem = _completion(run.flows, incast)
    victim_us, victim_sizes, victim_problem = _completion(run.flows, victim)
    return Point(
        incast=incast_us,
        incast_sizes=incast_sizes,
        victim=victim_us,
        victim_size=victim_sizes[0] if victim_sizes else None,
        messages=count_control(run, "sfc-pause"),
        paused_ports=port_totals(run.ports).get("ports_paused", 0),
        fingerprint=run.fingerprint,
        problem=incast_problem or victim_problem,
    )


def _completion(flows: pa.Table, group: str) -> tuple[float | None, list[int], str | None]:
    """Mean completion at the last ACK, in us, of a group's flows, and their sizes in bytes."""
    members = flows.filter(pc.field("group") == group)
    sizes: list[int] = pc.drop_null(members["bytes"]).to_pylist()  # type: ignore[assignment]
    times = members["fct_last_ack_ps"]
    if members.num_rows == 0:
        return None, sizes, f"there is no flow in group {group!r}"
    if times.null_count:
        return None, sizes, f"{times.null_count} of {members.num_rows} {group} flows not complete"
    return pc.mean(times).as_py() / PS_PER_US, sizes, None


@dataclass(frozen=True)
class MeasuredNumbers:
    """The measured points, as claims ask for them."""

    plan: Plan
    points: dict[Key, Point]

    def _point(self, case: str, mechanism: str, setup: str = TABLE) -> Point:
        key = Key(case, mechanism, setup)
        if key not in self.plan.points:
            raise NotKnownError(case, mechanism, setup)
        point = self.points.get(key)
        if point is None or point.problem is not None:
            reason = point.problem if point else "not run to its end"
            raise NotMeasuredError(f"case {case} {mechanism} {setup}".rstrip() + f": {reason}")
        return point

    def incast(self, case: str, mechanism: str) -> float:
        """Mean completion time of the incast flows, us."""
        return _known(self._point(case, mechanism).incast)

    def victim(self, case: str, mechanism: str) -> float:
        """Completion time of the observed flow, us."""
        return _known(self._point(case, mechanism).victim)

    def messages(self, case: str, mechanism: str) -> int:
        """Number of SFC messages that asked for a pause."""
        return self._point(case, mechanism).messages

    def paused_ports(self, case: str, mechanism: str, setup: str) -> int:
        """Number of ports that received a pause."""
        return self._point(case, mechanism, setup).paused_ports


def _known(value: float | None) -> float:
    if value is None:
        raise NotMeasuredError
    return value
