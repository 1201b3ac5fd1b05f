"""Records that somebody planted in a cluster's own topics stop no worker, no answer and no connector of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
import requests
from beside import Beside
from hostile_texts import HTML
from planted_records import Record, in_config_topic, in_offset_topic, in_status_topic, plant

pytestmark = pytest.mark.attacks

PATHS = ("/connectors", "/connectors?expand=status&expand=info", "/metrics", "/health", "/admin/loggers", "/backfills",
         "/ui", "/connectors/somebody", "/connectors/somebody/status", "/connectors/somebody/offsets",
         "/connectors/somebody/topics", "/connectors/somebody/history", "/connectors/somebody/why",
         "/connectors/somebody/tasks", "/ui/connector?name=somebody", "/ui/history?name=somebody")  # fmt: skip
TOPICS: Mapping[str, Callable[[], list[Record]]] = {
    "config": in_config_topic, "status": lambda: in_status_topic("somebody"), "offset": in_offset_topic,
}  # fmt: skip


def require_answers(beside: Beside) -> None:
    """Fail when a read of REST or a page fails, or shows what steers a terminal or a browser."""
    for path in PATHS:
        answer = requests.get(f"{beside.url}{path}", timeout=60)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:500]}"
        assert HTML not in answer.text or "json" in answer.headers["Content-Type"], path


@pytest.mark.parametrize("kind", TOPICS)
def test_rubbish_stops_nothing(beside: Beside, kind: str) -> None:
    records = TOPICS[kind]()
    with beside.unharmed():
        plant(beside.bootstrap_servers, beside.worker.properties[f"{kind}.storage.topic"], records)
        require_answers(beside)
    assert beside.worker.is_running()
    assert requests.get(f"{beside.url}/connectors", timeout=60).json() == ["somebody"]
    assert "\x1b" not in beside.worker.log_path.read_text()


@pytest.mark.parametrize("kind", TOPICS)
def test_a_worker_begins_behind_rubbish(beside: Beside, kind: str) -> None:
    plant(beside.bootstrap_servers, beside.worker.properties[f"{kind}.storage.topic"], TOPICS[kind]())
    beside.worker.kill()
    beside.worker.start(timeout_s=120)
    with beside.unharmed():
        require_answers(beside)
