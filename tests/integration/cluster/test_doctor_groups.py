"""`connect doctor` asks real Kafka once for the topics of all sinks that share a login."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from cluster_worker import JSON_CONVERTER
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.doctor.gathering import group_facts as module
from connect.doctor.gathering.group_facts import SinkGroup, group_facts
from connect.kafka.admin.cluster_state import cluster_state
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig

SINKS = 12
RECORDS = 3


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the clients that are made and the questions that are asked for topics."""
    counted: Counter[str] = Counter()

    class CountingAdmin(TopicAdmin):
        closed: str | None = None

        def __init__(self, settings: Any) -> None:
            counted["clients"] += 1
            super().__init__(settings)

        def _offsets(self, partitions: Any, *rest: Any, **more: Any) -> Any:
            counted["questions"] += 1
            if any(tp.topic == self.closed for tp in partitions):
                raise ConnectError("Topic authorization failed.")
            return super()._offsets(partitions, *rest, **more)

    monkeypatch.setattr(module, "TopicAdmin", CountingAdmin)
    return counted


@pytest.fixture
def given(kafka: Any, unique: str) -> tuple[WorkerConfig, list[SinkGroup]]:
    """Sinks of a topic each, of which the group has read one record of three."""
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    worker = WorkerConfig.parse({
        **servers, "group.id": unique, "listeners": "http://127.0.0.1:0", "config.storage.topic": f"{unique}-c",
        "offset.storage.topic": f"{unique}-o", "status.storage.topic": f"{unique}-s",
        "key.converter": JSON_CONVERTER, "value.converter": JSON_CONVERTER,
    })  # fmt: skip
    topics = [f"{unique}-{number}" for number in range(SINKS)]
    producer = Producer(servers)
    for topic in topics:
        TopicAdmin(servers).create(topic, partitions=1, deadline=Deadline.after(60))
        for _ in range(RECORDS):
            producer.produce(topic, b"x")
        consumer = Consumer({**servers, "group.id": f"of-{topic}"})
        consumer.commit(offsets=[KafkaPartition(topic, 0, 1)], asynchronous=False)
        consumer.close()
    assert producer.flush(60) == 0
    known = cluster_state(servers, set(topics), set(), Deadline.after(60)).topics
    return worker, [SinkGroup(f"sink-{topic}", f"of-{topic}", {topic: known[topic]}, {}) for topic in topics]


def test_sinks_of_one_login_share_a_client_and_its_questions(given: Any, asked: Counter[str]) -> None:
    worker, sinks = given
    found = group_facts(worker, sinks, Deadline.after(60))
    assert asked == {"clients": 1, "questions": 3}
    for sink in sinks:
        (partition,) = sink.partitions
        facts = found[sink.connector]
        assert (facts.committed, facts.beginnings, facts.ends) == ({partition: 1}, {partition: 0}, {partition: RECORDS})
        assert facts.aged == {partition: 0}  # the oldest record is young


def test_other_logins_ask_by_clients_of_their_own(given: Any, asked: Counter[str]) -> None:
    worker, sinks = given
    others = [SinkGroup(s.connector, s.group, s.topics, {"client.id": "of-its-own"}) for s in sinks[:2]]
    assert len(group_facts(worker, [*others, *sinks[2:]], Deadline.after(60))) == SINKS
    assert asked["clients"] == 2


def test_a_topic_that_is_closed_takes_no_answer_from_other_sinks(
    given: Any, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, sinks = given
    (closed,) = sinks[3].partitions
    monkeypatch.setattr(module.TopicAdmin, "closed", closed.topic)
    found = group_facts(worker, sinks, Deadline.after(60))
    assert set(found) == {sink.connector for sink in sinks} - {sinks[3].connector}
    assert all(TopicPartition(closed.topic, 0) not in facts.ends for facts in found.values())
    assert asked["clients"] == 1
