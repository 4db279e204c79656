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
from backwater.plot.sweep_maps import SweepMaps
from backwater.plot.theme import COLOURS, FAINT, VERMILLION, colour, shape, title
from backwater.sweep.findings import Design, chosen, referred
from backwater.sweep.points import BASE, number
from backwater.wording import with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair.typing import ChartType

    from backwater.numbers.repeats import Spread

WIDTH, HEIGHT = 560, 170
# The most characters in a line of the legend.
_LEGEND = 84
_SERIES = len(COLOURS)
_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B")),
    "ps": ((1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1, "ps")),
    "b/s": ((1e9, "Gb/s"), (1e6, "Mb/s"), (1, "b/s")),
}


class SweepPlots(SweepMaps):
    """Charts of the points of a sweep."""

    def curve(self, key: str, metrics: Sequence[str]) -> ChartType:
        """Draw metrics over a key, one below the other, one line per setting of the other keys.

        The base, and settings without the key, are level lines. If there are too many settings, a
        full factorial is averaged over the other keys, and other designs are drawn as points
        without lines. Raises `InputError` if the key has no numbers, or no metric has values.
        """
        at = self.place(key)
        series, joined, over = self._series(at)
        numbers = [v for some in series.values() for one in some if number(v := one.values[at])]
        if len(set(numbers)) < 2:
            raise InputError(f"{key}: has no numbers to draw a curve over", ", ".join(self.keys))
        factor, unit = _scale(self.units.get(key, ""), numbers)
        x = alt.X(
            "x:Q",
            title=f"{key} ({unit})" if unit else key,
            scale=alt.Scale(zero=False, nice=False, padding=12),
        )
        if self.base is not None:
            apart = Design(self.base.variant, (None,) * len(self.keys), self.base.rows)
            series[f"{BASE} ({(self.answer or {})['base']})"] = [apart]
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
        if max(len(one.rows) for one in self.designs) > 1:
            over += "; whiskers: 95 % interval over the seeds"
        below = [text for text in (over, self._said(at, marks)) if text]
        return alt.vconcat(*panels, spacing=14).properties(title=title(f"Over {key}", *below))

    def _series(self, at: int) -> tuple[dict[str, list[Design]], bool, str]:
        """Sort designs into lines over a key; also return whether to join points, and a note."""
        found: dict[str, list[Design]] = {}
        for one in self.designs:
            found.setdefault(self.name(one, at), []).append(one)
        seeds = self.over(self.designs[:1], (at,))
        if len(found) <= _SERIES - (self.base is not None):
            return found, True, seeds
        average = {v: self._averaged(v, at) for v in self.variants}
        if all(average.values()):
            # A line is of one variant.
            over = self.over(
                [one for one in self.designs if one.variant == self.variants[0]], (at,)
            )
            return {v or "mean": some for v, some in average.items() if some}, True, over
        points = {v: [one for one in self.designs if one.variant == v] for v in self.variants}
        return {v or "points": some for v, some in points.items()}, False, seeds

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
        """Return the position on the axis of the answer to a threshold goal, and its text."""
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
        frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(
            pl.col("x", "value", "low", "high").cast(pl.Float64)
        )
        curve, level = frame.filter(pl.col("x").is_not_null()), frame.filter(pl.col("x").is_null())
        y = alt.Y(
            "value:Q",
            title=with_unit(metric, self.units.get(metric, "")),
            scale=alt.Scale(zero=False, padding=6),
        )
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

    def pareto(self, first: tuple[str, bool], second: tuple[str, bool]) -> ChartType:
        """Draw points by two metrics, and the Pareto front of points that no other beats.

        A metric is its name, and whether less is better. Raises `InputError` if no point has both,
        or if points cannot be ranked because the references of a metric differ.
        """
        names, least = [first[0], second[0]], [first[1], second[1]]
        known = [one for one in self.designs if all(one.spread(name) for name in names)]
        if not known:
            raise InputError(f"no point has both {names[0]} and {names[1]}")
        for name in names:
            if not referred(known, name):
                raise InputError(
                    f"{name}: its reference was not stored, so no point is better",
                    f"run the sweep with --metric {name}",
                )
        values = [[s.mean for name in names if (s := one.spread(name))] for one in known]
        front, differ = chosen(known, [first, second])
        if differ:
            raise InputError(
                f"{differ[0].metric}: no point is better, as {differ[0].of} differs between them",
                differ[0].instead and f"take {differ[0].instead}",
            )
        marked = set(map(id, front))
        best = {number for number, one in enumerate(known) if id(one) in marked}
        base = [] if self.base is None else [s.mean for n in names if (s := self.base.spread(n))]
        frame = pl.DataFrame(
            [
                {
                    "x": x,
                    "y": y,
                    "point": self.name(one, -1),
                    "which": "no other beats it" if n in best else "others",
                }
                for n, (one, (x, y)) in enumerate(zip(known, values, strict=True))
            ]
            + (
                [{"x": base[0], "y": base[1], "point": BASE, "which": BASE}]
                if len(base) == len(names)
                else []
            )
        )
        axes = [with_unit(name, self.units.get(name, "")) for name in names]
        x = alt.X("x:Q", title=axes[0], scale=alt.Scale(zero=False, padding=12))
        y = alt.Y("y:Q", title=axes[1], scale=alt.Scale(zero=False, padding=12))
        order = ["no other beats it", "others", *([BASE] if len(base) == len(names) else [])]
        line = (
            alt.Chart(frame.filter(pl.col("which") == order[0]).sort("x"))
            .mark_line(color=VERMILLION, strokeWidth=1.4, strokeDash=[4, 3])
            .encode(x=x, y=y)
        )
        # The front comes last, above the others.
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
            for which, size in ((order[1], 40), *((one, 90) for one in order[2:]), (order[0], 90))
        ]
        sides = " and ".join(
            f"{'less' if low else 'more'} of {name}" for name, low in zip(names, least, strict=True)
        )
        drawn: ChartType = alt.layer(*points[:-1], line, points[-1]).properties(
            width=WIDTH, height=300, title=title(f"{names[0]} and {names[1]}", f"better: {sides}")
        )
        return drawn


def _legend(order: Sequence[str]) -> alt.Legend | None:
    """Break a legend into lines, since a wide one widens the page; None for one entry."""
    if len(order) == 1:
        return None
    return alt.Legend(columns=max(1, _LEGEND // (max(map(len, order)) + 5)))


def _scale(unit: str, numbers: Sequence[float]) -> tuple[float, str]:
    """Return the size and the name of a unit that makes an axis easy to read."""
    greatest = max(abs(number) for number in numbers)
    for factor, name in _SCALES.get(unit, ()):
        if greatest >= factor:
            return factor, name
    return 1.0, unit


def _row(name: str, at: Any, spread: Spread, factor: float) -> dict[str, Any]:  # noqa: ANN401
    return {
        "series": name,
        "x": at / factor if number(at) else None,
        "value": spread.mean,
        # A quantity that is never negative has an interval that ends at 0.
        "low": None if spread.ci_low is None else max(spread.ci_low, min(0.0, spread.min)),
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
