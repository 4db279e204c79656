"""What Python may ask of scenarios in general: what keys mean, their schema, one to start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater import _core

if TYPE_CHECKING:
    from typing import Any


def explain(key: str) -> dict[str, Any]:
    """Say what a key of scenarios means, by its dotted name, such as `"switch.buffer"`.

    Gives key, meaning, symbol, unit, default, range, source, aliases (its other names) and children
    (the keys of a table, or the values of a choice, each with what it is). `""` is all tables.
    Raises `backwater.ScenarioError` with what was meant, maybe, if there is no such key.
    """
    return _core.explain(key)


def new_scenario() -> str:
    """Give a commented scenario to start from, as `backwater new` writes it."""
    return _core.new_scenario()


def schema() -> str:
    """Give the JSON Schema of scenario files, for editors that complete and check."""
    return _core.schema()
