"""The points of a benchmark: each test at each setting of its parameters, as scenarios to run."""

from __future__ import annotations

import copy
import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import tomli_w

from backwater._core import ScenarioError
from backwater.bench.expression import filled, said, value, written
from backwater.directory import RUNS
from backwater.errors import InputError
from backwater.running import Job
from backwater.scenario import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from backwater.bench.definition import Parameter, Test
    from backwater.bench.fabric import Fabric
    from backwater.scenario import Scenario

Setting = tuple[tuple[str, int | float | str], ...]
"""Parameters with their values, in the order of the test."""


@dataclass(frozen=True)
class Point:
    """A test at one setting of its parameters."""

    test: Test
    setting: Setting
    jobs: tuple[int, ...]
    """The numbers of its jobs, one for each seed."""
    place: str
    """The name of its directory below `runs`."""

    @property
    def words(self) -> str:
        """The setting for people."""
        return said(self.setting)


@dataclass(frozen=True)
class Plan:
    """All points of a benchmark, and the runs that they need."""

    fabric: Fabric
    tests: tuple[Test, ...]
    seeds: tuple[int, ...]
    points: list[Point] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    capped: list[str] = field(default_factory=list)
    """Values of parameters that the fabric is too small for, in words."""
    unfit: list[tuple[Test, str]] = field(default_factory=list)
    """Tests that the fabric cannot have, with the reason."""


def plan(fabric: Fabric, tests: Sequence[Test], seeds: Sequence[int], out: Path | None) -> Plan:
    """Make and check every scenario, and write nothing.

    Raises `InputError` if the fabric fits no test, or is no valid scenario with one.
    """
    made = Plan(fabric, tuple(tests), tuple(seeds))
    known: dict[tuple[str, int], int] = {}
    hints: list[str | None] = []
    for test in tests:
        lacking = [need for need in test.need if fabric.lacks(need)]
        if lacking:
            made.unfit.append((test, lacking[0].reason))
            hints.append(lacking[0].hint)
            continue
        prepared_at = []
        for setting in _settings(test, fabric, made.capped):
            try:
                prepared_at.append((setting, composed(test, fabric, setting).prepare()))
            except ScenarioError as error:
                # The fabric has what the test needs, but contradicts it.
                at = f"at {said(setting)}: " if setting else ""
                made.unfit.append((test, f"{at}{_reason(error)}"))
                hints.append(error.hint)
                prepared_at = []
                break
        for setting, prepared in prepared_at:
            place = _place(test, setting)
            jobs = []
            for seed in seeds:
                identity = (prepared.identity, seed)
                if identity not in known:
                    known[identity] = len(made.jobs)
                    series = None if out is None else out / RUNS / place
                    made.jobs.append(Job.repeated(prepared, seed, series))
                jobs.append(known[identity])
            made.points.append(Point(test, setting, tuple(jobs), place))
    if not made.points:
        test, reason = made.unfit[0]
        raise InputError(f"{fabric.name}: test {test.id}: {reason}", hints[0])
    return made


def _reason(error: ScenarioError) -> str:
    key = f"{error.key}: " if error.key else ""
    return f"{key}{error.reason}"


def _place(test: Test, setting: Setting) -> str:
    parts = [test.id, *(f"{name}-{written(one)}" for name, one in setting)]
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(parts)).strip("-")


def _settings(test: Test, fabric: Fabric, capped: list[str]) -> Iterator[Setting]:
    """Yield the settings of a test: all combinations of the values that the fabric allows."""
    names = list(test.parameter)
    values = [_allowed(test, name, one, fabric, capped) for name, one in test.parameter.items()]
    for chosen in itertools.product(*values):
        yield tuple(zip(names, chosen, strict=True))


def _allowed(
    test: Test, name: str, parameter: Parameter, fabric: Fabric, capped: list[str]
) -> list[int | float | str]:
    if not parameter.most:
        return list(parameter.values)
    most = value(parameter.most, fabric.facts)
    numbers = [one for one in parameter.values if not isinstance(one, str)]
    above = [one for one in numbers if one > most]
    kept: list[int | float | str] = [*(one for one in numbers if one <= most)]
    if above:
        if most not in kept:
            kept.append(most)
        lost = " and ".join(map(written, above)) if len(above) < 3 else f"{above[0]} to {above[-1]}"
        capped.append(
            f"{test.id}: {name} = {lost} became {written(most)}: the fabric has "
            f"{fabric.facts['hosts']} hosts ({parameter.most})"
        )
    return kept


def names_of(setting: Setting, fabric: Fabric) -> dict[str, Any]:
    """Return the names that expressions of a point know: facts of the fabric, and parameters."""
    return {**fabric.facts, **dict(setting)}


def composed(test: Test, fabric: Fabric, setting: Setting) -> Scenario:
    """Return the scenario of a point: the fabric, what the test adds, and what choices change."""
    names = names_of(setting, fabric)
    content = copy.deepcopy(fabric.tables)
    _merge(content, filled(test.scenario, names))
    for name, one in setting:
        if isinstance(one, str):
            _merge(content, filled(test.changes(name, one), names))
    words = said(setting)
    content["title"] = f"{test.title}: {words}" if words else test.title
    return parse(tomli_w.dumps(content), fabric.name)


def _merge(content: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Merge tables into a scenario.

    Workload is appended. `false` removes a table, and a value that is no truth.
    """
    for key, one in changes.items():
        there = content.get(key)
        if one is False and not isinstance(there, bool):
            content.pop(key, None)
        elif isinstance(one, dict) and isinstance(there, dict):
            _merge(there, one)
        elif isinstance(one, list) and isinstance(there, list) and key in ("flow", "job", "fault"):
            content[key] = [*there, *one]
        else:
            content[key] = one
