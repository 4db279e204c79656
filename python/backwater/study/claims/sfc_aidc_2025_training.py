"""The claims of the study sfc-aidc-2025-training; times in us."""

from __future__ import annotations

from backwater.study.claims._back_end import back_end_claims

CLAIMS = back_end_claims("pipeline", "makespan", seeded="pipeline")
