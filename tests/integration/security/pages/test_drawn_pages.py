"""Draws requests of foreign pages to every route of REST and of the web UI: they change nothing, and give nothing
away.
"""

from __future__ import annotations

from typing import Any

import pytest
import requests
from attacked import Target
from beside import Beside
from confluent_kafka import Consumer, TopicPartition
from drawn_pages import READS, drawn, routes
from histories import History, run_histories

SEEN = ("/connectors?expand=info&expand=status", "/connectors/somebody/history", "/connectors/somebody/topics",
        "/backfills", "/poc")  # fmt: skip


def seen(target: Target) -> dict[str, Any]:
    """Return what the worker shows, and how far its topics of configurations and offsets are."""
    shown = {path: requests.get(f"{target.url}{path}", timeout=60).json() for path in SEEN}
    loggers = requests.get(f"{target.url}/admin/loggers", timeout=60).json()
    shown["levels"] = {name: one for name, one in loggers.items() if one["last_modified"]}
    reader = Consumer({"bootstrap.servers": target.bootstrap_servers, "group.id": "none"})
    topic = target.worker.properties["config.storage.topic"]
    shown[topic] = reader.get_watermark_offsets(TopicPartition(topic, 0), 60)
    reader.close()
    return shown


@pytest.mark.histories
def test_drawn_pages_change_nothing(beside: Beside) -> None:
    beside.worker.wait_for_tasks("somebody", "RUNNING")
    run_histories("page", lambda history: one_history(history, beside), short=1)


def one_history(history: History, beside: Beside) -> None:
    """Send a request of a foreign page to each route, in a drawn order."""
    before = seen(beside)
    host = beside.url.removeprefix("http://")
    with beside.answering():
        for route in history.draw.sample(routes(), len(routes())):
            for _ in range(1 if route.method in READS else 4):
                request = drawn(route, host, history.draw)
                history.note("page", method=request.method, path=request.path, headers=request.headers)
                request.require_refused(request.send(beside.url))
    assert seen(beside) == before
    own = {"Origin": beside.url, "X-Requested-With": "page"}
    answer = requests.put(f"{beside.url}/connectors/somebody/resume", headers=own, timeout=60)
    assert answer.status_code == 202, "the worker's own page is served"
