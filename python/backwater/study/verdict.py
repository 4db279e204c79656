"""Compares what a study measured with what was published: one row a number, one a claim."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from backwater.study.bounds import BOUNDS
from backwater.study.claims import Finding, NotKnownError, NotMeasuredError, predicates
from backwater.study.execute import TABLE, Key, MeasuredNumbers, Plan, Point, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backwater.study.definition import ClaimText, Measure, Number, Study

OWN = "table"
"""How the rows beside the table call the table's own setup."""

NOT_JUDGED = "not judged"
"""The verdict on a model whose settings were changed: bands and claims are for other values."""

NEAR = 0.05
"""The second, common yardstick of the summary beside each row's own band."""


@dataclass(frozen=True)
class Row:
    """One comparison; the columns of `reproduce --json`."""

    study: str
    case: str
    mechanism: str
    quantity: str
    unit: str
    published: float | None
    measured: float | None
    deviation: float | None
    """(measured - published) / published; None of a published 0."""
    band: float | None
    band_kind: str | None
    """`relative` or `absolute` to either side, or a `factor` either way."""
    verdict: str
    """`agrees` or `differs` for a number, `holds` or `fails` for a claim; `not judged` for either
    where the settings of a model were changed, since band and claim are for other values."""
    statistic: str
    lower_bound: float | None
    """No congestion control can take less; None where an override changed what it rests on."""
    required: bool
    note: str | None
    seeds: int | None
    """How many repetitions the measured number is over."""
    ci: tuple[float, float] | None
    """95 % confidence interval of a mean over seeds; None of less than two."""
    over: str | None
    """Which statistic over the seeds it is: mean, min, max or std."""
    against: str | None = None
    """The mechanism against which it is the reduction in %, seed by seed; None: it is as it is."""
    is_claim: bool = False
    """Whether this is a claim rather than a number."""
    changed: list[str] = field(default_factory=list)
    """Settings by which it is of another model than the study's, as on the command line."""
    skipped: list[dict[str, str]] = field(default_factory=list)
    """Settings that change nothing here: {key, value, mechanism, reason}."""
    other_seeds: bool = False
    """Whether it is over other seeds than the study's, for which band and claim are."""

    @property
    def good(self) -> bool:
        """Whether the reproduction meets the document here."""
        return self.verdict in ("agrees", "holds")

    @property
    def judged(self) -> bool:
        """Whether it is of the study's own model."""
        return not self.changed

    def as_dict(self) -> dict[str, Any]:
        """Give the row as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Summary:
    """How a reproduction came out."""

    numbers: int
    agree: int
    near: int
    exact: int
    exact_met: int
    claims: int
    hold: int
    required_off: int
    not_judged: int

    @property
    def sentences(self) -> list[str]:
        """Say it, numbers and claims apart."""
        parts = [
            f"{self.agree} of {self.numbers} numbers agree (lie within their band)",
            f"{self.near} lie within {100 * NEAR:.0f} %",
        ]
        if self.exact:
            parts.append(f"{self.exact_met} of {self.exact} exact ones are met")
        sentences = [", ".join(parts) + "."] if self.numbers else []
        if self.claims:
            sentences.append(f"{self.hold} of {self.claims} claims hold.")
        if self.not_judged:
            sentences.append(
                f"{self.not_judged} numbers and claims are not judged: their models were changed."
            )
        return sentences

    def __str__(self) -> str:
        return " ".join(self.sentences)


def compare(plan: Plan, points: dict[Key, Point]) -> list[Row]:
    """Judge every number and claim for which the plan has the runs."""
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
    """List what the table's own setup and those beside it measured, with PFC's and SFC's counts."""
    rows = []
    for beside in plan.study.beside:
        setups = {OWN: TABLE, **{setup.id: setup.id for setup in beside.setups}}
        for case, mechanism in itertools.product(beside.cases, beside.mechanisms):
            keys = {name: Key(case, mechanism, setup) for name, setup in setups.items()}
            there = {name: key for name, key in keys.items() if key in points}
            # Side by side are the same seeds, though the table itself may have more.
            first = min((len(plan.points[key]) for key in there.values()), default=0)
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
                        "seeds": first,
                        "changed": list(plan.changed.get(key, ())),
                        "skipped": list(plan.skipped.get(key, ())),
                        "units": {m.name: m.unit for m in plan.study.measures},
                        "ci": {m.name: point[m.name].interval(first) for m in plan.study.measures},
                    }
                )
    return rows


def common_unit(measures: Iterable[Measure]) -> str | None:
    """Give the unit that all measures share but those that count things; None if there is none."""
    units = {measure.unit for measure in measures if not measure.counts}
    return units.pop() if len(units) == 1 else None


def _problem(point: Point, names: Iterable[str]) -> str | None:
    """Say why some numbers are missing, each reason once."""
    problems = (point[name].problem for name in names)
    return "; ".join(dict.fromkeys(text for text in problems if text is not None)) or None


def summarise(study: Study, rows: Iterable[Row]) -> Summary:
    """Count verdicts: on the study's own models."""
    every = list(rows)
    rows = [row for row in every if row.judged]
    numbers = [row for row in rows if not row.is_claim]
    claims = [row for row in rows if row.is_claim]
    tolerances = {(n.case, n.mechanism, n.quantity): n.tolerance for n in study.numbers}
    exact = [
        (row, tolerance)
        for row in numbers
        if (tolerance := tolerances[row.case, row.mechanism, row.quantity]) is not None
    ]
    return Summary(
        numbers=len(numbers),
        agree=sum(row.good for row in numbers),
        near=sum(row.deviation is not None and abs(row.deviation) <= NEAR for row in numbers),
        exact=len(exact),
        exact_met=sum(_off(row.measured, row.published) <= tolerance for row, tolerance in exact),
        claims=len(claims),
        hold=sum(row.good for row in claims),
        required_off=sum(row.required and not row.good for row in rows),
        not_judged=len(every) - len(rows),
    )


def _off(measured: float | None, published: float | None) -> float:
    if measured is None or published is None:
        return float("inf")
    # Both are given to so many digits; the difference must not fail on a last bit.
    return round(abs(measured - published), 9)


def _sample(points: dict[Key, Point], number: Number, mechanism: str) -> Sample:
    point = points.get(Key(number.case, mechanism, TABLE))
    return Sample((), "not run to its end") if point is None else point[number.quantity]


def _number_row(plan: Plan, number: Number, points: dict[Key, Point]) -> Row:
    study = plan.study
    measure = study.measure(number.quantity)
    sample = _sample(points, number, number.mechanism)
    if number.against is not None:
        sample = sample.less_than(_sample(points, number, number.against))
    measured = sample.statistic(number.over, number.first)
    count = len(sample.first(number.first))
    agrees = measured is not None and number.band.holds(measured, number.value)
    notes = [number.note] if number.note else []
    if measured is None:
        notes.insert(0, sample.problem or f"takes two seeds or more, not {count}")
    elif number.tolerance is not None and _off(measured, number.value) > number.tolerance:
        agrees = False
        notes.insert(0, f"must be met to {number.tolerance} {measure.unit}")
    if number.first is not None and measured is not None and count < number.first:
        notes.insert(0, f"over {count} seeds instead of {number.first}")
    keys = [Key(number.case, name, TABLE) for name in (number.mechanism, number.against) if name]
    basis = _basis(plan, keys, number.first)
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
        band=number.band.width,
        band_kind=number.band.kind,
        verdict=NOT_JUDGED if basis.changed else "agrees" if agrees else "differs",
        statistic=_statistic(number, measure) + _over(number.over, count),
        lower_bound=None if number.against is not None else _bound(plan, keys[0], measure, sample),
        required=number.required,
        note="; ".join(notes) or None,
        seeds=count,
        ci=sample.interval(number.first) if number.over == "mean" else None,
        over=number.over if count > 1 else None,
        against=number.against,
        **asdict(basis),
    )


@dataclass(frozen=True)
class _Basis:
    """How what was run differs from what the study says, over the points of a row."""

    changed: list[str]
    skipped: list[dict[str, str]]
    other_seeds: bool


def _basis(plan: Plan, keys: Iterable[Key], first: int | None = None) -> _Basis:
    """`first`: only so many seeds count; None: all."""
    keys = list(keys)
    changed = dict.fromkeys(word for key in keys for word in plan.changed.get(key, ()))
    first_skipped = plan.skipped.get(keys[0], ()) if keys else ()
    skipped = [
        one
        for one in first_skipped
        if all(
            one["key"] in (there["key"] for there in plan.skipped.get(key, ())) for key in keys[1:]
        )
    ]
    other = [key for key in keys if key in plan.own_seeds]
    return _Basis(
        list(changed),
        skipped,
        any(
            [plan.jobs[n].seed for n in plan.points[key]][:first]
            != list(plan.own_seeds[key])[:first]
            for key in other
        ),
    )


def _statistic(number: Number, measure: Measure) -> str:
    if number.against is None:
        return measure.text
    return f"reduction against {number.against} of: {measure.text}"


OVER = {"mean": "mean", "min": "least", "max": "greatest", "std": "standard deviation"}


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
    """The published numbers, as claims ask for them; counts were not published."""

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
    """Judge a claim; None if the plan does not hold the runs that it needs."""
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
    holds = "holds" if finding and finding.holds else "fails"
    return Row(
        study=study.id,
        case=finding.cases if finding else "",
        mechanism=finding.mechanism if finding else "",
        quantity=claim.id,
        unit=finding.unit if finding else "",
        published=published,
        measured=finding.value if finding else None,
        deviation=None,
        band=None,
        band_kind=None,
        verdict=NOT_JUDGED if basis.changed else holds,
        statistic=claim.predicate,
        lower_bound=None,
        required=claim.required,
        note=f"{claim.text}: {detail}",
        seeds=None,
        ci=None,
        over=None,
        is_claim=True,
        **asdict(basis),
    )
