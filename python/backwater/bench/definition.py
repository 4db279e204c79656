"""The suite: tests of two IETF drafts, as data in `suite/`.

A file has tests of one draft: category, section, title, parameters, the part of a scenario that a
test adds to the fabric under test, and its metrics with their definitions. The file with the name
of the draft describes it, and has what is not run. `suite/shared.toml` has choices that several
tests have, such as load balancing.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from backwater.errors import InputError
from backwater.wording import meant, series

TRAINING, INFERENCE = "training", "inference"
FILES = {
    TRAINING: (TRAINING, "training-transport", "training-jobs"),
    INFERENCE: (INFERENCE, "inference-kv-cache", "inference-experts", "inference-serving"),
}
"""The files of each draft, without their suffix; the first one describes the draft."""
READING = re.compile(r"\[([^\[\]@]+?)(?:\s*@\s*([a-z_]+)\s*=\s*([^\[\]]+?))?\s*\]")
"""A metric in an expression, `[max_jct:train]`, perhaps at another point: `[… @ when = alone]`."""


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """A table of a file, without unknown keys."""


class Draft(_Table):
    """`[draft]`: the document that the tests of a file are from."""

    title: str
    name: str
    repository: str
    revision: str
    reporting: str
    """The section that says what a report has."""


class Parameter(_Table):
    """`[test.parameter.NAME]`: a quantity that a test varies."""

    text: str
    values: tuple[int | float | str, ...]
    """Numbers, or names of choices."""
    draft: str
    """The values of the draft, in words."""
    unit: str = ""
    most: str = ""
    """An expression of the fabric; greater values become it, once."""
    choice: str = ""
    """The table of `shared.toml` that has the choices; empty: `choices` has them."""
    choices: dict[str, dict[str, Any]] = {}
    """What each choice changes in the scenario; a table that is `false` is removed."""


class Metric(_Table):
    """`[[test.metric]]`: a number of a test."""

    label: str
    value: str
    """An expression of metrics in brackets, parameters and facts of the fabric."""
    definition: str
    """What it is, with the draft's formula if it has one."""
    unit: str
    section: str = ""
    """The section of the draft that defines it; empty: the draft has no such metric."""
    only: dict[str, str] = {}
    """Choices of parameters at which it has a value."""
    without: str = ""
    """What it means if a run has no value of it."""


class Need(_Table):
    """`[[test.need]]`: what a fabric must have for a test."""

    reason: str
    """Why a fabric without it cannot have the test."""
    hint: str
    on: str = ""
    """A table that its scenario must have."""
    key: str = ""
    """A key whose value must not be `other_than`."""
    other_than: str = ""
    that: str = ""
    """An expression of the fabric that must be true."""


class Figure(_Table):
    """`[test.figure]`: the curve or the bars that the draft asks for."""

    caption: str
    metric: str
    """The label of a metric."""
    over: str
    """The parameter on the horizontal axis."""
    apart: str = ""
    """The parameter whose values have lines, or bars, of their own."""
    only: dict[str, int | float | str] = {}
    """The one value of another parameter that it shows; `greatest` is the greatest number."""
    log: bool = False


class Test(_Table):
    """`[[test]]`: one test of a draft."""

    section: str
    category: str
    title: str
    about: str
    """Its purpose and procedure, in a sentence or two."""
    metric: tuple[Metric, ...]
    """The first one is the primary metric: it has the repeatability statement."""
    scenario: dict[str, Any] = {}
    parameter: dict[str, Parameter] = {}
    need: tuple[Need, ...] = ()
    differs: tuple[str, ...] = ()
    """Deviations from the procedure of the draft."""
    figure: Figure | None = None
    draft: str = ""

    @property
    def id(self) -> str:
        """Its name: the draft and the section, such as `training-7.2`."""
        return f"{self.draft}-{self.section}"

    def changes(self, name: str, choice: str) -> dict[str, Any]:
        """Return what a choice of a parameter changes in the scenario; nothing for a number."""
        parameter = self.parameter[name]
        known = shared()[parameter.choice] if parameter.choice else parameter.choices
        return known.get(choice, {})


class Untested(_Table):
    """`[[untested]]`: tests of a draft that are not run, with the reason."""

    section: str
    title: str
    reason: str
    draft: str = ""


class _File(_Table):
    draft: Draft | None = None
    test: tuple[Test, ...] = ()
    untested: tuple[Untested, ...] = ()


@dataclass(frozen=True)
class Suite:
    """All tests."""

    drafts: dict[str, Draft]
    tests: tuple[Test, ...]
    untested: tuple[Untested, ...]

    @property
    def categories(self) -> list[str]:
        """The names of the categories, in the order of the files."""
        return list(dict.fromkeys(one.category for one in self.tests))

    def chosen(self, names: tuple[str, ...]) -> tuple[Test, ...]:
        """Return the tests of some categories, or with some ids; all without names.

        Raises `InputError` for another name.
        """
        known = [*self.categories, *(one.id for one in self.tests)]
        for name in names:
            if name not in known:
                listed = f"categories are {series(self.categories)}; `backwater bench --list`"
                raise InputError(
                    f"{name}: no category or test of the suite", meant(name, known, listed)
                )
        if not names:
            return self.tests
        return tuple(one for one in self.tests if one.category in names or one.id in names)


def _text(name: str) -> str:
    return (files("backwater.bench") / "suite" / name).read_text(encoding="utf-8")


@cache
def shared() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the choices that several tests have: by table and name, what each changes."""
    return tomllib.loads(_text("shared.toml"))


@cache
def suite() -> Suite:
    """Read the suite."""
    drafts: dict[str, Draft] = {}
    tests: list[Test] = []
    untested: list[Untested] = []
    for key, names in FILES.items():
        for name in names:
            found = msgspec.convert(tomllib.loads(_text(f"{name}.toml")), _File)
            if found.draft is not None:
                drafts[key] = found.draft
            for test in found.test:
                test.draft = key
            for left in found.untested:
                left.draft = key
            tests += found.test
            untested += found.untested
    return Suite(drafts, tuple(tests), tuple(untested))
