"""Sources of one host look at their topics before the first row: the Kafka clients that this takes."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import pytest

from connect.api.errors import RetriableError
from connect.kafka.client.shared import Shared
from connect.lib.deadline import Deadline
from connect.runtime.parts.task_topics import TaskTopics
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.topic_inspector import BrokerTopicInspector, reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId

JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = WorkerConfig.parse({
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
})  # fmt: skip
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Only Linux tells the names of threads.")


def kafka_clients() -> set[str]:
    """Return the threads of this process that are clients' own: librdkafka gives each client one of this name."""
    found = set()
    for thread in Path("/proc/self/task").iterdir():
        # A thread of an earlier test's client may end meanwhile.
        with suppress(FileNotFoundError, ProcessLookupError):
            if (thread / "comm").read_text().strip() == "rdk:main":
                found.add(thread.name)
    return found


def ask_without_brokers(topics: TaskTopics, name: str, **overrides: str) -> object:
    """Have a source look for its topic, which nobody answers; return who keeps looking."""
    groups = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    config = {"name": name, "connector.class": "x", **groups, **overrides}
    made = topics.created_by(TaskId(name, 0), SourceConnectorConfig.parse(config))
    with pytest.raises(RetriableError):
        made.ensure("rows", Deadline.after(0))
    return made


def test_sources_of_equal_settings_share_one_client_until_the_last_has_ended() -> None:
    before, topics = kafka_clients(), TaskTopics(WORKER)
    asking = [ask_without_brokers(topics, f"s{number}") for number in range(4)]
    assert len(kafka_clients() - before) == 1

    own = ask_without_brokers(topics, "own", **{"admin.override.client.id": "mine"})
    assert len(kafka_clients() - before) == 2

    asking.clear()
    del own
    assert not kafka_clients() - before


def test_sources_that_look_at_what_their_topics_hold_share_one_client_for_the_same_brokers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("connect.runtime.settings.topic_inspector._LOOK_S", 0.0)
    before, shared = kafka_clients(), Shared[BrokerTopicInspector]()

    def looking(name: str, **overrides: str) -> object:
        reserved = reserved_topics(WORKER, {"name": name, **overrides}, shared)
        with pytest.raises(RetriableError):
            reserved.check("rows", 1)
        return reserved

    sources = [looking(f"s{number}") for number in range(4)]
    assert len(kafka_clients() - before) == 1

    elsewhere = looking("elsewhere", **{"producer.override.bootstrap.servers": "127.0.0.1:2"})
    assert len(kafka_clients() - before) == 2

    sources.clear()
    del elsewhere
    assert not kafka_clients() - before
