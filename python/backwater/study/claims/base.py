"""What the claims of all studies have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from backwater.numbers.repeats import Spread
from backwater.wording import share_text


class NotKnownError(LookupError):
    """A number that a claim needs was not asked for (or was not published)."""


class NotMeasuredError(LookupError):
    """A number that a claim needs was asked for, but its run did not give it."""


class Numbers(Protocol):
    """Where a predicate finds its numbers, by case, mechanism and the name of the measure.

    `setup` is one of those beside the table, or the table's own. Each may raise the errors above.
    """

    def value(self, case: str, mechanism: str, quantity: str, setup: str = "") -> float:
        """Mean over the seeds; with one seed, its number."""

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = "") -> list[float]:
        """The number of every seed, in the order of seeds."""

    def interval(
        self, case: str, mechanism: str, quantity: str, setup: str = ""
    ) -> tuple[float, float]:
        """95 % confidence interval of the mean; with one seed, its number twice."""


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
    """What it is about, as the study calls it: its null model stands for this one."""
    seeds: int | None = None
    """Over how many seeds the interval is on which it rests; None: it rests on none."""


Predicate = Callable[[Numbers], Finding]


class Claims(dict[str, Predicate]):
    """The predicates of one study by the ids of its claims."""

    def claim(self, name: str) -> Callable[[Predicate], Predicate]:
        """Register a predicate."""

        def register(predicate: Predicate) -> Predicate:
            self[name] = predicate
            return predicate

        return register


def with_interval(spread: Spread, unit: str = "", digits: int = 1) -> str:
    """Give a mean over seeds with its 95 % interval, if it has one."""
    mean = f"{spread.mean:.{digits}f}{unit}"
    if spread.ci_low is None or spread.ci_high is None:
        return mean
    return f"{mean} ({spread.ci_low:.{digits}f} to {spread.ci_high:.{digits}f})"


def reduction(n: Numbers, case: str, quantity: str, mechanism: str, since: str) -> Spread:
    """By how many % a mechanism is below another one, seed by seed."""
    before, after = (n.samples(case, name, quantity) for name in (since, mechanism))
    if not all(before):
        raise NotMeasuredError(f"{since}: {quantity} is 0 with some seed")
    return Spread.of([100 * (1 - a / b) for a, b in zip(after, before, strict=True)])


Place = tuple[str, str]
"""A case and a mechanism."""


@dataclass(frozen=True)
class Ratio:
    """How many times a number is another one, over seeds that have both."""

    mean: float
    """Geometric mean of the seeds' ratios."""
    low: float
    high: float
    """Its 95 % interval, of Student's t on the logarithms; with one seed, the mean twice."""
    seeds: int

    def __str__(self) -> str:
        """Give it as a percentage with its interval."""
        if self.low == self.high == self.mean:
            return share_text(self.mean)
        return f"{share_text(self.mean)} (95 %: {share_text(self.low)} to {share_text(self.high)})"


def ratio(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """Divide numbers of the same seeds.

    On logarithms, since a ratio is no further from 1 than its inverse, and none is below 0.
    """
    if not all(over) or not all(under):
        raise NotMeasuredError("a ratio to 0 with some seed")
    logs = Spread.of([math.log(a / b) for a, b in zip(over, under, strict=True)])
    low, high = (logs.mean if end is None else end for end in (logs.ci_low, logs.ci_high))
    return Ratio(math.exp(logs.mean), math.exp(low), math.exp(high), logs.n)
