"""The documents as a site: its navigation, and what a browser makes of it without a network.

`make docs-test` builds the site; where it is not built, what looks at it is skipped.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from kit.browsing import CHROMIUM
from kit.tree import ROOT, load_file

SITE = ROOT / "dist" / "docs"
SOURCE = ROOT / "docs" / "site"
built = pytest.mark.skipif(
    CHROMIUM is None or not (SITE / "index.html").exists(),
    reason="make docs-test builds the site, and needs chromium",
)


def navigation() -> list[str]:
    """The pages that the navigation names."""
    text = (SOURCE / "mkdocs.yml").read_text(encoding="utf-8")
    return re.findall(r"^ +- (?:[^\n]*: )?(\S+\.md)$", text.partition("\nnav:\n")[2], re.MULTILINE)


def test_every_document_is_in_the_navigation() -> None:
    own = {page.relative_to(ROOT).as_posix() for page in ROOT.glob("docs/**/*.md")}
    own = {name for name in own if not name.startswith("docs/site/")}
    own |= {page.relative_to(ROOT).as_posix() for page in ROOT.glob("studies/*/README.md")}
    own |= {page.relative_to(ROOT).as_posix() for page in ROOT.glob("*.md")}
    own |= {page.relative_to(ROOT).as_posix() for page in ROOT.glob("benches/*.md")}
    own |= {
        page.relative_to(SOURCE / "pages").as_posix() for page in (SOURCE / "pages").glob("**/*.md")
    }
    named = navigation()
    assert len(named) == len(set(named)), "a page is named twice"
    # Columns are taken out of docs/results.md when the site is built.
    assert set(named) - {"docs/columns.md"} == own


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://cdn.example/x.js"></script>', True),
        ("<link href=//fonts.example/f.css rel=stylesheet>", True),
        ('<img alt="a" src="http://example.org/x.png">', True),
        ("@font-face { src: url(https://fonts.example/f.woff2) }", True),
        ('@import "https://fonts.example/f.css";', True),
        ('<a href="https://example.org">a link may be followed</a>', False),
        ('<script src="assets/x.js"></script><link rel="stylesheet" href="x.css">', False),
        ('<svg xmlns="http://www.w3.org/2000/svg"></svg>', False),
        ("body { background: url(data:image/png;base64,AA==) }", False),
    ],
)
def test_loads_from_elsewhere_are_found(text: str, found: bool) -> None:
    outside = load_file(SOURCE / "loads.py").outside
    assert bool(outside(text)) is found


@built
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_open_from_files(browser: Browser, width: int, scheme: str) -> None:
    """No page asks for anything else, complains, or is wider than the screen."""
    dark = scheme == "dark"
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for name in ("README", "docs/guide", "docs/reference", "docs/commands", "api/scenarios"):
        place = SITE / ("index.html" if name == "README" else f"{name}.html")
        page.goto(place.as_uri())
        expect(page.locator("h1").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        levels = [int(number) for number in re.findall(r"\d+", ground)[:3]]
        assert (sum(levels) < 3 * 128) is dark, f"{name}: {ground}"
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert complaints == []
    context.close()


@built
@pytest.mark.parametrize(
    ("words", "page"),
    [("headroom threshold", "Advice for thresholds"), ("pfc.xoff", "PFC"), ("p99_fct", "metric")],
)
def test_search_answers_without_a_server(browser: Browser, words: str, page: str) -> None:
    shown = browser.new_page()
    shown.goto((SITE / "index.html").as_uri())
    shown.fill("input.md-search__input", words)
    titles = shown.locator(".md-search-result__item h1")
    expect(titles.filter(has_text=page).first).to_be_visible(timeout=20_000)
    shown.close()
