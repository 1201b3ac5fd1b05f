"""Plans tables of MySQL and MariaDB whose records have Debezium's types and schemas. Asks the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_schema
from connect.api.errors import RetriableError, SchemaError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.debezium.binlog.columns import CatalogColumn, agrees, catalog_columns, logged_type
from connectors.jdbc.debezium.binlog.declared_type import DeclaredType
from connectors.jdbc.debezium.binlog.defaults import default_of
from connectors.jdbc.debezium.binlog.kinds import BinlogKind
from connectors.jdbc.debezium.binlog.types import kind_of, text_column
from connectors.jdbc.debezium.shared.adjusted_names import field_names, schema_names
from connectors.jdbc.debezium.shared.column_rules import ColumnRules
from connectors.jdbc.debezium.shared.handling_modes import Handling
from connectors.jdbc.log.binlog.packets import TableMap
from connectors.jdbc.log.mysql.tables import BinlogTable, BinlogTables
from connectors.jdbc.log.shared.column_change import ColumnChange, renamed
from connectors.jdbc.log.shared.envelope import EventFormat
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.columns import RowFormat
from connectors.jdbc.values.temporal import Misfit


@dataclass(frozen=True, slots=True)
class EventColumn:
    """Holds a column of the records.

    `change` is how events show it in another form, or None if they show it as it is.
    """

    name: str
    kind: BinlogKind
    schema: s.Schema
    not_null: bool
    change: ColumnChange | None = None


@dataclass(frozen=True, slots=True)
class DebeziumBinlogTable(BinlogTable):
    """Holds one table. `columns` has one for each of the log's columns; None for a column that the records leave
    out.
    """

    columns: tuple[EventColumn | None, ...] = ()

    def records(self, values: pa.StructArray, *, is_logged: bool) -> pa.StructArray:
        """Return rows in the form that records have. `is_logged` is True if the rows come from the log, not from a
        query.
        """
        made = [
            self._told(column, given, is_logged=is_logged)
            for column, given in zip(self.columns, values.flatten(), strict=True)
            if column is not None
        ]
        return pa.StructArray.from_arrays(made, fields=list(arrow_schema(self.events.row)))

    def _told(self, column: EventColumn, given: pa.Array, *, is_logged: bool) -> pa.Array:
        try:
            array = column.kind.values(given, is_logged=is_logged)
        except (Misfit, SchemaError, pa.ArrowException) as error:
            why = "" if isinstance(error, pa.ArrowException) else f": {error}"
            raise SchemaError(
                f"Table {self.name.full} holds a value that {column.schema.name or column.schema.type} does not "
                f"hold{why}.",
                field=column.name,
                fix="Mend the row, or leave the column out by column.exclude.list.",
            ) from error
        if array.null_count and column.not_null:
            # These nulls are zero dates: no other value of a column that is NOT NULL comes as null.
            absent = pa.array([column.kind.absent], array.type)[0]
            array = pc.if_else(array.is_null(), absent, array)
        return array


class DebeziumBinlogTables(BinlogTables):
    """Makes the plans of tables for Debezium's records. Owned by the reading thread."""

    def __init__(
        self,
        database: Database,
        config: JdbcSourceConfig,
        connector: str,
        handling: Handling,
        rules: ColumnRules,
    ) -> None:
        super().__init__(database, config, connector)
        self._handling = handling
        self._rules_of_columns = rules
        self._schema_name, self._field_name = schema_names(handling.schema_names), field_names(handling.field_names)

    def plan(self, name: TableName) -> BinlogTable:
        """Return a table as it is now. NoTableError: there is no such table; RetriableError: it is being altered."""
        table = super().plan(name)
        found = catalog_columns(self.database, name)
        if list(found) != [plan.name for plan in table.format.columns]:
            raise RetriableError(f"Table {name.full} was altered while the catalog was asked for its columns.")
        columns = [
            self._column(name, plan.name, found[plan.name].declared, found[plan.name], found[plan.name].not_null)
            for plan in table.format.columns
        ]
        return self._made(table, columns)

    def plan_told(self, now: BinlogTable, mapped: TableMap) -> BinlogTable:
        """Return a table with the columns that it had in the log, which `mapped.told` tells.

        Facts that the log leaves out (defaults, and how a type is written) are the present ones.
        """
        table = super().plan_told(now, mapped)
        found = catalog_columns(self.database, now.name)
        columns = []
        for number, (plan, logged) in enumerate(zip(table.format.columns, table.logged, strict=True)):
            known, told = found.get(plan.name), logged_type(mapped, number, logged)
            declared = known.declared if known is not None and agrees(known.declared, told) else told
            columns.append(self._column(now.name, plan.name, declared, known, not mapped.nullable[number]))
        return self._made(table, columns)

    def _column(
        self, table: TableName, name: str, declared: DeclaredType, known: CatalogColumn | None, not_null: bool
    ) -> tuple[BinlogKind, EventColumn | None]:
        kind = kind_of(declared, self._handling)
        if self._rules_of_columns.left_out(f"{table.full}.{name}"):
            return kind, None
        default = None if known is None else default_of(replace(known, declared=declared), kind)
        schema = replace(kind.schema.as_optional(kind.always_optional or not not_null), default=default)
        change = self._rules_of_columns.change(f"{table.full}.{name}", text_column(declared, kind))
        change = renamed(change, name, self._field_name(name))
        return kind, EventColumn(name, kind, schema, not_null, change)

    def _made(
        self, table: BinlogTable, columns: Sequence[tuple[BinlogKind, EventColumn | None]]
    ) -> DebeziumBinlogTable:
        plans = [kind.plan(plan) for plan, (kind, _) in zip(table.format.columns, columns, strict=True)]
        kept = [column for _, column in columns if column is not None]
        names = [column.name for column in kept]
        chosen = self._rules_of_columns.key_of(table.name.full, names)
        missing = [name for name in chosen or table.events.key if name not in names]
        if missing:
            raise SchemaError(
                f"Column {', '.join(missing)} of the key of table {table.name.full} is left out.",
                field=missing[0],
                fix="Keep it in column.include.list, and out of column.exclude.list.",
            )
        topic = table.events.topic
        schemas = self._schema_name(topic)
        row = s.struct((s.Field(column.name, column.schema) for column in kept), name=f"{schemas}.Value")
        form = RowFormat(table.format.table, row.name, plans, table.format.times)
        changes = {column.name: column.change for column in kept if column.change is not None}
        events = EventFormat(
            topic,
            row,
            table.events.key,
            table.events.source,
            optional=False,
            chosen_key=chosen,
            changes=changes,
            schemas=schemas,
        )
        # The reader gives BIT as bytes, also for one bit.
        logged = tuple(replace(column, bits_as_number=False) for column in table.logged)
        return DebeziumBinlogTable(
            table.name,
            form,
            events,
            logged,
            table.told_by,
            table.order,
            table.described,
            tuple(column for _, column in columns),
        )
