"""Deletes that were remembered count, also for settings and connectors that remember none themselves."""

from __future__ import annotations

import pytest
from bigquery_oracle import Message, batch_of
from plain_bigquery import PlainBigQuery
from test_bigquery_compaction import Prompt
from test_bigquery_divided_records import Life

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
