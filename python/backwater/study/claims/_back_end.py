"""What the claims of the back-end studies, prefill and training, share; times in us."""

from __future__ import annotations

from backwater.stats import Spread
from backwater.study.claims.base import Finding, Numbers, percent, with_interval

PFC, SFC, DCQCN = "pfc", "pfc+sfc", "pfc+dcqcn"
BY_FLOW = "pfc+sfc, by flow"


def reduction(n: Numbers, case: str, quantity: str, mechanism: str) -> float:
    """Give by how much a mechanism shortens a time, a share of PFC's."""
    return 1 - n.value(case, mechanism, quantity) / n.value(case, PFC, quantity)


def shorter(n: Numbers, case: str, quantity: str, mechanism: str) -> Finding:
    """Whether a mechanism shortens a time, in the mean over seeds."""
    gain = reduction(n, case, quantity, mechanism)
    return Finding(
        holds=gain > 0,
        value=100 * gain,
        unit="%",
        detail=f"{percent(gain)} shorter than PFC's",
        cases=case,
        mechanism=mechanism,
    )


def by_flow(n: Numbers, case: str, quantity: str, mechanism: str) -> Finding:
    """Whether a mechanism shortens a time seed by seed, with the 95 % interval over them."""
    after, before = (n.samples(case, name, quantity) for name in (mechanism, PFC))
    gains = Spread.of([100 * (1 - a / b) for a, b in zip(after, before, strict=True)])
    least = gains.mean if gains.ci_low is None else gains.ci_low
    return Finding(
        holds=least > 0,
        value=gains.mean,
        unit="%",
        detail=f"{with_interval(gains, ' %')} shorter than PFC's, {gains.n} seeds",
        cases=case,
        mechanism=mechanism,
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


def spares_ports(n: Numbers, case: str) -> Finding:
    """Whether at most half as many ports are paused under SFC as under PFC alone."""
    sfc, pfc = (n.value(case, name, "ports_paused") for name in (SFC, PFC))
    return Finding(
        holds=sfc <= 0.5 * pfc and pfc > 0,
        value=sfc,
        unit="ports",
        detail=f"{sfc:.0f} ports paused, {pfc:.0f} under PFC alone",
        cases=case,
        mechanism=SFC,
    )
