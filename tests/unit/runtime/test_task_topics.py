"""Checks how many Kafka clients it takes that sources of one host look at their topics before the first row."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

import pytest
from confluent_kafka.admin import AdminClient

from connect.api.errors import RetriableError
from connect.kafka.client.shared import Shared
from connect.lib.deadline import Deadline
from connect.runtime.parts.task_topics import TaskTopics
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.topic_inspector import BrokerTopicInspector, reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId

GROUP, OWN = "counted-group", "counted-client"
JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = WorkerConfig.parse({
    "bootstrap.servers": "127.0.0.1:1", "group.id": GROUP, "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
})  # fmt: skip


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> WeakSet[AdminClient]:
    """Return the admin clients of this test's worker that live now.

    Threads of other tests in this process may make clients of their own meanwhile, which do not count.
    """
    alive: WeakSet[AdminClient] = WeakSet()

    class CountedClient(AdminClient):
        def __init__(self, settings: dict[str, str | int | float | bool], **more: Any) -> None:
            super().__init__(settings, **more)
            if str(settings.get("client.id", "")).startswith((GROUP, OWN)):
                alive.add(self)

    monkeypatch.setattr("connect.kafka.admin.calls.AdminClient", CountedClient)
    return alive


def ask_without_brokers(topics: TaskTopics, name: str, **overrides: str) -> object:
    """Have a source look for its topic, which nobody answers; return who keeps looking."""
    groups = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    config = {"name": name, "connector.class": "x", **groups, **overrides}
    made = topics.created_by(TaskId(name, 0), SourceConnectorConfig.parse(config))
    with pytest.raises(RetriableError):
        made.ensure("rows", Deadline.after(0))
    return made


def test_sources_of_equal_settings_share_one_client_until_the_last_has_ended(clients: WeakSet[AdminClient]) -> None:
    topics = TaskTopics(WORKER)
    asking = [ask_without_brokers(topics, f"s{number}") for number in range(4)]
    assert len(clients) == 1

    own = ask_without_brokers(topics, "own", **{"admin.override.client.id": OWN})
    assert len(clients) == 2

    asking.clear()
    del own
    assert not clients


def test_sources_that_look_at_what_their_topics_hold_share_one_client_for_the_same_brokers(
    clients: WeakSet[AdminClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connect.runtime.settings.topic_inspector._LOOK_S", 0.0)
    shared = Shared[BrokerTopicInspector]()

    def looking(name: str, **overrides: str) -> object:
        reserved = reserved_topics(WORKER, {"name": name, **overrides}, shared)
        with pytest.raises(RetriableError):
            reserved.check("rows", 1)
        return reserved

    sources = [looking(f"s{number}") for number in range(4)]
    assert len(clients) == 1

    elsewhere = looking("elsewhere", **{"producer.override.bootstrap.servers": "127.0.0.1:2"})
    assert len(clients) == 2

    sources.clear()
    del elsewhere
    assert not clients
