"""Bus bandwidth over the size of a collective: published, and measured with and without hosts."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.numbers.units import size_bytes
from backwater.plot.panels import grid, panel
from backwater.study.key import TABLE, Key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from altair.typing import ChartType

    from backwater.study import Outcome

MEASURES = ("busbw", "time")
"""Bandwidth, and the time whose published numbers stand for it where a source prints times."""

FRAME = pl.Schema({"mechanism": pl.String, "size": pl.Float64, "busbw": pl.Float64})


def draw(
    outcome: Outcome, series: Mapping[str, str], mechanisms: Sequence[str] | None = None
) -> ChartType:
    """Draw a panel for each of `series`: prefixes of cases, with the panel's title.

    A published time counts as the bandwidth that it means: bandwidth is inverse to time, so it is
    the measured bandwidth times measured over published time.
    """
    known = list(outcome.study.mechanisms)
    cells = []
    for prefix, heading in series.items():
        measured, published = _points(outcome, prefix, mechanisms or known)
        if not measured.is_empty():
            cells.append(panel(measured, published, _axes(measured, published), heading, known))
    return grid(cells, "Bus bandwidth by size", "Both axes are logarithmic.")


def _points(
    outcome: Outcome, prefix: str, mechanisms: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the measured and the published bandwidths of the cases with a prefix, in GB/s."""
    measured: list[dict[str, Any]] = []
    published: dict[float, float] = {}
    for case in outcome.study.cases:
        match = re.fullmatch(re.escape(prefix) + r"-(\d+)([MG]iB)", case.id)
        if match is None:
            continue
        size = float(size_bytes(f"{match[1]} {match[2]}"))
        for mechanism in mechanisms:
            point = outcome.points.get(Key(case.id, mechanism, TABLE))
            if point is None:
                continue
            found = {name: point[name].statistic("mean", None) for name in MEASURES}
            rate, time = (found[name] for name in MEASURES)
            if rate is None or time is None:
                continue
            rate = _of_all_ranks(prefix, size, time) or rate
            measured.append({"mechanism": mechanism, "size": size, "busbw": rate})
            told = {name: outcome.study.published(case.id, mechanism, name) for name in MEASURES}
            if told["busbw"] is not None:
                published[size] = told["busbw"]
            elif told["time"] is not None:
                published[size] = rate * time / told["time"]
    numbers = [{"mechanism": "", "size": size, "busbw": rate} for size, rate in published.items()]
    return pl.DataFrame(measured, schema=FRAME), pl.DataFrame(numbers, schema=FRAME)


def _of_all_ranks(prefix: str, size: float, time: float) -> float | None:
    """Return the bus bandwidth of a case that runs a part of its collective, in GB/s.

    On GB200 a run is one channel of many, which has the time of all, and not their bytes. The
    bandwidth is that of nccl-tests (doc/PERFORMANCE.md), with n ranks: size / time x 2 (n - 1)/n.
    """
    ranks = re.fullmatch(r"gb200-(\d+)", prefix)
    if ranks is None:
        return None
    n = int(ranks[1])
    return size / time * 2 * (n - 1) / n / 1e3


def _axes(measured: pl.DataFrame, published: pl.DataFrame) -> tuple[alt.X, alt.Y]:
    ticks = sorted(set(measured["size"].to_list()))
    low, high = ticks[0], ticks[-1]
    # Vega has no binary prefixes: a label is the size in MiB, or in GiB from there on.
    label = (
        f"datum.value >= {2**30} ? datum.value / {2**30} + ' GiB' : datum.value / {2**20} + ' MiB'"
    )
    # Eight labels are too many for a panel: every second one, from the largest on.
    named = ticks[::-1][:: 1 if len(ticks) <= 5 else 2]
    across = alt.X(
        "size:Q",
        title=None,
        scale=alt.Scale(type="log", base=2, domain=[low / 1.3, high * 1.3], nice=False),
        axis=alt.Axis(values=sorted(named), labelExpr=label),
    )
    every = [*measured["busbw"].to_list(), *published["busbw"].to_list()]
    # Whole decades would leave most of a panel empty.
    domain = [min(every) / 1.15, max(every) * 1.15]
    up = alt.Y(
        "busbw:Q",
        title="GB/s",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=alt.Axis(values=_ticks(*domain), format="~g"),
    )
    return across, up


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers on a logarithmic axis: 1, 2 and 5, or tens where it is short."""
    if high < 5 * low:
        decade = 10.0 ** math.floor(math.log10(high - low))
        whole = (high - low) / decade
        step = decade * (0.5 if whole <= 2 else 1 if whole <= 4 else 2)
        first = math.ceil(low / step)
        return [step * number for number in range(first, math.floor(high / step) + 1)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**d for d in decades for m in (1, 2, 5) if low <= m * 10.0**d <= high]


CHARTS = {"by-size": draw}
