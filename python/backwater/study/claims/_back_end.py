"""Claims that the back-end studies, prefill and training, share; times in us."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from backwater.study.claims.base import Claims, Finding, Numbers, reduction, with_interval
from backwater.wording import share_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from backwater.study.claims.base import Place

PFC, SFC, DCQCN = "pfc", "pfc+sfc", "pfc+dcqcn"
BY_FLOW = "pfc+sfc, by flow"


def saved(n: Numbers, case: str, quantity: str) -> float:
    """Return by how much SFC shortens a mean time, as a share of PFC's."""
    return 1 - n.value(case, SFC, quantity) / n.value(case, PFC, quantity)


def back_end_claims(of: Callable[[Numbers], str], quantity: str, seeded: str) -> Claims:
    """Return the claims of both studies about the time `quantity`.

    `of` returns the case of the document's own reading among those that were run; `seeded` is a
    case with enough seeds for an interval.
    """
    claims = Claims()

    @claims.claim("sfc-shortens")
    def sfc_shortens(n: Numbers) -> Finding:
        """Pausing by class, the mean time over seeds is shorter under SFC than under PFC."""
        case = of(n)
        gain = saved(n, case, quantity)
        return Finding(
            holds=gain > 0,
            value=100 * gain,
            unit="%",
            detail=f"{share_text(gain)} shorter than PFC's",
            cases=case,
            mechanism=SFC,
        )

    @claims.claim("sfc-beats-dcqcn")
    def sfc_beats_dcqcn(n: Numbers) -> Finding:
        """Pausing by class, the time is shorter under SFC than under DCQCN."""
        case = of(n)
        ratio = n.value(case, SFC, quantity) / n.value(case, DCQCN, quantity)
        return Finding(
            holds=ratio < 1,
            value=ratio,
            unit="ratio",
            detail=f"{share_text(ratio)} of DCQCN's",
            cases=case,
            mechanism=SFC,
        )

    @claims.claim("by-flow")
    def by_flow(n: Numbers) -> Finding:
        """Pausing by flow, the time is shorter than under PFC, by the 95 % interval over seeds."""
        gains = reduction(n, seeded, quantity, BY_FLOW, PFC)
        return Finding(
            holds=gains.low > 0,
            value=gains.mean,
            unit="%",
            detail=f"{with_interval(gains, ' %')} shorter than PFC's, {gains.n} seeds",
            cases=seeded,
            mechanism=BY_FLOW,
            seeds=gains.n,
        )

    @claims.claim("spares-ports")
    def spares_ports(n: Numbers) -> Finding:
        """Pausing by class, SFC leaves at most half as many ports paused as PFC alone."""
        case = of(n)
        sfc, pfc = (n.value(case, name, "ports_paused") for name in (SFC, PFC))
        return Finding(
            holds=sfc <= 0.5 * pfc and pfc > 0,
            value=sfc,
            unit="ports",
            detail=f"{sfc:.0f} ports paused, {pfc:.0f} under PFC alone",
            cases=case,
            mechanism=SFC,
        )

    return claims


def sign_map(
    claims: Claims,
    quantity: str,
    choices: Mapping[str, tuple[str, str]],
    case: Callable[[Sequence[str]], str],
) -> None:
    """Add a claim `hangs-CHOICE` for each choice of a reading, and for what a source stops.

    A choice has two values, of which the first is the reading's. `case` returns the case of a cell
    by one value of each choice.
    """
    axes = {**choices, "granularity": (SFC, BY_FLOW)}

    def place(cell: Sequence[str]) -> Place:
        return case(cell[:-1]), cell[-1]

    for at, (choice, (first, second)) in enumerate(axes.items()):
        cells = [cell for cell in itertools.product(*axes.values()) if cell[at] == first]
        pairs = [(place(cell), place((*cell[:at], second, *cell[at + 1 :]))) for cell in cells]
        _hangs_on(claims, choice, quantity, pairs)


def _hangs_on(
    claims: Claims, choice: str, quantity: str, pairs: Sequence[tuple[Place, Place]]
) -> None:
    """Add the claim `hangs-CHOICE`: the sign of SFC's gain differs with a choice of the reading.

    Each pair has two cells of the sign map that differ in this choice alone. The sign hangs on it
    if the 95 % interval of the reduction against PFC lies above zero in one cell of a pair, and
    below zero in the other.
    """

    @claims.claim(f"hangs-{choice}")
    def hangs(n: Numbers) -> Finding:
        """In one cell SFC shortens the time, and in one that differs in this choice lengthens."""
        found = [
            [reduction(n, case, quantity, mechanism, PFC) for case, mechanism in pair]
            for pair in pairs
        ]
        opposite = [
            (pair, ends)
            for pair, ends in zip(pairs, found, strict=True)
            if max(one.low for one in ends) > 0 > min(one.high for one in ends)
        ]
        told = [
            " and ".join(
                f"{with_interval(one, ' %')} in {case}, {mechanism}"
                for one, (case, mechanism) in zip(ends, pair, strict=True)
            )
            for pair, ends in opposite
        ]
        return Finding(
            holds=bool(opposite),
            value=len(opposite),
            unit=f"of {len(pairs)} pairs",
            detail="; ".join((f"{len(opposite)} of {len(pairs)} pairs have opposite signs", *told)),
            cases="map",
            mechanism=SFC,
            seeds=min(one.n for pair in found for one in pair),
        )
