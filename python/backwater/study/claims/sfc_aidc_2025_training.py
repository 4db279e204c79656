"""The claims of the study sfc-aidc-2025-training; times in us."""

from __future__ import annotations

from backwater.study.claims._back_end import BY_FLOW, SFC, back_end_claims, hangs_on

READING = "pipeline"
# The cells of the sign map by computing and congestion points, each with both granularities.
CELLS = {
    ("1.5 ms", "hosts"): READING,
    ("1.5 ms", "all"): "all-queues",
    ("none", "hosts"): "no-computing",
    ("none", "all"): "no-computing-all-queues",
}
MEANS = (SFC, BY_FLOW)

CLAIMS = back_end_claims(lambda _: READING, "makespan", seeded=READING)

hangs_on(
    CLAIMS,
    "computing",
    "makespan",
    [
        ((CELLS["1.5 ms", points], means), (CELLS["none", points], means))
        for points in ("hosts", "all")
        for means in MEANS
    ],
)
hangs_on(
    CLAIMS,
    "points",
    "makespan",
    [
        ((CELLS[time, "hosts"], means), (CELLS[time, "all"], means))
        for time in ("1.5 ms", "none")
        for means in MEANS
    ],
)
hangs_on(
    CLAIMS,
    "granularity",
    "makespan",
    [((case, SFC), (case, BY_FLOW)) for case in CELLS.values()],
)
