"""Makes up events of a binary log's transactions, and the tables whose rows they change."""

from __future__ import annotations

import struct

from sqlalchemy.dialects import mysql as m

from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.log.binlog.packets import Event
from connectors.jdbc.log.binlog.values import LoggedColumn
from connectors.jdbc.log.mysql.tables import BinlogTable, binlog_source
from connectors.jdbc.log.shared.envelope import EventFormat
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.types import TypeRules, plan_column

CONFIG = JdbcSourceConfig.parse(
    {"connection.url": "jdbc:mariadb://h/db", "mode": "log", "topic.prefix": "p", "table.whitelist": "a,b"}
)
NAMES = ("a", "b", "unchosen")


def known_table(name: str) -> BinlogTable:
    plans = [plan_column("id", m.INTEGER(), False, TypeRules(dialect_named("mariadb").types))]
    form = RowFormat(f"db.{name}", f"p.db.{name}.Value", plans, TimeRules(zone("UTC"), "micros_long"))
    events = EventFormat(f"p.db.{name}", form.schema, ("id",), binlog_source("mariadb"))
    return BinlogTable(TableName("db", name), form, events, (LoggedColumn("id"),))


TABLES = {table.name: table for table in map(known_table, NAMES[:2])}


def event_of(kind: int, body: bytes, end: int, server: int = 1) -> Event:
    return Event.of(struct.pack("<IBIIIH", 5, kind, server, 19 + len(body), end, 0) + body)


def query_of(text: str, end: int) -> Event:
    return event_of(2, bytes(8) + struct.pack("<BHH", 2, 0, 0) + b"db\0" + text.encode(), end)


def transaction_of(
    number: int, statements: list[tuple[str, str, list[int]]], ends: str, server: int = 1
) -> list[Event]:
    """`statements`: table, operation, and the ids of an event's rows; a table is created before
    rows are inserted, as by CREATE TABLE … SELECT.

    `ends`: how the transaction does. `server` is the number of the server that made it.
    """
    events = [event_of(162, struct.pack("<QIB", number, 0, 0) + bytes(6), number * 100, server)]
    for name, operation, ids in statements:
        if operation == "c":
            events.append(query_of(f"CREATE TABLE `{name}` (id INT)", number * 100 + 1))
        table = struct.pack("<IHH", NAMES.index(name) + 1, 0, 0)
        said = b"".join(bytes((len(text),)) + text.encode() + b"\0" for text in ("db", name))
        events.append(event_of(19, table + said + b"\x01\x03\x00\x00", number * 100))
        kind = {"c": 23, "u": 24, "d": 25}[operation]
        images = [i for number in ids for i in ([number, number] if operation == "u" else [number])]
        rows = b"".join(b"\0" + struct.pack("<i", image) for image in images)
        events.append(event_of(kind, table + b"\x01" + b"\x01" * (2 if operation == "u" else 1) + rows, number * 100))
    end = number * 100 + 50
    match ends:
        case "xa":
            return [*events, query_of("XA END X'78'", end - 1), event_of(38, bytes(14), end)]
        case "commit":
            return [*events, query_of("COMMIT", end)]
    return [*events, event_of(16, bytes(8), end)]


def told_by(batch) -> list[tuple[str, int]]:
    values = [value for value in batch.values.rows() if value is not None]
    return [(v["op"], (v["after"] or v["before"])["id"]) for v in values]
