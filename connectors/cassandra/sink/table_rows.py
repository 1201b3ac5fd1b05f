"""Turns records into statements that write or delete rows of one table by primary key. Pure.

A row with fields that tell when its values were written (see `write_times`) becomes one statement for each such time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.api.errors import ConfigError, SchemaError
from connect.api.records import Record
from connect.api.schema import Schema
from connectors.cassandra.cql.bound_values import Bind, bind_of
from connectors.cassandra.cql.statements import quoted
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.sink.timed_row import TimedRow
from connectors.cassandra.sink.write_statement import Write
from connectors.cassandra.source.write_times import FOR_EVER_S, TimedFields, Written, told_times

_NOW: Final = Written(None, FOR_EVER_S)


class UnknownColumnError(SchemaError):
    """Says that a row has a field for which the table had no column when its columns were read."""


class TableRows:
    """Turns records into the statements for one table. Owned by the task thread."""

    def __init__(self, table: Table, *, skip_nulls: bool, is_by_records: bool = False, chunk_column: str = "") -> None:
        """Take a table. `chunk_column` is the column that gets the chunk's name; empty if there is none.

        With `is_by_records` a tombstone deletes as of its record's time, and every row has to tell when it was written.

        ConfigError: the table holds counters, or has no such column of type text.
        """
        self._skip_nulls = skip_nulls
        self._is_by_records = is_by_records
        self._has_timed_rows = False
        self._has_deletions = False
        self._chunk_column = chunk_column
        self.take(table)

    def take(self, table: Table) -> None:
        """Go on with the columns that the table has now. ConfigError: it cannot be written any more."""
        chunk_column = self._chunk_column
        if any(column.type.name == "counter" for column in table.regular):
            raise ConfigError(
                f"Table {table.title} holds counters, which only count and cannot be set.", key="topic.tables",
                fix="Leave its topic out of topics.",
            )  # fmt: skip
        if chunk_column and chunk_column not in {c.name for c in table.regular if c.type.name in {"text", "ascii"}}:
            raise ConfigError(
                f"Table {table.title} has no column {chunk_column} of type text.", key="chunk.column",
                fix=f"ALTER TABLE {table.title} ADD {chunk_column} text.",
            )  # fmt: skip
        self.table = table
        self._keys = [column.name for column in table.primary_key]
        others = [c.name for c in (*table.static, *table.regular) if c.name != chunk_column]
        self._columns = [*self._keys, *others]
        self._statics = {column.name for column in table.static}
        self._static_row = {column.name for column in (*table.partition_key, *table.static)}
        self._types = {column.name: column.type for column in table.columns}
        self._binds: dict[str, tuple[Schema | None, Bind]] = {}

    def writes(self, record: Record, chunk: str | None = None) -> list[Write]:
        """Return the statements for a record, which may run in any order. `chunk` is written to the chunk column.

        SchemaError: the row lacks a key, has fields that the table lacks, or has a value that the column cannot hold.
        """
        if record.value is None:
            return self._deletions(record)
        row = self._members(record.value, "value")
        times = told_times(row, self._types)
        self._require_one_order(times)
        values = row if times is None else times.values
        unknown = [name for name in (*values, *(times.told if times is not None else ())) if name not in self._types]
        if unknown:
            raise UnknownColumnError(
                f"Table {self.table.title} has no column {', '.join(unknown)}.",
                fix="Leave the field out by the transform ReplaceField, or add the column. Where a column has another "
                "name, its fields writetime(column) and ttl(column) are renamed as well.",
            )
        keys = record.key if isinstance(record.key, Mapping) else {}
        found = {name: self._bound(name, values, keys, record) for name in self._columns}
        is_row = not self._is_static_alone(found)
        if not is_row:
            found = {name: value for name, value in found.items() if name in self._static_row}
        self._require_keys(found)
        if times is not None:
            untold = self._record_time(record) if self._is_by_records else _NOW
            timed = TimedRow(self.table, found, times.told, untold)
            mark = {} if chunk is None else {self._chunk_column: chunk}
            return timed.writes(mark) if is_row else timed.static_writes()
        # A partition's rows come by several tasks, so that one row's null must not remove the static value of another.
        left_out = set(found) if self._skip_nulls else self._statics if is_row else set()
        found = {name: value for name, value in found.items() if value is not None or name not in left_out}
        if chunk is not None and is_row:
            found[self._chunk_column] = chunk
        names = ", ".join(map(quoted, found))
        marks = ", ".join("?" * len(found))
        text = f"INSERT INTO {self._name} ({names}) VALUES ({marks}) USING TIMESTAMP ?"  # noqa: S608 - names are quoted
        has_list = any(found.get(name) is not None for name in self.table.appended_lists)
        return [Write(text, [*found.values()], len(found), is_row, is_repeatable=not has_list)]

    def _deletions(self, record: Record) -> list[Write]:
        if not isinstance(record.key, Mapping):
            raise SchemaError(
                f"A tombstone has no key of fields by which a row of {self.table.title} could be deleted.",
                fix=f"Give records a key with {', '.join(self._keys)}.",
            )
        found = {name: self._bound(name, {}, record.key, record) for name in self._keys}
        self._require_keys(found)
        if self._has_timed_rows and not self._is_by_records:
            raise self._no_order()
        self._has_deletions = True
        conditions = " AND ".join(f"{quoted(name)} = ?" for name in self._keys)
        text = f"DELETE FROM {self._name} USING TIMESTAMP ? WHERE {conditions}"  # noqa: S608 - names are quoted
        time_us = self._record_time(record).writetime_us if self._is_by_records else None
        made = [Write(text, [*found.values()], 0, is_row=False, writetime_us=time_us)]
        lists = [name for name in sorted(self.table.appended_lists) if name not in self._static_row]
        if self._is_by_records and lists:
            # These were written at the moment of sending, which may be later than the record's time.
            text = text.replace("DELETE", f"DELETE {', '.join(map(quoted, lists))}", 1)
            made.append(Write(text, [*found.values()], 0, is_row=False))
        return made

    def _require_one_order(self, times: TimedFields | None) -> None:
        """Raise SchemaError if the writetimes of rows cannot be compared with those of the topic's deletions."""
        if self._is_by_records and times is None:
            raise SchemaError(
                f"The row of {self.table.title} does not tell when it was written, so no tombstone could be compared "
                "with it by delete.times=record.",
                fix="Set write.times=true at the source, or delete.times=sending here.",
            )
        if times is not None and self._has_deletions and not self._is_by_records:
            raise self._no_order()
        self._has_timed_rows = self._has_timed_rows or times is not None

    def _no_order(self) -> SchemaError:
        return SchemaError(
            f"Rows for {self.table.title} tell when they were written, and tombstones come between them. With "
            "delete.times=sending a tombstone is newer than every such row, also than one that comes behind it.",
            fix="Set delete.times=record.",
        )

    def _record_time(self, record: Record) -> Written:
        if record.timestamp_ms is None:
            raise SchemaError("The record has no time, which delete.times=record needs.")
        return Written(record.timestamp_ms * 1000, FOR_EVER_S)

    def _is_static_alone(self, found: Mapping[str, Any]) -> bool:
        """Return True if the row only has static values of its partition: all of its clustering columns are null."""
        clustering = [column.name for column in self.table.clustering]
        statics = [column.name for column in self.table.static]
        return bool(clustering) and all(found[name] is None for name in clustering) and any(
            found.get(name) is not None for name in statics
        )  # fmt: skip

    @property
    def _name(self) -> str:
        return f"{quoted(self.table.keyspace)}.{quoted(self.table.name)}"

    def _bound(self, name: str, values: Mapping[str, Any], keys: Mapping[str, Any], record: Record) -> Any:
        inside, schema = (values, record.value_schema) if name in values else (keys, record.key_schema)
        bind = self._bind_of(name, None if schema is None else schema.field(name))
        # The record's key gives values to columns of the primary key only.
        return bind(inside.get(name)) if name in values or name in self._keys else None

    def _bind_of(self, name: str, schema: Schema | None) -> Bind:
        known = self._binds.get(name)
        if known is not None and known[0] is schema:
            return known[1]
        # Records of a batch share one schema object, so that all of its members are compared once in a batch.
        bind = known[1] if known is not None and known[0] == schema else bind_of(self._types[name], name, schema)
        self._binds[name] = schema, bind
        return bind

    def _members(self, value: object, what: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise SchemaError(f"The {what} is a {type(value).__name__}, and no row of {self.table.title}.")
        return value

    def _require_keys(self, found: Mapping[str, Any]) -> None:
        missing = [name for name in self._keys if name in found and found[name] is None]
        if missing:
            raise SchemaError(
                f"The row has no {', '.join(missing)}, which the primary key of {self.table.title} needs."
            )
