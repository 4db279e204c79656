"""The claims of the study sfc-aidc-2025-prefill; times in us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.claims._back_end import SFC, back_end_claims, saved, sign_map
from backwater.study.claims.base import Finding, NotKnownError

if TYPE_CHECKING:
    from backwater.study.claims.base import Numbers

# The published size: all 2048 GPUs, which runs with --full alone.
WHOLE = "random"
# 256 of the GPUs with the published data, memory and pause.
PART = "part"
GPUS = 2048
# "Prefill : decode = 1 : 1, communication : computation = 1 : 3": a quarter of a half.
SHARE = 1 / 2 * 1 / 4
SAVED = 0.89e-2
# "Global electricity generation to supply DCs is 460 TWh in 2024", "0.2 $/kWh".
TWH, USD_PER_KWH = 460, 0.2


def reading(n: Numbers) -> str:
    """Return the case of the document's own reading: its size, or the part if that did not run."""
    try:
        n.value(WHOLE, SFC, "last")
    except NotKnownError:
        return PART
    return WHOLE


CLAIMS = back_end_claims(reading, "last", seeded=PART)


# What a value adds to the name of the part.
CHOICES = {
    "placement": ("", "-consecutive"),
    "spines": ("", "-spray"),
    "points": ("", "-all-queues"),
}
sign_map(CLAIMS, "last", CHOICES, lambda values: PART + "".join(values))


@CLAIMS.claim("saving")
def saving(n: Numbers) -> Finding:
    """The document's arithmetic, on our reduction, comes near its printed saving."""
    case = reading(n)
    share = SHARE * saved(n, case, "last")
    twh = TWH * share
    return Finding(
        holds=abs(share - SAVED) <= 0.5e-2,
        value=100 * share,
        unit="%",
        detail=(
            f"{100 * share:.2f} % of {GPUS} GPUs are {GPUS * share:.1f}, of {TWH} TWh "
            f"{twh:.2f} TWh, {1000 * twh * USD_PER_KWH:.0f} M USD"
        ),
        cases=case,
        mechanism=SFC,
    )
