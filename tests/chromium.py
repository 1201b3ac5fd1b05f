"""Gives tests of pages a real Chromium, and axe-core, which finds what keeps people from reading a page."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connect.tools.services.process.cache import cache_folder

AXE = "4.14.1"
PICTURE_BYTES = 120_000
"""A picture of the documents is smaller than this."""
_MARGIN_PX = 8
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (apt-get install chromium).")


@pytest.fixture(scope="session")
def axe() -> str:
    """Return axe-core's script, which is fetched once."""
    script = cache_folder() / f"axe-core-{AXE}" / "node_modules/axe-core/axe.min.js"
    if not script.exists():
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed, which fetches axe-core.")
        folder = script.parents[2]
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", f"axe-core@{AXE}"], cwd=folder, check=True, timeout=120)
    return script.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


def violations(page: Any, script: str) -> list[tuple[str, str]]:
    """Return the rules of accessibility that a page breaks, each with the place."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(script)
    found = page.evaluate("axe.run()")["violations"]
    return [(one["id"], node["html"]) for one in found for node in one["nodes"]]


def fits(page: Any) -> bool:
    """Return True if no part of the page is beside the screen."""
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def ends_above(part: Any, end: float) -> bool:
    """Return True if the part of a page ends above this height."""
    return part.evaluate("element => element.getBoundingClientRect().bottom + window.scrollY") <= end


def picture(page: Any, name: str, folder: Path, *parts: str, until: str) -> None:
    """Take a picture of a page down to the end of the element `until`, into the folder CONNECT_SCREENSHOTS if that is
    set.

    The picture must show the texts `parts`, and must not cut off a column.
    """
    end = page.locator(until).evaluate("element => element.getBoundingClientRect().bottom + window.scrollY")
    shown = {part: page.get_by_text(part).locator("visible=true").all() for part in parts}
    hidden = [part for part, places in shown.items() if not any(ends_above(place, end) for place in places)]
    assert hidden == [], f"the picture {name} does not show what it is there for"
    cut = page.locator(".wide").evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length")
    assert (fits(page), cut) == (True, 0), f"the picture {name} cuts a table"
    file = Path(os.environ.get("CONNECT_SCREENSHOTS") or folder) / f"{name}.png"
    width = page.viewport_size["width"]
    page.screenshot(path=file, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": end + _MARGIN_PX})
    assert 5_000 < file.stat().st_size < PICTURE_BYTES
