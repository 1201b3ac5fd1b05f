"""Checks dedup.window: what is searched, what is late, and what becomes of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from bigquery_oracle import EPOCH, Message, batch_of
from bigquery_sql import SqlTable, config, texts

from connectors.bigquery.dedup.merge_sql import Bound
from connectors.bigquery.dedup.window import Late, Window, parse_window
from connectors.bigquery.rows.quoting import backticks
from connectors.bigquery.rows.table_schema import ColumnType

DAY_S = 86_400


def table(**dedup: str) -> SqlTable:
    return SqlTable(config(**{"window": "3d", **dedup}))


def test_a_window_is_a_time():
    assert [parse_window(text) for text in ("none", "3d", "12h", "90m", "30s", "500ms")] == [
        None, 3 * 86_400_000, 12 * 3_600_000, 90 * 60_000, 30_000, 500
    ]  # fmt: skip
    for text in ("", "3", "3 days", "-1d", "0d", "1.5h"):
        with pytest.raises(ValueError, match="3d"):
            parse_window(text)


def test_the_bound_is_a_constant_of_the_columns_type():
    oldest_us = 1_767_225_600_000_000  # 2026-01-01
    texts_by_type = {
        kind: Window("at", kind, 3 * 86_400_000, Late.MERGE).bound(oldest_us)
        for kind in (ColumnType.TIMESTAMP, ColumnType.DATETIME, ColumnType.DATE)
    }
    assert texts_by_type == {
        ColumnType.TIMESTAMP: "TIMESTAMP '2025-12-29 00:00:00.000000+00:00'",
        ColumnType.DATETIME: "DATETIME '2025-12-29 00:00:00.000000'",
        ColumnType.DATE: "DATE '2025-12-29'",
    }


def test_the_merge_searches_from_the_bound_on():
    merge = table().merge_of(("staged",))
    text = merge.__class__(
        target="`t`", staged=("`s`",), columns=merge.columns, keys=("id",), order=merge.order, present=merge.present,
        bound=Bound("at", "TIMESTAMP '2025-12-29 00:00:00+00:00'"), quote=backticks,
    ).text()  # fmt: skip
    condition = "ON S.`id` = T.`id` AND (T.`at` >= TIMESTAMP '2025-12-29 00:00:00+00:00' OR T.`at` IS NULL)"
    assert condition in text


def test_a_row_inside_the_window_is_found_and_one_behind_it_is_not():
    there = table()
    there.merge([[Message(0, 0, 1, 0), Message(0, 1, 2, 5 * DAY_S)]])
    there.newest_us = None  # as after a restart
    there.merge([[Message(0, 2, 1, 6 * DAY_S, text="new"), Message(0, 3, 2, 6 * DAY_S, text="new")]])
    assert texts(there.rows()) == [(1, "x"), (1, "new"), (2, "new")]


@pytest.mark.parametrize(
    ("late", "rows", "bad"),
    [
        ("merge", [(1, "old"), (9, "x")], set()),
        ("drop", [(1, "x"), (9, "x")], set()),
        ("dlq", [(1, "x"), (9, "x")], {1}),
        ("append", [(1, "x"), (1, "old"), (9, "x")], set()),
    ],
)
def test_a_late_record_goes_the_way_that_is_set(late, rows, bad):
    there = table(late=late, order_by="version")
    there.merge([[Message(0, 0, 1, 0)]])
    run = [Message(0, 1, 9, 9 * DAY_S), Message(0, 2, 1, 0, version=1, text="old")]
    refused = there.admission.admit(batch_of(run), there.newest_us).bad
    for _ in range(2):  # a replay adds nothing
        there.merge([run])
    assert sorted(texts(there.rows()), key=str) == sorted(rows, key=str)
    assert set(refused) == bad
    assert there.late == 1


@pytest.mark.parametrize("last", ["new", None])
@pytest.mark.parametrize("others", [{}, {"order_by": "version"}, {"delete": "soft"}], ids=["time", "version", "soft"])
def test_a_row_that_a_late_record_has_as_its_own_stays(others, last):
    """A record of another key that is in time has partitions searched in which that row is."""
    there, half_s = table(window="1d", late="append", **others), DAY_S // 2
    there.merge([[Message(0, 0, 9, 10 * DAY_S)]])
    late = Message(0, 1, 1, 8 * DAY_S + half_s, text="late")
    for run in ([Message(0, 2, 1, 10 * DAY_S, text="one")], [Message(0, 1, 1, 8 * DAY_S + half_s, text="late")]):
        there.merge([run])
    there.merge([[Message(0, 3, 8, 9 * DAY_S + 9000), Message(0, 4, 1, 10 * DAY_S + 9, version=1, text=last)]])
    there.merge([[late]])  # it is read again
    alive = [row for row in there.rows() if not row.get("_deleted")]
    wanted_rows = [(1, "late"), (8, "x"), (9, "x")] + ([(1, "new")] if last else [])
    assert sorted(texts(alive)) == sorted(wanted_rows)


@pytest.mark.parametrize("others", [{}, {"keep": "first"}, {"delete": "soft"}], ids=["latest", "first", "soft"])
def test_a_late_record_that_a_new_owner_reads_again_finds_its_own_row(others):
    """The new owner has seen no newer record yet, so that the record is not late any more."""
    there, late = table(window="1d", late="append", **others), Message(0, 1, 1, 8 * DAY_S, text="late")
    there.merge([[Message(0, 0, 9, 10 * DAY_S)]])
    there.merge([[late]])
    assert there.late == 1
    there.newest_us = None  # as after a crash before the commit
    there.merge([[late]])
    assert there.late == 0
    assert texts(there.rows()) == [(1, "late"), (9, "x")]


def test_a_late_delete_has_no_row_of_its_own():
    there = table(window="1d", late="append")
    there.merge([[Message(0, 0, 1, 8 * DAY_S)]])
    there.merge([[Message(0, 1, 9, 10 * DAY_S)]])
    for _ in range(2):  # it is read again
        there.merge([[Message(0, 2, 1, 8 * DAY_S + 1, text=None), Message(0, 3, 2, 8 * DAY_S, text=None)]])
        assert there.late == 2
        assert texts(there.rows()) == [(9, "x")]


def test_a_delete_is_as_old_as_its_record():
    there = table(late="drop")
    there.merge([[Message(0, 0, 1, 0)]])
    there.merge([[Message(0, 1, 9, 9 * DAY_S)]])
    there.merge([[Message(0, 2, 1, 0, text=None), Message(0, 3, 9, 9 * DAY_S + 1, text=None)]])
    assert texts(there.rows()) == [(1, "x")]


def test_a_record_of_a_wrong_clock_makes_no_other_one_late():
    century_s = 100 * 365 * DAY_S
    there = table(late="drop")
    there.merge([[Message(0, 0, 1, century_s)]])
    now_s = int((datetime.now(UTC) - EPOCH).total_seconds())
    there.merge([[Message(0, 1, 2, now_s - DAY_S), Message(0, 2, 3, now_s - 9 * DAY_S)]])
    assert there.late == 1
    assert texts(there.rows()) == [(1, "x"), (2, "x")]
