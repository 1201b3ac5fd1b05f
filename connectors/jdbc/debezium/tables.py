"""Reads tables of PostgreSQL whose records have Debezium's types and schemas. Asks the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from connect.api import schema as s
from connect.api.arrow import arrow_schema
from connect.api.errors import SchemaError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.debezium.catalog_types import columns_of, types_of
from connectors.jdbc.debezium.defaults import default_of
from connectors.jdbc.debezium.kinds import Kind
from connectors.jdbc.debezium.shared.adjusted_names import field_names, schema_names
from connectors.jdbc.debezium.shared.column_rules import ColumnRules
from connectors.jdbc.debezium.shared.handling_modes import Handling
from connectors.jdbc.debezium.types import kind_of, text_column
from connectors.jdbc.dialects.postgres.result_types import bases
from connectors.jdbc.log.postgres.pgoutput import Relation
from connectors.jdbc.log.postgres.tables import SOURCE, LogTable, LogTables, key_of, unique_columns
from connectors.jdbc.log.shared.cells import UNCHANGED, Buffer, Cells, Mask
from connectors.jdbc.log.shared.column_change import ColumnChange, renamed
from connectors.jdbc.log.shared.envelope import EventFormat
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, topic_of
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.temporal import Misfit
from connectors.jdbc.values.types import ColumnPlan, Raw


@dataclass(frozen=True, slots=True)
class EventColumn:
    """Holds a column of the records.

    `change` is how events show it in another form, or None if they show it as it is.
    """

    name: str
    kind: Kind
    schema: s.Schema
    not_null: bool
    change: ColumnChange | None = None

    @property
    def absent(self) -> object:
        """Return what stands for a value that is not known and may not be null."""
        return self.kind.absent if self.schema.default is None else self.schema.default


@dataclass(frozen=True, slots=True)
class DebeziumTable(LogTable):
    """Holds one table. `columns` has one for each of the log's columns; None for a column that the records leave
    out.
    """

    columns: tuple[EventColumn | None, ...] = ()

    def rows(self, buffer: Buffer, cells: Sequence[Cells], placeholder: str) -> pa.StructArray:
        """Return whole rows; a placeholder stands for a value that the log does not hold."""
        made = []
        for column, values, cell in zip(self.columns, buffer.values(cells), cells, strict=True):
            if column is not None:
                unknown = cell.kind == UNCHANGED
                array = self._read(column, values)
                made.append(self._told(column, array, unknown, placeholder) if unknown.any() else array)
        return self._struct(made)

    def old_rows(self, buffer: Buffer, cells: Sequence[Cells]) -> pa.StructArray:
        """Return rows as they were before changes. The log may have only the columns of the replica identity.

        The other columns are null, or, if they are NOT NULL, the default or the zero of their type.
        """
        made = []
        for column, values in zip(self.columns, buffer.values(cells), strict=True):
            if column is not None:
                array = self._read(column, values)
                if array.null_count and column.not_null:
                    array = _filled(array, array.is_null().to_numpy(zero_copy_only=False), column.absent)
                made.append(array)
        return self._struct(made)

    def null_columns(self, cells: Sequence[Cells], kind: int) -> list[str]:
        """Return the columns that are declared NOT NULL and in which a row is null."""
        pairs = zip(self.columns, cells, strict=True)
        return [c.name for c, cell in pairs if c and not c.schema.optional and (cell.kind == kind).any()]

    def _struct(self, arrays: Sequence[pa.Array]) -> pa.StructArray:
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_schema(self.events.row)))

    def _read(self, column: EventColumn, values: pa.BinaryArray) -> pa.Array:
        try:
            return column.kind.read(values)
        except (Misfit, pa.ArrowException, ValueError) as error:
            why = f": {error}" if isinstance(error, Misfit) else ""
            raise SchemaError(
                f"Table {self.name.full} holds a text that {column.schema.name or column.schema.type} does not "
                f"hold{why}.",
                field=column.name,
                fix="Mend the row, or leave the column out by column.exclude.list.",
            ) from error

    def _told(self, column: EventColumn, array: pa.Array, unknown: Mask, placeholder: str) -> pa.Array:
        value = column.kind.unavailable(placeholder)
        if value is None and not column.schema.optional:
            raise SchemaError(
                f"An update of table {self.name.full} left a large value as it was, and the log does not hold it.",
                field=column.name,
                fix=f"ALTER TABLE {self.name.quoted} REPLICA IDENTITY FULL.",
            )
        return _filled(array, unknown, value)


def _filled(array: pa.Array, rows: Mask, value: object) -> pa.Array:
    """Return the column with one value in these rows. It may hold structs or lists."""
    at = np.where(rows, len(array), np.arange(len(array)))
    return pa.concat_arrays([array, pa.array([value], array.type)]).take(pa.array(at))


class DebeziumTables(LogTables):
    """Makes the plans of tables for Debezium's records. Owned by the reading thread."""

    def __init__(
        self,
        database: Database,
        config: JdbcSourceConfig,
        handling: Handling,
        rules: ColumnRules,
    ) -> None:
        super().__init__(database, config)
        self._config = config
        self._handling = handling
        self._rules_of_columns = rules
        self._schema_name, self._field_name = schema_names(handling.schema_names), field_names(handling.field_names)

    def plan(self, relation: Relation) -> DebeziumTable:
        """Return a table as the log describes it. Facts that the log leaves out (NOT NULL, defaults, keys) are the
        present ones.
        """
        now = columns_of(self.database, relation.oid)
        types = types_of(self.database, relation.columns)
        key = key_of(relation, unique_columns(self.database, relation.oid))
        found_bases = bases(self.database, [(c.type_oid, c.modifier) for c in relation.columns])
        self.database.end_transaction()
        name = TableName(relation.schema, relation.table)
        columns: list[EventColumn | None] = []
        for told, type_ in zip(relation.columns, types, strict=True):
            kind = kind_of(type_, self._handling)
            if kind is None or self._rules_of_columns.left_out(f"{name.full}.{told.name}"):
                columns.append(None)
                continue
            known = now.get(told.name)
            # The key's columns are never null, whatever the catalog says of a table that was altered since.
            not_null = (known is not None and known.not_null) or told.name in key
            default = None if known is None else default_of(known.default, kind, type_.name, type_.category)
            schema = replace(kind.schema.as_optional(kind.always_optional or not not_null), default=default)
            change = self._rules_of_columns.change(f"{name.full}.{told.name}", text_column(type_, kind))
            change = renamed(change, told.name, self._field_name(told.name))
            columns.append(EventColumn(told.name, kind, schema, not_null, change))
        return self._table(name, relation, tuple(columns), key, tuple(oid for oid, _ in found_bases))

    def widened(self, table: LogTable, columns: Sequence[str]) -> DebeziumTable:
        """Return the table with these columns made nullable: rows from before they became NOT NULL hold NULL."""
        assert isinstance(table, DebeziumTable)
        wider = tuple(
            replace(c, schema=c.schema.as_optional(True), not_null=False) if c is not None and c.name in columns else c
            for c in table.columns
        )
        return self._table(table.name, table.relation, wider, table.events.key, table.bases)

    def _table(
        self,
        name: TableName,
        relation: Relation,
        columns: tuple[EventColumn | None, ...],
        key: tuple[str, ...],
        base_types: tuple[int, ...],
    ) -> DebeziumTable:
        topic = topic_of(name, self._config)
        schemas = self._schema_name(topic)
        row = s.struct((s.Field(c.name, c.schema) for c in columns if c is not None), name=f"{schemas}.Value")
        # Rows that no record can hold are shown by their texts.
        plans = [ColumnPlan(c.name, Raw.TEXT, s.STRING.as_optional()) for c in relation.columns]
        form = RowFormat(name.full, row.name, plans, TimeRules.of(self._config))
        kept = {c.name: c.change for c in columns if c is not None}
        chosen = self._rules_of_columns.key_of(name.full, list(kept))
        if missing := [column for column in chosen or key if column not in kept]:
            raise SchemaError(
                f"Column {', '.join(missing)} of the key of table {name.full} is left out.",
                field=missing[0],
                fix="Keep it in column.include.list, and out of column.exclude.list.",
            )
        changes = {column: change for column, change in kept.items() if change is not None}
        events = EventFormat(
            topic, row, key, SOURCE, optional=False, chosen_key=chosen, changes=changes, schemas=schemas
        )
        return DebeziumTable(name, relation, form, events, base_types, columns)
