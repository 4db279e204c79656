"""Which of a study's points a number belongs to."""

from __future__ import annotations

from dataclasses import dataclass

TABLE = ""
"""The setup of the published table itself, as against those beside it."""


@dataclass(frozen=True)
class Key:
    """Which of a study's points: case, mechanism, and `TABLE` or a setup beside it."""

    case: str
    mechanism: str
    setup: str
