"""Texts for a study's rows, on the terminal and in reports."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from backwater.wording import figure, percent, us

if TYPE_CHECKING:
    from backwater.study import Outcome, Row
    from backwater.study.definition import Measure, Study

# The note of a row with fewer seeds than the study has.
FEWER = re.compile(r"over \d+ seeds instead of (\d+)")


SPREAD = (
    "inside if the published number, within its rounding, lies in the 95 % prediction interval of "
    "one more run like ours"
)


def spread_text(row: Row) -> str:
    """Return whether a published number lies inside the spread of our own runs, or outside."""
    return "-" if row.within is None else "inside" if row.within else "outside"


def prediction_text(row: Row, measure: Measure) -> str:
    """Return the interval in which one more run like ours would lie."""
    if row.prediction is None:
        return "-"
    return " to ".join(value_text(one, measure) for one in row.prediction)


def verdict_text(row: Row) -> str:
    """Return a verdict with the reasons why it does not count as one on the document."""
    words = [row.verdict]
    if row.by_construction is not None and row.good:
        words.append("by construction")
    if row.apart is not None:
        words.append(f"(not counted: {row.apart})")
    if row.own:
        words.append("(our own claim)")
    return " ".join(words)


def null_text(row: Row) -> str:
    """Return the verdict with the mechanism switched off; "-" if the row itself is not met."""
    if row.discriminates is None:
        return "-"
    met, not_met = ("holds", "fails") if row.is_claim else ("agrees", "differs")
    return not_met if row.discriminates else f"{met} too"


def null_models(study: Study) -> str:
    """Explain the null models, and what agreement with one means."""
    pairs = ", ".join(f"{null} for {name}" for name, null in study.null.items())
    return (
        f"the verdict with the mechanism switched off ({pairs}); a row that agrees or holds there, "
        "too, does not discriminate"
    )


def conditions(outcome: Outcome) -> list[str]:
    """Return sentences on changed settings and seeds, and on their effect on verdicts."""
    rows = outcome.rows
    changed = dict.fromkeys(word for row in rows for word in row.changed)
    changed |= dict.fromkeys(word for row in outcome.beside for word in row["changed"])
    sentences = []
    if changed:
        sentences.append(
            f"Changed: {', '.join(changed)}. Claims and bands are for the study's own values: a "
            "model that was changed is not judged."
        )
    skipped = [(row.mechanism, row.skipped) for row in rows if not row.is_claim]
    skipped += [(beside["mechanism"], beside["skipped"]) for beside in outcome.beside]
    under: dict[tuple[str, str], list[str]] = {}
    for mechanism, settings in skipped:
        for one in settings:
            setting = f"--set {one['key']}={one['value']}"
            under.setdefault((setting, one["reason"]), []).append(mechanism)
    sentences += [
        f"Skipped: {setting} in {', '.join(dict.fromkeys(mechanisms))}, where {reason}."
        for (setting, reason), mechanisms in under.items()
    ]
    if any(row.other_seeds for row in rows):
        sentences.append(
            "Other seeds than the study's: claims and bands are for its own seeds, and verdicts on "
            "these may differ."
        )
    return sentences


def compared(row: Row) -> str:
    """Return the mechanism of a number, and the one against which it is a reduction."""
    return row.mechanism if row.against is None else f"{row.mechanism}, less than {row.against}"


def as_shown(measure: Measure, row: Row) -> Measure:
    """Return the measure of a row, with % as the unit of a reduction, which is never a count."""
    return measure if row.against is None else replace(measure, counts=False, unit=row.unit)


def over_text(row: Row) -> str:
    """Return the statistic of a number and its count of seeds."""
    fewer = FEWER.match(row.note or "")
    return f"{row.over or 'mean'} {row.seeds}" + (f" of {fewer[1]}" if fewer else "")


def measured_text(row: Row, measure: Measure) -> str:
    """Return a measured value, and half of its 95 % interval to the same digits."""
    value = value_text(row.measured, measure)
    if row.ci is None or row.measured is None:
        return value
    return f"{value} ±{value_text(row.ci[1] - row.measured, measure)}"


def deviation_text(row: Row) -> str:
    """Return the deviation of a measured number, in the terms of its band."""
    if row.band_kind != "absolute" or row.measured is None or row.published is None:
        return percent(row.deviation)
    return f"{row.measured - row.published:+.{2 if row.unit else 3}f}"


def band_text(row: Row) -> str:
    """Return the band of a number; "-" without one, and for a changed model."""
    if not row.judged or row.band is None:
        return "-"
    if isinstance(row.band, tuple):
        return " to ".join(f"{end:g}" for end in row.band)
    if row.band_kind == "relative":
        return f"±{percent(row.band, signed=False)}"
    return f"±{row.band:g}" if row.band_kind == "absolute" else f"{row.band:g}x"


def value_text(value: float | None, measure: Measure) -> str:
    """Return a value to the digits that matter: a ratio, without a unit, to three decimals."""
    if value is None:
        return "-"
    if measure.counts:
        return figure(round(value, 1) if abs(value) < 1000 else round(value))
    return us(value) if measure.unit else f"{value:.3f}"
