"""The data of a study's charts: its measured points and the published numbers."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.errors import InputError
from backwater.numbers.repeats import Spread
from backwater.study.key import TABLE, Key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.study import Outcome
    from backwater.study.definition import Measure
    from backwater.study.execute import Sample


class StudyPoints:
    """A study's points as rows, one per case, mechanism (or setup) and measure."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._study = outcome.study
        self._mechanisms = list(self._study.mechanisms)

    def _sample(self, case: str, mechanism: str, measure: str, setup: str = TABLE) -> Sample | None:
        """Return a point's values over its seeds; None if it was not run or has none."""
        point = self._outcome.points.get(Key(case, mechanism, setup))
        sample = None if point is None else point.get(measure)
        return sample if sample is not None and sample.values else None

    def _rows(
        self,
        measures: Sequence[str] | None,
        cases: Sequence[str] | None,
        mechanisms: Sequence[str] | None,
    ) -> pl.DataFrame:
        chosen = [
            self._study.measure(name) for name in measures or [m.name for m in self._study.measures]
        ]
        rows = []
        for case, mechanism, measure in itertools.product(
            cases or [c.id for c in self._study.cases], mechanisms or self._mechanisms, chosen
        ):
            sample = self._sample(case, mechanism, measure.name)
            if sample is not None:
                published = self._study.published(case, mechanism, measure.name)
                row = {"case": case, "mechanism": mechanism, "published": published}
                rows.append(row | point(_axis(measure), sample.values))
        return frame_of(rows)

    def _setups(
        self,
        beside: str,
        measures: Sequence[str] | None,
        cases: Sequence[str] | None,
        mechanisms: Sequence[str] | None,
    ) -> tuple[pl.DataFrame, list[str]]:
        """Return points of the setups of block `beside`, with the table's own, and setup names."""
        blocks = {block.id: block for block in self._study.beside}
        if beside not in blocks:
            raise InputError(
                f"the study has no block {beside!r} beside its table", f"it has {', '.join(blocks)}"
            )
        block = blocks[beside]
        chosen = [one for one in block.mechanisms if mechanisms is None or one in mechanisms]
        several = len(chosen) > 1
        rows, order = [], []
        for mechanism in chosen:
            for setup, label in (
                (TABLE, block.own or mechanism),
                *((s.id, s.label) for s in block.setups),
            ):
                name = f"{mechanism}, {label}" if several and label != mechanism else label
                order.append(name)
                for case, measure in itertools.product(
                    cases or block.cases, measures or block.shows
                ):
                    sample = self._sample(case, mechanism, measure, setup)
                    if sample is not None:
                        measured = point(_axis(self._study.measure(measure)), sample.values)
                        row = {"case": case, "setup": name, **measured, "published": None}
                        about = {"of": mechanism, "own": block.own or mechanism}
                        rows.append(row | ({"mechanism": mechanism} if several else about))
        # In the order of cases, as in the other charts.
        rows.sort(key=lambda row: [case.id for case in self._study.cases].index(row["case"]))
        return frame_of(rows), order

    def _reduction(self, case: str, mechanism: str, name: str, base: str) -> float | None:
        """Return the published improvement: a number of its own, or computed from two times."""
        for number in self._study.numbers:
            here = (number.case, number.mechanism, number.quantity, number.against)
            if here == (case, mechanism, name, base):
                return number.value / 100
        ours, theirs = (self._study.published(case, one, name) for one in (mechanism, base))
        return None if ours is None or not theirs else 1 - ours / theirs

    def _published(self, case: str, mechanism: str, measure: str) -> dict[str, float]:
        """Return published statistics of a point; of several, those over the most seeds."""
        wanted = (case, mechanism, measure)
        found = [n for n in self._study.numbers if (n.case, n.mechanism, n.quantity) == wanted]
        found.sort(key=lambda n: math.inf if n.first is None else n.first)
        return {n.over: n.value for n in found}

    def _notes(self, rows: pl.DataFrame) -> list[str]:
        """Return the notes that explain a chart's marks and name the number of seeds."""
        notes = [self._seeds(rows["seeds"].to_list())]
        if rows["published"].is_not_null().any():
            notes.append("hollow diamonds: published")
        return ["; ".join(notes)]

    def _seeds(self, counts: list[int]) -> str:
        least, most = min(counts), max(counts)
        if most == 1:
            return "measured: one seed"
        between = f"{least} seeds" if least == most else f"{least} to {most} seeds"
        return f"measured: mean over {between}; whiskers: its 95 % confidence interval"


def _axis(measure: Measure) -> str:
    unit = measure.unit
    return f"{measure.label} ({unit})" if unit and unit != measure.label else measure.label


def point(what: str, values: Sequence[float]) -> dict[str, Any]:
    """Return the columns of one measured point; `what` is the title of its axis."""
    spread = Spread.of(values)
    return {
        "what": what,
        "value": spread.mean,
        "low": spread.ci_low,
        "high": spread.ci_high,
        "seeds": spread.n,
    }


def frame_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Make a table of rows; columns of numbers have that type even if all values are missing."""
    floats = ("value", "low", "high", "published")
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col(name).cast(pl.Float64) for name in floats if rows
    )
