"""Checks that the audit log's topic is made again where it was deleted, and that no line is lost or out of order by
that; and that a line that is refused for another reason asks for no topic and holds no other up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import wait_for
from test_rest_audit_topic import values

from connect.api.errors import ConnectError, RetriableError
from connect.cluster.worker_file import worker_config
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.errors import MissingTopicError
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.rest.access import audit_topic
from connect.rest.access.audit_topic import AuditTopic
from connect.tools.services import KafkaEndpoint, KafkaService

JSON = "org.apache.kafka.connect.json.JsonConverter"
TOO_LARGE = b"x" * 2_000_000


@pytest.fixture(scope="module")
def strict_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaEndpoint]:
    """Yield a Kafka that makes no topic by itself, as in production."""
    folder = tmp_path_factory.mktemp("kafka")
    with KafkaService(data_folder=folder, properties={"auto.create.topics.enable": "false"}) as kafka:
        yield kafka.endpoint


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of what Kafka is asked to make, one entry for each time."""
    names: list[str] = []

    class Counting(TopicAdmin):
        def create(self, name: str, *, replication_factor: int = -1, deadline: Deadline, **_kept: object) -> bool:
            names.append(name)
            return super().create(name, replication_factor=replication_factor, deadline=deadline)

    monkeypatch.setattr(audit_topic, "TopicAdmin", Counting)
    return names


def audit_of(kafka: KafkaEndpoint, topic: str, **keys: str) -> AuditTopic:
    given = {
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "key.converter": JSON, "value.converter": JSON,
        "config.storage.topic": "c", "offset.storage.topic": "o", "status.storage.topic": "s",
        "config.storage.replication.factor": "1",
        "producer.topic.metadata.propagation.max.ms": "1000", **keys,
    }  # fmt: skip
    return AuditTopic(worker_config(given, Catalog.installed()), topic)


def delete(kafka: KafkaEndpoint, topic: str) -> None:
    """Delete a topic, and wait until its broker takes no more lines for it."""
    client: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "looking-on"}
    admin = AdminClient(client)  # It has to live until it is answered.
    admin.delete_topics([topic])[topic].result(30)
    with closing(Consumer(client)) as consumer:

        def is_gone() -> bool:
            try:
                consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
            except KafkaException:
                return True
            return False

        wait_for(is_gone, 60, f"topic {topic} gone")


def test_lines_of_a_topic_that_was_deleted_come_into_a_new_one_in_their_order(
    strict_kafka: KafkaEndpoint, unique: str, asked: list[str]
) -> None:
    with closing(audit_of(strict_kafka, unique)) as audit:
        audit.put(b"before", ["a"]).result(60)
        delete(strict_kafka, unique)
        put = [(line, audit.put(line, ["a"])) for line in (b"one", b"two")]

        def first_is_sent() -> bool:
            """Put one more line, as lines come all the time, and tell if the first one is in the new topic."""
            line = str(len(put)).encode()
            put.append((line, audit.put(line, ["a"])))
            return put[0][1].done()

        wait_for(first_is_sent, 120, "the first line in the new topic")
        for _, sent in put:
            sent.result(60)
        assert (audit.lost, values(strict_kafka, unique)) == (0, [line for line, _ in put])
    assert 2 <= len(asked) <= 5


def test_a_new_topic_with_fewer_partitions_gets_the_lines_of_all(strict_kafka: KafkaEndpoint, unique: str) -> None:
    admin = AdminClient({"bootstrap.servers": strict_kafka.bootstrap_servers})
    admin.create_topics([NewTopic(unique, num_partitions=6)])[unique].result(30)
    with closing(audit_of(strict_kafka, unique)) as audit:
        for name in "abcdefgh":
            audit.put(b"before", [name]).result(60)
        delete(strict_kafka, unique)
        for sent in [audit.put(name.encode(), [name]) for name in "abcdefgh"]:
            sent.result(120)
        assert (audit.lost, values(strict_kafka, unique)) == (0, [name.encode() for name in "abcdefgh"])


def test_a_line_that_is_refused_for_another_reason_asks_for_no_topic_and_holds_no_other_up(
    strict_kafka: KafkaEndpoint, unique: str, asked: list[str]
) -> None:
    with closing(audit_of(strict_kafka, unique)) as audit:
        audit.put(b"before", ["a"]).result(60)
        for number in range(5):
            with pytest.raises(ConnectError, match="too large"):
                audit.put(TOO_LARGE, ["a"]).result(10)
            audit.put(str(number).encode(), ["a"]).result(10)
        assert (audit.lost, values(strict_kafka, unique)) == (5, [b"before", b"0", b"1", b"2", b"3", b"4"])
    assert asked == [unique]


def test_a_topic_that_cannot_be_made_is_not_asked_for_with_each_line(
    strict_kafka: KafkaEndpoint, unique: str, asked: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with closing(audit_of(strict_kafka, unique, **{"config.storage.replication.factor": "3"})) as audit:
        for _ in range(20):
            with pytest.raises(MissingTopicError):
                audit.put(b"{}", ["a"]).result(60)
        assert audit.lost == 20
    assert asked == [unique]
    assert len([record for record in caplog.records if "could not be made" in record.getMessage()]) == 1


def test_lines_that_wait_for_a_topic_are_told_as_lost_when_the_worker_ends(
    strict_kafka: KafkaEndpoint, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = audit_of(strict_kafka, unique)
    audit.put(b"before", ["a"]).result(60)
    waits = threading.Event()

    class WithoutController(TopicAdmin):
        def create(self, name: str, *, deadline: Deadline, **_kept: object) -> bool:
            waits.set()
            deadline.wait(60)
            raise RetriableError(f"No controller made {name}.")

    monkeypatch.setattr(audit_topic, "TopicAdmin", WithoutController)
    delete(strict_kafka, unique)
    sent = [audit.put(b"{}", ["a"]) for _ in range(3)]
    assert waits.wait(60)
    audit.close()
    sent.append(audit.put(b"late", ["a"]))
    assert [type(one.exception(0)) for one in sent] == [RetriableError] * 4
    assert audit.lost == 4
