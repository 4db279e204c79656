"""Finds where a condition ceases to hold, among values in a row, by bisection.

Both ends and three values between them are looked at first: that the condition holds up to some
value and not above is the promise that bisection needs, and these are what it is seen to break by.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LADDER = 4
"""Parts into which the first look divides the values."""


@dataclass
class Bisection:
    """The search among `count` values, of which the condition is to hold at the first ones."""

    count: int
    held: dict[int, bool] = field(default_factory=dict)
    """What was found: numbers of values, and whether the condition holds there."""

    def ask(self) -> list[int]:
        """Give the values to be looked at next; none: the answer is known."""
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
        """Take note of what was found."""
        self.held[number] = holds

    @property
    def low(self) -> int | None:
        """The last value before which, and at which, it holds wherever it was looked at."""
        found = None
        for number in sorted(self.held):
            if not self.held[number]:
                break
            found = number
        return found

    @property
    def high(self) -> int | None:
        """The first value at which it does not hold; None: it holds at all that were looked at."""
        return min((number for number, holds in self.held.items() if not holds), default=None)

    @property
    def against(self) -> list[int]:
        """Values beyond the first failure at which it holds again: it is not monotone."""
        high = self.high
        if high is None:
            return []
        return [number for number, holds in sorted(self.held.items()) if holds and number > high]

    @property
    def left(self) -> int:
        """How many values are still to be looked at, at most."""
        if not self.held:
            part = -(-(self.count - 1) // LADDER)
            return min(self.count, LADDER + 1 + max(0, part - 1).bit_length())
        low, high = self.low, self.high
        if low is None or high is None:
            return 0
        return max(0, high - low - 1).bit_length()
