"""Charts fitted to the width of a column of paper or of a slide, with readable text.

A chart is not scaled down, since that would shrink its text. Instead its panels become narrower,
panels side by side are stacked if necessary, and titles and legends are broken into lines. All this
changes the Vega-Lite specification, so that charts do not depend on their final width.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, TypeGuard

from backwater.plot.measure import balanced, width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Spec = dict[str, Any]

LEAST = 70.0
"""The least width of a panel, in CSS pixels."""
SMALL = 11
"""The least size of text in panels, in CSS pixels; labels have 12."""
_TALLEST = 1.1
"""The most height of a narrowed panel as a share of its width; 110 pixels are always allowed."""
_TRIES = 5
_SYMBOL = 34.0
"""Width of a symbol in a legend, with the space before the next."""
_LETTERED = 30.0
"""On a narrower bar, the number is turned by 90 degrees."""
_BAR, _SLANTED, _NAMED = 34.0, 21.0, 14.0
"""Width of a panel per bar of fixed width; the least for slanted names, and for upright ones."""
_SIZE = re.compile(r'<svg[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"')
_TITLES = ("fontSize", 16), ("subtitleFontSize", 12.5)
_WITH_LEGEND = ("color", "fill", "stroke", "shape", "strokeDash")


def size(svg: str) -> tuple[float, float]:
    """Return width and height of a drawing of Vega, in CSS pixels."""
    found = _SIZE.search(svg)
    assert found is not None
    return float(found[1]), float(found[2])


def fitted(spec: Spec, room: float, draw: Callable[[Spec], str]) -> str:
    """Draw a chart with a width of `room` CSS pixels, or a little less.

    `draw` makes SVG of a specification. If even the narrowest panels are too wide together, the
    drawing is wider than `room`, and the caller has to scale it.
    """
    best: tuple[float, str] | None = None
    for changed in _arrangements(spec):
        drawn = _narrowed(changed, room, draw)
        wide = size(drawn)[0]
        if wide <= room:
            return drawn
        if best is None or wide < best[0]:
            best = (wide, drawn)
    assert best is not None
    return best[1]


def _arrangements(spec: Spec) -> Iterator[Spec]:
    """Yield a chart unchanged, with columns as rows, in several rows, and stacked."""
    yield copy.deepcopy(spec)
    if "facet" in spec and {"row", "column"} & set(spec["facet"]):
        turned = copy.deepcopy(spec)
        facet = turned["facet"]
        turned["facet"] = {
            {"row": "column", "column": "row"}.get(name, name): _upright(value, name)
            for name, value in facet.items()
        }
        yield turned
    for parts in (2, 3):
        if (split := _split(spec, parts)) is not None:
            yield split
    stacked = copy.deepcopy(spec)
    for view in views(stacked):
        if "hconcat" in view:
            view["vconcat"] = view.pop("hconcat")
    yield stacked


def _split(spec: Spec, parts: int) -> Spec | None:
    """Split the columns of a chart into so many rows; None if it has fewer columns."""
    column = spec.get("facet", {}).get("column")
    order = column.get("sort") if isinstance(column, dict) else None
    if not isinstance(order, list) or len(order) < parts:
        return None
    inner = ("facet", "spec", "resolve", "spacing", "transform")
    whole = {key: copy.deepcopy(value) for key, value in spec.items() if key not in inner}
    own = {key: spec[key] for key in inner if key in spec}
    return whole | {"vconcat": [panels(own, "column", names) for names in chunks(order, parts)]}


def chunks(order: list[Any], parts: int) -> list[list[Any]]:
    """Split a list into at most so many lists, all but the last of the same length."""
    each = -(-len(order) // parts)
    return [order[at : at + each] for at in range(0, len(order), each)]


def panels(spec: Spec, channel: str, names: list[str]) -> Spec:
    """Return a faceted chart with only those panels of a row or column."""
    part = copy.deepcopy(spec)
    part["facet"][channel]["sort"] = names
    mine = {"filter": {"field": part["facet"][channel]["field"], "oneOf": names}}
    part["transform"] = [*part.get("transform", []), mine]
    return part


def _upright(channel: Any, was: str) -> Any:  # noqa: ANN401 - a part of a specification
    """Replace headers for columns that become rows, and rows that become columns."""
    if not isinstance(channel, dict):
        return channel
    header = {} if was == "row" else {"labelAngle": 0, "labelAlign": "left"}
    return {key: value for key, value in channel.items() if key != "header"} | (
        {"header": header} if header else {}
    )


def _narrowed(spec: Spec, room: float, draw: Callable[[Spec], str]) -> str:
    wide = [view["width"] for view in views(spec) if _number(view.get("width"))]
    config = spec.setdefault("config", {}).setdefault("view", {})
    usual = config.get("continuousWidth")
    _legends(spec, room)
    share, drawn = 1.0, ""
    tried: list[tuple[float, float]] = []
    best: tuple[float, str] | None = None
    for _ in range(_TRIES):
        now = copy.deepcopy(spec)
        _narrow(now, share)
        if usual:
            now["config"]["view"]["continuousWidth"] = max(LEAST, usual * share)
        _titles(now, room)
        drawn = draw(now)
        took = size(drawn)[0]
        if took <= room and (best is None or took > best[0]):
            best = (took, drawn)
        tried.append((share, took))
        if 0.97 * room <= took <= room:
            break
        share = _next(tried, room, max([*wide, usual or LEAST]))
        if share <= 0 or any(abs(share - one) < 1e-3 for one, _ in tried):
            break
    return best[1] if best is not None else drawn


def _next(tried: list[tuple[float, float]], room: float, widest: float) -> float:
    """Estimate the share of the panels' widths at which the chart fits, from earlier attempts."""
    aim = 0.985 * room
    share, took = tried[-1]
    if len(tried) == 1:
        # A first estimate, as if a fifth of the width did not change with the panels.
        return max(LEAST / widest, share * (1 + (aim - took) / max(took * 0.8, 1.0)))
    other, before = tried[-2]
    slope = (took - before) / (share - other) if share != other else 0.0
    if slope <= 0:
        return share * 0.8 if took > room else -1.0
    # Panels at their least width hide the slope. Without a bound, the next attempt can be a hundred
    # times too wide, which takes Vega some ten seconds.
    return min(2 * share, max(LEAST / widest, share + (aim - took) / slope))


def _narrow(spec: Spec, share: float) -> None:
    for view in views(spec):
        if isinstance(view.get("width"), dict) and "step" in view["width"]:
            view["width"]["step"] = max(12.0, view["width"]["step"] * share)
        elif _number(view.get("width")):
            before = view["width"]
            least = max(LEAST, _NAMED * before / _BAR if _fixed(view) else 0.0)
            view["width"] = max(min(least, before), before * share)
            # Bars of a fixed width become narrower with their panel.
            _bars(view, view["width"] / before)
        if _number(view.get("height")) and _number(view.get("width")):
            view["height"] = min(view["height"], max(110.0, _TALLEST * view["width"]))


def _fixed(view: Spec) -> list[Spec]:
    """Return the bars of a fixed width within a panel."""
    return [
        mark
        for part in views(view)
        if isinstance(mark := part.get("mark"), dict)
        and mark.get("type") == "bar"
        and _number(mark.get("width"))
    ]


def _bars(view: Spec, share: float) -> None:
    """Scale bars of a fixed width, and turn their numbers and names if they get too narrow."""
    marks = _fixed(view)
    for bar in marks:
        bar["width"] = max(4.0, bar["width"] * min(1.0, share))
    if not marks or _BAR * share >= _LETTERED:
        return
    for part in views(view):
        mark: Any = part.get("mark")
        if isinstance(mark, dict) and mark.get("type") == "text" and mark.get("dy", 0) < 0:
            mark.pop("dy")
            mark |= {"angle": 270, "align": "left", "baseline": "middle", "dx": 7}
        axis = part.get("encoding", {}).get("x", {}).get("axis")
        if isinstance(axis, dict) and _BAR * share < _SLANTED and axis.get("labelAngle"):
            axis["labelAngle"] = -90


def _legends(spec: Spec, room: float) -> None:
    """Break legends into lines that fit, and enlarge the smallest text."""
    for view in views(spec):
        mark = view.get("mark")
        if isinstance(mark, dict) and _number(mark.get("fontSize")):
            mark["fontSize"] = max(SMALL, mark["fontSize"])
        for channel in _WITH_LEGEND:
            about = view.get("encoding", {}).get(channel)
            if (
                not isinstance(about, dict)
                or "field" not in about
                or about.get("legend", {}) is None
            ):
                continue
            names = about.get("scale", {}).get("domain") if about.get("scale") else None
            if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
                continue
            each = _SYMBOL + max(width(one, 12) for one in names)
            columns = max(1, int(0.95 * room // each))
            if columns < len(names):
                about["legend"] = {**(about.get("legend") or {}), "columns": columns}


def _titles(spec: Spec, room: float) -> None:
    """Break titles of charts and axes into lines that fit."""
    for view in views(spec):
        title = view.get("title")
        own = view["width"] if _number(view.get("width")) else room
        here = room if view is spec else min(room, own + 40)
        if isinstance(title, str):
            view["title"] = title = {"text": title}
        if isinstance(title, dict):
            for (key, points), name in zip(_TITLES, ("text", "subtitle"), strict=True):
                if title.get(name):
                    lines = title[name] if isinstance(title[name], list) else [title[name]]
                    at = float(title.get(key, points))
                    title[name] = [
                        part
                        for line in lines
                        for part in balanced(line, here, at, bold=name == "text")
                    ]
        # A layer without a size has that of its view.
        for part in (view, *view.get("layer", ())):
            for channel, side in (("x", "width"), ("y", "height")):
                about, along = part.get("encoding", {}).get(channel), part.get(side, view.get(side))
                if not isinstance(about, dict) or not _number(along):
                    continue
                if isinstance(about.get("title"), str):
                    about["title"] = balanced(about["title"], max(90.0, along + 16), 13)


def views(spec: Any) -> Iterator[Spec]:  # noqa: ANN401 - a part of a specification
    """Yield a view and all views within it."""
    if not isinstance(spec, dict):
        return
    yield spec
    for name in ("layer", "hconcat", "vconcat", "concat"):
        for part in spec.get(name, ()):
            yield from views(part)
    yield from views(spec.get("spec"))


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
