"""Draws random logs through dedup.mode=compact in DuckDB: the view equals the model before, within and after
compactions.

Compactions take what is there, are cut off after any of their statements, run twice at once by a list that is old, and
meet loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from bigquery_oracle import Message, behind_tombstones, histories, latest
from bigquery_sql import config, texts, wanted
from bigquery_sql_log import SqlLog
from drawn_cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.bigquery.dedup.log_sql import LogView
from connectors.bigquery.dedup.rules import LATE
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType

History = list[list[Sequence[Message]]]
SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck)}
pytestmark = pytest.mark.timeout(900)


@cache
def _log(**dedup: str) -> SqlLog:
    return SqlLog(config(mode="compact", **dedup))


def empty_log(**dedup: str) -> SqlLog:
    found = _log(**dedup)
    found.clear()
    return found


def check(history: History, data: st.DataObject, **dedup: str) -> SqlLog:
    """Load batch after batch with compactions between; the view equals the model of what is loaded, at any moment.

    No statement of a compaction changes anything that it shows: neither deleted rows nor their marks.
    """
    table, known, listed = empty_log(**dedup), [], []
    by_version = dedup.get("order_by") == "version"
    shows_deleted = dedup.get("delete") == "soft"
    for merge in history:
        table.load(merge)
        known += [message for run in merge for message in run]
        counted = behind_tombstones(known) if by_version and table.settings.dedup.clears else known
        model = wanted(latest(counted, by_version=by_version, field_deletes="=" in dedup.get("delete", "")))
        step = data.draw(st.sampled_from(["compact", "load on", "end early", "old list"]))
        before = table.shown()
        assert keyed([row for row in before if not row.get("_deleted")]) == model
        ids = [row["id"] for row in before if row["id"] is not None]
        assert len(ids) == len(set(ids)), "each key is shown once"
        if shows_deleted and not by_version:
            assert set(ids) == {message.id for message in known if message.id is not None}, "deleted rows are shown"
        if step == "load on":
            continue
        listed = listed if step == "old list" and listed else table.listed()
        if not listed:
            continue
        # A crash ends a compaction anywhere; what is done then is done by the next one, which begins anew.
        last = data.draw(st.integers(0, 6)) if step == "end early" else 6
        for number, run in enumerate(table.statements(listed)):
            if number > last:
                break
            run()
            assert table.shown() == before, f"after statement {number}"
    if left := table.listed():
        before = table.shown()
        for run in table.statements(left):
            run()
        assert table.shown() == before
    assert table.listed() == []
    assert table.shown() == sorted(table.rows(), key=place), "an empty log shows the table"
    return table


def keyed(rows: Sequence[dict[str, object]]) -> list[tuple[object, ...]]:
    return texts([row for row in rows if row["id"] is not None])


def place(row: dict[str, object]) -> tuple[object, ...]:
    return tuple((row[n] is None, row[n]) for n in ("id", "_kafka_partition", "_kafka_offset"))


@pytest.mark.quick
@settings(max_examples=10, **SLOW)
@given(histories(), st.data())
def test_the_view_shows_the_latest_record_whatever_a_compaction_does(history, data):
    check(history, data)


def test_a_tombstone_without_an_order_takes_a_remembered_delete_away_from_the_view():
    table = empty_log(order_by="version", delete="gone=true")
    table.load([[Message(0, 0, 1, 0, version=3, gone=True)]])
    for run in table.statements(table.listed()):
        run()
    table.load([[Message(0, 1, 1, 1, text=None), Message(0, 2, 1, 2, version=1, text="anew")]])
    assert keyed(table.shown()) == [(1, "anew")]
    for number, run in enumerate(table.statements(table.listed())):
        run()
        assert keyed(table.shown()) == [(1, "anew")], f"after statement {number}"


@pytest.mark.thorough
@settings(max_examples=cases(15, drawn=200), **SLOW)
@given(histories(), st.data())
def test_the_view_shows_the_latest_record_in_many_histories(history, data):
    check(history, data)


@pytest.mark.thorough
@settings(max_examples=cases(15, drawn=200), **SLOW)
@given(histories(), st.data())
def test_soft_deletes_are_marked_by_the_view_as_by_the_table(history, data):
    check(history, data, delete="soft")


@pytest.mark.thorough
@settings(max_examples=cases(15, drawn=200), **SLOW)
@given(histories(), st.data())
def test_a_field_may_mark_deletes(history, data):
    check(history, data, delete="gone=true")


@pytest.mark.thorough
@pytest.mark.parametrize("delete", ["tombstone", "soft", "gone=true"])
@settings(max_examples=cases(8, drawn=150), **SLOW)
@given(history=histories(own_keys=True), data=st.data())
def test_tombstones_without_an_order_follow_their_log(history, data, delete):
    check(history, data, order_by="version", delete=delete)


@pytest.mark.thorough
@settings(max_examples=cases(15, drawn=200), **SLOW)
@given(histories(), st.data())
def test_records_without_a_key_are_rows_of_their_own_once_each(history, data):
    table = check(history, data, null_key="append")
    messages = [message for merge in history for run in merge for message in run]
    keyless = {(m.partition, m.offset, m.text) for m in messages if m.id is None and m.text is not None}
    found = [(r["_kafka_partition"], r["_kafka_offset"], r["text"]) for r in table.shown() if r["id"] is None]
    assert sorted(found) == sorted(keyless)


@pytest.mark.parametrize("last", ["new", "old", None])
@pytest.mark.parametrize("way", [{}, {"delete": "soft"}, {"order_by": "version"}], ids=["time", "soft", "version"])
def test_rows_that_late_records_got_before_the_log_are_shown(way, last):
    there = SqlLog(config(mode="compact", **way))
    there.columns = (*there.columns, ColumnSchema(LATE, ColumnType.BOOLEAN))
    there.admission = replace(there.admission, table=there.columns)
    view = LogView(there.merge_of(("log",)), has_appends=False)
    there.database.execute(f"""
        ALTER TABLE target ADD COLUMN {LATE} BOOLEAN; ALTER TABLE log ADD COLUMN {LATE} BOOLEAN; DEALLOCATE look;
        CREATE OR REPLACE VIEW shown AS {view.text()}; PREPARE look AS SELECT * FROM shown ORDER BY id, text;
    """)
    there.merge([[Message(0, 1, 1, 5, version=5, text="late")]])
    there.database.execute(f"UPDATE target SET {LATE} = TRUE")
    there.load([[Message(0, 1, 1, 5, version=5, text="late")]])  # it is read again
    there.load([[Message(0, 2, 1, 3 if last == "old" else 9, version=3 if last == "old" else 9, text=last)]])

    def alive() -> list[tuple[Any, ...]]:
        return sorted(texts([row for row in there.shown() if not row.get("_deleted")]))

    before = alive()
    for run in there.statements(there.listed()):
        run()
        assert alive() == before
    assert sorted(texts([row for row in there.rows() if not row.get("_deleted")])) == before
    assert before.count((1, "late")) == 1
    assert before == ([(1, "late"), (1, "new")] if last == "new" else [(1, "late")])
