"""Debian's headless Chromium, driven by playwright, for tests of pages.

Chromium is a package of the system (`apt-get install chromium`), not of Python. Without it, these
tests are skipped, which the summary reports; with CI set they fail.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "chromium is not installed: install Debian's package chromium to test pages"
SIZES = {"phone": (390, 844), "screen": (1280, 900), "wide": (1920, 1080)}


@dataclass
class Opened:
    """A page, with its complaints and the addresses of its requests."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Yield one browser for the tests of a file."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        # In containers, which run as root, its sandbox does not start. The pages are our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(
    browser: Browser, file: Path, size: str, scheme: Literal["light", "dark"] = "light"
) -> Opened:
    """Open a file and scroll to every figure, so that each chart becomes live."""
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    seen = Opened(page)
    page.on("console", lambda said: seen.complaints.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("dialog", lambda dialog: seen.complaints.append(f"dialog: {dialog.message}"))
    page.on("request", lambda asked: seen.requests.append(asked.url))
    page.goto(file.as_uri())
    charts = page.locator("[data-spec]")
    for number in range(charts.count()):
        charts.nth(number).scroll_into_view_if_needed()
        page.locator("[data-live=yes]").nth(number).wait_for(state="attached", timeout=60_000)
    return seen


# WCAG 2.2: relative luminance and contrast of a property's colour in the selected elements.
CONTRAST = """([selector, property]) => {
  const rgb = text => text.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const power = s => s <= .04045 ? s / 12.92 : ((s + .055) / 1.055) ** 2.4;
  const light = c => power(c / 255);
  const value = c => c.map(light).reduce((sum, x, i) => sum + x * [.2126, .7152, .0722][i], 0);
  const opaque = e => !/, 0\\)$|transparent/.test(getComputedStyle(e).backgroundColor);
  const under = e => !e.parentElement || opaque(e) ? e : under(e.parentElement);
  return Array.from(document.querySelectorAll(selector), e => {
    const ink = value(rgb(getComputedStyle(e)[property]));
    // A menu over a drawing has paper of its own.
    const paper = value(rgb(getComputedStyle(under(e)).backgroundColor));
    return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
  });
}"""
