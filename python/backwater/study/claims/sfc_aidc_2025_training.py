"""The claims of the study sfc-aidc-2025-training; times in us."""

from __future__ import annotations

from backwater.study.claims._back_end import before_dcqcn, shortened
from backwater.study.claims.base import Claims, Finding, Numbers

CASE = "pipeline"
READINGS = ("", "random-placement", "spray", "rails")
"""The table's own, and setups beside it that run both mechanisms."""

CLAIMS = Claims()


@CLAIMS.claim("sfc-shortens")
def sfc_shortens(n: Numbers) -> Finding:
    """In at least one reading the pipeline is over earlier under SFC than under PFC."""
    readings = ((setup or "the table", CASE, setup) for setup in READINGS)
    return shortened(n, "makespan", readings, CASE)


@CLAIMS.claim("sfc-beats-dcqcn")
def sfc_beats_dcqcn(n: Numbers) -> Finding:
    """The pipeline is over earlier under SFC than under DCQCN."""
    return before_dcqcn(n, CASE, "makespan")
