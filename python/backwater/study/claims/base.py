"""Types and functions that the claims of all studies share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from backwater.numbers.repeats import Spread
from backwater.wording import share_text


class NotKnownError(LookupError):
    """The plan, or the document, has no number that a claim needs."""


class NotMeasuredError(LookupError):
    """A number that a claim needs is planned, but its run did not yield it."""


class Numbers(Protocol):
    """Numbers for predicates, by case, mechanism, name of the measure, and setup.

    `setup` is a setup beside the table, or the table's own. All methods may raise `NotKnownError`
    and `NotMeasuredError`.
    """

    def value(self, case: str, mechanism: str, quantity: str, setup: str = "") -> float:
        """Return the mean over the seeds."""

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = "") -> list[float]:
        """Return the number of every seed, in the order of seeds."""

    def interval(
        self, case: str, mechanism: str, quantity: str, setup: str = ""
    ) -> tuple[float, float]:
        """Return the 95 % confidence interval of the mean; with one seed, its number twice."""


@dataclass(frozen=True)
class Finding:
    """The result of a predicate."""

    holds: bool
    value: float
    """The most telling number, in `unit`."""
    unit: str
    detail: str
    """The numbers behind the verdict, for people."""
    cases: str
    mechanism: str
    """The mechanism of the claim; the null model replaces this one."""
    seeds: int | None = None
    """The number of seeds of the interval on which it rests; None: it rests on no interval."""


Predicate = Callable[[Numbers], Finding]


class Claims(dict[str, Predicate]):
    """The predicates of a study by the ids of its claims."""

    def claim(self, name: str) -> Callable[[Predicate], Predicate]:
        """Register a predicate under the id of its claim."""

        def register(predicate: Predicate) -> Predicate:
            self[name] = predicate
            return predicate

        return register


def with_interval(spread: Spread, unit: str = "", digits: int = 1) -> str:
    """Return a mean over seeds and its 95 % interval, if it has one, as text."""
    mean = f"{spread.mean:.{digits}f}{unit}"
    if spread.ci_low is None or spread.ci_high is None:
        return mean
    return f"{mean} ({spread.ci_low:.{digits}f} to {spread.ci_high:.{digits}f})"


def reductions(n: Numbers, case: str, quantity: str, mechanism: str, since: str) -> list[float]:
    """Return by how many % a mechanism is below another one, for each seed.

    Raises `NotMeasuredError` if the other one has 0 with any seed.
    """
    before, after = (n.samples(case, name, quantity) for name in (since, mechanism))
    if not all(before):
        raise NotMeasuredError(f"{since}: {quantity} is 0 with some seed")
    return [100 * (1 - a / b) for a, b in zip(after, before, strict=True)]


def reduction(n: Numbers, case: str, quantity: str, mechanism: str, since: str) -> Spread:
    """Return the spread of `reductions` over the seeds."""
    return Spread.of(reductions(n, case, quantity, mechanism, since))


def mean_ratios(n: Numbers, cases: Sequence[str], quantity: str, by: str, over: str) -> list[float]:
    """Return the mean under a mechanism over that under another one, for each case."""
    return [n.value(case, by, quantity) / n.value(case, over, quantity) for case in cases]


def changes_text(ratios: Sequence[float]) -> str:
    """Return ratios as changes in %."""
    return ", ".join(f"{100 * (ratio - 1):+.1f} %" for ratio in ratios)


Place = tuple[str, str]
"""A case and a mechanism."""


@dataclass(frozen=True)
class Ratio:
    """The ratio of two numbers, over seeds that have both."""

    mean: float
    """Geometric mean of the seeds' ratios."""
    low: float
    high: float
    """Its 95 % interval, by Student's t on the logarithms; with one seed, the mean twice."""
    seeds: int

    def __str__(self) -> str:
        """Return the ratio as a percentage with its interval."""
        if self.low == self.high == self.mean:
            return share_text(self.mean)
        return f"{share_text(self.mean)} (95 %: {share_text(self.low)} to {share_text(self.high)})"


def ratio(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """Divide numbers of the same seeds; raises `NotMeasuredError` if any of them is 0.

    The mean is of logarithms: a ratio and its inverse then lie equally far from 1, and the interval
    stays above 0.
    """
    if not all(over) or not all(under):
        raise NotMeasuredError("a ratio to 0 with some seed")
    logs = Spread.of([math.log(a / b) for a, b in zip(over, under, strict=True)])
    return Ratio(math.exp(logs.mean), math.exp(logs.low), math.exp(logs.high), logs.n)
