"""The page: sections of parts, rendered into one self-contained file.

All text from scenarios is untrusted: the template escapes it, and JSON in the page cannot end the
script element that holds it. A content security policy keeps the page off the network.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
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
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path


SCRIPTED = (*SHADES, INK, FAINT, GRID, ORANGE, BLUE, VERMILLION, "white")
"""Colours that scripts of the page draw with."""
SCRIPTS = ("page.js", "film.js", "looks.js")


@dataclass(frozen=True)
class Column:
    """A column of a table; `number` aligns it to the right."""

    title: str
    number: bool = False


def header(texts: Iterable[str], numbers: Iterable[str] = ()) -> list[Column]:
    """Return columns of text, followed by columns of numbers."""
    return [*map(Column, texts), *(Column(title, number=True) for title in numbers)]


@dataclass(frozen=True)
class Table:
    """Rows of text; `classes` has the CSS class of cells with some texts."""

    columns: list[Column]
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""
    folded: bool = False
    classes: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar[str] = "table"

    def only(self, kept: Collection[int]) -> Table:
        """Return the table with these of its columns, by their numbers."""
        rows = [[row[n] for n in kept] for row in self.rows]
        return replace(self, columns=[self.columns[n] for n in kept], rows=rows)


@dataclass(frozen=True)
class Code:
    """Commands, or the content of a file."""

    text: str
    title: str = ""
    folded: bool = False
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Picture:
    """An SVG drawing."""

    id: str
    drawn: str
    caption: str = ""
    narrow: str = ""
    """The same drawing with larger names, for phones."""
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
    """A chart with its caption; `counterpart` is what a study's document shows instead."""

    id: str
    chart: Any
    """An Altair chart, or SVG as text."""
    caption: str
    counterpart: str = ""
    clock_ps: float | None = None
    """The unit of its time axis, in ps, if the slider of a film moves a line on it."""
    kind: ClassVar[str] = "figure"

    @property
    def drawing(self) -> str:
        """The figure as SVG."""
        return Sheet().svg(self.chart)

    # Cached: a page uses both several times, and Altair would render the chart each time.
    @cached_property
    def svg(self) -> Markup:
        """The drawing, for the page."""
        return Markup(apart(self.drawing, self.id))

    @cached_property
    def spec(self) -> Markup | None:
        """The Vega-Lite specification that the page renders live; None for a mere drawing."""
        return None if isinstance(self.chart, str) else script_json(self._chart_spec())

    def _chart_spec(self) -> dict[str, Any]:
        with alt.theme.enable(NAME):
            spec: dict[str, Any] = self.chart.to_dict()
        spec["description"] = self.caption
        return spec if self.clock_ps is None else timed(spec)

    def paths(self, folder: Path) -> list[Path]:
        """Return the files that `save` writes."""
        return [folder / f"{self.id}.{kind}" for kind in KINDS]

    def save(self, folder: Path, sheet: Sheet | None = None) -> list[Path]:
        """Write SVG, PDF and PNG, and return their paths. Raises `ResultError`."""
        paths = self.paths(folder)
        for path in paths:
            self.write(path, sheet)
        return paths

    def write(self, path: Path, sheet: Sheet | None = None) -> None:
        """Write one file, of the kind that its suffix names. Raises `ResultError`."""
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
    """What the run was asked to do and did not: shown before the lead, and by the command."""

    @property
    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [one for one in self._parts() if isinstance(one, Figure)]

    def _parts(self) -> list[Any]:
        """Return the parts of all sections, each followed by its charts."""
        parts = [part for section in self.sections for part in section.parts]
        return [one for part in parts for one in (part, *getattr(part, "charts", ()))]

    def _drawings(self) -> list[str]:
        """Return all drawings of the page, and an element of each colour that its scripts use."""
        drawn = [str(one.svg) for one in self._parts() if hasattr(one, "svg")]
        for part in self._parts():
            drawn += [str(track["svg"]) for track in getattr(part, "tracks", ())]
        return [*drawn, *(f'fill="{one}" stroke="{one}"' for one in SCRIPTED)]

    def html(self) -> str:
        """Return the page as HTML."""
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
    # Separate data, with one row: the line is drawn once, whatever the data of the chart.
    "data": {"values": [{}]},
    "mark": {"type": "rule", "color": INK, "strokeWidth": 1.5},
    "encoding": {"x": {"datum": {"expr": "now"}, "type": "quantitative"}},
}
"""A layer of Vega-Lite: a line at the time of the film's slider."""


def timed(spec: dict[str, Any]) -> dict[str, Any]:
    """Add a line at the signal `now` to a chart with a time axis."""
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
    # Vega-Lite has no row encoding for layers: they need a facet.
    sizes = {key: outer.pop(key) for key in ("width", "height") if key in outer}
    return {**outer, "facet": rows, "spec": {**sizes, **layers}}


@cache
def _config() -> dict[str, Any]:
    """Return the theme's configuration, for charts that scripts of the page make."""
    with alt.theme.enable(NAME):
        theme: Any = alt.theme.get()
        return dict(theme()["config"])


def script_json(value: object) -> Markup:
    """Return JSON that is safe in a script element, whatever its strings contain."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def prose(text: str) -> Markup:
    """Return text for the page, escaped, with text in backticks as code elements."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def apart(svg: str, name: str) -> str:
    """Prefix the ids of a drawing, which have to be unique among all drawings of a page."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)


def _static(name: str) -> str:
    return (files("backwater.report") / "static" / name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script."""
    # Without a snippet, the bundle exports vega-embed itself.
    bundle: str = engine().javascript_bundle(vl_version=VEGA_LITE)
    # An end tag ends the script even inside a string.
    return bundle.replace("</script", "<\\/script")
