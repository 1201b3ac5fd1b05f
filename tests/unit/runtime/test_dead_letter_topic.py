"""The dead-letter topic of a connector is never one of a cluster's state, whichever way its name came."""

from __future__ import annotations

import pytest

from connect.api.errors import ConnectError, RetriableError
from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.runtime.settings.internal_topics import ReservedTopicError, ReservedTopics
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


class Brokers:
    """Brokers whose policy lets nobody choose a retention, or that let nobody make topics."""

    def __init__(self, refuses: list[ConnectError]) -> None:
        self.refuses = refuses
        self.made: list[dict[str, str] | None] = []

    def create(self, topic, *, partitions, replication_factor, deadline, configs=None):
        assert (topic, partitions, replication_factor) == ("letters", 1, 3)
        if self.refuses:
            raise self.refuses.pop(0)
        self.made.append(configs)


def made_on(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str] | None]:
    raw = {"name": "n", "connector.class": "x", "topics": "t", "errors.deadletterqueue.topic.name": "letters"}
    module = "connect.runtime.topics.dead_letter_topic"
    monkeypatch.setattr(f"{module}.TopicAdmin", lambda _: brokers)
    monkeypatch.setattr(f"{module}.reserved_topics", lambda worker, _: ReservedTopics(worker))  # it asks brokers, too
    make_dead_letter_topic(WORKER, TaskId("n", 0), SinkConnectorConfig.parse(raw), raw)
    return brokers.made


def test_letters_stay_whatever_the_age_of_their_records_is(monkeypatch):
    assert made_on(Brokers([]), monkeypatch) == [{"retention.ms": "-1"}]


def test_brokers_that_refuse_the_retention_choose_it(monkeypatch, caplog):
    assert made_on(Brokers([ConnectError("Policy violation")]), monkeypatch) == [None]
    assert "made with the brokers' retention" in caplog.text


def test_an_error_that_has_another_cause_is_raised(monkeypatch):
    with pytest.raises(RetriableError, match="away"):
        made_on(Brokers([RetriableError("away")]), monkeypatch)
    with pytest.raises(ConnectError, match="denied again"):
        made_on(Brokers([ConnectError("denied"), ConnectError("denied again")]), monkeypatch)
