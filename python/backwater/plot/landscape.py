"""Charts laid out for a slide, which is wide and low: panels side by side, or on several slides.

The arrangement with the largest text is taken. If even that is too small to be
read from the back of a room, the panels are spread over several slides.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from backwater.plot import fit
from backwater.plot.sheet import vega
from backwater.plot.theme import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    Spec = dict[str, Any]

READABLE = 0.85
"""The least scale of readable text; at scale 1, labels have 12 points on a slide."""
_GOOD = 0.97
_HEIGHTS = (1.0, 0.75, 0.55)
_FULL, _MOST = 0.75, 1.7
"""The share of a box that is filled enough; the most by which panels become higher to fill it."""


def heading(chart: Any) -> str:  # noqa: ANN401 - some Altair chart
    """Return a chart's title."""
    text = getattr(getattr(chart, "title", None), "text", "")
    return " ".join(text) if isinstance(text, list) else str(text)


def specification(chart: Any) -> Spec:  # noqa: ANN401 - as above
    """Return the specification of a chart without its title, which the slide has; notes stay."""
    import altair as alt

    with alt.theme.enable(NAME):
        spec: Spec = chart.to_dict()
    title = spec.pop("title", None)
    notes = title.get("subtitle") if isinstance(title, dict) else None
    if notes:
        small = {"fontSize": 12.5, "fontWeight": "normal", "color": "#59636e", "offset": 8}
        spec["title"] = {"text": notes, "anchor": "start", **small}
    return spec


def drawn(chart: Any, width: float, height: float) -> list[str]:  # noqa: ANN401 - as above
    """Draw a chart as SVG into one box of a width and height in points, or into one per slide."""
    spec = specification(chart)
    whole = _best(spec, width, height)
    if whole[0] >= READABLE:
        return [_filled(spec, whole, width, height)]
    for many in range(2, 5):
        parts = _parted(spec, many)
        if parts is None:
            break
        made = [_best(part, width, height) for part in parts]
        least = min(share for share, _ in made)
        if least >= READABLE or (many == 4 and least > 1.2 * whole[0]):
            return [svg for _, svg in made]
    return [whole[1]]


def _filled(spec: Spec, whole: tuple[float, str], width: float, height: float) -> str:
    """Enlarge a chart that leaves much of its box empty, if its text does not get smaller."""
    tall = fit.size(whole[1])[1] * whole[0]
    if tall > _FULL * height:
        return whole[1]
    higher = _best(_lower(spec, min(_MOST, height / tall)), width, height, heights=(1.0,))
    return higher[1] if higher[0] >= min(whole[0], _GOOD) else whole[1]


def _best(
    spec: Spec, width: float, height: float, heights: tuple[float, ...] = _HEIGHTS
) -> tuple[float, str]:
    """Return the scale of the largest text that fits the box, and the drawing with it."""
    best = (0.0, "")
    for high in heights:
        for one in _arranged(spec):
            lower = _lower(one, high)
            svg = fit.fitted(lower, width, vega)
            wide, tall = fit.size(svg)
            share = min(1.0, width / wide, height / tall)
            if share > best[0] * 1.02:
                best = (share, svg)
            if best[0] >= _GOOD:
                return best
    return best


def _arranged(spec: Spec) -> Iterator[Spec]:
    yield spec
    if "row" in spec.get("facet", {}) and "column" not in spec["facet"]:
        turned = copy.deepcopy(spec)
        row = turned["facet"].pop("row")
        row.pop("header", None)
        turned["facet"]["column"] = row
        yield turned
    if 2 <= len(spec.get("vconcat", ())) <= 4:
        beside = copy.deepcopy(spec)
        beside["hconcat"] = beside.pop("vconcat")
        beside["spacing"] = 24
        yield beside


def _lower(spec: Spec, share: float) -> Spec:
    lower = copy.deepcopy(spec)
    for view in fit.views(lower):
        height = view.get("height")
        if isinstance(height, int | float):
            view["height"] = max(70.0, height * share)
        elif isinstance(height, dict) and "step" in height:
            height["step"] = max(14.0, height["step"] * share)
    if share != 1:
        usual = lower.setdefault("config", {}).setdefault("view", {})
        usual["continuousHeight"] = usual.get("continuousHeight", 260) * share
    return lower


def _parted(spec: Spec, many: int) -> list[Spec] | None:
    """Split a chart's panels into so many charts; None if it has fewer panels."""
    if len(spec.get("vconcat", ())) >= many:
        parts = fit.chunks(spec["vconcat"], many)
        return [copy.deepcopy({**spec, "vconcat": part}) for part in parts]
    for channel in ("row", "column"):
        about = spec.get("facet", {}).get(channel)
        order = about.get("sort") if isinstance(about, dict) else None
        if isinstance(order, list) and len(order) >= many:
            return [fit.panels(spec, channel, names) for names in fit.chunks(order, many)]
    return None
