"""Chunks of a binary log, cut anywhere and read again after crashes, give every change once and in order."""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import replace
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jdbc_binlog_log import CONFIG, NAMES, TABLES, event_of, query_of, told_by, transaction_of
from jdbc_known_tables import Known

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column
from connectors.jdbc.log.binlog.gtid_set import GtidSet
from connectors.jdbc.log.binlog.packets import Event
from connectors.jdbc.log.binlog.position import BinlogPosition, SnapshotEnd, read_binlog_offset
from connectors.jdbc.log.binlog.statements import tell
from connectors.jdbc.log.ddl.logged_statements import StatementPlace
from connectors.jdbc.log.mysql.binlog_events import BinlogEvents
from connectors.jdbc.log.mysql.binlog_records import SERVER, BinlogRecords
from connectors.jdbc.log.mysql.flavour import MARIADB, MYSQL
from connectors.jdbc.log.shared.column_change import ColumnChange
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import BadRow


@st.composite
def logs(draw):
    """Transactions of the log, and what each chosen table's events must be."""
    transactions, wanted, next_id = [], defaultdict(list), 1
    shapes = st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from("cud"), st.integers(1, 5)), min_size=1, max_size=4
    )
    for number, statements in enumerate(draw(st.lists(shapes, min_size=1, max_size=6)), 1):
        made = []
        for name, operation, count in statements:
            ids = list(range(next_id, next_id + count))
            next_id += count
            made.append((name, operation, ids))
            if name in NAMES[:2]:
                wanted[f"p.db.{name}"] += [(operation, i) for i in ids]
        transactions.append(transaction_of(number, made, draw(st.sampled_from(("xid", "commit", "xa")))))
    return transactions, wanted


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(logs(), st.data())
def test_every_change_comes_once_however_the_log_is_cut_and_whenever_the_reader_crashes(log, data):
    transactions, wanted = log
    got = defaultdict(list)
    position, limit = BinlogPosition("f", 4), data.draw(st.integers(1, 7))
    for crashes_after in [*data.draw(st.lists(st.integers(0, 4), max_size=4)), 10_000]:
        events = BinlogEvents(
            BinlogRecords(CONFIG),
            MARIADB,
            position,
            tables=TABLES,
            plan=TABLES.__getitem__,
            history=Known(),
            chosen=lambda name: name in TABLES,
        )
        done = int(position.gtids.get("0", "0-1-0").rsplit("-", 1)[1])
        delivered = 0
        for event in (e for transaction in transactions[done:] for e in transaction):
            events.take(event)
            if not data.draw(st.booleans()):
                continue
            for batch in events.batches(limit):
                if delivered == crashes_after:
                    break
                delivered += 1
                got[batch.topic] += told_by(batch)
                assert len(told_by(batch)) <= limit
                position = read_binlog_offset(batch.position.offset)
            if delivered == crashes_after:
                break
    for batch in events.batches(limit):
        got[batch.topic] += told_by(batch)
    assert got == wanted


class Teller:
    """Tells each CREATE TABLE by where the log has it."""

    def of_snapshot(self, here: BinlogPosition) -> None: ...

    def of_statement(self, event: Event, place: StatementPlace) -> Batch | None:
        assert place.file == "f"
        if b"CREATE" not in event.body:
            return None
        return Batch("told", Column.from_rows([f"{place.gtid} {event.body[-30:].decode()}"], s.STRING))


@pytest.mark.parametrize("cut", range(1, 12))
def test_each_statement_is_told_once_wherever_the_log_is_cut_and_the_reader_crashes(cut):
    transactions = [
        transaction_of(1, [("a", "c", [1, 2]), ("b", "c", [3]), ("a", "u", [1])], "xid"),
        [*transaction_of(2, [], "xid")[:1], query_of("CREATE TABLE a (id INT)", 250)],
        transaction_of(3, [("a", "d", [1]), ("b", "c", [4])], "commit"),
    ]
    wanted = ["0-1-1"] * 2 + ["0-1-2", "0-1-3"]
    for crashes_after in range(12):
        got, position, delivered = [], BinlogPosition("f", 4), 0
        for stops in (crashes_after, 10_000):
            events = BinlogEvents(
                BinlogRecords(CONFIG), MARIADB, position, tables=TABLES, plan=TABLES.__getitem__, history=Known(),
                chosen=TABLES.__contains__, statements=Teller(),
            )  # fmt: skip
            done = int(position.gtids.get("0", "0-1-0").rsplit("-", 1)[1])
            flat = [event for transaction in transactions[done:] for event in transaction]
            for number, event in enumerate(flat, 1):
                events.take(event)
                if number % cut and number < len(flat):
                    continue
                for batch in events.batches(9):
                    if delivered == stops:
                        break
                    delivered += 1
                    got += [value.split(" ")[0] for value in batch.values.rows()] if batch.topic == "told" else []
                    position = read_binlog_offset(batch.position.offset)
                if delivered == stops:
                    break
        assert got == wanted, crashes_after


def test_what_the_first_read_of_a_table_holds_does_not_come_again_and_other_tables_are_not_asked():
    fenced = BinlogPosition("f", 4, fences={"db.a": Fence((), (Segment(SnapshotEnd("f", 900, {"0": "0-1-5"})),))})
    events = BinlogEvents(
        BinlogRecords(CONFIG),
        MARIADB,
        fenced,
        tables=TABLES,
        plan=TABLES.__getitem__,
        history=Known(),
        chosen=TABLES.__contains__,
    )
    for number in (5, 6):
        for event in transaction_of(number, [("a", "u", [number]), ("b", "u", [number])], "xid"):
            events.take(event)
    got = defaultdict(list)
    for batch in events.batches(9):
        got[batch.topic] += told_by(batch)
    assert got == {"p.db.a": [("u", 6)], "p.db.b": [("u", 5), ("u", 6)]}


def test_a_reader_knows_how_far_it_has_read_in_which_file():
    events = BinlogEvents(
        BinlogRecords(CONFIG),
        MARIADB,
        BinlogPosition("f.000007", 4),
        tables=TABLES,
        plan=TABLES.__getitem__,
        history=Known(),
        chosen=lambda _: True,
    )
    assert events.read_to == ("f.000007", 4)
    for event in transaction_of(5, [("a", "u", [1])], "xid"):
        events.take(event)
    assert events.read_to == events.changed_to == ("f.000007", 550)
    events.take(event_of(4, struct.pack("<Q", 4) + b"f.000008", 600))
    assert events.read_to == ("f.000008", 4)
    assert events.changed_to == ("f.000007", 550), "a new file is no change"
    events.take(event_of(27, b"f.000008", 0))
    assert events.read_to == ("f.000008", 4), "an event without an end says nothing"


def test_a_change_that_is_logged_as_a_statement_is_told_and_ends_no_transaction(caplog):
    events = BinlogEvents(
        BinlogRecords(CONFIG),
        MARIADB,
        BinlogPosition("f", 4),
        tables=TABLES,
        plan=TABLES.__getitem__,
        history=Known(),
        chosen=TABLES.__contains__,
    )
    first, *rest = transaction_of(7, [("a", "u", [1])], "xid")
    for event in (first, query_of("update a set id = 2", 701)):
        events.take(event)
    assert list(events.batches(9)) == []
    assert events.position == BinlogPosition("f", 4)
    assert "UPDATE in database db was logged as a statement" in caplog.text
    for event in rest:
        events.take(event)
    assert [told_by(batch) for batch in events.batches(9)] == [[("u", 1)]]
    assert events.position.gtids == {"0": "0-1-7"}


@pytest.mark.parametrize(
    ("statement", "is_told"),
    [
        ("rename table `db`.`a` to `db`.`z`", True),
        ("ALTER TABLE a RENAME TO z", True),
        ("ALTER TABLE a ADD COLUMN c INT, RENAME z", True),
        ("ALTER TABLE a RENAME COLUMN c TO d", False),
        ("ALTER TABLE other RENAME TO another", False),
        ("DROP TABLE a", False),
    ],
)
def test_a_table_that_is_renamed_is_told(statement, is_told, caplog):
    named = {TableName("db", "a"): TABLES[TableName("db", "a")]}
    events = BinlogEvents(
        BinlogRecords(CONFIG),
        MARIADB,
        BinlogPosition("f", 4),
        tables=named,
        plan=named.__getitem__,
        history=Known(),
        chosen=named.__contains__,
    )
    events.take(query_of(statement, 701))
    assert ("A table was renamed" in caplog.text) == is_told


@pytest.mark.parametrize(
    ("statement", "is_told"),
    [
        ("ALTER TABLE a EXCHANGE PARTITION p WITH TABLE z", True),
        ("alter table `db`.`a` drop partition p1, p2", True),
        ("ALTER TABLE a TRUNCATE PARTITION ALL", True),
        ("ALTER TABLE z CONVERT PARTITION p TO TABLE a", True),
        ("ALTER TABLE a ADD PARTITION (PARTITION p VALUES LESS THAN (5))", False),
        ("ALTER TABLE a DROP COLUMN partitioned", False),
        ("ALTER TABLE other DROP PARTITION p", False),
    ],
)
def test_partitions_whose_rows_go_or_come_without_events_are_told(statement, is_told, caplog):
    tell(statement, "db", [TableName("db", "a")])
    assert ("Partitions of a table were exchanged, dropped or emptied" in caplog.text) == is_told


def _mysql_transaction(number: int | None, first_id: int) -> list[Event]:
    begun = (
        event_of(34, bytes(42), 10)
        if number is None
        else event_of(33, b"\0" + UUID(int=1).bytes + struct.pack("<Q", number), 10)
    )
    return [begun, *transaction_of(1, [("a", "u", [first_id])], "xid")[1:]]


def test_mysqls_position_holds_the_set_of_what_was_executed_while_every_transaction_has_an_identifier():
    server = "00000000-0000-0000-0000-000000000001"
    begin = BinlogPosition("f", 4, {server: f"{server}:1-4"})
    events = BinlogEvents(
        BinlogRecords(CONFIG),
        MYSQL,
        begin,
        tables=TABLES,
        plan=TABLES.__getitem__,
        history=Known(),
        chosen=lambda _: True,
    )

    def position(*taken: Event) -> dict[str, object]:
        for event in taken:
            events.take(event)
        return dict([b.position.offset for b in events.batches(10)][-1])

    assert position(*_mysql_transaction(5, 1), *_mysql_transaction(8, 2))["gtids"] == f"{server}:1-5:8"
    assert position(*_mysql_transaction(6, 3))["gtids"] == f"{server}:1-6:8"
    # One without: to go on by the set would bring it again.
    assert "gtids" not in position(*_mysql_transaction(None, 4))
    assert "gtids" not in position(*_mysql_transaction(9, 5))
    # The next log file tells the set of all before it.
    previous = event_of(35, GtidSet({server: f"{server}:1-9"}).encoded(), 20)
    assert position(previous, *_mysql_transaction(10, 6))["gtids"] == f"{server}:1-10"


def test_a_row_that_no_record_can_hold_shows_no_more_than_events_do():
    table = TABLES[TableName("db", "a")]
    row = s.struct({"id": s.INT32, "mask": s.STRING}, name="p.db.a.Value")
    change = ColumnChange({}, lambda texts: pa.array(["***"] * len(texts)))
    table = replace(table, events=replace(table.events, row=row, changes={"mask": change}))
    bad = BadRow({"id": "7", "out": "canary", "mask": "canary"}, SchemaError("It does not fit."))
    found = BinlogRecords(CONFIG).bad_rows(table, [bad], BinlogPosition("f", 4))
    assert list(found.batch.values.rows()) == [{"id": "7", "mask": "***"}]
    assert str(found.reasons[0]) == "It does not fit. It is the row with id=7."


def test_a_place_without_gtids_names_the_server_whose_files_it_counts():
    records = BinlogRecords(CONFIG)
    assert SERVER not in records.position(BinlogPosition("f", 4)).offset
    records.read_from("one")
    assert records.position(BinlogPosition("f", 4)).offset[SERVER] == "one"
    assert SERVER not in records.position(BinlogPosition("f", 4, {"u": "u:1-5"})).offset


def test_a_place_of_another_server_names_that_one_until_a_change_is_behind_it():
    records, begin = BinlogRecords(CONFIG), BinlogPosition("f.7", 40)
    records.read_from("new", "old", begin)
    assert records.position(begin).offset[SERVER] == "old"
    # The connection broke, and the new server is found again.
    records.read_from("new")
    assert records.position(replace(begin, history=3)).offset[SERVER] == "old"
    assert records.position(replace(begin, pos=41)).offset[SERVER] == "new"


@pytest.mark.parametrize(("gtids", "end", "file"), [({}, 90, "f.2"), ({}, 0, "f.2"), ({"0": "0-1-1"}, 0, "f.1")])
def test_the_place_moves_into_the_next_file_although_nothing_is_committed(gtids, end, file):
    events = BinlogEvents(
        BinlogRecords(CONFIG),
        MARIADB,
        BinlogPosition("f.1", 77, gtids),
        tables=TABLES,
        plan=TABLES.__getitem__,
        history=Known(),
        chosen=lambda name: name in TABLES,
    )
    events.take(event_of(4, struct.pack("<Q", 4) + b"f.1", 0))
    assert events.position.pos == 77
    events.take(event_of(4, struct.pack("<Q", 4) + b"f.2", end))
    assert list(events.batches(10)) == []
    assert (events.position.file, events.position.pos) == (file, 4 if file == "f.2" else 77)
    for event in transaction_of(1, [("a", "c", [1])], "xid")[:-1]:
        events.take(event)
    events.take(event_of(4, struct.pack("<Q", 4) + b"f.3", end))
    # A transaction that is open is read again from its begin.
    assert [batch.position.offset["file"] for batch in events.batches(10)] == [file]
