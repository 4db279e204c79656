"""Charts of a sweep: curves over a key, heat maps of two, fronts of two metrics, effects.

    sweep = backwater.open_sweep("results/hot-sweep")
    SweepPlots(sweep).curve("sfc.threshold", ["pauses", "max_fct:incast"])

Whiskers are 95 % intervals of means over seeds.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.plot.theme import COLOURS, FAINT, INK, VERMILLION, colour, shape, title
from backwater.sweep.findings import Design, designs, effects, front, ranks
from backwater.sweep.values import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair.typing import ChartType

    from backwater.numbers.repeats import Spread
    from backwater.sweep.dataset import Sweep

WIDTH, HEIGHT = 560, 170
TIMES = " \u00d7 "
# Characters that a line of the legend has room for.
_LEGEND = 84
_SERIES = len(COLOURS)
# A cell with its number in it is so wide, and so many of them have room.
_CELL, _CELLS = 58, 16
_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B")),
    "ps": ((1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1, "ps")),
    "b/s": ((1e9, "Gb/s"), (1e6, "Mb/s"), (1, "b/s")),
}


class SweepPlots:
    """Draws the points of a sweep."""

    def __init__(self, sweep: Sweep) -> None:
        """Read the points. Raises `ResultError`."""
        self._rows = sweep.points.to_pylist()
        self.keys = [axis["key"] for axis in sweep.manifest["axes"]]
        self.units = {column.name: column.unit for column in sweep.columns}
        self.metrics = [column.name for column in sweep.columns if column.role == "metric"]
        self.answer = sweep.manifest.get("answer")
        found = designs(self._rows, self.keys)
        # Points lie in the order of their ids, which says nothing.
        self.designs = sorted(found, key=lambda one: (one.variant, *map(_order, one.values)))
        self.variants = list(dict.fromkeys(one.variant for one in self.designs))

    def varied(self) -> list[str]:
        """Give the keys that have several values."""
        return [
            key
            for n, key in enumerate(self.keys)
            if len({one.values[n] for one in self.designs} - {None}) > 1
        ]

    def curve(self, key: str, metrics: Sequence[str]) -> ChartType:
        """Draw metrics over a key, one below the other, a line for each other setting.

        Settings that do not have the key are level lines. Where there are too many, points of a
        full factorial are averaged over the other keys, and others are drawn as points alone.
        Raises `InputError` if the key has no numbers, or no metric has values.
        """
        at = self._place(key)
        series, joined = self._series(at)
        numbers = [v for some in series.values() for one in some if _number(v := one.values[at])]
        if len(set(numbers)) < 2:
            raise InputError(f"{key}: has no numbers to draw a curve over", ", ".join(self.keys))
        factor, unit = _scale(self.units.get(key, ""), numbers)
        x = alt.X(
            "x:Q",
            title=f"{key} ({unit})" if unit else key,
            scale=alt.Scale(zero=False, nice=False, padding=12),
        )
        marks = self._marks(at, factor)
        panels: list[Any] = []
        for metric in metrics:
            rows = [
                _row(name, one.values[at], spread, factor)
                for name, some in series.items()
                for one in some
                if (spread := one.spread(metric)) is not None
            ]
            if rows:
                panels.append(self._panel(rows, x, metric, list(series), marks, joined=joined))
        if not panels:
            raise InputError(f"none of {', '.join(metrics)} has values of all seeds")
        seeds = {len(one.rows) for one in self.designs}
        over = f"mean over {min(seeds)} seeds; whiskers: 95 % interval" if min(seeds) > 1 else ""
        below = [text for text in (over, self._said(at, marks)) if text]
        return alt.vconcat(*panels, spacing=14).properties(title=title(f"Over {key}", *below))

    def _place(self, key: str) -> int:
        if key not in self.keys:
            raise InputError(f"{key}: is not varied", f"there is {', '.join(self.keys)}")
        return self.keys.index(key)

    def _series(self, at: int) -> tuple[dict[str, list[Design]], bool]:
        """Put designs into lines over a key; also says whether points are joined."""
        found: dict[str, list[Design]] = {}
        for one in self.designs:
            found.setdefault(self._name(one, at), []).append(one)
        if len(found) <= _SERIES:
            return found, True
        average = {v: self._averaged(v, at) for v in self.variants}
        if all(average.values()):
            return {v or "mean": some for v, some in average.items() if some}, True
        return {
            v or "points": [one for one in self.designs if one.variant == v] for v in self.variants
        }, False

    def _name(self, one: Design, at: int) -> str:
        varied = self.varied()
        parts = [one.variant] if len(self.variants) > 1 else []
        parts += [
            f"{key} {text_of(key, one.values[n])}"
            for n, key in enumerate(self.keys)
            if n != at and key in varied and one.values[n] is not None
        ]
        return ", ".join(parts) or one.variant or "points"

    def _averaged(self, variant: str, at: int) -> list[Design] | None:
        """Average a full factorial over all keys but one, seed by seed."""
        mine = [one for one in self.designs if one.variant == variant]
        levels = [{one.values[n] for one in mine} for n in range(len(self.keys))]
        if len(mine) != math.prod(map(len, levels)):
            return None
        found = []
        for level in sorted(levels[at], key=str):
            some = [one for one in mine if one.values[at] == level]
            by_seed: dict[int, list[Any]] = {}
            for row in itertools.chain.from_iterable(one.rows for one in some):
                by_seed.setdefault(row["seed"], []).append(row)
            rows = [_mean_row(seed, rows, self.metrics) for seed, rows in by_seed.items()]
            values = tuple(level if n == at else None for n in range(len(self.keys)))
            found.append(Design(variant, values, tuple(rows)))
        return found

    def _marks(self, at: int, factor: float) -> list[tuple[float, str]]:
        """Give where the answer to a threshold goal lies on the axis."""
        answer = self.answer or {}
        if answer.get("kind") != "threshold" or answer["key"] != self.keys[at]:
            return []
        found: dict[float, str] = {}
        for line in answer["lines"]:
            for one in line["probes"]:
                if one["text"] == line["answer"]:
                    found[one["value"] / factor] = line["answer"]
        return list(found.items())

    def _said(self, at: int, marks: list[tuple[float, str]]) -> str:
        answer = self.answer or {}
        if not marks:
            return ""
        which = "largest" if answer["largest"] else "smallest"
        return f"dashed: the {which} {self.keys[at]} where {answer['text'].partition(' where ')[2]}"

    def _panel(
        self,
        rows: list[dict[str, Any]],
        x: alt.X,
        metric: str,
        order: list[str],
        marks: list[tuple[float, str]],
        *,
        joined: bool,
    ) -> ChartType:
        unit = self.units.get(metric, "")
        named = f"{metric} ({unit})" if unit and unit != metric else metric
        frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(
            pl.col("x", "value", "low", "high").cast(pl.Float64)
        )
        curve, level = frame.filter(pl.col("x").is_not_null()), frame.filter(pl.col("x").is_null())
        y = alt.Y("value:Q", title=named, scale=alt.Scale(zero=False, padding=6))
        tips = ["series", *(alt.Tooltip(c, format=".6") for c in ("x", "value", "low", "high"))]
        shown = list(dict.fromkeys(frame["series"]))
        tint, form = colour("series", shown, order), shape("series", shown, order)
        tint, form = (one.legend(_legend(order)) for one in (tint, form))  # type: ignore[assignment]
        layers: list[Any] = []
        if marks:
            at = pl.DataFrame({"x": [where for where, _ in marks], "t": [t for _, t in marks]})
            layers.append(
                alt.Chart(at).mark_rule(color=FAINT, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x)
            )
        base = alt.Chart(curve).encode(x=x, color=tint)
        if joined:
            layers.append(base.mark_line(strokeWidth=1.6).encode(y=y))
        if frame["low"].is_not_null().any():
            layers.append(base.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q"), y2="high"))
        layers.append(
            base.mark_point(filled=True, size=46, opacity=1).encode(y=y, shape=form, tooltip=tips)
        )
        if level.height:
            layers.append(
                alt.Chart(level)
                .mark_rule(strokeWidth=1.6, strokeDash=[2, 3])
                .encode(y=y, color=tint, tooltip=tips)
            )
        panel: ChartType = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
        return panel

    def heat(self, across: str, up: str, metric: str) -> ChartType:
        """Draw a metric over two keys as shades, each with its number where there is room.

        Over other keys and variants it is the mean. Raises `InputError` if there are not two
        values of each.
        """
        a, b = self._place(across), self._place(up)
        cells: dict[tuple[Any, Any], list[float]] = {}
        for one in self.designs:
            spread = one.spread(metric)
            if spread is not None and None not in (one.values[a], one.values[b]):
                cells.setdefault((one.values[a], one.values[b]), []).append(spread.mean)
        columns, lines = (sorted({cell[n] for cell in cells}, key=_order) for n in (0, 1))
        if len(columns) < 2 or len(lines) < 2:
            raise InputError(f"{across} and {up}: have not two values each with {metric}")
        unit = self.units.get(metric, "")
        frame = pl.DataFrame(
            [
                {
                    "across": text_of(across, x),
                    "up": text_of(up, y),
                    "value": sum(values) / len(values),
                }
                for (x, y), values in cells.items()
            ]
        )
        middle = (float(frame["value"].min()) + float(frame["value"].max())) / 2  # type: ignore[arg-type]
        numbered = len(columns) <= _CELLS and len(lines) <= _CELLS
        base = alt.Chart(frame).encode(
            x=alt.X(
                "across:O",
                title=across,
                sort=[text_of(across, x) for x in columns],
                axis=alt.Axis(labelAngle=-30, domain=False, ticks=False),
            ),
            y=alt.Y("up:O", title=up, sort=[text_of(up, y) for y in reversed(lines)]),
        )
        scale = alt.Scale(range=["#e8f1fa", "#08306b"])
        named = f"{metric} ({unit})" if unit else metric
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
        wide, high = (_CELL * len(columns), 26 * len(lines)) if numbered else (WIDTH, 300)
        drawn: ChartType = alt.layer(*layers).properties(
            width=wide, height=high, title=title(f"{metric} over {across} and {up}")
        )
        return drawn

    def pareto(self, first: tuple[str, bool], second: tuple[str, bool]) -> ChartType:
        """Draw points by two metrics, and those that no other beats.

        A metric is its name, and whether less of it is better. Raises `InputError` if no point has
        both.
        """
        names, least = [first[0], second[0]], [first[1], second[1]]
        known = [one for one in self.designs if all(one.spread(name) for name in names)]
        if not known:
            raise InputError(f"no point has both {names[0]} and {names[1]}")
        values = [[s.mean for name in names if (s := one.spread(name))] for one in known]
        best = set(front(values, least))
        frame = pl.DataFrame(
            [
                {
                    "x": x,
                    "y": y,
                    "point": self._name(one, -1),
                    "which": "no other beats it" if n in best else "others",
                }
                for n, (one, (x, y)) in enumerate(zip(known, values, strict=True))
            ]
        )
        axes = [
            f"{name} ({unit})" if (unit := self.units.get(name, "")) and unit != name else name
            for name in names
        ]
        x = alt.X("x:Q", title=axes[0], scale=alt.Scale(zero=False, padding=12))
        y = alt.Y("y:Q", title=axes[1], scale=alt.Scale(zero=False, padding=12))
        order = ["no other beats it", "others"]
        line = (
            alt.Chart(frame.filter(pl.col("which") == order[0]).sort("x"))
            .mark_line(color=VERMILLION, strokeWidth=1.4, strokeDash=[4, 3])
            .encode(x=x, y=y)
        )
        # The front last: it lies above the others.
        points = [
            alt.Chart(frame.filter(pl.col("which") == which))
            .mark_point(filled=True, size=size, opacity=0.9)
            .encode(
                x=x,
                y=y,
                color=colour("which", order),
                shape=shape("which", order),
                tooltip=["point", "x", "y"],
            )
            for which, size in ((order[1], 40), (order[0], 90))
        ]
        sides = " and ".join(
            f"{'less' if low else 'more'} of {name}" for name, low in zip(names, least, strict=True)
        )
        drawn: ChartType = alt.layer(points[0], line, points[1]).properties(
            width=WIDTH, height=300, title=title(f"{names[0]} and {names[1]}", f"better: {sides}")
        )
        return drawn

    def effects(self, metric: str) -> ChartType:
        """Draw how much of a metric is due to each key, and to pairs of keys.

        Of a full factorial the shares of its variance, else Spearman's rank correlations. Raises
        `InputError` if neither can be told.
        """
        variant = max(
            self.variants, key=lambda v: sum(one.variant == v for one in self.designs), default=""
        )
        mine = [one for one in self.designs if one.variant == variant]
        found = effects(mine, self.keys, metric)
        low = 0
        if found is not None:
            rows = [{"name": TIMES.join(e.keys), "value": e.share} for e in found]
            what, form = "share of the variance of means", "%"
            below = f"a key alone, and pairs of keys ({TIMES.strip()}) beyond the sum of both"
        else:
            ordered = ranks(mine, self.keys, metric)
            rows = [{"name": one.key, "value": one.rho} for one in ordered]
            what, form, low = "rank correlation (Spearman)", "+.1f", -1
            below = "1: it always grows with the key; -1: it always falls"
        if not rows:
            raise InputError(f"{metric}: its effects cannot be told", "vary two keys or more")
        drawn: ChartType = (
            alt.Chart(pl.DataFrame(rows))
            .mark_bar(size=16)
            .encode(
                x=alt.X(
                    "value:Q",
                    title=what,
                    axis=alt.Axis(format=form, grid=True, tickCount=10),
                    scale=alt.Scale(domain=[low, 1]),
                ),
                y=alt.Y("name:N", title=None, sort=[str(row["name"]) for row in rows]),
                tooltip=["name", alt.Tooltip("value", format=".4")],
            )
            .properties(
                width=420, height=26 * len(rows), title=title(f"What {metric} depends on", below)
            )
        )
        return drawn


def _legend(order: Sequence[str]) -> alt.Legend | None:
    """Break a legend into lines, since a wide one would widen the page; none of a single line."""
    if len(order) == 1:
        return None
    return alt.Legend(columns=max(1, _LEGEND // (max(map(len, order)) + 5)))


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _order(value: object) -> tuple[int, Any]:
    return (0, value) if _number(value) else (1, str(value))


def _scale(unit: str, numbers: Sequence[float]) -> tuple[float, str]:
    """Give the unit in which an axis is easy to read, and its size."""
    greatest = max(abs(number) for number in numbers)
    for factor, name in _SCALES.get(unit, ()):
        if greatest >= factor:
            return factor, name
    return 1.0, unit


def _row(name: str, at: Any, spread: Spread, factor: float) -> dict[str, Any]:  # noqa: ANN401
    return {
        "series": name,
        "x": at / factor if _number(at) else None,
        "value": spread.mean,
        "low": spread.ci_low,
        "high": spread.ci_high,
    }


def _mean_row(seed: int, rows: Sequence[dict[str, Any]], metrics: Sequence[str]) -> dict[str, Any]:
    done = all(row["status"] == "done" for row in rows)
    found: dict[str, Any] = {"seed": seed, "status": "done" if done else "failed"}
    for metric in metrics:
        values = [row.get(metric) for row in rows]
        known = [value for value in values if value is not None]
        found[metric] = sum(known) / len(known) if len(known) == len(values) else None
    return found
