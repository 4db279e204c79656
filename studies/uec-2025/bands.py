"""Write the rows of `published.toml`, each with a band by a rule.

    python studies/uec-2025/bands.py

The numbers are from `peer.csv` and `peer-one-path.csv`. README.md explains the rules and the source
of each number in them. Results of our own runs must not decide a band: to change a band, change
this file. A test compares `published.toml` with it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
MARK = "# --- Rows: written by bands.py ---\n"

NSCC, RCCC, BOTH = "nscc", "rccc", "both"
ALL = (NSCC, RCCC, BOTH)
CREDIT = (RCCC, BOTH)
QUANTITIES = ("least", "last", "retransmissions")


@dataclass(frozen=True)
class Peer:
    """A published number, and the results of the same command with other seeds."""

    published: float
    low: float
    """The least of the published number and those of the other seeds."""
    high: float
    """The greatest of these numbers."""
    middle: float
    """Their median if each seed's number is known; otherwise the published number."""


@dataclass(frozen=True)
class Band:
    """Both ends of a band, or why it has none (`backwater.study.definition.APART`)."""

    ends: tuple[float, float] | None
    apart: str | None = None
    over: str = "mean"


Rule = Callable[[Peer], Band]


def _holding(peer: Peer, low: float, high: float) -> Band:
    """Return a band that includes all results of UEC's own program."""
    return Band((min(low, peer.low), max(high, peer.high)))


def within(low: float, high: float) -> Rule:
    """Return the rule of a band from one value to another."""
    return lambda peer: _holding(peer, low, high)


def around(width: float) -> Rule:
    """Return the rule of a band of `width` on either side of the published number."""
    return lambda peer: _holding(peer, peer.published - width, peer.published + width)


def share(part: float) -> Rule:
    """Return the rule of a band of a share of the published number on either side."""
    return lambda peer: around(part * peer.published)(peer)


def factor(times: float) -> Rule:
    """Return the rule of a band of a factor either way."""
    return lambda peer: _holding(peer, peer.published / times, peer.published * times)


def few_or(other: Rule) -> Rule:
    """Return the rule of a band up to ten if ten or fewer are published; else another rule."""
    return lambda peer: within(0, 10)(peer) if peer.published <= 10 else other(peer)


def by_spread(least: float) -> Rule:
    """Return the rule of a band of the range of the program's results, or of a share at least."""
    return lambda peer: around(max(peer.high - peer.low, least * peer.published))(peer)


def median_share(part: float) -> Rule:
    """Return the rule of a band for our median: a share of the program's on either side."""
    return lambda peer: Band((peer.middle * (1 - part), peer.middle * (1 + part)), over="median")


def median_factor(times: float) -> Rule:
    """Return the rule of a band for our median: a factor of the program's either way."""
    return lambda peer: Band((peer.middle / times, peer.middle * times), over="median")


def chaotic(_: Peer) -> Band:
    """Return no band: chance decides which flow is first."""
    return Band(None, "chaotic")


def distribution(_: Peer) -> Band:
    """Return no band: a claim compares the distributions."""
    return Band(None, "distribution")


EXACT = around(0.01)
NONE = around(0)

FAMILIES: tuple[tuple[str, tuple[str, ...], tuple[Rule, Rule, Rule]], ...] = (
    (r"one|\d+-packets-.*", ALL, (EXACT, EXACT, NONE)),
    (r"both-ways", (NSCC,), (EXACT, EXACT, NONE)),
    (r"both-ways", CREDIT, (around(0.7), around(0.4), NONE)),
    (r"outcast-incast", (NSCC,), (EXACT, around(0.2), NONE)),
    (r"outcast-incast", CREDIT, (by_spread(0.001), by_spread(0.001), NONE)),
    (r"incast-16", (NSCC,), (chaotic, within(2446, 2520), within(740, 860))),
    (r"incast-16", CREDIT, (within(2340, 2415), within(2462, 2467), within(745, 780))),
    (r"overlapped", (NSCC,), (within(110, 160), within(216, 230), within(75, 85))),
    (r"overlapped", (RCCC,), (within(110, 160), within(216.8, 217.4), within(45, 52))),
    (r"overlapped", (BOTH,), (within(110, 160), within(217.25, 217.85), within(45, 52))),
    (r"permutation-16", ALL, (within(184, 191), within(190, 204), within(0, 10))),
    (r"permutation-16-slow", (RCCC,), (within(183, 192), within(226, 250), within(250, 380))),
    (r"permutation-16-slow", (NSCC, BOTH), (within(183, 192), within(226, 250), within(50, 120))),
    (r"permutation-16-one-path", ALL, (distribution, median_share(0.15), median_factor(1.5))),
    (r"incast-128|incast-1024", (NSCC,), (chaotic, share(0.007), share(0.04))),
    (r"incast-128|incast-1024", CREDIT, (share(0.02), share(0.007), share(0.04))),
    (r"permutation-1024-one-path", (RCCC,), (share(0.01), share(0.1), factor(1.5))),
    (r"permutation-1024-one-path", (NSCC, BOTH), (share(0.01), share(0.1), share(0.1))),
    (r"permutation-1024-[48]-to-1", ALL, (share(0.01), share(0.04), share(0.1))),
    (
        r"permutation-1024-oblivious-slow-8.*",
        ALL,
        (share(0.01), share(0.089), few_or(factor(1.5))),
    ),
    (r"permutation-1024-.*-slow-8.*", ALL, (share(0.01), share(0.044), few_or(factor(1.5)))),
    (r"permutation-1024.*", ALL, (share(0.01), share(0.04), few_or(factor(1.5)))),
)
"""Case, controls, and the rules of the least finish, the last finish and the retransmissions; the
first match counts."""


def rules(case: str, control: str) -> tuple[Rule, Rule, Rule]:
    """Return the rules of a case under a control."""
    return next(
        found
        for pattern, controls, found in FAMILIES
        if re.fullmatch(pattern, case) and control in controls
    )


def read(name: str) -> list[dict[str, str]]:
    """Read a table of the study."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _column(quantity: str) -> str:
    return quantity if quantity == "retransmissions" else f"{quantity}_us"


def _peer(row: dict[str, str], quantity: str, alone: dict[str, list[dict[str, str]]]) -> Peer:
    published = float(row[_column(quantity)])
    seeds = [float(row[f"{quantity}_{end}"] or published) for end in ("low", "high")]
    middle = published
    if row["case"] == "permutation-16-one-path":
        middle = median(float(one[_column(quantity)]) for one in alone[row["control"]])
    return Peer(published, min(published, *seeds), max(published, *seeds), middle)


def _number(value: float) -> str:
    return f"{round(value, 4):.10g}"


def rows() -> str:
    """Return the text of all rows."""
    alone: dict[str, list[dict[str, str]]] = {}
    for one in read("peer-one-path.csv"):
        alone.setdefault(one["control"], []).append(one)
    lines = []
    for row in read("peer.csv"):
        lines.append(f"\n# {row['file']}: {row['experiment']}\n")
        found = rules(row["case"], row["control"])
        for quantity, rule in zip(QUANTITIES, found, strict=True):
            band = rule(_peer(row, quantity, alone))
            lines += [
                "[[row]]\n",
                f'case = "{row["case"]}"\n',
                f'mechanism = "{row["control"]}"\n',
            ]
            if band.ends is None:
                lines.append(f'apart = "{band.apart}"\n')
            else:
                low, high = (_number(end) for end in band.ends)
                lines.append(f"band_range = [{low}, {high}]\n")
            if band.over != "mean":
                lines.append(f'over = "{band.over}"\n')
            lines.append(f"values = {{ {quantity} = {row[_column(quantity)]} }}\n")
    return "".join(lines)


def written(text: str) -> str:
    """Return the text of `published.toml` with its rows replaced."""
    head, mark, _ = text.partition(MARK)
    return head + mark + rows()


if __name__ == "__main__":
    path = HERE / "published.toml"
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
