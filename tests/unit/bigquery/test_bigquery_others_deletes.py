"""Deletes that were remembered count, also for settings and connectors that remember none themselves."""

from __future__ import annotations

import pytest
from bigquery_oracle import Message, batch_of
from plain_bigquery import PlainBigQuery
from test_bigquery_compaction import Prompt
from test_bigquery_divided_records import Life, divided, rows_of_one

from connectors.bigquery.merge import merge_writer
from connectors.bigquery.warehouse import jobs


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    return PlainBigQuery(Prompt(1))


@pytest.mark.parametrize("mode", ["merge", "compact"])
@pytest.mark.parametrize("delete", ["soft", "ignore", "not remembered"])
def test_an_older_record_brings_no_row_back_after_a_change_of_settings(service, mode, delete):
    shared = {"dedup__mode": mode, "dedup__fields": "id", "dedup__compact__interval__ms": "0"}
    before = Life(service, **shared)
    before.write(batch_of([Message(0, 1, 7, 1), Message(0, 2, 7, 9, text=None)]))
    before.writer.collect()
    changed = {"dedup__tombstone__retention__ms": "0"} if delete == "not remembered" else {"dedup__delete": delete}
    after = Life(service, **shared, **changed)
    after.write(batch_of([Message(1, 1, 7, 5, text="older"), Message(1, 2, 8, 5)]))
    after.write(batch_of([Message(1, 3, 9, 10)]))

    def alive(table: str) -> list[int]:
        return sorted(row["id"] for row in service.rows(table) if not row.get("_deleted"))

    if mode == "compact":
        assert alive("orders_latest") == [8, 9]
        after.writer.collect()
    assert alive("orders") == [8, 9]


def test_rows_that_come_late_into_a_merged_log_are_merged(service, monkeypatch):
    """A slow worker still loads a batch by the former dedup.mode=compact."""
    shared = {"dedup__fields": "id"}
    slow, merges = Life(service, dedup__mode="compact", **shared), Life(service, dedup__mode="merge", **shared)
    slow.write(batch_of([Message(0, 1, 1, 1)]))
    merges.write(batch_of([Message(1, 1, 2, 1)]))
    slow.write(batch_of([Message(0, 2, 3, 1)]))
    merges.write(batch_of([Message(1, 2, 4, 1)]))
    assert sorted(row["id"] for row in service.rows("orders")) == [1, 2, 4]
    monkeypatch.setattr(merge_writer, "_LOG_LOOK_S", 0.0)
    merges.write(batch_of([Message(1, 3, 5, 1)]))
    assert sorted(row["id"] for row in service.rows("orders")) == [1, 2, 3, 4, 5]


COMPACT = {"dedup__mode": "compact", "dedup__fields": "id", "dedup__compact__interval__ms": "0"}
FORGETS = {"dedup__tombstone__retention__ms": "0"}


def ids(service: PlainBigQuery, table: str) -> list[int]:
    return sorted(row["id"] for row in service.rows(table))


def test_a_view_reads_on_when_somebody_drops_what_others_remember(service):
    before = Life(service, **COMPACT)
    before.write(batch_of([Message(0, 1, 7, 1), Message(0, 2, 7, 9, text=None), Message(0, 3, 8, 1)]))
    before.writer.collect()
    after = Life(service, **COMPACT, **FORGETS)
    after.write(batch_of([Message(1, 1, 9, 1)]))
    assert ids(service, "orders_latest") == [8, 9]
    service.drop("_orders_deletes")
    after.targets.views.look()
    assert ids(service, "orders_latest") == [8, 9]
    assert not after.targets.views.told()


def test_a_view_asks_what_another_connector_remembers_later(service):
    remembers, forgets = Life(service, **COMPACT), Life(service, **COMPACT, **FORGETS)
    remembers.write(batch_of([Message(1, 1, 7, 1)]))
    service.drop("_orders_deletes")
    forgets.write(batch_of([Message(0, 1, 8, 1)]))
    remembers.targets.restore(remembers.targets.buffers["orders"])
    remembers.write(batch_of([Message(1, 2, 7, 9, text=None)]))
    remembers.writer.collect()
    forgets.write(batch_of([Message(0, 2, 7, 5, text="older")]))
    assert ids(service, "orders_latest") == [7, 8]
    forgets.targets.views.look()
    assert ids(service, "orders_latest") == [8]
    forgets.writer.collect()
    assert ids(service, "orders") == [8]


@pytest.mark.parametrize("mode", ["merge", "compact"])
def test_who_remembers_nothing_writes_into_no_memory_of_others(service, mode):
    shared = {**COMPACT, "dedup__mode": mode, "dedup__order__by": "version"}
    before, after = Life(service, **shared), Life(service, **shared, **FORGETS)
    before.write(batch_of([Message(0, 1, 7, 1, version=1), Message(0, 2, 7, 1, text=None)]))
    before.writer.collect()
    after.write(batch_of([Message(1, 1, 8, 1, version=1), Message(1, 2, 8, 1, text=None)]))
    after.writer.collect()
    assert ids(service, "_orders_cleared") == [7]
    assert ids(service, "orders") == []


@pytest.mark.parametrize("mode", ["merge", "compact"])
def test_deletes_from_before_rows_had_numbers_are_asked(service, mode):
    before = Life(service, **{**COMPACT, "dedup__mode": mode})
    before.write(batch_of([Message(0, 1, 7, 1), Message(0, 2, 7, 9, text=None)]))
    before.writer.collect()
    after = Life(service, **{**COMPACT, "dedup__mode": mode}, **FORGETS)
    after.write(divided(rows_of_one(8, 3, 2), [1, 2]))
    after.write(divided([Message(0, 4, 7, 5, text="older")], [1]))
    if mode == "compact":
        assert ids(service, "orders_latest") == [8]
        after.writer.collect()
    assert ids(service, "orders") == [8]


def test_who_has_seen_no_numbers_of_rows_compacts_by_them(service):
    first, second = Life(service, **COMPACT), Life(service, **COMPACT)
    first.write(batch_of([Message(0, 1, 8, 1), Message(0, 2, 9, 1, text=None)]))
    second.write(divided(rows_of_one(7, 5, 3), [1, 2, 3]))
    texts = sorted((row["id"], row["text"]) for row in service.rows("orders_latest"))
    first.writer.collect()
    assert sorted((row["id"], row["text"]) for row in service.rows("orders")) == texts == [(7, "5/3"), (8, "x")]


def test_who_knows_no_numbers_of_rows_remembers_deletes_beside_who_does_not_remember(service):
    first, second = Life(service, **COMPACT), Life(service, **COMPACT, **FORGETS)
    first.write(batch_of([Message(0, 1, 8, 1)]))
    second.write(divided(rows_of_one(7, 5, 2), [1, 2]))
    first.write(batch_of([Message(0, 2, 8, 9, text=None)]))
    first.writer.collect()
    assert ids(service, "_orders_deletes") == [8]
    second.write(batch_of([Message(1, 1, 8, 5, text="older")]))
    second.writer.collect()
    assert ids(service, "orders") == [7]
