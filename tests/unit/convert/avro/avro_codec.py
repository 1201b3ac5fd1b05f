"""Checks the Avro codec without a registry: what the converter does between its frame and the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from connect.api.records import Column
from connect.api.schema import Schema
from connect.convert.avro.decode import decoder
from connect.convert.avro.encode import encoder
from connect.convert.avro.from_connect import avro_of
from connect.convert.avro.model import AvroType, avro_text, parse_avro
from connect.convert.avro.settings import AvroSettings
from connect.convert.avro.to_connect import connect_of
from connect.convert.vectors.cursor import Cursor
from connect.convert.vectors.pieces import joined, with_array

PLAIN = AvroSettings()


def own_text(schema: Schema, settings: AvroSettings = PLAIN) -> str:
    """The JSON that the schema is registered as."""
    return avro_text(avro_of(schema, settings))


def encoded(schema: Schema, rows: Sequence[Any], avro: AvroType | None = None) -> list[bytes]:
    """The Avro bytes of rows, none of which may be null."""
    array = Column.from_rows(rows, schema).arrow()
    parts = encoder(schema, avro or parse_avro(own_text(schema)), PLAIN)(array)
    return joined(with_array(parts, len(array))).to_pylist()


def decoded(avro: AvroType, data: Sequence[bytes], settings: AvroSettings = PLAIN) -> tuple[Schema, pa.Array, dict]:
    """The schema, the column and the failures by row."""
    schema = connect_of(avro, settings)
    cursor = Cursor.over(pa.array(data, pa.binary()))
    array = decoder(schema, avro, settings)(cursor)
    cursor.expect_end()
    assert np.array_equal(cursor.rows, np.arange(len(data)))
    return schema, array, cursor.failures


def rows_of(array: pa.Array) -> list[Any]:
    return array.to_pylist(maps_as_pydicts="strict")
