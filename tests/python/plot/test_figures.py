"""Figures for papers and slides have the requested width, readable text and a theme."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from PIL import Image

import backwater
from backwater.errors import InputError
from backwater.plot.measure import balanced, broken, width
from backwater.plot.shades import THEMES, themed
from backwater.plot.sheet import Sheet, family, length
from backwater.plot.theme import COLOURS, INK
from backwater.results import Run
from kit.command import Command
from kit.scenarios import sampled
from kit.tree import ROOT

CHARTS = ["completion", "queue", "throughput", "paused", "pauses", "control"]
SVG = "{http://www.w3.org/2000/svg}"
COLOUR = re.compile(r'(?:fill|stroke|stop-color)="(#[0-9a-f]{6}|rgb\([^)]*\))"')


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The incast with a victim, sampled every microsecond."""
    scenario = backwater.load(ROOT / "scenarios" / "incast-victim.toml")
    return sampled(scenario).run(out=tmp_path_factory.mktemp("run"))


def bars(mechanisms: int) -> Any:  # noqa: ANN401 - some Altair chart
    """Return a chart with one bar and colour for each of so many mechanisms."""
    import altair as alt

    from backwater.plot.theme import colour

    names = [f"mechanism-{n}" for n in range(mechanisms)]
    rows = pl.DataFrame({"name": names, "value": [10.0 + n for n in range(mechanisms)]})
    return alt.Chart(rows).mark_bar().encode(x="name:N", y="value:Q", color=colour("name", names))


def millimetres(svg: str) -> tuple[float, float]:
    """Return the width of a drawing in mm, and the mm per unit of its view box."""
    root = ElementTree.fromstring(svg)
    wide = float(root.get("width", "").removesuffix("mm"))
    box = [float(part) for part in root.get("viewBox", "").split()]
    return wide, wide / box[2]


@pytest.mark.parametrize(
    ("text", "pixels"),
    [("8.5cm", 8.5 / 2.54 * 96), ("85 mm", 85 / 25.4 * 96), ("3.5in", 336), ("252pt", 336)],
)
def test_lengths_take_four_units(text: str, pixels: float) -> None:
    assert length(text) == pytest.approx(pixels)


@pytest.mark.parametrize("text", ["8.5", "8.5 ell", "wide", "", "-3cm", "2.9cm", "101cm", "nan cm"])
def test_what_is_no_length_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InputError, match="--width") as caught:
        length(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    "name", ["completion", "queue", "throughput", "paused", "pauses", "control"]
)
@pytest.mark.parametrize("asked", ["8.5cm", "17cm"])
def test_a_figure_has_its_width_and_text_that_can_be_read(run: Run, name: str, asked: str) -> None:
    svg = Sheet(width=length(asked)).svg(getattr(run.plot, name)())
    wide, millimetre = millimetres(svg)
    assert wide == pytest.approx(10 * float(asked.removesuffix("cm")), abs=0.01)
    sizes = [
        float(one.get("font-size", "0").removesuffix("px")) * millimetre / 25.4 * 72
        for one in ElementTree.fromstring(svg).iter(SVG + "text")
    ]
    # Journals require six points for the smallest text in a figure.
    assert min(sizes) >= 6.5
    assert max(sizes) < 16


@pytest.mark.parametrize("name", ["completion", "queue", "throughput", "paused", "control"])
def test_nothing_of_a_narrow_figure_is_cut(run: Run, name: str) -> None:
    octets = Sheet(width=length("8.5cm")).octets(getattr(run.plot, name)(), "png")
    picture = Image.open(io.BytesIO(octets)).convert("L")
    assert picture.width == pytest.approx(8.5 / 2.54 * 300, abs=2)
    left = picture.crop((0, 0, 1, picture.height))
    right = picture.crop((picture.width - 2, 0, picture.width - 1, picture.height))
    for edge in (left, right):
        assert edge.getextrema() == (255, 255)


def test_a_pdf_is_as_wide_as_it_was_asked_to_be(run: Run) -> None:
    octets = Sheet(width=length("8.5cm")).octets(run.plot.completion(), "pdf")
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", octets)
    assert box is not None
    assert float(box[1]) == pytest.approx(8.5 / 2.54 * 72, abs=0.1)


@pytest.mark.parametrize("name", ["completion", "queue", "slowdown", "pauses"])
def test_print_has_no_colour(run: Run, name: str) -> None:
    svg = Sheet(theme="print").svg(getattr(run.plot, name)())
    for value in COLOUR.findall(svg):
        if value.startswith("#"):
            parts = {value[n : n + 2] for n in (1, 3, 5)}
        else:
            parts = set(value[4:-1].replace(" ", "").split(","))
        assert len(parts) == 1, value


def test_print_tells_bars_apart_by_hatching_and_lines_by_dashes(run: Run) -> None:
    svg = Sheet(theme="print").svg(bars(6))
    [drawn] = [
        one
        for one in ElementTree.fromstring(svg).iter(SVG + "g")
        if "mark-rect" in one.get("class", "") and "role-mark" in one.get("class", "")
    ]
    assert len({part.get("fill") for part in drawn}) == 6
    lines = ElementTree.fromstring(Sheet(theme="print").svg(run.plot.queue()))
    dashes = {
        part.get("stroke-dasharray", "")
        for one in lines.iter(SVG + "g")
        if "mark-line" in one.get("class", "")
        for part in one
    }
    assert len(dashes) == 4


def luminance(colour: str) -> float:
    """Return the relative luminance as WCAG 2.1 defines it."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", [INK, *COLOURS])
def test_what_is_drawn_stands_out_from_dark_paper(colour: str) -> None:
    drawn = themed(f'<svg><rect fill="white"/><path fill="{colour}"/></svg>', "dark")
    paper, mark = re.findall(r'fill="(#[0-9a-f]{6})"', drawn)
    light, dark = sorted((luminance(paper), luminance(mark)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_text_is_as_wide_as_the_renderer_draws_it() -> None:
    import vl_convert

    for text in ("The quick brown fox 0123456789", "p99_fct:victim (us) ±2.38", "WWW%%%@@@"):
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="60"><rect width="900" '
            'height="60" fill="white"/><text x="10" y="40" font-size="30" '
            f'font-family="Liberation Sans">{text}</text></svg>'
        )
        ink = (
            Image.open(io.BytesIO(vl_convert.svg_to_png(svg))).convert("L").point(lambda v: 255 - v)
        )
        box = ink.getbbox()
        assert box is not None
        assert box[2] - 10 <= width(text, 30) <= 1.08 * (box[2] - 10)


def test_text_is_broken_into_lines_that_fit() -> None:
    text = "measured: mean over 10 seeds; whiskers: its 95 % confidence interval"
    for lines in (broken(text, 200, 12), balanced(text, 200, 12)):
        assert " ".join(lines) == text
        assert all(width(line, 12) <= 200 for line in lines)
    [first, second] = balanced(text, 300, 12)
    assert width(first, 12) / width(second, 12) == pytest.approx(1, abs=0.35)
    assert "".join(broken("a" * 100, 100, 12)) == "a" * 100


def test_a_typeface_that_is_not_there_is_refused() -> None:
    assert family("Times New Roman").startswith("Times New Roman")
    with pytest.raises(InputError, match="--font Nowhere Sans"):
        family("Nowhere Sans")
    with pytest.raises(InputError, match="no name"):
        family("<x>")


def test_commands_draw_figures(command: Command, small: Path, tmp_path: Path) -> None:
    command(
        *("run", str(small), "--out", "r", "--figure", "a.pdf", "--figure", "pauses=b.png"),
        *("--width", "8.5cm", "--theme", "print", "--font", "Arial"),
        code=0,
    )
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    command("report", "r", "--figures", "f", "--width", "12cm", "--figure", "c.svg", code=0)
    for file in (tmp_path / "c.svg", tmp_path / "f" / "completion.svg"):
        assert 'width="120.00mm"' in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (["--figure", "x.gif"], "--figure x.gif"),
        (["--figure", "x"], "--figure x"),
        (["--figure", "nowhere=x.svg"], "--figure nowhere=x.svg"),
        (["--figure", "x.svg", "--width", "8.5"], "--width 8.5"),
        (["--figure", "x.svg", "--theme", "grey"], "--theme grey"),
        (["--figure", "x.svg", "--font", "Nowhere"], "--font Nowhere"),
        (["--figure", "there/x.svg"], "there/x.svg"),
        (["--width", "8.5cm"], "--width 8.5cm"),
        (["--figure", "notes.svg"], "notes.svg"),
    ],
)
def test_bad_figures_are_errors_with_place_and_hint(
    command: Command, small: Path, tmp_path: Path, given: list[str], place: str
) -> None:
    (tmp_path / "notes.svg").write_text("my notes", encoding="utf-8")
    said = command("run", str(small), "--out", "r", *given, code=2)
    assert f"error: {place}" in said.err
    assert "hint: " in said.err
    # All errors come before the run, except an unknown name, for which its results are needed.
    assert (tmp_path / "r").exists() == ("nowhere" in given[1])
    assert (tmp_path / "notes.svg").read_text(encoding="utf-8") == "my notes"


def test_every_theme_is_drawn(run: Run) -> None:
    drawn = {theme: Sheet(theme=theme).svg(run.plot.completion()) for theme in THEMES}
    assert len(set(drawn.values())) == len(THEMES)
