"""What a study is: its cases and mechanisms (study.toml) and the numbers to meet (published.toml).

A study reruns a published experiment. One scenario serves all its cases; a case overrides only what
the document itself changes, a mechanism is a variant of the scenario.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater.errors import InputError
from backwater.scenario import shorter
from backwater.study.bounds import Model

# Resolved, since in the source tree it is a link: messages name the real place.
STUDIES = (Path(__file__).resolve().parent.parent / "studies").resolve()
INCAST = "incast_mean_fct"
VICTIM = "victim_fct"


@dataclass(frozen=True)
class Case:
    """One case of the document."""

    id: str
    text: str
    victim: str
    """Label of the flow group whose one flow is observed as the victim."""
    set: dict[str, str]
    """What the document changes for this case: dotted keys and values as on the command line."""
    set_for: dict[str, dict[str, str]]
    """The same, for one mechanism only."""

    def changes(self, mechanism: str) -> list[tuple[str, str]]:
        """Everything that the document changes for this case under a mechanism."""
        return [*self.set.items(), *self.set_for.get(mechanism, {}).items()]


@dataclass(frozen=True)
class Number:
    """One published number."""

    case: str
    mechanism: str
    quantity: str
    value: float
    band: float
    """Largest relative deviation, either way, that counts as agreement."""
    required: bool
    tolerance: float | None
    """Largest absolute deviation for a number that no free parameter moves."""
    note: str | None


@dataclass(frozen=True)
class ClaimText:
    """A claim of the document that has no number; its predicate is code, in `study.claims`."""

    id: str
    text: str
    predicate: str
    required: bool


@dataclass(frozen=True)
class Setup:
    """One way of running a study's cases other than the table's own."""

    id: str
    label: str
    text: str
    variant: str | None
    set: dict[str, str]


@dataclass(frozen=True)
class Beside:
    """Setups run and reported beside the table, compared with nothing that was published."""

    id: str
    title: str
    own: str
    """What the table's own setup is called among the others."""
    own_text: str
    cases: tuple[str, ...]
    mechanisms: tuple[str, ...]
    setups: tuple[Setup, ...]


@dataclass(frozen=True)
class Study:
    """A study as its files define it."""

    id: str
    title: str
    document: str
    unit: str
    scenario: Path
    incast: str
    statistics: dict[str, str]
    """For each quantity, which statistic of which flows it is."""
    mechanisms: dict[str, str]
    """For each mechanism of the document, the scenario's variant."""
    cases: tuple[Case, ...]
    numbers: tuple[Number, ...]
    claims: tuple[ClaimText, ...]
    beside: tuple[Beside, ...]
    model: Model
    bound_ignores: tuple[str, ...]
    """Keys that a user may set without moving the lower bounds."""

    def case(self, case: str) -> Case:
        """Give one case by its id."""
        for known in self.cases:
            if known.id == case:
                return known
        known_ids = ", ".join(c.id for c in self.cases)
        raise InputError(f"study {self.id} has no case {case!r}", f"its cases are {known_ids}")

    def published(self, case: str, mechanism: str, quantity: str) -> float | None:
        """Give a published number, None where the document has none."""
        wanted = (case, mechanism, quantity)
        for number in self.numbers:
            if (number.case, number.mechanism, number.quantity) == wanted:
                return number.value
        return None


def names() -> list[str]:
    """Names of the studies that are there."""
    return sorted(path.parent.name for path in STUDIES.glob("*/study.toml"))


def load(name: str) -> Study:
    """Read a study by its name."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the studies are {', '.join(known)}"
        raise InputError(f"there is no study {name!r}", hint)
    return read(STUDIES / name)


def read(folder: Path) -> Study:
    """Read the study in a directory."""
    text = _toml(folder / "study.toml")
    published = _toml(folder / "published.toml")
    try:
        return _study(folder, text, published)
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder}: the study's files lack or misuse {error}") from error


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None


def _study(folder: Path, text: dict[str, Any], published: dict[str, Any]) -> Study:
    tolerance = published["exact"]["tolerance"]
    exact = {tuple(entry) for entry in published["exact"]["numbers"]}
    numbers = []
    for row in published["row"]:
        for quantity in (INCAST, VICTIM):
            key = (row["case"], row["mechanism"], quantity)
            numbers.append(
                Number(
                    case=row["case"],
                    mechanism=row["mechanism"],
                    quantity=quantity,
                    value=row[quantity],
                    band=row["band"],
                    required=row.get("required", True),
                    tolerance=tolerance if key in exact else None,
                    note=row.get("note"),
                )
            )
    return Study(
        id=folder.name,
        title=text["title"],
        document=published["document"],
        unit=published["unit"],
        scenario=shorter(folder / text["scenario"]),
        incast=text["incast"],
        statistics=text["statistics"],
        mechanisms=text["mechanisms"],
        cases=tuple(_cases(folder, text["case"])),
        numbers=tuple(numbers),
        claims=tuple(
            ClaimText(c["id"], c["text"], c["predicate"], c.get("required", True))
            for c in published["claim"]
        ),
        beside=tuple(_beside(b) for b in text.get("beside", [])),
        model=Model(**text["model"]),
        bound_ignores=tuple(text.get("bound_ignores", ())),
    )


def _cases(folder: Path, entries: list[dict[str, Any]]) -> list[Case]:
    """Read the cases, each after the one that it is like."""
    known: dict[str, Case] = {}
    for entry in entries:
        base = Case("", "", "", {}, {})
        if "like" in entry:
            if entry["like"] not in known:
                raise InputError(
                    f"{folder}: case {entry['id']} is like {entry['like']!r}, which is no case "
                    "before it"
                )
            base = known[entry["like"]]
        victim = entry.get("victim", base.victim)
        if not victim:
            raise InputError(f"{folder}: case {entry['id']} names no victim")
        own = entry.get("set_for", {})
        known[entry["id"]] = Case(
            id=entry["id"],
            text=entry["text"],
            victim=victim,
            set=base.set | entry.get("set", {}),
            set_for={
                mechanism: base.set_for.get(mechanism, {}) | own.get(mechanism, {})
                for mechanism in dict.fromkeys((*base.set_for, *own))
            },
        )
    return list(known.values())


def _beside(entry: dict[str, Any]) -> Beside:
    return Beside(
        id=entry["id"],
        title=entry["title"],
        own=entry["own"],
        own_text=entry["own_text"],
        cases=tuple(entry["cases"]),
        mechanisms=tuple(entry["mechanisms"]),
        setups=tuple(
            Setup(s["id"], s["label"], s["text"], s.get("variant"), s.get("set", {}))
            for s in entry["setup"]
        ),
    )
