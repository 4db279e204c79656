"""Names of a study's points."""

from __future__ import annotations

from dataclasses import dataclass

TABLE = ""
"""The setup of the published table, in contrast to the setups beside it."""


@dataclass(frozen=True)
class Key:
    """A point of a study: case, mechanism, and `TABLE` or a setup beside the table."""

    case: str
    mechanism: str
    setup: str
