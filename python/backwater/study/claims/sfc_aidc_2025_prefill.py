"""The claims of the study sfc-aidc-2025-prefill; times in us."""

from __future__ import annotations

from backwater.study.claims._back_end import (
    BY_FLOW,
    SFC,
    before_dcqcn,
    by_flow,
    reduction,
    shorter,
    spares_ports,
)
from backwater.study.claims.base import Claims, Finding, Numbers

# The document's own reading: all 2048 GPUs, a source stops its class.
CASE = "random"
# Where queues fill in the same share of a round as at the published size.
PART = "part"
GPUS = 2048
# "Prefill : decode = 1 : 1, communication : computation = 1 : 3": a quarter of a half.
SHARE = 1 / 2 * 1 / 4
SAVED = 0.89e-2
# "Global electricity generation to supply DCs is 460 TWh in 2024", "0.2 $/kWh".
TWH, USD_PER_KWH = 460, 0.2

CLAIMS = Claims()


@CLAIMS.claim("sfc-shortens")
def sfc_shortens(n: Numbers) -> Finding:
    """By class the last completion under SFC comes before PFC's."""
    return shorter(n, CASE, "last", SFC)


@CLAIMS.claim("saving")
def saving(n: Numbers) -> Finding:
    """What the document's arithmetic makes of the reduction is near what it prints."""
    saved = SHARE * reduction(n, CASE, "last", SFC)
    twh = TWH * saved
    return Finding(
        holds=abs(saved - SAVED) <= 0.5e-2,
        value=100 * saved,
        unit="%",
        detail=(
            f"{100 * saved:.2f} % of {GPUS} GPUs are {GPUS * saved:.1f}, of {TWH} TWh "
            f"{twh:.2f} TWh, {1000 * twh * USD_PER_KWH:.0f} M USD"
        ),
        cases=CASE,
        mechanism=SFC,
    )


@CLAIMS.claim("sfc-beats-dcqcn")
def sfc_beats_dcqcn(n: Numbers) -> Finding:
    """By class the last completion under SFC comes before DCQCN's."""
    return before_dcqcn(n, CASE, "last")


@CLAIMS.claim("by-flow")
def by_flow_in_part(n: Numbers) -> Finding:
    """By flow the last completion is shorter in the part of the network, over its seeds."""
    return by_flow(n, PART, "last", BY_FLOW)


@CLAIMS.claim("spares-ports")
def sfc_spares_ports(n: Numbers) -> Finding:
    """By class at most half as many ports are paused as under PFC alone."""
    return spares_ports(n, CASE)
