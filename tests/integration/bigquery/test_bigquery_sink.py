"""Runs the whole sink into an emulated BigQuery: what is in its tables equals a model in plain Python."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from bigquery_oracle import Message, latest
from bigquery_run import Life, model_by_key, rows_by_key
from e2e_worker import wait_for

from connect.api.records import TopicPartition
from connectors.bigquery.merge.merge_writer import Merging
from connectors.bigquery.merge.staging_tables import Role

HISTORIES, TABLES = 30, 3
"""A merge takes a second in the emulator, of one history as of ten: histories share tables, not ids or partitions."""


def random_log(chance: random.Random, number: int) -> list[list[Message]]:
    """One to three partitions of messages about few ids: duplicates, versions out of order, deletes, gaps."""
    partitions, topic = [], f"t{number % TABLES}"
    for partition in range(3 * number, 3 * number + chance.randint(1, 3)):
        messages, offset = [], chance.randint(0, 5)
        for _ in range(chance.randint(1, 12)):
            text = None if chance.random() < 0.2 else f"{partition}@{offset}"
            identity = None if chance.random() < 0.1 else 10 * number + chance.randint(1, 5)
            messages.append(Message(partition, offset, identity, chance.randint(0, 9), text=text, topic=topic))
            offset += chance.randint(1, 2)
        partitions.append(messages)
    return partitions


def runs_of(chance: random.Random, messages: Sequence[Message], most: int) -> list[Sequence[Message]]:
    """Consecutive runs, cut anywhere."""
    runs, start = [], 0
    while start < len(messages):
        stop = start + chance.randint(1, most)
        runs.append(messages[start:stop])
        start = stop
    return runs


def test_random_histories_with_a_crash_between_equal_the_model(dataset):
    chance = random.Random(20261122)
    settings = dataset.settings(dedup__null__key="dlq", dedup__merge__max__records="30", timePartitioningType="NONE")
    settings["dedup.merge.interval.ms"] = "400"
    logs = [random_log(chance, number) for number in range(HISTORIES)]
    first = Life(settings)
    for partitions in logs:
        for messages in partitions:
            for run in runs_of(chance, messages[: chance.randint(0, len(messages))], 6):
                first.put(run)
        first.flush()
    # A crash: what was staged or merged and not claimed comes again, in other batches.
    committed = dict(first.claimed)
    first.task.close()
    with Life(settings) as second:
        for partitions in logs:
            for messages in partitions:
                begin = committed.get(TopicPartition(messages[0].topic, messages[0].partition), 0)
                for run in runs_of(chance, [m for m in messages if m.offset >= begin], 5):
                    second.put(run)
        second.settle()
    written = [message for partitions in logs for partition in partitions for message in partition]
    for topic in {message.topic for message in written}:
        messages = [message for message in written if message.topic == topic]
        rows = dataset.rows(topic)
        assert rows_by_key(rows) == model_by_key(latest(messages)), topic
        assert len({row["id"] for row in rows}) == len(rows)
    keyless = {(m.topic, m.partition, m.offset) for m in written if m.id is None}
    assert {*first.bad, *second.bad} == keyless
    assert not staged(dataset)


def test_the_java_connectors_upserts_and_deletes_run_by_the_record_key(dataset):
    settings = dataset.settings(
        upsertEnabled="true", deleteEnabled="true", kafkaKeyFieldName="kafkaKey", kafkaDataFieldName="kafkaData",
        mergeIntervalMs="100",
    )  # fmt: skip
    del settings["dedup.fields"], settings["dedup.merge.interval.ms"]
    with Life(settings) as life:
        # The time of a record comes first, and its offset tells records of one time apart.
        life.put([Message(0, 0, 1, 3), Message(0, 1, 2, 0), Message(0, 2, 1, 3, text="later"), Message(0, 3, 3, 0)])
        life.put([Message(0, 4, 2, 0, text=None), Message(0, 5, 3, 0, text="new")])
        life.settle()
    rows = dataset.rows("orders")
    assert [(row["id"], row["text"], row["kafkaKey"]) for row in rows] == [
        (1, "later", {"id": 1, "region": "eu"}),
        (3, "new", {"id": 3, "region": "eu"}),
    ]
    assert [(d["topic"], d["partition"], d["offset"]) for d in (row["kafkaData"] for row in rows)] == [
        ("orders", 0, 2), ("orders", 0, 5)
    ]  # fmt: skip


def test_deletes_without_upserts_add_each_record_and_delete_all_rows_of_a_key(dataset):
    settings = dataset.settings(deleteEnabled="true", kafkaKeyFieldName="kafkaKey", mergeIntervalMs="100")
    del settings["dedup.fields"], settings["dedup.merge.interval.ms"]
    log = [
        Message(0, 0, 1, 0, text="a"), Message(0, 1, 1, 1, text="b"), Message(0, 2, 2, 1, text="c"),
        Message(0, 3, 3, 1, text="before"), Message(0, 4, 3, 2, text=None), Message(0, 5, 3, 3, text="after"),
        Message(0, 6, 1, 4, text=None), Message(0, 7, 2, 4, text="d"), Message(0, 8, 1, 5, text="new"),
    ]  # fmt: skip
    first = Life(settings)
    first.put(log[:6])
    first.settle()
    before = [(row["id"], row["text"]) for row in dataset.rows("orders")]
    assert sorted(before) == [(1, "a"), (1, "b"), (2, "c"), (3, "after")]
    first.put(log[6:])
    first.settle()
    left = [(1, "new"), (2, "c"), (2, "d"), (3, "after")]
    assert sorted((row["id"], row["text"]) for row in dataset.rows("orders")) == left
    first.task.close()
    # What was written before the claim reached Kafka comes again, in other batches.
    with Life(settings) as second:
        for run in (log[:2], log[2:4]):
            second.put(run)
            second.settle()
        assert sorted((row["id"], row["text"]) for row in dataset.rows("orders")) == left
    assert not staged(dataset)


def test_a_task_that_does_not_merge_waits_for_the_one_that_does(dataset, proxy):
    settings = {**dataset.settings(dedup__merge__interval__ms="0"), "bigquery.endpoint": proxy.url}
    with Life(settings, task=0, tasks=2) as zero, Life(settings, task=1, tasks=2) as one:
        merging, other = (zero, one) if Role("", 0, 2, "").merges("orders") else (one, zero)
        other.put([Message(0, 0, 1, 0), Message(0, 1, 2, 5)])
        wait_for(lambda: other.flush() or staged(dataset), 60, "a staged batch")
        listing = proxy.add(r"^GET [^ ]*/tables[?]", status=503, reason="backendError")
        wait_for(lambda: merging.flush() or not listing.times, 60, "a look for what others staged, which fails")
        merging.put([Message(1, 0, 1, 3, text="newer"), Message(1, 1, 2, 4, text="older")])
        assert other.claimed == dict.fromkeys(other.ends, 0), "claimed before the merge"

        def look() -> bool:  # in turns, as the one waits for the other
            merging.flush()
            other.flush()
            return merging.claimed == merging.ends and other.claimed == other.ends

        wait_for(look, 60, f"claims of both; {merging.warnings} {other.warnings}")
    assert any("503" in warning or "backendError" in warning for warning in merging.warnings), merging.warnings
    assert [(row["id"], row["text"]) for row in dataset.rows("orders")] == [(1, "newer"), (2, "x")]


def test_a_merge_behind_one_of_the_same_task_asks_for_no_table(dataset, proxy):
    """A number that is taken tells that another process was there, and that the table may have another mode."""
    settings = {**dataset.settings(dedup__merge__interval__ms="0"), "bigquery.endpoint": proxy.url}
    with Life(settings) as life:
        seen = proxy.add(r"", times=10**6)
        life.put([Message(0, 0, 1, 0)])
        life.settle()
        before = len(seen.met)
        assert looks_at_orders(seen.met), "the first statement of a process looks at the table"
        for number in (1, 2):
            life.put([Message(0, number, 1, number), Message(0, number + 10, 2, number, text=None)])
            life.settle()
    later = seen.met[before:]
    statements = [request for request in later if re.search(r"^POST [^ ]*/(?:jobs|queries)[^ ]* .*MERGE", request)]
    assert len(statements) == 4, "twice the deletes that are remembered, and the merge itself"
    assert looks_at_orders(later) == []


def looks_at_orders(requests: list[str]) -> list[str]:
    return [request[:120] for request in requests if re.match(r"GET [^ ]*/tables/orders\b", request)]


def test_what_an_earlier_life_staged_is_swept(dataset):
    settings = dataset.settings(dedup__merge__interval__ms="0")
    first = Life(settings)
    with patch.object(Merging, "write", lambda self, batch: self._staging.fill(batch)):  # a crash after the load job
        first.put([Message(0, 0, 1, 0)])
        first.flush()
        wait_for(lambda: staged(dataset), 60, "a staged batch")
        first.task.close()
    with Life(settings):
        assert not staged(dataset)


@pytest.mark.parametrize("task", [0, 1])
def test_no_merge_that_was_frozen_finds_its_rows_once_the_mode_is_view(dataset, task):
    merging = dataset.settings(dedup__merge__interval__ms="0")
    first = Life(merging, task=task, tasks=2)
    with patch.object(Merging, "write", lambda self, batch: self._staging.fill(batch)):  # frozen before its MERGE
        first.put([Message(0, 0, 1, 0)])
        first.flush()
        wait_for(lambda: staged(dataset), 60, "a staged batch")
        first.task.close()
    with Life({**merging, "dedup.mode": "view"}):
        assert not staged(dataset)


def staged(dataset) -> list[str]:
    return [name for name in dataset.tables() if "_tmp_" in name]
