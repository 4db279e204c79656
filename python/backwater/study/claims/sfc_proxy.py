"""The claims of the study sfc-proxy, each for each bucket of messages; times in us.

Mechanisms of one seed meet the same background, so ratios are taken seed by seed: their interval
is narrower than those of the two means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.stats import Spread
from backwater.study.claims.base import Claims, Finding, Numbers, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BUCKETS = ("small", "medium", "large")
MODELS = ("model-0", "model-1", "model-2", "model-3")
APART, MIXED = MODELS[0], MODELS[-1]
DCQCN, PROXY, NATIVE, ISOLATION = "dcqcn", "proxy", "native", "isolation"

CLAIMS = Claims()

Point = tuple[str, str]
"""A case and a mechanism."""


def _for_each_bucket(name: str) -> Callable[[Callable[[Numbers, str], Finding]], None]:
    """Register a predicate of a bucket's means as three claims."""

    def register(predicate: Callable[[Numbers, str], Finding]) -> None:
        for bucket in BUCKETS:

            def of_bucket(n: Numbers, mean: str = f"{bucket}_mean") -> Finding:
                return predicate(n, mean)

            CLAIMS.claim(f"{name}-{bucket}")(of_bucket)

    return register


def _ratio(n: Numbers, mean: str, over: Point, under: Point) -> tuple[float, str]:
    """Give the ratio of two means, and in words with its 95 % interval."""
    first, second = (n.samples(*point, mean) for point in (over, under))
    ratio = n.value(*over, mean) / n.value(*under, mean)
    spread = Spread.of([a / b for a, b in zip(first, second, strict=True)])
    words = f"{n.value(*over, mean):.1f} us, {percent(ratio)} of {n.value(*under, mean):.1f} us"
    if spread.ci_low is not None and spread.ci_high is not None:
        words += f" (95 %: {percent(spread.ci_low)} to {percent(spread.ci_high)})"
    return ratio, words


def _finding(
    holds: bool, value: float, words: str, cases: Sequence[str], mechanism: str
) -> Finding:
    return Finding(holds, value, "ratio", words, ",".join(cases), mechanism)


@_for_each_bucket("sim1")
def sim1(n: Numbers, mean: str) -> Finding:
    """With hosts kept apart the proxy's mean is below DCQCN's."""
    ratio, words = _ratio(n, mean, (APART, PROXY), (APART, DCQCN))
    return _finding(ratio < 1, ratio, f"proxy {words} of DCQCN", [APART], PROXY)


@_for_each_bucket("sim2")
def sim2(n: Numbers, mean: str) -> Finding:
    """On the same hosts the proxy's mean is above DCQCN's."""
    ratio, words = _ratio(n, mean, (MIXED, PROXY), (MIXED, DCQCN))
    return _finding(ratio > 1, ratio, f"proxy {words} of DCQCN", [MIXED], PROXY)


@_for_each_bucket("sim3-degrades")
def sim3_degrades(n: Numbers, mean: str) -> Finding:
    """From model 0 to 3 the proxy's mean grows by more than DCQCN's."""
    proxy, grown = _ratio(n, mean, (MIXED, PROXY), (APART, PROXY))
    dcqcn, other = _ratio(n, mean, (MIXED, DCQCN), (APART, DCQCN))
    words = f"model 3 to model 0: proxy {grown}; DCQCN {other}"
    return _finding(proxy > dcqcn, proxy / dcqcn, words, [APART, MIXED], PROXY)


@_for_each_bucket("rerun1")
def rerun1(n: Numbers, mean: str) -> Finding:
    """With hosts kept apart isolation's mean lies within 10 % of the proxy's."""
    ratio, words = _ratio(n, mean, (APART, ISOLATION), (APART, PROXY))
    words = f"isolation {words} of the proxy"
    return _finding(abs(ratio - 1) <= 0.1, ratio, words, [APART], ISOLATION)


@_for_each_bucket("rerun2")
def rerun2(n: Numbers, mean: str) -> Finding:
    """On the same hosts isolation's mean is below DCQCN's and the proxy's."""
    dcqcn, to_dcqcn = _ratio(n, mean, (MIXED, ISOLATION), (MIXED, DCQCN))
    proxy, to_proxy = _ratio(n, mean, (MIXED, ISOLATION), (MIXED, PROXY))
    worst = max(dcqcn, proxy)
    words = f"isolation {to_dcqcn} of DCQCN, {to_proxy} of the proxy"
    return _finding(worst < 1, worst, words, [MIXED], ISOLATION)


@_for_each_bucket("rerun3")
def rerun3(n: Numbers, mean: str) -> Finding:
    """Over the models isolation's mean spreads less than the proxy's, and is never above it."""
    isolation, proxy = (
        [n.value(model, mechanism, mean) for model in MODELS] for mechanism in (ISOLATION, PROXY)
    )
    worst = max(i / p for i, p in zip(isolation[1:], proxy[1:], strict=True))
    spreads = [max(means) / min(means) for means in (isolation, proxy)]
    words = (
        f"greatest to least mean: isolation {spreads[0]:.2f}, proxy {spreads[1]:.2f}; isolation at "
        f"most {percent(worst)} of the proxy in models 1 to 3"
    )
    return _finding(spreads[0] < spreads[1] and worst <= 1, worst, words, MODELS, ISOLATION)


@_for_each_bucket("snic")
def snic(n: Numbers, mean: str) -> Finding:
    """With two and with four queues at the NIC the mean is below that with one."""
    four, to_one = _ratio(n, mean, ("nic", "queues-4"), ("nic", "queues-1"))
    two, of_two = _ratio(n, mean, ("nic", "queues-2"), ("nic", "queues-1"))
    words = f"4 queues {to_one} of 1 queue; 2 queues {of_two}"
    return _finding(max(two, four) < 1, four, words, ["nic"], "queues-4")


@_for_each_bucket("like-native")
def like_native(n: Numbers, mean: str) -> Finding:
    """With hosts kept apart the proxy's mean lies within 10 % of that of SFC in the hosts."""
    ratio, words = _ratio(n, mean, (APART, PROXY), (APART, NATIVE))
    words = f"proxy {words} of SFC in the hosts"
    return _finding(abs(ratio - 1) <= 0.1, ratio, words, [APART], PROXY)


@CLAIMS.claim("no-spreading")
def no_spreading(n: Numbers) -> Finding:
    """In every model switches obey at most 5 % of the pauses that they obey with DCQCN and PFC."""
    counts = {
        mechanism: [n.value(model, mechanism, "fabric_pauses") for model in MODELS]
        for mechanism in (PROXY, DCQCN)
    }
    pairs = list(zip(counts[PROXY], counts[DCQCN], strict=True))
    ratios = [proxy / dcqcn if dcqcn else float(proxy > 0) for proxy, dcqcn in pairs]
    words = ", ".join(f"{proxy:.0f} of {dcqcn:.0f}" for proxy, dcqcn in pairs)
    return _finding(max(ratios) <= 0.05, max(ratios), f"models 0 to 3: {words}", MODELS, PROXY)


@CLAIMS.claim("small-queue")
def small_queue(n: Numbers) -> Finding:
    """In every model the 99.9th percentile of what a ToR holds is below 1 MB."""
    depths = [n.value(model, ISOLATION, "held_p999") for model in MODELS]
    words = ", ".join(f"{depth:.0f} KB" for depth in depths)
    return Finding(
        holds=max(depths) < 1000,
        value=max(depths),
        unit="KB",
        detail=f"models 0 to 3: {words}",
        cases=",".join(MODELS),
        mechanism=ISOLATION,
    )
