"""Holds small cases for Debezium's JDBC sink: a table each, with its settings and records that are rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from connect.api import schema as s


@dataclass(frozen=True)
class Case:
    """Describes records of one topic. With `made` there is a table already, with these columns beside its key; `there`
    are its rows.
    """

    name: str
    value: s.Schema
    values: Sequence[Any]
    settings: Mapping[str, str] = field(default_factory=dict)
    made: str | None = None
    there: str = ""
    key: s.Schema = s.INT64
    keys: Sequence[Any] = ()

    @property
    def ids(self) -> Sequence[Any]:
        """Return the key of each row."""
        return self.keys or range(1, len(self.values) + 1)

    @property
    def schemas(self) -> tuple[s.Schema, s.Schema]:
        """Return the schemas of keys and values."""
        return s.struct({"id": self.key}), s.struct({"id": self.key, "v": self.value}, optional=True)


def named(kind: s.Schema, name: str, **parameters: str) -> s.Schema:
    return replace(kind.as_optional(), name=f"io.debezium.{name}", version=1, parameters=parameters)


def source(kind: s.Schema, column: str, length: str = "", scale: str = "", **more: str) -> s.Schema:
    """Return an optional schema with what `column.propagate.source.type` tells."""
    given = {"type": column, "length": length, "scale": scale, **more}
    told = {f"__debezium.source.column.{name}": text for name, text in given.items() if text}
    return replace(kind.as_optional(), parameters={**kind.parameters, **told})


def default(kind: s.Schema, value: Any) -> s.Schema:
    return replace(kind, default=value)


_TEXT, _INT, _LONG, _BYTES = s.STRING, s.INT32, s.INT64, s.BYTES
_ID, _OTHER_ID = "6f1e2b3c-0000-4000-8000-00000000000a", "6f1e2b3c-0000-4000-8000-00000000000b"
_MICROS = named(s.INT64, "time.MicroTimestamp")
_ZONED = named(_TEXT, "time.ZonedTimestamp")
_DAY, _UUID = named(s.INT32, "time.Date"), named(_TEXT, "data.Uuid")
_JULY = dt.datetime(2024, 7, 1, tzinfo=dt.UTC)
_BIG = (10**30).to_bytes(16, signed=True)
_JSON = named(_TEXT, "data.Json")
_GEOMETRY = s.struct(
    {"wkb": _BYTES, "srid": _INT.as_optional()}, name="io.debezium.data.geometry.Geometry", optional=True
)
_POINT = s.struct(
    {"x": s.FLOAT64, "y": s.FLOAT64, "wkb": _BYTES.as_optional(), "srid": _INT.as_optional()},
    name="io.debezium.data.geometry.Point", optional=True,
)  # fmt: skip
_VARIABLE = s.struct({"scale": _INT, "value": _BYTES}, name="io.debezium.data.VariableScaleDecimal", optional=True)
_WKB_POINT = bytes.fromhex("0101000000000000000000f03f0000000000000040")
TYPES: Final = [
    Case("year", named(_INT, "time.Year"), [1999, None, 2024]),
    Case("interval", named(_TEXT, "time.Interval"), ["P1Y2M3DT4H5M6.5S", None, "P0Y0M0DT0H0M1S"]),
    Case("nano_duration", named(_LONG, "time.NanoDuration"), [90_061_000_001_000, None]),
    Case("micro_duration", named(_LONG, "time.MicroDuration"), [90_061_000_001, -1, None, 3_600_000_000_000_000]),
    Case("iso_date", named(_TEXT, "time.IsoDate"), ["2024-02-29Z", None]),
    Case("iso_time", named(_TEXT, "time.IsoTime"), ["10:11:12.123456Z", None]),
    Case("iso_timestamp", named(_TEXT, "time.IsoTimestamp"), ["2024-02-29T10:11:12.123456Z", None]),
    Case("xml", named(_TEXT, "data.Xml"), ["<a>1</a>", None]),
    Case("enum", named(_TEXT, "data.Enum", allowed="a,b"), ["a", None, "b"]),
    Case("json", _JSON, ['{"b": 1, "a": [1, 2.50]}', None, "null", "[]"]),
    Case("uuid", _UUID, [_ID, None]),
    Case("zoned_infinity", _ZONED, ["infinity", "-infinity", "2024-01-01T00:00:00Z"]),
    Case("zoned_old", _ZONED, ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"]),
    Case("zoned_nanos", _ZONED, ["2024-01-01T00:00:00.123456789Z"]),
    Case("micros_infinity", _MICROS, [9223372036825200000, -9223372036832400000, 0]),
    Case("micros_old", _MICROS, [-62_135_596_800_000_000, 253_402_300_799_999_999, -1]),
    Case("micros_bc", _MICROS, [-63_000_000_000_000_000]),
    Case("millis_old", named(_LONG, "time.Timestamp"), [-1, -62_135_596_800_000, 253_402_300_799_999]),
    Case("nanos_old", named(_LONG, "time.NanoTimestamp"), [-1, 1_720_000_000_123_456_789, 1_720_000_000_123_456_499]),
    Case("nano_time", named(_LONG, "time.NanoTime"), [3_600_123_456_789, 86_399_999_999_999]),
    Case("date_old", _DAY, [-719_162, 2_932_896, -141_428]),
    Case("date_bc", _DAY, [-800_000]),
    Case("micro_time_24", named(_LONG, "time.MicroTime"), [86_400_000_000]),
    Case("zoned_time", named(_TEXT, "time.ZonedTime"), ["10:11:12Z", "10:11:12.123456-05:00", "00:00:00+14:00"]),
    Case("decimal_wide", s.decimal(3, precision=30, optional=True), [Decimal("123456789012345678901234567.125"), None]),
    Case("decimal_none", s.decimal(0, optional=True), [Decimal(12345678901234567890), None]),
    Case("decimal_whole", s.decimal(0, precision=20, optional=True), [Decimal(18446744073709551615), None]),
    Case("decimal_small", s.decimal(20, precision=10, optional=True), [Decimal("1E-20")]),
    Case("variable_big", _VARIABLE, [{"scale": 0, "value": _BIG}, None, {"scale": 25, "value": b"\x01"}]),
    Case("bits_any", named(_BYTES, "data.Bits", length="2147483647"), [b"\x13", b"\x00", None, b"\x01\x01"]),
    Case("bits_64", named(_BYTES, "data.Bits", length="64"), [b"\xff" * 8, b"\x01" + b"\x00" * 7, b"\x01"]),
    Case("float_special", s.FLOAT64.as_optional(), [1e300, -0.0, 5e-324, None]),
    Case("int8", s.INT8.as_optional(), [-128, 127, None]),
    Case("text_odd", s.STRING.as_optional(), ["", "a\tb\nc\\d", "\\N", "NULL", "'\";--", None, "é\u0301 😀"]),
    Case("bytes_odd", s.BYTES.as_optional(), [b"", b"\x00", b"\\x41", None]),
    Case("array_int", s.array(_INT.as_optional(), optional=True), [[1, None, 2], [], None]),
    Case("array_text", s.array(_TEXT.as_optional(), optional=True), [["a,b", 'q"', "{}", "", "NULL", None], []]),
    Case("array_bool", s.array(s.BOOLEAN, optional=True), [[True, False]]),
    Case("array_double", s.array(s.FLOAT64, optional=True), [[0.1, 1e300]]),
    Case("array_uuid", s.array(_UUID, optional=True), [[_ID]]),
    Case("array_micros", s.array(_MICROS, optional=True), [[0, 1_720_000_000_123_456]]),
    Case("array_date", s.array(_DAY, optional=True), [[0, 19_000]]),
    Case("array_decimal", s.array(s.decimal(2, precision=10), optional=True), [[Decimal("1.25")]]),
    Case("map", s.map_of(_TEXT, _TEXT.as_optional(), optional=True), [{"a": "1", "b": None}, None]),
    Case("struct", s.struct({"a": _INT}, optional=True), [{"a": 1}, None]),
    Case("geometry", _GEOMETRY, [{"wkb": _WKB_POINT, "srid": None}, None, {"wkb": _WKB_POINT, "srid": 4326}]),
    Case("point", _POINT, [{"x": 1.0, "y": 2.0, "wkb": _WKB_POINT, "srid": None}, None]),
    Case("connect_moment", s.TIMESTAMP_SCHEMA.as_optional(), [dt.datetime(2024, 7, 1, 0, 0, 0, 5000, tzinfo=dt.UTC)]),
    Case("connect_date", s.DATE_SCHEMA.as_optional(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    Case("default_moment", default(s.TIMESTAMP_SCHEMA, _JULY), [dt.datetime(2024, 7, 2, tzinfo=dt.UTC)]),
    Case("default_day", default(s.DATE_SCHEMA, dt.date(2024, 7, 1)), [dt.date(2024, 7, 2)]),
    Case("default_clock", default(s.TIME_SCHEMA, dt.time(1, 2, 3)), [dt.time(4, 5, 6)]),
    Case("micro_time_long", named(_LONG, "time.MicroTime"), [108_000_000_000, -3_600_000_000]),
    Case("default_variable", default(_VARIABLE, {"scale": 1, "value": b"\x0f"}), [{"scale": 0, "value": b"\x01"}]),
    Case("default_date", default(_DAY, 19_000), [0]),
    Case("default_micros", default(_MICROS, 1_720_000_000_123_456), [0]),
    Case("default_zoned", default(_ZONED, "2024-01-01T00:00:00Z"), ["2024-01-01T00:00:00Z"]),
    Case("default_time", default(named(_LONG, "time.MicroTime"), 3_600_000_000), [0]),
    Case("default_decimal", default(s.decimal(2, precision=9), Decimal("1.50")), [Decimal("2.25")]),
    Case("default_bool", default(s.BOOLEAN, True), [False]),
    Case("default_int", default(_INT, 5), [6]),
    Case("default_enum", default(named(_TEXT, "data.Enum", allowed="a,b"), "b"), ["a"]),
    Case("default_json", default(_JSON, '{"a": 1}'), ["[]"]),
    Case("default_uuid", default(_UUID, _ID), [_OTHER_ID]),
    Case("default_bits", default(named(_BYTES, "data.Bits", length="5"), b"\x13"), [b"\x01"]),
    Case("default_bytes", default(_BYTES.as_optional(), b"\x13"), [b"\x01"]),
    Case("default_null", default(_INT.as_optional(), 5), [None, 7]),
    Case("default_text_null", default(_TEXT.as_optional(), "d"), [None, "x"]),
    Case("key_text", s.INT32, [1, 2], key=s.STRING, keys=["a", "A"]),
    Case("key_uuid", s.INT32, [1], key=_UUID.as_optional(False), keys=[_ID]),
    Case("key_decimal", s.INT32, [1, 2], key=s.decimal(2, precision=9), keys=[Decimal("1.10"), Decimal("1.20")]),
    Case("key_date", s.INT32, [1], key=_DAY.as_optional(False), keys=[19_000]),
    Case("key_micros", s.INT32, [1], key=_MICROS.as_optional(False), keys=[1_720_000_000_123_456]),
    Case("key_zoned", s.INT32, [1], key=_ZONED.as_optional(False), keys=["2024-01-01T00:00:00.5Z"]),
    Case("key_bytes", s.INT32, [1], key=s.BYTES, keys=[b"\x00\x01"]),
    Case("key_bool", s.INT32, [1, 2], key=s.BOOLEAN, keys=[True, False]),
    Case("key_enum", s.INT32, [1], key=named(_TEXT, "data.Enum", allowed="a,b").as_optional(False), keys=["a"]),
]  # fmt: skip
SOURCES: Final = {
    "both": [
        ("varchar", source(_TEXT, "VARCHAR", "20"), ["x", None]),
        ("char", source(_TEXT, "CHAR", "5"), ["x"]),
        ("bpchar", source(_TEXT, "BPCHAR", "5"), ["x"]),
        ("char_none", source(_TEXT, "CHAR"), ["x"]),
        ("text", source(_TEXT, "TEXT"), ["x"]),
        ("varbinary", source(_BYTES, "VARBINARY", "15"), [b"x"]),
        ("varbinary_text", source(_TEXT, "VARBINARY", "15"), ["x"]),
        ("int8", source(s.INT64, "INT8", "19"), [5]),
        ("decimal", source(s.decimal(2, precision=10), "DECIMAL", "10", "2"), [Decimal("1.25")]),
        ("numeric", source(s.decimal(2), "NUMERIC", "8", "2"), [Decimal("1.25")]),
        ("double_as_decimal", source(s.FLOAT64, "DECIMAL", "10", "2"), [1.25]),
        ("micros", source(_MICROS, "TIMESTAMP", "29", "3"), [1_720_000_000_123_456]),
        ("datetime", source(named(_LONG, "time.Timestamp"), "DATETIME", "3"), [1_720_000_000_123]),
        ("time", source(named(_LONG, "time.MicroTime"), "TIME", "15", "3"), [3_600_123_456]),
        ("zoned", source(_ZONED, "TIMESTAMPTZ", "35", "3"), ["2024-01-01T00:00:00.123456Z"]),
        ("zoned_mysql", source(_ZONED, "TIMESTAMP", "3"), ["2024-01-01T00:00:00.123456Z"]),
        ("float4", source(s.FLOAT32, "FLOAT4", "8", "8"), [1.5]),
        ("float64_size", source(s.FLOAT64, "FLOAT", "24"), [1.5]),
        ("date", source(_DAY, "DATE", "13"), [0]),
        ("bool_bit", source(s.BOOLEAN, "BIT", "1"), [True, False, None]),
        ("bool_tiny", source(s.BOOLEAN, "TINYINT", "1"), [True]),
    ],
    "postgres": [
        ("jsonb", source(_JSON, "JSONB"), ['{"b": 1, "a": 2}', None]),
        ("json", source(_JSON, "JSON"), ['{"b": 1, "a": 2}']),
        ("cidr", source(_TEXT, "CIDR"), ["10.0.0.0/8", None]),
        ("inet", source(_TEXT, "INET"), ["10.0.0.1", None]),
        ("macaddr", source(_TEXT, "MACADDR"), ["08:00:2b:01:02:03"]),
        ("macaddr8", source(_TEXT, "MACADDR8"), ["08:00:2b:01:02:03:04:05"]),
        ("int4range", source(_TEXT, "INT4RANGE"), ["[1,5)", None]),
        ("tsrange", source(_TEXT, "TSRANGE"), ['["2024-01-01 00:00:00","2024-01-02 00:00:00")']),
        ("money", source(s.decimal(2), "MONEY", "8"), [Decimal("1.25"), None]),
        ("oid", source(_LONG, "OID"), [7]),
        ("citext", source(_TEXT, "CITEXT"), ["x"]),
        ("serial", source(_INT, "SERIAL", "10"), [5]),
        ("bigserial", source(_LONG, "BIGSERIAL", "19"), [5]),
        ("varbit", source(named(_BYTES, "data.Bits", length="6"), "VARBIT", "6"), [b"\x05"]),
        ("bit", source(named(_BYTES, "data.Bits", length="6"), "BIT", "6"), [b"\x05"]),
        ("xml", source(_TEXT, "XML"), ["<a/>"]),
        ("uuid_text", source(_TEXT, "UUID"), [_ID]),
        ("int4_array", source(s.array(_INT.as_optional()), "_INT4"), [[1, 2]]),
        ("tsvector", named(_TEXT, "data.TsVector"), ["'a':1 'b':2"]),
        ("inet_timetz", source(named(_TEXT, "time.ZonedTime"), "TIMETZ", "21", "3"), ["10:11:12.123456Z"]),
        ("interval", source(named(_LONG, "time.MicroDuration"), "INTERVAL", "49", "6"), [1_000_000]),
    ],
    "mariadb": [
        ("unsigned", source(_LONG, "BIGINT UNSIGNED", "20"), [5, -1, None]),
        ("unsigned_decimal", source(s.decimal(0), "BIGINT UNSIGNED", "20"), [Decimal(18446744073709551615)]),
        ("int_unsigned", source(_LONG, "INT UNSIGNED", "10"), [4294967295]),
        ("mediumint", source(_INT, "MEDIUMINT", "8"), [5]),
        ("mediumint_plain", source(_INT, "MEDIUMINT"), [5]),
        ("integer", source(_INT, "INTEGER", "8"), [5]),
        ("int", source(_INT, "INT", "8"), [5]),
        ("tinyint", source(s.INT16, "TINYINT", "4"), [5]),
        ("tinyblob", source(_BYTES, "TINYBLOB"), [b"x"]),
        ("mediumblob", source(_BYTES, "MEDIUMBLOB"), [b"x"]),
        ("blob", source(_BYTES, "BLOB"), [b"x"]),
        ("longblob", source(_BYTES, "LONGBLOB"), [b"x"]),
        ("binary", source(_BYTES, "BINARY", "5"), [b"x"]),
        ("nvarchar", source(_TEXT, "VARCHAR", "20", character_set="utf8mb4"), ["x"]),
        ("nchar", source(_TEXT, "CHAR", "20", character_set="utf8mb4"), ["x"]),
        ("mediumtext", source(_TEXT, "MEDIUMTEXT"), ["x"]),
        ("year", source(named(_INT, "time.Year"), "YEAR", "4"), [1999]),
        ("enum", source(named(_TEXT, "data.Enum", allowed="a,b"), "ENUM", "1"), ["a"]),
    ],
}  # fmt: skip
_TEXTS = "v VARCHAR(40)"
_NO_DELETES = {"delete.enabled": "false"}
_ZONE = {"use.time.zone": "Asia/Tokyo"}
SETTINGS: Final = [
    Case("zone_zoned", _ZONED, ["2024-01-01T00:00:00.5Z", "2024-07-01T00:00:00+02:00"], _ZONE),
    Case("zone_micros", _MICROS, [1_720_000_000_123_456], _ZONE),
    Case("zone_time", named(_TEXT, "time.ZonedTime"), ["10:11:12Z"], _ZONE),
    Case("zone_clock", named(_LONG, "time.MicroTime"), [3_600_000_000], _ZONE),
    Case("zone_moment", s.TIMESTAMP_SCHEMA.as_optional(), [_JULY], _ZONE),
    Case("zone_day", s.DATE_SCHEMA.as_optional(), [dt.date(2024, 7, 1)], _ZONE),
    Case("zone_of_day", s.TIME_SCHEMA.as_optional(), [dt.time(1, 2, 3)], _ZONE),
    Case("zoned_in_text", _ZONED, ["2024-07-01T00:00:00.5+02:00"], _ZONE, _TEXTS),
    Case("nanos_in_text", named(_LONG, "time.NanoTimestamp"), [1_720_000_000_123_456_789], made=_TEXTS),
    Case("moment_in_text", s.TIMESTAMP_SCHEMA.as_optional(), [_JULY], made=_TEXTS),
    Case("bits_in_text", named(_BYTES, "data.Bits", length="5"), [b"\x13"], made=_TEXTS),
    Case("raw_in_text", _BYTES, [b"ab"], made=_TEXTS),
    Case("zone_date", _DAY, [19_000], _ZONE),
    Case("quoted", _INT, [1], {"quote.identifiers": "true"}),
    Case("no_key", _INT, [1, 2], {"primary.key.mode": "none", "insert.mode": "insert", "delete.enabled": "false"}),
    Case("update", _INT, [1, 2], {"insert.mode": "update"}, "v INT"),
    Case(
        "update_no_key", _INT, [1, 2], {**_NO_DELETES, "primary.key.mode": "none", "insert.mode": "update",
        "field.exclude.list": "id"}, made="v INT", there="(1, 7), (2, 8)",
    ),
    Case("kafka", _INT, [1, 2], {"primary.key.mode": "kafka", "delete.enabled": "false"}),
    Case("value_key", _INT, [1, 2], {**_NO_DELETES, "primary.key.mode": "record_value", "primary.key.fields": "v"}),
    Case("odd_key", _INT, [1, 2], {"primary.key.fields": "nope"}),
    Case("excluded_key", _INT, [1, 2], {"field.exclude.list": "id"}),
    Case("insert_twice", _INT, [1, 2], {"insert.mode": "insert"}, keys=[1, 1]),
    Case("upsert_none", _INT, [1, 2], {"primary.key.mode": "none", "delete.enabled": "false"}),
    Case("reduced", _INT, [1, 2], {"use.reduction.buffer": "true"}, keys=[1, 1]),
    Case("date_in_text", _DAY, [0], made=_TEXTS),
    Case("micros_in_text", _MICROS, [0], made=_TEXTS),
    Case("micros_in_number", _MICROS, [5], made="v BIGINT"),
    Case("date_in_timestamp", _DAY, [19_000], made="v TIMESTAMP"),
    Case("micros_in_date", _MICROS, [1_720_000_000_123_456], made="v DATE"),
    Case("zoned_in_timestamp", _ZONED, ["2024-07-01T00:00:00+02:00"], made="v TIMESTAMP"),
    Case("int_in_text", _INT, [5], made=_TEXTS),
    Case("text_in_int", _TEXT, ["5"], made="v INT"),
    Case("bool_in_int", s.BOOLEAN, [True], made="v INT"),
    Case("int_in_bool", _INT, [1], made="v BOOLEAN"),
    Case("double_in_int", s.FLOAT64, [1.5], made="v INT"),
    Case("text_too_long", _TEXT, ["abcdef"], made="v VARCHAR(3)"),
    Case("int_too_big", _LONG, [2**40], made="v INT"),
    Case("decimal_rounds", s.decimal(4, precision=9), [Decimal("1.2345")], made="v NUMERIC(9, 2)"),
    Case("missing_column", _INT, [1], made=""),
    Case("wider_table", _INT, [1], made="v INT, w INT DEFAULT 9"),
    Case("null_in_not_null", _INT.as_optional(), [None], made="v INT NOT NULL DEFAULT 9"),
]  # fmt: skip


def cases(database: str) -> Sequence[Case]:
    """Return the cases of a database."""
    told = [Case(f"source_{name}", kind, values) for name, kind, values in [*SOURCES["both"], *SOURCES[database]]]
    return [case for case in [*TYPES, *told, *SETTINGS] if case.values]
