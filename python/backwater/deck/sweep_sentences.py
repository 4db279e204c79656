"""One sentence for each figure of a sweep, made from the points that the figure shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.sweep.effects import written
from backwater.sweep.points import order
from backwater.sweep.values import shown
from backwater.wording import many, series, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.sweep.effects import Analysis, Rank
    from backwater.sweep.points import SweepPoints


def curve(plots: SweepPoints, key: str, metrics: Sequence[str]) -> str:
    """State the means of metrics at the least and at the greatest value of a key."""
    at = plots.keys.index(key)
    values = [v for one in plots.designs if isinstance(v := one.values[at], int | float)]
    if not values or not metrics:
        return ""
    low, high = min(values), max(values)
    parts = []
    used = []
    for metric in metrics[:2]:
        ends = []
        for value in (low, high):
            mine = [one for one in plots.designs if one.values[at] == value]
            means = [s.mean for one in mine if (s := one.spread(metric)) is not None]
            ends.append(sum(means) / len(means) if means else None)
            used += mine
        if None not in ends:
            unit = _unit(plots, metric)
            first, last = map(short, ends)
            parts.append(
                f"{metric} goes from {first} to {last}{unit}"
                if first != last
                else f"{metric} has {first}{unit} at both"
            )
    if not parts:
        return ""
    over = plots.over(used, (at,))
    ends_ = f"{key} {shown(key, low)} to {shown(key, high)}"
    return f"From {ends_} {series(parts)}{f', {over}' if over else ''}."


def _unit(plots: SweepPoints, metric: str) -> str:
    unit = plots.unit(metric)
    return f" {unit}" if unit else ""


def _extremes(plots: SweepPoints, metric: str) -> str:
    found = [(s.mean, one) for one in plots.designs if (s := one.spread(metric)) is not None]
    if not found:
        return ""

    def at(value: float, one: Any) -> str:  # noqa: ANN401 - a design
        settings = [one.variant] if len(plots.variants) > 1 else []
        settings += [
            f"{key} {shown(key, setting)}"
            for key, setting in zip(plots.keys, one.values, strict=True)
            if setting is not None
        ]
        return f"{short(value)}{_unit(plots, metric)} ({', '.join(settings)})"

    low, high = min(found, key=lambda f: f[0]), max(found, key=lambda f: f[0])
    if low[0] == high[0]:
        return f"{metric} is {short(low[0])} at every point."
    return f"{metric} lies between {at(*low)} and {at(*high)}."


def heat(plots: SweepPoints, across: str, up: str, metric: str) -> str:
    """Name the least and the greatest cell of a map, and what its cells are means over."""
    cells = plots.cells(across, up, metric)
    # The order of points must not matter: of equal cells, the first along the axes is named.
    ordered = sorted(cells.means, key=lambda cell: [order(value) for value in cell])
    low, high = (pick(ordered, key=cells.means.__getitem__) for pick in (min, max))
    over = f", {cells.over}" if cells.over else ""

    def at(cell: tuple[Any, Any]) -> str:
        where = f"{across} {shown(across, cell[0])}, {up} {shown(up, cell[1])}"
        return f"{short(cells.means[cell])}{_unit(plots, metric)} ({where})"

    if cells.means[low] == cells.means[high]:
        return f"{metric} is {short(cells.means[low])} everywhere{over}."
    return f"{metric} lies between {at(low)} and {at(high)}{over}."


def effects(plots: SweepPoints, metric: str) -> str:
    """Name what a metric depends on most, as far as it is distinct from noise."""
    found = plots.depends(metric)
    if found.analysis is not None:
        text = _shares(metric, found.analysis)
    elif found.ranks:
        text = _ranks(metric, found.ranks)
    else:
        return _extremes(plots, metric)
    return f"Under {found.variant}, {text}" if found.variant else _upper(text)


def _upper(text: str) -> str:
    """Capitalise a sentence that begins with `no`; others begin with a metric or a number."""
    return f"N{text[1:]}" if text.startswith("no ") else text


def _shares(metric: str, found: Analysis) -> str:
    top = found.effects[0]
    kind = "the two together, beyond their sum" if len(top.keys) > 1 else "by itself"
    due = f"{100 * top.share:.0f} % of the variance of {metric} is due to {' and '.join(top.keys)}"
    if top.p is None:
        return f"{due}, {kind}; with one seed, noise cannot be told from effects."
    test = f"F test over {many(found.seeds, 'seed')}"
    if top.clear:
        return f"{due}, {kind} ({test}: {written(top.p)})."
    keys = series(sorted({key for one in found.effects for key in one.keys}))
    least = min(one.p for one in found.effects if one.p is not None)
    return f"no effect of {keys} on {metric} is told from noise ({test}: least {written(least)})."


def _ranks(metric: str, found: Sequence[Rank]) -> str:
    parts = [
        f"{'grows' if rank.rho > 0 else 'falls'} with {rank.key} "
        f"(rank correlation {rank.rho:+.2f}, {written(rank.p)})"
        for rank in found[:2]
        if rank.clear
    ]
    if parts:
        return f"{metric} {series(parts)}."
    keys = series([rank.key for rank in found])
    least = min(rank.p for rank in found)
    return f"no trend of {metric} with {keys} is told from noise (least {written(least)})."


def front(plots: SweepPoints, first: str, second: str) -> str:
    """State the range of both metrics of a front."""
    return f"{_extremes(plots, first)} {_extremes(plots, second)}"
