"""Breaks off a first read of MariaDB: where it goes on, and which changes of the log it has seen."""

from __future__ import annotations

import re
import struct
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from jdbc_answers import Answers
from jdbc_known_tables import Known
from sqlalchemy.dialects import mysql as m

from connectors.jdbc.connection.pages import Page
from connectors.jdbc.database.query import table_source
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.log.binlog.packets import Event
from connectors.jdbc.log.binlog.position import BinlogPosition, SnapshotEnd
from connectors.jdbc.log.binlog.values import LoggedColumn
from connectors.jdbc.log.mysql.binlog_events import BinlogEvents
from connectors.jdbc.log.mysql.binlog_records import BinlogRecords
from connectors.jdbc.log.mysql.flavour import MARIADB
from connectors.jdbc.log.mysql.row_order import OrderColumn, RowOrder, texts
from connectors.jdbc.log.mysql.segments import SegmentFilter
from connectors.jdbc.log.mysql.snapshot import fence_of, snapshot_pages
from connectors.jdbc.log.mysql.tables import BinlogTable, binlog_source
from connectors.jdbc.log.shared.envelope import EventFormat
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.temporal import NO_DATE_DAYS, NO_TIMESTAMP_US
from connectors.jdbc.values.types import Raw, TypeRules, plan_column

CONFIG = JdbcSourceConfig.parse(
    {"connection.url": "jdbc:mariadb://h/db", "mode": "log", "topic.prefix": "p", "table.whitelist": "a"}
)
NAME = TableName("db", "a")
ID, TEXT = (
    OrderColumn("id", "int", Raw.INTEGER),
    OrderColumn("t", "varchar", Raw.TEXT, "utf8mb4", "utf8mb4_bin"),
)
FLOAT = OrderColumn("f", "double", Raw.FLOAT)
EARLY, LATE = SnapshotEnd("f", 200, {"0": "0-1-2"}), SnapshotEnd("f", 400, {"0": "0-1-4"})


def _table(order: RowOrder, key: tuple[str, ...] = ("id",)) -> BinlogTable:
    plans = [plan_column("id", m.INTEGER(), False, TypeRules(dialect_named("mariadb").types))]
    form = RowFormat(NAME.full, "v", plans, TimeRules(zone("UTC"), "micros_long"))
    events = EventFormat("p.db.a", form.schema, key, binlog_source("mariadb"))
    return BinlogTable(NAME, form, events, (LoggedColumn("id"),), order=order)


KEYED = _table(RowOrder.of([ID], ["id"]))


def _event(kind: int, body: bytes, end: int) -> Event:
    return Event.of(struct.pack("<IBIIIH", 5, kind, 1, 19 + len(body), end, 0) + body)


def _transaction(number: int, changes: list[tuple[int | None, int | None]]) -> list[Event]:
    """A change is the id before it, and the id behind it."""
    end = number * 100
    events = [_event(162, struct.pack("<QIB", number, 0, 0) + bytes(6), end - 50)]
    table = struct.pack("<IHH", 1, 0, 0)
    for before, after in changes:
        events.append(_event(19, table + b"\2db\0\1a\0\x01\x03\x00\x00", end - 40))
        images = b"".join(b"\0" + struct.pack("<i", image) for image in (before, after) if image is not None)
        kind, masks = (23, 1) if before is None else (25, 1) if after is None else (24, 2)
        events.append(_event(kind, table + b"\x01" + b"\x01" * masks + images, end - 30))
    return [*events, _event(16, bytes(8), end)]


def _told(position: BinlogPosition, table: BinlogTable, *transactions: list[Event]) -> list[tuple[object, ...]]:
    events = BinlogEvents(
        BinlogRecords(CONFIG), MARIADB, position, tables={NAME: table}, plan=lambda _: table, chosen=lambda _: True,
        history=Known(), shown=SegmentFilter(Answers()).shown,  # type: ignore[arg-type]  # numbers need no answer of it
    )  # fmt: skip
    for event in (event for transaction in transactions for event in transaction):
        events.take(event)
    values = [value for batch in events.batches(100) for value in batch.values.rows() if value is not None]
    return [(v["op"], *((v[part] or {}).get("id") for part in ("before", "after"))) for v in values]


def test_a_change_is_shown_where_its_rows_segment_was_read_before_it():
    """Ids to 5 were read first, those to 9 behind transaction 2, all others behind transaction 4."""
    fence = Fence(("id int",), (Segment(None, ("5",)), Segment(EARLY, ("9",)), Segment(LATE)))
    changes: list[tuple[int | None, int | None]] = [
        (None, 5), (None, 6), (None, 10), (4, 4), (7, 7), (11, 11), (3, None), (8, None), (12, None),
        (2, 7), (7, 2), (6, 13), (13, 1),
    ]  # fmt: skip
    position = BinlogPosition("f", 4, fences={NAME.full: fence})
    assert _told(position, KEYED, _transaction(1, changes)) == [
        ("c", None, 5), ("u", 4, 4), ("d", 3, None), ("d", 2, None), ("c", None, 2), ("c", None, 1),
    ]  # fmt: skip
    # A change of a key is told as a delete and an insert.
    assert _told(position, KEYED, _transaction(3, changes)) == [
        ("c", None, 5), ("c", None, 6), ("u", 4, 4), ("u", 7, 7), ("d", 3, None), ("d", 8, None),
        ("d", 2, None), ("c", None, 7), ("d", 7, None), ("c", None, 2), ("d", 6, None), ("c", None, 1),
    ]  # fmt: skip
    assert len(_told(position, KEYED, _transaction(5, changes))) == len(changes) + 4


def test_changes_of_a_table_that_has_another_order_by_now_are_told_unless_every_snapshot_has_them():
    """The key was of another type when the first segment was read, so that nothing tells whose rows the log changes."""
    changes = [[(None, 1)], [(2, 2)], [(3, None)]]
    log = [_transaction(number, change) for number, change in zip((1, 3, 5), changes, strict=True)]
    told = [("c", None, 1), ("u", 2, 2), ("d", 3, None)]
    for by in (("id smallint",), ("other int",)):
        for fence, at in (
            ((Segment(None, ("5",)), Segment(LATE)), 0),
            ((Segment(EARLY, ("5",)), Segment(LATE)), 1),
            ((Segment(LATE, ("5",)), Segment(EARLY)), 1),
        ):
            position = BinlogPosition("f", 4, fences={NAME.full: Fence(by, fence)})
            assert _told(position, KEYED, *log) == told[at:], (by, fence)


def test_a_read_that_is_broken_off_goes_on_behind_its_last_key_in_a_segment_of_its_own():
    begun = BinlogPosition("f", 4, snapshot_done=(), snapshot_table=NAME.full, snapshot_key=("5",))
    begun_fence = Fence(("id int",), (Segment(),))
    here = BinlogPosition(**{**_members(begun), "fences": {NAME.full: begun_fence}})
    assert fence_of(here, KEYED, LATE).segments == (Segment(None, ("5",)), Segment(LATE))
    other = BinlogPosition(**{**_members(begun), "snapshot_table": "db.z"})
    assert fence_of(other, KEYED, LATE).segments == (Segment(LATE),), "nothing of it was read"
    older = BinlogPosition(**{**_members(begun), "snapshot_key": ()})
    assert fence_of(older, KEYED, LATE).segments == (Segment(),), "rows that were read may be gone since"


def _members(position: BinlogPosition) -> dict[str, object]:
    return {name: getattr(position, name) for name in BinlogPosition.__slots__}


def test_the_server_says_where_text_is_in_its_order():
    asked: list[str] = []

    def answer(sql: str) -> list[list[int]]:
        asked.append(sql)
        words = [bytes.fromhex(found).decode() for found in re.findall(r"x'(\w+)'", sql)]
        return [[(a > b) - (a < b) for a, b in zip(words[::2], words[1::2], strict=True)]]

    found = SegmentFilter(Answers(answer)).bounds_before(  # type: ignore[arg-type]  # it answers as a database does
        RowOrder((ID, TEXT)), [("1", "z"), ("2", "a"), ("2", "b"), ("2", "c"), ("10", "a")], [("2", "b"), ("9", "b")]
    )
    assert list(found.values()) == [0, 0, 0, 1, 2]
    assert "COLLATE utf8mb4_bin" in asked[0]


@pytest.mark.parametrize(
    ("columns", "key", "by"),
    [
        ([ID, TEXT], ["t"], ("t varchar utf8mb4_bin",)),
        ([OrderColumn("u", "uuid", Raw.TEXT), ID], ["u"], ("sha256", "u uuid")),
        ([FLOAT, ID], ["f"], ("sha256", "id int")),
        ([FLOAT, TEXT, ID], [], ("sha256", "t varchar utf8mb4_bin", "id int")),
        ([FLOAT], ["f"], ()),
    ],
)
def test_rows_come_by_key_by_a_digest_or_in_no_order(columns, key, by):
    assert RowOrder.of(columns, key).by == by


def test_a_value_has_one_text_however_it_came():
    at = datetime(2024, 1, 2, 3, 4, 5, 600)  # noqa: DTZ001 - a column without a zone
    arrays = [pa.array([at]), pa.array([at.date()]), pa.array([b"\x0f"]), pa.array([Decimal("1.50")]), pa.array([7])]
    lists = [[at], [at.date()], [b"\x0f"], [Decimal("1.50")], [7]]
    wanted = [["2024-01-02 03:04:05.000600"], ["2024-01-02"], ["0f"], ["1.50"], ["7"]]
    assert [texts(array) for array in arrays] == [texts(values) for values in lists] == wanted
    assert texts(pa.array([NO_TIMESTAMP_US, None]).cast(pa.timestamp("us"))) == ["0000-00-00 00:00:00.000000", None]
    assert texts(pa.array([NO_DATE_DAYS], pa.int32()).cast(pa.date32())) == ["0000-00-00"]


class Rows:
    """A database that gives prepared pages of ids, each with a digest."""

    def __init__(self, *pages: list[tuple[int, str]]) -> None:
        self._pages = [*pages, []]
        self._form = KEYED.format

    def pages(self, *_: object) -> Rows:
        return self

    def next(self) -> Page:
        rows, following = self._pages.pop(0), self._pages[0][0] if self._pages and self._pages[0] else None
        values = self._form.build([[number for number, _ in rows]]) if rows else self._form.build(())
        return Page(values, rows[-1] if rows else None, following, [[digest for _, digest in rows]])

    def close(self) -> None: ...


def test_pages_end_where_no_row_of_their_last_digest_is_left():
    bare = _table(RowOrder.of([ID], []), ())
    rows = Rows([(1, "a"), (2, "b"), (3, "b")], [(4, "b"), (5, "c")], [(6, "c"), (7, "c")], [(8, "c")], [(9, "d")])
    pages = snapshot_pages(rows, bare, table_source(NAME, bare.format.columns, quote=True), (), 3)  # type: ignore[arg-type]  # it gives pages as a database does
    found = [([row["id"] for row in page.values.to_pylist()], page.last_key) for page in pages]
    assert found == [([1], ("a",)), ([2, 3, 4], ("b",)), ([5, 6, 7], ("b",)), ([8], ("c",)), ([9], ("d",))]
