"""Converts columns as org.apache.kafka.connect.json.JsonConverter does, and rows where columns are not exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connect import native
from connect.api.arrow import connect_schema
from connect.api.arrow_rows import rows_from_arrow
from connect.api.errors import ConfigError, RejectedRowsError, SchemaError
from connect.api.records import Column
from connect.api.schema import Schema
from connect.convert.json.decode import decode_columns
from connect.convert.json.encode import encode_columns, may_differ_from_java
from connect.convert.json.envelope import CLOSE, EnvelopeCache, open_envelope
from connect.convert.json.envelope_runs import Run, runs_of
from connect.convert.json.infer import SchemalessReader, read_rows
from connect.convert.json.native import encode_native
from connect.convert.json.read import Reading, reader
from connect.convert.json.schema_text import parse_schema
from connect.convert.json.text import Node, read_exact, read_lenient, reason
from connect.convert.json.write import Writing, writer
from connect.convert.plain.columns import NotColumnarError
from connect.convert.plain.config import Coercion, JsonConfig
from connect.convert.plain.header import ColumnHeaderConverter
from connect.convert.plain.rows import each


def json(config: JsonConfig, *, is_key: bool) -> JsonConverter:
    """Return the converter for these settings."""
    return JsonConverter(config, is_key=is_key)


def json_header(config: JsonConfig, *, is_key: bool = False) -> ColumnHeaderConverter:
    """Return the header converter for these settings."""
    return ColumnHeaderConverter(json(config, is_key=is_key))


class JsonConverter:
    """Converts columns to JSON bytes and back. Owned by one task thread.

    A null row is a tombstone and becomes null bytes, whatever its schema, as a Column has one kind of null. Java writes
    the four bytes `null`, an envelope with a null payload, or the schema's default, as `encode_row` does.

    A key has Java's bytes, as partitions and compaction go by them. So has a value with a schema, unless it holds
    decimals as numbers.
    """

    def __init__(self, config: JsonConfig, *, is_key: bool = False) -> None:
        self._is_key = is_key
        java = config.coercion == Coercion.JAVA
        self._reading = Reading(config.replace_null_with_default, java)
        self._writing = Writing(
            config.numeric_decimals, config.replace_null_with_default, java, embeds=not config.schemas_enable
        )
        self._enveloped = config.schemas_enable
        self._cache = EnvelopeCache(config.schemas_cache_size, self._reading, self._writing)
        self._schemaless = SchemalessReader(self._reading)
        self._fixed = _fixed_schema(config, self._reading)

    def encode(self, topic: str, column: Column) -> pa.BinaryArray:  # noqa: ARG002 - a registry converter needs it
        """Return one JSON text per row, null for a null row."""
        prefix = self._cache.prefix_of(column.schema) if self._enveloped else b""
        texts = self._encode_columns(column, prefix)
        if texts is not None:
            return texts
        write = writer(column.schema, self._writing)
        return self._in_envelope(pa.array(each(column.rows(), lambda row: write(row).encode()), pa.binary()), prefix)

    def encode_row(self, schema: Schema | None, value: object) -> bytes | None:
        """Encode one value as Java's `fromConnectData` does; return None only when value and schema are both null."""
        if schema is None and value is None:
            return None
        payload = writer(schema, self._writing)(value).encode()
        return self._cache.prefix_of(schema) + payload + CLOSE if self._enveloped else payload

    def decode(self, topic: str, data: pa.BinaryArray) -> Sequence[Column]:  # noqa: ARG002 - of the protocol
        """Return one column for each run of rows that share a schema."""
        if not self._enveloped or self._fixed is not None:
            return [self._decode_payloads(data, self._fixed)]
        columns = []
        rejected: dict[int, Exception] = {}
        for run in runs_of(data, self._cache):
            try:
                columns += self._decode_run(data.slice(run.start, len(run)), run)
            except RejectedRowsError as error:
                rejected |= {run.start + row: reason for row, reason in error.rows.items()}
        if rejected:
            raise RejectedRowsError(rejected)
        return columns

    def _encode_columns(self, column: Column, prefix: bytes = b"") -> pa.BinaryArray | None:
        """Encode a whole column; return None when the row path has to write the rows, or name those that do not fit."""
        unlike_java = self._is_key and may_differ_from_java(column.schema)
        if unlike_java or not (column.is_arrow or column.schema is not None):
            return None
        try:
            array = column.arrow()
            schema = column.schema or connect_schema(array.type)
            suffix = CLOSE if prefix else b""
            texts = encode_native(array, schema, self._writing, prefix=prefix, suffix=suffix)
            if texts is not None:
                return texts
            return self._in_envelope(encode_columns(array, schema, self._writing), prefix)
        except (NotColumnarError, SchemaError):
            return None

    def _in_envelope(self, payloads: pa.BinaryArray, prefix: bytes) -> pa.BinaryArray:
        if not prefix:
            return payloads
        return pc.binary_join_element_wise(pa.scalar(prefix), payloads, pa.scalar(CLOSE), pa.scalar(b""))

    def _decode_run(self, data: pa.BinaryArray, run: Run) -> list[Column]:
        if run.prefix is None:
            return _columns_of(each(data.to_pylist(), self._envelope))
        return [self._decode_payloads(data, run.prefix.schema, offset=len(run.prefix.text))]

    def _decode_payloads(self, data: pa.BinaryArray, schema: Schema | None, *, offset: int = 0) -> Column:
        """Return the payloads as a column of one schema.

        The payload of a row starts at `offset`; an envelope's last byte is no part of it.
        """
        columnar = None
        if data.null_count < len(data):
            columnar = self._decode_columns(_payloads(data, offset), schema)
        if columnar is not None:
            return columnar
        try:
            return Column.from_rows(self._decode_rows(data, schema, enveloped=offset > 0), schema)
        except RejectedRowsError as error:
            if schema is None:
                raise
            return self._decode_apart(data, schema, offset, error)

    def _decode_apart(self, data: pa.BinaryArray, schema: Schema, offset: int, refused: RejectedRowsError) -> Column:
        """Decode the rows that have no Python form as columns, as dates of years beyond 9999. What a row is must not
        depend on those that are read with it.

        RejectedRowsError names the rows that have neither form.
        """
        found = {row: self._decode_columns(_payloads(data.slice(row, 1), offset), schema) for row in refused.rows}
        bad = {row: reason for row, reason in refused.rows.items() if found[row] is None}
        if bad:
            raise RejectedRowsError(bad) from refused
        pieces: list[pa.Array] = []
        begin = 0
        for row, column in [*sorted(found.items()), (len(data), None)]:
            if row > begin:
                rows = self._decode_rows(data.slice(begin, row - begin), schema, enveloped=offset > 0)
                pieces.append(Column.from_rows(rows, schema).arrow())
            if column is not None:
                pieces.append(column.arrow())
            begin = row + 1
        array = pa.concat_arrays(pieces)
        return Column(schema, len(array), arrow=lambda: array, rows=lambda: rows_from_arrow(array))

    def _decode_columns(self, payloads: pa.BinaryArray, schema: Schema | None) -> Column | None:
        """Decode whole columns; return None when the row path has to decide."""
        try:
            if schema is None:
                array, is_whole, is_compact = self._schemaless.read(payloads)
                # Java's doubles have no -0.0, so its rows are read one by one.
                java = self._reading.java
                rows = (lambda: self._decode_rows(payloads, None, enveloped=False)) if java else None
                # The rows that were read are JSON, so their own text, on one line, is the fastest to write.
                texts = None if java else lambda: payloads if is_compact else native.compact_json(payloads)
                return Column(
                    None, len(array), arrow=lambda: array, rows=rows or (lambda: read_rows(payloads)), json=texts,
                    is_whole=is_whole,
                )  # fmt: skip
            array = decode_columns(payloads, schema, self._reading)
            return Column(schema, len(array), arrow=lambda: array, rows=lambda: rows_from_arrow(array))
        except (NotColumnarError, SchemaError, RecursionError):
            return None

    def _decode_rows(self, data: pa.BinaryArray, schema: Schema | None, *, enveloped: bool) -> list[Any]:
        read = reader(schema, self._reading)
        if enveloped:
            return each(data.to_pylist(), lambda row: read(open_envelope(self._parse(row))[1]))
        return each(data.to_pylist(), lambda row: read(self._parse(row)))

    def _parse(self, row: bytes) -> Node:
        """Return the JSON value of a row; no value at all counts as null where no envelope is wanted, as in Java."""
        try:
            if self._reading.java:
                return read_lenient(row)
            return read_exact(row) if row.strip(b" \t\r\n") else None
        except LookupError:
            return None
        except ValueError as error:
            message = f"Converting byte[] to Kafka Connect data failed due to serialization error: {reason(error)}."
            raise SchemaError(message) from None

    def _envelope(self, row: bytes) -> tuple[Schema | None, Any]:
        schema_node, payload = open_envelope(self._parse(row))
        schema = parse_schema(schema_node, self._reading)
        return schema, reader(schema, self._reading)(payload)


def _payloads(data: pa.BinaryArray, offset: int) -> pa.BinaryArray:
    return pc.binary_slice(data, offset, -len(CLOSE)) if offset else data


def _fixed_schema(config: JsonConfig, reading: Reading) -> Schema | None:
    if config.schema_content is None or not config.schemas_enable:
        return None
    try:
        return parse_schema(read_exact(config.schema_content.encode()), reading)
    except (ValueError, SchemaError) as error:
        raise ConfigError(f"schema.content is no schema: {error}", key="schema.content") from error


def _columns_of(rows: Sequence[tuple[Schema | None, Any] | None]) -> list[Column]:
    """Return consecutive rows of equal schema as columns; null rows join the column before them, or the first one."""
    first = next((row for row in rows if row is not None), None)
    schema = None if first is None else first[0]
    columns: list[Column] = []
    values: list[Any] = []
    for row in rows:
        if row is not None and row[0] != schema:
            columns.append(Column.from_rows(values, schema))
            schema, values = row[0], []
        values.append(None if row is None else row[1])
    return [*columns, Column.from_rows(values, schema)]
