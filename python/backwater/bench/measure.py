"""The numbers of a benchmark: readings of runs by the registry of metrics, and rows of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from backwater.bench.definition import READING
from backwater.bench.expression import value
from backwater.bench.plan import names_of
from backwater.findings import undone
from backwater.numbers.metrics import Tables, metric
from backwater.numbers.repeats import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater._core import RunError
    from backwater.bench.definition import Metric, Test
    from backwater.bench.plan import Plan, Point
    from backwater.results import Run


@dataclass(frozen=True)
class Read:
    """What is known of one run."""

    values: dict[str, float | None]
    """Metrics of the registry, by name."""
    reasons: dict[str, str]
    """Why metrics have no value."""
    failed: str | None
    """Why the run failed; None: it did not."""
    undone: tuple[str, ...]
    """What the run did not do, though its scenario asked for it."""
    cut: frozenset[str] = frozenset()
    """Metrics whose flows are not all complete."""


@dataclass(frozen=True)
class Row:
    """One metric of a test at one setting, over the seeds."""

    test: str
    category: str
    setting: dict[str, int | float | str]
    metric: str
    unit: str
    values: tuple[float | None, ...]
    """The value of each seed; None: it has none."""
    reason: str | None
    """Why some seed has no value; None: all have one."""

    @property
    def spread(self) -> Spread | None:
        """The spread over the seeds with a value; None: no seed has one."""
        known = [one for one in self.values if one is not None]
        return Spread.of(known) if known else None

    @property
    def variation(self) -> float | None:
        """The coefficient of variation, standard deviation / mean; None for fewer than two."""
        spread = self.spread
        if spread is None or spread.std is None:
            return None
        if not spread.mean:
            return 0.0 if not spread.std else None
        return spread.std / abs(spread.mean)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        spread = self.spread
        return {
            "test": self.test,
            "category": self.category,
            "setting": self.setting,
            "metric": self.metric,
            "unit": self.unit,
            "values": list(self.values),
            "spread": None if spread is None else asdict(spread),
            "variation": self.variation,
            "reason": self.reason,
        }


def wanted(test: Test) -> list[str]:
    """Return the metrics of the registry that a test's own metrics are made of."""
    found = (match[1] for one in test.metric for match in READING.finditer(one.value))
    return list(dict.fromkeys(found))


def read(run: Run, names: Sequence[str]) -> Read:
    """Read metrics of a run."""
    tables = Tables.of(run)
    values: dict[str, float | None] = {}
    reasons = {}
    cut = set()
    for name in names:
        one = metric(name)
        # A statistic of the flows that got through would improve with every one that does not.
        if (part := one.part(tables)) is not None:
            values[name] = None
            reasons[name] = f"covers only {part.complete} of {part.flows} flows"
            cut.add(name)
            continue
        values[name] = one.of(tables)
        if values[name] is None:
            reasons[name] = one.lacking(run) or "has no value in this run"
    return Read(values, reasons, None, tuple(undone(run.manifest)), frozenset(cut))


def failed(error: RunError) -> Read:
    """Return what is known of a run that failed."""
    return Read({}, {}, str(error.reason), ())


def rows(plan: Plan, reads: Sequence[Read | None]) -> list[Row]:
    """Return all rows of a plan, in its order; `reads` has the readings of its jobs."""
    others = {(point.test.id, point.setting): point for point in plan.points}
    found = []
    for point in plan.points:
        chosen = {name: one for name, one in point.setting if isinstance(one, str)}
        for one in point.test.metric:
            if all(chosen.get(name) == choice for name, choice in one.only.items()):
                found.append(_row(plan, point, one, reads, others))
    return found


def _row(
    plan: Plan,
    point: Point,
    one: Metric,
    reads: Sequence[Read | None],
    others: Mapping[tuple[str, Any], Point],
) -> Row:
    values: list[float | None] = []
    reason = None
    for place in range(len(point.jobs)):
        number, why = _value(plan, point, one, place, reads, others)
        values.append(number)
        reason = reason or why
    return Row(
        point.test.id,
        point.test.category,
        dict(point.setting),
        one.label,
        one.unit,
        tuple(values),
        reason,
    )


def _value(
    plan: Plan,
    point: Point,
    one: Metric,
    place: int,
    reads: Sequence[Read | None],
    others: Mapping[tuple[str, Any], Point],
) -> tuple[float | None, str | None]:
    """Return a metric of a point with one of its seeds, or why it has no value."""
    names = names_of(point.setting, plan.fabric)
    text = one.value
    for number, match in enumerate(READING.finditer(one.value)):
        name, parameter, choice = match.groups()
        at = point
        if parameter is not None:
            other = others.get((point.test.id, _with(point, parameter, choice)))
            if other is None:
                return None, f"the fabric has no {parameter} = {choice}"
            at = other
        known = reads[at.jobs[place]]
        if known is None:
            return None, "not run to its end"
        if known.failed is not None:
            return None, f"a run failed: {known.failed}"
        if (found := known.values[name]) is None:
            own = None if name in known.cut else one.without
            return None, own or f"{name} {known.reasons[name]}"
        names[f"reading_{number}"] = found
        text = text.replace(match[0], f"reading_{number}", 1)
    try:
        return float(value(text, names)), None
    except ZeroDivisionError:
        return None, f"{one.value}: division by 0"


def _with(point: Point, parameter: str, choice: str) -> Any:  # noqa: ANN401 - a setting
    return tuple(
        (name, _typed(choice, one) if name == parameter else one) for name, one in point.setting
    )


def _typed(choice: str, like: float | str) -> int | float | str:
    return choice if isinstance(like, str) else type(like)(float(choice))
