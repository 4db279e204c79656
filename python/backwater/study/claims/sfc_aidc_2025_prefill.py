"""The claims of the study sfc-aidc-2025-prefill; times in us."""

from __future__ import annotations

from backwater.study.claims._back_end import SFC, before_dcqcn, reduction, shortened
from backwater.study.claims.base import Claims, Finding, Numbers

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


@CLAIMS.claim("sfc-shortens")
def sfc_shortens(n: Numbers) -> Finding:
    """In at least one reading the last completion under SFC comes before PFC's."""
    readings = (
        (f"{case}, {setup or 'the table'}", case, setup) for case in CASES for setup in READINGS
    )
    return shortened(n, "last", readings, ",".join(CASES))


@CLAIMS.claim("saving")
def saving(n: Numbers) -> Finding:
    """What the document's arithmetic makes of the reduction in the part of the network."""
    saved = SHARE * reduction(n, PART, "last")
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
    return before_dcqcn(n, PART, "last")
