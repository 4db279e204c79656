"""The claims of the study sfc-tofino2: Source Flow Control as it is shipped, beside proposals."""

from __future__ import annotations

from backwater.study.claims.base import Claims, Finding, Numbers, changes_text, mean_ratios

CLAIMS = Claims()
SHIPPED, REPAIRED = "shipped", "repaired"
CASES = ("1", "2", "3")
SENDERS = {"1": 3, "2": 3, "3": 6}
EPOCH_US = 10


def _at(gbps: int) -> tuple[str, ...]:
    return tuple(case if gbps == 200 else f"{case}-{gbps}" for case in CASES)


ALL = (*_at(100), *_at(200), *_at(400))


@CLAIMS.claim("our-100")
def the_same_up_to_100(n: Numbers) -> Finding:
    """Code and comment differ for fast ports alone."""
    pairs = [
        (n.value(case, SHIPPED, of), n.value(case, REPAIRED, of))
        for case in _at(100)
        for of in ("incast_last", "victim")
    ]
    different = sum(a != b for a, b in pairs)
    detail = f"{len(pairs) - different} of {len(pairs)} times are equal"
    return Finding(different == 0, float(different), "times", detail, "1 to 3, 100 Gb/s", SHIPPED)


@CLAIMS.claim("our-factor")
def factors_cost_time(n: Numbers) -> Finding:
    """The divisor of 64 costs time at 200 Gb/s, and more at 400."""
    at = {g: mean_ratios(n, _at(g), "incast_last", SHIPPED, REPAIRED) for g in (200, 400)}
    longer = all(ratio > 1 for ratios in at.values() for ratio in ratios)
    grows = all(fast > slow for slow, fast in zip(at[200], at[400], strict=True))
    detail = f"200 Gb/s {changes_text(at[200])}; 400 Gb/s {changes_text(at[400])}"
    most = 100 * (max(at[400]) - 1)
    return Finding(longer and grows, most, "% at most", detail, "1 to 3, 200 and 400", SHIPPED)


@CLAIMS.claim("our-victim")
def the_victim_gains(n: Numbers) -> Finding:
    """The victim ends earlier than under PFC alone."""
    ratios = mean_ratios(n, ALL, "victim", SHIPPED, "pfc")
    detail = f"cases 1 to 3 at 100, 200, 400 Gb/s: {changes_text(ratios)}"
    holds = all(ratio < 1 for ratio in ratios)
    return Finding(holds, 100 * (max(ratios) - 1), "% at most", detail, "1 to 3", SHIPPED)


@CLAIMS.claim("our-resume")
def no_resume_costs_little(n: Numbers) -> Finding:
    """Without resume the incast takes as long as with it, where the arithmetic is as meant."""
    ratios = mean_ratios(n, _at(100), "incast_last", SHIPPED, "proxy")
    worst = max(abs(ratio - 1) for ratio in ratios)
    return Finding(
        worst <= 0.1, 100 * worst, "%", changes_text(ratios), "1 to 3, 100 Gb/s", SHIPPED
    )


@CLAIMS.claim("our-epoch")
def long_epochs_spread(n: Numbers) -> Finding:
    """With an epoch of 200 us pauses spread beyond the senders' links."""
    short, long = (n.value(case, SHIPPED, "ports_paused") for case in ("2", "2-epoch-200"))
    detail = f"{short:.0f} ports paused with 10 us, {long:.0f} with 200 us"
    return Finding(long > short, long - short, "ports", detail, "2, 2-epoch-200", SHIPPED)


@CLAIMS.claim("our-messages")
def one_message_an_epoch(n: Numbers) -> Finding:
    """A pair of hosts gets at most one message an epoch."""
    shares = []
    for case in ALL:
        epochs = n.value(case, SHIPPED, "incast_last") / EPOCH_US + 1
        most = SENDERS[case[0]] * epochs
        shares.append(n.value(case, SHIPPED, "messages") / most)
    detail = f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the most that epochs allow"
    holds = min(shares) > 0 and max(shares) <= 1
    return Finding(holds, 100 * max(shares), "%", detail, "1 to 3", SHIPPED)


@CLAIMS.claim("our-background")
def background_gains(n: Numbers) -> Finding:
    """Background that shares no host with the incast gains as with the proxy."""
    of = {
        by: n.value("model-0", by, "medium_mean") / n.value("model-0", "pfc", "medium_mean")
        for by in (SHIPPED, "proxy")
    }
    detail = f"shipped {100 * of[SHIPPED]:.0f} %, proxy {100 * of['proxy']:.0f} % of DCQCN over PFC"
    holds = max(of.values()) < 0.5
    return Finding(holds, 100 * of[SHIPPED], "%", detail, "model-0", SHIPPED)
