"""Distributions of completion times: the share of a group's messages complete within a time.

There is one curve per mechanism, over the messages of all seeds together. So a seed with more
messages has more weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.numbers.units import PS_PER_US
from backwater.plot import data
from backwater.plot.flows import UNTIL
from backwater.plot.theme import APART, WHOLE, WIDTH, colour, dash, title
from backwater.study.key import TABLE, Key
from backwater.study.measures import Observed
from backwater.study.messages import chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair.typing import ChartType

    from backwater.study import Outcome


@dataclass(frozen=True)
class Window:
    """Messages of a group, in a range of `sizes` (upper end excluded), that start after `after`."""

    group: str
    sizes: Sequence[str] | None
    after: str | None
    until: str


def draw(outcome: Outcome, case: str, mechanisms: Sequence[str], window: Window) -> ChartType:
    """Draw one curve per mechanism that was run.

    Raises `InputError` if none was, if results were not stored, or if no messages are complete.
    """
    if window.until not in UNTIL:
        raise InputError(f"until = {window.until!r}", f"one of {', '.join(UNTIL)}")
    parts, counts = [], {}
    for mechanism in mechanisms:
        times, of = _times(outcome, Key(case, mechanism, TABLE), window)
        if times.len() < 2:
            continue
        values, shares = data.distribution(times, of)
        found = pl.DataFrame({"us": values, "share": shares}).with_columns(
            pl.col("us") / PS_PER_US, mechanism=pl.lit(mechanism)
        )
        parts.append(found)
        counts[mechanism] = data.complete(times.len(), of)
    if not parts:
        raise InputError(
            "nothing to draw: these points have no stored results with two complete messages",
            "--out keeps results",
        )
    order = list(counts)
    numbers = ", ".join(f"{name} {count}" for name, count in counts.items())
    x = alt.X(
        "us:Q",
        title=f"completion time to the {UNTIL[window.until]} (us)",
        axis=APART,
        scale=alt.Scale(type="log"),
    )
    known = list(outcome.study.mechanisms)
    drawn: ChartType = (
        alt.Chart(pl.concat(parts))
        .mark_line(interpolate="step-after")
        .encode(
            x=x,
            y=alt.Y("share:Q", title="share of messages", axis=alt.Axis(format="%"), scale=WHOLE),
            color=colour("mechanism", order, known),
            strokeDash=dash("mechanism", order, known),
            tooltip=[
                "mechanism",
                alt.Tooltip("us", format=".6"),
                alt.Tooltip("share", format=".1%"),
            ],
        )
        .properties(
            width=WIDTH,
            height=240,
            title=title(f"Completion times of {_said(window)}", case, f"messages: {numbers}"),
        )
    )
    return drawn


def _times(outcome: Outcome, key: Key, window: Window) -> tuple[pl.Series, int]:
    """Return the sorted times in ps of all seeds of a point, and its number of messages."""
    name = f"fct_{window.until}_ps"
    found = [
        pl.Series(chosen(Observed(run), window.group, window.sizes, window.after)[name])
        for run in outcome.runs(key)
    ]
    if not found:
        return pl.Series(dtype=pl.Float64), 0
    times = pl.concat(found).cast(pl.Float64)
    return times.drop_nulls().sort(), times.len()


def _said(window: Window) -> str:
    if not window.sizes:
        return window.group
    least, *below = window.sizes
    if not below:
        return f"{window.group}, {least} and more"
    return f"{window.group}, {least} to {below[0]}"
