"""When the rates of competing flows are equal, and how equal they are in the end.

Both use the series of payload that receivers have (`output.flows`), from the last start of the
flows on: before that, some of them do not compete.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from backwater.numbers.statistics import jain
from backwater.numbers.units import time_ps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from backwater.numbers.rows import Rows
    from backwater.results import Run

CLOSE = 0.1
"""The share by which a rate may differ from the fair one: 10 %, as in section 7.3 of
draft-calabria-bmwg-ai-fabric-training-bench ("DCQCN Convergence Time")."""


def no_rates(scenario: Mapping[str, Any]) -> str | None:
    """Return why a scenario records no rates of flows; None: it records them."""
    output = scenario.get("output", {})
    if output.get("flows") and output.get("interval") is not None:
        return None
    return "the scenario records no rates of flows: output.flows and output.interval"


def _received(flows: Rows, run: Run) -> tuple[int, list[tuple[int, list[int]]]]:
    """Return the last start of flows in ps, and what each had received at later samples.

    Each entry has the time of a sample in ps, and the bytes by flow. Samples at which a flow is no
    longer active are left out.
    """
    import polars as pl

    from backwater.numbers.rows import scan

    about = flows.distinct("flow_id", "start_ps")
    numbers = {flow for flow, _ in about}
    last = max(start for _, start in about)
    series = scan(run, "series")
    if series is None:
        return last, []
    found = (
        series.filter(
            pl.col("quantity") == "flow_received_bytes",
            pl.col("flow").is_in(list(numbers)),
            pl.col("time_ps") >= last,
        )
        .sort("time_ps", "flow")
        .group_by("time_ps", maintain_order=True)
        .agg(pl.col("value"))
        .filter(pl.col("value").list.len() == len(numbers))
        .collect()
    )
    return last, [(int(time), [int(one) for one in values]) for time, values in found.rows()]


def convergence(flows: Rows, run: Run) -> int | None:
    """Return the time in ps from the last start until all rates are within `CLOSE` of their mean.

    It is the end of the first interval between two samples in which they are; None: in no interval.
    """
    if not len(flows):
        return None
    last, samples = _received(flows, run)
    interval = time_ps(str(run.scenario["output"]["interval"]))
    for (before, old), (time, new) in itertools.pairwise(samples):
        got = [one - other for one, other in zip(new, old, strict=True)]
        mean = sum(got) / len(got)
        whole = time - before == interval
        if whole and mean and all(abs(one - mean) <= CLOSE * mean for one in got):
            return time - last
    return None


def fairness_at_end(flows: Rows, run: Run) -> float | None:
    """Return Jain's index of what flows received in the second half of their common time.

    None if fewer than three samples have all of the flows, or none received anything.
    """
    if not len(flows):
        return None
    _, samples = _received(flows, run)
    if len(samples) < 3:
        return None
    old, new = samples[(len(samples) - 1) // 2][1], samples[-1][1]
    got = [one - other for one, other in zip(new, old, strict=True)]
    return jain(got) if any(got) else None
