"""The definition of a study: study.toml has its cases and mechanisms, published.toml its numbers.

A study reruns a published experiment. One scenario serves several of its cases, or all. A case
overrides only the values that the document itself changes. A mechanism is a variant of the
scenario. The measures name the quantities that are read from each run.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from backwater.errors import InputError
from backwater.files import text_of
from backwater.scenario import shorter
from backwater.study import (
    collectives,  # noqa: F401 - the import registers its kinds of measures
    costs,  # noqa: F401 - as of collectives
    measures,
    memory,  # noqa: F401 - as of collectives
    messages,  # noqa: F401 - as of collectives
    pausing,  # noqa: F401 - as of collectives
    reacting,  # noqa: F401 - as of collectives
)
from backwater.study.bounds import BOUNDS
from backwater.study.schema import StudyFile, check_study, published_file
from backwater.wording import MANY_NAMES, meant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from backwater.study.bounds import Model
    from backwater.study.schema import (
        BesideTable,
        CaseTable,
        ClaimText,
        PublishedFile,
        RowTable,
        Setup,
    )

# Resolved, since it is a link in the source tree: messages name the real path.
STUDIES = (Path(__file__).resolve().parent.parent / "studies").resolve()


@dataclass(frozen=True)
class Measure:
    """One quantity that is read from every run."""

    name: str
    kind: str
    """A kind of `study.measures`, or a metric."""
    unit: str
    text: str
    """Its quantity and statistic, in words."""
    label: str
    """Its name in tables."""
    parameters: dict[str, Any]
    bound: str | None
    """The name of its lower bound in `study.bounds`; None: it has none."""
    counts: bool
    """True if it is a number of things."""
    against: str | None = None
    """It is a reduction in %: by how much less the flows took here than under this mechanism, of
    those that are complete under both."""


@dataclass(frozen=True)
class Case:
    """One case of the document."""

    id: str
    text: str
    scenario: Path
    seeds: tuple[int, ...]
    """Seeds of its repetitions; empty: one run with the scenario's own seed."""
    mechanisms: tuple[str, ...]
    """Mechanisms to run even without a published number for this case."""
    set: dict[str, str]
    """The document's changes for this case: dotted keys and values as on the command line."""
    set_for: dict[str, dict[str, str]]
    """Changes for one mechanism only, by mechanism."""

    def changes(self, mechanism: str) -> list[tuple[str, str]]:
        """Return all changes of the document for this case under a mechanism."""
        return [*self.set.items(), *self.set_for.get(mechanism, {}).items()]


@dataclass(frozen=True)
class Band:
    """The accepted deviation of a measured number from the published one."""

    kind: str
    """`relative` or `absolute` deviation either way, a `factor` either way, or a `range`."""
    width: float | tuple[float, float]
    """The greatest deviation (a ratio if relative), the factor, or the two ends of a range."""

    def holds(self, measured: float, published: float) -> bool:
        """Return True if the two numbers agree."""
        if isinstance(self.width, tuple):
            return self.width[0] <= round(measured, 9) <= self.width[1]
        if self.kind == "relative":
            # The formula of the printed deviation, so that both meet a band of 5 % alike.
            return published != 0 and abs((measured - published) / published) <= self.width
        if self.kind == "absolute":
            # Both have few digits: rounding keeps the last bit of the difference from deciding.
            return round(abs(measured - published), 9) <= self.width
        return published / self.width <= measured <= published * self.width


STATISTICS = ("mean", "median", "min", "max", "std")

APART = {
    "control": "beside a control, which is not the document's reading",
    "chaotic": "chance decides it in the document's own program, run after run",
    "chosen by outcome": "beside a choice that was made because the number then fits",
    "derived": "follows from other numbers of the document, which are rows, too",
    "distribution": "one draw from a wide distribution, which a claim compares",
    "inconsistent": "contradicts other numbers of the document",
    "repeated": "the document prints the same number for more of its runs, and that is a row",
    "part": "beside a part of the network; the same number has a row beside all of it",
}
"""Why a row is printed and judged, but not counted among the document's numbers."""


@dataclass(frozen=True)
class Number:
    """One published number."""

    case: str
    mechanism: str
    quantity: str
    over: str
    """Its statistic over the seeds, one of `STATISTICS`."""
    first: int | None
    """The number of seeds, from the first on, that it covers; None: all."""
    value: float
    band: Band | None
    """None: the number is not judged."""
    apart: str | None
    """Why the number is not counted among the document's, one of `APART`; None: it is counted."""
    required: bool
    tolerance: float | None
    """Greatest absolute deviation of a number that depends on no free parameter."""
    note: str | None
    against: str | None
    """The number is a reduction in %, seed by seed, against this mechanism; None: it is none."""
    runs: int
    """The number of the document's own runs that it covers."""
    rounding: float
    """Half a unit of its last printed digit: it stands for all values within this distance."""


@dataclass(frozen=True)
class Beside:
    """Setups that are run and reported beside the table, without published numbers to compare."""

    id: str
    title: str
    own: str
    """The name of the table's own setup among the others; without others, the mechanisms are
    compared with each other."""
    own_text: str
    cases: tuple[str, ...]
    mechanisms: tuple[str, ...]
    setups: tuple[Setup, ...]
    shows: tuple[str, ...]
    """Measures to print; all are in its JSON."""
    seeds: tuple[int, ...]
    """Seeds of its setups; empty: those of each case."""


@dataclass(frozen=True)
class Study:
    """A study, as defined by its files."""

    id: str
    title: str
    size: str | None
    """For a study of two sizes: which of them this is, and its network."""
    document: str
    column: str
    """The title of the column of measures in its tables."""
    measures: tuple[Measure, ...]
    mechanisms: dict[str, str]
    """The scenario's variant for each mechanism; an empty name: the unchanged scenario."""
    null: dict[str, str]
    """The null mechanism of a mechanism: the same with the tested part switched off."""
    cases: tuple[Case, ...]
    numbers: tuple[Number, ...]
    claims: tuple[ClaimText, ...]
    beside: tuple[Beside, ...]
    model: Model | None
    together: bool
    """True if the document has all numbers of a case under a mechanism in one row."""
    bound_ignores: tuple[str, ...]
    """Keys that a user may set without a change of the lower bounds."""

    def case(self, case: str) -> Case:
        """Return a case by its id; raises `InputError` if the study has no such case."""
        for known in self.cases:
            if known.id == case:
                return known
        ids = [known.id for known in self.cases]
        # Ids are often numbers: a short list helps more than the nearest one.
        hint = meant(case, ids, "its cases are", most=3 if len(ids) > MANY_NAMES else 0)
        raise InputError(f"study {self.id} has no case {case!r}", hint)

    def measure(self, name: str) -> Measure:
        """Return a measure by its name; raises `InputError` if the study has no such measure."""
        for known in self.measures:
            if known.name == name:
                return known
        names = ", ".join(m.name for m in self.measures)
        raise InputError(f"study {self.id} has no measure {name!r}", f"its measures are {names}")

    def mechanisms_of(self, case: str) -> list[str]:
        """Return the mechanisms with which a case is run.

        They are the mechanisms with published numbers, those that the case names, and the null
        mechanisms of both.
        """
        own = (n for n in self.numbers if n.case == case)
        numbers = (m for n in own for m in (n.against, n.mechanism) if m is not None)
        wanted = [*numbers, *self.case(case).mechanisms]
        return list(dict.fromkeys((*wanted, *(self.null[m] for m in wanted if m in self.null))))

    def published(self, case: str, mechanism: str, quantity: str) -> float | None:
        """Return the published mean over the most seeds; None if the document has none."""
        wanted = (case, mechanism, quantity, "mean", None)
        found = [
            n
            for n in self.numbers
            if (n.case, n.mechanism, n.quantity, n.over, n.against) == wanted
        ]
        most = max(found, key=lambda n: float("inf") if n.first is None else n.first, default=None)
        return None if most is None else most.value


def names() -> list[str]:
    """Return the names of all studies."""
    return sorted(path.parent.name for path in STUDIES.glob("*/study.toml"))


def load(name: str, *, full: bool = False) -> Study:
    """Read a study by its name; `full` for its published size, if it is smaller by default."""
    known = names()
    if name not in known:
        raise InputError(f"there is no study {name!r}", meant(name, known, "the studies are"))
    return read(STUDIES / name, full=full)


def has_full_size(name: str) -> bool:
    """Return True if a study is smaller by default than it was published."""
    return "full" in toml(STUDIES / name / "study.toml")


def read(folder: Path, *, full: bool = False) -> Study:
    """Read the study in a directory."""
    text = toml(folder / "study.toml")
    check_study(folder / "study.toml", text)
    path = folder / "published.toml"
    published = published_file(path, toml(path, _Printed))
    if full and "full" not in text:
        raise InputError(f"study {folder.name} has one size only", "leave out --full")
    if not full:
        left_out = {case["id"] for case in text["case"] if case.get("only") == "full"}
        rows = [row for row in published.row if row.case not in left_out]
        published = msgspec.structs.replace(published, row=rows)
    file = msgspec.convert(_enlarged(text) if full else _reduced(text), StudyFile)
    try:
        return _study(folder, file, published)
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder}: the study's files lack or misuse {error}") from error


class _Printed(float):
    """A number with half a unit of its last printed digit as `rounding`."""

    rounding: float

    def __new__(cls, text: str) -> Self:
        """Read a number as a TOML file has it."""
        number = super().__new__(cls, text)
        exponent = Decimal(text).as_tuple().exponent
        number.rounding = 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0
        return number


def toml(path: Path, number: Callable[[str], float] = float) -> dict[str, Any]:
    """Read a TOML file of a study; raises `InputError` if it cannot be read."""
    try:
        return tomllib.loads(text_of(path), parse_float=number)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None


def _reduced(text: dict[str, Any]) -> dict[str, Any]:
    """Return a study's text without the cases and tables that run at full size only."""
    return text | {
        name: [entry for entry in text.get(name, []) if entry.get("only") != "full"]
        for name in ("case", "beside")
    }


def _enlarged(text: dict[str, Any]) -> dict[str, Any]:
    """Return a study's text with the changes of its table `full`.

    The changes of `measure` apply to every measure that has the parameter. The changes of `case`
    precede those of `set`, which apply to all cases. A case that is `like` another inherits both. A
    case with its own scenario has another network, so `set` does not apply to it.
    """
    full = text["full"]
    measure, case, every = full.get("measure", {}), full.get("case", {}), full.get("set", {})
    return {
        **text,
        "size": full["size"],
        "seeds": full.get("seeds", text.get("seeds")),
        "measure": [m | {k: v for k, v in measure.items() if k in m} for m in text["measure"]],
        "case": [
            c | {"set": c.get("set", {}) | (every if _is_own(c) else {}) | case.get(c["id"], {})}
            for c in text["case"]
        ],
    }


def _is_own(case: Mapping[str, Any]) -> bool:
    """Return True if a case has the study's scenario and is not like another case."""
    return "like" not in case and "scenario" not in case


def _study(folder: Path, file: StudyFile, published: PublishedFile) -> Study:
    known = tuple(_measure(entry) for entry in file.measure)
    cases = _cases(folder, file.case, shorter(folder / file.scenario), _seeds(folder, file.seeds))
    study = Study(
        id=folder.name,
        title=file.title,
        size=file.size,
        document=published.document,
        column=file.column,
        measures=known,
        mechanisms=file.mechanisms,
        null=file.null,
        cases=tuple(cases),
        numbers=tuple(_numbers(folder, published)),
        claims=published.claim,
        beside=tuple(_beside(folder, entry, known) for entry in file.beside),
        model=file.model,
        together=file.together,
        bound_ignores=file.bound_ignores,
    )
    for name in (*study.null, *study.null.values()):
        if name not in study.mechanisms:
            raise InputError(f"{folder}: [null] names no mechanism of the study: {name!r}")
    for measure in study.measures:
        if measure.against is not None and measure.against not in study.mechanisms:
            reason = f"{folder}: measure {measure.name}: there is no mechanism {measure.against!r}"
            raise InputError(reason, meant(measure.against, list(study.mechanisms), "there are"))
    for number in study.numbers:
        study.case(number.case)
        measure = study.measure(number.quantity)
        if measure.against is not None and number.against is not None:
            reason = f"{folder}: {number.quantity} is a reduction already"
            raise InputError(reason, "leave out `against` of the published row")
        for mechanism in (number.mechanism, number.against):
            if mechanism is not None and mechanism not in study.mechanisms:
                raise InputError(f"{folder}: there is no mechanism {mechanism!r}")
    return study


def _measure(entry: dict[str, Any]) -> Measure:
    known = ("name", "kind", "unit", "text", "label", "bound", "against")
    parameters = {key: value for key, value in entry.items() if key not in known}
    against = entry.get("against")
    if against is not None:
        _check_against(entry)
        parameters |= {"unfinished": "omit", "each": True}
    measures.check(entry["kind"], parameters)
    kind = measures.named(entry["kind"])
    bound = entry.get("bound")
    if bound is not None and bound not in BOUNDS:
        raise InputError(f"there is no bound {bound!r}", f"there are {', '.join(BOUNDS)}")
    return Measure(
        name=entry["name"],
        kind=entry["kind"],
        unit=entry.get("unit", kind.unit if against is None else "%"),
        text=entry.get("text", kind.text),
        label=entry.get("label", entry["name"]),
        parameters=parameters,
        bound=bound,
        counts=kind.counts,
        against=against,
    )


def _check_against(entry: dict[str, Any]) -> None:
    """Raise `InputError` for a measure against a mechanism that says what that already decides."""
    name = f"measure {entry['name']}: against = {entry['against']!r}"
    if entry["kind"] != "message_time":
        raise InputError(f"{name} with kind = {entry['kind']!r}", "it takes kind = message_time")
    for key in ("of", "unfinished", "each", "unit"):
        if key in entry:
            hint = "it is a reduction of the mean in %, of flows that are complete in both runs"
            raise InputError(f"{name} with {key} = {entry[key]!r}", hint)


def _seeds(folder: Path, text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    low, dots, high = text.partition("..")
    if not (low.isdigit() and dots and high.isdigit() and int(low) <= int(high)):
        raise InputError(f"{folder}: seeds = {text!r}", "seeds are a range, as in 1..300")
    return tuple(range(int(low), int(high) + 1))


def _numbers(folder: Path, published: PublishedFile) -> list[Number]:
    tolerances = {}
    if published.exact is not None:
        tolerances = dict.fromkeys(published.exact.numbers, float(published.exact.tolerance))
    numbers = []
    for row in published.row:
        band, apart = _band(folder, row), row.apart
        if apart is not None and apart not in APART:
            raise InputError(f"{folder}: apart = {apart!r}", f"there are {', '.join(APART)}")
        if band is None and apart is None:
            raise InputError(
                f"{folder}: case {row.case}: a row without a band is not judged",
                "add a band, or the reason not to count it as `apart`",
            )
        if row.over not in STATISTICS:
            raise InputError(f"{folder}: over = {row.over!r}", f"there are {', '.join(STATISTICS)}")
        for quantity, value in row.values.items():
            place = (row.case, row.mechanism, quantity)
            numbers.append(
                Number(
                    *place,
                    over=row.over,
                    first=row.first,
                    value=float(value) if isinstance(value, float) else value,
                    runs=1 if row.first is None else row.first,
                    rounding=value.rounding if isinstance(value, _Printed) else 0.5,
                    band=band,
                    apart=apart,
                    required=apart is None if row.required is None else row.required,
                    tolerance=tolerances.get(place) if row.against is None else None,
                    note=row.note,
                    against=row.against,
                )
            )
    return numbers


def _band(folder: Path, row: RowTable) -> Band | None:
    widths = {
        "relative": row.band,
        "absolute": row.band_absolute,
        "factor": row.band_factor,
        "range": row.band_range,
    }
    bands = [(kind, width) for kind, width in widths.items() if width is not None]
    if len(bands) > 1:
        raise InputError(f"{folder}: case {row.case}: a row has one band, not {len(bands)}")
    for kind, width in bands:
        if kind != "range":
            return Band(kind, float(width))
        if len(width) != 2 or width[0] > width[1]:
            raise InputError(
                f"{folder}: case {row.case}: band_range = {width}", "it is [LEAST, GREATEST]"
            )
        return Band(kind, (float(width[0]), float(width[1])))
    return None


def _cases(
    folder: Path, entries: list[CaseTable], scenario: Path, seeds: tuple[int, ...]
) -> list[Case]:
    """Read the cases in their order: a case may be like an earlier one."""
    known: dict[str, Case] = {}
    for entry in entries:
        base = Case("", "", scenario, seeds, (), {}, {})
        if entry.like is not None:
            if entry.like not in known:
                raise InputError(
                    f"{folder}: case {entry.id} is like {entry.like!r}, which is no earlier case"
                )
            base = known[entry.like]
        known[entry.id] = Case(
            id=entry.id,
            text=entry.text,
            scenario=base.scenario if entry.scenario is None else shorter(folder / entry.scenario),
            seeds=base.seeds if entry.seeds is None else _seeds(folder, entry.seeds),
            mechanisms=base.mechanisms if entry.mechanisms is None else entry.mechanisms,
            set=base.set | entry.set,
            set_for={
                mechanism: base.set_for.get(mechanism, {}) | entry.set_for.get(mechanism, {})
                for mechanism in dict.fromkeys((*base.set_for, *entry.set_for))
            },
        )
    return list(known.values())


def _beside(folder: Path, entry: BesideTable, known: tuple[Measure, ...]) -> Beside:
    return Beside(
        id=entry.id,
        title=entry.title,
        own=entry.own,
        own_text=entry.own_text,
        cases=entry.cases,
        mechanisms=entry.mechanisms,
        setups=entry.setup,
        shows=tuple(m.name for m in known) if entry.shows is None else entry.shows,
        seeds=_seeds(folder, entry.seeds),
    )
