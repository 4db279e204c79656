"""The claims of the study sfc-aidc-2025-training; times in us."""

from __future__ import annotations

from backwater.study.claims._back_end import back_end_claims, sign_map

READING = "pipeline"

CLAIMS = back_end_claims(lambda _: READING, "makespan", seeded=READING)

# The parts of a case's name by the values of its choices.
CHOICES = {"computing": ("", "no-computing"), "points": ("", "all-queues")}
sign_map(CLAIMS, "makespan", CHOICES, lambda values: "-".join(filter(None, values)) or READING)
