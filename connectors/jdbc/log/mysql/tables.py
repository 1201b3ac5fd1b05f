"""Plans tables of MariaDB and MySQL for mode=log: columns, keys and event formats. Turns rows of the log into Arrow."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects import mysql as m

from connect.api import schema as s
from connect.api.errors import RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import describe, type_rules
from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.log.binlog.charset import charset_of, decoding
from connectors.jdbc.log.binlog.columns import Decode, decoder, driver_column, driver_columns
from connectors.jdbc.log.binlog.metadata import column_type
from connectors.jdbc.log.binlog.packets import HISTORY, TableMap
from connectors.jdbc.log.binlog.row_layout import RowLayout
from connectors.jdbc.log.binlog.values import BINARY_SIZES, STRING, LoggedColumn, reader, string_bytes, width
from connectors.jdbc.log.mysql.row_order import OrderColumn, RowOrder
from connectors.jdbc.log.shared.envelope import EventFormat, source_schema
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, topic_of
from connectors.jdbc.values.byte_fields import Fields
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.types import ColumnPlan, Projection, Raw, plan_column

_log = logging.getLogger(__name__)
_TEXT_SIZE = 45
"""A text of an IP address has this many characters at most."""
_UNTOLD = ("", "", "", "")
_INT64, _STRING = s.INT64.as_optional(), s.STRING.as_optional()


def binlog_source(connector: str) -> s.Schema:
    """Return the schema of `source` of these databases."""
    members = {
        "table": _STRING, "server_id": s.INT64, "gtid": _STRING, "file": s.STRING, "pos": s.INT64, "row": s.INT32,
        "thread": _INT64, "query": _STRING,
    }  # fmt: skip
    return source_schema(connector, members)


@dataclass(frozen=True, slots=True)
class BinlogTable:
    """Describes one table with the columns that it has now, or had at a place of the log.

    `told_by` is the description in the log that told the columns, or None if the catalog told them. `order` is the
    present order of its rows. `described` are its columns as the catalog told them when it was planned.

    The catalog tells the present columns, and the table may have had other columns of the same names. So rows of the
    log are read by the columns that the log, or the history of the table, tells.
    """

    name: TableName
    format: RowFormat
    events: EventFormat
    logged: tuple[LoggedColumn, ...]
    told_by: TableMap | None = None
    order: RowOrder = field(default_factory=RowOrder)
    described: tuple[ColumnPlan, ...] = ()

    @property
    def has_history(self) -> bool:
        """Return True if rows of the log have two more columns, by which MariaDB keeps the history of rows."""
        return self.told_by is not None and len(self.told_by.kinds) > len(self.format.columns)

    @property
    def connector(self) -> str:
        """Return the name that Debezium's connector has in the source block."""
        return (self.events.source.name or "").split(".")[-2]

    def records(self, values: pa.StructArray, *, is_logged: bool) -> pa.StructArray:
        """Return rows in the form that records have. `is_logged` is True if the rows come from the log, not from a
        query.
        """
        del is_logged
        return values

    def fits(self, mapped: TableMap) -> bool:
        """Return True if rows of the log have these columns."""
        return self.told_by is not None and self.told_by.has_columns_of(mapped)

    def rows(self, mapped: TableMap) -> LoggedRows:
        """Return the reader for rows of the log with this description, which `fits`."""
        stored = list(zip(mapped.kinds, mapped.metas, strict=True))
        shown = stored[: -len(HISTORY)] if self.has_history else stored
        told = zip(shown, self.logged, self.format.columns, strict=True)
        decoders = [decoder(*of_log, column, plan, reader(*of_log, column)) for of_log, column, plan in told]
        layout = RowLayout([width(kind, meta) for kind, meta in stored])
        return LoggedRows(self, layout, tuple(decoders), self.has_history)

    def widened(self, columns: Sequence[Fields]) -> BinlogTable:
        """Return the table with those columns made nullable that hold NULL, in rows from before they became NOT
        NULL.
        """
        pairs = list(zip(self.format.columns, columns, strict=True))
        if not any((f.size < 0).any() and not p.schema.optional for p, f in pairs):
            return self
        plans = [
            replace(p, schema=p.schema.as_optional(p.schema.optional or bool((f.size < 0).any()))) for p, f in pairs
        ]
        form = RowFormat(self.format.table, self.format.schema.name or "", plans, self.format.times)
        return replace(self, format=form, events=replace(self.events, row=form.schema))


@dataclass(frozen=True, slots=True)
class LoggedRows:
    """Reads rows of one table, while the log describes the table with the same columns."""

    table: BinlogTable
    layout: RowLayout
    decoders: tuple[Decode, ...]
    has_history: bool = False

    def column(self, number: int, fields: Fields) -> pa.Array:
        """Return one column of the rows, as an Arrow reader gives it. SchemaError: a value does not fit."""
        return driver_column(self.table.format, self.table.format.columns[number], self.decoders[number], fields)

    def values(self, table: BinlogTable, columns: Sequence[Fields]) -> pa.StructArray:
        """Return rows as Arrow. `table` is this table, or this one with more columns nullable."""
        return table.format.of_driver_arrays(driver_columns(table.format, self.decoders, columns))


class BinlogTables:
    """Makes the plans of tables. Owned by the reading thread."""

    def __init__(self, database: Database, config: JdbcSourceConfig, connector: str) -> None:
        """Plan no table yet. `connector` is the name that Debezium's connector has in the source block."""
        self.database = database
        self.config = config
        self.connector = connector

    def plan(self, name: TableName) -> BinlogTable:
        """Return a table as it is now. NoTableError: there is no such table; RetriableError: it is being altered."""
        return plan_table(self.database, name, self.config, self.connector)

    def plan_told(self, now: BinlogTable, mapped: TableMap) -> BinlogTable:
        """Return a table with the columns that it had in the log, which `mapped.told` tells."""
        return plan_told(self.database, now, mapped, self.config)


def plan_table(database: Database, name: TableName, config: JdbcSourceConfig, connector: str) -> BinlogTable:
    """Return a table as it is now. NoTableError: there is no such table; RetriableError: it is being altered."""
    shape, found = describe(database, name, config), _types(database, name)
    if list(found) != [plan.name for plan in shape.columns]:
        raise RetriableError(f"Table {name.full} was altered while the catalog was asked for its columns.")
    topic = topic_of(name, config)
    times = TimeRules.of(config)
    form = RowFormat(name.full, f"{topic}.Value", shape.columns, times)
    logged = [LoggedColumn(plan.name, kind=str(found[plan.name][1]).lower()) for plan in shape.columns]
    events = EventFormat(topic, form.schema, shape.primary or shape.unique, binlog_source(connector))
    return BinlogTable(name, form, events, tuple(logged), order=_order(shape, found), described=shape.columns)


def row_order(database: Database, name: TableName, shape: TableShape) -> RowOrder:
    """Return the order of a table's rows in its first read."""
    return _order(shape, _types(database, name))


def _order(shape: TableShape, types: Mapping[str, Sequence[Any]]) -> RowOrder:
    columns = []
    for plan in shape.columns:
        _, kind, charset, collation = types.get(plan.name, _UNTOLD)
        columns.append(OrderColumn(plan.name, str(kind).lower(), plan.raw, str(charset or ""), str(collation or "")))
    return RowOrder.of(columns, shape.primary or shape.unique)


def _types(database: Database, name: TableName) -> dict[str, Sequence[Any]]:
    """Return the catalog's description of each column's type, by the column's name."""
    statement = sa.text(
        "SELECT column_name, data_type, character_set_name, collation_name "
        "FROM information_schema.columns "
        "WHERE table_schema = :schema AND table_name = :name ORDER BY ordinal_position"
    ).bindparams(schema=name.schema, name=name.name)
    rows = database.rows(statement, f"reading the types of table {name.full}")
    database.end_transaction()
    return {str(row[0]): row for row in rows}


def plan_told(database: Database, now: BinlogTable, mapped: TableMap, config: JdbcSourceConfig) -> BinlogTable:
    """Return a table with the columns that it had in the log, which may be others than it has now.

    `mapped.told` must not be None. SchemaError: a column's type or character set is not known.
    """
    told_by = mapped
    assert mapped.told is not None
    is_named_so = mapped.told.names[-2:] == HISTORY and not {*HISTORY} & {column.name for column in now.logged}
    if database.is_mariadb and is_named_so and mapped.ends_with_history:
        mapped = mapped.without_history()
        _log.info(
            "Table %s: row_start and row_end are in the log, and the server does not list them. They are taken for "
            "the columns of WITH SYSTEM VERSIONING, so that rows of the history are left out.",
            now.name.full,
        )
    told = mapped.told
    assert told is not None
    rules = type_rules(database, config)
    present = {column.name: column.kind for column in now.logged}
    plans, logged = [], []
    for i, (name, kind, meta) in enumerate(zip(told.names, mapped.kinds, mapped.metas, strict=True)):
        # In the log UUIDs and IP addresses are bytes, and their type is not told. All other types are told.
        type_name = told.kinds[i] if told.kinds else present.get(name, "")
        if kind == STRING and type_name in BINARY_SIZES:
            plans.append(plan_column(name, m.VARCHAR(_TEXT_SIZE), mapped.nullable[i], rules))
            logged.append(LoggedColumn(name, kind=type_name, pad_bytes=BINARY_SIZES[type_name]))
        else:
            plans.append(plan_column(name, column_type(kind, meta, i, told), mapped.nullable[i], rules))
            logged.append(_told_column(database, plans[-1], i, mapped))
    database.end_transaction()
    form = RowFormat(now.format.table, now.format.schema.name or "", plans, now.format.times)
    key = tuple(told.names[i] for i in told.key) or (now.events.key if set(now.events.key) <= set(told.names) else ())
    return BinlogTable(now.name, form, replace(now.events, row=form.schema, key=key), tuple(logged), told_by, now.order)


def _told_column(database: Database, plan: ColumnPlan, number: int, mapped: TableMap) -> LoggedColumn:
    told, meta = mapped.told, mapped.metas[number]
    assert told is not None
    collation = told.collations.get(number)
    charset = None if collation is None or plan.raw is Raw.BYTES else charset_of(database, collation)
    decode = None if charset is None else decoding(database, charset, plan.name)
    is_fixed = mapped.kinds[number] == STRING and plan.raw is Raw.BYTES
    return LoggedColumn(
        plan.name,
        number in told.unsigned,
        tuple(_member(member, decode) for member in told.members.get(number, ())),
        decode,
        plan.projection is Projection.INTEGER_OF_BIT,
        pad_bytes=string_bytes(meta) if is_fixed else 0,
    )


def _member(member: bytes | str, decode: Callable[[bytes], str] | None) -> str:
    return member if isinstance(member, str) else (decode or bytes.decode)(member)
