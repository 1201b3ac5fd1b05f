"""Checks tombstones that lack the field of dedup.order.by, against a model in plain Python: each removes what its
partition brought before it under its key, however the log is cut and replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of, behind_tombstones, histories, latest
from bigquery_sql import SqlTable, config, texts, wanted
from hypothesis import HealthCheck, given, settings
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient
from test_bigquery_changes import view_rows

from connect.api.errors import ConfigError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck)}
History = list[list[Sequence[Message]]]
BY_VERSION = {"order_by": "version"}
WAYS: tuple[dict[str, str], ...] = ({}, {"delete": "soft"}, {"delete": "gone=true"}, {"window": "10s"})


@cache
def _table(**dedup: str) -> SqlTable:
    return SqlTable(config(**BY_VERSION, **dedup))


def empty_table(**dedup: str) -> SqlTable:
    table = _table(**dedup)
    table.clear()
    return table


def merged(history: History, **dedup: str) -> SqlTable:
    table = empty_table(**dedup)
    for merge in history:
        table.merge(merge)
    return table


def alive(table: SqlTable) -> list[dict[str, Any]]:
    return [row for row in table.rows() if not row.get("_deleted")]


def model_of(messages: list[Message], **dedup: str) -> dict[int, Message]:
    return latest(behind_tombstones(messages), by_version=True, field_deletes="=" in dedup.get("delete", ""))


def messages_of(history: History) -> list[Message]:
    return [message for merge in history for run in merge for message in run]


@settings(max_examples=10, **SLOW)
@given(histories(own_keys=True))
def test_a_tombstone_removes_what_stood_before_it_whatever_its_version(history):
    assert texts(alive(merged(history))) == wanted(model_of(messages_of(history)))


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=12, **SLOW)
@given(history=histories(own_keys=True))
def test_a_tombstone_removes_what_stood_before_it_in_many_histories(way, history):
    table = merged(history, **way)
    assert texts(alive(table)) == wanted(model_of(messages_of(history), **way))
    assert len({row["id"] for row in table.rows()}) == len(table.rows())


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=12, **SLOW)
@given(history=histories())
def test_a_tombstone_reaches_no_row_of_another_partition(way, history):
    """Where a removed row was the larger one, what lost against it does not come back; all else is exact."""
    table, log = merged(history, **way), messages_of(history)
    left, model = behind_tombstones(log), model_of(log, **way)
    removed = [message for message in log if message.text is not None and message not in left]
    found = {row["id"]: row["text"] for row in alive(table)}
    assert len(found) == len(alive(table))
    for number in {message.id for message in log} - {None}:
        last = max((m.version_order for m in left if m.id == number), default=None)
        may_have_lost = any(m.id == number and last is not None and m.version_order > last for m in removed)
        if may_have_lost:
            assert found.get(number) in {None, *(m.text for m in left if m.id == number)}
        else:
            assert found.get(number) == (model[number].text if number in model else None)


@pytest.mark.parametrize("way", [{}, {"delete": "soft"}, {"window": "10s"}], ids=str)
def test_what_comes_after_a_tombstone_starts_anew_and_replays_change_nothing(way):
    log = [Message(0, 0, 1, 9, version=5), Message(0, 1, 1, 8, text=None), Message(0, 2, 1, 1, version=3, text="new")]
    table = empty_table(**way)
    for part in ([log], [log[:1]], [log[:2]], [log[1:2], log[:1]]):
        table.merge(part)
        assert texts(alive(table)) == [(1, "new")]
    table.merge([[Message(0, 3, 1, 0, text=None)]])
    assert alive(table) == []
    for part in ([log], [log[2:]], [log[:1]]):
        table.merge(part)
        assert alive(table) == []


def test_a_delete_by_a_field_is_undone_by_what_comes_after_a_tombstone():
    table = empty_table(delete="gone=true")
    table.merge([[Message(0, 0, 1, 0, version=4, gone=True)]])
    table.merge([[Message(0, 1, 1, 0, version=3, text="older")]])
    assert alive(table) == []
    table.merge([[Message(0, 2, 1, 0, text=None), Message(0, 3, 1, 0, version=1, text="new")]])
    assert texts(alive(table)) == [(1, "new")]


def test_a_tombstone_of_a_topic_made_anew_removes_its_own_rows_and_those_of_no_known_topic():
    table = empty_table()

    def merge(message: Message, topic_id: str | None) -> None:
        batch = batch_of([message])
        assert batch.consumed is not None
        rows = table.admission.admit(replace(batch, consumed=replace(batch.consumed, topic_id=topic_id))).rows
        table.database.execute("CREATE OR REPLACE TABLE staged_0 AS SELECT * FROM rows")
        del rows
        statements = table.merge_of(("staged_0",))
        for sql in (*statements.clear("now()"), statements.remember_deletes("now()"), statements.text()):
            table.database.execute(sql)

    merge(Message(0, 7, 1, 0, version=1, text="first life"), "a")
    merge(Message(0, 9, 1, 0, text=None), "b")
    assert texts(alive(table)) == [(1, "first life")]
    merge(Message(0, 8, 1, 0, text=None), "a")
    assert alive(table) == []
    merge(Message(0, 7, 2, 0, version=1, text="of no id"), None)
    merge(Message(0, 8, 2, 0, text=None), "b")
    assert alive(table) == []
    table.database.execute("INSERT INTO target (id, text) VALUES (3, 'from before')")
    merge(Message(4, 0, 3, 0, text=None), "b")
    assert alive(table) == []


@pytest.mark.thorough
@settings(max_examples=12, **SLOW)
@given(histories(null_keys=False))
def test_a_view_knows_all_records_and_is_exact_for_keys_of_several_partitions(history):
    runs = [run for merge in history for run in merge]
    rows = view_rows(_table(mode="view"), runs)
    assert texts(rows) == wanted(model_of(messages_of(history)))
    assert not any(name.startswith("_dedup_clears") for row in rows for name in row)


def test_change_data_capture_makes_a_bad_record_of_such_a_tombstone_and_says_so():
    settings_ = config(**BY_VERSION, mode="cdc")
    admitted = SqlTable(settings_).admission.admit(batch_of([Message(0, 0, 1, 0), Message(0, 1, 1, 0, text=None)]))
    assert admitted.offsets.to_pylist() == [0]
    assert "orders-0@1: the tombstone has no version" in str(admitted.bad[1])
    said = " ".join(note.message for note in settings_.notes())
    assert "A tombstone has no version" in said
    assert "deletes nothing" in said
    assert "starts anew" in " ".join(note.message for note in config(**BY_VERSION).notes())


def test_a_backfill_makes_a_bad_record_of_such_a_tombstone():
    rules = config(**BY_VERSION).mode.rules_in_any_order
    table = SqlTable(config(**BY_VERSION))
    admitted = replace(table.admission, rules=rules).admit(batch_of([Message(0, 0, 1, 0, text=None)]))
    assert list(admitted.bad) == [0]
    assert isinstance(admitted.bad[0], Exception)
    assert not isinstance(admitted.bad[0], ConfigError)


@pytest.mark.parametrize("way", [{}, {"dedup.delete": "soft"}], ids=str)
def test_tombstones_may_come_before_the_table_has_the_column_that_orders_values(monkeypatch, way):
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0005)
    monkeypatch.setattr(jobs, "_LAST_LOOK_S", 0.002)
    service = PlainBigQuery(Random(1))
    client = PlainClient(service)
    monkeypatch.setattr(sink, "open_warehouse", lambda _: Warehouse(client, PROJECT, DATASET, timeout_s=10))
    settings_ = {
        "project": PROJECT, "defaultDataset": DATASET, "dedup.fields": "id", "dedup.order.by": "version",
        "dedup.merge.interval.ms": "0", "timePartitioningType": "NONE", **way,
    }  # fmt: skip
    task = sink.BigQuerySinkTask(BigQuerySinkConfig.parse(settings_))
    task.open(FakeSinkContext())
    place = TopicPartition("orders", 0)
    rows = [(1, None), (2, None), (1, {"id": 1, "version": 3}), (2, {"id": 2, "version": 1}), (1, None)]
    for offset, (number, value) in enumerate(rows):
        offsets = pa.array([offset], pa.int64())
        keys = Column.from_rows([{"id": number}], None)
        batch = Batch(
            "orders", Column.from_rows([value], None), partition=0, timestamps_ms=offsets, keys=keys,
            consumed=Consumed(place, offsets, offset + 1),
        )  # fmt: skip
        task.put(batch, Deadline.after(5))
        deadline = Deadline.after(60)
        while task.flush(deadline) != {place: offset + 1}:
            assert not deadline.expired
            deadline.wait(0.01)
    task.close()
    assert [(row["id"], row["version"]) for row in service.rows("orders") if not row.get("_deleted")] == [(2, 1)]
