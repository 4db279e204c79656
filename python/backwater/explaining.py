"""Facts of scenarios in general: the meaning of keys, their schema, and an example."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater import _core

if TYPE_CHECKING:
    from typing import Any


def explain(key: str) -> dict[str, Any]:
    """Return what a key of scenarios means, by its dotted name, such as `"switch.buffer"`.

    The result has key, meaning, symbol, unit, default, range, source, aliases (other names) and
    children (the meanings of a table's keys, or of a choice's values, by their names). `""` is the
    whole scenario, whose children are its tables. Raises `backwater.ScenarioError` for an unknown
    key, with a hint at similar ones.
    """
    return _core.explain(key)


def new_scenario() -> str:
    """Return a commented scenario to start from, as `backwater new` writes it."""
    return _core.new_scenario()


def schema() -> str:
    """Return the JSON Schema of scenario files, for editors that complete and check."""
    return _core.schema()
