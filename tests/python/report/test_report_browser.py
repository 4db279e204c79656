"""The report of a run in a browser: one slider for all charts, and what a reader can choose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

import backwater
from backwater import report
from backwater.cli import main
from kit.browsing import CONTRAST, SIZES, Opened, opened
from kit.results import Shared
from kit.tree import ROOT


@pytest.fixture(scope="session")
def incast_page(shared_folders: Shared) -> Path:
    """The page of an incast with a victim under PFC, whose run took no samples."""

    def make(folder: Path) -> None:
        backwater.load(ROOT / "scenarios" / "incast-victim.toml").run(out=folder / "run")
        (folder / "page.html").write_text(report.of(folder / "run").html(), encoding="utf-8")

    return shared_folders.folder("incast-page", make) / "page.html"


@pytest.fixture(scope="module")
def seen(browser: Browser, incast_page: Path) -> Opened:
    """The page on a screen, with all charts live."""
    return opened(browser, incast_page, "screen")


@pytest.fixture
def page(seen: Opened) -> Iterator[Page]:
    """The same page for each test; no test may cause a complaint."""
    yield seen.page
    assert seen.complaints == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in seen.requests)


# Position of the line in each visible chart, in pixels of the page.
LINES = """() => Array.from(document.querySelectorAll('[data-clock], .looked .chart'), place => {
  const rules = Array.from(place.querySelectorAll('.mark-rule line'));
  const tall = rules.filter(line => line.getBoundingClientRect().height > 10);
  return tall.map(line => line.getBoundingClientRect().left);
})"""


# Elements that are wider than their place, or reach beyond the screen.
TOO_WIDE = """() => Array.from(document.querySelectorAll('body *')).filter(e => {
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  if (!box.width || e.closest('details:not([open]), .vega-actions, .skip')) return false;
  const scrolls = /auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1;
  const inside = e.closest('svg') && e.tagName !== 'svg';
  return scrolls || (!inside && box.right > innerWidth + 1);
}).map(e => e.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_screen(browser: Browser, incast_page: Path, size: str) -> None:
    """Also in light and dark themes, in which text has enough contrast."""
    one = opened(browser, incast_page, size)
    assert one.complaints == []
    assert one.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    assert one.page.evaluate(TOO_WIDE) == []
    # Text of charts has its own size, and is not shrunk with the chart.
    shrunk = one.page.evaluate(
        """() => Array.from(document.querySelectorAll('svg.marks'), svg =>
          svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"""
    )
    assert min(shrunk) > 0.9
    # Side by side if both have room, else one below the other.
    stage, charts = (
        one.page.locator(place).bounding_box() for place in (".film .stage", ".film .together")
    )
    assert stage is not None
    assert charts is not None
    assert (charts["x"] > stage["x"] + stage["width"]) == (size == "wide")
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        one.page.emulate_media(color_scheme=scheme)
        assert one.page.evaluate(TOO_WIDE) == []
        assert (
            min(one.page.evaluate(CONTRAST, ["p, td, th, figcaption, dt, option", "color"])) >= 4.5
        )
        drawn = [".chart svg.marks text, .fabric text", "fill"]
        assert min(one.page.evaluate(CONTRAST, drawn)) >= 4.5
    one.page.close()


def test_the_drawing_can_be_looked_at_closely_by_keys(page: Page) -> None:
    slider, film = page.locator(".film input[type=range]"), page.locator(".film")
    slider.focus()
    slider.press("+")
    slider.press("+")
    assert float(film.get_attribute("data-zoom") or 0) == pytest.approx(1 / 0.7**2, abs=0.01)
    drawing = page.locator(".fabric").first
    before = drawing.get_attribute("viewBox")
    picked = page.locator(".look select").input_value()
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 100, steps=4)
    page.mouse.up()
    assert drawing.get_attribute("viewBox") != before
    # The drawing was dragged: nothing in it is chosen.
    assert page.locator(".look select").input_value() == picked
    slider.press("0")
    assert film.get_attribute("data-zoom") == "1.00"


def test_drawings_and_charts_say_what_they_are(page: Page) -> None:
    """For readers who cannot see them: each drawing has words, and each control a name."""
    unnamed = page.evaluate(
        """() => Array.from(document.querySelectorAll('.fabric, .chart, button, input, select'))
          .filter(e => !(e.getAttribute('aria-label') || (e.labels && e.labels.length)))
          .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    assert page.locator(".fabric").first.get_attribute("role") == "img"
    assert "2 spines, 4 leaves, 16 hosts" in str(
        page.locator(".fabric").first.get_attribute("aria-label")
    )


def test_space_plays_and_the_strip_chooses_a_time(page: Page) -> None:
    slider, film = page.locator(".film input[type=range]"), page.locator(".film")
    slider.focus()
    slider.press("Home")
    slider.press(" ")
    page.wait_for_function("document.querySelector('.film').dataset.frame > 3")
    slider.press(" ")
    strip = page.locator(".strip").first
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 10)
    last = int(slider.get_attribute("max") or 0)
    assert abs(int(film.get_attribute("data-frame") or 0) - last / 2) <= 1


def test_a_link_that_fails_is_marked_while_it_does(browser: Browser, tmp_path: Path) -> None:
    """The scenario's link from leaf0 to spine0 is down from 10 us to 60 us."""
    backwater.load(ROOT / "scenarios" / "link-failure.toml").run(out=tmp_path / "run")
    file = tmp_path / "page.html"
    file.write_text(report.of(tmp_path / "run").html(), encoding="utf-8")
    one = opened(browser, file, "screen").page
    film = one.evaluate("JSON.parse(document.querySelector('[id^=film-]').textContent)")
    seen = one.evaluate(
        """() => {
          const slider = document.querySelector('.film input'), found = [];
          for (let i = 0; i <= Number(slider.max); i++) {
            slider.value = i;
            slider.dispatchEvent(new Event('input'));
            found.push(document.querySelector('.faults > g').getAttribute('visibility'));
          }
          return found;
        }"""
    )
    down = [n for n, one in enumerate(seen) if one != "hidden"]
    ends = [film["begin_us"] + (n + 1) * film["step_us"] for n in down]
    assert 10 < ends[0] <= 10 + film["step_us"]
    assert 60 - film["step_us"] <= ends[-1] <= 60
    assert "leaf0 to spine0 carries nothing from 10 us until 60 us" in one.content()
    one.close()


def test_one_slider_moves_all_that_is_over_time(page: Page) -> None:
    slider = page.locator(".film input[type=range]")
    slider.focus()
    slider.press("Home")
    before = page.evaluate(LINES)
    # Queues, throughput, pauses, control messages, and the curves of the chosen port.
    assert len(before) == 5
    assert all(before)
    for _ in range(20):
        slider.press("PageUp")
    assert page.locator(".film").get_attribute("data-frame") != "0"
    for chart in page.locator(".film [data-clock], .looked .chart").all():
        chart.scroll_into_view_if_needed()
        page.wait_for_timeout(60)
    after = page.evaluate(LINES)
    moved = [
        new - old for a, b in zip(before, after, strict=True) for old, new in zip(a, b, strict=True)
    ]
    assert min(moved) > 100


def test_a_click_on_the_drawing_shows_the_port(page: Page) -> None:
    """The ports of the fabric by their lines: from the middle of one towards its sender."""
    links = page.locator(".film .links line")
    name = page.evaluate(
        """() => {
          const [all] = JSON.parse(document.getElementById(
            document.querySelector('.look').dataset.looks).textContent);
          return all.ports.map(port => [port.name, port.edge]).find(([, edge]) => edge === 3);
        }"""
    )
    assert name is not None
    at = links.nth(3).evaluate(
        """line => {
          const ends = ['x1', 'y1', 'x2', 'y2'].map(key => Number(line.getAttribute(key)));
          const svg = line.ownerSVGElement, place = new DOMPoint(
            .8 * ends[0] + .2 * ends[2], .8 * ends[1] + .2 * ends[3]);
          svg.scrollIntoView({ block: 'center' });
          const at = place.matrixTransform(svg.getScreenCTM());
          return [at.x, at.y];
        }"""
    )
    page.mouse.click(*at)
    page.wait_for_function(f"document.querySelector('.looked').dataset.shown === '{name[0]}'")
    assert page.locator(".looked h3").inner_text() == name[0]
    assert page.locator(".look select").input_value() == name[0]
    assert page.locator(".halo").get_attribute("visibility") == "visible"


def test_a_flow_says_what_it_waited_for(page: Page, incast_page: Path) -> None:
    """The victim waits behind the incast, and the table of waits shows that."""
    select = page.locator(".look select")
    victim = select.locator("option", has_text="victim: h5 → h1")
    select.select_option(victim.get_attribute("value"))
    page.wait_for_function("document.querySelector('.looked').dataset.shown.startsWith('victim')")
    run = backwater.open_run(incast_page.parent / "run" / "observed" / "seed-1", backwater.Run)
    behind = [
        row["wait_ps"]
        for row in run.waits.to_pylist()
        if row["group"] == "victim" and row["node"] == "leaf1" and row["cause"] == "behind"
    ]
    said = page.locator(".waits tr").first.inner_text()
    assert "leaf1 → spine0" in said
    assert "behind incast" in said
    assert f"{sum(behind) / 1e6:.2f} us" in said
    # 2 MB at 200 Gb/s, shared with one other flow: it received during its whole time.
    assert "last byte after" in page.locator(".looked dl").inner_text()
    assert page.locator(".looked .chart svg").count() == 1


def test_a_port_is_shown_of_each_run_of_a_comparison(browser: Browser, tmp_path: Path) -> None:
    """PFC pauses the port before the victim; SFC pauses nothing there."""
    scenario = tmp_path / "incast.toml"
    scenario.write_text(backwater.new_scenario(), encoding="utf-8")
    both = [str(scenario), f"{scenario}@sfc", "--seeds", "1", "--out", str(tmp_path / "c")]
    assert main(["compare", *both]) == 0
    file = tmp_path / "page.html"
    file.write_text(report.of(tmp_path / "c").html(), encoding="utf-8")
    seen = opened(browser, file, "screen")
    page = seen.page
    page.locator(".look select").select_option("spine1 → leaf0")
    page.wait_for_function("document.querySelector('.looked').dataset.shown === 'spine1 → leaf0'")
    assert page.locator(".looked h4.run").all_inner_texts() == ["incast", "incast@sfc"]
    paused = [
        one.split("paused")[1].split("dropped")[0]
        for one in page.locator(".looked dl").all_inner_texts()
    ]
    assert "times" in paused[0]
    assert "0 times" in paused[1]
    assert page.locator(".looked .chart svg").count() == 2
    assert page.locator(".halo[visibility=visible]").count() == 2
    assert seen.complaints == []
    page.close()


def test_a_bar_of_a_timeline_shows_its_collective(browser: Browser, tmp_path: Path) -> None:
    topology = {"kind": "star", "hosts": 4, "rate": "100 Gb/s", "link_delay": "1 us"}
    step = {"label": "sum", "kind": "all-reduce", "size": "1 MB"}
    job = {"label": "train", "ranks": 4, "step": [step]}
    backwater.build({"topology": topology, "job": [job]}).run(out=tmp_path / "run")
    file = tmp_path / "page.html"
    file.write_text(report.of(tmp_path / "run").html(), encoding="utf-8")
    seen = opened(browser, file, "screen")
    page = seen.page
    bar = page.locator("#timeline-1 .mark-rect path").first
    bar.scroll_into_view_if_needed()
    bar.dispatch_event("click")
    page.wait_for_selector(".looked h3 >> text=train/sum, instance 0, round 0, group 0")
    facts = page.locator(".looked dl").inner_text()
    # A ring of four: three steps of reduction and three of gathering, with four transfers each.
    assert "24" in facts.split("transfers")[1].split()[0]
    assert seen.complaints == []
    page.close()


def test_a_line_of_a_chart_shows_its_port(page: Page) -> None:
    page.locator(".look select").select_option("")
    # Lines are in the order of their names: the first is that of leaf0.
    line = page.locator("#queue .mark-line path").first
    line.scroll_into_view_if_needed()
    line.dispatch_event("click")
    page.wait_for_selector(".looked h3")
    assert page.locator(".looked h3").inner_text() == "leaf0 → h0"
