"""Checks on real Kafka that a sink's rows have the id of the topic from which they were read, also once it is made
anew.
"""

from __future__ import annotations

import pytest
from kafka_drive import in_s, send, transactions
from test_sink_ends import CONFIG, eventually, running
from test_sink_gaps import missed, rows

from connect.api.optional import topic_ids
from connect.api.optional.topic_ids import TopicIds
from connect.api.records import TopicPartition
from connect.runtime.parts.task_topics import TaskTopics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.control import Control
from connect.runtime.task.task_id import TaskId
from connect.runtime.topics.record_lookup import has_record

JSON = "org.apache.kafka.connect.json.JsonConverter"
TASK = TaskId("n", 0)


class Labelled:
    """A sink that notes each row with its topic's id and its offset."""

    def __init__(self, bootstrap_servers: str) -> None:
        given = {
            "bootstrap.servers": bootstrap_servers, "group.id": "g", "config.storage.topic": "c",
            "offset.storage.topic": "o", "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
        }  # fmt: skip
        self.topics = TaskTopics(WorkerConfig.parse(given))
        self.ids = TopicIds(
            lambda topic, deadline: self.topics.topic_id(TASK, CONFIG, topic, deadline),
            has_record=lambda *asked: has_record(self.topics.looking_up(TASK, CONFIG), *asked),
        )
        self.rows: list[tuple[str, int]] = []
        self.claims: dict[TopicPartition, int] = {}

    def put(self, batch, deadline):
        consumed = self.ids.placed(batch, deadline).consumed
        self.rows += [(consumed.topic_id, offset) for offset in consumed.offsets.to_pylist()]
        self.claims[consumed.topic_partition] = consumed.next_offset

    def flush(self, _deadline):
        return dict(self.claims)

    def assigned(self, partitions):
        self.claims.clear()
        self.ids.forget(partitions)

    def revoked(self, _partitions):
        self.claims.clear()


def test_a_first_record_exactly_where_the_reader_stood_has_the_new_topics_id(kafka, clients, topic_name, unique):
    topic, sink = clients.topic(topic_name), Labelled(kafka.bootstrap_servers)
    old = clients.admin().topic_id(topic, in_s(60))
    send(clients, topic, rows(0, 10))
    with running(clients.consumer(unique), sink, topic) as figures:
        eventually(lambda: sink.rows == [(old, offset) for offset in range(10)])
        clients.admin().delete([topic], in_s(60))
        clients.topic(topic)
        eventually(lambda: missed(figures)[1] == 1)
        write = transactions(clients, topic, unique)
        write(9, "abort")
        write(1, "commit")
        eventually(lambda: len(sink.rows) == 11)
    new = clients.admin().topic_id(topic, in_s(60))
    assert new != old
    assert sink.rows[10:] == [(new, 10)]


def test_a_topic_that_is_filled_beyond_its_readers_place_has_its_own_id(
    kafka, clients, topic_name, unique, monkeypatch
):
    monkeypatch.setattr(topic_ids, "_LOOK_S", 0.0)
    topic, sink, control = clients.topic(topic_name), Labelled(kafka.bootstrap_servers), Control()
    old = clients.admin().topic_id(topic, in_s(60))
    send(clients, topic, rows(0, 10))
    with running(clients.consumer(unique), sink, topic, control):
        eventually(lambda: len(sink.rows) == 10)
        control.ask_to_pause(True)
        clients.admin().delete([topic], in_s(60))
        clients.topic(topic)
        send(clients, topic, rows(0, 12))
        control.ask_to_pause(False)
        eventually(lambda: len(sink.rows) > 10 and sink.rows[-1][1] == 11)
    new = clients.admin().topic_id(topic, in_s(60))
    assert new != old
    assert sink.rows == [*((old, offset) for offset in range(10)), (new, 10), (new, 11)]


@pytest.mark.parametrize(("offset", "later_ms", "is_there"), [(3, 0, True), (3, 1, False), (10, 0, False)])
def test_a_record_is_told_from_another_one_at_its_offset(kafka, clients, topic_name, offset, later_ms, is_there):
    topic = clients.topic(topic_name)
    send(clients, topic, rows(0, 10))
    times_ms = [time_ms for read in clients.read(topic, 10) for time_ms in read.timestamps_ms.to_pylist()]
    settings = Labelled(kafka.bootstrap_servers).topics.looking_up(TASK, CONFIG)
    asked = TopicPartition(topic, 0), offset, times_ms[min(offset, 9)] + later_ms
    assert has_record(settings, *asked, in_s(60)) is is_there
