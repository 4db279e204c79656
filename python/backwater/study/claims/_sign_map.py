"""Sign maps: on which choices of a reading the sign of a gain depends."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backwater.study.claims.base import (
    Claims,
    Finding,
    NotMeasuredError,
    Numbers,
    with_interval,
)
from backwater.wording import many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from backwater.numbers.repeats import Spread


@dataclass(frozen=True)
class Cell:
    """One cell of a sign map."""

    name: str
    gain: Spread
    """The gain with each seed, in %."""


def hangs_claims(
    claims: Claims,
    axes: Mapping[str, Sequence[str]],
    cell: Callable[[Numbers, Sequence[str]], Cell],
    mechanism: str,
    apart: Sequence[str] = (),
) -> None:
    """Add a claim `hangs-AXIS` for each axis of a grid, except those that are set `apart`.

    `cell` returns the cell at one value of each axis; `mechanism` is the claims' own. The sign
    depends on an axis if two cells that differ in this axis alone have opposite signs: the 95 %
    interval of the gain lies above zero in one, and below zero in the other. Intervals are not
    corrected for the number of cells. A cell without a value is left out.
    """
    for at, (axis, values) in enumerate(axes.items()):
        if axis not in apart:
            others = [given if place != at else [""] for place, given in enumerate(axes.values())]
            pairs = [
                tuple((*rest[:at], value, *rest[at + 1 :]) for value in two)
                for rest in itertools.product(*others)
                for two in itertools.combinations(values, 2)
            ]
            _add(claims, axis, pairs, cell, mechanism)


def _add(
    claims: Claims,
    axis: str,
    pairs: Sequence[Sequence[tuple[str, ...]]],
    cell: Callable[[Numbers, Sequence[str]], Cell],
    mechanism: str,
) -> None:
    @claims.claim(f"hangs-{axis}")
    def hangs(n: Numbers) -> Finding:
        """In one cell the gain is above 0, and below 0 in one that differs in this axis alone."""
        known: dict[tuple[str, ...], Cell] = {}
        for values in {one: None for pair in pairs for one in pair}:
            with contextlib.suppress(NotMeasuredError):
                known[values] = cell(n, values)
        found = [[known[one] for one in pair] for pair in pairs if all(o in known for o in pair)]
        if not found:
            raise NotMeasuredError(f"no pair of cells that differ in {axis} has values")
        opposite = [
            pair
            for pair in found
            if max(one.gain.low for one in pair) > 0 > min(one.gain.high for one in pair)
        ]
        texts = [
            " and ".join(f"{with_interval(one.gain, ' %')} in {one.name}" for one in pair)
            for pair in opposite
        ]
        count = f"{len(opposite)} of {len(found)} pairs have opposite signs"
        if len(found) < len(pairs):
            texts.append(f"{many(len(pairs) - len(found), 'pair')} left out: a cell has no value")
        return Finding(
            holds=bool(opposite),
            value=len(opposite),
            unit=f"of {len(found)} pairs",
            detail="; ".join((count, *texts)),
            cases="map",
            mechanism=mechanism,
            seeds=min(one.gain.n for pair in found for one in pair),
        )
