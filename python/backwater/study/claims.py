"""The claims of studies that have no number: each a predicate over numbers, registered by its id.

A predicate sees numbers through `Numbers` and gives a `Finding`. The same function is asked about
the measured and, where it needs nothing else, about the published numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

PFC, SFC, DCQCN = "pfc", "pfc+sfc", "pfc+dcqcn"


class NotKnownError(LookupError):
    """A number that a claim needs was not asked for (or was not published)."""


class NotMeasuredError(LookupError):
    """A number that a claim needs was asked for, but its run did not give it."""


class Numbers(Protocol):
    """Where a predicate finds its numbers (times in us); each may raise the errors above."""

    def incast(self, case: str, mechanism: str) -> float:
        """Mean completion time of the incast flows."""

    def victim(self, case: str, mechanism: str) -> float:
        """Completion time of the observed flow."""

    def messages(self, case: str, mechanism: str) -> int:
        """Number of SFC messages that asked for a pause."""

    def paused_ports(self, case: str, mechanism: str, setup: str) -> int:
        """Number of ports that received a pause, in one of the setups beside the table."""


@dataclass(frozen=True)
class Finding:
    """What a claim came to."""

    holds: bool
    value: float
    """The one number that tells most, in `unit`."""
    unit: str
    detail: str
    """The numbers behind the verdict, for people."""
    cases: str
    mechanism: str


PREDICATES: dict[str, Callable[[Numbers], Finding]] = {}


def _claim(name: str) -> Callable[[Callable[[Numbers], Finding]], Callable[[Numbers], Finding]]:
    def register(predicate: Callable[[Numbers], Finding]) -> Callable[[Numbers], Finding]:
        PREDICATES[name] = predicate
        return predicate

    return register


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"


@_claim("sfc-helps-victim")
def sfc_helps_victim(n: Numbers) -> Finding:
    """SFC shortens the victim in every case and lengthens the incast by 2 % at most."""
    victims = {c: n.victim(c, SFC) / n.victim(c, PFC) for c in ("1", "2", "3", "4", "5", "6")}
    incasts = {c: n.incast(c, SFC) / n.incast(c, PFC) for c in ("1", "2", "6")}
    worst, dearest = max(victims.values()), max(incasts.values())
    return Finding(
        holds=worst < 1 and dearest <= 1.02,
        value=worst,
        unit="ratio",
        detail=f"victim at most {_percent(worst)} of PFC's, incast at most {_percent(dearest)}",
        cases="1-6",
        mechanism=SFC,
    )


@_claim("severity")
def severity(n: Numbers) -> Finding:
    """SFC saves the victim at least 10 points more in case 3 (6:1) than in case 1 (3:1)."""
    saved = {c: 1 - n.victim(c, SFC) / n.victim(c, PFC) for c in ("1", "3")}
    points = 100 * (saved["3"] - saved["1"])
    return Finding(
        holds=points >= 10,
        value=points,
        unit="percentage points",
        detail=f"saves the victim {_percent(saved['1'])} at 3:1, {_percent(saved['3'])} at 6:1",
        cases="1,3",
        mechanism=SFC,
    )


@_claim("dcqcn-short")
def dcqcn_short(n: Numbers) -> Finding:
    """In case 1 DCQCN lengthens both the incast and the victim."""
    incast = n.incast("1", DCQCN) / n.incast("1", PFC)
    victim = n.victim("1", DCQCN) / n.victim("1", PFC)
    return Finding(
        holds=min(incast, victim) > 1,
        value=min(incast, victim),
        unit="ratio",
        detail=f"incast {_percent(incast)} of PFC's, victim {_percent(victim)}",
        cases="1",
        mechanism=DCQCN,
    )


@_claim("dcqcn-duration")
def dcqcn_duration(n: Numbers) -> Finding:
    """The victim under DCQCN, relative to PFC, falls from case 1 to 2 to 6, below 1 in 2 and 6."""
    r1, r2, r6 = (n.victim(c, DCQCN) / n.victim(c, PFC) for c in ("1", "2", "6"))
    return Finding(
        holds=r1 > r2 > r6 and r2 < 1 and r6 < 1,
        value=r6,
        unit="ratio",
        detail=f"victim {_percent(r1)}, {_percent(r2)}, {_percent(r6)} of PFC's in cases 1, 2, 6",
        cases="1,2,6",
        mechanism=DCQCN,
    )


@_claim("over-pause")
def over_pause(n: Numbers) -> Finding:
    """Incast rises by 10 % or more from 12 to 30 to 50 us; victims within 2 % elsewhere."""
    i12, i30, i50 = (n.incast(c, SFC) for c in ("7", "8", "8'"))
    victims = [n.victim(c, SFC) for c in ("2", "7", "9", "10", "11")]
    rises = (i30 / i12 - 1, i50 / i30 - 1)
    width = max(victims) / min(victims) - 1
    return Finding(
        holds=min(rises) >= 0.10 and width <= 0.02,
        value=100 * min(rises),
        unit="percent",
        detail=f"incast {100 * rises[0]:+.1f} % to 30 us, {100 * rises[1]:+.1f} % to 50 us; "
        f"victims within {_percent(width)} elsewhere",
        cases="2,7,8,8',9,10,11",
        mechanism=SFC,
    )


@_claim("short-pause-messages")
def short_pause_messages(n: Numbers) -> Finding:
    """A 3 us pause (case 9) takes at least 1.5 times the messages of 6 us (case 2)."""
    short, normal = n.messages("9", SFC), n.messages("2", SFC)
    ratio = short / normal if normal else float("inf")
    return Finding(
        holds=ratio >= 1.5,
        value=ratio,
        unit="ratio",
        detail=f"{short} messages at 3 us, {normal} at 6 us",
        cases="2,9",
        mechanism=SFC,
    )


@_claim("architecture-oq")
def architecture_oq(n: Numbers) -> Finding:
    """In case 2 under PFC more ports receive a pause with output queues than with VOQ."""
    oq = n.paused_ports("2", PFC, "output-queued")
    voq = n.paused_ports("2", PFC, "voq")
    return Finding(
        holds=oq > voq,
        value=oq - voq,
        unit="ports",
        detail=f"{oq} ports with output queues, {voq} with VOQ",
        cases="2",
        mechanism=PFC,
    )
