"""Finds references of metrics that the varied keys move, before anything runs.

The lower bound of a collective and the time of a flow alone follow from the scenario. A run that is
stopped right after its start has them in its rows, for all that has begun by then. A search by a
metric whose reference its own keys move would reward a worse reference.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backwater import _core
from backwater.comparison import apart
from backwater.errors import InputError
from backwater.numbers.metrics import Tables, metric
from backwater.numbers.rows import rows
from backwater.results import Run
from backwater.saving import SLICE_MS
from backwater.stored import Kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from backwater.numbers.metrics import Metric
    from backwater.sweep.plan import Plan
    from backwater.sweep.values import Value

# The longest search, in s: each value may need a network of thousands of hosts.
_SECONDS = 5.0


@dataclass(frozen=True)
class Moved:
    """A metric and what moves its reference."""

    metric: Metric
    key: str
    """The varied key, or `variant`."""


@dataclass(frozen=True)
class _Begun:
    """The reference of a metric in a run that has begun."""

    reference: float
    rows: tuple[int, ...]
    """The number of flows that have begun, their bytes, and the number of collectives."""


def moved(plan: Plan, names: Sequence[str]) -> Iterator[Moved]:
    """Yield the metrics whose references differ along a key or between the variants of a plan.

    The search compares the ends of each key, with the other keys at their greatest, and the
    variants. It skips points that the scenario refuses, and references that need a whole run. It
    skips values with which other flows begin, too, since their references are incomplete.
    """
    asked = [
        one
        for one in _known(names)
        if one.quantity.reference is not None and one.quantity.reference.of is not None
    ]
    until = time.monotonic() + _SECONDS
    high = tuple(axis.share(1.0) for axis in plan.axes)
    of_variants = []
    for variant in plan.scenarios if asked else ():
        first = _references(plan, variant, high, asked)
        of_variants.append(first)
        for n, axis in enumerate(plan.axes):
            if time.monotonic() > until:
                return
            low = (*high[:n], axis.share(0.0), *high[n + 1 :])
            yield from _apart(asked, axis.key, [first, _references(plan, variant, low, asked)])
    yield from _apart(asked, "variant", of_variants)


def _known(names: Sequence[str]) -> Iterator[Metric]:
    for name in names:
        try:
            yield metric(name)
        except InputError:
            continue


def _apart(
    asked: Sequence[Metric], key: str, found: Sequence[dict[str, _Begun]]
) -> Iterator[Moved]:
    for one in asked:
        begun = [some[one.name] for some in found if one.name in some]
        known = [{0: some.reference} for some in begun]
        alike = len(begun) == len(found) and len({some.rows for some in begun}) == 1
        if alike and apart(one, known, known) is not None:
            yield Moved(one, key)


def _references(
    plan: Plan, variant: str, values: tuple[Value, ...], asked: Sequence[Metric]
) -> dict[str, _Begun]:
    """Return the references of metrics at a point; empty if its run cannot start."""
    its, [points] = plan.exactly([(variant, values)])
    if not points:
        return {}
    try:
        simulation = its.at(points[0]).complete().start(points[0].seed)
        simulation.advance(SLICE_MS, 1)
        simulation.stop()
    except (_core.ScenarioError, _core.RunError, InputError):
        return {}
    batches: dict[str, list[_core.Batch]] = {}
    for table, batch in simulation.batches():
        batches.setdefault(table, []).append(batch)
    run = Run({"seed": points[0].seed, "summary": simulation.summary()}, None, Kept(batches))
    flows = rows(run, "flows")
    begun = len(flows), flows.total("bytes"), len(rows(run, "collectives"))
    tables = Tables(run)
    found = {one.name: one.reference(tables, begun=True) for one in asked}
    return {name: _Begun(value, begun) for name, value in found.items() if value is not None}
