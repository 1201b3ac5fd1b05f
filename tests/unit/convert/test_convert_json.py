"""Checks what the JSON converter does with tombstones, schemas, bad rows and big batches."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError
from connect.api.records import Column
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig

pytestmark = pytest.mark.usefixtures("both_ways")

ORDER = s.struct({"id": s.INT64, "note": s.STRING.as_optional(), "price": s.decimal(2, optional=True)})
ROWS = [{"id": 1, "note": "a", "price": Decimal("1.50")}, {"id": 2, "note": None, "price": None}]


def converter(**given: str) -> JsonConverter:
    return JsonConverter(JsonConfig.parse({name.replace("_", "."): value for name, value in given.items()}))


def binary(*rows: str | bytes | None) -> pa.BinaryArray:
    return pa.array([row.encode() if isinstance(row, str) else row for row in rows], pa.binary())


def arrow_column(rows: list[Any], schema: s.Schema) -> Column:
    return Column.from_arrow(Column.from_rows(rows, schema).arrow(), schema)


def envelope(schema: str, payload: str) -> str:
    return f'{{"schema":{schema},"payload":{payload}}}'


def rejected(json_converter: JsonConverter, data: pa.BinaryArray) -> dict[int, str]:
    with pytest.raises(RejectedRowsError) as caught:
        json_converter.decode("t", data)
    return {row: str(reason) for row, reason in caught.value.rows.items()}


@pytest.mark.parametrize("enable", ["true", "false"])
def test_a_null_row_becomes_null_bytes_and_null_bytes_a_null_row(enable: str) -> None:
    json_converter = converter(schemas_enable=enable)
    data = json_converter.encode("t", arrow_column([ROWS[0], None, ROWS[1]], ORDER))
    assert [row is None for row in data.to_pylist()] == [False, True, False]
    (column,) = json_converter.decode("t", data)
    assert [row is None for row in column.rows()] == [False, True, False]


def test_one_value_is_written_as_java_writes_it_null_included() -> None:
    optional = s.INT32.as_optional()
    assert converter().encode_row(None, None) is None
    assert converter().encode_row(optional, None) == b'{"schema":{"type":"int32","optional":true},"payload":null}'
    assert converter(schemas_enable="false").encode_row(optional, None) == b"null"


def test_rows_of_one_schema_are_one_column_and_a_change_of_schema_starts_another() -> None:
    json_converter = converter()
    orders = json_converter.encode("t", arrow_column(ROWS, ORDER)).to_pylist()
    numbers = json_converter.encode("t", arrow_column([7], s.INT32)).to_pylist()
    columns = json_converter.decode("t", binary(None, *orders, None, *numbers, *orders))
    assert [(column.schema, len(column)) for column in columns] == [(ORDER, 4), (s.INT32, 1), (ORDER, 2)]
    assert [row for column in columns for row in column.rows()] == [None, *ROWS, None, 7, *ROWS]
    assert all(column.is_arrow for column in columns)


def test_an_envelope_in_another_form_joins_the_result_in_order() -> None:
    spaced = '{ "payload" : 2, "schema" : {"type":"int32","optional":false} }'
    plain = envelope('{"type":"int32","optional":false}', "1")
    columns = converter().decode("t", binary(plain, spaced, plain))
    assert [row for column in columns for row in column.rows()] == [1, 2, 1]
    assert {column.schema for column in columns} == {s.INT32}


def test_null_bytes_alone_have_no_schema() -> None:
    (column,) = converter().decode("t", binary(None, None))
    assert (column.schema, list(column.rows())) == (None, [None, None])


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("int8", "128"), ("int32", '"1"'), ("int32", "1.5"), ("int32", "true"), ("int64", "9223372036854775808"),
        ("string", "1"), ("string", "true"), ("boolean", "1"), ("boolean", '"true"'), ("double", '"1.5"'),
        ("double", "NaN"), ("double", "1e400"), ("float", "1e39"), ("bytes", '"AQ-_"'), ("int32", "null"),
        ("string", '"\\ud83d"'),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_its_schema_rejects_its_row_alone(kind: str, payload: str) -> None:
    zero = {"string": '""', "boolean": "false", "bytes": '""'}.get(kind, "0")
    schema = f'{{"type":"struct","fields":[{{"type":"{kind}","optional":false,"field":"f"}}],"optional":false}}'
    good, bad = (envelope(schema, f'{{"f":{value}}}') for value in (zero, payload))
    assert list(rejected(converter(), binary(good, bad, good))) == [1]


def test_java_coercion_reads_what_java_reads() -> None:
    data = binary(envelope('{"type":"int8","optional":false}', "300"), envelope('{"type":"string"}', "5"))
    columns = converter(converter_coercion="java").decode("t", data)
    assert [row for column in columns for row in column.rows()] == [44, None]


def test_a_field_that_is_missing_is_null_or_its_default_or_an_error() -> None:
    schema = s.struct({"a": s.Schema(s.Type.INT32, optional=True, default=7), "b": s.INT32})
    prefix = converter().encode_row(schema, {"a": 1, "b": 2}).split(b'"payload":')[0] + b'"payload":'
    (column,) = converter().decode("t", binary(prefix + b'{"b":1}}'))
    assert list(column.rows()) == [{"a": 7, "b": 1}]
    (column,) = converter(replace_null_with_default="false").decode("t", binary(prefix + b'{"b":1}}'))
    assert list(column.rows()) == [{"a": None, "b": 1}]
    assert rejected(converter(), binary(prefix + b'{"a":1}}')) == {
        0: "Field 'b': Invalid null value for required INT32 field"
    }


@pytest.mark.parametrize("row", ["1", "[]", '{"schema":null}', '{"schema":null,"payload":1,"more":2}', "", "{"])
def test_what_is_no_envelope_is_rejected_with_javas_advice(row: str) -> None:
    good = envelope("null", "1")
    (reason,) = rejected(converter(), binary(good, row, good)).values()
    assert "schemas.enable" in reason or "serialization error" in reason


def test_a_truncated_envelope_is_not_taken_for_a_shorter_payload() -> None:
    good = envelope('{"type":"int32","optional":false}', "12")
    assert list(rejected(converter(), binary(good, good[:-1], good[:-1] + "]"))) == [1, 2]


@pytest.mark.parametrize(
    "bad", ["{", '{"a":1}x', '{"a":1} {"a":2}', "{'a':1}", '{"a":1}}', b'{"a":"\xff"}', "nul", '{"a":"\n"}']
)
def test_malformed_rows_are_found_when_decoding(bad: str | bytes) -> None:
    reasons = rejected(converter(schemas_enable="false"), binary('{"a":1}', bad, None, '{"a":2}'))
    assert list(reasons) == [1]


def test_schemaless_columns_are_inferred_without_guessing_times() -> None:
    json_converter = converter(schemas_enable="false")
    rows = binary('{"b":1,"a":"2020-01-01","n":null,"l":[{"x":1.5}]}', '{"b":2,"extra":true}')
    for _ in range(2):
        (column,) = json_converter.decode("t", rows)
        assert column.arrow().type == pa.struct(
            [("b", pa.int64()), ("a", pa.utf8()), ("n", pa.utf8()),
             ("l", pa.list_(pa.struct([("x", pa.float64())]))), ("extra", pa.bool_())]
        )  # fmt: skip
    (column,) = json_converter.decode("t", binary('{"b":3}'))
    assert column.arrow().to_pylist() == [{"b": 3}]


def test_schemaless_numbers_keep_their_value() -> None:
    (column,) = converter(schemas_enable="false").decode(
        "t", binary('{"a":18446744073709551617}', '{"a":9007199254740993}', '{"a":1.5}')
    )
    assert [row["a"] for row in column.rows()] == [2**64 + 1, 2**53 + 1, 1.5]


def test_rows_of_no_common_type_are_read_as_rows() -> None:
    (column,) = converter(schemas_enable="false").decode("t", binary('{"a":1}', '{"a":"x"}', "[1]", "2", '""', "null"))
    assert list(column.rows()) == [{"a": 1}, {"a": "x"}, [1], 2, "", None]


def test_values_of_a_column_without_schema_are_written_as_java_infers_them() -> None:
    rows = [{"a": [1, 2.5, None, True, b"\x01"], "😀": "😀"}, [1], "x", 1e10, float("nan"), {1: "a"}, None]
    data = converter(schemas_enable="false").encode("t", Column.from_rows(rows, None)).to_pylist()
    assert data == [
        b'{"a":[1,2.5,null,true,"AQ=="],"\\uD83D\\uDE00":"\\uD83D\\uDE00"}', b"[1]", b'"x"', b"1.0E10", b'"NaN"',
        b'[[1,"a"]]', None,
    ]  # fmt: skip


def test_rows_that_cannot_be_written_are_named_with_the_field() -> None:
    schema = s.struct({"id": s.INT32, "when": s.TIMESTAMP_SCHEMA})
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    rows = [{"id": 1, "when": moment}, {"id": 2**31, "when": moment}, {"id": 3, "when": None}]
    with pytest.raises(RejectedRowsError) as caught:
        converter().encode("t", Column.from_rows(rows, schema))
    assert {row: str(reason).split(":")[0] for row, reason in caught.value.rows.items()} == {
        1: "Field 'id'", 2: "Field 'when'",
    }  # fmt: skip


def test_a_fixed_schema_reads_payloads_alone() -> None:
    text = json.dumps({"type": "struct", "fields": [{"type": "int32", "field": "a"}]})
    (column,) = converter(schema_content=text).decode("t", binary('{"a":1}', None, '{"a":2,"more":3}'))
    assert column.arrow().to_pylist() == [{"a": 1}, None, {"a": 2}]


def test_a_fixed_schema_that_is_none_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="Unknown schema type: int33") as caught:
        converter(schema_content='{"type":"int33"}')
    assert caught.value.key == "schema.content"


@pytest.mark.parametrize("depth", [90, 490, 5_000, 50_000])
def test_a_deeply_nested_message_is_read_or_rejected_but_ends_nothing(depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    json_converter = converter(schemas_enable="false")
    assert reads(json_converter, binary('{"a":1}'))
    # In between, the depth of Python's own stack decides.
    assert reads(json_converter, binary(deep, '{"a":1}')) in ({90: {True}, 490: {True, False}}.get(depth, {False}))


def reads(json_converter: JsonConverter, data: pa.BinaryArray) -> bool:
    try:
        json_converter.decode("t", data)
    except RejectedRowsError:
        return False
    return True


def test_a_slice_of_a_column_is_written_from_its_own_rows() -> None:
    column = arrow_column([ROWS[0], ROWS[1], None, ROWS[0]], ORDER)
    whole, part = converter().encode("t", column), converter().encode("t", column.slice(1, 4))
    assert part.to_pylist() == whole.to_pylist()[1:]
    decoded = [row for c in converter().decode("t", whole.slice(1)) for row in c.rows()]
    assert decoded == [ROWS[1], None, ROWS[0]]


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
def test_maps_decimals_and_numbers_that_are_not_finite_are_written_without_rows(decimals: str) -> None:
    schema = s.struct({"m": s.map_of(s.STRING, s.FLOAT64), "n": s.map_of(s.INT32, s.decimal(1)), "i": s.INT32})
    rows = [
        {"m": {"a": float("nan"), "b": -float("inf")}, "n": {1: Decimal("2.5")}, "i": 1},
        {"m": {}, "n": {}, "i": 2},
    ]
    json_converter = converter(schemas_enable="false", decimal_format=decimals)
    written = json_converter._encode_columns(arrow_column(rows, schema))
    assert written is not None
    number = '"GQ=="' if decimals == "BASE64" else "2.5"
    assert written.to_pylist() == [
        f'{{"m":{{"a":"NaN","b":"-Infinity"}},"n":[[1,{number}]],"i":1}}'.encode(), b'{"m":{},"n":[],"i":2}',
    ]  # fmt: skip


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
def test_decimals_of_either_format_are_read_without_rows(decimals: str) -> None:
    json_converter = converter(decimal_format=decimals)
    (column,) = json_converter.decode("t", json_converter.encode("t", arrow_column(ROWS, ORDER)))
    assert column.is_arrow
    assert list(column.rows()) == ROWS


def test_the_text_of_a_number_is_no_decimal() -> None:
    text = json.dumps({"type": "bytes", "name": s.DECIMAL, "parameters": {"scale": "2"}})
    (column,) = converter().decode("t", binary(envelope(text, '"1234"'), envelope(text, "12.34")))
    assert [str(row) for row in column.rows()] == ["-26588.24", "12.34"]


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "1e99999999999999999999"])
@pytest.mark.parametrize("coercion", ["strict", "java"])
def test_a_number_with_a_huge_exponent_costs_nothing(number: str, coercion: str) -> None:
    text = json.dumps({"type": "bytes", "name": s.DECIMAL, "parameters": {"scale": "2"}})
    json_converter = converter(converter_coercion=coercion)
    assert reads(json_converter, binary(envelope(text, number))) == (coercion == "java" and len(number) < 20)
    reads(json_converter, binary(envelope('{"type":"int64"}', number), envelope('{"type":"double"}', number)))
    assert not reads(json_converter, binary("[" + number))


def test_java_coercion_has_no_negative_zero_in_columns_or_rows() -> None:
    java = converter(schemas_enable="false", converter_coercion="java")
    (column,) = java.decode("t", binary('{"a":-0.0,"l":[-0.0,1.5]}'))
    assert column.is_arrow
    assert str(column.arrow().to_pylist()) == str(list(column.rows())) == "[{'a': 0.0, 'l': [0.0, 1.5]}]"
    (number,) = converter(converter_coercion="java").decode("t", binary(envelope('{"type":"double"}', "-0.0")))
    assert (number.is_arrow, str(number.rows()[0])) == (True, "0.0")


@pytest.mark.parametrize("kind", ["Date", "Timestamp"])
@pytest.mark.parametrize("fixed", [True, False])
def test_a_year_that_python_has_not_is_read_whatever_stands_beside_it(kind: str, fixed: bool) -> None:
    number, name = ("int64", 253_402_300_800_000) if kind == "Timestamp" else ("int32", 2_932_897)
    schema = json.dumps({"type": "struct", "fields": [
        {"field": "at", "type": number, "name": f"org.apache.kafka.connect.data.{kind}", "version": 1},
        {"field": "n", "type": "int32"},
    ]})  # fmt: skip
    json_converter = converter(schema_content=schema) if fixed else converter()

    def of(*payloads: str) -> pa.BinaryArray:
        return binary(*(payload if fixed else envelope(schema, payload) for payload in payloads))

    def places(data: pa.BinaryArray) -> list[int | None]:
        columns = [column.arrow() for column in json_converter.decode("t", data)]
        return [at for one in columns for at in one.field("at").cast(number).to_pylist()]

    far, near, by_rows = f'{{"at":{name},"n":1}}', '{"at":7,"n":2}', '{"at":8,"n":2,"n":3}'
    assert places(of(far, near)) == [name, 7]
    assert places(of(by_rows, far, near, far, by_rows)) == [8, name, 7, name, 8]
    assert set(rejected(json_converter, of(far, '{"at":9,"n":"x"}', by_rows))) == {1}


def test_a_number_too_big_for_its_type_is_named() -> None:
    with pytest.raises(RejectedRowsError, match="out of range for float32"):
        converter().encode("t", Column.from_rows([1.0, 1e39], s.FLOAT32))


def test_rows_with_a_schema_are_written_as_columns() -> None:
    column = Column.from_rows([*ROWS, None], ORDER)
    assert converter().encode("t", column).equals(converter().encode("t", arrow_column([*ROWS, None], ORDER)))


def test_values_finer_than_their_schema_are_refused_and_never_cut() -> None:
    finer = Column.from_arrow(pa.array([1_000_000, 1], pa.timestamp("us", "UTC")), s.TIMESTAMP_SCHEMA)
    with pytest.raises(RejectedRowsError) as caught:
        converter().encode("t", finer)
    assert set(caught.value.rows) == {1}
