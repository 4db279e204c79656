"""Sign maps: which cells are paired, and on which choices a sign depends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from backwater.numbers.repeats import Spread
from backwater.study.claims._sign_map import Cell, hangs_claims
from backwater.study.claims.base import Claims, NotMeasuredError, Numbers

AXES = {"end": ("early", "late", "last"), "marks": ("all", "none")}


def claims(gains: dict[tuple[str, str], list[float]]) -> Claims:
    """Return the claims of a map whose cells have these gains; others were not measured."""
    made = Claims()

    def cell(_: Numbers, values: Sequence[str]) -> Cell:
        end, marks = values
        if (end, marks) not in gains:
            raise NotMeasuredError(f"{end}, {marks}: not run to its end")
        return Cell(f"{end} {marks}", Spread.of(gains[end, marks]))

    hangs_claims(made, AXES, cell, "isolation")
    return made


GAINS = {
    ("early", "all"): [10.0, 11.0, 12.0],
    ("late", "all"): [-1.0, 0.0, 1.0],
    ("last", "all"): [-12.0, -11.0, -10.0],
    ("early", "none"): [1.0, 2.0, 3.0],
    ("late", "none"): [-1.0, 0.0, 1.0],
    ("last", "none"): [-1.0, 0.0, 1.0],
}
NOTHING = cast("Numbers", None)
"""The cells of these maps read no numbers."""


def test_a_sign_depends_on_an_axis_by_pairs_that_differ_in_it_alone() -> None:
    made = claims(GAINS)
    # Three pairs of ends for each of two marks; of three seeds 2 +- 1 has 0 in its interval.
    end = made["hangs-end"](NOTHING)
    assert (end.holds, end.value, end.unit, end.seeds) == (True, 1, "of 6 pairs", 3)
    assert "in early all and -11.0 % (-13.5 to -8.5) in last all" in end.detail
    # The one cell above 0 and the one below it do not differ in marks alone.
    marks = made["hangs-marks"](NOTHING)
    assert (marks.holds, marks.unit) == (False, "of 3 pairs")
    assert marks.detail == "0 of 3 pairs have opposite signs"


def test_a_cell_without_a_value_is_left_out_and_counted() -> None:
    there = {place: gain for place, gain in GAINS.items() if place != ("last", "all")}
    end = claims(there)["hangs-end"](NOTHING)
    assert end.detail == ("0 of 4 pairs have opposite signs; 2 pairs left out: a cell has no value")
    with pytest.raises(NotMeasuredError, match="no pair of cells that differ in end"):
        claims({})["hangs-end"](NOTHING)
