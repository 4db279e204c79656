"""The claims of the study sfc-aidc-2025-prefill; times in us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.claims._back_end import SFC, back_end_claims, saved
from backwater.study.claims.base import Finding

if TYPE_CHECKING:
    from backwater.study.claims.base import Numbers

# The document's own reading: all 2048 GPUs, and a source pauses its class.
CASE = "random"
# Queues fill in the same share of a round as at the published size.
PART = "part"
GPUS = 2048
# "Prefill : decode = 1 : 1, communication : computation = 1 : 3": a quarter of a half.
SHARE = 1 / 2 * 1 / 4
SAVED = 0.89e-2
# "Global electricity generation to supply DCs is 460 TWh in 2024", "0.2 $/kWh".
TWH, USD_PER_KWH = 460, 0.2

CLAIMS = back_end_claims(CASE, "last", seeded=PART)


@CLAIMS.claim("saving")
def saving(n: Numbers) -> Finding:
    """The document's arithmetic, on our reduction, comes near its printed saving."""
    share = SHARE * saved(n, CASE, "last")
    twh = TWH * share
    return Finding(
        holds=abs(share - SAVED) <= 0.5e-2,
        value=100 * share,
        unit="%",
        detail=(
            f"{100 * share:.2f} % of {GPUS} GPUs are {GPUS * share:.1f}, of {TWH} TWh "
            f"{twh:.2f} TWh, {1000 * twh * USD_PER_KWH:.0f} M USD"
        ),
        cases=CASE,
        mechanism=SFC,
    )
