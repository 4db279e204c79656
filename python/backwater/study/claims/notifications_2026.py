"""The claims of the study notifications-2026: expectations of this project before the first run."""

from __future__ import annotations

from backwater.study.claims.base import (
    Claims,
    Finding,
    Numbers,
    changes_text,
    mean_ratios,
)

CLAIMS = Claims()
CASES = ("1", "2", "3")
EARLY = ("sfc", "sfc-proxy", "fast-cnp", "fast-cnp-proxy")
SPARING = ("sfc", "sfc-proxy", "sfc-shipped", "fast-cnp", "fast-cnp-proxy")


@CLAIMS.claim("our-order")
def switches_are_earlier(n: Numbers) -> Finding:
    """A message of the switch lowers the sender's rate before the receiver's CNP does."""
    late = {case: n.value(case, "dcqcn", "reaction") for case in CASES}
    found = {
        (case, scheme): n.value(case, scheme, "reaction") - late[case]
        for case in CASES
        for scheme in EARLY
    }
    (case, scheme), worst = max(found.items(), key=lambda item: item[1])
    return Finding(
        holds=worst < 0,
        value=worst,
        unit="us",
        detail=f"latest beside DCQCN: {scheme} in case {case}, {worst:+.1f} us; DCQCN "
        + ", ".join(f"{us:.1f} us in case {of}" for of, us in late.items()),
        cases=",".join(CASES),
        mechanism=scheme,
    )


@CLAIMS.claim("our-proxy")
def a_proxy_costs_no_time(n: Numbers) -> Finding:
    """A CNP by proxy comes as early as one to the sender."""
    apart = {
        case: abs(
            n.value(case, "fast-cnp-proxy", "reaction") - n.value(case, "fast-cnp", "reaction")
        )
        for case in CASES
    }
    worst = max(apart.values())
    detail = ", ".join(f"{us:.2f} us in case {case}" for case, us in apart.items())
    return Finding(worst <= 0.5, worst, "us", detail, ",".join(CASES), "fast-cnp-proxy")


@CLAIMS.claim("our-victim")
def the_victim_gains(n: Numbers) -> Finding:
    """The victim ends earlier than under PFC alone."""
    found = {scheme: mean_ratios(n, CASES, "victim", scheme, "pfc") for scheme in SPARING}
    scheme, worst = max(((s, max(r)) for s, r in found.items()), key=lambda item: item[1])
    return Finding(
        holds=worst < 1,
        value=worst,
        unit="ratio",
        detail="; ".join(f"{s} {changes_text(r)}" for s, r in found.items()),
        cases=",".join(CASES),
        mechanism=scheme,
    )


@CLAIMS.claim("our-law")
def the_law_costs_the_incast(n: Numbers) -> Finding:
    """The incast's last flow under Fast CNP is later than under SFC by proxy, and near DCQCN's."""
    longer = mean_ratios(n, CASES, "incast_last", "fast-cnp", "sfc-proxy")
    beside = mean_ratios(n, CASES, "incast_last", "fast-cnp", "dcqcn")
    return Finding(
        holds=min(longer) > 1 and max(abs(ratio - 1) for ratio in beside) <= 0.25,
        value=min(longer),
        unit="ratio",
        detail=f"of SFC by proxy: {changes_text(longer)}; of DCQCN: {changes_text(beside)}",
        cases=",".join(CASES),
        mechanism="fast-cnp",
    )


@CLAIMS.claim("our-csig")
def intervals_are_late(n: Numbers) -> Finding:
    """CSIG reacts after its interval: with 256 us PFC is earlier."""
    apart = [n.value(case, "csig", "reaction") - n.value(case, "pfc", "reaction") for case in CASES]
    times = [n.value(case, "csig-10us", "reaction") for case in CASES]
    holds = max(map(abs, apart)) <= 1 and all(10 <= us <= 30 for us in times)
    after, at = (", ".join(f"{us:.1f} us" for us in of) for of in (apart, times))
    detail = f"256 us: {after} after PFC alone; 10 us: at {at}"
    return Finding(holds, max(times), "us", detail, ",".join(CASES), "csig-10us")


@CLAIMS.claim("our-loss")
def losses_of_messages_do_little(n: Numbers) -> Finding:
    """The victim takes at most 10 % more time if messages are lost."""
    found = {
        scheme: n.value("1-loss-10", scheme, "victim") / n.value("1", scheme, "victim")
        for scheme in SPARING
    }
    scheme, worst = max(found.items(), key=lambda item: item[1])
    detail = ", ".join(f"{s} {100 * (ratio - 1):+.1f} %" for s, ratio in found.items())
    return Finding(worst <= 1.1, worst, "ratio", detail, "1,1-loss-10", scheme)


@CLAIMS.claim("our-back")
def back_to_the_sender_is_no_later(n: Numbers) -> Finding:
    """Packets that go back tell the sender no later than those that go on."""
    later = {
        case: n.value(case, "nscc-back", "reaction") - n.value(case, "nscc", "reaction")
        for case in CASES
    }
    worst = max(later.values())
    detail = ", ".join(f"{us:+.2f} us in case {case}" for case, us in later.items())
    return Finding(worst <= 0, worst, "us", detail, ",".join(CASES), "nscc-back")
