"""Signals from a topic: each counts once, whichever place a task goes on from, and others' records are left out."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from connect.api.records import TopicPartition
from connect.api.topics import TopicRecord
from connect.testing.fake_topics import FakeTopicRecords, FakeTopics
from connectors.jdbc.debezium.shared.topic_signals import TopicSignals
from connectors.jdbc.log.incremental.progress import Progress, progress_of

TOPIC = TopicPartition("shop-signal", 0)
ORDERS = '{"id": "1", "type": "execute-snapshot", "data": {"data-collections": ["shop.orders"]}}'


def _signals(topics: FakeTopics) -> TopicSignals:
    return TopicSignals(lambda: FakeTopicRecords(topics, TOPIC.topic), TOPIC.topic, "shop", 0.0)


def test_a_first_task_begins_at_the_end_and_the_next_one_behind_the_last_signal() -> None:
    topics = FakeTopics({TOPIC: [("shop", ORDERS)]})
    first = _signals(topics)
    assert first(None) == ([], 1)
    topics.rows[TOPIC].append(("shop", ORDERS))
    found = first(1)
    assert ([one.tables for one in found.signals], found.topic_offset) == ([["shop.orders"]], 2)
    assert first(2).signals == []
    assert _signals(topics)(2).signals == []
    assert [one.id for one in _signals(topics)(1).signals] == ["1"]


def test_a_place_that_was_not_stored_is_read_again() -> None:
    topics = FakeTopics({TOPIC: []})
    signals = _signals(topics)
    assert signals(None).topic_offset == 0
    topics.rows[TOPIC].append(("shop", ORDERS))
    assert len(signals(0).signals) == 1
    # The connection to the database broke: what it had made of the signal is gone with the place.
    assert len(signals(0).signals) == 1


def test_records_of_others_and_rubbish_are_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    rows = [("other", ORDERS), (None, ORDERS), ("shop", None), ("shop", "rubbish"), ("shop", b"\xff"), ("shop", ORDERS)]
    found = _signals(FakeTopics({TOPIC: rows}))(0)
    assert (len(found.signals), found.topic_offset) == (1, len(rows))
    assert [record.getMessage().split(" is no")[0] for record in caplog.records] == [
        "The record 3 of topic shop-signal", "The record 4 of topic shop-signal",
    ]  # fmt: skip


def test_a_topic_that_is_not_there_is_looked_for_again(caplog: pytest.LogCaptureFixture) -> None:
    topics = FakeTopics()
    signals = _signals(topics)
    assert signals(None) == ((), None)
    assert "does not exist" in caplog.text
    topics.rows[TOPIC] = []
    assert signals(None) == ([], 0)


def test_the_place_in_the_topic_outlives_a_task() -> None:
    stored = json.loads(json.dumps(Progress(topic_offset=7).offset()))
    assert progress_of(stored).topic_offset == 7
    assert Progress().offset() == {}


def test_nothing_is_asked_before_its_time() -> None:
    class Asked(FakeTopicRecords):
        def poll(self, deadline: object) -> Sequence[TopicRecord]:
            raise AssertionError(deadline)

    topics = FakeTopics({TOPIC: []})
    signals = TopicSignals(lambda: FakeTopicRecords(topics, TOPIC.topic), TOPIC.topic, "shop", 3600.0)
    assert signals(None).topic_offset == 0
    signals = TopicSignals(lambda: Asked(topics, TOPIC.topic), TOPIC.topic, "shop", 3600.0)
    with pytest.raises(AssertionError):
        signals(None)
    assert signals(None) == ((), None)
