"""The claims of the study sfc-aidc-2025-prefill; times in us."""

from __future__ import annotations

from backwater.study.claims.base import Claims, Finding, NotKnownError, Numbers, percent

PFC, SFC, DCQCN = "pfc", "pfc+sfc", "pfc+dcqcn"
CASES = ("random", "balanced", "part", "part-balanced")
READINGS = ("", "consecutive", "rails", "spray", "spines-8", "voq", "input-queued")
"""The table's own, and setups beside it that run both mechanisms."""

# Where queues fill in the same share of a round as at the published size.
PART = "part"
GPUS = 2048
# "Prefill : decode = 1 : 1, communication : computation = 1 : 3": a quarter of a half.
SHARE = 1 / 2 * 1 / 4
# "Global electricity generation to supply DCs is 460 TWh in 2024", "0.2 $/kWh".
TWH, USD_PER_KWH = 460, 0.2

CLAIMS = Claims()


def _reduction(n: Numbers, case: str, setup: str = "") -> float:
    """Give by how much SFC shortens the last completion, a share of PFC's."""
    return 1 - n.value(case, SFC, "last", setup) / n.value(case, PFC, "last", setup)


@CLAIMS.claim("sfc-shortens")
def sfc_shortens(n: Numbers) -> Finding:
    """In at least one reading the last completion under SFC comes before PFC's."""
    found: dict[str, float] = {}
    for case in CASES:
        for setup in READINGS:
            try:
                found[f"{case}, {setup or 'the table'}"] = _reduction(n, case, setup)
            except NotKnownError:
                continue
    if not found:
        raise NotKnownError("random", SFC, "last")
    best = max(found.values())
    words = "; ".join(f"{reading} {percent(gain)}" for reading, gain in found.items())
    return Finding(
        holds=best > 0,
        value=100 * best,
        unit="%",
        detail=f"shorter by: {words}",
        cases=",".join(CASES),
        mechanism=SFC,
    )


@CLAIMS.claim("saving")
def saving(n: Numbers) -> Finding:
    """What the document's arithmetic makes of the reduction in the part of the network."""
    saved = SHARE * _reduction(n, PART)
    twh = TWH * saved
    return Finding(
        holds=saved > 0,
        value=100 * saved,
        unit="%",
        detail=(
            f"{100 * saved:.2f} % of {GPUS} GPUs are {GPUS * saved:.1f}, of {TWH} TWh "
            f"{twh:.2f} TWh, {1000 * twh * USD_PER_KWH:.0f} M USD"
        ),
        cases=PART,
        mechanism=SFC,
    )


@CLAIMS.claim("sfc-beats-dcqcn")
def sfc_beats_dcqcn(n: Numbers) -> Finding:
    """In the part of the network the last completion under SFC comes before DCQCN's."""
    ratio = n.value(PART, SFC, "last") / n.value(PART, DCQCN, "last")
    return Finding(
        holds=ratio < 1,
        value=ratio,
        unit="ratio",
        detail=f"{percent(ratio)} of DCQCN's",
        cases=PART,
        mechanism=SFC,
    )
