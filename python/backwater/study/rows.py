"""The rows of a reproduction and their summary: what was published, what was measured, verdicts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backwater.study.definition import Study

NOT_JUDGED = "not judged"
"""The verdict on a model whose settings were changed, since bands and claims are for other values,
and on a number without a band."""

NOT_KNOWN = "not known"
"""The verdict on a claim that rests on an interval over too few seeds (`samples.INTERVAL`)."""

CHANCE = ("chaotic", "distribution")
"""Reasons for which a number stands apart (`definition.APART`) that are chance in the document."""

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
    band: float | tuple[float, float] | None
    """Of a range its two ends."""
    band_kind: str | None
    """`relative` or `absolute` to either side, a `factor` either way, or a `range`."""
    verdict: str
    """`agrees` or `differs` for a number, `holds`, `fails` or `not known` for a claim; `not judged`
    for either where the settings of a model were changed."""
    statistic: str
    lower_bound: float | None
    """No congestion control can take less; None where an override changed what it rests on."""
    required: bool
    note: str | None
    seeds: int | None
    """How many repetitions the measured number is over; of a claim those of the interval on which
    it rests, None if it rests on none."""
    ci: tuple[float, float] | None
    """95 % confidence interval of a mean over seeds; None of less than two."""
    over: str | None
    """Which statistic over the seeds it is: mean, median, min, max or std."""
    against: str | None = None
    """The mechanism against which it is the reduction in %, seed by seed; None: it is as it is."""
    prediction: tuple[float, float] | None = None
    """Where one more result of this kind would lie, by our own seeds (`study.prediction`); None of
    a claim and of too few seeds."""
    within: bool | None = None
    """Whether the published number lies there, its rounding allowed for; None: not known."""
    null: str | None = None
    """The mechanism that is the same with what is tested switched off; of a claim, its own
    mechanism, which was replaced by that."""
    null_measured: float | None = None
    """What the null mechanism measured here."""
    discriminates: bool | None = None
    """Whether the null mechanism would get another verdict; None where there is none, or where the
    row itself does not agree or hold."""
    is_claim: bool = False
    """Whether this is a claim rather than a number."""
    apart: str | None = None
    """Why a number is not counted among the document's, one of `definition.APART`."""
    own: bool = False
    """Whether a claim is this project's own sentence, not the document's."""
    by_construction: str | None = None
    """Why a claim cannot fail, whatever the mechanism does."""
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
    """How a study came out: the document's numbers and claims, and what is counted apart."""

    numbers: int
    agree: int
    near: int
    exact: int
    exact_met: int
    claims: int
    hold: int
    required_off: int
    not_judged: int
    spread: int
    """Numbers for which there are enough seeds to know the spread of our own runs."""
    within: int
    """Numbers that lie within it."""
    indiscriminate: int
    """Numbers that agree and would agree with the mechanism off, too."""
    indiscriminate_claims: int
    """Claims that hold and would hold with the mechanism off, too."""
    constructed: int
    """Claims that hold and cannot fail, whatever the mechanism does."""
    unknown: int
    """Claims that are not known, mostly since the interval on which they rest has too few seeds."""
    apart: int
    """Rows that are not counted among the document's numbers (`definition.APART`)."""
    apart_agree: int
    own: int
    """Claims that are this project's own sentences."""
    own_hold: int
    rows: int = 0
    """Rows of a document whose rows have several numbers (`definition.Study.together`)."""
    rows_agree: int = 0
    """Rows all of whose numbers agree."""
    chance: int = 0
    """Numbers that are not judged, since chance decides them (`CHANCE`)."""
    tested: int = 0
    """Numbers that agree and were run with the mechanism off, too; 0: not known of old records."""

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
        if self.rows:
            sentences.insert(
                0, f"{self.rows_agree} of {self.rows} rows agree (all of their numbers do)."
            )
        if self.spread:
            sentences.append(
                f"{self.within} of {self.spread} lie within the spread of our own runs over seeds "
                "(95 % prediction interval)."
            )
        elif self.numbers:
            sentences.append("Too few seeds to know the spread of our own runs.")
        if self.indiscriminate:
            sentences.append(
                f"{self.indiscriminate} of the {self.tested} that agree and were run with the "
                "mechanism switched off, too, do not discriminate: they agree without it."
                if self.tested
                else f"{self.indiscriminate} of those that agree do not discriminate: they agree "
                "with the mechanism switched off, too."
            )
        if self.apart:
            sentences.append(
                f"Not counted: {self.apart} rows (a control, a choice by outcome, a part of the "
                f"network, or derived from others), of which {self.apart_agree} agree."
            )
        if self.chance:
            sentences.append(
                f"{self.chance} numbers are not held one by one: chance decides them in the "
                "document's own program."
            )
        if self.claims:
            rest = {
                "with the mechanism switched off, too": self.indiscriminate_claims,
                "by construction": self.constructed,
            }
            said = [f"{number} of them {words}" for words, number in rest.items() if number]
            hold = f"{self.hold} of {self.claims} claims of the document hold"
            sentences.append("; ".join([hold, *said]) + ".")
        if self.unknown:
            sentences.append(f"Of {self.unknown} it is not known.")
        if self.own:
            sentences.append(f"{self.own_hold} of {self.own} claims of this project's own hold.")
        if self.not_judged:
            sentences.append(
                f"{self.not_judged} numbers and claims are not judged: their models were changed."
            )
        return sentences

    def __str__(self) -> str:
        return " ".join(self.sentences)


def summarise(study: Study, rows: Iterable[Row]) -> Summary:
    """Count verdicts: on the study's own models."""
    every = list(rows)
    rows = [row for row in every if row.judged]
    numbers = [row for row in rows if not row.is_claim and row.apart is None]
    apart = [row for row in rows if row.apart is not None and row.apart not in CHANCE]
    claims = [row for row in rows if row.is_claim and not row.own]
    own = [row for row in rows if row.own]
    tolerances = {(n.case, n.mechanism, n.quantity, n.against): n.tolerance for n in study.numbers}
    exact = [
        (row, tolerance)
        for row in numbers
        if (tolerance := tolerances[row.case, row.mechanism, row.quantity, row.against]) is not None
    ]
    whole: dict[tuple[str, str], bool] = {}
    for row in numbers if study.together else ():
        place = (row.case, row.mechanism)
        whole[place] = whole.get(place, True) and row.good
    return Summary(
        numbers=len(numbers),
        agree=sum(row.good for row in numbers),
        near=sum(_near(row) for row in numbers),
        exact=len(exact),
        exact_met=sum(off(row.measured, row.published) <= tolerance for row, tolerance in exact),
        claims=len(claims),
        hold=sum(row.good for row in claims),
        required_off=sum(row.required and row.verdict in ("differs", "fails") for row in rows),
        not_judged=len(every) - len(rows),
        spread=sum(row.within is not None for row in numbers),
        within=sum(row.within is True for row in numbers),
        indiscriminate=sum(row.discriminates is False for row in numbers),
        indiscriminate_claims=sum(row.discriminates is False for row in claims),
        constructed=sum(row.by_construction is not None and row.good for row in claims),
        unknown=sum(row.verdict == NOT_KNOWN for row in claims),
        apart=len(apart),
        apart_agree=sum(row.good for row in apart),
        own=len(own),
        own_hold=sum(row.good for row in own),
        rows=len(whole),
        rows_agree=sum(whole.values()),
        chance=sum(row.apart in CHANCE for row in rows),
        tested=sum(row.discriminates is not None and row.good for row in numbers),
    )


def _near(row: Row) -> bool:
    """Whether a number lies within the common yardstick; a published 0 is met or not."""
    if row.published == 0:
        return row.measured == 0
    return row.deviation is not None and abs(row.deviation) <= NEAR


def off(measured: float | None, published: float | None) -> float:
    """Give the absolute deviation; without end where one of the two is missing."""
    if measured is None or published is None:
        return float("inf")
    # Both are given to so many digits; the difference must not fail on a last bit.
    return round(abs(measured - published), 9)
