"""Words that a shell completes, besides names of commands, options and files.

Nothing here may fail or print: a user who presses Tab expects words, or none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from backwater import _core
from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def mechanisms(incomplete: str) -> list[str]:
    """Return names of mechanisms."""
    return _beginning((one["name"] for one in _core.items("mechanisms")), incomplete)


def scenarios(incomplete: str) -> list[str]:
    """Return names of the scenarios that come with Backwater."""
    from backwater.examples import names

    return _beginning(names(), incomplete)


def studies(incomplete: str) -> list[str]:
    """Return names of studies."""
    from backwater.study import names

    return _beginning(["all", *names()], incomplete)


def tests_of_bench(incomplete: str) -> list[str]:
    """Return categories and tests of the benchmark suite."""
    from backwater.bench.definition import suite

    known = suite()
    return _beginning([*known.categories, *(one.id for one in known.tests)], incomplete)


def metrics(incomplete: str) -> list[str]:
    """Return metrics of all flows, of all jobs and of the run."""
    from backwater.numbers.registry import QUANTITIES

    statistics = ("mean", "median", "min", "max", "p99")
    found = []
    for name, one in QUANTITIES.items():
        found += [f"{part}_{name}" for part in statistics] if one.has_statistics else [name]
    return _beginning(found, incomplete)


def keys(incomplete: str) -> list[str]:
    """Return keys of a scenario, one table at a time: `switch.` first, then `switch.buffer`."""
    table, dot, _ = incomplete.rpartition(".")
    try:
        known = _core.explain(table)["children"]
    except (_core.ScenarioError, KeyError):
        return []
    return _beginning((f"{table}{dot}{name}" for name in known), incomplete)


def settings(incomplete: str) -> list[str]:
    """Return keys as `--set` takes them: those that take a value end with an equals sign."""
    schema = json.loads(_core.schema())["properties"]
    found = []
    for key in keys(incomplete):
        whole = "." in key or schema.get(key, {}).get("type") in ("string", "integer", "boolean")
        found.append(f"{key}=" if whole else f"{key}.")
    return found


def variants(context: typer.Context, incomplete: str) -> list[str]:
    """Return names of the variants of the file that the command line names."""
    from backwater import scenario

    # While typer completes a line, it may leave arguments in `args`.
    given = context.params
    words = [given.get("file"), *(given.get("files") or ()), *context.args]
    file = next((word for word in words if isinstance(word, str) and Path(word).is_file()), None)
    if file is None:
        return []
    try:
        return _beginning(scenario.load(file).variants, incomplete)
    except (_core.ScenarioError, InputError, OSError):
        return []
