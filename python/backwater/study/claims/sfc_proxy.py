"""The claims of the study sfc-proxy, most of them for each bucket of messages; times in us.

With one seed, all mechanisms meet the same background. Ratios are therefore taken seed by seed:
their interval is narrower than those of the two means. A comparison holds if its whole 95 %
interval does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.claims.base import Claims, Finding, Numbers, Place, Ratio, ratio
from backwater.wording import share_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BUCKETS = ("small", "medium", "large")
MODELS = ("model-0", "model-1", "model-2", "model-3")
APART, MIXED, ALL_HOSTS = MODELS[0], MODELS[-1], "all-hosts"
DCQCN, PROXY, NATIVE, ISOLATION = "dcqcn", "proxy", "native", "isolation"

CLAIMS = Claims()


def _for_each_bucket(name: str) -> Callable[[Callable[[Numbers, str], Finding]], None]:
    """Register a predicate about a bucket's means as three claims, one for each bucket."""

    def register(predicate: Callable[[Numbers, str], Finding]) -> None:
        for bucket in BUCKETS:

            def of_bucket(n: Numbers, mean: str = f"{bucket}_mean") -> Finding:
                return predicate(n, mean)

            CLAIMS.claim(f"{name}-{bucket}")(of_bucket)

    return register


def _ratio(n: Numbers, mean: str, over: Place, under: Place) -> tuple[Ratio, str]:
    """Return the ratio of two means, seed by seed, and its text."""
    found = ratio(n.samples(*over, mean), n.samples(*under, mean))
    first, second = n.value(*over, mean), n.value(*under, mean)
    return found, f"{first:.1f} us, {found} of {second:.1f} us"


def _finding(
    holds: bool, found: Ratio, words: str, cases: Sequence[str], mechanism: str
) -> Finding:
    return Finding(holds, found.mean, "ratio", words, ",".join(cases), mechanism, found.seeds)


def _within(found: Ratio) -> bool:
    """Return True if the interval of a ratio lies within 10 % of 1."""
    return found.low >= 0.9 and found.high <= 1.1


@_for_each_bucket("sim1")
def sim1(n: Numbers, mean: str) -> Finding:
    """With separate hosts, the proxy's mean is below DCQCN's."""
    found, words = _ratio(n, mean, (APART, PROXY), (APART, DCQCN))
    return _finding(found.high < 1, found, f"proxy {words} of DCQCN", [APART], PROXY)


@_for_each_bucket("sim2")
def sim2(n: Numbers, mean: str) -> Finding:
    """On the same hosts, the proxy's mean is above DCQCN's."""
    found, words = _ratio(n, mean, (MIXED, PROXY), (MIXED, DCQCN))
    return _finding(found.low > 1, found, f"proxy {words} of DCQCN", [MIXED], PROXY)


@_for_each_bucket("sim2-all-hosts")
def sim2_all_hosts(n: Numbers, mean: str) -> Finding:
    """With background on all hosts, as the document lists it, the proxy's mean is above DCQCN's."""
    found, words = _ratio(n, mean, (ALL_HOSTS, PROXY), (ALL_HOSTS, DCQCN))
    return _finding(found.low > 1, found, f"proxy {words} of DCQCN", [ALL_HOSTS], PROXY)


@_for_each_bucket("sim3-degrades")
def sim3_degrades(n: Numbers, mean: str) -> Finding:
    """From model 0 to 3, the proxy's mean grows by more than DCQCN's."""
    _, grown = _ratio(n, mean, (MIXED, PROXY), (APART, PROXY))
    _, other = _ratio(n, mean, (MIXED, DCQCN), (APART, DCQCN))
    proxy, dcqcn = (
        [
            mixed / apart
            for mixed, apart in zip(
                n.samples(MIXED, name, mean), n.samples(APART, name, mean), strict=True
            )
        ]
        for name in (PROXY, DCQCN)
    )
    found = ratio(proxy, dcqcn)
    words = f"model 3 to model 0: proxy {grown}; DCQCN {other}; the first {found} of the second"
    return _finding(found.low > 1, found, words, [APART, MIXED], PROXY)


@_for_each_bucket("rerun1")
def rerun1(n: Numbers, mean: str) -> Finding:
    """With separate hosts, isolation's mean lies within 10 % of the proxy's."""
    found, words = _ratio(n, mean, (APART, ISOLATION), (APART, PROXY))
    words = f"isolation {words} of the proxy"
    return _finding(_within(found), found, words, [APART], ISOLATION)


def _better(n: Numbers, mean: str, case: str) -> Finding:
    """Judge whether isolation's mean is below DCQCN's and the proxy's in a case."""
    dcqcn, to_dcqcn = _ratio(n, mean, (case, ISOLATION), (case, DCQCN))
    proxy, to_proxy = _ratio(n, mean, (case, ISOLATION), (case, PROXY))
    worst = max(dcqcn, proxy, key=lambda found: found.high)
    words = f"isolation {to_dcqcn} of DCQCN, {to_proxy} of the proxy"
    return _finding(worst.high < 1, worst, words, [case], ISOLATION)


@_for_each_bucket("rerun2")
def rerun2(n: Numbers, mean: str) -> Finding:
    """On the same hosts, isolation's mean is below DCQCN's and the proxy's."""
    return _better(n, mean, MIXED)


@_for_each_bucket("rerun2-all-hosts")
def rerun2_all_hosts(n: Numbers, mean: str) -> Finding:
    """With background on all hosts, isolation's mean is below DCQCN's and the proxy's."""
    return _better(n, mean, ALL_HOSTS)


@_for_each_bucket("rerun3")
def rerun3(n: Numbers, mean: str) -> Finding:
    """Over the models, isolation's mean varies less than the proxy's, and is never above it."""
    spreads = []
    for mechanism in (ISOLATION, PROXY):
        by_seed = zip(*(n.samples(model, mechanism, mean) for model in MODELS), strict=True)
        spreads.append([max(means) / min(means) for means in by_seed])
    less = ratio(*spreads)
    against = [_ratio(n, mean, (model, ISOLATION), (model, PROXY))[0] for model in MODELS[1:]]
    worst = max(found.high for found in against)
    words = (
        f"greatest to least mean: isolation's {less} of the proxy's; isolation at "
        f"most {share_text(max(found.mean for found in against))} of the proxy in models 1 to 3 "
        f"(upper end {share_text(worst)})"
    )
    return _finding(less.high < 1 and worst <= 1, less, words, MODELS, ISOLATION)


@_for_each_bucket("snic")
def snic(n: Numbers, mean: str) -> Finding:
    """With two and with four queues at the NIC, the mean is below that with one."""
    four, to_one = _ratio(n, mean, ("nic", "queues-4"), ("nic", "queues-1"))
    two, of_two = _ratio(n, mean, ("nic", "queues-2"), ("nic", "queues-1"))
    words = f"4 queues {to_one} of 1 queue; 2 queues {of_two}"
    return _finding(max(two.high, four.high) < 1, four, words, ["nic"], "queues-4")


@_for_each_bucket("like-native")
def like_native(n: Numbers, mean: str) -> Finding:
    """With separate hosts, the proxy's mean lies within 10 % of that of SFC in the hosts."""
    found, words = _ratio(n, mean, (APART, PROXY), (APART, NATIVE))
    words = f"proxy {words} of SFC in the hosts"
    return _finding(_within(found), found, words, [APART], PROXY)


@CLAIMS.claim("no-deadlock")
def no_deadlock(n: Numbers) -> Finding:
    """A ring deadlocks with every seed under DCQCN and PFC, and with no seed under the proxy."""
    dcqcn, proxy = (n.samples("ring", name, "deadlocks") for name in (DCQCN, PROXY))
    words = (
        f"{sum(dcqcn):.0f} of {len(dcqcn)} runs deadlock under DCQCN and PFC, "
        f"{sum(proxy):.0f} of {len(proxy)} with the proxy"
    )
    return Finding(all(dcqcn) and not any(proxy), sum(proxy), "runs", words, "ring", PROXY)


@CLAIMS.claim("no-spreading")
def no_spreading(n: Numbers) -> Finding:
    """With every seed and model, switches obey at most 5 % of DCQCN's number of pauses."""
    worst, words = 0.0, []
    for model in MODELS:
        proxy, dcqcn = (n.samples(model, name, "fabric_pauses") for name in (PROXY, DCQCN))
        shares = [p / d if d else float(p > 0) for p, d in zip(proxy, dcqcn, strict=True)]
        worst = max(worst, *shares)
        words.append(f"{sum(proxy) / len(proxy):.0f} of {sum(dcqcn) / len(dcqcn):.0f}")
    detail = f"models 0 to 3: {', '.join(words)}; with the worst seed {share_text(worst)}"
    return Finding(worst <= 0.05, worst, "ratio", detail, ",".join(MODELS), PROXY)


@CLAIMS.claim("small-queue")
def small_queue(n: Numbers) -> Finding:
    """With every seed and model, the p99.9 of bytes in a ToR's isolation queues is below 1 MB."""
    depths = [max(n.samples(model, ISOLATION, "held_p999")) for model in MODELS]
    words = ", ".join(f"{depth:.0f} KB" for depth in depths)
    return Finding(
        holds=max(depths) < 1000,
        value=max(depths),
        unit="KB",
        detail=f"models 0 to 3, with the worst seed: {words}",
        cases=",".join(MODELS),
        mechanism=ISOLATION,
    )
