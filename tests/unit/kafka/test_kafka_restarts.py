"""Partitions that are assigned again, as others have lost their places, go on where they are."""

import pytest
from confluent_kafka import OFFSET_INVALID, OFFSET_STORED
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.records import TopicPartition
from connect.kafka.consume.assignment import Assignment

LOST, IDLE, OTHER = (TopicPartition("t", number) for number in range(3))


class Client:
    """A consumer of librdkafka: it tells no position of a partition from an assignment to the next row of it."""

    def __init__(self) -> None:
        self.assigned: dict[TopicPartition, int] = {}
        self.positions: dict[TopicPartition, int] = {}

    def assign(self, parts):
        self.assigned = {TopicPartition(p.topic, p.partition): p.offset for p in parts}
        self.positions.clear()

    def seek(self, part):
        self.positions.pop(TopicPartition(part.topic, part.partition), None)

    def position(self, parts):
        return [KafkaPartition(p.topic, p.partition, self.positions.get(_of(p), OFFSET_INVALID)) for p in parts]

    def assignment(self):
        return [KafkaPartition(*tp) for tp in self.assigned]


def _of(part):
    return TopicPartition(part.topic, part.partition)


class NoOther:
    """Stands for parts that have nothing to do here."""

    def __getattr__(self, _name):
        return lambda *_: None


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def assignment(client):
    return Assignment(client, NoOther(), NoOther(), NoOther(), NoOther(), cooperative=False)


@pytest.mark.parametrize("starts", [{LOST: 11, IDLE: 401, OTHER: 11}, {LOST: None, IDLE: None, OTHER: None}])
def test_a_second_restart_leaves_idle_partitions_where_they_are(client, assignment, starts):
    assignment.replace(starts)
    client.positions |= {IDLE: 500}
    assignment.restart({LOST: 1000})
    assert client.assigned[IDLE] == 500
    client.positions |= {LOST: 1005}
    assignment.restart({OTHER: 1000})
    assert client.assigned == {LOST: 1005, IDLE: 500, OTHER: 1000}


def test_a_restart_leaves_a_partition_where_a_seek_has_moved_it(client, assignment):
    assignment.replace({LOST: 11, IDLE: 401})
    client.positions |= {IDLE: 500}
    assignment.seek(IDLE, 450)
    assignment.restart({LOST: 1000})
    assert client.assigned == {LOST: 1000, IDLE: 450}


def test_a_partition_of_which_nothing_is_known_begins_at_its_commit(client, assignment):
    assignment.owned = {LOST, IDLE}
    assignment.restart({LOST: 1000})
    assert client.assigned == {LOST: 1000, IDLE: OFFSET_STORED}
