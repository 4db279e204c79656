"""The playground in headless Chromium: fingerprints and errors of the command, and a usable page.

`make playground-test` builds the page first. `make test` does not, since that compiles the core
once more: without the page these are skipped.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from typing import Any, Literal

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

import backwater
from kit.browsing import CHROMIUM
from kit.tree import ROOT

PAGE = ROOT / "playground" / "dist" / "index.html"
SCENARIOS = ROOT / "scenarios"
# They name tables of numbers beside them, and a page reads no files.
WITH_FILES = {("poisson-star", None), ("fat-tree-rpc", "racks")}

pytestmark = pytest.mark.skipif(
    not PAGE.exists() or CHROMIUM is None,
    reason="make playground-test builds the page, and needs chromium",
)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """The page once its picture moves; it may complain of nothing, and ask no network."""
    said: list[str] = []
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.on("console", lambda one: said.append(f"{one.type}: {one.text}"))
    opened.on("pageerror", lambda one: said.append(str(one)))
    opened.on(
        "request",
        lambda one: said.extend(
            [] if one.url.startswith(("file:", "blob:", "data:")) else [one.url]
        ),
    )
    opened.goto(PAGE.as_uri())
    ready(opened)
    yield opened
    assert said == []
    opened.close()


def ready(page: Page) -> None:
    page.locator("body[data-moving=yes]").wait_for(timeout=60_000)


def cases() -> Iterator[tuple[str, str | None]]:
    for file in sorted(SCENARIOS.glob("*.toml")):
        for variant in (None, *backwater.load(file).variants):
            yield file.stem, variant


def native(name: str, variant: str | None) -> tuple[str | None, str | None]:
    """Return the fingerprint that the command prints, or the error that ended the run."""
    scenario = backwater.load(SCENARIOS / f"{name}.toml")
    scenario = scenario if variant is None else scenario.variant(variant)
    try:
        return scenario.run().fingerprint, None
    except backwater.RunError as error:
        return None, str(error)


def test_fingerprints_are_those_of_the_command(page: Page) -> None:
    equal = refused = broken = 0
    for name, variant in cases():
        text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
        got: dict[str, Any] = page.evaluate(
            "([t, v]) => playground.totals(t, v)", [text, variant or ""]
        )
        if (name, variant) in WITH_FILES:
            assert "there is no file `" in got["error"]["message"]
            refused += 1
            continue
        assert "fingerprint" in got, (name, variant, got)
        fingerprint, error = native(name, variant)
        if error is None:
            assert (name, variant, got["fingerprint"]) == (name, variant, fingerprint)
            assert got["broken"] is None
            equal += 1
        else:
            assert got["broken"] in error
            broken += 1
    print(
        f"\n{equal} runs with equal fingerprints, {broken} broken by the same finding, "
        f"{refused} refused for their files"
    )
    assert equal >= 30


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ('"340 KB"', '"340 KBx"'),
        ("xoff", "xof"),
        ("[pfc]", "[pcf]"),
        ("leaves = 4", "leaves = -4"),
        ('to = "h0"', 'to = "h99"'),
    ],
)
def test_errors_are_those_of_the_command(page: Page, good: str, bad: str) -> None:
    text = (SCENARIOS / "incast-victim.toml").read_text(encoding="utf-8").replace(good, bad, 1)
    with pytest.raises(backwater.ScenarioError) as raised:
        backwater.parse(text).check()
    got = page.evaluate("t => playground.check(t, '<text>')", text)["error"]
    assert got["message"] == str(raised.value)
    assert got["line"] == raised.value.line
    # And at its line.
    page.locator("#edit > summary").click()
    page.locator("#text").fill(text)
    page.locator("#error").wait_for(state="visible")
    assert str(raised.value).split("\n")[-1] in page.locator("#error").inner_text()
    assert page.locator("#gutter .bad").inner_text() == str(raised.value.line)
    page.locator("#text").fill(text.replace(bad, good, 1))
    page.locator("#error").wait_for(state="hidden")


def test_a_slider_moves_a_threshold_and_the_results(page: Page) -> None:
    page.locator("#variant-b").select_option("-")
    page.locator("#value-of").select_option(label="pfc.xoff")
    before = page.locator("#groups").inner_text()
    page.locator("#slide").focus()
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#groups")).not_to_have_text(before, use_inner_text=True)
    text = page.locator("#text").input_value()
    assert 'xoff = "340 KB"' not in text
    assert backwater.parse(text).variants == ["sfc", "dcqcn"]


def test_two_settings_stand_side_by_side_and_move(page: Page) -> None:
    assert page.locator("#sides figure").count() == 2
    said = page.locator("#sides figcaption")
    seen = set()
    for step in (0, 40, 80, 120):
        page.locator("#time").fill(str(step))
        seen.add((said.nth(0).inner_text(), said.nth(1).inner_text()))
    assert len(seen) >= 3
    rows = [row.split("\t") for row in page.locator("#groups tbody tr").all_inner_texts()]
    assert [row[0] for row in rows] == ["incast", "incast", "victim", "victim"]
    # What the command says of the victim: with Source Flow Control its time is shorter.
    scenario = backwater.load(SCENARIOS / "incast-victim.toml")
    for row, run in zip(rows[2:], (scenario.run(), scenario.variant("sfc").run()), strict=True):
        flows = pl.from_arrow(run.flows)
        assert isinstance(flows, pl.DataFrame)
        victim = flows.filter(pl.col("group") == "victim")["fct_last_byte_ps"].max()
        assert isinstance(victim, int)
        assert row[7] == f"{victim / 1e6:.5g} us"
    assert float(rows[3][7].split()[0]) < float(rows[2][7].split()[0])


def test_a_link_brings_the_scenario_back(page: Page, browser: Browser) -> None:
    text = page.locator("#text").input_value().replace('"340 KB"', '"320 KB"')
    page.locator("#edit > summary").click()
    page.locator("#text").fill(text)
    page.wait_for_timeout(1500)
    page.locator("#share").click()
    expect(page).to_have_url(re.compile("#s="))
    page.wait_for_timeout(500)
    other = browser.new_page()
    other.goto(page.url)
    ready(other)
    assert other.locator("#text").input_value() == text
    assert other.locator("#variant-b").input_value() == "sfc"
    other.close()


def test_keys_and_values_are_completed(page: Page) -> None:
    page.locator("#edit > summary").click()
    area = page.locator("#text")
    area.fill("[pfc]\nxo")
    area.press("End")
    area.press("Control+Space")
    names = page.locator("#names li b").all_inner_texts()
    expected = json.loads(backwater.schema())["properties"]["pfc"]["properties"]
    assert names == [name for name in expected if name.startswith("xo")]
    area.press("Enter")
    assert area.input_value() == f"[pfc]\n{names[0]} = "
    area.fill("[pfc]\nthreshold = ")
    area.press("Control+Space")
    assert page.locator("#names li b").all_inner_texts() == ["static", "dynamic"]


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(
    browser: Browser, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(PAGE.as_uri())
    ready(page)
    page.locator("#edit > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Everything that is used has a name, and pictures have words.
    nameless = (
        "[...document.querySelectorAll('select, input, textarea, button')]"
        ".filter(e => !e.labels?.length && !e.ariaLabel && !e.innerText).length"
    )
    assert page.evaluate(nameless) == 0
    assert page.locator("#sides svg:not([aria-label])").count() == 0
    page.close()


def test_the_time_to_a_moving_picture_is_told(browser: Browser) -> None:
    """No limit: the time is printed, for who wants to know it."""
    page = browser.new_page()
    began = time.perf_counter()
    page.goto(PAGE.as_uri())
    ready(page)
    print(f"\n{time.perf_counter() - began:.2f} s from opening the file to a moving picture")
    if folder := os.environ.get("PLAYGROUND_PICTURES"):
        page.screenshot(path=f"{folder}/first.png")
    page.close()
