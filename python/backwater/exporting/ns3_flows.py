"""Ports and start times of flows in the ns-3 code of HPCC and of ConWeave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.errors import InputError
from backwater.exporting.network import PS_PER_NS
from backwater.exporting.rows import nth, rows
from backwater.numbers.units import time_ps
from backwater.wording import meant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backwater.exporting import Options
    from backwater.results import Run

FIRST_SOURCE, FIRST_TARGET = 10_000, 100
"""The first port of a sender, and that of a receiver."""
NORMAL, INCAST = 100, 200
"""Ports of receivers by which HPCC's `fct_analysis` separates flows of an incast from others."""
PORTS = 1 << 16
"""The number of ports: they have 16 bits and wrap."""


def offset_ns(options: Options) -> int:
    """Return the exported time of time 0 of the run, in ns. Raises `InputError`."""
    return time_ps(options.offset, "--offset") // PS_PER_NS


def check_groups(run: Run, options: Options) -> None:
    """Raise `InputError` for groups of flows that the run does not have."""
    import pyarrow.compute as pc

    if not options.incast:
        return
    known = sorted(map(str, pc.unique(run.flows["group"]).to_pylist()))
    for group in options.incast:
        if group not in known:
            hint = meant(group, known, "the groups are")
            raise InputError(f"--incast {group}: the run has no such group of flows", hint)


def ports(run: Run, options: Options) -> Iterator[tuple[int, int]]:
    """Yield the ports of sender and receiver of each flow, in the order of the table `flows`.

    HPCC counts senders' ports for each pair of hosts, and its flow files name receivers' ports.
    ConWeave counts senders' ports for each sender, and receivers' ports for each receiver.
    """
    if options.ids == "node":
        for source, target in zip(nth(run, "src"), nth(run, "dst"), strict=True):
            yield (FIRST_SOURCE + source) % PORTS, (FIRST_TARGET + target) % PORTS
        return
    check_groups(run, options)
    incast = set(options.incast)
    groups = rows(run, "flows", ["group"])
    for source, (group,) in zip(nth(run, "src", "dst"), groups, strict=True):
        yield (FIRST_SOURCE + source) % PORTS, INCAST if group in incast else NORMAL
