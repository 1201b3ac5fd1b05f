"""Uses the pages of a worker in a real Chromium: by mouse, keyboard and without JavaScript, live, and accessible."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from chromium import fits, needs_chromium, violations

pytestmark = needs_chromium
Look = Callable[..., Any]


PAGES = {
    "overview": "/ui",
    "doctor": "/ui/doctor",
    "connector": "/ui/connector?name=bills-to-lake",
    "flow": "/ui/flow",
    "sample": "/ui/sample?name=clicks-source",
    "nothing-there": "/ui?q=nothing-is-called-so",
    "offsets": "/ui/offsets?name=orders-source",
    "history": "/ui/history?name=bills-to-lake",
    "edit": "/ui/edit?name=orders-source",
    "new": "/ui/edit",
    "backfills": "/ui/backfills",
    "reports": "/ui/reports",
    "plugins": "/ui/plugins",
    "plugin": "/ui/plugin?class=FileStreamSource",
}


@pytest.fixture(scope="module", params=PAGES.values(), ids=PAGES)
def shown(request: pytest.FixtureRequest, looking: Look, live: Look) -> Iterator[Any]:
    """A page that was opened once, live where it follows its worker."""
    with looking() as look:
        page = look(request.param)
        if page.locator("#live").count():
            live(page)
        yield page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_are_accessible_and_fit_the_screen(shown: Any, axe: str, width: int, scheme: str) -> None:
    shown.set_viewport_size({"width": width, "height": 800})
    shown.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    assert violations(shown, axe) == []
    assert fits(shown)


def test_the_failed_connector_is_found_understood_and_restarted_by_keyboard(look: Look, live: Look, bed: Any) -> None:
    page = look()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    rows = page.locator("tbody tr")
    assert "bills-to-lake" in rows.first.text_content(), "what needs a person comes first"
    assert "serialization error" in rows.first.text_content(), "and says why"
    page.get_by_role("link", name="bills-to-lake").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="bills-to-lake").wait_for()
    assert page.get_by_role("button", name="Restart what failed").count() == 1
    page.get_by_text("Trace (").first.click()
    assert page.locator("details.trace pre").first.is_visible()
    page.get_by_role("button", name="Restart task 0").focus()
    live(page)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Restart task 0", "focus stays"
    page.keyboard.press("Enter")
    page.get_by_text("The task restarts.").wait_for()
    bed.worker.wait_for_tasks("bills-to-lake", "FAILED")


def test_a_button_stays_the_same_while_another_one_comes_before_it(look: Look, live: Look, bed: Any) -> None:
    lines = bed.lines.with_name("late.txt")
    lines.write_text('{"schema": null, "payload": "one"}\n')
    topic = f"late-{bed.topic}"
    sink = {"connector.class": "FileStreamSink", "topics": topic, "file": str(lines.with_name("late-copy.txt"))}
    json_values = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    source = {"connector.class": "FileStreamSource", "file": str(lines), "topic": topic}
    created = bed.worker.create("late-source", source)
    assert created.status_code == 201, created.text
    assert bed.worker.create("late-sink", sink | json_values).status_code == 201
    bed.worker.wait_for_tasks("late-sink", "RUNNING")
    page = look("/ui/connector?name=late-sink")
    live(page)
    page.get_by_role("button", name="Pause").focus()
    with lines.open("a") as file:
        file.write("this is no JSON\n")
    page.get_by_role("button", name="Restart what failed").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Pause"
    page.keyboard.press("Enter")
    page.get_by_text("The connector pauses").wait_for()
    page.get_by_role("button", name="Resume").wait_for()
    for name in ("late-source", "late-sink"):
        assert bed.worker.call("DELETE", name).status_code == 204


def test_figures_move_without_a_reload(look: Look, live: Look, bed: Any) -> None:
    page = look("/ui/connector?name=orders-source")
    page.evaluate("window.is_the_same = true")
    live(page)
    rows = page.locator("tbody tr").first.locator("td.number").nth(1)
    before = int(rows.text_content().replace(",", ""))
    bed.write(300)
    page.wait_for_function(
        "([before]) => Number(document.querySelectorAll('tbody td.number')[1].textContent.replace(',', '')) >= before",
        arg=[before + 300],
    )
    page.locator("figure.plot svg").first.wait_for()
    assert page.evaluate("window.is_the_same") is True


def test_a_connector_is_paused_and_goes_on(look: Look, bed: Any) -> None:
    page = look("/ui/connector?name=orders-to-lake")
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("The connector pauses").wait_for()
    bed.worker.wait_for_tasks("orders-to-lake", "PAUSED")
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("The connector goes on.").wait_for()
    bed.worker.wait_for_tasks("orders-to-lake", "RUNNING")


def test_a_page_without_javascript_does_the_same(look: Look, bed: Any) -> None:
    page = look("/ui?q=orders&state=RUNNING", java_script_enabled=False)
    assert page.locator("tbody tr").count() == 2
    page.get_by_role("link", name="orders-source").click()
    page.get_by_role("button", name="Restart", exact=True).first.click()
    page.get_by_text("The connector and its tasks restart.").wait_for()
    assert "s3cr3t-Pa55" not in page.content()
    bed.worker.wait_for_tasks("orders-source", "RUNNING")


def test_a_double_click_restarts_once(look: Look, bed: Any) -> None:
    page = look("/ui/connector?name=orders-source")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_role("button", name="Restart task 0").dblclick()
    page.get_by_text("The task restarts.").wait_for()
    assert len(sent) == 1
    bed.worker.wait_for_tasks("orders-source", "RUNNING")


def test_offsets_are_set_and_a_version_is_brought_back(look: Look, axe: str, bed: Any, tmp_path: Path) -> None:
    page = look("/ui/connector?name=clicks-source")
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("The connector stops").wait_for()
    page.get_by_role("link", name="Offsets").click()
    text = page.get_by_label("Partitions and offsets as JSON")
    stored = json.loads(text.input_value())["offsets"]
    (partition,) = [one["partition"] for one in stored] or [{"filename": str(bed.lines)}]
    text.fill(json.dumps({"offsets": [{"partition": partition, "offset": {"position": 24}}]}))
    page.get_by_role("button", name="Show what this changes").click()
    page.get_by_role("heading", name="What this would change").wait_for()
    page.screenshot(path=tmp_path / "preview.png", full_page=True)
    assert violations(page, axe) == []
    page.get_by_role("button", name="Write these offsets").click()
    page.get_by_text("altered successfully").wait_for()
    answer = bed.worker.call("GET", "clicks-source", "/offsets").json()
    assert [one["offset"] for one in answer["offsets"]] == [{"position": 24}]

    config = bed.worker.call("GET", "clicks-source", "/config").json()
    answer = requests.put(f"{bed.url}/connectors/clicks-source/config", json=config | {"batch.size": "17"}, timeout=60)
    assert answer.status_code == 200, answer.text
    page.get_by_role("link", name="History").click()
    assert "batch.size" in page.locator("tbody tr").first.text_content()
    page.get_by_role("button", name="Go back to version 1").click()
    page.get_by_text("version 1 again").wait_for()
    assert "batch.size" not in bed.worker.call("GET", "clicks-source", "/config").json()


def test_a_connector_is_created_and_changed(look: Look, axe: str, bed: Any, tmp_path: Path) -> None:
    page = look("/ui/plugin?class=FileStreamSource")
    page.get_by_role("link", name="New connector of it").click()
    page.get_by_label("Name", exact=True).fill("made-here")
    config = {"connector.class": "FileStreamSource", "file": str(bed.lines), "tasks.max": "none"}
    page.get_by_label("Keys and values as JSON").fill(json.dumps(config))
    page.get_by_role("button", name="Check, and show what changes").click()
    page.get_by_role("heading", name="What is wrong").wait_for()
    page.screenshot(path=tmp_path / "wrong.png", full_page=True)
    assert page.get_by_text("Not a number of type INT").count() == 1
    assert violations(page, axe) == []
    page.get_by_label("Keys and values as JSON").fill(json.dumps(config | {"tasks.max": "1", "topic": bed.topic}))
    page.get_by_role("button", name="Check, and show what changes").click()
    page.get_by_role("heading", name="What this would change").wait_for()
    page.screenshot(path=tmp_path / "right.png", full_page=True)
    assert violations(page, axe) == []
    page.get_by_role("button", name="Create the connector").click()
    page.get_by_text("The configuration is stored.").wait_for()
    bed.worker.wait_for_tasks("made-here", "RUNNING")
    assert bed.worker.call("DELETE", "made-here").status_code == 204


def test_the_flow_is_walked_by_keyboard_and_says_what_moves(look: Look, live: Look, bed: Any) -> None:
    page = look("/ui/flow?q=orders")
    live(page)
    picture = page.get_by_role("region", name="Picture of the flow")
    assert {"orders-source", "orders-to-lake"} <= set(picture.locator("a.box text:first-of-type").all_text_contents())
    row = page.get_by_role("row").filter(has_text="orders-source").filter(has_text="writes")
    assert bed.topic in row.text_content()
    assert "configuration, rows" in row.text_content()
    bed.write(20_000)
    page.wait_for_function(
        "() => [...document.querySelectorAll('svg .pace')].some((label) => /[1-9].* rows/.test(label.textContent))"
    )
    box = picture.get_by_role("link", name="bills-to-lake")
    assert "FAILED" in box.text_content()
    box.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="bills-to-lake").wait_for()


def test_live_rows_are_shown_before_and_after_each_transform(look: Look, bed: Any) -> None:
    page = look("/ui/connector?name=clicks-source")
    page.get_by_role("link", name="Sample").click()
    steps = page.get_by_role("region", name="Steps of row 1").locator("tbody tr")
    assert steps.count() == 3
    assert '"line 0 is no JSON"' in steps.nth(0).text_content()
    assert '{"line": "line 0 is no JSON"}' in steps.nth(1).text_content()
    assert "leaves it as it is" in steps.nth(2).text_content()
    page.get_by_label("Rows").fill("2")
    page.get_by_role("button", name="Read anew").click()
    page.wait_for_url("**rows=2*")
    assert page.get_by_role("region", name="Steps of row").count() == 2
    page = look("/ui/sample?name=bills-to-lake&rows=1", java_script_enabled=False)
    assert bed.topic in page.locator("h2").first.text_content(), "a sink's rows are those of its topics"
    assert "refuses it" in page.locator("tbody").text_content()
    before = bed.worker.call("GET", "bills-to-lake", "/offsets").json()
    sample = bed.worker.call("GET", "orders-to-lake", "/sample?rows=3").json()
    assert [row["steps"][0]["name"] for row in sample["rows"]] == ["read"] * 3
    assert bed.worker.call("GET", "bills-to-lake", "/offsets").json() == before
