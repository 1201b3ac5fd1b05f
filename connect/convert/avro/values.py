"""Encodes values in Avro's binary form without a registry, for files; schemas as Confluent's AvroData maps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from connect import native
from connect.api.schema import Schema
from connect.convert.avro.encode import Encoder, encoder
from connect.convert.avro.from_connect import avro_of
from connect.convert.avro.model import avro_text, parse_avro
from connect.convert.avro.native_plan import plan_of
from connect.convert.avro.settings import AvroSettings
from connect.convert.vectors import pieces as p


@dataclass(frozen=True, slots=True)
class AvroFileValues:
    """Provides `connect.api.codec.AvroValues`."""

    schema_text: str
    _encode: Encoder
    _plan: bytes | None

    def encode(self, values: pa.Array) -> pa.BinaryArray:
        """See `AvroValues`."""
        whole = None if self._plan is None else native.encode_avro(values, self._plan, prefix=b"")
        return p.joined(p.with_array(self._encode(values), len(values))) if whole is None else whole


def avro_values(schema: Schema, properties: Mapping[str, str]) -> AvroFileValues:
    """Return the means to write values of a schema to Avro files. SchemaError where the schema has no form in Avro."""
    settings = AvroSettings(
        enhanced=properties.get("enhanced.avro.schema.support") == "true",
        meta_data=properties.get("connect.meta.data", "true") == "true",
        allow_optional_map_keys=properties.get("allow.optional.map.keys") == "true",
    )
    required = schema.as_optional(False)
    text = avro_text(avro_of(required, settings))
    parsed = parse_avro(text)
    plan = None if native.module() is None else plan_of(required, parsed, settings)
    return AvroFileValues(text, encoder(required, parsed, settings), plan)
