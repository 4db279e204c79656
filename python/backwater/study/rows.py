"""The rows of a reproduction and their summary: published numbers, measured numbers, verdicts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from backwater.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backwater.study.definition import Study

NOT_JUDGED = "not judged"
"""The verdict on a changed model, since bands and claims apply to other values, and on a number
without a band."""

NOT_KNOWN = "not known"
"""The verdict on a claim that rests on an interval over too few seeds (`samples.INTERVAL`)."""

CHANCE = ("chaotic", "distribution")
"""Reasons of `definition.APART` to leave a number apart, since chance decides it."""

NEAR = 0.05
"""A relative deviation: the summary counts rows within it, beside each row's own band."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One comparison; the columns of `reproduce --json`."""

    study: str
    case: str
    mechanism: str
    quantity: str
    unit: str
    published: float | None
    measured: float | None
    deviation: float | None = None
    """(measured - published) / published; None for a published 0."""
    band: float | tuple[float, float] | None = None
    """As in `definition.Band.width`."""
    band_kind: str | None = None
    """`relative` or `absolute` to either side, a `factor` either way, or a `range`."""
    verdict: str
    """`agrees` or `differs` for a number; `holds`, `fails` or `not known` for a claim; `not judged`
    for both if the settings of a model were changed."""
    statistic: str
    lower_bound: float | None = None
    """The least time that any congestion control can reach; None if it is not known."""
    required: bool
    note: str | None
    seeds: int | None
    """The number of seeds of the measured number. For a claim, those of the interval on which it
    rests; None if it rests on no interval."""
    ci: tuple[float, float] | None = None
    """95 % confidence interval of a mean over seeds; None for fewer than two."""
    over: str | None = None
    """Its statistic over the seeds: mean, median, min, max or std; None for one seed."""
    against: str | None = None
    """The number is a reduction in %, seed by seed, against this mechanism; None: it is none."""
    prediction: tuple[float, float] | None = None
    """The prediction interval of one more result, by our own seeds (`study.prediction`); None for a
    claim and for too few seeds."""
    within: bool | None = None
    """True if the published number lies there, within its rounding; None: not known."""
    null: str | None = None
    """The null mechanism: the same with the tested part switched off. For a claim, the mechanism
    that the null mechanism replaced."""
    null_measured: float | None = None
    """The measured number under the null mechanism."""
    discriminates: bool | None = None
    """True if the null mechanism would get another verdict; None without a null mechanism, or if
    the row itself does not agree or hold."""
    is_claim: bool = False
    """True for a claim, False for a number."""
    apart: str | None = None
    """Why a number is not counted among the document's, one of `definition.APART`."""
    own: bool = False
    """True for this project's own claim, False for the document's."""
    by_construction: str | None = None
    """Why a claim cannot fail, whatever the mechanism does."""
    changed: list[str] = field(default_factory=list)
    """Options of the command that make it another model than the study's."""
    skipped: list[dict[str, str]] = field(default_factory=list)
    """Settings without effect here: {key, value, mechanism, reason}."""
    other_seeds: bool = False
    """True if its seeds are not the study's, to which band and claim apply."""

    @property
    def good(self) -> bool:
        """True if the reproduction meets the document here."""
        return self.verdict in ("agrees", "holds")

    @property
    def judged(self) -> bool:
        """True if the row is of the study's own model."""
        return not self.changed

    def as_dict(self) -> dict[str, Any]:
        """Return the row in its JSON form."""
        return asdict(self)


@dataclass(frozen=True)
class Summary:
    """The result of a study: counts of the document's numbers and claims, and of those apart."""

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
    """Numbers with enough seeds to know the spread of our own runs."""
    within: int
    """Numbers that lie within this spread."""
    indiscriminate: int
    """Numbers that agree, and also agree with the mechanism off."""
    indiscriminate_claims: int
    """Claims that hold, and also hold with the mechanism off."""
    constructed: int
    """Claims that hold and cannot fail, whatever the mechanism does."""
    unknown: int
    """Claims with the verdict `not known`: their interval has too few seeds."""
    apart: int
    """Rows that are not counted among the document's numbers (`definition.APART`)."""
    apart_agree: int
    own: int
    """This project's own claims."""
    own_hold: int
    rows: int = 0
    """Rows of a document with several numbers in a row (`definition.Study.together`)."""
    rows_agree: int = 0
    """Rows all of whose numbers agree."""
    chance: int = 0
    """Numbers that are not judged, since chance decides them (`CHANCE`)."""
    tested: int = 0
    """Numbers that agree and also ran with the mechanism off; 0: unknown, in old records."""
    own_indiscriminate: int = 0
    """This project's claims that hold, and also hold with the mechanism off."""
    own_constructed: int = 0
    """This project's claims that hold and cannot fail, whatever the mechanism does."""

    @property
    def sentences(self) -> list[str]:
        """The summary in sentences, first of numbers, then of claims."""
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
            rest = f"{_verb(self.indiscriminate, 'does', 'do')} not discriminate: "
            rest += _verb(self.indiscriminate, "it agrees", "they agree")
            sentences.append(
                f"{many(self.tested, 'number')} {_verb(self.tested, 'agrees', 'agree')} and also "
                f"ran with the mechanism switched off; {self.indiscriminate} of these {rest} "
                "without it, too."
                if self.tested
                else f"{self.indiscriminate} of those that agree {rest} with the mechanism "
                "switched off, too."
            )
        if self.apart:
            sentences.append(
                f"{many(self.apart, 'row')} {_verb(self.apart, 'is', 'are')} not counted "
                "(controls, numbers that a choice was fitted to, parts of the network, or "
                f"numbers derived from others); {self.apart_agree} of them "
                f"{_verb(self.apart_agree, 'agrees', 'agree')}."
            )
        if self.chance:
            sentences.append(
                f"{many(self.chance, 'number')} {_verb(self.chance, 'is', 'are')} not judged "
                f"individually: {_verb(self.chance, 'it depends', 'they depend')} on chance in the "
                "document's own program."
            )
        if self.claims:
            hold = f"{self.hold} of {self.claims} claims of the document hold"
            sentences.append(hold + _rest(self.indiscriminate_claims, self.constructed))
        if self.unknown:
            sentences.append(f"Not known: {many(self.unknown, 'claim')}.")
        if self.own:
            hold = f"{self.own_hold} of {self.own} claims of this project hold"
            sentences.append(hold + _rest(self.own_indiscriminate, self.own_constructed))
        if self.not_judged:
            sentences.append(
                f"{self.not_judged} numbers and claims are not judged: their models were changed."
            )
        return sentences

    def __str__(self) -> str:
        return " ".join(self.sentences)


def _rest(indiscriminate: int, constructed: int) -> str:
    """Return the end of a sentence on claims that hold: those that would hold anyway."""
    others = {
        "with the mechanism switched off, too": indiscriminate,
        "by construction": constructed,
    }
    parts = [f"; {number} of them {words}" for words, number in others.items() if number]
    return "".join(parts) + "."


def _verb(count: int, one: str, several: str) -> str:
    return one if count == 1 else several


def summarise(study: Study, rows: Iterable[Row]) -> Summary:
    """Count the verdicts on the study's own models."""
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
        own_indiscriminate=sum(row.discriminates is False for row in own),
        own_constructed=sum(row.by_construction is not None and row.good for row in own),
    )


def _near(row: Row) -> bool:
    """Return True if a number deviates by `NEAR` at most; a published 0 must be met exactly."""
    if row.published == 0:
        return row.measured == 0
    return row.deviation is not None and abs(row.deviation) <= NEAR


def off(measured: float | None, published: float | None) -> float:
    """Return the absolute deviation; infinite if one of the two numbers is missing."""
    if measured is None or published is None:
        return float("inf")
    # Both have few digits: rounding keeps the last bit of the difference from deciding.
    return round(abs(measured - published), 9)
