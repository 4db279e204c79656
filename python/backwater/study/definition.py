"""What a study is: its cases and mechanisms (study.toml) and the numbers to meet (published.toml).

A study reruns a published experiment. One scenario serves all its cases (or several of them); a
case overrides only what the document itself changes, a mechanism is a variant of the scenario. Its
measures say what is read from each run.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from backwater.errors import InputError
from backwater.files import text_of
from backwater.scenario import shorter
from backwater.study import (
    collectives,  # noqa: F401 - its kinds of measures are known once it is imported
    costs,  # noqa: F401 - as of collectives
    measures,
    messages,  # noqa: F401 - as of collectives
    pausing,  # noqa: F401 - as of collectives
)
from backwater.study.bounds import BOUNDS, Model
from backwater.study.schema import check_published, check_study
from backwater.wording import MANY_NAMES, meant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Resolved, since in the source tree it is a link: messages name the real place.
STUDIES = (Path(__file__).resolve().parent.parent / "studies").resolve()


@dataclass(frozen=True)
class Measure:
    """One quantity that is read from every run."""

    name: str
    kind: str
    """What is read: a kind of `study.measures`, or a metric."""
    unit: str
    text: str
    """Which statistic of what it is."""
    label: str
    """What tables call it."""
    parameters: dict[str, Any]
    bound: str | None
    """Its lower bound in `study.bounds`, if it has one."""
    counts: bool
    """Whether it is a number of things."""


@dataclass(frozen=True)
class Case:
    """One case of the document."""

    id: str
    text: str
    scenario: Path
    seeds: tuple[int, ...]
    """Seeds of its repetitions; none: one run with the scenario's own seed."""
    mechanisms: tuple[str, ...]
    """Mechanisms to run also where the document has no number of this case."""
    set: dict[str, str]
    """What the document changes for this case: dotted keys and values as on the command line."""
    set_for: dict[str, dict[str, str]]
    """The same, for one mechanism only."""

    def changes(self, mechanism: str) -> list[tuple[str, str]]:
        """Everything that the document changes for this case under a mechanism."""
        return [*self.set.items(), *self.set_for.get(mechanism, {}).items()]


@dataclass(frozen=True)
class Band:
    """How near a measured number must come to the published one."""

    kind: str
    """`relative` or `absolute` deviation either way, a `factor` either way, or a `range`."""
    width: float | tuple[float, float]
    """Of a range its two ends."""

    def holds(self, measured: float, published: float) -> bool:
        """Whether the two agree."""
        if isinstance(self.width, tuple):
            return self.width[0] <= round(measured, 9) <= self.width[1]
        if self.kind == "relative":
            # As the deviation is printed: a band of 5 % is one of the printed 5 %.
            return published != 0 and abs((measured - published) / published) <= self.width
        if self.kind == "absolute":
            # Both are given to so many digits; the difference must not fail on a last bit.
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
    """Which statistic over the seeds it is."""
    first: int | None
    """Over how many seeds, counted from the first; None: all."""
    value: float
    band: Band | None
    """None: it is not judged."""
    apart: str | None
    """Why it is not counted among the document's numbers, one of `APART`; None: it is."""
    required: bool
    tolerance: float | None
    """Largest absolute deviation for a number that no free parameter moves."""
    note: str | None
    against: str | None
    """The mechanism against which it is the reduction in %, seed by seed; None: it is as it is."""
    runs: int
    """Over how many runs of its own the document has it."""
    rounding: float
    """Half of its last printed digit: it stands for all values so near."""


@dataclass(frozen=True)
class ClaimText:
    """A claim of the document that has no number; its predicate is code, in `study.claims`."""

    id: str
    text: str
    predicate: str
    required: bool
    own: bool
    """Whether it is this project's own sentence, which is counted apart from the document's."""
    by_construction: str | None
    """Why it cannot fail, whatever the mechanism does; None: it can."""


@dataclass(frozen=True)
class Setup:
    """One way of running a study's cases other than the table's own."""

    id: str
    label: str
    text: str
    variant: str | None
    set: dict[str, str]
    set_for: dict[str, dict[str, str]]
    """The same, for one mechanism only."""
    refused: tuple[str, ...]
    """Mechanisms with which it is no valid scenario: their row says why."""

    def changes(self, mechanism: str) -> dict[str, str]:
        """Everything that makes this setup the one it is, under a mechanism."""
        return self.set | self.set_for.get(mechanism, {})


@dataclass(frozen=True)
class Beside:
    """Setups run and reported beside the table, compared with nothing that was published."""

    id: str
    title: str
    own: str
    """What the table's own setup is called among the others; without others, mechanisms stand side
    by side."""
    own_text: str
    cases: tuple[str, ...]
    mechanisms: tuple[str, ...]
    setups: tuple[Setup, ...]
    shows: tuple[str, ...]
    """Measures to print; all are in its JSON."""
    seeds: tuple[int, ...]
    """Seeds of its own setups; none: those of each case."""


@dataclass(frozen=True)
class Study:
    """A study as its files define it."""

    id: str
    title: str
    size: str | None
    """Of a study that has two sizes, which this is and what its network is."""
    document: str
    column: str
    """What its tables call the column of measures."""
    measures: tuple[Measure, ...]
    mechanisms: dict[str, str]
    """For each mechanism of the document, the scenario's variant; none: the scenario as it is."""
    null: dict[str, str]
    """For a mechanism the one that is the same with what is tested switched off."""
    cases: tuple[Case, ...]
    numbers: tuple[Number, ...]
    claims: tuple[ClaimText, ...]
    beside: tuple[Beside, ...]
    model: Model | None
    together: bool
    """Whether the numbers of a case under a mechanism are one row of the document."""
    bound_ignores: tuple[str, ...]
    """Keys that a user may set without moving the lower bounds."""

    def case(self, case: str) -> Case:
        """Give one case by its id."""
        for known in self.cases:
            if known.id == case:
                return known
        ids = [known.id for known in self.cases]
        # A short list says more than a guess among numbers.
        hint = meant(case, ids, "its cases are", most=3 if len(ids) > MANY_NAMES else 0)
        raise InputError(f"study {self.id} has no case {case!r}", hint)

    def measure(self, name: str) -> Measure:
        """Give one measure by its name."""
        for known in self.measures:
            if known.name == name:
                return known
        names = ", ".join(m.name for m in self.measures)
        raise InputError(f"study {self.id} has no measure {name!r}", f"its measures are {names}")

    def mechanisms_of(self, case: str) -> list[str]:
        """Give the mechanisms that a case is run with.

        Those of which the document has numbers, those that the case names, and the null mechanisms
        of all of these.
        """
        own = (n for n in self.numbers if n.case == case)
        numbers = (m for n in own for m in (n.against, n.mechanism) if m is not None)
        wanted = list(dict.fromkeys((*numbers, *self.case(case).mechanisms)))
        return list(dict.fromkeys((*wanted, *(self.null[m] for m in wanted if m in self.null))))

    def published(self, case: str, mechanism: str, quantity: str) -> float | None:
        """Give a published mean, over most seeds; None where the document has none."""
        wanted = (case, mechanism, quantity, "mean", None)
        found = [
            n
            for n in self.numbers
            if (n.case, n.mechanism, n.quantity, n.over, n.against) == wanted
        ]
        most = max(found, key=lambda n: float("inf") if n.first is None else n.first, default=None)
        return None if most is None else most.value


def names() -> list[str]:
    """Names of the studies that are there."""
    return sorted(path.parent.name for path in STUDIES.glob("*/study.toml"))


def load(name: str, *, full: bool = False) -> Study:
    """Read a study by its name; `full` as it was published, if it is run smaller otherwise."""
    known = names()
    if name not in known:
        raise InputError(f"there is no study {name!r}", meant(name, known, "the studies are"))
    return read(STUDIES / name, full=full)


def has_full_size(name: str) -> bool:
    """Whether a study is run smaller than it was published."""
    return "full" in toml(STUDIES / name / "study.toml")


def read(folder: Path, *, full: bool = False) -> Study:
    """Read the study in a directory."""
    text = toml(folder / "study.toml")
    published = toml(folder / "published.toml", _Printed)
    check_study(folder / "study.toml", text)
    check_published(folder / "published.toml", published)
    if full and "full" not in text:
        raise InputError(f"study {folder.name} has one size only", "leave out --full")
    if not full:
        left_out = {case["id"] for case in text["case"] if case.get("only") == "full"}
        rows = [row for row in published.get("row", []) if row["case"] not in left_out]
        published = published | {"row": rows}
    try:
        return _study(folder, _enlarged(text) if full else _reduced(text), published)
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder}: the study's files lack or misuse {error}") from error


class _Printed(float):
    """A number that knows half of its last printed digit."""

    rounding: float

    def __new__(cls, text: str) -> Self:
        """Read the text of a TOML file."""
        number = super().__new__(cls, text)
        exponent = Decimal(text).as_tuple().exponent
        number.rounding = 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0
        return number


def toml(path: Path, number: Callable[[str], float] = float) -> dict[str, Any]:
    """Read a file of a study."""
    try:
        return tomllib.loads(text_of(path), parse_float=number)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None


def _reduced(text: dict[str, Any]) -> dict[str, Any]:
    """Give a study's text without the cases and tables that are run at full size only."""
    tables = ("case", "beside")
    wanted = {
        name: [entry for entry in text.get(name, []) if entry.get("only") != "full"]
        for name in tables
    }
    return text | wanted


def _enlarged(text: dict[str, Any]) -> dict[str, Any]:
    """Give a study's text with what its table `full` changes: in all cases, in some, in measures.

    A parameter is changed in the measures that have it. What is set for one case stands over what
    is set for all; a case that is like another has that from it, and one with a scenario of its own
    is not of that network.
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
    """Whether a case is of the study's scenario and of no other case."""
    return "like" not in case and "scenario" not in case


def _study(folder: Path, text: dict[str, Any], published: dict[str, Any]) -> Study:
    known = tuple(_measure(entry) for entry in text["measure"])
    seeds = _seeds(folder, text.get("seeds"))
    cases = _cases(folder, text["case"], shorter(folder / text["scenario"]), seeds)
    study = Study(
        id=folder.name,
        title=text["title"],
        size=text.get("size"),
        document=published["document"],
        column=text.get("column", "quantity"),
        measures=known,
        mechanisms=text["mechanisms"],
        null=text.get("null", {}),
        cases=tuple(cases),
        numbers=tuple(_numbers(folder, published)),
        claims=tuple(
            ClaimText(
                c["id"],
                c["text"],
                c["predicate"],
                c.get("required", True),
                c.get("own", False),
                c.get("by_construction"),
            )
            for c in published.get("claim", [])
        ),
        beside=tuple(_beside(folder, b, known) for b in text.get("beside", [])),
        model=Model(**text["model"]) if "model" in text else None,
        together=text.get("together", False),
        bound_ignores=tuple(text.get("bound_ignores", ())),
    )
    for name in (*study.null, *study.null.values()):
        if name not in study.mechanisms:
            raise InputError(f"{folder}: [null] names no mechanism of the study: {name!r}")
    for number in study.numbers:
        study.case(number.case)
        study.measure(number.quantity)
        for mechanism in (number.mechanism, number.against):
            if mechanism is not None and mechanism not in study.mechanisms:
                raise InputError(f"{folder}: there is no mechanism {mechanism!r}")
    return study


def _measure(entry: dict[str, Any]) -> Measure:
    known = ("name", "kind", "unit", "text", "label", "bound")
    parameters = {key: value for key, value in entry.items() if key not in known}
    measures.check(entry["kind"], parameters)
    kind = measures.named(entry["kind"])
    bound = entry.get("bound")
    if bound is not None and bound not in BOUNDS:
        raise InputError(f"there is no bound {bound!r}", f"there are {', '.join(BOUNDS)}")
    return Measure(
        name=entry["name"],
        kind=entry["kind"],
        unit=entry.get("unit", kind.unit),
        text=entry.get("text", kind.text),
        label=entry.get("label", entry["name"]),
        parameters=parameters,
        bound=bound,
        counts=kind.counts,
    )


def _seeds(folder: Path, text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    low, dots, high = text.partition("..")
    if not (low.isdigit() and dots and high.isdigit() and int(low) <= int(high)):
        raise InputError(f"{folder}: seeds = {text!r}", "seeds are a range, as in 1..300")
    return tuple(range(int(low), int(high) + 1))


def _numbers(folder: Path, published: dict[str, Any]) -> list[Number]:
    exact = published.get("exact", {"tolerance": None, "numbers": []})
    exactly = {tuple(entry) for entry in exact["numbers"]}
    numbers = []
    for row in published.get("row", []):
        band, apart = _band(folder, row), row.get("apart")
        if apart is not None and apart not in APART:
            raise InputError(f"{folder}: apart = {apart!r}", f"there are {', '.join(APART)}")
        if band is None and apart is None:
            raise InputError(
                f"{folder}: case {row['case']}: a row without a band is not judged",
                "say with `apart` why it is not counted, or give it a band",
            )
        over = row.get("over", "mean")
        if over not in STATISTICS:
            raise InputError(f"{folder}: over = {over!r}", f"there are {', '.join(STATISTICS)}")
        for quantity, value in row["values"].items():
            place = (row["case"], row["mechanism"], quantity)
            numbers.append(
                Number(
                    *place,
                    over=over,
                    first=row.get("first"),
                    value=float(value) if isinstance(value, float) else value,
                    runs=row.get("first", 1),
                    rounding=value.rounding if isinstance(value, _Printed) else 0.5,
                    band=band,
                    apart=apart,
                    required=row.get("required", apart is None),
                    tolerance=float(exact["tolerance"])
                    if place in exactly and "against" not in row
                    else None,
                    note=row.get("note"),
                    against=row.get("against"),
                )
            )
    return numbers


def _band(folder: Path, row: dict[str, Any]) -> Band | None:
    bands = [(key, row[key]) for key in row if key.split("_")[0] == "band"]
    if len(bands) > 1:
        raise InputError(f"{folder}: case {row['case']}: a row has one band, not {len(bands)}")
    for key, width in bands:
        kind = key.removeprefix("band").removeprefix("_") or "relative"
        if kind != "range":
            return Band(kind, float(width))
        if len(width) != 2 or width[0] > width[1]:
            raise InputError(
                f"{folder}: case {row['case']}: band_range = {width}", "it is [LEAST, GREATEST]"
            )
        return Band(kind, (float(width[0]), float(width[1])))
    return None


def _cases(
    folder: Path, entries: list[dict[str, Any]], scenario: Path, seeds: tuple[int, ...]
) -> list[Case]:
    """Read the cases, each after the one that it is like."""
    known: dict[str, Case] = {}
    for entry in entries:
        base = Case("", "", scenario, seeds, (), {}, {})
        if "like" in entry:
            if entry["like"] not in known:
                raise InputError(
                    f"{folder}: case {entry['id']} is like {entry['like']!r}, which is no case "
                    "before it"
                )
            base = known[entry["like"]]
        own = entry.get("set_for", {})
        known[entry["id"]] = Case(
            id=entry["id"],
            text=entry["text"],
            scenario=shorter(folder / entry["scenario"]) if "scenario" in entry else base.scenario,
            seeds=_seeds(folder, entry["seeds"]) if "seeds" in entry else base.seeds,
            mechanisms=tuple(entry.get("mechanisms", base.mechanisms)),
            set=base.set | entry.get("set", {}),
            set_for={
                mechanism: base.set_for.get(mechanism, {}) | own.get(mechanism, {})
                for mechanism in dict.fromkeys((*base.set_for, *own))
            },
        )
    return list(known.values())


def _beside(folder: Path, entry: dict[str, Any], known: tuple[Measure, ...]) -> Beside:
    return Beside(
        id=entry["id"],
        title=entry["title"],
        own=entry.get("own", ""),
        own_text=entry.get("own_text", ""),
        cases=tuple(entry["cases"]),
        mechanisms=tuple(entry["mechanisms"]),
        setups=tuple(
            Setup(
                s["id"],
                s["label"],
                s["text"],
                s.get("variant"),
                s.get("set", {}),
                s.get("set_for", {}),
                tuple(s.get("refused", ())),
            )
            for s in entry.get("setup", [])
        ),
        shows=tuple(entry.get("shows", (measure.name for measure in known))),
        seeds=_seeds(folder, entry.get("seeds")),
    )
