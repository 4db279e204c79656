"""Finds by bisection where a condition ceases to hold in an ordered list of values.

Bisection assumes that the condition holds up to some value and nowhere beyond. The search
tries both ends and three values between them first, which may show that it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LADDER = 4
"""Parts into which the values tried first divide the list."""


@dataclass
class Bisection:
    """The search among `count` values; the condition should hold at the first of them."""

    count: int
    held: dict[int, bool] = field(default_factory=dict)
    """By the number of each tried value: whether the condition holds there."""

    def ask(self) -> list[int]:
        """Return the numbers of the values to try next; none: the answer is known."""
        if not self.count:
            return []
        ladder = {round((self.count - 1) * part / LADDER) for part in range(LADDER + 1)}
        if missing := sorted(ladder - self.held.keys()):
            return missing
        low, high = self.low, self.high
        if low is None or high is None or high - low <= 1:
            return []
        return [(low + high) // 2]

    def tell(self, number: int, *, holds: bool) -> None:
        """Record whether the condition holds at a value."""
        self.held[number] = holds

    @property
    def low(self) -> int | None:
        """The last tried value up to which the condition holds at all tried values."""
        found = None
        for number in sorted(self.held):
            if not self.held[number]:
                break
            found = number
        return found

    @property
    def high(self) -> int | None:
        """The first value at which it does not hold; None: it holds at all tried values."""
        return min((number for number, holds in self.held.items() if not holds), default=None)

    @property
    def against(self) -> list[int]:
        """Values beyond the first failure at which the condition holds: it is not monotone."""
        high = self.high
        if high is None:
            return []
        return [number for number, holds in sorted(self.held.items()) if holds and number > high]

    @property
    def left(self) -> int:
        """The largest number of values still to try."""
        if not self.held:
            part = -(-(self.count - 1) // LADDER)
            return min(self.count, LADDER + 1 + max(0, part - 1).bit_length())
        low, high = self.low, self.high
        if low is None or high is None:
            return 0
        return max(0, high - low - 1).bit_length()
