"""Checks rows of MariaDB's tables WITH SYSTEM VERSIONING: the log has their history, and events tell the table as it
shows.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from jdbc_answers import Answers
from jdbc_binlog_log import CONFIG, TABLES, event_of, told_by, transaction_of
from jdbc_known_tables import Known

from connectors.jdbc.dialects.mysql.catalog import MySqlCatalog
from connectors.jdbc.log.binlog.metadata import ColumnMetadata
from connectors.jdbc.log.binlog.packets import Event, TableMap, table_map
from connectors.jdbc.log.binlog.position import BinlogPosition
from connectors.jdbc.log.ddl.columns import PastColumn
from connectors.jdbc.log.ddl.tables import PastTable
from connectors.jdbc.log.ddl.tokens import NotUnderstoodError
from connectors.jdbc.log.mysql.binlog_events import BinlogEvents
from connectors.jdbc.log.mysql.binlog_records import BinlogRecords
from connectors.jdbc.log.mysql.flavour import MARIADB
from connectors.jdbc.log.mysql.tables import plan_told
from connectors.jdbc.settings.table_choice import TableName

HERE, HERE_TO_2106 = (struct.pack(">I", seconds) + b"\x0f\x42\x3f" for seconds in (0x7FFFFFFF, 0xFFFFFFFF))
GONE, BEGUN = (struct.pack(">I", 1_700_000_000 + n) + b"\x00\x00\x07" for n in (1, 0))
INSERT, UPDATE, DELETE = 23, 24, 25


def _map(*, nullable: bytes = b"\0") -> Event:
    said = b"".join(bytes((len(text),)) + text.encode() + b"\0" for text in ("db", "a"))
    names = b"\x02id\x09row_start\x07row_end"
    options = bytes((4, len(names))) + names + b"\x08\x02\x00\x02"
    return event_of(19, struct.pack("<IHH", 1, 0, 0) + said + b"\x03\x03\x11\x11\x02\x06\x06" + nullable + options, 100)


def _rows(kind: int, *rows: tuple[int, bytes]) -> Event:
    images = b"".join(b"\0" + struct.pack("<i", id_) + BEGUN + end for id_, end in rows)
    masks = b"\x07" * (2 if kind == UPDATE else 1)
    return event_of(kind, struct.pack("<IHH", 1, 0, 0) + b"\x03" + masks + images, 100)


@pytest.mark.parametrize("here", [HERE, HERE_TO_2106])
def test_events_tell_what_a_versioned_table_shows_and_nothing_of_its_history(here: bytes):
    begin, *_, end = transaction_of(1, [], "xid")
    events = [
        _rows(INSERT, (1, here), (2, here)),
        _rows(UPDATE, (1, here), (1, here)),
        _rows(INSERT, (1, GONE)),
        _rows(UPDATE, (2, here), (2, GONE)),
        _rows(UPDATE, (3, GONE), (3, here)),
        _rows(UPDATE, (4, GONE), (4, GONE)),
        _rows(DELETE, (1, GONE), (2, GONE)),
        _rows(DELETE, (1, here)),
    ]
    reading = BinlogEvents(
        BinlogRecords(CONFIG),
        MARIADB,
        BinlogPosition("f", 4),
        tables=TABLES,
        plan=TABLES.__getitem__,
        plan_told=lambda now, mapped: replace(now, told_by=mapped),
        history=Known(),
        chosen=TABLES.__contains__,
    )
    for event in (begin, _map(), *events, end):
        reading.take(event)
    told = [one for batch in reading.batches(100) for one in told_by(batch)]
    assert told == [("c", 1), ("c", 2), ("u", 1), ("d", 2), ("c", 3), ("d", 1)]


def test_a_history_of_columns_knows_the_two_that_no_catalog_lists():
    known, mapped = PastTable((PastColumn("id", "int"),), ("id",)), table_map(_map())
    told = known.told(mapped, keeps_history=True)
    assert told == ColumnMetadata(("id", "row_start", "row_end"), key=(0,), kinds=("int", "timestamp", "timestamp"))
    shown = mapped.without_history()
    assert (shown.kinds, shown.told) == (b"\x03", ColumnMetadata(("id",), key=(0,)))
    other: TableMap = table_map(_map(nullable=b"\x04"))
    with pytest.raises(NotUnderstoodError, match="the log has 3 columns, and 1 are known"):
        known.told(other, keeps_history=True)
    with pytest.raises(NotUnderstoodError, match="the log has 3 columns, and 1 are known"):
        known.told(mapped, keeps_history=False)


@pytest.mark.parametrize("is_mariadb", [True, False])
def test_only_mariadb_keeps_a_history_and_the_log_says_where_it_is_left_out(
    is_mariadb: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    caplog.set_level("INFO")
    monkeypatch.setattr(Answers, "is_mariadb", is_mariadb)
    told = ColumnMetadata(("id", "row_start", "row_end"), key=(0,), kinds=("int", "timestamp", "timestamp"))
    database: Any = Answers()
    planned = plan_told(database, TABLES[TableName("db", "a")], replace(table_map(_map()), told=told), CONFIG)
    names = [column.name for column in planned.logged]
    assert names == (["id"] if is_mariadb else ["id", "row_start", "row_end"])
    assert planned.has_history == is_mariadb
    assert ("Table db.a: row_start and row_end" in caplog.text) == is_mariadb


@pytest.mark.parametrize(("kind", "is_table"), [("SYSTEM VERSIONED", True), ("BASE TABLE", True), ("VIEW", False)])
def test_a_versioned_table_is_a_table_where_a_list_lacks_it(kind: str, is_table: bool):
    answers = Answers([("a", kind)])
    assert MySqlCatalog().is_one_of(answers, TableName("db", "a"), {"TABLE"}) == is_table  # type: ignore[arg-type]
