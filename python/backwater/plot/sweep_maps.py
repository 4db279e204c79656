"""Charts of a sweep without curves: heat maps of two keys, and effects of keys on a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.plot.theme import BLUE, GREYS, INK, title
from backwater.sweep.effects import CLEAR, written
from backwater.sweep.points import SweepPoints, order
from backwater.sweep.values import shown
from backwater.wording import many, with_unit

if TYPE_CHECKING:
    from altair.typing import ChartType

TIMES = " \u00d7 "
# The width of a cell with a number, the most such cells in a row, and the width of larger maps.
_CELL, _CELLS, _WIDTH = 58, 16, 560
NOISE = "not significant"


class SweepMaps(SweepPoints):
    """Maps and effects."""

    def heat(self, across: str, up: str, metric: str) -> ChartType:
        """Draw a metric over two keys as shades, with numbers if there is room.

        A cell is the mean over all other keys, which the chart names. Raises `InputError` if a key
        has fewer than two values.
        """
        cells = self.cells(across, up, metric)
        columns, lines = (sorted({cell[n] for cell in cells.means}, key=order) for n in (0, 1))
        frame = pl.DataFrame(
            [
                {"across": shown(across, x), "up": shown(up, y), "value": value}
                for (x, y), value in cells.means.items()
            ]
        )
        middle = (float(frame["value"].min()) + float(frame["value"].max())) / 2  # type: ignore[arg-type]
        numbered = len(columns) <= _CELLS and len(lines) <= _CELLS
        base = alt.Chart(frame).encode(
            x=alt.X(
                "across:O",
                title=across,
                sort=[shown(across, x) for x in columns],
                axis=alt.Axis(labelAngle=-30, domain=False, ticks=False),
            ),
            y=alt.Y("up:O", title=up, sort=[shown(up, y) for y in reversed(lines)]),
        )
        scale = alt.Scale(range=["#e8f1fa", "#08306b"])
        named = with_unit(metric, self.units.get(metric, ""))
        layers: list[Any] = [
            base.mark_rect(stroke="white").encode(
                color=alt.Color(
                    "value:Q", title=named, scale=scale, legend=alt.Legend(orient="right")
                ),
                tooltip=["across", "up", alt.Tooltip("value", format=".6")],
            )
        ]
        if numbered:
            light = alt.condition(alt.datum.value > middle, alt.value("white"), alt.value(INK))
            layers.append(
                base.mark_text(fontSize=11).encode(
                    text=alt.Text("value:Q", format=".4~g"), color=light
                )
            )
        wide, high = (_CELL * len(columns), 26 * len(lines)) if numbered else (_WIDTH, 300)
        below = [cells.over] if cells.over else []
        drawn: ChartType = alt.layer(*layers).properties(
            width=wide, height=high, title=title(f"{metric} over {across} and {up}", *below)
        )
        return drawn

    def effects(self, metric: str) -> ChartType:
        """Draw how much of a metric is due to each key, and to pairs of keys.

        For a full factorial these are shares of the variance, else Spearman's rank correlations.
        Effects that are not significant are grey. Raises `InputError` if neither can be computed.
        """
        found = self.depends(metric)
        low = 0
        if found.analysis is not None:
            parts = [(TIMES.join(e.keys), e.share, e.p, e.clear) for e in found.analysis.effects]
            seeds = found.analysis.seeds
            what, form = "share of the variance", "%"
            below = [f"a key alone, and pairs of keys ({TIMES.strip()}) beyond the sum of both"]
            test = f"F test over {many(seeds, 'seed')}"
        else:
            parts = [(one.key, one.rho, one.p, one.clear) for one in found.ranks]
            what, form, low = "rank correlation (Spearman)", "+.1f", -1
            below = ["1: it always grows with the key; -1: it always falls"]
            test = "over the points"
        if not parts:
            raise InputError(f"{metric}: its effects are unknown", "vary two keys or more")
        if parts[0][2] is None:
            below.append("one seed: the share of noise is unknown")
        else:
            below.append(
                f"p: {test}, corrected for {len(parts)}; grey: {NOISE} (p of {CLEAR:.0%} or more)"
            )
        if found.variant:
            below.append(f"variant {found.variant}")
        rows = [
            {
                "name": name if p is None else f"{name} ({written(p) if clear else NOISE})",
                "value": value,
                "p": p,
                "clear": clear or p is None,
            }
            for name, value, p, clear in parts
        ]
        drawn: ChartType = (
            alt.Chart(pl.DataFrame(rows, schema_overrides={"p": pl.Float64}))
            .mark_bar(size=16)
            .encode(
                x=alt.X(
                    "value:Q",
                    title=what,
                    axis=alt.Axis(format=form, grid=True, tickCount=10),
                    scale=alt.Scale(domain=[low, 1]),
                ),
                y=alt.Y("name:N", title=None, sort=[str(row["name"]) for row in rows]),
                color=alt.condition(alt.datum.clear, alt.value(BLUE), alt.value(GREYS[1])),
                tooltip=["name", alt.Tooltip("value", format=".4"), alt.Tooltip("p", format=".2")],
            )
            .properties(
                width=420, height=26 * len(rows), title=title(f"What {metric} depends on", *below)
            )
        )
        return drawn
