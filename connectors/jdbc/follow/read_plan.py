"""Turns a configuration and a table's shape into a reading plan. No other module knows all parts of a plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database import catalog
from connectors.jdbc.database.cursor_comparison import TimestampForm, now_us_of
from connectors.jdbc.database.explain import reads_all
from connectors.jdbc.database.query import Source, every_column, first_value, moment, query_source, table_source
from connectors.jdbc.database.query_shape import describe_query
from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.blind_spots import BlindSpot, blind_spots, wall_clocks
from connectors.jdbc.follow.cursors import has_index, incrementing_name, timestamp_names
from connectors.jdbc.follow.late_commits import HeldIds, IdMarks, LateCommitGuard, SnapshotPasses, TimestampMarks
from connectors.jdbc.follow.modes import (
    Begin,
    Bulk,
    Incrementing,
    Mode,
    Ordering,
    Timestamp,
    TimestampIncrementing,
    Timestamps,
)
from connectors.jdbc.follow.offsets import Offset
from connectors.jdbc.follow.reading import Described, ReadingPlan, TimestampBound
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, topic_of
from connectors.jdbc.settled.settled_time import SettledTime
from connectors.jdbc.settled.table_parts import TableParts
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.java_zones import day_begin_us, unrepeated_us, zone
from connectors.jdbc.values.types import ColumnPlan, Raw

StoredOffset = Callable[[Mapping[str, object]], Offset | None]
QUERY = "the query"


def table_plan(database: Database, table: TableName, config: JdbcSourceConfig, stored: StoredOffset) -> ReadingPlan:
    """Return the plan to read a table, from where its stored offset says."""
    partition = offsets.table_partition(table)
    known = stored(partition)
    if known is None:
        known = stored(offsets.old_table_partition(table))
    return assembled(database, table, config).plan(partition, known)


def assembled(database: Database, table: TableName, config: JdbcSourceConfig) -> PlanBuilder:
    """Return the builder of a table's plan, with the table's shape and the columns that are read."""
    named = (
        table if config.table_names_qualify and database.dialect.catalog.has_schemas else TableName(None, table.name)
    )
    described = _described(database, table, every_column(named, quote=config.quotes_identifiers))
    shape = catalog.describe(database, table, config)
    extra = (*([] if shape.row_id is None else [shape.row_id]), *(("xmin", "tableoid") if shape.has_xmin else ()))
    source = table_source(
        named, shape.columns, quote=config.quotes_identifiers, extra=extra, suffix=config.query_suffix
    )
    return PlanBuilder(database, config, table, shape, source, described=described)


def _described(database: Database, table: TableName, statement: sa.Select[Any]) -> Described | None:
    # The columns are asked for first, so that the catalog, read in the same transaction, tells of these columns.
    try:
        return Described.now(database, statement, f"reading table {table.full}")
    except RetriableError:
        raise
    except ConnectError:
        # The error is ignored here, as the catalog, or reading, gives a better message.
        database.end_transaction()
        return None


def query_plan(database: Database, config: JdbcSourceConfig, stored: StoredOffset) -> ReadingPlan:
    """Return the plan to read the query, from where its stored offset says."""
    shape = describe_query(database, config)
    source = query_source(config.query_text, shape.columns, suffix=config.query_suffix)
    partition = offsets.QUERY_PARTITION
    return PlanBuilder(database, config, None, shape, source).plan(partition, stored(partition))


class PlanBuilder:
    """Builds the plan to read a table or a query from its columns and the configuration."""

    def __init__(
        self,
        database: Database,
        config: JdbcSourceConfig,
        table: TableName | None,
        shape: TableShape,
        source: Source,
        *,
        described: Described | None = None,
    ) -> None:
        self._database = database
        self._described = described
        self._config = config
        self.table = table
        self.dialect = database.dialect
        self.shape = shape
        self.source = source
        self._zone = zone(config.db_timezone)
        self._label = QUERY if table is None else f"table {table.full}"
        self._order: tuple[str, ...] = ()
        by_order = config.mode == "bulk" or (self.dialect.cursors.orders_commits and config.mode == "incrementing")
        safe = config.offset_mode == "safe" and not by_order
        self.settled_time: SettledTime | None = None
        if safe:
            self.settled_time = self.dialect.settled.settled_time(config.settle_time_ms, config.safe_horizon_max_ms)
        self._by_snapshots = safe and shape.has_xmin and not config.delay_ms and not config.query_suffix

    def plan(self, partition: Mapping[str, object], stored: Offset | None) -> ReadingPlan:
        """Return the plan to read the table or query, from where its stored offset says."""
        config, shape = self._config, self.shape
        begin_us = self._begin_us(stored)
        mode, guard = self._guarded(stored, begin_us)
        scans = self._scans(mode)
        paged = (
            self.dialect.cursors.holds_writers
            and self.table is not None
            and not config.query_suffix
            and has_index(shape, self._order)
        )
        return ReadingPlan(
            label=self._label,
            topic=topic_of(self.table, config) if self.table else config.topic_prefix,
            key=self._record_key(),
            names_row=self._names_row(),
            blind_spots=self._blind_spots(mode, stored, scans=scans),
            partition=partition,
            source=self.source,
            format=RowFormat(
                self.table.full if self.table else "(query)",
                self.table.name if self.table else None,
                shape.columns,
                TimeRules.of(config),
            ),
            mode=mode,
            page_rows=config.paced(config.batch_max_rows),
            interval_s=config.interval_s,
            paged=paged,
            row_id=None if shape.row_id is None else self.source.column(shape.row_id),
            bound=self._bound() if "timestamp" in config.mode else None,
            guard=guard,
            first_wait_s=self._first_wait_s(stored),
            begins=self._offset_of(begin_us) if self._begins_now(stored) else None,
            described=self._described,
            counts_unread=scans is False and not config.query_suffix,
            made_for=(self._order, self._record_key(), self._by_snapshots),
        )

    def _scans(self, mode: Mode) -> bool | None:
        """Return True if each pass reads the whole table, or None if that is not known, or if the mode is made to read
        it all.
        """
        if self._config.mode == "bulk":
            return None
        names = [c.name for c in self.timestamp_columns()] if "timestamp" in self._config.mode else self._order
        first = self.shape.find(names[0])
        return None if first is None else reads_all(self._database, self.source, mode.order, first)

    def _blind_spots(self, mode: Mode, stored: Offset | None, *, scans: bool | None) -> tuple[BlindSpot, ...]:
        config, disorder, least, passed = self._config, None, None, None
        if config.mode == "incrementing" and self.table is not None:
            disorder = self.dialect.settled.out_of_order(self._database, self.table, self._order[0])
            least = self._id(sa.func.min(mode.order[0])) if stored is None else None
            passed = self._passed_ids(mode, offsets.id_of(stored))
        offset_s = self._server_offset_s()
        spots = blind_spots(
            self._label,
            self.shape,
            self._order,
            config,
            offset_s,
            reads_all=scans,
            out_of_order=disorder,
            least_id=least,
            passed_ids=passed,
        )
        return tuple(spots)

    def _passed_ids(self, mode: Mode, stored_id: int | None) -> tuple[int, int] | None:
        # Without an index this question would read the whole table itself.
        if stored_id is None or not has_index(self.shape, self._order[:1]):
            return None
        largest = self._id(sa.func.max(mode.order[0]))
        return None if largest is None else (stored_id, largest)

    def _id(self, which: sa.ColumnElement[Any]) -> int | None:
        asked = sa.select(which).select_from(self.source.relation)
        value = self._database.scalar(asked, f"looking at {self._label}")
        return None if value is None else int(value)

    def _server_offset_s(self) -> int | None:
        asked = self.dialect.server.offset_s
        if not asked or self._config.mode == "bulk" or not wall_clocks(self.shape, self._order):
            return None
        value = self._database.scalar(sa.text(asked), "asking for the server's time zone")
        return None if value is None else int(value)

    def _guarded(self, stored: Offset | None, begin_us: int) -> tuple[Mode, LateCommitGuard | None]:
        if self.settled_time is None:
            return self._mode(stored, begin_us), None
        if self._by_snapshots:
            marks = (
                IdMarks() if self._config.mode == "incrementing" else TimestampMarks(self._mark_at, self._complete_us)
            )
            assert self.table is not None
            xmin, parts = self.source.column("xmin"), TableParts(self.table.quoted, self.source.column("tableoid"))
            passes = SnapshotPasses(
                lambda at: self._mode(at, begin_us), xmin, self.settled_time, marks, stored, parts=parts
            )
            return passes, passes
        mode = self._mode(offsets.mark_of(stored), begin_us)
        if self._config.mode != "incrementing":
            return mode, None
        return mode, HeldIds(self.largest(mode.order[0]), mode.order[0], self.settled_time)

    def largest(self, column: sa.ColumnElement[Any]) -> Callable[[Database], int | None]:
        """Return a function that asks for the largest value of a column of whole numbers."""
        statement = sa.select(sa.func.max(column)).select_from(self.source.relation)

        def ask(database: Database) -> int | None:
            value = database.scalar(statement, f"looking at {self._label}")
            database.end_transaction()
            return None if value is None else int(value)

        return ask

    def _mark_at(self, instant_us: int) -> Offset:
        return self._offset_of(instant_us - 1)

    def _offset_of(self, instant_us: int) -> Offset:
        if self._config.mode == "timestamp":
            return offsets.timestamp(instant_us)
        return offsets.timestamp_incrementing(instant_us, self._config.incrementing_initial)

    def _complete_us(self, settled_us: int) -> int:
        """Return the instant before which no timestamp can appear; the present second still can, if the column holds
        seconds.
        """
        columns = self.timestamp_columns()
        walls = any(c.raw is not Raw.INSTANT for c in columns)
        at_us = unrepeated_us(settled_us, self._zone) if walls else settled_us
        if any(c.raw is Raw.DATE for c in columns):
            return day_begin_us(at_us, self._zone)
        digits = min([6, *(c.second_digits for c in columns if c.second_digits is not None)])
        return at_us - at_us % int(10 ** (6 - digits))

    def _mode(self, stored: Offset | None, begin_us: int) -> Mode:
        self._order = ()
        match self._config.mode:
            case "bulk":
                key = self.key()
                self._order = self._key_names()
                return Bulk(key, stored, lambda: time.time_ns() // 1_000_000)
            case "incrementing":
                return Incrementing(self.ids(), stored, self._config.incrementing_initial)
            case "timestamp":
                column, times = self.timestamp()
                key = self.key()
                self._order += self._key_names()
                return Timestamp(column, key, times, stored, begin_us)
            case _:
                column, times = self.timestamp()
                begin = Begin(begin_us, self._config.incrementing_initial)
                return TimestampIncrementing(column, self.ids(), times, stored, begin)

    def _record_key(self) -> tuple[str, ...]:
        if self._config.key_mode == "none":
            return ()
        if not self._config.key_fields:
            return self.shape.primary
        return tuple(self._column(name, "key.fields").name for name in self._config.key_fields)

    def _names_row(self) -> tuple[str, ...]:
        """Return the columns that tell a person which row it is: the key, else the columns that the table is
        followed by.
        """
        present = [c.name for c in self.shape.columns]
        names = self.shape.key or (*timestamp_names(self.table, self._config), self._config.incrementing_column or "")
        return tuple(name for name in names if name in present)

    def _key_names(self) -> tuple[str, ...]:
        return self.shape.key or (() if self.shape.row_id is None else (self.shape.row_id,))

    def key(self) -> Ordering:
        """Return the columns that name one row; without columns if the table has no key."""
        places = {c.name: i for i, c in enumerate(self.shape.columns)}
        if self.shape.row_id is not None:
            places[self.shape.row_id] = len(self.shape.columns)
        names = self._key_names()
        return Ordering(tuple(self.source.column(n) for n in names), tuple(places[n] for n in names))

    def ids(self) -> Ordering:
        """Return the incrementing column. ConnectError: there is none."""
        try:
            name = incrementing_name(self.table, self.shape, self._config)
        except ValueError as error:
            raise ConnectError(f"incrementing.column.mapping: {error}.", key="incrementing.column.mapping") from None
        if name is None:
            raise ConnectError(
                f"{self._label} has no auto-increment column.",
                key="incrementing.column.name",
                fix="Name a strictly increasing column, or use mode=timestamp.",
            )
        column = self._column(name, "incrementing.column.name")
        self._order += (column.name,)
        return Ordering((self.source.column(column.name),), (self.shape.columns.index(column),))

    def timestamp(self) -> tuple[sa.ColumnElement[object], Timestamps]:
        """Return the expression of a row's timestamp, and the object that reads the timestamps from a page.

        ConnectError: a column is missing.
        """
        columns = self.timestamp_columns()
        expressions = [moment(self.source, c) for c in columns]
        expression = expressions[0] if len(expressions) == 1 else sa.func.coalesce(*expressions)
        self._order += (columns[0].name,) if len(columns) == 1 else ("",)
        places = [self.shape.columns.index(c) for c in columns]
        wall = all(c.raw is not Raw.INSTANT for c in columns)
        times = Timestamps(self._label, [c.name for c in columns], places, self._zone if wall else ZoneInfo("UTC"))
        return expression, times

    def timestamp_columns(self) -> list[ColumnPlan]:
        """Return the columns of which the timestamp is the first that is not null. ConnectError: one is missing."""
        try:
            names = timestamp_names(self.table, self._config)
        except ValueError as error:
            raise ConnectError(f"timestamp.columns.mapping: {error}.", key="timestamp.columns.mapping") from None
        return [self._column(name, "timestamp.column.name") for name in names]

    def _column(self, name: str, key: str) -> ColumnPlan:
        column = self.shape.find(name)
        if column is None:
            present = ", ".join(c.name for c in self.shape.columns)
            raise ConnectError(f"{self._label} has no column {name}; it has {present}.", key=key)
        return column

    def _bound(self) -> TimestampBound:
        columns = self.timestamp_columns()
        expressions = [moment(self.source, c) for c in columns]
        expression = expressions[0] if len(expressions) == 1 else sa.func.coalesce(*expressions)
        instants = columns[0].raw is Raw.INSTANT

        def form(database: Database) -> TimestampForm:
            def sample() -> Any:
                return database.scalar(first_value(self.source, expression), f"looking at {self._label}")

            return self.dialect.cursors.form(sample, columns[0].name, self._zone, are_instants=instants)

        delay_us, observe = self._config.delay_ms * 1000, self.settled_time

        def held_back(database: Database) -> int:
            assert observe is not None
            return self._complete_us(observe.observe(database).settled_us - delay_us)

        if self._by_snapshots:
            return TimestampBound(form, None)
        return TimestampBound(form, held_back if observe else lambda database: now_us(database) - delay_us)

    def _begin_us(self, stored: Offset | None) -> int:
        return now_us(self._database) if self._begins_now(stored) else self._config.begin_ms * 1000

    def _begins_now(self, stored: Offset | None) -> bool:
        begins_now = "timestamp" in self._config.mode and self._config.timestamp_initial == -1
        return begins_now and offsets.instant_us_of(stored) is None

    def _first_wait_s(self, stored: Offset | None) -> float:
        finished_ms = offsets.bulk_finished_ms_of(stored) if self._config.mode == "bulk" else None
        if finished_ms is None:
            return 0.0
        # The clock may have gone back since then.
        return min(max(0.0, finished_ms / 1000 + self._config.interval_s - time.time()), self._config.interval_s)


def now_us(database: Database) -> int:
    """Return the database's clock in microseconds, cut to milliseconds as Confluent's upper bound is."""
    return now_us_of(database.scalar(sa.select(database.dialect.cursors.clock), "asking for the time"))
