"""Provides a worker with connectors that run, are paused and have failed, for tests of its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from chromium import axe, browser  # noqa: F401 - fixtures
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint

PATIENCE_MS = 60_000
Look = Callable[..., Any]
TEXT = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
WRAPPED = {
    "transforms": "wrap,route",
    "transforms.wrap.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.wrap.field": "line",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "orders-(.*)",
    "transforms.route.replacement": "never-$1",
}
"""These transforms make an object of each line, and leave the topic as it is."""


class Bed:
    """Holds a worker, the file that its source reads, and its connectors by what tests use them for."""

    def __init__(self, worker: WorkerProcess, lines: Path, topic: str) -> None:
        self.worker = worker
        self.url = worker.url
        self.lines = lines
        self.topic = topic

    def write(self, count: int) -> None:
        """Write lines for the source to read."""
        with self.lines.open("a") as file:
            file.write("".join(f"line {number} is no JSON\n" for number in range(count)))


@pytest.fixture(scope="module")
def bed(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    folder = tmp_path_factory.mktemp("ui")
    # Test processes that run side by side share a Kafka, and number their folders in the same way.
    cluster = f"ui-{uuid4().hex[:8]}"
    topic = f"orders-{cluster}"
    settings = {"allowed.paths": str(folder), "auto.restart.enabled": "false", "value.converter": TEXT}
    worker = WorkerProcess(folder / "worker", kafka.bootstrap_servers, cluster, **settings)
    found = Bed(worker, folder / "orders.txt", topic)
    found.write(5)
    try:
        worker.start()
        source = {"connector.class": "FileStreamSource", "file": str(found.lines), "topic": topic}
        sink = {"connector.class": "FileStreamSink", "topics": topic, "consumer.override.auto.offset.reset": "earliest"}
        for name, config in {
            "orders-source": source | {"connection.password": "s3cr3t-Pa55"},
            "orders-to-lake": sink | {"file": str(folder / "lake.txt")},
            "bills-to-lake": sink | {"file": str(folder / "bills.txt"), "value.converter": JSON},
            "clicks-source": source | {"topic": f"clicks-{topic}"} | WRAPPED,
        }.items():
            answer = worker.create(name, config)
            assert answer.status_code == 201, answer.text
        worker.wait_for_tasks("orders-source", "RUNNING")
        worker.wait_for_tasks("orders-to-lake", "RUNNING")
        worker.wait_for_tasks("bills-to-lake", "FAILED")
        worker.wait_for_tasks("clicks-source", "RUNNING")
        assert worker.call("PUT", "clicks-source", "/pause").status_code == 202
        worker.wait_for_tasks("clicks-source", "PAUSED")
        yield found
    finally:
        worker.stop()


@pytest.fixture(scope="module")
def looking(browser: Any, bed: Bed) -> Callable[[], AbstractContextManager[Look]]:  # noqa: F811 - pytest passes the imported fixture by this name
    """Return a function that opens pages. When they are closed, each must have asked only its worker, and logged no
    error.
    """

    @contextmanager
    def opening() -> Iterator[Look]:
        contexts: list[Any] = []
        asked: list[str] = []
        errors: list[str] = []

        def opened(path: str = "/ui", width: int = 1280, scheme: str = "light", **more: Any) -> Any:
            context = browser.new_context(
                viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce", **more
            )
            contexts.append(context)
            page = context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.on("request", lambda request: asked.append(urlsplit(request.url).netloc))
            page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(bed.url + path)
            return page

        yield opened
        for context in contexts:
            context.close()
        assert set(asked) == {urlsplit(bed.url).netloc}
        assert errors == []

    return opening


@pytest.fixture
def look(looking: Callable[[], AbstractContextManager[Look]]) -> Iterator[Look]:
    """Yield a function that opens pages of one test."""
    with looking() as opened:
        yield opened


@pytest.fixture(scope="session")
def live() -> Callable[[Any], None]:
    """Return a function that waits until a page follows its worker."""
    return lambda page: page.get_by_text("The figures are live.").wait_for()
