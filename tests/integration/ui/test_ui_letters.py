"""Uses dead letters on the pages of a real worker: they are seen, tried, mended and replayed once, without
JavaScript.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from chromium import fits, needs_chromium, violations
from e2e_worker import wait_for
from ui_reader import Page, Reader

JSON = "org.apache.kafka.connect.json.JsonConverter"
TEXT = "org.apache.kafka.connect.storage.StringConverter"
NAME = "strict-sink"
PAGE = f"/ui/letters?name={NAME}"


@pytest.fixture(scope="module")
def letters(bed: Any) -> str:
    """The topic of the dead letters of a sink that takes JSON alone, and was given two lines that are none."""
    topic, file = f"strict-{bed.topic}", bed.lines.with_name("strict.txt")
    file.write_text('<b>first</b>\n{"a": 1}\nlast\n')
    source = {"connector.class": "FileStreamSource", "file": str(file), "topic": topic}
    assert bed.worker.create("strict-source", source).status_code == 201
    assert bed.worker.create(NAME, config(bed, topic, JSON)).status_code == 201
    reader = Reader(bed.url)
    wait_for(lambda: "2 letters of this connector" in reader.open(PAGE).text, 90, "two letters")
    return f"{topic}-letters"


def config(bed: Any, topic: str, converter: str) -> dict[str, str]:
    return {
        "connector.class": "FileStreamSink", "topics": topic, "file": str(bed.lines.with_name("strict-out.txt")),
        "value.converter": converter, "value.converter.schemas.enable": "false", "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}-letters",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        "consumer.override.auto.offset.reset": "earliest",
    }  # fmt: skip


def more_letters(bed: Any, name: str, *lines: str) -> tuple[str, str, Path]:
    """A sink whose letters, one for each line, can be replayed now; the topic of its rows, and its file."""
    topic, file = f"{name}-{bed.topic}", bed.lines.with_name(f"{name}.txt")
    file.write_text("".join(f"{line}\n" for line in lines))
    source = {"connector.class": "FileStreamSource", "file": str(file), "topic": topic}
    assert bed.worker.create(f"{name}-source", source).status_code == 201
    own = {"file": str(bed.lines.with_name(f"{name}-out.txt"))}
    assert bed.worker.create(name, config(bed, topic, JSON) | own).status_code == 201
    wait_for(lambda: f"{len(lines)} letters" in Reader(bed.url).open(f"/ui/letters?name={name}").text, 90, "letters")
    mended = requests.put(f"{bed.url}/connectors/{name}/config", json=config(bed, topic, TEXT) | own, timeout=60)
    assert mended.status_code == 200, mended.text
    bed.worker.wait_for_tasks(name, "RUNNING")
    return name, topic, Path(own["file"])


def press(reader: Reader, page: Page, do: str) -> str:
    answer = reader.press(page, do)
    assert answer.status == 200, answer.text
    return answer.text


@needs_chromium
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (360, "light"),
        (1280, "dark"),
        # The styles of a width and of a scheme do not depend on each other: those above have one of each.
        pytest.param(360, "dark", marks=pytest.mark.chaos),
        pytest.param(1280, "light", marks=pytest.mark.chaos),
    ],
)
def test_letters_are_shown_by_error(
    bed: Any, letters: str, browser: Any, axe: str, tmp_path: Path, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(bed.url + PAGE)
    page.locator("summary").first.click()
    page.screenshot(path=tmp_path / f"letters-{width}-{scheme}.png", full_page=True)
    assert violations(page, axe) == []
    assert fits(page)
    context.close()


def test_letters_are_replayed_once_when_what_made_them_bad_is_mended(bed: Any, letters: str) -> None:
    reader = Reader(bed.url)
    page = reader.open(PAGE)
    assert page.unclosed == []
    for text in (letters, "VALUE_CONVERTER", "<b>first</b>", "last", "strict-"):
        assert text in page.text
    assert "b" not in {tag for tag, _ in page.elements}
    assert "0 letters would be replayed" in press(reader, page, "try")
    assert "2 kept, still bad" in press(reader, page, "replay")

    topic = letters.removesuffix("-letters")
    mended = requests.put(f"{bed.url}/connectors/{NAME}/config", json=config(bed, topic, TEXT), timeout=60)
    assert mended.status_code == 200, mended.text
    bed.worker.wait_for_tasks(NAME, "RUNNING")
    assert "2 letters would be replayed as 2 records" in press(reader, page, "try")
    stale = reader.press(page, "replay")
    assert (stale.status, "changed: value.converter" in stale.text) == (409, True)
    page = reader.open(PAGE)
    place = next(one.removeprefix("replay ") for one in page.buttons() if one.startswith("replay "))
    assert "1 letter replayed as 1 record." in press(reader, page, f"replay {place}")
    again = press(reader, reader.open(PAGE), "replay")
    assert "1 letter replayed as 1 record. 1 letter replayed before" in again
    assert "0 letters replayed as 0 records. 2 letters replayed before" in press(reader, reader.open(PAGE), "replay")
    out = bed.lines.with_name("strict-out.txt")
    wait_for(lambda: out.read_text().split("\n").count("last") == 1, 60, "the replayed rows")
    assert out.read_text().count("<b>first</b>") == 1


def test_a_second_click_on_replay_shows_what_the_first_did(bed: Any, letters: str) -> None:
    name, _, out = more_letters(bed, "twice", "<i>1", "<i>2", "<i>3")
    reader = Reader(bed.url)
    page = reader.open(f"/ui/letters?name={name}")
    with ThreadPoolExecutor(3) as clicks:
        answers = list(clicks.map(lambda _: reader.press(page, "replay"), range(3)))
    assert [answer.status for answer in answers] == [200] * 3, [answer.text for answer in answers]
    assert all("3 letters replayed as 3 records. 0 letters replayed before" in answer.text for answer in answers)
    assert "3 letters replayed as 3 records." in press(reader, page, "replay"), "a late click, too"
    wait_for(lambda: sorted(out.read_text().split()) == ["<i>1", "<i>2", "<i>3"], 60, "each row, once")


def test_replays_of_two_pages_at_once_replay_each_letter_once(bed: Any, letters: str) -> None:
    name, topic, out = more_letters(bed, "two-pages", *(f"<i>{number}" for number in range(40)))
    readers = [Reader(bed.url) for _ in range(2)]
    pages = [reader.open(f"/ui/letters?name={name}") for reader in readers]
    file = bed.worker.log_path.parent / "worker.properties"
    command = [sys.executable, "-m", "connect.cli", "dlq", "replay", f"{topic}-letters", "--worker", str(file)]
    with ThreadPoolExecutor(3) as clicks:
        pressed = [clicks.submit(reader.press, page, "replay") for reader, page in zip(readers, pages, strict=True)]
        typed = clicks.submit(subprocess.run, command, capture_output=True, text=True, check=False)
    answers = [one.result() for one in pressed]
    assert {answer.status for answer in answers} <= {200, 409}, [answer.text for answer in answers]
    told = [answer.text for answer in answers if answer.status == 409]
    told += [typed.result().stderr] if typed.result().returncode else []
    assert all("Another replay of dead-letter topic" in text for text in told), told
    press(readers[0], readers[0].open(f"/ui/letters?name={name}"), "replay")
    rows = sorted(f"<i>{number}" for number in range(40))
    wait_for(lambda: sorted(out.read_text().split()) == rows, 60, "each row, once")


def test_what_cannot_be_asked_is_told_by_a_page(bed: Any, letters: str) -> None:
    reader = Reader(bed.url)
    page = reader.open(PAGE)
    assert reader.press(page, "purge").status == 400
    assert reader.press(page, "replay x").status == 400
    assert reader.press(page, "replay", name="nobody").status == 404
    assert reader.press(page, "replay", token="x" * 43).status == 403
    assert "not set aside" in reader.open("/ui/letters?name=orders-source").text
