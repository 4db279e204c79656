"""The claims of the study bcn-delay-2007; throughput in Mb/s, queues in KB, utilisation in %."""

from __future__ import annotations

from itertools import pairwise

from backwater.study.claims.base import Claims, Finding, Numbers
from backwater.wording import share_text

BCN = "bcn"
LINE = 10_000

CLAIMS = Claims()


def _rises(values: list[float]) -> bool:
    return all(before < after for before, after in pairwise(values))


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)


@CLAIMS.claim("multistage-robust")
def multistage_robust(n: Numbers) -> Finding:
    """From 12 to 600 us, drops change by a quarter at most, and the hot port's use by 1 %."""
    short, long = (n.value(f"multi-{us}us", BCN, "drops") for us in (12, 600))
    used = [n.value(f"multi-{us}us", BCN, "hot_port_utilisation") for us in (12, 600)]
    ratio = long / short if short else float("inf")
    return Finding(
        holds=0.8 <= ratio <= 1.25 and abs(used[1] / used[0] - 1) <= 0.01,
        value=ratio,
        unit="ratio",
        detail=f"{long:.0f} drops instead of {short:.0f}; hot port used {_list(used)} %",
        cases="multi-12us,multi-600us",
        mechanism=BCN,
    )


@CLAIMS.claim("delay-hurts")
def delay_hurts(n: Numbers) -> Finding:
    """The queue varies more with every step of delay; 200 us costs throughput and drops frames."""
    delays = (12, 50, 100, 200, 500)
    deviations = [n.value(f"single-{us}us", BCN, "queue_std") for us in delays]
    through = [n.value(f"single-{us}us", BCN, "throughput") for us in (12, 200)]
    drops = [n.value(f"single-{us}us", BCN, "drops") for us in (12, 200)]
    return Finding(
        holds=_rises(deviations) and through[1] < through[0] and drops[1] > drops[0],
        value=deviations[-1],
        unit="KB",
        detail=f"deviation {_list(deviations)} KB; 12 and 200 us: {_list(through)} Mb/s, "
        f"{_list(drops)} drops",
        cases=",".join(f"single-{us}us" for us in delays),
        mechanism=BCN,
    )


@CLAIMS.claim("oversampling")
def oversampling(n: Numbers) -> Finding:
    """At 200 us, both drops and throughput are less with oversampling."""
    cases = ("single-200us", "single-oversampling")
    drops = [n.value(case, BCN, "drops") for case in cases]
    through = [n.value(case, BCN, "throughput") for case in cases]
    return Finding(
        holds=drops[1] < drops[0] and through[1] < through[0],
        value=through[1] - through[0],
        unit="Mb/s",
        detail=f"without and with: {_list(drops)} drops, {_list(through)} Mb/s",
        cases=",".join(cases),
        mechanism=BCN,
    )


@CLAIMS.claim("buffer")
def buffer(n: Numbers) -> Finding:
    """Throughput and the queue's deviation rise with the buffer."""
    cases = ("single-200us", "single-1200KB", "single-2400KB")
    through = [n.value(case, BCN, "throughput") for case in cases]
    deviations = [n.value(case, BCN, "queue_std") for case in cases]
    return Finding(
        holds=_rises(through) and _rises(deviations),
        value=through[-1] - through[0],
        unit="Mb/s",
        detail=f"{_list(through)} Mb/s; deviation {_list(deviations)} KB",
        cases=",".join(cases),
        mechanism=BCN,
    )


@CLAIMS.claim("oversubscription")
def oversubscription(n: Numbers) -> Finding:
    """At 500 us, a single hop leaves more of its port unused than the multi-stage network."""
    single = 1 - n.value("single-500us", BCN, "throughput") / LINE
    multi = 1 - n.value("multi-500us", BCN, "hot_port_utilisation") / 100
    return Finding(
        holds=single > multi,
        value=100 * (single - multi),
        unit="percentage points",
        detail=f"unused: {share_text(single)} of the single hop, "
        f"{share_text(multi)} in several stages",
        cases="single-500us,multi-500us",
        mechanism=BCN,
    )


@CLAIMS.claim("buffer-needed")
def buffer_needed(n: Numbers) -> Finding:
    """After the start, the queue is empty longer with a smaller buffer, and never with 2.4 MB."""
    cases = ("single-200us", "single-1200KB", "single-2400KB")
    empty = [n.value(case, BCN, "queue_empty_after") for case in cases]
    never = sum(share == 0 for share in n.samples(cases[-1], BCN, "queue_empty_after"))
    runs = len(n.samples(cases[-1], BCN, "queue_empty_after"))
    return Finding(
        holds=empty[0] > empty[1] > empty[2] == 0,
        value=empty[-1],
        unit="%",
        detail=", ".join(f"{share:.2f} %" for share in empty)
        + " of the time empty at 600, 1200 and 2400 KB, where it is never so "
        f"in {never} of {runs} runs",
        cases=",".join(cases),
        mechanism=BCN,
    )
