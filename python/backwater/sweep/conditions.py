"""Conditions, as `--where "switch.buffer < 2 MB and seed <= 3"`, and those of goals.

They are SQL of polars, with three additions: names of keys and metrics as they are, quantities with
units, and `==` for equality. Keys are in base units, metrics in those of their tables: times in
us, rates in Gb/s, sizes in B.
"""

from __future__ import annotations

import contextlib
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError
from backwater.numbers.units import BPS_PER_GBPS, PS_PER_US
from backwater.sweep.values import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

_TOKEN = re.compile(
    r"(?P<text>'[^']*')|(?P<quoted>\"[^\"]*\")"
    # A word after a number is a unit, perhaps an unknown one, and never a name.
    r"|(?P<quantity>(?<![\w.])(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
    r" ?(?!(?:and|or|not|is|between|in|like|AND|OR|NOT|IS|BETWEEN|IN|LIKE)\b)[A-Za-z][\w/]*)"
    r"|(?P<metric>[A-Za-z_][\w.]*:[\w./-]*\w)"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)+)|(?P<word>[A-Za-z_]\w*)|(?P<equal>==)"
)
BASE = {"size": 1, "time": 1, "rate": 1}
SHOWN = {"size": 1, "time": PS_PER_US, "rate": BPS_PER_GBPS}
"""Base units in the units of metrics: B, us, Gb/s."""
# Units of keys and of metrics, for each kind of quantity.
_UNITS = {"size": ("B",), "time": ("ps", "us"), "rate": ("b/s", "Gb/s")}
_COMPARED = re.compile(r"\s*(?:[<>!=]{1,2})\s*")
_OF_ONE = frozenset(
    [
        *("abs", "ceil", "coalesce", "exp", "floor", "greatest", "if", "ifnull", "least", "ln"),
        *("log", "log10", "log2", "mod", "nullif", "pow", "round", "sign", "sqrt"),
    ]
)
"""Functions that work on one point; others may aggregate over all points."""
_WORDS = frozenset(["and", "or", "not", "is", "null", "between", "in", "like", "true", "false"])


def sql(text: str, units: Mapping[str, float] = BASE) -> str:
    """Turn a condition into SQL with plain names and with numbers for quantities.

    `units`: how many base units (B, ps, b/s) the wanted unit of each kind of quantity has.
    """

    def part(match: re.Match[str]) -> str:
        if match["quantity"]:
            kind, exact = _quantity(match[0])
            return str(exact if units[kind] == 1 else exact / units[kind])
        if match["name"] or match["metric"] or match["quoted"]:
            return plain(match[0].strip('"'))
        return "=" if match["equal"] else match[0]

    return _TOKEN.sub(part, text)


def names(text: str) -> list[str]:
    """Return the names of keys and metrics in a condition, each once."""
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(text):
        called = text[match.end() :].lstrip().startswith("(")
        if match["word"] and (match[0].lower() in _WORDS or called):
            continue
        if match["word"] or match["name"] or match["metric"] or match["quoted"]:
            found[match[0].strip('"')] = None
    return list(found)


def check_units(text: str, units: Mapping[str, str | None], source: str) -> None:
    """Refuse a condition that compares a quantity with a name of another kind.

    `units`: the units of the known names, by their names in SQL. Raises `InputError`.
    """
    # `==` is a token itself; other comparison operators are the text between two tokens.
    tokens = [match for match in _TOKEN.finditer(text) if not match["equal"]]
    for left, right in pairwise(tokens):
        if not _COMPARED.fullmatch(text[left.end() : right.start()]):
            continue
        for one, other in ((left, right), (right, left)):
            name = plain(one[0].strip('"'))
            if not other["quantity"] or one["quantity"] or name not in units:
                continue
            kind, _ = _quantity(other[0])
            if units[name] not in _UNITS[kind]:
                unit = units[name]
                what = f"in {unit}" if unit else ("a text" if unit is None else "a number")
                raise InputError(
                    f"{source}: `{other[0]}` is a {kind}, and {one[0]} is {what}",
                    f"write {one[0]} and a quantity of its own kind",
                )


def _check_alone(text: str, source: str) -> None:
    """Refuse functions over many points: a condition sees one. Raises `InputError`."""
    for match in _TOKEN.finditer(text):
        word = match[0].lower()
        if not match["word"] or word in _WORDS or word in _OF_ONE:
            continue
        rest = text[match.end() :]
        called = re.match(r"\s*\([^()]*\)?", rest)
        if called is None and word not in ("select", "over"):
            continue
        what = match[0] + (called[0] if called is not None and word != "over" else "")
        raise InputError(
            f"{source}: `{what}` needs many points, and a condition sees one point at a time",
            "name the number itself, as in `pauses < 4`; a goal's condition must hold with all "
            f"seeds; functions of one point are {', '.join(sorted(_OF_ONE - _WORDS))}",
        )


def _quantity(text: str) -> tuple[str, int]:
    """Return the kind of a quantity and its number of base units. Raises `InputError`."""
    for kind in BASE:
        with contextlib.suppress(_core.ScenarioError):
            return kind, _core.base_units(kind, text, "--where")
    raise InputError(
        f"`{text}` in a condition is no size, time or rate", "as in 40 KB, 2.5 us, 10 Gb/s"
    )


def holding(
    conditions: Sequence[str], points: pl.DataFrame, units: Mapping[str, str | None]
) -> list[int]:
    """Return the numbers of the points at which all conditions hold.

    `units`: the units of the keys, by their names in SQL. Raises `InputError`.
    """
    numbers = list(range(points.height))
    for text in conditions:
        check_units(text, units, f"--where {text}")
        found = _judged(points, text, sql(text), f"--where {text}", _hint(points))
        numbers = [number for number in numbers if found[number]]
    return numbers


def _hint(points: pl.DataFrame) -> str:
    names = ", ".join(points.columns)
    return f'a condition uses {names}, as in "switch.buffer > 2 MB and seed <= 3"'


def held(text: str, points: pl.DataFrame) -> list[bool | None]:
    """Return for each point whether the condition of a goal holds.

    None: the condition depends on a metric that has no value there. Raises `InputError`.
    """
    hint = 'a condition of a goal uses metrics, as in "drops == 0 and p99_fct:victim < 50 us"'
    return _judged(points, text, sql(text, SHOWN), f"--goal … where {text}", hint)


def _judged(
    rows: pl.DataFrame, text: str, condition: str, source: str, hint: str
) -> list[bool | None]:
    import polars as pl

    try:
        expression = pl.sql_expr(condition)
        # polars reports unknown SQL functions better, so it parses the text before this check.
        _check_alone(text, source)
        rows.filter(expression)
        found = rows.with_row_index("_number").with_columns(_held=expression)["_held"]
        return found.cast(pl.Boolean).to_list()
    except pl.exceptions.ColumnNotFoundError as error:
        unknown = (name for name in names(text) if plain(name) not in rows.columns)
        reason = f"there is no {next(unknown, str(error).splitlines()[0])}"
        raise InputError(f"{source}: {reason}", hint) from None
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{source}: {str(error).splitlines()[0]}", hint) from None
