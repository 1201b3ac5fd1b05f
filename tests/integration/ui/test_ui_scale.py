"""Takes the pages to their limits, in a real Chromium: thousands of connectors, hostile names, long traces, wide
schemas, workers that hang, tabs that are stale and sessions that are gone.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
import requests
from chromium import fits, needs_chromium, violations
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint

pytestmark = needs_chromium
PATIENCE_MS = 60_000
CONNECTORS, FIELDS, TRACE = 5000, 10_000, 1_000_000
PAGE_BYTES = 150_000
HOSTILE = {
    "html": "<script>document.title='run'</script><img src=x onerror=document.title='run'>",
    "right to left": "\u202egnp.evil\u2066 שלום",
    "emoji": "😀👩\u200d👩\u200d👧 orders/#?&=%2F",
    "long": "é" * 249,
}
Look = Callable[..., Any]


class Crowd:
    """A worker whose config topic had thousands of stopped connectors before it began."""

    def __init__(self, folder: Path, kafka: KafkaEndpoint) -> None:
        name = f"crowd-{uuid4().hex[:8]}"
        topic = f"{name}-configs"
        servers = {"bootstrap.servers": kafka.bootstrap_servers}
        admin = AdminClient(servers)  # whose end would end its requests
        made = admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})])
        made[topic].result(60)
        producer = Producer({**servers, "linger.ms": 20})
        for number in range(CONNECTORS):
            one = f"orders-{number:04}"
            config = {"name": one, "connector.class": "FileStreamSource", "file": str(folder / one), "topic": one}
            stopped = {"state": "PAUSED", "state.v2": "STOPPED"}
            producer.produce(topic, json.dumps({"properties": config}), f"connector-{one}")
            producer.produce(topic, json.dumps(stopped), f"target-state-{one}")
        assert producer.flush(60) == 0
        self.worker = WorkerProcess(folder / "worker", kafka.bootstrap_servers, name)


@pytest.fixture(scope="module")
def crowd(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    found = Crowd(tmp_path_factory.mktemp("crowd"), kafka)
    found.worker.start(180.0)
    yield found
    found.worker.stop()


def records(kafka: KafkaEndpoint, topic: str) -> list[Message]:
    """All records of a topic."""
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "enable.partition.eof": True}
    consumer = Consumer(settings)
    partitions = consumer.list_topics(topic, 60).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found, ended = [], 0
    while ended < len(partitions):
        one = consumer.poll(60)
        assert one is not None, "no broker answers"
        if one.error() is None:
            found.append(one)
        ended += one.error() is not None
    consumer.close()
    return found


@pytest.fixture
def tab(browser: Any) -> Iterator[Look]:
    """Opens an address in a browser of its own; a page that answers with an error is no fault here."""
    contexts: list[Any] = []

    def opened(address: str, width: int = 1280) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce"))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()


def test_one_of_five_thousand_connectors_is_found_by_the_server(tab: Look, axe: str, crowd: Crowd) -> None:
    page = tab(f"{crowd.worker.url}/ui")
    assert page.get_by_text(f"{CONNECTORS:,} of {CONNECTORS:,} connectors").count() == 1
    first = page.locator("tbody tr").first.text_content()
    assert page.locator("tbody tr").count() < 500
    assert len(page.content().encode()) < PAGE_BYTES
    page.get_by_role("link", name="Next page").first.click()
    page.wait_for_url("**page=2**")
    assert page.locator("tbody tr").first.text_content() != first
    assert violations(page, axe) == []
    page.get_by_label("Search").fill("orders-4321")
    page.keyboard.press("Enter")
    page.get_by_text(f"1 of {CONNECTORS:,} connectors").wait_for()
    page.get_by_role("link", name="orders-4321").click()
    page.get_by_role("heading", name="orders-4321").wait_for()
    assert "STOPPED" in page.content()


def test_the_flow_of_five_thousand_connectors_is_bounded(tab: Look, axe: str, crowd: Crowd) -> None:
    page = tab(f"{crowd.worker.url}/ui/flow")
    assert page.get_by_text(f"{CONNECTORS:,} of {CONNECTORS:,} connectors and backfills").count() == 1
    assert page.get_by_role("link", name="Next page").count() == 1
    assert len(page.content().encode()) < PAGE_BYTES
    assert violations(page, axe) == []


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_text_that_can_be_acted_on(look: Look, axe: str, bed: Any, name: str) -> None:
    config = {"connector.class": "FileStreamSource", "file": str(bed.lines), "topic": bed.topic}
    body = {"name": name, "config": config, "initial_state": "STOPPED"}
    assert requests.post(f"{bed.url}/connectors", json=body, timeout=60).status_code == 201
    page = look("/ui", 360)
    row = page.locator("tbody tr", has=page.locator(f'a[href*="{requests.utils.quote(name, safe="")[:40]}"]')).first
    assert violations(page, axe) == []
    assert fits(page)
    row.get_by_role("link").first.click()
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("The connector goes on.").wait_for()
    assert page.title() != "run"
    assert violations(page, axe) == []
    assert fits(page)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("The connector stops").wait_for()
    answer = requests.delete(f"{bed.url}/connectors/{requests.utils.quote(name, safe='')}", timeout=60)
    assert answer.status_code == 204, answer.text


def test_a_trace_of_a_megabyte_is_cut_and_all_of_it_a_link_away(
    look: Look, axe: str, bed: Any, kafka: KafkaEndpoint
) -> None:
    topic, key = bed.worker.properties["status.storage.topic"], b"status-task-bills-to-lake-0"
    last = [one for one in records(kafka, topic) if one.key() == key][-1]
    told = json.loads(last.value()) | {"trace": "Traceback: <b>boom</b>\n" + "x" * TRACE}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "message.max.bytes": 2_000_000})
    producer.produce(topic, json.dumps(told), key, partition=last.partition())
    assert producer.flush(60) == 0
    status = f"{bed.url}/connectors/bills-to-lake/status"
    wait_for(lambda: len(requests.get(status, timeout=60).text) > TRACE, 60, "the long trace")
    page = look("/ui/connector?name=bills-to-lake")
    assert len(page.content().encode()) < PAGE_BYTES
    page.get_by_text("Trace (").first.click()
    assert "<b>boom</b>" in page.locator("details.trace pre").first.text_content()
    assert violations(page, axe) == []
    assert fits(page)


def test_rows_of_ten_thousand_fields_are_sampled(look: Look, axe: str, bed: Any, kafka: KafkaEndpoint) -> None:
    topic = f"wide-{bed.topic}"
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, json.dumps({f"field_{number}": number for number in range(FIELDS)}))
    assert producer.flush(60) == 0
    config = {
        "connector.class": "FileStreamSink", "topics": topic, "file": str(bed.lines.with_name("wide.txt")),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false",
        "consumer.override.auto.offset.reset": "earliest",
    }  # fmt: skip
    answer = bed.worker.create("wide-sink", config)
    assert answer.status_code == 201, answer.text
    page = look("/ui/sample?name=wide-sink&rows=1")
    page.get_by_role("region", name="Steps of row 1").wait_for()
    assert "field_1" in page.content()
    assert len(page.content().encode()) < PAGE_BYTES
    assert violations(page, axe) == []
    assert fits(page)
    assert bed.worker.call("DELETE", "wide-sink").status_code == 204


def test_a_worker_that_hangs_is_named_and_the_others_are_shown(
    tab: Look, axe: str, kafka: KafkaEndpoint, tmp_path: Path
) -> None:
    name = f"pair-{uuid4().hex[:8]}"
    patient = {"session.timeout.ms": "120000", "allowed.paths": str(tmp_path)}
    workers = [WorkerProcess(tmp_path / one, kafka.bootstrap_servers, name, **patient) for one in ("w1", "w2")]
    try:
        for worker in workers:
            worker.start()
        hung = psutil.Process(workers[1].pid)
        page = tab(f"{workers[0].url}/ui")
        address = workers[1].url.removeprefix("http://")
        wait_for(lambda: address in tab(f"{workers[0].url}/ui").content(), 90, "a second worker")
        hung.send_signal(signal.SIGSTOP)
        page.reload()
        page.get_by_text("tells no figures: it did not answer in 1 s").first.wait_for()
        assert address in page.content()
        assert violations(page, axe) == []
        hung.send_signal(signal.SIGCONT)
        page.get_by_text("tells no figures").first.wait_for(state="detached")
    finally:
        psutil.Process(workers[1].pid).send_signal(signal.SIGCONT)
        for worker in workers:
            worker.stop()


def test_a_stale_tab_overwrites_nothing_and_is_told_what_changed(tab: Look, axe: str, bed: Any) -> None:
    address = f"{bed.url}/ui/edit?name=clicks-source"
    first, stale = tab(address), tab(address)
    for page, size in ((first, "111"), (stale, "222")):
        text = page.get_by_label("Keys and values as JSON")
        text.fill(json.dumps(json.loads(text.input_value()) | {"batch.size": size}))
        page.get_by_role("button", name="Check, and show what changes").click()
        page.get_by_role("heading", name="What this would change").wait_for()
    store = "button[value=apply]"
    first.locator(store).click()
    first.get_by_text("The configuration is stored.").wait_for()
    with stale.expect_response(lambda answer: answer.request.method == "POST") as answered:
        stale.locator(store).click()
    assert answered.value.status == 409
    assert "batch.size" in stale.locator("main").text_content()
    assert "111" in stale.locator("main").text_content()
    assert violations(stale, axe) == []
    assert bed.worker.call("GET", "clicks-source", "/config").json()["batch.size"] == "111"


def test_a_session_that_is_gone_changes_nothing_and_says_what_to_do(tab: Look, axe: str, bed: Any) -> None:
    page = tab(f"{bed.url}/ui/connector?name=orders-to-lake")
    page.context.clear_cookies()
    with page.expect_response(lambda answer: answer.request.method == "POST") as answered:
        page.get_by_role("button", name="Pause").click()
    assert answered.value.status == 403
    assert violations(page, axe) == []
    assert page.get_by_role("main").text_content()
    bed.worker.wait_for_tasks("orders-to-lake", "RUNNING")
    page.goto(f"{bed.url}/ui/connector?name=orders-to-lake")
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("The connector pauses").wait_for()
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("The connector goes on.").wait_for()
    bed.worker.wait_for_tasks("orders-to-lake", "RUNNING")
