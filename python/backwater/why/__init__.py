"""Explains the outcome of a run: which queue paused which, and what each flow waited for.

`evidence` provides a run with recorded causes, `pauses` makes a tree of its pauses, `waits`
itemises the delay of its flows, and `divergence` finds where two runs part. `words` and `parted`
write the text.
"""

from __future__ import annotations

from backwater.why.divergence import diverge
from backwater.why.evidence import Evidence, evidence
from backwater.why.facts import facts

__all__ = ["Evidence", "diverge", "evidence", "facts"]
