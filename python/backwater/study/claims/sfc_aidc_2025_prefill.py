"""The claims of the study sfc-aidc-2025-prefill; times in us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.claims._back_end import BY_FLOW, SFC, back_end_claims, hangs_on, saved
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

# The sign map: what is added to the name of the part for another value of each choice.
PLACES = ("", "-consecutive")
SPINES = ("", "-spray")
POINTS = ("", "-all-queues")
MEANS = (SFC, BY_FLOW)


def reading(n: Numbers) -> str:
    """Return the case of the document's own reading: its size, or the part where that was not run.

    Raises `NotKnownError` if neither was run.
    """
    try:
        n.value(WHOLE, SFC, "last")
    except NotKnownError:
        return PART
    return WHOLE


CLAIMS = back_end_claims(reading, "last", seeded=PART)


def cell(place: str, spines: str, points: str) -> str:
    """Return the case of a cell of the sign map."""
    return PART + place + spines + points


hangs_on(
    CLAIMS,
    "points",
    "last",
    [
        ((cell(place, spines, POINTS[0]), means), (cell(place, spines, POINTS[1]), means))
        for place in PLACES
        for spines in SPINES
        for means in MEANS
    ],
)
hangs_on(
    CLAIMS,
    "granularity",
    "last",
    [
        ((cell(place, spines, points), SFC), (cell(place, spines, points), BY_FLOW))
        for place in PLACES
        for spines in SPINES
        for points in POINTS
    ],
)
hangs_on(
    CLAIMS,
    "placement",
    "last",
    [
        ((cell(PLACES[0], spines, points), means), (cell(PLACES[1], spines, points), means))
        for spines in SPINES
        for points in POINTS
        for means in MEANS
    ],
)
hangs_on(
    CLAIMS,
    "spines",
    "last",
    [
        ((cell(place, SPINES[0], points), means), (cell(place, SPINES[1], points), means))
        for place in PLACES
        for points in POINTS
        for means in MEANS
    ],
)


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
