"""Compare the measured numbers of a study with the published ones, one row for each."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from backwater.samples import INTERVAL
from backwater.study.bounds import BOUNDS
from backwater.study.claims import (
    Finding,
    NotKnownError,
    NotMeasuredError,
    Predicate,
    predicates,
)
from backwater.study.execute import MeasuredNumbers, Plan, Point, Sample
from backwater.study.key import TABLE, Key
from backwater.study.prediction import interval
from backwater.study.rows import NOT_JUDGED, NOT_KNOWN, Row, off

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backwater.study.definition import Measure, Number, Study
    from backwater.study.schema import ClaimText

OWN = "table"
"""The name of the table's own setup in the rows beside the table."""


def compare(plan: Plan, points: dict[Key, Point]) -> list[Row]:
    """Return a row with a verdict for every number and claim whose runs the plan has."""
    study = plan.study
    rows = []
    for number in study.numbers:
        key = Key(number.case, number.mechanism, TABLE)
        if key in plan.points:
            rows.append(_number_row(plan, number, points))
    for claim in study.claims:
        row = _claim_row(plan, claim, points)
        if row is not None:
            rows.append(row)
    return rows


def compare_beside(plan: Plan, points: dict[Key, Point]) -> list[dict[str, Any]]:
    """Return the numbers of the table's own setup and of the setups beside it, for the JSON."""
    rows = []
    for beside in plan.study.beside:
        setups = {OWN: TABLE, **{setup.id: setup.id for setup in beside.setups}}
        for case, mechanism in itertools.product(beside.cases, beside.mechanisms):
            keys = {name: Key(case, mechanism, setup) for name, setup in setups.items()}
            there = {name: key for name, key in keys.items() if key in points}
            # All setups are compared over the same seeds, although the table may have more.
            first = min(
                (len(runs) for key in there.values() if (runs := plan.points[key])), default=0
            )
            for name, key in there.items():
                point = points[key]
                rows.append(
                    {
                        "study": plan.study.id,
                        "beside": beside.id,
                        "setup": name,
                        "case": case,
                        "mechanism": mechanism,
                        "unit": common_unit(plan.study.measures),
                        **{
                            m.name: point[m.name].statistic("mean", first)
                            for m in plan.study.measures
                        },
                        "note": _problem(point, beside.shows),
                        "seeds": first if plan.points[key] else 0,
                        "changed": list(plan.changed.get(key, ())),
                        "skipped": list(plan.skipped.get(key, ())),
                        "units": {m.name: m.unit for m in plan.study.measures},
                        "ci": {m.name: point[m.name].interval(first) for m in plan.study.measures},
                    }
                )
    return rows


def common_unit(measures: Iterable[Measure]) -> str | None:
    """Return the common unit of all measures except counts; None if they have several units."""
    units = {measure.unit for measure in measures if not measure.counts}
    return units.pop() if len(units) == 1 else None


def _problem(point: Point, names: Iterable[str]) -> str | None:
    """Return why some numbers are missing, each reason once; None if all have values."""
    problems = (point[name].problem for name in names)
    return "; ".join(dict.fromkeys(text for text in problems if text is not None)) or None


def _sample(points: dict[Key, Point], number: Number, mechanism: str) -> Sample:
    point = points.get(Key(number.case, mechanism, TABLE))
    return Sample((), "not run to its end") if point is None else point[number.quantity]


def _of(points: dict[Key, Point], number: Number, mechanism: str) -> Sample:
    """Return the measured sample to compare with a number, under `mechanism`."""
    sample = _sample(points, number, mechanism)
    if number.against is None:
        return sample
    return sample.less_than(_sample(points, number, number.against))


def _measured(points: dict[Key, Point], number: Number, mechanism: str) -> float | None:
    return _of(points, number, mechanism).statistic(number.over, number.first)


def _number_row(plan: Plan, number: Number, points: dict[Key, Point]) -> Row:
    study = plan.study
    measure = study.measure(number.quantity)
    sample = _of(points, number, number.mechanism)
    measured = sample.statistic(number.over, number.first)
    count = len(sample.first(number.first))
    band = number.band
    agrees = measured is not None and band is not None and band.holds(measured, number.value)
    notes = [number.note] if number.note else []
    if measured is None:
        notes.insert(0, sample.problem or f"takes two seeds or more, not {count}")
    elif number.tolerance is not None and off(measured, number.value) > number.tolerance:
        agrees = False
        notes.insert(0, f"must be met to {number.tolerance} {measure.unit}")
    if number.first is not None and measured is not None and count < number.first:
        notes.insert(0, f"over {count} seeds instead of {number.first}")
    keys = [Key(number.case, name, TABLE) for name in (number.mechanism, number.against) if name]
    basis = _basis(plan, keys, number.first)
    # Every measure is 0 or more; a reduction may be negative.
    reduces = measure.against is not None or number.against is not None
    least = float("-inf") if reduces else 0.0
    lies = None if sample.problem else interval(sample.values, number.over, number.runs, least)
    null = study.null.get(number.mechanism)
    without = None if null is None else _measured(points, number, null)
    own = not basis.changed
    null_is_own = null is not None and not plan.changed.get(Key(number.case, null, TABLE))
    return Row(
        study=study.id,
        case=number.case,
        mechanism=number.mechanism,
        quantity=number.quantity,
        unit=measure.unit if number.against is None else "%",
        published=number.value,
        measured=measured,
        deviation=(measured - number.value) / number.value
        if measured is not None and number.value
        else None,
        band=None if band is None else band.width,
        band_kind=None if band is None else band.kind,
        verdict=NOT_JUDGED if basis.changed or band is None else "agrees" if agrees else "differs",
        statistic=_statistic(number, measure) + _over(number.over, count),
        lower_bound=None if number.against is not None else _bound(plan, keys[0], measure, sample),
        required=number.required,
        note="; ".join(notes) or None,
        seeds=count,
        ci=sample.interval(number.first) if number.over == "mean" else None,
        over=number.over if count > 1 else None,
        against=number.against,
        prediction=lies,
        within=_within(number, lies) if own and lies is not None else None,
        null=null,
        null_measured=without,
        discriminates=not band.holds(without, number.value)
        if own and null_is_own and agrees and band is not None and without is not None
        else None,
        apart=number.apart,
        **asdict(basis),
    )


def _within(number: Number, lies: tuple[float, float]) -> bool:
    # Rounding must not decide: the slack covers the last bit of a bound.
    slack = number.rounding + 1e-9 * abs(number.value)
    return lies[0] - slack <= number.value <= lies[1] + slack


@dataclass(frozen=True)
class _Basis:
    """Differences between the runs of a row and the study's definition."""

    changed: list[str]
    skipped: list[dict[str, str]]
    other_seeds: bool


def _basis(plan: Plan, keys: Iterable[Key], first: int | None = None) -> _Basis:
    """Return the differences at some points; `first` limits the seeds that count, None: all.

    A setting counts as skipped if all of the points skip it.
    """
    keys = list(keys)
    changed = dict.fromkeys(word for key in keys for word in plan.changed.get(key, ()))
    everywhere = [{one["key"] for one in plan.skipped.get(key, ())} for key in keys]
    skipped = plan.skipped.get(keys[0], ()) if keys else ()
    return _Basis(
        list(changed),
        [one for one in skipped if all(one["key"] in here for here in everywhere)],
        any(
            [plan.jobs[n].seed for n in plan.points[key]][:first]
            != list(plan.own_seeds[key])[:first]
            for key in keys
            if key in plan.own_seeds
        ),
    )


def _statistic(number: Number, measure: Measure) -> str:
    if number.against is None:
        return measure.text
    return f"reduction against {number.against} of: {measure.text}"


OVER = {
    "mean": "mean",
    "median": "median",
    "min": "least",
    "max": "greatest",
    "std": "standard deviation",
}


def _over(over: str, count: int) -> str:
    return f"; {OVER[over]} of {count} seeds" if count > 1 else ""


def _bound(plan: Plan, key: Key, measure: Measure, sample: Sample) -> float | None:
    study = plan.study
    if study.model is None or measure.bound is None or not sample.sizes:
        return None
    keys = [name for name, _ in plan.changes.settings]
    moved = plan.changes.mechanisms or any(name not in study.bound_ignores for name in keys)
    if moved and plan.changed.get(key):
        return None
    return BOUNDS[measure.bound](study.model, sample.sizes)


@dataclass(frozen=True)
class _PublishedNumbers:
    """The published numbers, as the `Numbers` of claims; the table has no setups, no seeds."""

    study: Study

    def value(self, case: str, mechanism: str, quantity: str, setup: str = TABLE) -> float:
        value = None if setup else self.study.published(case, mechanism, quantity)
        if value is None:
            raise NotKnownError(case, mechanism, quantity)
        return value

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = TABLE) -> list[float]:
        raise NotKnownError(case, mechanism, quantity, setup)

    def interval(
        self, case: str, mechanism: str, quantity: str, setup: str = TABLE
    ) -> tuple[float, float]:
        raise NotKnownError(case, mechanism, quantity, setup)


def _claim_row(plan: Plan, claim: ClaimText, points: dict[Key, Point]) -> Row | None:
    """Return the row of a claim with its verdict; None if the plan lacks runs that it needs."""
    study = plan.study
    predicate = predicates(study.id)[claim.id]
    finding: Finding | None = None
    measured = MeasuredNumbers(plan, points)
    try:
        finding = predicate(measured)
        detail = finding.detail
    except NotKnownError:
        return None
    except NotMeasuredError as error:
        detail = str(error)
    try:
        published = predicate(_PublishedNumbers(study)).value
    except NotKnownError:
        published = None
    basis = _basis(plan, measured.asked)
    verdict = _claim_verdict(finding)
    mechanism = finding.mechanism if finding else ""
    without = _claim_without(measured, predicate, mechanism)
    notes = [f"{claim.text}: {detail}"]
    if claim.by_construction is not None:
        notes.append(f"holds by construction: {claim.by_construction}")
    if verdict == NOT_KNOWN and finding is not None:
        notes.append(f"its interval takes {INTERVAL} seeds, not {finding.seeds}")
    return Row(
        study=study.id,
        case=finding.cases if finding else "",
        mechanism=mechanism,
        quantity=claim.id,
        unit=finding.unit if finding else "",
        published=published,
        measured=finding.value if finding else None,
        verdict=NOT_JUDGED if basis.changed else verdict,
        statistic=claim.predicate,
        required=claim.required,
        note="; ".join(notes),
        seeds=finding.seeds if finding else None,
        null=None if without is None else mechanism,
        discriminates=without != "holds"
        if without is not None and verdict == "holds" and not basis.changed
        else None,
        is_claim=True,
        own=claim.own,
        by_construction=claim.by_construction,
        **asdict(basis),
    )


def _claim_verdict(finding: Finding | None) -> str:
    if finding is None:
        return "fails"
    if finding.seeds is not None and finding.seeds < INTERVAL:
        return NOT_KNOWN
    return "holds" if finding.holds else "fails"


def _claim_without(numbers: MeasuredNumbers, predicate: Predicate, mechanism: str) -> str | None:
    """Return a claim's verdict with its own mechanism replaced by its null mechanism.

    The baseline stays: a claim that fails without its baseline proves nothing about the mechanism.
    None without a null mechanism, or if the null mechanism did not run at a point that the claim
    needs.
    """
    null = numbers.plan.study.null.get(mechanism)
    if null is None:
        return None
    without = MeasuredNumbers(numbers.plan, numbers.points, {mechanism: null})
    try:
        finding = predicate(without)
    except (NotKnownError, NotMeasuredError):
        return None
    # A changed null model is not the study's own.
    if any(numbers.plan.changed.get(key) for key in without.asked):
        return None
    return _claim_verdict(finding)
