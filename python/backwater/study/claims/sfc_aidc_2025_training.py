"""The claims of the study sfc-aidc-2025-training; times in us."""

from __future__ import annotations

from backwater.study.claims._back_end import (
    BY_FLOW,
    SFC,
    before_dcqcn,
    by_flow,
    shorter,
    spares_ports,
)
from backwater.study.claims.base import Claims, Finding, Numbers

CASE = "pipeline"

CLAIMS = Claims()


@CLAIMS.claim("sfc-shortens")
def sfc_shortens(n: Numbers) -> Finding:
    """By class the pipeline is over earlier under SFC than under PFC."""
    return shorter(n, CASE, "makespan", SFC)


@CLAIMS.claim("sfc-beats-dcqcn")
def sfc_beats_dcqcn(n: Numbers) -> Finding:
    """By class the pipeline is over earlier under SFC than under DCQCN."""
    return before_dcqcn(n, CASE, "makespan")


@CLAIMS.claim("by-flow")
def by_flow_in_pipeline(n: Numbers) -> Finding:
    """By flow the pipeline is over earlier than under PFC, over its seeds."""
    return by_flow(n, CASE, "makespan", BY_FLOW)


@CLAIMS.claim("spares-ports")
def sfc_spares_ports(n: Numbers) -> Finding:
    """By class at most half as many ports are paused as under PFC alone."""
    return spares_ports(n, CASE)
