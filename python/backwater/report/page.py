"""The page: parts in sections, put into one file that needs nothing else.

Whatever comes from a scenario is text: the template escapes it, and JSON within the page cannot
end the script that holds it. A content security policy keeps the page off the network.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

import altair as alt
import jinja2
from markupsafe import Markup, escape

from backwater.errors import ResultError
from backwater.files import write_file
from backwater.plot.engine import engine
from backwater.plot.shades import dark_rules
from backwater.plot.sheet import KINDS, VEGA_LITE, Sheet
from backwater.plot.theme import BLUE, FAINT, GRID, INK, NAME, ORANGE, SHADES, VERMILLION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


SCRIPTED = (*SHADES, INK, FAINT, GRID, ORANGE, BLUE, VERMILLION, "white")
"""Colours that scripts of the page give to what they draw."""
SCRIPTS = ("page.js", "film.js", "looks.js")


@dataclass(frozen=True)
class Column:
    """A table's column."""

    title: str
    number: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text; `classes` is how cells of some texts look."""

    columns: list[Column]
    rows: list[list[str]]
    title: str = ""
    note: str = ""
    folded: bool = False
    classes: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar[str] = "table"


@dataclass(frozen=True)
class Code:
    """Commands or a file."""

    text: str
    title: str = ""
    folded: bool = False
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Picture:
    """Something drawn as SVG."""

    id: str
    drawn: str
    caption: str = ""
    narrow: str = ""
    """The same with larger names, for phones."""
    kind: ClassVar[str] = "picture"

    @property
    def svg(self) -> Markup:
        """The drawing, for the page."""
        return Markup(apart(self.drawn, self.id))

    @property
    def phone(self) -> Markup:
        """The drawing with larger names, for the page."""
        return Markup(apart(self.narrow, f"{self.id}-phone"))


@dataclass(frozen=True)
class Figure:
    """A chart with its caption, and what it is the counterpart of in a study's document."""

    id: str
    chart: Any
    """An Altair chart, or SVG as text."""
    caption: str
    counterpart: str = ""
    clock_ps: float | None = None
    """The unit of its axis of time, in ps, where the slider of a film moves a line on it."""
    kind: ClassVar[str] = "figure"

    @property
    def drawing(self) -> str:
        """The figure as SVG."""
        return Sheet().svg(self.chart)

    # A page asks for both several times, and each time Altair would write the chart anew.
    @cached_property
    def svg(self) -> Markup:
        """The drawing, for the page."""
        return Markup(apart(self.drawing, self.id))

    @cached_property
    def spec(self) -> Markup | None:
        """What the page draws anew when it is looked at; None of what is only a drawing."""
        return None if isinstance(self.chart, str) else script_json(self._chart_spec())

    def _chart_spec(self) -> dict[str, Any]:
        with alt.theme.enable(NAME):
            spec: dict[str, Any] = self.chart.to_dict()
        spec["description"] = self.caption
        return spec if self.clock_ps is None else timed(spec)

    def paths(self, folder: Path) -> list[Path]:
        """Name the files that `save` writes."""
        return [folder / f"{self.id}.{kind}" for kind in KINDS]

    def save(self, folder: Path, sheet: Sheet | None = None) -> list[Path]:
        """Write SVG, PDF and PNG."""
        paths = self.paths(folder)
        for path in paths:
            self.write(path, sheet)
        return paths

    def write(self, path: Path, sheet: Sheet | None = None) -> None:
        """Write one file, of the kind that its name ends with. Raises `ResultError`."""
        octets = (sheet or Sheet()).octets(self.chart, path.suffix[1:].lower())
        try:
            write_file(path, octets)
        except OSError as error:
            raise ResultError(f"{path}: cannot be written: {error.strerror or error}") from None


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading."""

    id: str
    title: str
    parts: list[Any]
    text: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Page:
    """A report."""

    title: str
    kicker: str
    lead: list[str]
    sections: list[Section]
    footer: str
    version: str
    failed: list[str] = field(default_factory=list)
    """What was asked for and not done, before the lead; the command says it, too."""

    @property
    def figures(self) -> list[Figure]:
        """Every figure, in order."""
        parts = [part for section in self.sections for part in section.parts]
        own = [one for part in parts for one in (part, *getattr(part, "charts", ()))]
        return [one for one in own if isinstance(one, Figure)]

    def _drawings(self) -> list[str]:
        """Whatever the page draws, and one thing of each colour that its scripts use."""
        parts = [part for section in self.sections for part in section.parts]
        own = [one for part in parts for one in (part, *getattr(part, "charts", ()))]
        drawn = [str(one.svg) for one in own if hasattr(one, "svg")]
        for part in parts:
            drawn += [str(track["svg"]) for track in getattr(part, "tracks", ())]
        return [*drawn, *(f'fill="{one}" stroke="{one}"' for one in SCRIPTED)]

    def html(self) -> str:
        """Write the page."""
        environment = jinja2.Environment(
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["prose"] = prose
        template = environment.from_string(_static("page.html.j2"))
        live = any(figure.spec is not None for figure in self.figures)
        return template.render(
            page=self,
            style=Markup(_static("page.css")),
            dark=Markup(dark_rules(self._drawings())),
            script=Markup("\n".join(_static(name) for name in SCRIPTS)),
            theme=script_json(_config()) if live else "",
            bundle=Markup(_bundle()) if live else "",
        )


NOW = {
    # Of its own: it is there once, wherever the chart's data are from.
    "data": {"values": [{}]},
    "mark": {"type": "rule", "color": INK, "strokeWidth": 1.5},
    "encoding": {"x": {"datum": {"expr": "now"}, "type": "quantitative"}},
}
"""A line at the time that the film's slider shows."""


def timed(spec: dict[str, Any]) -> dict[str, Any]:
    """Add a line at the signal `now` to a chart with an axis of time."""
    params = [*spec.get("params", []), {"name": "now", "value": 0}]
    if "vconcat" in spec:
        return {**spec, "vconcat": [_timed(view) for view in spec["vconcat"]], "params": params}
    return {**_timed(spec), "params": params}


def _timed(view: dict[str, Any]) -> dict[str, Any]:
    if "layer" in view:
        return {**view, "layer": [*view["layer"], NOW]}
    inner = {key: view[key] for key in ("mark", "encoding") if key in view}
    outer = {key: value for key, value in view.items() if key not in inner}
    encoding = dict(inner["encoding"])
    rows = {"row": encoding.pop("row")} if "row" in encoding else None
    layers = {"layer": [{"mark": inner["mark"], "encoding": encoding}, NOW]}
    if rows is None:
        return {**outer, **layers}
    # Layers cannot be in rows by an encoding.
    sizes = {key: outer.pop(key) for key in ("width", "height") if key in outer}
    return {**outer, "facet": rows, "spec": {**sizes, **layers}}


@cache
def _config() -> dict[str, Any]:
    """What all charts look like, for those that the page draws of its own."""
    with alt.theme.enable(NAME):
        theme: Any = alt.theme.get()
        return dict(theme()["config"])


def script_json(value: object) -> Markup:
    """Give JSON that can stand in a script element, whatever texts are in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def prose(text: str) -> Markup:
    """Give a text for the page, with what stands in backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def apart(svg: str, name: str) -> str:
    """Give the ids of a drawing a prefix, since those of all drawings of a page are one set."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)


def _static(name: str) -> str:
    return (files("backwater.report") / "static" / name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and their embedding, as one script."""
    # Without a snippet of ours it is vega-embed itself.
    bundle: str = engine().javascript_bundle(vl_version=VEGA_LITE)
    # A script ends at its end tag wherever that stands, even in a string.
    return bundle.replace("</script", "<\\/script")
