"""The claims of the study bcn-pause-2006; rates in Mb/s."""

from __future__ import annotations

from backwater.study.claims.base import Claims, Finding, Numbers

CASE, PAUSE, BCN = "hot-spot", "pause", "pause+bcn"

CLAIMS = Claims()


@CLAIMS.claim("no-loss")
def no_loss(n: Numbers) -> Finding:
    """No run of either mechanism drops a frame."""
    worst = {m: max(n.samples(CASE, m, "drops")) for m in (PAUSE, BCN)}
    return Finding(
        holds=max(worst.values()) == 0,
        value=max(worst.values()),
        unit="frames",
        detail=f"at most {worst[PAUSE]:.0f} frames a run with pause, {worst[BCN]:.0f} with BCN too",
        cases=CASE,
        mechanism=BCN,
    )


@CLAIMS.claim("victim")
def victim(n: Numbers) -> Finding:
    """The mean rate of EP1 is 1500 Mb/s at most under pause, and 4750 at least with BCN."""
    paused, freed = (n.value(CASE, m, "throughput_ep1") for m in (PAUSE, BCN))
    return Finding(
        holds=paused <= 1500 and freed >= 4750,
        value=freed,
        unit="Mb/s",
        detail=f"EP1 gets {paused:.0f} Mb/s under pause, {freed:.0f} with BCN",
        cases=CASE,
        mechanism=BCN,
    )


@CLAIMS.claim("fairness")
def fairness(n: Numbers) -> Finding:
    """The index is less with BCN, and the 95 % intervals of the two means do not overlap."""
    paused, fair = (n.interval(CASE, m, "rms_fairness") for m in (PAUSE, BCN))
    return Finding(
        holds=fair[1] < paused[0],
        value=n.value(CASE, BCN, "rms_fairness"),
        unit="",
        detail=f"{fair[0]:.3f} to {fair[1]:.3f} with BCN, "
        f"{paused[0]:.3f} to {paused[1]:.3f} with pause only",
        cases=CASE,
        mechanism=BCN,
        seeds=min(len(n.samples(CASE, m, "rms_fairness")) for m in (PAUSE, BCN)),
    )
