"""Conditions of points, as `--where "switch.buffer < 2 MB and seed <= 3"`.

They are SQL of polars, in which keys may be written as they are, quantities with their units, and
`==` for equality.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError
from backwater.sweep.values import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

_TOKEN = re.compile(
    r"(?P<text>'[^']*')|(?P<quantity>\b\d+(?:\.\d+)? ?(?:[KMGT]i?b/s|[KMGTk]i?B|B|ps|ns|us|ms|s)\b)"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)+)|(?P<equal>==)"
)


def sql(text: str) -> str:
    """Turn a condition into SQL, in which keys have plain names and quantities base units."""

    def part(match: re.Match[str]) -> str:
        if match["quantity"]:
            for kind in ("size", "time", "rate"):
                with contextlib.suppress(_core.ScenarioError):
                    return str(_core.base_units(kind, match[0], "--where"))
        if match["name"]:
            return plain(match[0])
        return "=" if match["equal"] else match[0]

    return _TOKEN.sub(part, text)


def holding(conditions: Sequence[str], points: pl.DataFrame) -> list[int]:
    """Give the numbers of the points at which all conditions hold. Raises `InputError`."""
    import polars as pl

    rows = points.with_row_index("_number")
    for text in conditions:
        try:
            rows = rows.filter(pl.sql_expr(sql(text)))
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            names = ", ".join(points.columns)
            raise InputError(
                f"--where {text}: {reason}",
                f'a condition is of {names}, as in "switch.buffer > 2 MB and seed <= 3"',
            ) from None
    return list(rows["_number"])
