"""Checks the string, byte array and number converters, the header converter, and what the package declares."""

from __future__ import annotations

import datetime as dt
import importlib
import struct
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError, SchemaError
from connect.api.plugin import PluginKind
from connect.api.records import Column, Header
from connect.convert.plain.config import NoConfig, StringConfig
from connect.convert.plain.primitives import boolean as boolean_converter
from connect.convert.plain.primitives import float32, float64, integer, long, short
from connect.convert.plain.raw import ByteArrayConverter, StringConverter
from connect.convert.plain.simple_header import SimpleHeaderConverter
from connect.convert.plugin import connect_plugins


def strings(**given: str) -> StringConverter:
    return StringConverter(StringConfig.parse({name.replace("_", "."): value for name, value in given.items()}))


def column(values: list[Any], schema: s.Schema) -> Column:
    return Column.from_arrow(Column.from_rows(values, schema).arrow(), schema)


def test_strings_are_their_bytes_in_both_directions() -> None:
    data = strings().encode("t", column(["é😀", None, ""], s.STRING))
    assert data.to_pylist() == ["é😀".encode(), None, b""]
    (read,) = strings().decode("t", data)
    assert (list(read.rows()), read.schema) == (["é😀", None, ""], s.STRING.as_optional())


def test_values_of_other_types_are_written_as_java_prints_them() -> None:
    order = s.struct({"id": s.INT32, "f": s.FLOAT32, "none": s.STRING.as_optional(), "l": s.array(s.BOOLEAN)})
    rows = [{"id": 1, "f": 0.1, "none": None, "l": [True, False]}]
    assert strings().encode("t", column(rows, order)).to_pylist() == [b"Struct{id=1,f=0.1,l=[true, false]}"]
    assert strings().encode("t", column([1, -2], s.INT64)).to_pylist() == [b"1", b"-2"]
    assert strings().encode("t", column([True], s.BOOLEAN)).to_pylist() == [b"true"]
    day = column([dt.date(1970, 1, 1)], s.DATE_SCHEMA)
    assert strings().encode("t", day).to_pylist() == [b"Thu Jan 01 00:00:00 UTC 1970"]


def test_bytes_that_are_no_text_reject_their_row_or_are_replaced_as_java_does() -> None:
    data = pa.array([b"ok", b"a\xff", None], pa.binary())
    with pytest.raises(RejectedRowsError) as caught:
        strings().decode("t", data)
    assert list(caught.value.rows) == [1]
    (read,) = strings(converter_coercion="java").decode("t", data)
    assert list(read.rows()) == ["ok", "a�", None]


def test_an_encoding_is_honoured_and_an_unknown_one_is_a_config_error() -> None:
    latin = strings(converter_encoding="ISO-8859-1")
    assert latin.encode("t", column(["é"], s.STRING)).to_pylist() == [b"\xe9"]
    with pytest.raises(RejectedRowsError):
        latin.encode("t", column(["漢"], s.STRING))
    with pytest.raises(ConfigError, match="Unsupported encoding bogus"):
        strings(converter_encoding="bogus")


def test_bytes_pass_through_and_other_types_do_not() -> None:
    raw = ByteArrayConverter()
    data = raw.encode("t", column([b"\x00\xff", None], s.BYTES))
    assert data.to_pylist() == [b"\x00\xff", None]
    assert raw.decode("t", data)[0].schema == s.BYTES.as_optional()
    with pytest.raises(SchemaError, match="STRING"):
        raw.encode("t", column(["x"], s.STRING))


@pytest.mark.parametrize(
    ("factory", "schema", "code", "values"),
    [
        (short, s.INT16, "h", [0, -1, 258, 32767, -32768, None]), (integer, s.INT32, "i", [0, -1, 2**31 - 1, None]),
        (long, s.INT64, "q", [0, -1, 2**53 + 1, -(2**63), None]), (float32, s.FLOAT32, "f", [0.5, -0.0, None]),
        (float64, s.FLOAT64, "d", [0.1, -0.0, 5e-324, None]), (boolean_converter, s.BOOLEAN, "?", [True, False, None]),
    ],
)  # fmt: skip
def test_numbers_are_big_endian(factory: Any, schema: s.Schema, code: str, values: list[Any]) -> None:
    converter = factory(NoConfig(), is_key=False)
    expected = [None if value is None else struct.pack(f">{code}", value) for value in values]
    for form in (
        column(values, schema),
        Column.from_rows(values, schema),
        column(values, schema).slice(1, len(values)),
    ):
        assert converter.encode("t", form).to_pylist() == expected[len(values) - len(form) :]
    (read,) = converter.decode("t", pa.array([b"skipped", *expected], pa.binary()).slice(1))
    assert (list(read.rows()), read.schema) == (values, schema.as_optional())


def test_numbers_of_another_width_reject_their_rows() -> None:
    with pytest.raises(RejectedRowsError) as caught:
        integer(NoConfig()).decode("t", pa.array([b"\0\0\0\1", b"\0", None, b""], pa.binary()))
    assert list(caught.value.rows) == [1, 3]
    with pytest.raises(SchemaError, match="int64"):
        integer(NoConfig()).encode("t", column([1], s.INT64))
    with pytest.raises(RejectedRowsError):
        short(NoConfig()).encode("t", Column.from_rows([1, 2**15], None))
    with pytest.raises(RejectedRowsError):
        boolean_converter(NoConfig()).decode("t", pa.array([b"\1", b"\2"], pa.binary()))


@pytest.mark.parametrize(
    ("value", "schema", "text"),
    [
        (dt.date(1969, 12, 31), s.DATE_SCHEMA, b"1969-12-31"),
        (dt.time(1, 2, 3, 4000), s.TIME_SCHEMA, b"01:02:03.004Z"),
        (dt.datetime(1969, 1, 1, tzinfo=dt.UTC), s.TIMESTAMP_SCHEMA, b"1969-01-01T00:00:00.000Z"),
        ({"a": 1, "b": 200}, s.map_of(s.STRING, s.INT16), b'{"a":1,"b":200}'), ([1, 2], s.array(s.INT8), b"[1,2]"),
        (True, s.BOOLEAN, b"true"), (1.5, s.FLOAT32, b"1.5"), (-129, s.INT16, b"-129"), ("a b", s.STRING, b"a b"),
    ],
)  # fmt: skip
def test_a_header_reads_back_as_what_it_was(value: object, schema: s.Schema, text: bytes) -> None:
    header = Header("k", value, schema)
    assert SimpleHeaderConverter().encode("t", header) == text
    assert SimpleHeaderConverter().decode("t", "k", text) == header


_REGISTRY = {"schema.registry.url": "http://127.0.0.1:1"}
"""Nothing is asked of it until a schema is needed."""


def test_every_declared_converter_can_be_built_and_is_there_for_headers_too() -> None:
    plugins = connect_plugins()
    converters = {p.name for p in plugins if p.kind is PluginKind.CONVERTER}
    headers = {p.name for p in plugins if p.kind is PluginKind.HEADER_CONVERTER}
    assert len(converters) == 13
    assert headers - converters == {"org.apache.kafka.connect.storage.SimpleHeaderConverter"}
    for plugin in plugins:
        module, attribute = plugin.factory.split(":")
        built = getattr(importlib.import_module(module), attribute)(plugin.config.parse(_REGISTRY), is_key=False)
        assert callable(built.encode)
        if plugin.kind is PluginKind.HEADER_CONVERTER:
            assert built.decode("t", "k", built.encode("t", Header("k", None))).value is None


def test_declaring_the_converters_loads_no_arrow() -> None:
    code = "import sys, connect.convert.plugin; sys.exit(bool({'pyarrow', 'polars'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
