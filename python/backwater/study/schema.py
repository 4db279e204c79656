"""The schema of a study's files: all known keys, so that a misspelt key is an error.

`backwater.study.definition` documents the meaning of the keys.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from backwater.errors import InputError
from backwater.study.bounds import Model
from backwater.wording import meant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Changes = dict[str, str]
"""Dotted keys of a scenario and their values, as on the command line."""


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """A table of a file, without unknown keys."""


class CaseTable(_Table):
    """`[[case]]`."""

    id: str
    text: str
    like: str | None = None
    only: str | None = None
    scenario: str | None = None
    seeds: str | None = None
    mechanisms: tuple[str, ...] | None = None
    set: Changes = {}
    set_for: dict[str, Changes] = {}


class Setup(_Table):
    """`[[beside.setup]]`: a way to run a study's cases other than that of the table."""

    id: str
    label: str
    text: str
    variant: str | None = None
    set: Changes = {}
    set_for: dict[str, Changes] = {}
    """Changes for one mechanism only, by mechanism."""
    refused: tuple[str, ...] = ()
    """Mechanisms with which the setup is no valid scenario: their row states the reason."""

    def changes(self, mechanism: str) -> Changes:
        """Return all changes of this setup under a mechanism."""
        return self.set | self.set_for.get(mechanism, {})


class BesideTable(_Table):
    """`[[beside]]`."""

    id: str
    title: str
    cases: tuple[str, ...]
    mechanisms: tuple[str, ...]
    only: str | None = None
    own: str = ""
    own_text: str = ""
    seeds: str | None = None
    setup: tuple[Setup, ...] = ()
    shows: tuple[str, ...] | None = None


class FullTable(_Table):
    """`[full]`."""

    size: str
    seeds: str | None = None
    set: Changes | None = None
    case: dict[str, Changes] | None = None
    measure: dict[str, Any] | None = None


class HeadlineTable(_Table):
    """`[headline]`: the study's row in the README."""

    what: str
    size: str
    found: str


class StudyFile(_Table):
    """`study.toml`."""

    title: str
    scenario: str
    # The kind of a measure defines its parameters: `backwater.study.measures.check`.
    measure: list[dict[str, Any]]
    mechanisms: dict[str, str]
    case: list[CaseTable]
    size: str | None = None
    seeds: str | None = None
    column: str = "quantity"
    null: dict[str, str] = {}
    beside: list[BesideTable] = []
    together: bool = False
    bound_ignores: tuple[str, ...] = ()
    model: Model | None = None
    full: FullTable | None = None
    headline: HeadlineTable | None = None


class RowTable(_Table):
    """`[[row]]`: it has one of the four bands, or none and is not judged."""

    case: str
    mechanism: str
    # Numbers with their last printed digit; see `backwater.study.definition`.
    values: dict[str, Any]
    band: Any = None
    band_absolute: Any = None
    band_factor: Any = None
    band_range: list[Any] | None = None
    against: str | None = None
    first: int | None = None
    apart: str | None = None
    note: str | None = None
    over: str = "mean"
    required: bool | None = None


class ClaimText(_Table):
    """`[[claim]]`: a claim without a published number.

    Its predicate is a function in `study.claims`.
    """

    id: str
    text: str
    predicate: str
    own: bool = False
    """True if it is this project's own claim, which is counted apart from the document's."""
    by_construction: str | None = None
    """Why the claim cannot fail, whatever the mechanism does; None: it can fail."""
    required: bool = True


class ExactTable(_Table):
    """`[exact]`."""

    tolerance: Any
    numbers: list[tuple[str, ...]]


class AdviceTable(_Table):
    """`[[advice]]`: results of the document's own formulas."""

    senders: int
    threshold: str
    headroom_kB: Any  # noqa: N815 - the document's unit
    threshold_max_kB: Any  # noqa: N815 - as above
    pause_us: list[Any]


class PublishedFile(_Table):
    """`published.toml`."""

    document: str
    row: list[RowTable] = []
    claim: tuple[ClaimText, ...] = ()
    exact: ExactTable | None = None
    advice: list[AdviceTable] | None = None


# The table at a place of a file, for hints.
_TABLES: dict[tuple[str, ...], type[msgspec.Struct]] = {
    ("case",): CaseTable,
    ("beside",): BesideTable,
    ("beside", "setup"): Setup,
    ("full",): FullTable,
    ("model",): Model,
    ("headline",): HeadlineTable,
    ("row",): RowTable,
    ("claim",): ClaimText,
    ("exact",): ExactTable,
    ("advice",): AdviceTable,
}


_File = TypeVar("_File", StudyFile, PublishedFile)


def check_study(path: Path, text: Mapping[str, Any]) -> None:
    """Raise `InputError` for an unknown key, case or parameter in a `study.toml`."""
    _convert(path, text, StudyFile)
    parameters = {key for measure in text["measure"] for key in measure}
    full = text.get("full") or {}
    cases = {case["id"] for case in text["case"]}
    _check_known(path, "full.measure", "parameter of a measure", full.get("measure"), parameters)
    _check_known(path, "full.case", "case", full.get("case"), cases)


def published_file(path: Path, text: Mapping[str, Any]) -> PublishedFile:
    """Return the content of a `published.toml`; raises `InputError` for an unknown key."""
    return _convert(path, text, PublishedFile)


def _convert(path: Path, text: Mapping[str, Any], file: type[_File]) -> _File:
    try:
        return msgspec.convert(text, file)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$")
        parts = re.findall(r"[^.\[\]`]+", where)
        unknown = re.search(r"unknown field `(.*)`", reason)
        if unknown is None:
            raise InputError(
                ": ".join(filter(None, (str(path), ".".join(parts), reason)))
            ) from None
        table = _TABLES.get(tuple(part for part in parts if not part.isdigit()), file)
        raise _unknown(path, ".".join(parts), "key", unknown[1], table.__struct_fields__) from None


def _check_known(
    path: Path, place: str, what: str, table: Mapping[str, Any] | None, known: set[str]
) -> None:
    for name in table or {}:
        if name not in known:
            raise _unknown(path, place, what, name, sorted(known))


def _unknown(
    path: Path, place: str, what: str, name: str, known: tuple[str, ...] | list[str]
) -> InputError:
    reason = f"{path}: {place + ': ' if place else ''}there is no {what} {name!r}"
    return InputError(reason, meant(name, known, "there are"))
