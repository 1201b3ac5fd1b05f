"""Builds io.confluent.connect.json.JsonSchemaConverter over columns."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from connect.api.errors import SchemaError
from connect.api.schema import Schema
from connect.convert.json.read import Reading as JsonReading
from connect.convert.json.write import Writing
from connect.convert.json_schema.config import JsonSchemaConfig
from connect.convert.json_schema.from_connect import json_schema_of
from connect.convert.json_schema.row_check import row_check
from connect.convert.json_schema.to_connect import connect_of
from connect.convert.json_schema.values import value_decoder, value_encoder
from connect.convert.plain.config import Coercion
from connect.convert.plain.header import ColumnHeaderConverter
from connect.convert.registry.client import Registered
from connect.convert.registry.converter import Encode, OwnSchema, Reading, References, RegistryConverter
from connect.convert.registry.framing import SIZE
from connect.convert.registry.schema_fit import check_fits
from connect.convert.vectors.cursor import Cursor
from connect.convert.vectors.pieces import Parts

JSON = "JSON"


def json_schema(config: JsonSchemaConfig, *, is_key: bool = False) -> RegistryConverter:
    """Return the converter for these settings. It asks the registry only when it first needs a schema."""
    return RegistryConverter(
        config, JsonSchemaFormat(config, is_key=is_key), is_key=is_key, cache_size=config.cache_size
    )


def json_schema_header(config: JsonSchemaConfig, *, is_key: bool = False) -> ColumnHeaderConverter:
    """Return the header converter for these settings."""
    return ColumnHeaderConverter(json_schema(config, is_key=is_key))


class JsonSchemaFormat:
    """Provides the `Format` of JSON Schema."""

    def __init__(self, config: JsonSchemaConfig, *, is_key: bool) -> None:
        self._config = config
        self._settings = config.settings
        self._is_key = is_key
        replace_null = not config.ignore_default_for_nullables
        java = config.coercion == Coercion.JAVA
        self._writing = Writing(self._settings.numeric_decimals, replace_null, java, embeds=True)
        self._reading = JsonReading(java=java, embeds=True)

    def own_schema(self, schema: Schema) -> OwnSchema:
        """See `Format`."""
        text = json.dumps(json_schema_of(schema, self._settings), separators=(",", ":"), ensure_ascii=False)
        return OwnSchema(Registered(text, JSON), schema.name)

    def encoder(self, schema: Schema, registered: Registered, references: References) -> Encode:
        """See `Format`."""
        config = self._config
        document, others = _documents(registered, references)
        strict = config.id_strict if config.use_schema_id >= 0 else config.latest_strict
        chosen = not config.auto_register and (config.use_schema_id >= 0 or config.use_latest)
        if chosen and strict:
            open_structs = document.get("additionalProperties", True) is not False
            check_fits(schema, connect_of(document, others, self._settings), open_structs=open_structs)
        encode = value_encoder(schema, self._writing, is_key=self._is_key)
        if not config.fail_invalid_schema:
            return encode
        check = row_check(document, others)

        def encode_checked(array: pa.Array) -> Parts:
            parts = encode(array)
            check(parts[0])
            return parts

        return encode_checked

    def reading(self, registered: Registered, references: References, version: int | None) -> Reading:
        """See `Format`."""
        document, others = _documents(registered, references)
        schema = connect_of(document, others, self._settings, version=version)
        decode = value_decoder(schema, self._reading)
        check = row_check(document, others) if self._config.fail_invalid_schema else None

        def read(data: pa.BinaryArray) -> pa.Array:
            cursor = Cursor.over(data, SIZE)
            payloads = cursor.take_bytes(cursor.end - cursor.at)
            if check is not None:
                check(payloads)
            return decode(payloads)

        return Reading(schema, read, document.get("title"))


def _documents(registered: Registered, references: References) -> tuple[Any, dict[str, Any]]:
    if registered.kind != JSON:
        raise SchemaError(
            f"Schema id {registered.schema_id} is {registered.kind}, not a JSON Schema.",
            fix="Use the converter of that format.",
        )
    try:
        document = json.loads(registered.text)
        return document, {name: json.loads(referred.text) for name, referred in references}
    except ValueError as error:
        raise SchemaError(f"This is no JSON Schema ({error}): {registered.text:.200}") from error
