"""Converts whole columns from and to Avro, as io.confluent.connect.avro.AvroConverter converts single records."""

from __future__ import annotations

import pyarrow as pa

from connect import native
from connect.api.arrow import arrow_type
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.schema import Schema
from connect.convert.avro.config import AvroConfig
from connect.convert.avro.decode import decode_raw_bytes, decoder
from connect.convert.avro.encode import encode_raw_bytes, encoder
from connect.convert.avro.from_connect import avro_of
from connect.convert.avro.model import AvroType, Names, avro_text, parse_avro
from connect.convert.avro.native_plan import plan_of, reading_plan_of
from connect.convert.avro.settings import AvroSettings
from connect.convert.avro.to_connect import connect_of
from connect.convert.plain.header import ColumnHeaderConverter
from connect.convert.registry.client import Registered
from connect.convert.registry.converter import Encode, OwnSchema, Reading, References, RegistryConverter, WholeEncode
from connect.convert.registry.framing import SIZE
from connect.convert.vectors.cursor import Cursor


def avro(config: AvroConfig, *, is_key: bool = False) -> RegistryConverter:
    """Return the converter for these settings. It asks the registry only when it first needs a schema."""
    return RegistryConverter(config, AvroFormat(config.settings), is_key=is_key, cache_size=config.cache_size)


def avro_header(config: AvroConfig, *, is_key: bool = False) -> ColumnHeaderConverter:
    """Return the header converter for these settings."""
    return ColumnHeaderConverter(avro(config, is_key=is_key))


class AvroFormat:
    """Provides the `Format` of Avro.

    Where the whole schema is bytes, the bytes are written without their length, as Confluent's converter does.
    """

    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings

    def own_schema(self, schema: Schema) -> OwnSchema:
        """See `Format`."""
        made = avro_of(schema, self._settings)
        return OwnSchema(Registered(avro_text(made)), made.name or None)

    def encoder(self, schema: Schema, registered: Registered, references: References) -> Encode:
        """See `Format`."""
        parsed = _parsed(registered, references)
        if parsed.kind == "bytes":
            return encode_raw_bytes(schema)
        encode, plan = encoder(schema, parsed, self._settings), plan_of(schema, parsed, self._settings)
        if plan is None or native.module() is None:
            return encode
        return WholeEncode(encode, lambda array, before: native.encode_avro(array, plan, prefix=before))

    def reading(self, registered: Registered, references: References, version: int | None) -> Reading:
        """See `Format`."""
        parsed = _parsed(registered, references)
        schema = connect_of(parsed, self._settings, version=version)
        decode = decode_raw_bytes(schema) if parsed.kind == "bytes" else decoder(schema, parsed, self._settings)

        target, plan = arrow_type(schema), reading_plan_of(schema, parsed)

        def read(data: pa.BinaryArray) -> pa.Array:
            made = None if plan is None else native.decode_avro(data, target, plan, head=SIZE)
            if made is not None:
                return made
            cursor = Cursor.over(data, SIZE)
            array = decode(cursor)
            cursor.expect_end()
            if cursor.failures:
                raise RejectedRowsError(
                    {
                        row: SchemaError(f"The record is no value of its Avro schema: {reason}.")
                        for row, reason in cursor.failures.items()
                    }
                )
            return array

        return Reading(schema, read, parsed.name or None)


def _parsed(registered: Registered, references: References) -> AvroType:
    if registered.kind != "AVRO":
        raise SchemaError(
            f"Schema id {registered.schema_id} is a {registered.kind} schema, not an Avro schema.",
            fix="Use the converter of that format.",
        )
    names: Names = {}
    for _, referred in references:
        parse_avro(referred.text, names)
    return parse_avro(registered.text, names)
