"""The claims of the study moe-2026: rails beside an incast, and what one constant explains."""

from __future__ import annotations

from functools import cache

from backwater.study.claims._nearer import nearer
from backwater.study.claims.base import Claims, Finding, NotMeasuredError, Numbers
from backwater.study.definition import STUDIES, toml

ALONE, HOSTS, PAIRS = "network alone", "host model", "queue pairs"
SENT = "sent"
BAND = 0.1
"""The accepted deviation of a ratio from the published one: that of the rows."""

FP8, BF16 = 7392, 14336
"""Bytes of a copy: 7168 values of a byte with a scale of 4 B for each 128, and of two bytes."""

FIRST = 16
"""The number of GPUs that the others are relative to, and whose numbers were fitted."""

CLAIMS = Claims()

Published = dict[str, dict[str, float]]


@cache
def published() -> Published:
    """Return the published numbers by case and quantity."""
    rows = toml(STUDIES / "moe-2026" / "published.toml")["row"]
    return {
        row["case"]: {name: float(value) for name, value in row["values"].items()}
        for row in rows
        if row["mechanism"] == HOSTS
    }


def place(case: str) -> tuple[str, int]:
    """Return set-up and GPUs of a case of dispatch and combine: `cx7-ep32` is ("cx7", 32)."""
    setup, _, gpus = case.partition("-ep")
    return setup, int(gpus)


def experts() -> list[str]:
    """Return the cases of dispatch and combine in their order."""
    return [case for case in published() if "-ep" in case]


def sizes() -> list[str]:
    """Return the lengths of messages by the names that cases have, from the shortest on."""
    return [case.removeprefix("rail-") for case in published() if case.startswith("rail-")]


def advantage(n: Numbers, size: str, other: str = "cross", mechanism: str = HOSTS) -> float:
    """Return how many times as fast two servers send between rails as in another order."""
    slow = n.value(f"{other}-{size}", mechanism, SENT)
    if slow == 0:
        raise NotMeasuredError(f"{other}-{size}: nothing was sent")
    return n.value(f"rail-{size}", mechanism, SENT) / slow


def told(size: str) -> float:
    """Return the published advantage of rails."""
    return published()[f"rail-{size}"][SENT] / published()[f"cross-{size}"][SENT]


def _within(measured: float, expected: float) -> bool:
    return abs(measured / expected - 1) <= BAND


def _largest(n: Numbers, mechanism: str) -> Finding:
    size = sizes()[-1]
    found = advantage(n, size, mechanism=mechanism)
    return Finding(
        holds=_within(found, told(size)),
        value=found,
        unit="ratio",
        detail=f"{found:.2f} times (published {told(size):.2f})",
        cases=f"rail-{size},cross-{size}",
        mechanism=mechanism,
    )


@CLAIMS.claim("rails-win")
def rails_win(n: Numbers) -> Finding:
    """With the largest messages the advantage is within 10 % of the published one."""
    return _largest(n, HOSTS)


@CLAIMS.claim("pairs-decide")
def pairs_decide(n: Numbers) -> Finding:
    """It is so with a queue pair for each receiver."""
    return _largest(n, PAIRS)


@CLAIMS.claim("rails-win-always")
def rails_win_always(n: Numbers) -> Finding:
    """At every size the advantage is within 10 % of the published one."""
    found = {size: advantage(n, size) for size in sizes()}
    return Finding(
        holds=all(_within(ratio, told(size)) for size, ratio in found.items()),
        value=min(found.values()),
        unit="ratio",
        detail=", ".join(f"{size} {ratio:.2f} ({told(size):.2f})" for size, ratio in found.items()),
        cases=",".join(f"{one}-{size}" for size in found for one in ("rail", "cross")),
        mechanism=HOSTS,
    )


@CLAIMS.claim("order-decides")
def order_decides(n: Numbers) -> Finding:
    """In a random order rails gain less than half of what they gain over an order by receiver."""
    size = sizes()[-1]
    ordered, shuffled = advantage(n, size), advantage(n, size, "random")
    return Finding(
        holds=shuffled - 1 < (ordered - 1) / 2,
        value=shuffled,
        unit="ratio",
        detail=f"{shuffled:.2f} times in a random order, {ordered:.2f} by receiver",
        cases=f"rail-{size},cross-{size},random-{size}",
        mechanism=HOSTS,
    )


@CLAIMS.claim("shape")
def shape(n: Numbers) -> Finding:
    """The bandwidth relative to EP 16 is within 10 % of the published ratio, in every series."""
    cases, words, worst = [], [], 0.0
    held = True
    for case in experts():
        setup, gpus = place(case)
        first = f"{setup}-ep{FIRST}"
        if gpus == FIRST:
            continue
        cases.append(case)
        for name, number in published()[case].items():
            measured = n.value(case, HOSTS, name) / n.value(first, HOSTS, name)
            expected = number / published()[first][name]
            held = held and _within(measured, expected)
            worst = max(worst, measured / expected - 1, key=abs)
            words.append(f"{case} {name} {measured:.2f} ({expected:.2f})")
    return Finding(
        holds=held,
        value=100 * worst,
        unit="%",
        detail=", ".join(words),
        cases=",".join(cases),
        mechanism=HOSTS,
    )


@CLAIMS.claim("half-the-time")
def half_the_time(n: Numbers) -> Finding:
    """The time of a dispatch over that of a combine is within 10 % of the published ratio."""
    found = {
        case: (
            FP8 / BF16 * n.value(case, HOSTS, "combine") / n.value(case, HOSTS, "dispatch"),
            FP8 / BF16 * published()[case]["combine"] / published()[case]["dispatch"],
        )
        for case in experts()
        if place(case)[1] != FIRST
    }
    return Finding(
        holds=all(_within(*pair) for pair in found.values()),
        value=max((one for one, _ in found.values()), key=lambda one: abs(one - FP8 / BF16)),
        unit="ratio",
        detail=", ".join(f"{case} {one:.3f} ({other:.3f})" for case, (one, other) in found.items()),
        cases=",".join(found),
        mechanism=HOSTS,
    )


def judged() -> list[tuple[str, str, float]]:
    """Return case, quantity and number of all rows of `HOSTS` that nothing was fitted to."""
    rows = toml(STUDIES / "moe-2026" / "published.toml")["row"]
    return [
        (row["case"], name, float(value))
        for row in rows
        if row["mechanism"] == HOSTS and "apart" not in row
        for name, value in row["values"].items()
    ]


@CLAIMS.claim("host-explains")
def host_explains(n: Numbers) -> Finding:
    """The host model is nearer to the published number at four of five numbers, or more."""
    return nearer(n, judged(), HOSTS, ALONE, "numbers")
