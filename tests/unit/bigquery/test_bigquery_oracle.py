"""Draws random logs through the sink's own admission and SQL, in DuckDB, against a model in plain Python.

Logs have duplicates over partitions, versions out of order, deletes, null keys; batches are cut anywhere, shared out
among tasks, replayed after crashes and merged again by zombies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from bigquery_oracle import Message, first, histories, latest
from bigquery_sql import SqlTable, config, texts, wanted
from drawn_cases import cases
from hypothesis import HealthCheck, given, settings

History = list[list[Sequence[Message]]]
SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def messages_of(history: History) -> list[Message]:
    return [message for merge in history for run in merge for message in run]


@cache
def _table(**dedup: str) -> SqlTable:
    return SqlTable(config(**dedup))


def empty_table(**dedup: str) -> SqlTable:
    """One table for all histories of a test, as making one takes longer than most of them."""
    table = _table(**dedup)
    table.clear()
    return table


def check_latest(history: History, **dedup: str) -> None:
    table = empty_table(**dedup)
    for merge in history:
        table.merge(merge)
    model = latest(
        messages_of(history),
        by_version=dedup.get("order_by") == "version",
        field_deletes="=" in dedup.get("delete", ""),
    )
    rows = table.rows()
    assert texts([row for row in rows if not row.get("_deleted")]) == wanted(model)
    assert len({row["id"] for row in rows}) == len(rows)


def late(partition: int, text: str | None, before: str | None) -> History:
    """A record, and one merge later one of another partition that is older than it."""
    return [[[Message(0, 0, 7, 20, text=before)]], [[Message(partition, 0, 7, 10, text=text)]]]


@pytest.mark.parametrize("history", [late(1, None, "x"), late(1, "x", None), late(1, "y", "x"), late(1, None, None)])
def test_an_older_record_that_comes_later_changes_nothing(history):
    check_latest(history)


@settings(max_examples=10, **SLOW)
@given(histories())
def test_the_latest_record_of_a_key_stays(history):
    check_latest(history)


@pytest.mark.thorough
@settings(max_examples=cases(35, drawn=500), **SLOW)
@given(histories())
def test_the_latest_record_of_a_key_stays_in_many_histories(history):
    check_latest(history)


@pytest.mark.thorough
@settings(max_examples=cases(30, drawn=300), **SLOW)
@given(histories())
def test_soft_deletes_hide_rows_and_keep_their_order(history):
    check_latest(history, delete="soft")


@pytest.mark.thorough
@settings(max_examples=cases(30, drawn=300), **SLOW)
@given(histories())
def test_a_field_may_mark_deletes(history):
    check_latest(history, delete="gone=true")


@pytest.mark.thorough
@settings(max_examples=cases(30, drawn=300), **SLOW)
@given(histories(deletes=False))
def test_a_field_of_the_value_may_order_records(history):
    check_latest(history, order_by="version")


@pytest.mark.thorough
@settings(max_examples=cases(15, drawn=150), **SLOW)
@given(histories())
def test_a_window_that_spans_all_versions_changes_nothing(history):
    check_latest(history, window="10s")


@pytest.mark.thorough
@settings(max_examples=cases(30, drawn=300), **SLOW)
@given(histories())
def test_records_without_a_key_are_rows_of_their_own_once_each(history):
    table = empty_table(null_key="append")
    for merge in history:
        table.merge(merge)
    rows = table.rows()
    messages = messages_of(history)
    keyless = {(m.partition, m.offset, m.text) for m in messages if m.id is None and m.text is not None}
    found = [(r["_kafka_partition"], r["_kafka_offset"], r["text"]) for r in rows if r["id"] is None]
    assert sorted(found) == sorted(keyless)
    assert texts([row for row in rows if row["id"] is not None]) == wanted(latest(messages))


@pytest.mark.thorough
@settings(max_examples=cases(30, drawn=300), **SLOW)
@given(histories())
def test_the_first_record_of_a_key_stays(history):
    table = empty_table(keep="first")
    for merge in history:
        table.merge(merge)
    model = first([[message for run in merge for message in run] for merge in history])
    assert texts(table.rows()) == wanted(model)
