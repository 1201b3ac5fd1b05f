"""Reads tables in bulk, with the same mark and the same splits as a table's first read, for any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.bulk import BulkPlan, Split, SplitSize
from connect.api.records import Batch, SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import choose_tables, list_tables
from connectors.jdbc.database.open_sessions import OpenTransactionWait, those_of
from connectors.jdbc.database.query import select
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.first_read import NotSplit, SafeMark, key_span
from connectors.jdbc.follow.offsets import Offset
from connectors.jdbc.follow.ranges import TableBase, integer_key, split_plan
from connectors.jdbc.follow.read_plan import PlanBuilder, assembled
from connectors.jdbc.follow.reading import ColumnsChangedError, Connections, ReadingPlan, TableReader
from connectors.jdbc.follow.splits import TableSplit, cut, divided, table_size
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.source.check import unmatched
from connectors.jdbc.values.unconvertible_rows import BadRows

PAGE_ROWS = 20_000
"""A page of a bulk read has this many rows, to be fast. batch.max.rows is not used: its default of 1000 is meant for
following a table.
"""
_LOOK_S = 0.25


def safe(config: JdbcSourceConfig) -> JdbcSourceConfig:
    """Return the configuration by which a bulk read looks for its mark: no open transaction may add rows before it.

    ConnectError: the configuration does not follow a table, so that no place to go on from exists.
    """
    if config.query_text:
        raise ConnectError("A query cannot be read in bulk.", key="query", fix="Name a table, or a view of the query.")
    if config.mode not in {"incrementing", "timestamp", "timestamp+incrementing"}:
        raise ConnectError(
            f"mode={config.mode} has no mark that a bulk read could end at and the connector could go on from.",
            key="mode",
            fix="Use mode=incrementing, timestamp or timestamp+incrementing.",
        )
    return config.model_copy(update={"offset_mode": "safe"})


class BulkPlanning:
    """Makes the plan to read one configuration's tables in bulk. One thread uses it, once."""

    def __init__(self, config: JdbcSourceConfig) -> None:
        """Take a configuration. ConnectError: it cannot be read in bulk."""
        self._config = safe(config)

    def plan(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Plan splits of all tables that the connector selects.

        ConnectError: none is selected, or one cannot be read.
        """
        database = Database(self._config, waits=True)
        try:
            tables = choose_tables(database, self._config, list_tables(database, self._config))
            database.end_transaction()
            missing = _missing(database, self._config, tables)
            plans = [self._table(database, table, size, deadline) for table in tables]
        finally:
            database.close()
        return BulkPlan(
            splits=[split for plan in plans for split in plan.splits],
            following=[position for plan in plans for position in plan.following],
            statements=[text for plan in plans for text in plan.statements],
            warnings=[*missing, *(text for plan in plans for text in plan.warnings)],
        )

    def _table(self, database: Database, table: TableName, size: SplitSize, deadline: Deadline) -> BulkPlan:
        builder = assembled(database, table, self._config)
        try:
            mark = _waited_for(SafeMark(builder, self._config), database, table, deadline)
        except NotSplit as why:
            if str(why) != "it is empty":
                raise ConnectError(f"Table {table.full} cannot be read in bulk: {why}.", key="mode") from None
            # A stored offset would be beyond the rows that come. Old connectors stored it by the table's bare name.
            partitions = (offsets.table_partition(table), offsets.old_table_partition(table))
            told = f"Table {table.full} is empty: its connector begins at its first row."
            return BulkPlan((), [SourcePosition(partition, None) for partition in partitions], warnings=[told])
        # The span is asked for after the mark, so that every row before the mark is in the span.
        keys = _span(builder, self._config, database)
        size_now = table_size(database, builder.table, builder.source.relation)
        splits = cut(table, mark, keys, size_now, size)
        return BulkPlan(
            [split.as_split for split in splits],
            [SourcePosition(offsets.table_partition(table), mark)],
            [_statement(database, builder, self._config, splits[0])],
            [*_unordered(database, builder, self._config), *_unsplit(table, builder, keys)],
        )


def _missing(database: Database, config: JdbcSourceConfig, chosen: Sequence[TableName]) -> list[str]:
    """Return a warning for each name of the filter that no table has. ConfigError: no name has a table."""
    notes: list[str] = []
    present = list_tables(database, config)
    problems = list(unmatched(config, database.errors.database, present, chosen, notes))
    database.end_transaction()
    if problems:
        raise ConfigError(problems)
    if not chosen:
        raise ConfigError("There is no table to read, or none that this user may see.", key="table.whitelist")
    return notes


def _waited_for(mark: SafeMark, database: Database, table: TableName, deadline: Deadline) -> Offset:
    what = f"Table {table.full} has no safe mark yet"
    wait = OpenTransactionWait(what)
    while True:
        found = mark.look(database)
        if found is not None:
            return found
        wait.goes_on(database)
        if not deadline.wait(_LOOK_S):
            raise RetriableError(
                f"{what}: it waits for {those_of(database)}.", fix="End them, or wait longer by handover.settle."
            )


def _unordered(database: Database, builder: PlanBuilder, config: JdbcSourceConfig) -> list[str]:
    if config.mode != "incrementing" or builder.table is None:
        return []
    column = builder.shape.columns[builder.ids().places[0]].name
    why = builder.dialect.settled.out_of_order(database, builder.table, column)
    return [] if why is None else [f"Table {builder.table.full}: ids do not come in order, so no mark is safe: {why}"]


def _span(builder: PlanBuilder, config: JdbcSourceConfig, database: Database) -> range | None:
    """Return the range from the least to the largest key, or None if the key is no integer, or the table is empty."""
    key = integer_key(builder, config)
    return None if key is None else key_span(database, builder.source.relation, key.expressions[0])


def _unsplit(table: TableName, builder: PlanBuilder, keys: range | None) -> list[str]:
    told = []
    if not builder.key().places:
        told.append(
            f"Table {table.full} has no key by which reading could go on: rows of one id or timestamp are read and "
            "written together, and where they are many that takes as much memory."
        )
    if keys is None:
        told.append(f"Table {table.full} has no primary key of one integer column: one lane reads the whole of it.")
    return told


def _statement(database: Database, builder: PlanBuilder, config: JdbcSourceConfig, split: TableSplit) -> str:
    plan = split_plan(TableBase.of(builder, split), config, split, None)
    assert plan.guard is not None
    statement = select(plan.source, plan.mode.order, conditions=plan.guard.begin(database))
    dialect = database.connection.dialect
    text = str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
    database.end_transaction()
    return " ".join(text.split())


class JdbcBulkReader:
    """Reads splits of tables. Owned by one thread."""

    def __init__(self, config: JdbcSourceConfig) -> None:
        """Connect to nothing."""
        self._config = safe(config)
        self._connections = Connections(lambda: Database(self._config, waits=True))
        self._bases: dict[TableName, TableBase] = {}
        self._reject: Callable[[BadRows], None] | None = None

    def reject_by(self, reject: Callable[[Batch, Mapping[int, Exception]], None]) -> None:
        """Leave out rows that no record can hold, and pass them to `reject`."""
        self._reject = lambda rows: reject(rows.batch, rows.reasons)

    def read(self, split: Split, after: Mapping[str, object] | None) -> Iterator[Batch]:
        """Yield pages of the split, each with the offset to go on from; the last may have no rows."""
        wanted = TableSplit.of(split)
        reader = self._reader(wanted, after)
        try:
            batch = reader.read()
        except ColumnsChangedError:
            del self._bases[wanted.table]
            reader = self._reader(wanted, after)
            batch = reader.read()
        try:
            while True:
                assert batch is not None
                assert batch.position is not None
                yield batch
                if offsets.is_range_finished(batch.position.offset, wanted.mark):
                    return
                batch = reader.read()
        finally:
            reader.abandon()

    def divide(self, split: Split, offset: Mapping[str, object], parts: int) -> Sequence[Split]:
        """Return splits of equal width of the keys behind the offset; none if the key is no integer or no key is
        left.
        """
        wanted = TableSplit.of(split)
        last = offsets.range_progress_of(offset, wanted.mark)
        if last is None or len(last) != 1 or not isinstance(last[0], int):
            return ()
        end = (
            wanted.end
            if wanted.end is not None
            else self._connections.asked(lambda database: self._keys_end(database, wanted))
        )
        return divided(split, last[0], end, parts)

    def count(self, split: Split) -> int:
        """Count the rows that meet the split's conditions."""

        def counted(database: Database) -> int:
            plan = self._plan(database, TableSplit.of(split), None)
            assert plan.guard is not None
            conditions = plan.guard.begin(database)
            statement = sa.select(sa.func.count()).select_from(plan.source.relation).where(*conditions)
            return int(database.scalar(statement, f"counting {plan.label}"))

        return self._connections.asked(counted)

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()

    def _keys_end(self, database: Database, wanted: TableSplit) -> int:
        keys = _span(assembled(database, wanted.table, self._config), self._config, database)
        return 0 if keys is None else keys.stop

    def _reader(self, wanted: TableSplit, after: Offset | None) -> TableReader:
        plan = self._connections.asked(lambda database: self._plan(database, wanted, after))
        return TableReader(plan, self._connections, self._reject)

    def _plan(self, database: Database, wanted: TableSplit, after: Offset | None) -> ReadingPlan:
        base = self._bases.get(wanted.table)
        if base is None:
            base = TableBase.of(assembled(database, wanted.table, self._config), wanted)
            if base.plan.described is not None:
                # The catalog is not asked for each split, which would cost a tenth of reading its rows. Reading checks
                # that the columns are still the same.
                self._bases[wanted.table] = base
        plan = split_plan(base, self._config, wanted, after)
        rows = self._config.paced(max(PAGE_ROWS, self._config.batch_max_rows))
        return replace(plan, page_rows=rows, described=base.plan.described)
