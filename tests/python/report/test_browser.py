"""The page of a study in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

import backwater
from backwater import report
from kit.browsing import CONTRAST, SIZES, opened
from kit.results import Shared
from kit.scenarios import sampled

NAME = "<img src=x onerror=alert(1)> & <b>bold</b>"


@pytest.fixture(scope="session")
def study_page(shared_folders: Shared, published_study: Path) -> Path:
    """The page of `sfc-aidc-2025`, with the cases that its films and time series show."""

    def make(folder: Path) -> None:
        shutil.copytree(published_study / "o", folder / "sfc")
        (folder / "page.html").write_text(report.of(folder / "sfc").html(), encoding="utf-8")

    return shared_folders.folder("study-page", make) / "page.html"


@pytest.mark.parametrize("size", SIZES)
def test_a_study_is_readable_and_quiet(browser: Browser, study_page: Path, size: str) -> None:
    seen = opened(browser, study_page, size)
    page = seen.page
    assert seen.complaints == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in seen.requests)
    charts = page.locator("[data-spec]").count()
    assert charts >= 10
    assert page.locator("[data-live=yes] svg.marks").count() == charts
    # Nothing is wider than the screen; wide elements scroll inside.
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= SIZES[size][0]
    least = page.evaluate(
        "Math.min(...Array.from(document.querySelectorAll('p, td, th, figcaption'), "
        "e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert least >= 13
    for text in ("Published and measured", "288.14", "Counterpart: part 1"):
        assert page.get_by_text(text).first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_in_light_and_dark(
    browser: Browser, study_page: Path, scheme: Literal["light", "dark"]
) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(study_page.as_uri())
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    words = "section p, td, th, figcaption, a, summary, footer, .good, .off, .note"
    assert min(page.evaluate(CONTRAST, [words, "color"])) >= 4.5
    # Texts in drawings have enough contrast, too.
    assert min(page.evaluate(CONTRAST, [".chart svg text, .fabric text", "fill"])) >= 4.5
    page.close()


def test_the_slider_moves_the_fabric(browser: Browser, study_page: Path) -> None:
    seen = opened(browser, study_page, "screen")
    page = seen.page
    film = page.locator(".film").first
    slider, clock = film.locator("input[type=range]"), film.locator("output")
    pfc, sfc = film.locator(".track").nth(0), film.locator(".track").nth(1)
    paused = "[...arguments[0].querySelectorAll('.pauses > g[visibility=visible]')].length"
    count = f"place => {paused.replace('arguments[0]', 'place')}"
    # It begins at the moment when most bytes wait.
    assert int(film.get_attribute("data-frame") or 0) > 0
    slider.focus()
    slider.press("Home")
    before = clock.inner_text()
    for _ in range(40):
        slider.press("ArrowRight")
    assert clock.inner_text() != before
    assert film.get_attribute("data-frame") == "40"
    # Under PFC congestion has spread; with SFC it stays at the source.
    held = [track.evaluate(count) for track in (pfc, sfc)]
    assert held[0] >= 8
    assert held[1] <= 2
    assert f"{held[0]} ports paused" in pfc.locator(".said").inner_text()
    film.locator(".play").click()
    page.wait_for_function("document.querySelector('.film').dataset.frame > 45")
    film.locator(".play").click()
    assert seen.complaints == []


def test_a_step_of_the_film_is_quick(browser: Browser, study_page: Path) -> None:
    """Each step of a 128-host film changes few elements."""
    page = opened(browser, study_page, "screen").page
    moved = page.evaluate(
        """async () => {
            const film = document.querySelector('.film'), slider = film.querySelector('input');
            let changes = 0;
            const watch = new MutationObserver(found => { changes += found.length; });
            watch.observe(film, { subtree: true, attributes: true });
            for (let i = 0; i <= Number(slider.max); i++) {
                slider.value = i;
                slider.dispatchEvent(new Event('input'));
                changes += watch.takeRecords().length;
            }
            return changes / (Number(slider.max) + 1);
        }"""
    )
    assert 1 < moved < 150


def test_a_name_with_markup_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    scenario = backwater.parse(backwater.new_scenario()).set("title", NAME)
    scenario.run(out=tmp_path / "run")
    file = tmp_path / "page.html"
    file.write_text(report.of(tmp_path / "run").html(), encoding="utf-8")
    seen = opened(browser, file, "screen")
    page = seen.page
    assert page.locator("h1").inner_text() == NAME
    assert page.title() == NAME
    assert page.locator("img").count() == 0
    assert seen.complaints == []


def test_a_film_says_where_pauses_were_not_recorded(browser: Browser, tmp_path: Path) -> None:
    scenario = backwater.parse(backwater.new_scenario())
    sampled(scenario, "2 us", ("queues", "links")).run(out=tmp_path / "run")
    file = tmp_path / "page.html"
    file.write_text(report.of(tmp_path / "run", rerun=False).html(), encoding="utf-8")
    seen = opened(browser, file, "screen")
    said = seen.page.locator(".track .said").first.inner_text()
    assert said.endswith(" waiting, pauses not recorded")
    assert seen.complaints == []


def test_it_prints(browser: Browser, study_page: Path) -> None:
    page = browser.new_page()
    page.goto(study_page.as_uri())
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    # Charts that never were on screen are on paper, too.
    assert page.locator(".chart > svg").count() >= 5
