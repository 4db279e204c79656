"""Claims that the back-end studies, prefill and training, share; times in us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.claims._sign_map import Cell, hangs_claims
from backwater.study.claims.base import Claims, Finding, Numbers, reduction, with_interval
from backwater.wording import share_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    choices: Mapping[str, tuple[str, ...]],
    case: Callable[[Sequence[str]], str],
) -> None:
    """Add the claims of a sign map of SFC's gain over PFC; `case` names the case of a cell.

    The last axis is what a source stops, its class or the flow.
    """

    def cell(n: Numbers, values: Sequence[str]) -> Cell:
        here = case(values[:-1])
        spread = reduction(n, here, quantity, values[-1], PFC)
        return Cell(f"{here}, {values[-1]}", spread)

    hangs_claims(claims, {**choices, "granularity": (SFC, BY_FLOW)}, cell, SFC)
