"""Checks that tables of many new topics are made side by side while the task goes on reading."""

from __future__ import annotations

import threading

import pytest
from bigquery_oracle import Message, batch_of
from bigquery_run import Life

from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline

TOPICS = [f"topic{number:02}" for number in range(40)]
AT_ONCE = 10
"""As threadPoolSize says by default."""


def settings_of(dataset, proxy, *, merges: bool = True) -> dict[str, str]:
    """`merges` False: without dedup, as the emulator takes a second for each MERGE."""
    settings = {**dataset.settings(dedup__merge__interval__ms="0"), "bigquery.endpoint": proxy.url}
    if not merges:
        del settings["dedup.fields"], settings["dedup.merge.interval.ms"]
    return settings


def put(life: Life, messages: list[Message]) -> None:
    """Put without waiting for the table."""
    batch = batch_of(messages)
    life.task.put(batch, Deadline.after(30))
    life.ends[batch.consumed.topic_partition] = batch.consumed.next_offset


def test_a_poll_of_forty_new_topics_waits_for_none_of_their_tables(dataset, proxy):
    answers = threading.Event()
    with Life(settings_of(dataset, proxy, merges=False)) as life:
        proxy.add(r" [^ ]*/tables", times=1_000_000, held=answers)
        for topic in TOPICS:
            put(life, [Message(0, 0, 1, 0, topic=topic), Message(0, 1, 2, 0, topic=topic)])
        life.flush()
        assert life.warnings == []
        assert set(life.claimed.values()) == {0}, "rows of tables that do not exist are claimed"
        answers.set()
        life.settle()
    assert {topic: len(dataset.rows(topic)) for topic in TOPICS} == dict.fromkeys(TOPICS, 2)


def test_tables_are_made_side_by_side_with_200_ms_a_request(dataset, proxy):
    together = threading.Barrier(AT_ONCE)
    with Life(settings_of(dataset, proxy, merges=False)) as life:
        creation = proxy.add(r"^POST [^ ]*/tables[ ?]", times=AT_ONCE, meets=together)
        proxy.add(r"", times=1_000_000, delay_s=0.2)
        for topic in TOPICS:
            put(life, [Message(0, 0, 1, 0, topic=topic)])
        life.settle()
    assert len(creation.met) == AT_ONCE
    assert not together.broken, "tables are made one after the other"
    assert {topic: len(dataset.rows(topic)) for topic in TOPICS} == dict.fromkeys(TOPICS, 1)


def test_rows_whose_table_is_not_there_yet_are_dropped_with_their_partition(dataset, proxy):
    answers = threading.Event()
    with Life(settings_of(dataset, proxy)) as life:
        proxy.add(r" [^ ]*/tables", times=1_000_000, held=answers)
        put(life, [Message(0, 0, 1, 0, text="gone")])
        put(life, [Message(1, 0, 2, 0, text="stays")])
        life.flush()  # a thread is at the first batch
        life.task.revoked([TopicPartition("orders", 0)])
        del life.ends["orders", 0]
        answers.set()
        life.settle()
    assert [row["text"] for row in dataset.rows("orders")] == ["stays"]


@pytest.mark.parametrize(("away", "there"), [("orders", "topic00"), ("topic00", "orders")])
def test_a_table_that_cannot_be_made_holds_up_no_other_one(dataset, proxy, away, there):
    proxy.add(rf'^POST [^ ]*/tables[ ?].*"tableId": "{away}"', times=1_000_000, status=503, reason="backendError")
    with Life(settings_of(dataset, proxy)) as life:
        put(life, [Message(0, 0, 1, 0, topic=away)])
        put(life, [Message(0, 0, 1, 0, topic=there)])
        end = life.ends.pop(TopicPartition(away, 0))
        life.settle()
        assert life.claimed[TopicPartition(away, 0)] == 0
        assert f"Table {away} waits" in str(life.context.explained)
        proxy.faults.clear()
        life.ends[TopicPartition(away, 0)] = end
        life.settle()
    assert [len(dataset.rows(name)) for name in (away, there)] == [1, 1]
