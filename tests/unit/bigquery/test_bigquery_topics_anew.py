"""Checks a topic made anew, and a key that moves to another partition: the newest value stays, and none is left out."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from bigquery_oracle import EPOCH, Message, batch_of
from bigquery_sql import SqlTable, config, texts

from connect.api.optional.topic_ids import TopicIds
from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.merge.staging import batch_id
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.storage import Appended
from connectors.bigquery.write.exactly_once import CommittedStreams

UPSERT = {"project": "p", "defaultDataset": "d", "upsertEnabled": "true", "timestampPartitionFieldName": "at"}


def upserts(**others: str) -> BigQuerySinkConfig:
    return BigQuerySinkConfig.parse({**UPSERT, **{key.replace("__", "."): value for key, value in others.items()}})


@pytest.mark.parametrize(
    "later",
    [Message(4, 0, 1, time_s=10, text="new"), Message(0, 0, 1, time_s=10, text="new")],
    ids=["another partition", "the topic made anew"],
)
def test_by_default_an_upsert_of_a_later_time_wins_over_a_larger_offset(later):
    table = SqlTable(upserts())
    table.merge([[Message(0, 500, 1, time_s=5, text="old")]])
    table.merge([[later]])
    assert texts(table.rows()) == [(1, "new")]
    table.merge([[Message(0, 500, 1, time_s=5, text="old")]])
    assert texts(table.rows()) == [(1, "new")]


def test_equal_versions_are_told_apart_by_time_before_partition_and_offset():
    table = SqlTable(config(order_by="version"))
    table.merge([[Message(3, 500, 1, time_s=5, version=1, text="old")]])
    table.merge([[Message(0, 0, 1, time_s=10, version=1, text="new")]])
    assert texts(table.rows()) == [(1, "new")]


def with_id(batch: Any, topic_id: str | None) -> Any:
    return replace(batch, consumed=replace(batch.consumed, topic_id=topic_id))


def test_rows_of_their_own_of_a_topic_made_anew_are_no_repeats():
    table = SqlTable(config(null_key="append"))
    for topic_id in ("a", "a", "b", None):
        rows = table.admission.admit(with_id(batch_of([Message(0, 7, None, 0)]), topic_id)).rows
        table.database.execute("CREATE OR REPLACE TABLE staged_0 AS SELECT * FROM rows")
        table.database.execute(table.merge_of(("staged_0",)).append())
        del rows
    assert sorted(row["_kafka_topic_id"] for row in table.rows()) == ["a", "b"]


def sealed(table: SqlTable, topic_id: str | None, *offsets: int) -> SealedBatch:
    admitted = table.admission.admit(with_id(batch_of([Message(0, o, o, 0) for o in offsets]), topic_id))
    piece = Piece(TopicPartition("orders", 0), admitted.rows, admitted.offsets, topic_id)
    return SealedBatch("orders", (piece,), table.columns, table.dedup, None)


def test_batches_of_a_topic_made_anew_have_ids_of_their_own():
    table = SqlTable(config())
    ids = {batch_id("c", sealed(table, topic_id, 1, 2), b"x") for topic_id in ("a", "a", "b")}
    assert len(ids) == 2


class Streams:
    """A table that holds offsets of the topic with the id a, and the Storage Write API before it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.added: list[int] = []

    def create_stream(self, table: str) -> str:
        return f"p/d/t/{table}/streams/{len(self.asked)}"

    def finalize(self, _: str) -> None: ...

    def create(self, _: Any) -> bool:
        return True

    def run(self, *_: Any) -> None: ...

    def path(self, table: str) -> str:
        return table

    def rows(self, sql: str, doing: str) -> list[dict[str, Any]]:
        if "offsets" not in doing:
            return []
        self.asked.append(sql)
        return [] if "'b'" in sql else [{"number": 0, "first": 0, "last": 9}]

    def table(self, _: str) -> None:
        return None

    def append_at(self, _: str, __: str, rows: Any, ___: int) -> Any:
        self.added += rows["_kafka_offset"].to_pylist()
        yield Appended(0, len(rows))


def test_exactly_once_adds_a_topic_made_anew_while_the_task_runs(caplog):
    caplog.set_level(logging.WARNING)
    table, service = SqlTable(config()), Streams()
    service_: Any = service
    streams = CommittedStreams(service_, service_)
    for topic_id, offsets in (("a", (8, 9, 10)), ("b", (0, 1)), ("b", (1, 2)), (None, (9, 10))):
        batch = sealed(table, topic_id, *offsets)
        rows = batch.tables[0].append_column("_insert_id", [[""] * len(offsets)])
        assert streams.write(batch, rows) == {}
    assert service.added == [10, 0, 1, 2, 10]
    assert ["_kafka_topic_id` IS NULL" in sql for sql in service.asked] == [True, True, False]
    assert "give topic orders no id" in caplog.text


def test_the_id_of_a_topic_is_asked_again_when_its_offsets_go_back(caplog):
    told, asked = {"orders": "a"}, []

    def ask(topic: str, _: Deadline) -> str | None:
        asked.append(topic)
        return told[topic]

    ids = TopicIds(ask)
    first = batch_of([Message(0, 5, 1, 0)])
    assert [ids.placed(first, Deadline.after(1)).consumed.topic_id for _ in range(1)] == ["a"]
    told["orders"] = "b"
    assert ids.placed(batch_of([Message(0, 6, 1, 0)]), Deadline.after(1)).consumed.topic_id == "a"
    assert ids.placed(batch_of([Message(0, 0, 1, 0)]), Deadline.after(1)).consumed.topic_id == "b"
    ids.forget([TopicPartition("orders", 0)])
    assert ids.of("orders", Deadline.after(1)) == "b"
    assert len(asked) == 3
    assert "made anew: its id is b, and was a" in caplog.text


def test_the_first_records_of_a_partition_may_be_of_a_topic_that_was_made_anew():
    """The task has read another partition before, and none of this one, whose offsets begin anew behind its back."""
    told, asked, now_s = {"orders": "a"}, [], [100.0]

    def ask(topic: str, deadline: Deadline) -> str:
        del deadline
        asked.append(topic)
        return told[topic]

    ids = TopicIds(ask, lambda: now_s[0])

    def placed(partition: int, offset: int) -> str | None:
        consumed = ids.placed(batch_of([Message(partition, offset, 1, 0)]), Deadline.after(1)).consumed
        assert consumed is not None
        return consumed.topic_id

    assert [placed(0, 5), placed(1, 7)] == ["a", "a"]
    assert len(asked) == 1, "partitions that come together are asked for once"
    now_s[0] += 60
    told["orders"] = "b"
    assert placed(2, 0) == "b"
    assert placed(0, 0) == "b"


def test_a_topic_made_anew_is_found_while_its_offsets_go_on():
    """It was filled beyond the reader's place before the reader looked. Rows that wait since before keep their id."""
    told, log, asked, now_s = {"orders": "a"}, {(0, 4), (0, 5), (0, 6)}, [], [100.0]

    def ask(topic: str, deadline: Deadline) -> str:
        del deadline
        asked.append(now_s[0])
        return told[topic]

    def has_record(partition: TopicPartition, offset: int, timestamp_ms: int, deadline: Deadline) -> bool:
        del deadline
        assert timestamp_ms == EPOCH.timestamp() * 1000
        return (partition.partition, offset) in log

    ids = TopicIds(ask, lambda: now_s[0], has_record)

    def placed(partition: int, offset: int, after_s: float = 0.0) -> str | None:
        now_s[0] += after_s
        consumed = ids.placed(batch_of([Message(partition, offset, 1, 0)]), Deadline.after(1)).consumed
        assert consumed is not None
        return consumed.topic_id

    assert [placed(0, 5), placed(1, 5)] == ["a", "a"]
    told["orders"], log = "b", {(0, 8)}
    assert placed(0, 6, after_s=9) == "a"
    assert asked == [100.0], "a topic is not asked for with each batch"
    assert placed(0, 7, after_s=1) == "a", "the new topic has no such record"
    assert [placed(0, 8, after_s=1), placed(1, 6)] == ["b", "a"], "each partition is looked at by itself"
    assert [placed(0, 9), placed(1, 0)] == ["b", "b"]
    assert asked == [100.0, 110.0, 111.0]


def notes(found: BigQuerySinkConfig) -> str:
    return " ".join(note.message for note in found.notes())


def test_validation_notes_where_an_order_is_not_known():
    assert "a key that moves to another partition" in notes(upserts(dedup__order__by="__offset"))
    assert "producers' clocks" in notes(upserts())
    by_version = {"order_by": "version"}
    assert "A tombstone has no version" in notes(config(**by_version))
    assert "A tombstone" not in notes(config(**by_version, delete="ignore")) + notes(config())
    assert "dedup.fields=__topic_id" in notes(config(fields="__topic,__partition,__offset", keep="first"))
    by_id = notes(config(fields="__topic_id,__partition,__offset", keep="first"))
    assert "dedup.fields=__topic_id" not in by_id
    assert "Stop the connector before a topic is made anew" in by_id
