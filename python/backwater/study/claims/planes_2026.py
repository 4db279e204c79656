"""The claims of the study planes-2026: expectations of this project before the first run."""

from __future__ import annotations

from backwater.study.claims.base import Claims, Finding, Numbers, changes_text, mean_ratios

CLAIMS = Claims()
ROUTED, HASHED, UEC, REROUTED = "routed", "hashed", "uec", "rerouted"


@CLAIMS.claim("our-enough")
def a_quarter_of_the_paths_is_enough(n: Numbers) -> Finding:
    """32 values are nearly as good as 128, and four are not."""
    of = {at: n.value(f"values-{at}", ROUTED, "last") for at in (4, 32, 128)}
    few, enough = of[4] / of[128], of[32] / of[128]
    detail = ", ".join(f"{us:.1f} us with {at} values" for at, us in of.items())
    cases = "values-4,values-32,values-128"
    return Finding(enough <= 1.05 and few >= 1.2, enough, "ratio", detail, cases, ROUTED)


@CLAIMS.claim("our-routes")
def routes_balance_better(n: Numbers) -> Finding:
    """The mean is no longer with source routes than with a hash."""
    cases = [f"values-{at}" for at in (8, 16, 32, 64, 128)]
    ratios = mean_ratios(n, cases, "mean", ROUTED, HASHED)
    return Finding(
        max(ratios) <= 1, max(ratios), "ratio", changes_text(ratios), ",".join(cases), ROUTED
    )


@CLAIMS.claim("our-bypass")
def senders_bypass_failures(n: Numbers) -> Finding:
    """The last flow ends earlier if values are retired."""
    retired, kept = (n.value("t1", by, "last") for by in (ROUTED, UEC))
    detail = f"{retired:.1f} us, {kept:.1f} us with UEC's values"
    return Finding(retired < kept, retired / kept, "ratio", detail, "t1", ROUTED)


@CLAIMS.claim("our-static")
def static_routes_cost_little(n: Numbers) -> Finding:
    """The mean is little longer than with routes that follow at once."""
    [ratio] = mean_ratios(n, ["t1"], "mean", ROUTED, REROUTED)
    return Finding(ratio <= 1.1, ratio, "ratio", changes_text([ratio]), "t1", ROUTED)


@CLAIMS.claim("our-plane")
def a_plane_costs_its_share(n: Numbers) -> Finding:
    """The mean rises by less than a third beside the failure of one spine."""
    ratio = n.value("t0", ROUTED, "mean") / n.value("t1", ROUTED, "mean")
    detail = f"{changes_text([ratio])} beside the failure of a spine"
    return Finding(ratio < 4 / 3, ratio, "ratio", detail, "t0,t1", ROUTED)


@CLAIMS.claim("our-timeout")
def a_timeout_later(n: Numbers) -> Finding:
    """Dead values are retired one to two timeouts after the failure."""
    found = {us: n.value(case, ROUTED, "detected") for case, us in (("t1-20", 20), ("t1", 50))}
    detail = ", ".join(f"{at:.1f} us with {us} us" for us, at in found.items())
    holds = all(us <= at <= 2 * us for us, at in found.items())
    return Finding(
        holds, max(at / us for us, at in found.items()), "timeouts", detail, "t1", ROUTED
    )
