"""Tells what a batch of change events or plain records does to tables. Pure.

Source of the rules: JdbcChangeEventSink and KafkaDebeziumSinkRecord of Debezium 3.6.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.errors import ConnectError, SchemaError
from connect.api.records import Batch, Column
from connect.lib.javatext.regex import compile_pattern
from connectors.jdbc.sink.debezium.keys import row_keys
from connectors.jdbc.sink.debezium.names import TableNames
from connectors.jdbc.sink.debezium.structs import Chosen, member, part_of, renamed
from connectors.jdbc.sink.debezium.value_forms import ValueForms

if TYPE_CHECKING:
    from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig

_log = logging.getLogger(__name__)
_PLAIN, _DELETE, _TRUNCATE = "", "d", "t"
_SCHEMA_CHANGE: Final = "SchemaChangeValue"


@dataclass(frozen=True, slots=True)
class Part:
    """Holds rows of a batch that go to one table, with their numbers in the batch.

    The topic of `rows` is the table's name, their keys are structs of the row's key, and a null value is a delete.
    With `empties` there are no rows: the table is emptied.
    """

    rows: Batch
    numbers: Sequence[int]
    empties: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """Holds the parts of a batch in their order, and why other rows of it are bad. What is left out is in neither."""

    parts: Sequence[Part]
    bad: dict[int, Exception] = field(default_factory=dict)


class Events:
    """Takes batches apart by the settings of one sink. Stateless."""

    def __init__(self, config: DebeziumSinkConfig, forms: ValueForms) -> None:
        self._config = config
        self._forms = forms
        self._names = TableNames(config.name_format, keeps_dots=config.keeps_dots)
        self._keys = row_keys(config, self._chosen)
        self._is_cloud_event = compile_pattern(config.cloud_events_pattern).fullmatch

    @property
    def have_several_tables(self) -> bool:
        """Return True if rows of one partition may go to several tables."""
        return self._names.are_of_source

    def work(self, batch: Batch) -> Work:
        """Return what the batch does."""
        schema = batch.values.schema
        if schema is not None and _SCHEMA_CHANGE in (schema.name or ""):
            _log.warning(
                "Statements that change tables are no rows, and are left out: take topic %s from topics.", batch.topic
            )
            return Work(())
        if schema is not None and self._is_cloud_event(schema.name or ""):
            batch = replace(batch, values=_data_of(batch.values, schema))
            schema = batch.values.schema
        event = schema if schema is not None and _is_envelope(schema) else None
        operations = _of_plain(batch.values) if event is None else _operations(batch.values, event)
        tables = self._tables(batch, event)
        given = batch if event is None else replace(batch, values=_rows_after(batch.values, event))
        bad = {} if event is None else _bad_events(batch.values, given.values, operations, tables)
        kept = [
            number
            for number, operation in enumerate(operations)
            if number not in bad and self._is_wanted(operation) and tables[number] is not None
        ]
        return Work(list(self._parts(given, kept, operations, tables)), bad)

    def _is_wanted(self, operation: str) -> bool:
        if operation == _TRUNCATE:
            return self._config.truncate_enabled
        return self._config.delete_enabled or operation != _DELETE

    def _tables(self, batch: Batch, event: s.Schema | None) -> Sequence[str | None]:
        if not self._names.are_of_source:
            return [self._names.of_topic(batch.topic)] * len(batch)
        if event is None or event.field("source") is None:
            _log.warning("Records of topic %s are no events, and no source names their table: left out.", batch.topic)
            return [None] * len(batch)
        return self._names.of_events(batch.topic, member(batch.values.arrow(), event, "source"))

    def _parts(
        self, batch: Batch, kept: Sequence[int], operations: Sequence[str], tables: Sequence[str | None]
    ) -> Iterator[Part]:
        """Yield the rows by their tables. A table is emptied behind the rows that come before that."""
        waiting: dict[str, list[int]] = {}
        for number in kept:
            table = tables[number]
            assert table is not None
            if operations[number] != _TRUNCATE:
                waiting.setdefault(table, []).append(number)
                continue
            yield from self._made(batch, waiting)
            waiting = {}
            yield Part(replace(batch.take([number]), topic=table), [number], empties=True)
        yield from self._made(batch, waiting)

    def _made(self, batch: Batch, waiting: dict[str, list[int]]) -> Iterator[Part]:
        for table, numbers in waiting.items():
            rows = batch if len(numbers) == len(batch) else batch.take(numbers)
            yield Part(replace(self._flat(rows), topic=table), numbers)

    def _flat(self, batch: Batch) -> Batch:
        """Return the rows with their keys, only with the fields that are written, by the names of their columns."""
        keys = self._keys.of(batch, batch.values)
        if keys is not None and self._config.finds_rows and not (keys.schema and keys.schema.fields):
            raise ConnectError(
                f"The key of rows of topic {batch.topic} has no field, so that no row is found by it.",
                key="primary.key.fields", fix="Name fields that it has there, or leave them in field.include.list.",
            )  # fmt: skip
        values = batch.values
        if values.schema is not None and values.schema.type is s.Type.STRUCT:
            values = self._named(part_of(values, values.schema, self._chosen(batch.topic)))
        return replace(batch, values=values, keys=None if keys is None else self._named(keys))

    def _named(self, column: Column) -> Column:
        assert column.schema is not None
        formed = self._forms.formed(column, column.schema)
        if self._config.quote_identifiers:
            return formed
        assert formed.schema is not None
        return renamed(formed, formed.schema, str.lower)

    def _chosen(self, topic: str) -> Chosen:
        """Return what tells by a field's name if it is written."""
        included, excluded = self._config.field_include, self._config.field_exclude
        return partial(_is_chosen, topic, included or excluded, bool(included)) if included or excluded else _every


def _every(name: str) -> bool:
    del name
    return True


def _is_chosen(topic: str, entries: Sequence[str], includes: bool, name: str) -> bool:
    is_listed = any([part.strip() for part in entry.split(":")] in ([name], [topic, name]) for entry in entries)
    return is_listed == includes


def _data_of(column: Column, schema: s.Schema) -> Column:
    """Return the data of CloudEvents, which are change events or rows. SchemaError: an event has none."""
    data = schema.field("data")
    if data is None or data.type is not s.Type.STRUCT:
        raise SchemaError(
            "The data of the CloudEvent is no struct.", field="data",
            fix="Use a converter that reads it as one, or set cloud.events.schema.name.pattern so that it is a row.",
        )  # fmt: skip
    found = member(column.arrow(), schema, "data")
    if found.null_count > column.arrow().null_count:
        raise SchemaError("The CloudEvent has no data.", field="data")
    return Column.from_arrow(found, data.as_optional())


def _is_envelope(schema: s.Schema) -> bool:
    if schema.type is not s.Type.STRUCT:
        return False
    return schema.name.endswith(".Envelope") if schema.name else schema.field("op") is not None


def _operations(column: Column, schema: s.Schema) -> Sequence[str]:
    """Return the operation of each event; that of a tombstone is a delete."""
    array = column.arrow()
    operations: list[str | None] = member(array, schema, "op").to_pylist()
    nulls: list[bool] = array.is_null().to_pylist()
    return [_DELETE if null else operation or _PLAIN for null, operation in zip(nulls, operations, strict=True)]


def _of_plain(column: Column) -> Sequence[str]:
    if column.is_arrow:
        nulls: list[bool] = column.arrow().is_null().to_pylist()
        return [_DELETE if null else _PLAIN for null in nulls]
    return [_DELETE if row is None else _PLAIN for row in column.rows()]


def _rows_after(column: Column, event: s.Schema) -> Column:
    """Return the row after each change; a null is a delete."""
    schema = event.field("after")
    if schema is None:
        raise SchemaError("The event has no field after, so that it tells no row.")
    array, deletes = member(column.arrow(), event, "after"), pc.equal(member(column.arrow(), event, "op"), _DELETE)
    if pc.any(deletes).as_py():
        places = pa.array(range(len(array)), pa.int64())
        array = array.take(pc.if_else(pc.fill_null(deletes, False), pa.scalar(None, pa.int64()), places))
    return Column.from_arrow(array, schema.as_optional())


def _bad_events(
    events: Column, rows: Column, operations: Sequence[str], tables: Sequence[str | None]
) -> dict[int, Exception]:
    """Return why events are bad: they have no row although they are no delete, or no source that names their table."""
    bad: dict[int, Exception] = {}
    there, lacks = events.arrow().is_valid().to_pylist(), rows.arrow().is_null().to_pylist()
    for number, operation in enumerate(operations):
        if there[number] and tables[number] is None:
            bad[number] = SchemaError(
                "The event's source lacks a text that the table is named by.", key="collection.name.format"
            )
        elif lacks[number] and operation not in {_DELETE, _TRUNCATE}:
            bad[number] = SchemaError(f"The event of operation {operation!r} has no row after the change.")
    return bad
