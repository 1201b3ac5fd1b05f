"""Checks one bad row among good ones: it alone is refused, whatever makes it bad; and what passes by itself is waited
for.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.errors import RefusedJobError, job_error
from connectors.bigquery.warehouse.service_clock import ServiceClock
from connectors.bigquery.warehouse.table_facts import NewTable, TableFacts


class Tables:
    """Tables without rows, and a way to land batches that keeps their ids, or the values of the column `shown`."""

    threads = 1
    loads = 0
    collects = False

    def __init__(self, shown: str = "") -> None:
        self.shown = shown
        self.clock = ServiceClock()
        self.tables: dict[str, TableFacts] = {}
        self.landed: list[Any] = []

    def within(self, _: Deadline) -> Any:
        return nullcontext()

    def relabel(self, name: str, change: Any) -> bool:
        labels = change(self.tables[name].labels)
        if labels is not None:
            self.label(name, labels)
        return labels is not None

    def label(self, name: str, labels: Mapping[str, str]) -> None:
        self.tables[name] = replace(self.tables[name], labels={**self.tables[name].labels, **labels})

    def table(self, name: str) -> TableFacts | None:
        return self.tables.get(name)

    def has_attempt(self, line: str, number: int) -> bool:
        """Return False: nobody has merged rows into these tables."""
        del line, number
        return False

    def create(self, table: NewTable) -> bool:
        is_new = table.name not in self.tables
        facts = TableFacts(table.name, table.columns, dict(table.labels or {}), "", tuple(table.primary_key))
        self.tables.setdefault(table.name, facts)
        return is_new

    def change_columns(self, name: str, change: Any, **_: Any) -> Any:
        columns = change(self.tables[name].columns)
        self.tables[name] = replace(self.tables[name], columns=columns)
        return columns

    def write(self, batch: SealedBatch) -> Refusals:
        column = self.shown or ("id" if batch.dedup.keys[0].column == "id" else "_kafka_offset")
        self.landed += [number for rows in batch.tables for number in rows[column].to_pylist()]
        return {}

    def doing(self, _: str) -> str:
        return ""

    def look(self) -> None: ...

    def sweep(self) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


def put(
    monkeypatch: pytest.MonkeyPatch,
    *rows: Any,
    schema: s.Schema | None = None,
    dedup_fields: str = "id",
    keys: list[Any] | None = None,
    key_schema: s.Schema | None = None,
    at_once: int = 100,
    shown: str = "",
    **others: str,
) -> tuple[list[Any], dict[int, str]]:
    """The ids that land of these values, or their offsets where no id tells rows apart, and the rows that are bad.

    at_once: how many rows come in one put. shown: the column whose values are returned in place of ids."""
    tables = Tables(shown)
    monkeypatch.setattr(sink, "open_warehouse", lambda _: tables)
    monkeypatch.setattr(sink, "table_writer_of", lambda *_, **__: tables)
    given = {
        "project": "p", "defaultDataset": "d", "dedup.fields": dedup_fields, "dedup.merge.interval.ms": "0",
        "allowNewBigQueryFields": "true", **{name.replace("__", "."): value for name, value in others.items()},
    }  # fmt: skip
    task = sink.BigQuerySinkTask(BigQuerySinkConfig.parse(given))
    context = FakeSinkContext()
    task.open(context)
    offsets = pa.array(range(len(rows)), pa.int64())
    bad: dict[int, str] = {}
    batch = Batch(
        "orders", Column.from_rows(list(rows), schema), partition=0, timestamps_ms=offsets,
        keys=None if keys is None else Column.from_rows(keys, key_schema),
        consumed=Consumed(TopicPartition("orders", 0), offsets, len(rows)),
    )  # fmt: skip
    for start in range(0, len(rows), at_once):
        try:
            task.put(batch.slice(start, min(start + at_once, len(rows))), Deadline.after(5))
        except RejectedRowsError as error:
            bad |= {start + row: str(why) for row, why in error.rows.items()}
    deadline = Deadline.after(20)
    while task.flush(deadline) != {TopicPartition("orders", 0): len(rows)}:
        assert not deadline.expired
    task.close()
    return tables.landed, bad | {one.record.offset: str(one.reason) for one in context.rejected}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": 3, "n": "x"}, "column n"),
        ({"id": 3, "n": {"a": 1}}, "column n"),
        ({"id": 3, "n": 2**63}, "too large"),
        (5, "no such field"),
        ([1], "no such field"),
        ("text", "no such field"),
        ({"id": 3, "n": 1, "N": 2}, "ignores case in names: n and N"),
        ({"id": 3, "n": 1, "m": {"a": 1, "A": 1}}, "ignores case in names: m.a and m.A"),
        ({"id": 3, "n": 1, "_KAFKA_offset": 1}, "named like columns which the connector adds"),
    ],
)
@pytest.mark.parametrize("place", [1, 5])
def test_one_bad_row_among_rows_without_a_schema_is_bad_alone(monkeypatch, row, told, place):
    good = [{"id": 10 + number, "n": number} for number in range(5)]
    ids = [one["id"] for one in good]
    landed, bad = put(monkeypatch, *good[:place], row, *good[place:])
    assert landed == ids
    assert set(bad) == {place}
    assert told in bad[place]


def test_a_bad_row_is_bad_alone_where_deletes_are_left_out(monkeypatch):
    landed, bad = put(monkeypatch, {"id": 1}, 5, None, {"id": 4}, dedup__delete="ignore", keys=[{"id": 0}] * 4)
    assert (landed, set(bad)) == ([1, 4], {1})


@pytest.mark.parametrize("row", [2**63, 5, {"id": 2**63}])
def test_a_bad_row_that_comes_alone_is_bad_and_ends_nothing(monkeypatch, row):
    landed, bad = put(monkeypatch, row)
    assert (landed, set(bad)) == ([], {0})


def test_a_key_with_fields_that_differ_in_case_is_one_bad_row_where_keys_are_stored(monkeypatch):
    keys = [{"k": 1}, {"k": 2, "K": 2}, {"k": 3}]
    landed, bad = put(monkeypatch, {"id": 1}, {"id": 2}, {"id": 3}, keys=keys, kafkaKeyFieldName="kept")
    assert (landed, set(bad)) == ([1, 3], {1})
    assert "ignores case in names: kept.k and kept.K" in bad[1]


GROWING = [
    {"a": 1}, {"a": 2, "b": "new"}, {"a": 3, "deep": {"c": 1}}, {"a": 4, "deep": {"c": 1, "d": 2}},
    {"a": 5, "many": [{"e": 1}]}, {"a": 6, "many": [{"e": 1, "f": 2}]}, {"a": 7, "A": 8},
]  # fmt: skip


@pytest.mark.parametrize("at_once", [1, 100])
@pytest.mark.parametrize("where", ["key", "value"])
def test_new_members_of_a_record_arrive_at_any_depth_in_stored_keys_too(monkeypatch, where, at_once):
    values = [{"id": number, **({"kept": grown} if where == "value" else {})} for number, grown in enumerate(GROWING)]
    stored = {"keys": GROWING, "kafkaKeyFieldName": "kept"} if where == "key" else {}
    landed, bad = put(monkeypatch, *values, at_once=at_once, shown="kept", **stored)
    assert [present(one) for one in landed] == GROWING[:-1]
    assert set(bad) == {len(GROWING) - 1}
    assert "ignores case in names: kept.a and kept.A" in bad[len(GROWING) - 1]


def present(value: Any) -> Any:
    """The same value without the members that are null."""
    if isinstance(value, list):
        return [present(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: present(member) for name, member in value.items() if member is not None}


def test_a_text_behind_a_tombstone_is_no_row_without_values(monkeypatch):
    landed, bad = put(monkeypatch, None, None, "text", dedup_fields="__partition,__offset")
    assert (landed, set(bad)) == ([0, 1], {2})


@pytest.mark.parametrize("key", ["abc", 0.5, {"a": 1}, 2**63, [1]])
def test_a_key_of_another_type_is_one_bad_row(monkeypatch, key):
    keys = [{"id": 1}, {"id": key}, {"id": 3}]
    landed, bad = put(monkeypatch, {"id": 1}, None, {"id": 3}, keys=keys)
    assert (landed, set(bad)) == ([1, 3], {1})
    landed, bad = put(monkeypatch, {"n": 1}, {"n": 2}, {"n": 3}, keys=keys, dedup_fields="__key.id")
    assert (landed, set(bad)) == ([0, 2], {1})


@pytest.mark.parametrize("at_once", [1, 100])
@pytest.mark.parametrize("whole", [1, "a", {"x": 1}])
def test_whole_keys_of_unlike_types_are_bad_alone(monkeypatch, whole, at_once):
    """The first key says what keys are like; what no column of it holds is a bad record, whatever stands beside it."""
    good = {1: 2, "a": "b", "{'x': 1}": {"x": 2}}[str(whole) if isinstance(whole, dict) else whole]
    unlike = [key for key in (1, "a", {"x": 1}, [1], 0.5, 2**63, None) if type(key) is not type(whole)]
    fits = {number for number, key in enumerate(unlike) if whole == "a" and key == 1}
    keys = [whole, *unlike, good]
    landed, bad = put(
        monkeypatch, *({f"n{number}": number} for number in range(len(keys))), keys=keys, dedup_fields="__key",
        at_once=at_once, dedup__null__key="dlq",
    )  # fmt: skip
    assert set(bad) == {1 + number for number in range(len(unlike))} - {1 + number for number in fits}
    assert landed == [number for number in range(len(keys)) if number not in bad]


KEYED = s.struct({"id": s.STRING}, optional=True)


@pytest.mark.parametrize("key", ["abc", "9223372036854775808"])
def test_a_tombstone_whose_key_has_no_place_in_its_column_is_one_bad_row_with_schemas(monkeypatch, key):
    value = s.struct({"id": s.INT64}, optional=True)
    keys = [{"id": "1"}, {"id": key}, {"id": "2"}, {"id": "3"}]
    rows = [{"id": 1}, None, None, {"id": 3}]
    landed, bad = put(monkeypatch, *rows, schema=value, keys=keys, key_schema=KEYED)
    assert (landed, set(bad)) == ([1, 2, 3], {1})
    assert "has no place in its column" in bad[1]


def test_a_tombstone_whose_key_is_of_a_type_that_is_never_cast_is_one_bad_row(monkeypatch):
    value = s.struct({"id": s.INT64}, optional=True)
    key = s.struct({"id": s.BYTES}, optional=True)
    rows = [{"id": 1}, None, {"id": 3}]
    landed, bad = put(monkeypatch, *rows, schema=value, keys=[{"id": b"x"}] * 3, key_schema=key)
    assert (landed, set(bad)) == ([1, 3], {1})


@pytest.mark.parametrize("delete", ["tombstone", "ignore"])
def test_changes_that_begin_with_a_tombstone_without_an_order(monkeypatch, delete):
    landed, bad = put(
        monkeypatch, None, {"id": 1, "version": 1}, keys=[{"id": 1}] * 2, at_once=1, dedup__order__by="version",
        dedup__mode="cdc", dedup__delete=delete,
    )  # fmt: skip
    assert landed == [1]
    assert set(bad) == ({0} if delete == "tombstone" else set())


@pytest.mark.parametrize("null_key", ["fail", "dlq"])
def test_a_tombstone_that_is_left_out_needs_no_key_where_it_comes_first(monkeypatch, null_key):
    landed, bad = put(
        monkeypatch, None, {"n": 1}, keys=[None, 7], at_once=1, dedup_fields="__key", dedup__delete="ignore",
        dedup__null__key=null_key,
    )  # fmt: skip
    assert (landed, bad) == ([1], {})


def test_rows_beside_a_bad_one_keep_the_id_of_their_topic(monkeypatch):
    landed, bad = put(monkeypatch, {"id": 1}, {"id": "x"}, {"id": 3}, dedup_fields="__topic_id,__offset")
    assert (landed, set(bad)) == ([0, 2], {1})


def test_records_of_a_schema_with_names_that_differ_in_case_are_all_bad(monkeypatch):
    schema = s.struct({"id": s.INT64, "Id": s.INT64})
    landed, bad = put(monkeypatch, {"id": 1, "Id": 1}, {"id": 2, "Id": 2}, schema=schema)
    assert landed == []
    assert set(bad) == {0, 1}
    assert "ReplaceField" in bad[0]


def test_rows_in_the_streaming_buffer_are_waited_for_with_the_reason():
    words = "UPDATE or DELETE statement over table p.d.orders would affect rows in the streaming buffer"
    found = job_error({"reason": "invalidQuery", "message": words}, "merging into table orders")
    assert isinstance(found, RetriableError)
    assert not isinstance(found, RefusedJobError)
    assert "within about 90 minutes" in (found.fix or "")
    assert "90 minutes" in sink._waiting("orders", found).text
