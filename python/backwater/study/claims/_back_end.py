"""What the claims of the back-end studies, prefill and training, share; times in us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.claims.base import Finding, NotKnownError, Numbers, percent

if TYPE_CHECKING:
    from collections.abc import Iterable

PFC, SFC, DCQCN = "pfc", "pfc+sfc", "pfc+dcqcn"


def reduction(n: Numbers, case: str, quantity: str, setup: str = "") -> float:
    """Give by how much SFC shortens a time, a share of PFC's."""
    return 1 - n.value(case, SFC, quantity, setup) / n.value(case, PFC, quantity, setup)


def shortened(
    n: Numbers, quantity: str, readings: Iterable[tuple[str, str, str]], cases: str
) -> Finding:
    """Whether SFC shortens a time in at least one reading: its name, its case, its setup."""
    found: dict[str, float] = {}
    for name, case, setup in readings:
        try:
            found[name] = reduction(n, case, quantity, setup)
        except NotKnownError:
            continue
    if not found:
        raise NotKnownError(cases.partition(",")[0], SFC, quantity)
    best = max(found.values())
    return Finding(
        holds=best > 0,
        value=100 * best,
        unit="%",
        detail="shorter by: "
        + "; ".join(f"{name} {percent(gain)}" for name, gain in found.items()),
        cases=cases,
        mechanism=SFC,
    )


def before_dcqcn(n: Numbers, case: str, quantity: str) -> Finding:
    """Whether a time under SFC is shorter than DCQCN's."""
    ratio = n.value(case, SFC, quantity) / n.value(case, DCQCN, quantity)
    return Finding(
        holds=ratio < 1,
        value=ratio,
        unit="ratio",
        detail=f"{percent(ratio)} of DCQCN's",
        cases=case,
        mechanism=SFC,
    )
