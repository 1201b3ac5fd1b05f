"""The values that formats lose most often, in every format: written and read back as what they were."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.records import Column
from connect.api.schema import Schema, Type
from connect.convert.avro.model import parse_avro
from connect.convert.json.converter import JsonConverter
from connect.convert.json.read import Reading
from connect.convert.json.write import Writing
from connect.convert.json_schema.from_connect import json_schema_of
from connect.convert.json_schema.settings import JsonSchemaSettings
from connect.convert.json_schema.to_connect import connect_of
from connect.convert.json_schema.values import value_decoder, value_encoder
from connect.convert.plain.config import JsonConfig
from connect.convert.protobuf.from_connect import proto_text
from connect.convert.vectors.pieces import joined
from connect.testing.equality import difference
from tests.unit.convert.avro import avro_codec
from tests.unit.convert.protobuf import proto_codec

MOST = 10**38 - 1
MICRO, NANO, ZONED = (
    Schema(kind, name=f"io.debezium.time.{name}", version=1)
    for kind, name in ((Type.INT64, "MicroTimestamp"), (Type.INT64, "NanoTimestamp"), (Type.STRING, "ZonedTimestamp"))
)
UTC = dt.UTC
EDGES: dict[str, tuple[Schema, list[Any]]] = {
    "beyond a double": (s.INT64, [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]),
    "38 digits": (s.decimal(0, precision=38), [Decimal(MOST), Decimal(-MOST), Decimal(0)]),
    "38 digits behind the point": (s.decimal(38, precision=38), [Decimal(f"-0.{MOST}"), Decimal("1e-38")]),
    "no number": (s.FLOAT64, [math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308]),
    "no 32-bit number": (s.FLOAT32, [math.nan, -math.inf, -0.0, 3.4028234663852886e38]),
    "empty and null text": (s.STRING.as_optional(), ["", None, "null", "\x00"]),
    "empty and null bytes": (s.BYTES.as_optional(), [b"", None, b"\x00\xff"]),
    "characters of 4 bytes": (s.STRING, ["\U0001f600", "\U0010ffff\ud7ff", "é漢\U00020000"]),
    "the first and last day": (s.DATE_SCHEMA, [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31)]),
    "the first and last moment": (
        s.TIMESTAMP_SCHEMA,
        [dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999000, UTC),
         dt.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)],
    ),
    "the first and last time": (s.TIME_SCHEMA, [dt.time(0), dt.time(23, 59, 59, 999000)]),
    "a mebibyte": (s.BYTES, [bytes(range(256)) * 4096, b""]),
    "microseconds": (MICRO, [2**53 + 1, -1, -62_135_596_800_000_000]),
    "nanoseconds": (NANO, [2**53 + 1, -(2**63), 2**63 - 1]),
    "a moment with its zone": (ZONED, ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999+14:00"]),
}  # fmt: skip
Codec = Callable[[Column], tuple[Schema | None, list[Any]]]


def _json(**settings: str) -> Codec:
    def through(column: Column) -> tuple[Schema | None, list[Any]]:
        converter = JsonConverter(JsonConfig.parse({k.replace("_", "."): v for k, v in settings.items()}))
        (back,) = converter.decode("t", converter.encode("t", column))
        return back.schema, list(back.rows())

    return through


def _avro(column: Column) -> tuple[Schema | None, list[Any]]:
    assert column.schema is not None
    avro = parse_avro(avro_codec.own_text(column.schema))
    schema, array, failures = avro_codec.decoded(avro, avro_codec.encoded(column.schema, column.rows()))
    assert not failures
    return schema, list(Column.from_arrow(array, schema).rows())


def _protobuf(column: Column) -> tuple[Schema | None, list[Any]]:
    assert column.schema is not None
    message = proto_codec.compiled(proto_text(column.schema, proto_codec.NULLABLE)).first
    schema, array, failures = proto_codec.decoded(message, proto_codec.encoded(column.schema, column.rows()))
    assert not failures
    return schema, list(Column.from_arrow(array, schema).rows())


def _json_schema(column: Column) -> tuple[Schema | None, list[Any]]:
    assert column.schema is not None
    text = json.dumps(json_schema_of(column.schema, JsonSchemaSettings()))
    schema = connect_of(json.loads(text), {}, JsonSchemaSettings())
    array = column.arrow()
    written = joined(value_encoder(column.schema, Writing(embeds=True), is_key=False)(array))
    return schema, list(Column.from_arrow(value_decoder(schema, Reading(embeds=True))(written), schema).rows())


def _arrow(column: Column) -> tuple[Schema | None, list[Any]]:
    return column.schema, list(Column.from_arrow(column.arrow(), column.schema).rows())


CODECS: dict[str, Codec] = {
    "Arrow": _arrow, "JSON": _json(), "JSON with decimals as numbers": _json(decimal_format="NUMERIC"),
    "Avro": _avro, "Protobuf": _protobuf, "JSON Schema": _json_schema,
}  # fmt: skip


@pytest.mark.parametrize("form", ["rows", "columns"])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("edge", EDGES)
def test_an_edge_value_comes_back_as_what_it_was(edge: str, codec: str, form: str) -> None:
    field, values = EDGES[edge]
    schema = s.struct({"v": field, "many": s.array(field.as_optional(False))}, name="Edges")
    rows = [{"v": value, "many": [v for v in values if v is not None]} for value in values]
    given = Column.from_rows(rows, schema)
    if form == "columns":
        given = Column.from_arrow(given.arrow(), schema)
    read_schema, read = CODECS[codec](given)
    assert difference(rows, read) is None
    assert read_schema is not None
    found = read_schema.field("v")
    assert found is not None
    # Protobuf has no place for the precision of a decimal that is read, nor for names but those of times.
    assert (found.type, found.name) == (field.type, field.name)


def test_arrow_holds_the_edges_in_its_own_types() -> None:
    kinds = {edge: str(pa.array(Column.from_rows(v[:1], f).arrow()).type) for edge, (f, v) in EDGES.items()}
    assert kinds["38 digits"] == "decimal128(38, 0)"
    assert kinds["the first and last moment"] == "timestamp[ms, tz=UTC]"
    assert kinds["nanoseconds"] == "int64"
