"""Makes the keys of rows by primary.key.mode, each mode as an object behind one interface. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from connect.api import schema as s
from connect.api.arrow import connect_schema
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Header
from connectors.jdbc.sink.debezium.structs import Chosen, part_of

if TYPE_CHECKING:
    from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig

_MODE: Final = "primary.key.mode"
_FIELDS: Final = "primary.key.fields"
_KAFKA: Final = s.struct(
    {"__connect_topic": s.STRING, "__connect_partition": s.INT32, "__connect_offset": s.INT64}
)  # fmt: skip


class RowKeys(Protocol):
    """Makes the keys of a batch's rows."""

    def of(self, batch: Batch, rows: Column) -> Column | None:
        """Return a struct for each row, whose fields are columns of the row's key; None if rows have no key.

        `rows` are the batch's rows after each change. SchemaError: the records have no such keys.
        """


class NoKeys:
    """Makes no keys."""

    def of(self, batch: Batch, rows: Column) -> Column | None:
        """Return None."""
        del batch, rows
        return None


class EveryRow:
    """Makes keys without a field, by which each row of the table is found."""

    def of(self, batch: Batch, rows: Column) -> Column | None:
        """Return empty structs."""
        del rows
        return Column.from_arrow(pa.array([{}] * len(batch), pa.struct([])), s.struct({}))


class KafkaKeys:
    """Makes keys of the places of records in Kafka."""

    def of(self, batch: Batch, rows: Column) -> Column | None:
        """Return topic, partition and offset of each record."""
        del rows
        assert batch.consumed is not None
        size, place = len(batch), batch.consumed.topic_partition
        parts = [
            pa.repeat(pa.scalar(batch.topic), size), pa.repeat(pa.scalar(place.partition, pa.int32()), size),
            batch.consumed.offsets,
        ]  # fmt: skip
        return Column.from_arrow(pa.StructArray.from_arrays(parts, [f.name for f in _KAFKA.fields]), _KAFKA)


class RecordKeys:
    """Makes keys of the records' keys."""

    def __init__(self, fields: tuple[str, ...], chosen: Callable[[str], Chosen]) -> None:
        self._fields = fields
        self._chosen = chosen

    def of(self, batch: Batch, rows: Column) -> Column | None:
        """Return the fields of the records' keys, or the one field of keys that are no structs."""
        del rows
        if batch.keys is None or batch.keys.arrow().null_count == len(batch):
            raise SchemaError("The record has no key.", key=_MODE, fix="Choose another primary.key.mode.")
        keys = batch.keys
        schema = keys.schema or connect_schema(keys.arrow().type)
        if schema.type is s.Type.STRUCT:
            return part_of(keys, schema, self._chosen(batch.topic))
        if len(self._fields) != 1:
            raise SchemaError(
                f"The key is of type {schema.type}, so that primary.key.fields must have the one name of its column; "
                f"it has {len(self._fields)}.", key=_FIELDS,
            )  # fmt: skip
        array, made = keys.arrow(), s.struct({self._fields[0]: schema.as_optional()}, optional=True)
        field = pa.field(self._fields[0], array.type)
        return Column.from_arrow(pa.StructArray.from_arrays([array], fields=[field], mask=array.is_null()), made)


class ValueKeys:
    """Makes keys of fields of the values."""

    def __init__(self, chosen: Callable[[str], Chosen]) -> None:
        self._chosen = chosen

    def of(self, batch: Batch, rows: Column) -> Column | None:
        """Return fields of the rows."""
        schema = rows.schema or connect_schema(rows.arrow().type)
        return part_of(rows, schema, self._chosen(batch.topic))


class HeaderKeys:
    """Makes keys of the records' headers."""

    def of(self, batch: Batch, rows: Column) -> Column | None:
        """Return the headers as structs.

        SchemaError: a record has none, one of them twice, or others than the first record or of other types.
        """
        del rows
        headers = batch.headers or [()] * len(batch)
        if not headers[0]:
            raise SchemaError("The record has no header, and primary.key.mode=record_header needs some.", key=_MODE)
        kinds = [{header.key: _schema(header) for header in of_row} for of_row in headers]
        if any(len(kind) < len(of_row) for kind, of_row in zip(kinds, headers, strict=True)):
            raise SchemaError("A header of the record comes twice, and a column of the key has one value.", key=_MODE)
        if any(kind != kinds[0] for kind in kinds):
            raise SchemaError("The record has other headers than the ones before it, and so another key.", key=_MODE)
        found = [{header.key: header.value for header in of_row} for of_row in headers]
        return Column.from_rows(found, s.struct(kinds[0]))


def _schema(header: Header) -> s.Schema:
    return header.schema or connect_schema(pa.array([header.value]).type, optional=False)


def row_keys(config: DebeziumSinkConfig, filtered: Callable[[str], Chosen]) -> RowKeys:
    """Return what makes the keys. `filtered` tells for a topic which fields are written."""
    named = frozenset(config.key_fields)

    def chosen(topic: str) -> Chosen:
        return named.__contains__ if named else filtered(topic)

    modes: dict[str, RowKeys] = {
        "none": EveryRow() if config.changes_all else NoKeys(),
        "kafka": KafkaKeys(), "record_key": RecordKeys(config.key_fields, chosen),
        "record_value": ValueKeys(chosen), "record_header": HeaderKeys(),
    }  # fmt: skip
    return modes[config.key_mode]
