"""The numbers of a binary log's delivered rows hold for these rows alone, whatever else the log has after a restart."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from jdbc_binlog_log import CONFIG, TABLES, told_by, transaction_of
from jdbc_known_tables import Known

from connectors.jdbc.log.binlog.packets import Event
from connectors.jdbc.log.binlog.position import BinlogPosition, read_binlog_offset
from connectors.jdbc.log.mysql.binlog_events import BinlogEvents
from connectors.jdbc.log.mysql.binlog_records import BinlogRecords
from connectors.jdbc.log.mysql.flavour import MARIADB
from connectors.jdbc.settings.table_choice import TableName

BEGIN = BinlogPosition("f", 4, {"0": "0-1-0"})
A, B = TableName("db", "a"), TableName("db", "b")
Told = dict[str, list[tuple[str, int]]]


def _read(
    events: Iterable[Event], position: BinlogPosition, tables: Sequence[TableName], cut: int, batches: int | None = None
) -> tuple[Told, Mapping[str, Any]]:
    """Return what is told of these tables, and the offset that is stored then.

    The log is read in chunks of `cut` events; the reader ends behind `batches` batches.
    """
    chosen = {name: TABLES[name] for name in tables}
    reading = BinlogEvents(
        BinlogRecords(CONFIG),
        MARIADB,
        position,
        tables=chosen,
        plan=chosen.__getitem__,
        history=Known(),
        chosen=chosen.__contains__,
    )
    told: Told = defaultdict(list)
    offset: Mapping[str, Any] = position.offset()
    left, all_events = batches, list(events)
    for number, event in enumerate(all_events, 1):
        reading.take(event)
        if number % cut and number < len(all_events):
            continue
        for batch in reading.batches(2):
            if left == 0:
                return told, offset
            left = None if left is None else left - 1
            told[batch.topic] += told_by(batch)
            assert batch.position is not None
            assert batch.position.offset is not None
            offset = json.loads(json.dumps(batch.position.offset))
    return told, offset


LOG = [
    event
    for number in (1, 2, 3)
    for event in transaction_of(
        number,
        [
            ("a", "u", [number * 10 + row for row in (1, 2, 3)]),
            ("b", "u", [number * 10, number * 10 + 1]),
            ("a", "u", [number * 10 + 4]),
            ("b", "u", [number * 10 + 5]),
        ],
        "xid",
    )
]
ROWS_OF_B = [("u", number * 10 + row) for number in (1, 2, 3) for row in (0, 1, 5)]


def _behind(events: Sequence[Event], offset: Mapping[str, Any]) -> Sequence[Event]:
    """Return the events behind a place, as the server sends them."""
    of_server = dict(read_binlog_offset(offset).gtids)
    done = int(of_server["0"].rpartition("-")[2])
    return events[done * len(events) // 3 :]


@pytest.mark.parametrize("cut", [3, 5, 7, 11, 20])
def test_a_table_that_is_left_out_after_a_restart_makes_no_row_of_others_count_as_delivered(cut: int):
    for batches in range(14):
        told, offset = _read(LOG, BEGIN, [A, B], cut, batches)
        more, _ = _read(_behind(LOG, offset), read_binlog_offset(offset), [B], cut)
        assert told["p.db.b"] + more["p.db.b"] == ROWS_OF_B, (batches, offset)


@pytest.mark.parametrize("cut", [3, 5, 7, 11, 20])
def test_a_table_that_comes_after_a_restart_makes_no_row_of_others_come_again(cut: int):
    for batches in range(10):
        told, offset = _read(LOG, BEGIN, [B], cut, batches)
        more, _ = _read(_behind(LOG, offset), read_binlog_offset(offset), [A, B], cut)
        assert told["p.db.b"] + more["p.db.b"] == ROWS_OF_B, (batches, offset)


@pytest.mark.parametrize("cut", [3, 5, 7, 11, 40])
def test_no_transaction_of_another_server_counts_as_delivered_for_its_number(cut: int):
    """The server that was read is lost with its last transactions, and its successor makes others."""
    others = [*LOG[: len(LOG) // 3]]
    for number in (2, 3):
        others += transaction_of(number, [("b", "u", [number]), ("a", "u", [number])], "xid", server=2)
    for batches in range(14):
        _, offset = _read(LOG, BEGIN, [A, B], cut, batches)
        position = read_binlog_offset(offset)
        done = int(position.gtids["0"].rpartition("-")[2])
        if done > 1:
            # The successor has no such place, and the server refuses to begin there.
            continue
        more, _ = _read(others[done * len(LOG) // 3 :], position, [A, B], cut)
        assert [row for row in more["p.db.a"] if row[1] < 10] == [("u", 2), ("u", 3)], (batches, offset)
        assert [row for row in more["p.db.b"] if row[1] < 10] == [("u", 2), ("u", 3)], (batches, offset)


def test_rows_that_an_older_release_numbered_together_are_told_once():
    stored = {
        **BEGIN.offset(), "reached": "[1, 4]", "ahead": json.dumps({"db.a": [2, 6], "db.b": [1, 7]}),
    }  # fmt: skip
    for cut in (3, 5, 7, 11, 20, 40):
        told, _ = _read(LOG, read_binlog_offset(stored), [A, B], cut)
        assert told["p.db.a"] == [("u", row) for row in (31, 32, 33, 34)]
        assert told["p.db.b"] == ROWS_OF_B[3:]


def test_rows_of_an_older_release_and_a_crash_behind_them_give_each_row_once():
    stored = {**BEGIN.offset(), "reached": "[1, 2]", "ahead": json.dumps({"db.a": [2, 2]})}
    rows_of_a = [("u", row) for row in (23, 24, 31, 32, 33, 34)]
    for cut in (3, 5, 7, 11, 20):
        for batches in range(14):
            told, offset = _read(LOG, read_binlog_offset(stored), [A, B], cut, batches)
            more, _ = _read(_behind(LOG, offset), read_binlog_offset(offset), [A, B], cut)
            assert told["p.db.b"] + more["p.db.b"] == ROWS_OF_B, (cut, batches, offset)
            assert told["p.db.a"] + more["p.db.a"] == rows_of_a
