"""Builds the documents as a site by one command, reads it in a browser without a network, and searches it."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from build_site import BUILT
from chromium import axe, browser, needs_chromium, violations  # noqa: F401 - fixtures

ROOT = Path(__file__).parents[3]
HIDDEN_BY_THEME = {"color-contrast", "landmark-unique"}
"""Rules of axe that the generator's own theme breaks, which the pages here cannot mend."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and writes no line for each."""

    def log_message(self, *args):
        """Write nothing."""


@pytest.fixture(scope="module")
def site():
    built = subprocess.run(
        [sys.executable, ROOT / "docs/site/build_site.py"], capture_output=True, text=True, timeout=120, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "No issues found" in built.stdout + built.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=BUILT / "site"))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(60)
    server.server_close()


@pytest.fixture
def page(browser, site):  # noqa: F811 - the fixture
    opened = browser.new_page()
    asked, faults = [], []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda fault: faults.append(fault))  # noqa: PLW0108 - playwright marks what it calls
    yield opened
    opened.close()
    assert not faults
    assert {url for url in asked if not url.startswith((site, "data:", "blob:"))} == set()


@needs_chromium
def test_a_search_leads_to_a_guide(page, site):
    page.goto(f"{site}/index.html")
    page.keyboard.press("/")
    page.locator("input:focus").wait_for(timeout=60_000)
    page.keyboard.type("large table")
    # A result has the title of a part, with that of its page below.
    found = page.get_by_role("option").filter(has_text="then its connector").first
    found.wait_for(timeout=60_000)


@needs_chromium
@pytest.mark.parametrize("name", ["index", "guides/quick-start", "reference/metrics", "connectors/jdbc", "security"])
def test_a_page_is_whole(page, site, name, axe):  # noqa: F811 - the fixture
    page.goto(f"{site}/{name}.html")
    assert page.locator("h1").count() == 1
    assert page.locator("nav").count() > 0
    found = [(rule, html) for rule, html in violations(page, axe) if rule not in HIDDEN_BY_THEME]
    assert not found
