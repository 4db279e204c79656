"""A study's rows in words: on the terminal and in reports alike."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from backwater.wording import figure, percent, us

if TYPE_CHECKING:
    from backwater.study import Outcome, Row
    from backwater.study.definition import Measure, Study

# What a row says when it is over fewer seeds than the study asks for.
FEWER = re.compile(r"over \d+ seeds instead of (\d+)")


SPREAD = (
    "whether the published number lies where one more run like ours would, by the 95 % prediction "
    "interval over our seeds; its rounding is allowed for"
)


def spread_text(row: Row) -> str:
    """Say whether a published number lies within the spread of our own runs."""
    return "-" if row.within is None else "inside" if row.within else "outside"


def prediction_text(row: Row, measure: Measure) -> str:
    """Give the interval in which one more run like ours would lie."""
    if row.prediction is None:
        return "-"
    return " to ".join(value_text(one, measure) for one in row.prediction)


def verdict_text(row: Row) -> str:
    """Give a verdict with what keeps it from being one on the document's own number or claim."""
    words = [row.verdict]
    if row.by_construction is not None and row.good:
        words.append("by construction")
    if row.apart is not None:
        words.append(f"(not counted: {row.apart})")
    if row.own:
        words.append("(our own claim)")
    return " ".join(words)


def null_text(row: Row) -> str:
    """Say what the verdict of a row that is met is with the mechanism switched off."""
    if row.discriminates is None:
        return "-"
    met, not_met = ("holds", "fails") if row.is_claim else ("agrees", "differs")
    return not_met if row.discriminates else f"{met} too"


def null_models(study: Study) -> str:
    """Say what the null models are, and what it means to agree with one."""
    pairs = ", ".join(f"{null} for {name}" for name, null in study.null.items())
    return (
        f"the verdict with the mechanism switched off ({pairs}); what agrees or holds there, too, "
        "does not discriminate"
    )


def conditions(outcome: Outcome) -> list[str]:
    """Say how what was run differs from what the study says, and what that means for verdicts."""
    rows = outcome.rows
    changed = dict.fromkeys(word for row in rows for word in row.changed)
    changed |= dict.fromkeys(word for row in outcome.beside for word in row["changed"])
    said = []
    if changed:
        said.append(
            f"Changed: {', '.join(changed)}. Claims and bands are for the study's own values: a "
            "model that was changed is not judged."
        )
    under: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for one in () if row.is_claim else row.skipped:
            said_so = (f"--set {one['key']}={one['value']}", one["reason"])
            under.setdefault(said_so, []).append(row.mechanism)
    for beside in outcome.beside:
        for one in beside["skipped"]:
            said_so = (f"--set {one['key']}={one['value']}", one["reason"])
            under.setdefault(said_so, []).append(beside["mechanism"])
    said += [
        f"Skipped: {setting} in {', '.join(dict.fromkeys(mechanisms))}, where {reason}."
        for (setting, reason), mechanisms in under.items()
    ]
    if any(row.other_seeds for row in rows):
        said.append(
            "Other seeds than the study's: claims and bands are for its own, and verdicts on these "
            "may differ."
        )
    return said


def compared(row: Row) -> str:
    """Say under which mechanism a number was taken, and against which it is a reduction."""
    return row.mechanism if row.against is None else f"{row.mechanism}, less than {row.against}"


def as_shown(measure: Measure, row: Row) -> Measure:
    """A reduction in % counts no things, whatever its measure counts."""
    return measure if row.against is None else replace(measure, counts=False, unit=row.unit)


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


def deviation_text(row: Row) -> str:
    """Say how far a measured number is off, in the terms of its band."""
    if row.band_kind != "absolute" or row.measured is None or row.published is None:
        return percent(row.deviation)
    return f"{row.measured - row.published:+.{2 if row.unit else 3}f}"


def band_text(row: Row) -> str:
    """Say how near a number must come to agree; of a changed model there is nothing to say."""
    if not row.judged or row.band is None:
        return "-"
    if isinstance(row.band, tuple):
        return " to ".join(f"{end:g}" for end in row.band)
    if row.band_kind == "relative":
        return f"±{percent(row.band, signed=False)}"
    return f"±{row.band:g}" if row.band_kind == "absolute" else f"{row.band:g}x"


def value_text(value: float | None, measure: Measure) -> str:
    """A value to the digits that matter: whole for counts, three after the point for ratios."""
    if value is None:
        return "-"
    if measure.counts:
        return figure(round(value, 1) if abs(value) < 1000 else round(value))
    return us(value) if measure.unit else f"{value:.3f}"
