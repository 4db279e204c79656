"""Why a run came out as it did: what was paused behind what, and what each flow waited for.

`evidence` gets a run with its causes recorded, `pauses` makes a tree of its pauses, `waits`
itemises the delay of its flows, `divergence` finds where two runs part. `words` and `parted` say
all of it.
"""

from __future__ import annotations

from backwater.why.divergence import diverge
from backwater.why.evidence import Evidence, evidence
from backwater.why.facts import facts

__all__ = ["Evidence", "diverge", "evidence", "facts"]
