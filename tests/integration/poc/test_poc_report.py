"""Looks at the report as a person sees it, in a real Chromium: readable at each width, light and dark, and without a
network.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from chromium import fits, needs_chromium, violations

from connect.poc.report.estimate import Load, judge_load
from connect.poc.report.report import SIZE_MAX, html_report
from connect.poc.sandbox.prices import Prices
from connect.poc.sandbox.result import Chart, Check, Outcome, Result, Setting, Table

HOSTILE = (
    "<script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">\u202eevil\u2067😀" + "x" * 300
)
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """A report with all that one can hold, and hostile texts wherever a user's may be."""
    points = [(i / 5, 1000 + 500 * math.sin(i / 5)) for i in range(1000)]
    table = Table(HOSTILE, ("field", HOSTILE), [(HOSTILE, "1")] * 40)
    setting = Setting("batch.max.rows", HOSTILE, HOSTILE)
    checks = [
        Check(1, "Configuration", Outcome.WARN, HOSTILE, (table,), (setting,)),
        Check(3, "Discovery", Outcome.FAIL, HOSTILE),
        Check(7, "Throughput", Outcome.PASS, "fast", charts=(Chart(HOSTILE, "rows/s", points),)),
        Check(9, "Schema change", Outcome.NOT_TESTED, "not tested"),
        judge_load(Load(1_000_000, True, 100.0, 5000.0, 4000.0, 6000.0, 1, 30), Prices()),
    ]
    file = tmp_path_factory.mktemp("report") / "report.html"
    result = Result("poc-1", {HOSTILE: {"connector.class": "x", HOSTILE: HOSTILE}}, 0, 12.0, checks, {HOSTILE: HOSTILE})
    file.write_text(html_report(result), encoding="utf-8")
    return file


@pytest.fixture
def opened(browser, report):
    """Opens the report; every page that was opened has asked for nothing but itself and reported no error."""
    contexts, seen = [], []

    def look(width: int, scheme: str):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: seen.append(request.url))
        page.on("console", lambda message: seen.append(message.text) if message.type == "error" else None)
        page.goto(report.as_uri())
        return page

    yield look
    for context in contexts:
        context.close()
    assert set(seen) == {report.as_uri()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280, 1920])
def test_a_report_is_accessible_and_fits_the_screen(opened, axe, width, scheme):
    page = opened(width, scheme)
    assert violations(page, axe) == []
    assert fits(page)
    assert "does not fit" in page.title(), "no text of a user's is run"


def test_its_charts_its_difference_and_its_files_are_there(opened):
    page = opened(1280, "light")
    assert page.locator("svg[role=img]").count() == 1
    assert page.locator("pre", has_text="+++ advised").count() == 1
    assert page.locator("button", has_text="Copy").count() == 2
    assert json.loads(page.locator("#result").text_content())["verdict"] == "does not fit"


def test_a_report_stays_small_whatever_is_in_it():
    rows = [(f"orders.column_{i}", *["int64 or null"] * 6) for i in range(10_000)]
    wide = Table("Each field", ("field", "a", "b", "c", "d", "e", "f"), rows)
    long = Check(5, "Round trip", Outcome.FAIL, "y" * 1_000_000, (Table("t", ("v",), [("z" * 1_000_000,)]),))
    page = html_report(
        Result("i", {"c": {"k": "v" * 1_000_000}}, 0, 0, [Check(4, "T", Outcome.PASS, "s", (wide,)), long])
    )
    assert len(page.encode()) <= SIZE_MAX
    assert "(shortened)" in page
    assert "orders.column_0" in page
