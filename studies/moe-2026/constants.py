"""Fit the one constant of each set-up, and print what could be said without a network.

    python studies/moe-2026/constants.py

It prints the constants that study.toml has, and the page's table of models without a network. A fit
reads the numbers of EP 16 alone, which published.toml leaves apart, and of UCCL's test of two
servers that of the largest messages between rails. No run of the simulator is part of it.

On N servers a share of 1 - 1/N of a token's copies leaves the sender's server, on the mean. The
published bandwidth counts all copies: with F bytes a second through a GPU's interface it is

    F / (1 - 1/N)

and it is as much for FP8 and BF16.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

WIRE_GBPS = 50 * 4096 / (4096 + 62 + 20)
"""Payload at 400 Gb/s in GB/s: frames of RoCEv2 with 4096 B, as scenario.toml has them."""

PER_SERVER = 8
BAND = 0.10
FITTED = 16
"""The number of GPUs whose numbers a fit reads."""
OTHER = 32
"""The same of the fit that was chosen by outcome."""

SETUPS = {
    "deepep": "DeepEP V1, H800, CX7",
    "cx7": "UCCL-EP, MI300X, CX7",
    "pollara": "UCCL-EP, MI355X, Pollara",
    "thor2": "UCCL-EP, MI300X, Thor2",
    "b200": "UCCL-EP, P6-B200, EFA",
}

SCALE_UP = {
    "deepep": {"dispatch": 153.0, "combine": 158.0},
    "cx7": {"dispatch": 260.0, "dispatch16": 295.0, "combine": 304.0},
    "pollara": {"dispatch": 299.0, "dispatch16": 336.0, "combine": 333.0},
    "b200": {"dispatch": 280.0, "combine": 426.0},
}
"""Published bandwidth inside one server (EP 8) in GB/s, from the same tables: "Intranode"."""

EXPERTS, TOP_K, SERVERS_OF_A_TOKEN = 256, 8, 4


@dataclass(frozen=True)
class Published:
    """A published bandwidth of dispatch or combine."""

    setup: str
    gpus: int
    quantity: str
    """`dispatch`, `dispatch16` or `combine`."""
    bandwidth: float
    """All copies over the time, in GB/s."""

    @property
    def remote(self) -> float:
        """The share of a token's copies that leaves the sender's server."""
        return 1 - PER_SERVER / self.gpus


def published(mechanism: str = "host model") -> list[Published]:
    """Return the bandwidths of dispatch and combine in the order of published.toml."""
    found = []
    for row in tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))["row"]:
        setup, _, size = row["case"].partition("-ep")
        if setup in SETUPS and row["mechanism"] == mechanism:
            found += [
                Published(setup, int(size), quantity, float(value))
                for quantity, value in row["values"].items()
            ]
    return found


def feed_rate(rows: list[Published], setup: str, gpus: int = FITTED) -> float:
    """Return the rate F of a set-up in GB/s, to 0.1 Gb/s: least squares of log at EP `gpus`.

    That is the geometric mean of its bandwidths there, times the share that leaves the server. It
    is at most what the wire carries.
    """
    logs = [
        math.log(row.bandwidth * row.remote)
        for row in rows
        if row.setup == setup and row.gpus == gpus
    ]
    return round(8 * min(math.exp(sum(logs) / len(logs)), WIRE_GBPS), 1) / 8


def modelled(row: Published, rate_gbps: float) -> float:
    """Return F / (1 - 1/N) in GB/s."""
    return rate_gbps / row.remote


def own_constant(rows: list[Published], row: Published) -> float:
    """Return the null model: time in proportion to the bytes that leave, scaled at EP 16.

    It has a constant for each series, so that it is exact there.
    """
    [first] = [
        one
        for one in rows
        if (one.setup, one.quantity, one.gpus) == (row.setup, row.quantity, FITTED)
    ]
    return first.bandwidth * first.remote / row.remote


def reached(parts: int) -> float:
    """Return among how many of `parts` equal groups of experts a token's top-k lie, on the mean."""
    missed = math.comb(EXPERTS - EXPERTS // parts, TOP_K) / math.comb(EXPERTS, TOP_K)
    return parts * (1 - missed)


def forwarded(row: Published) -> float | None:
    """Return what the slower of wire and scale-up network allows in GB/s: chosen by outcome.

    Every GPU with one of a token's experts receives a copy over NVLink or xGMI, at the rate that
    the same table prints for one server. None: it prints none.
    """
    rate = SCALE_UP.get(row.setup, {}).get(row.quantity)
    if rate is None:
        return None
    servers = min(row.gpus // PER_SERVER, SERVERS_OF_A_TOKEN)
    # Of 24 GPUs, whose experts 256 does not divide by, as if it did.
    copies, receivers = reached(servers), reached(servers * PER_SERVER)
    return min(WIRE_GBPS / row.remote, rate * copies / receivers)


def main() -> None:
    """Print the constants and the models without a network."""
    rows = published()
    for setup, title in SETUPS.items():
        rate = feed_rate(rows, setup)
        other = 8 * feed_rate(rows, setup, OTHER)
        print(f"{title}: feed_rate = {8 * rate:.1f} Gb/s; of EP {OTHER}: {other:.1f} Gb/s")
    titles = ("set-up", "EP", "quantity", "published", "wire alone", "one constant", "null model")
    print(f"\n| {' | '.join(titles)} |\n{len(titles) * '|---'}|")
    hits = [0, 0, 0, 0]
    for row in rows:
        models = (
            modelled(row, WIRE_GBPS),
            modelled(row, feed_rate(rows, row.setup)),
            own_constant(rows, row),
        )
        words = [f"{one:.1f} ({100 * (one / row.bandwidth - 1):+.1f} %)" for one in models]
        print(
            f"| {SETUPS[row.setup]} | {row.gpus} | {row.quantity} | {row.bandwidth:.0f} "
            f"| {' | '.join(words)} |"
        )
        if row.gpus != FITTED:
            found = [abs(one / row.bandwidth - 1) <= BAND for one in models]
            hits = [a + b for a, b in zip(hits, [True, *found], strict=True)]
    print(f"\nWithin 10 %, EP {FITTED} apart: {hits[1]}, {hits[2]} and {hits[3]} of {hits[0]}.")
    _forwarding(rows)


def _forwarding(rows: list[Published]) -> None:
    """Print what leaves an interface, and the model with the scale-up network."""
    titles = (
        "set-up",
        "quantity",
        "EP",
        "leaves an interface, GB/s",
        "of the wire, %",
        "forwarded",
    )
    print(f"\n| {' | '.join(titles)} |\n{len(titles) * '|---'}|")
    bounds = {row: forwarded(row) for row in rows}
    first = {(row.setup, row.quantity): row for row in rows if row.gpus == FITTED}
    near = shaped = count = 0
    for row, bound in bounds.items():
        leaves = row.bandwidth * row.remote
        start = first[row.setup, row.quantity]
        words = "-"
        if bound is not None:
            words = f"{bound:.1f} ({100 * (bound / row.bandwidth - 1):+.1f} %)"
            if row is not start:
                ratio = bound / row.bandwidth / (bounds[start] or math.inf) * start.bandwidth
                count += 1
                near += abs(bound / row.bandwidth - 1) <= BAND
                shaped += abs(ratio - 1) <= BAND
        print(
            f"| {SETUPS[row.setup]} | {row.quantity} | {row.gpus} | {leaves:.1f} "
            f"| {100 * leaves / WIRE_GBPS:.0f} | {words} |"
        )
    print(f"\nForwarded, EP {FITTED} apart: {near} of {count} within 10 %, {shaped} in shape.")


if __name__ == "__main__":
    main()
