"""Makes the pictures of the documents: each shows what it is there for. `make screenshots` takes them anew, into
docs/.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from chromium import needs_chromium, picture

pytestmark = needs_chromium
Look = Callable[..., Any]
TASKS = "[aria-label='Table of tasks']"


def test_the_picture_of_the_overview(look: Look, live: Look, bed: Any, tmp_path: Path) -> None:
    page = look("/ui", 1280)
    live(page)
    bed.write(20_000)
    page.wait_for_function(
        "() => [...document.querySelectorAll('tbody tr')].some((row) => /[1-9]/.test(row.children[5].textContent))"
    )
    picture(
        page,
        "ui-overview",
        tmp_path,
        "bills-to-lake",
        "serialization error",
        "orders-source",
        "Lag",
        "Workers",
        until="main",
    )


def test_the_picture_of_a_connector(look: Look, live: Look, tmp_path: Path) -> None:
    page = look("/ui/connector?name=bills-to-lake", 1100)
    live(page)
    picture(page, "ui-connector", tmp_path, "bills-to-lake", "Restart what failed", "Trace (", "FAILED", until=TASKS)


def test_the_picture_of_the_flow(look: Look, live: Look, bed: Any, tmp_path: Path) -> None:
    page = look("/ui/flow?q=orders", 1100)
    live(page)
    bed.write(20_000)
    page.wait_for_function(
        "() => [...document.querySelectorAll('svg .pace')].some((label) => /[1-9].* rows/.test(label.textContent))"
    )
    picture(page, "ui-flow", tmp_path, "orders-source", "orders-to-lake", "rows/s", "The same as a table", until="main")


def test_the_picture_of_the_doctor(look: Look, tmp_path: Path) -> None:
    page = look("/ui/doctor", 1280)
    picture(
        page,
        "ui-doctor",
        tmp_path,
        "Severity",
        "Why it matters",
        "What mends it",
        "bills-to-lake",
        until="tbody tr:nth-child(2)",
    )
