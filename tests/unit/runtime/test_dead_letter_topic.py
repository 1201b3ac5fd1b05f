"""The dead-letter topic of a connector is never one of a cluster's state, whichever way its name came."""

from __future__ import annotations

import pytest

from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.runtime.settings.internal_topics import ReservedTopicError
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId
from connect.runtime.topics.dead_letter_topic import make_dead_letter_topic

JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = WorkerConfig.parse({
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
})  # fmt: skip


@pytest.mark.parametrize("topic", ["c", "o", "s", "g-slots", "connect-backfill-jobs", "connect-backfill-x"])
def test_it_is_refused_before_anything_is_asked_of_a_broker(topic: str) -> None:
    raw = {"name": "n", "connector.class": "x", "topics": "t", "errors.deadletterqueue.topic.name": topic}
    with pytest.raises(ReservedTopicError, match=f"Topic {topic} holds") as caught:
        make_dead_letter_topic(WORKER, TaskId("n", 0), SinkConnectorConfig.parse(raw), raw)
    assert caught.value.key == "errors.deadletterqueue.topic.name"
