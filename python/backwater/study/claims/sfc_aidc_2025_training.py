"""The claims of the study sfc-aidc-2025-training; times in us."""

from __future__ import annotations

from backwater.study.claims.base import Claims, Finding, NotKnownError, Numbers, percent

PFC, SFC, DCQCN = "pfc", "pfc+sfc", "pfc+dcqcn"
CASE = "pipeline"
READINGS = ("", "random-placement", "spray", "rails")
"""The table's own, and setups beside it that run both mechanisms."""

CLAIMS = Claims()


@CLAIMS.claim("sfc-shortens")
def sfc_shortens(n: Numbers) -> Finding:
    """In at least one reading the pipeline is over earlier under SFC than under PFC."""
    gains: dict[str, float] = {}
    for setup in READINGS:
        try:
            pfc, sfc = (n.value(CASE, mechanism, "makespan", setup) for mechanism in (PFC, SFC))
        except NotKnownError:
            continue
        gains[setup or "the table"] = 1 - sfc / pfc
    if not gains:
        raise NotKnownError(CASE, SFC, "makespan")
    best = max(gains.values())
    return Finding(
        holds=best > 0,
        value=100 * best,
        unit="%",
        detail="shorter by: " + "; ".join(f"{name} {percent(g)}" for name, g in gains.items()),
        cases=CASE,
        mechanism=SFC,
    )


@CLAIMS.claim("sfc-beats-dcqcn")
def sfc_beats_dcqcn(n: Numbers) -> Finding:
    """The pipeline is over earlier under SFC than under DCQCN."""
    ratio = n.value(CASE, SFC, "makespan") / n.value(CASE, DCQCN, "makespan")
    return Finding(
        holds=ratio < 1,
        value=ratio,
        unit="ratio",
        detail=f"{percent(ratio)} of DCQCN's",
        cases=CASE,
        mechanism=SFC,
    )
