"""A study's rows in words: on the terminal and in reports alike."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from backwater.wording import figure, percent, us

if TYPE_CHECKING:
    from backwater.study import Row
    from backwater.study.definition import Measure

# What a row says when it is over fewer seeds than the study asks for.
FEWER = re.compile(r"over \d+ seeds instead of (\d+)")


def compared(row: Row) -> str:
    """Say under which mechanism a number was taken, and against which it is a reduction."""
    return row.mechanism if row.against is None else f"{row.mechanism}, less than {row.against}"


def as_shown(measure: Measure, row: Row) -> Measure:
    """A reduction in % counts no things, whatever its measure counts."""
    return measure if row.against is None else replace(measure, kind="", unit=row.unit)


def over_text(row: Row) -> str:
    """Say which statistic over how many seeds a number is."""
    fewer = FEWER.match(row.note or "")
    return f"{row.over or 'mean'} {row.seeds}" + (f" of {fewer[1]}" if fewer else "")


def measured_text(row: Row, measure: Measure) -> str:
    """A measured value, a mean over seeds with its 95 % interval to the same digits."""
    value = value_text(row.measured, measure)
    if row.ci is None or row.measured is None:
        return value
    return f"{value} ±{value_text(row.ci[1] - row.measured, measure)}"


def band_text(row: Row) -> str:
    """Say how near a number must come to agree."""
    if row.band is None or row.band_kind == "relative":
        return f"±{percent(row.band, signed=False)}"
    return f"±{row.band:g}" if row.band_kind == "absolute" else f"{row.band:g}x"


def value_text(value: float | None, measure: Measure) -> str:
    """A value to the digits that matter: whole for counts, three after the point for ratios."""
    if value is None:
        return "-"
    if measure.counts:
        return figure(round(value, 1) if abs(value) < 1000 else round(value))
    return us(value) if measure.unit else f"{value:.3f}"
