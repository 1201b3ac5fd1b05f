"""Checks schemas of the Avro converter: what is registered, and what is read from schemas written by others."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from avro_codec import decoded, encoded, own_text, rows_of

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.convert.avro.model import parse_avro
from connect.convert.avro.settings import AvroSettings
from connect.convert.avro.to_connect import connect_of


def _registered(schema: s.Schema, **settings: Any) -> Any:
    return json.loads(own_text(schema, AvroSettings(**settings)))


def _read(node: Any, **settings: Any) -> s.Schema:
    return connect_of(parse_avro(json.dumps(node)), AvroSettings(**settings))


def test_a_struct_without_a_name_gets_confluents_default_name_and_the_next_one_a_number() -> None:
    inner = s.struct({"x": s.INT32})
    other = s.struct({"y": s.INT32})
    registered = _registered(s.struct({"a": inner, "b": other, "c": inner}))
    assert (registered["name"], registered["namespace"]) == ("ConnectDefault", "io.confluent.connect.avro")
    names = [
        field["type"] if isinstance(field["type"], str) else field["type"]["name"] for field in registered["fields"]
    ]
    assert names == ["ConnectDefault2", "ConnectDefault3", "ConnectDefault2"]


def test_two_structs_of_one_name_are_refused() -> None:
    schema = s.struct({"a": s.struct({"x": s.INT32}, name="n.A"), "b": s.struct({"y": s.INT32}, name="n.A")})
    with pytest.raises(SchemaError, match=r"Two different types are called 'n.A'"):
        own_text(schema)


def test_doc_version_parameters_and_defaults_are_connect_properties_and_come_back() -> None:
    field = replace(
        s.INT32, doc="how many", version=3, parameters=MappingProxyType({"unit": "m"}), default=7, name="n.Count"
    )
    schema = replace(s.struct({"a": field, "b": replace(s.STRING, optional=True, default="x")}, name="n.R"), version=2)
    registered = _registered(schema)
    assert registered["connect.version"] == 2
    assert registered["fields"][0] == {
        "name": "a", "default": 7,
        "type": {"type": "int", "connect.doc": "how many", "connect.version": 3, "connect.parameters": {"unit": "m"},
                 "connect.default": 7, "connect.name": "n.Count"},
    }  # fmt: skip
    assert registered["fields"][1] == {
        "name": "b", "type": [{"type": "string", "connect.default": "x"}, "null"], "default": "x",
    }  # fmt: skip
    assert _read(registered) == schema


def test_without_meta_data_none_of_connects_properties_is_written() -> None:
    text = json.dumps(_registered(s.struct({"a": replace(s.INT8, default=1)}, name="n.R"), meta_data=False))
    assert "connect." not in text


def test_names_that_avro_does_not_take_are_refused_or_scrubbed() -> None:
    schema = s.struct({"a-b": s.INT32, "1st": s.INT32}, name="my-shop.Row")
    with pytest.raises(SchemaError, match=r"set value\.converter\.scrub\.invalid\.names=true"):
        own_text(schema)
    registered = _registered(schema, scrub_invalid_names=True)
    assert (registered["namespace"], registered["name"]) == ("my_shop", "Row")
    assert [field["name"] for field in registered["fields"]] == ["a_b", "x1st"]


def test_two_fields_that_become_one_name_are_refused_as_one_of_them_would_be_lost() -> None:
    inner = s.struct({"x.y": s.INT32, "x_y": s.INT32}, name="Inner")
    for one in (s.struct({"a-b": s.STRING, "a_b": s.STRING}), s.struct({"more": inner})):
        with pytest.raises(SchemaError, match=r"have one name in Avro, (a_b|x_y)\."):
            _registered(one, scrub_invalid_names=True)


def test_a_map_whose_keys_are_not_text_is_an_array_of_entries() -> None:
    schema = s.map_of(s.INT32, s.STRING)
    registered = _registered(schema)
    assert registered["items"]["name"] == "MapEntry"
    assert [field["name"] for field in registered["items"]["fields"]] == ["key", "value"]
    assert _read(registered) == schema


def test_two_maps_of_different_keys_fit_into_one_schema() -> None:
    schema = s.struct({"a": s.map_of(s.INT32, s.STRING), "b": s.map_of(s.INT64, s.STRING)})
    rows = [{"a": {1: "x"}, "b": {2: "y", 3: "z"}}]
    read, array, _ = decoded(parse_avro(own_text(schema)), encoded(schema, rows))
    assert read == schema
    assert rows_of(array) == rows


def test_an_enum_is_read_as_text_and_written_as_an_enum_with_enhanced_support() -> None:
    enum = {"type": "enum", "name": "n.Color", "symbols": ["RED", "BLUE"], "default": "RED", "doc": "paint"}
    schema = _read(enum, enhanced=True)
    assert schema.parameters["io.confluent.connect.avro.Enum"] == "n.Color"
    assert schema.name == "n.Color"
    again = _registered(schema, enhanced=True)
    assert {k: again[k] for k in ("type", "name", "namespace", "symbols", "default", "doc")} == {
        **enum, "name": "Color", "namespace": "n",
    }  # fmt: skip
    assert rows_of(decoded(parse_avro(json.dumps(enum)), [b"\x00", b"\x02"])[1]) == ["RED", "BLUE"]
    assert encoded(schema, ["BLUE"], parse_avro(json.dumps(enum))) == [b"\x02"]
    with pytest.raises(SchemaError, match=r"'GREEN' is no symbol of the Avro enum n.Color"):
        encoded(schema, ["GREEN"], parse_avro(json.dumps(enum)))


def test_a_union_of_several_types_is_a_struct_with_one_value() -> None:
    union = ["null", "int", {"type": "record", "name": "n.A", "fields": [{"name": "x", "type": "string"}]}]
    avro = parse_avro(json.dumps({"type": "record", "name": "R", "fields": [{"name": "u", "type": union}]}))
    data = [b"\x00", b"\x02\x0e", b"\x04\x02q"]
    schema, array, failures = decoded(avro, data)
    assert failures == {}
    assert rows_of(array) == [{"u": None}, {"u": {"int": 7, "A": None}}, {"u": {"int": None, "A": {"x": "q"}}}]
    assert schema.field("u").name == "io.confluent.connect.avro.Union"
    assert encoded(schema, rows_of(array), avro) == data
    assert [f.name for f in _read(union, enhanced=True).fields] == ["int", "n.A"]
    generalized = _read(union, generalized_sum_types=True)
    assert [f.name for f in generalized.fields] == ["connect_union_field_1", "connect_union_field_2"]


def test_fixed_and_decimals_on_fixed_keep_their_size() -> None:
    fixed = {"type": "fixed", "name": "n.Money", "size": 4, "logicalType": "decimal", "precision": 8, "scale": 2}
    avro = parse_avro(json.dumps(fixed))
    schema, array, _ = decoded(avro, [b"\xff\xff\xff\xfe", b"\x00\x00\x04\xd2"])
    assert [str(value) for value in rows_of(array)] == ["-0.02", "12.34"]
    assert encoded(schema, rows_of(array), avro) == [b"\xff\xff\xff\xfe", b"\x00\x00\x04\xd2"]


def test_blocks_with_a_size_in_bytes_are_read() -> None:
    avro = parse_avro('{"type":"array","items":"string"}')
    one_block, sized = b"\x04\x02a\x02b\x00", b"\x03\x08\x02a\x02b\x00"
    two = b"\x02\x02a\x02\x02b\x00"
    assert rows_of(decoded(avro, [one_block, sized, two, b"\x00"])[1]) == [["a", "b"]] * 3 + [[]]


def test_what_connect_has_no_type_for_is_refused() -> None:
    with pytest.raises(SchemaError, match="Standalone null"):
        _read("null")
    with pytest.raises(SchemaError, match="refers to a type 'Gone'"):
        _read(["null", "Gone"])
    with pytest.raises(SchemaError, match="no Avro schema"):
        _read({"type": "record", "name": "R"})


@pytest.mark.parametrize(
    ("avro", "data", "reason"),
    [
        ('"boolean"', b"\x02", "neither 0 nor 1"),
        ('"string"', b"\x04\xff\xfe", "not UTF-8"),
        ('"string"', b"\x7f", "ends too early"),
        ('"int"', b"\xfe\xff\xff\xff\x7f", "out of range for int32"),
        ('{"type":"int","logicalType":"time-millis"}', b"\x01", "out of range"),
        ('["null","int"]', b"\x08", "no branch of that number"),
        ('"long"', b"\xff" * 10, "more than 64 bits"),
        ('{"type":"array","items":"int"}', b"\xfe\xff\xff\xff\x0f\x00", "more items than there are bytes"),
        ('{"type":"bytes","logicalType":"decimal","precision":4,"scale":0}', b"\x06\x7f\xff\xff", "more than 4 digits"),
    ],
)
def test_a_damaged_value_fails_its_row_alone(avro: str, data: bytes, reason: str) -> None:
    parsed = parse_avro(f'{{"type":"record","name":"R","fields":[{{"name":"v","type":{avro}}}]}}')
    good = {'"boolean"': b"\x01", '["null","int"]': b"\x00"}.get(avro, b"\x00")
    good = b"\x02\x01" if "decimal" in avro else good
    _, array, failures = decoded(parsed, [good, data, good])
    assert set(failures) == {1}
    assert reason in failures[1]
    assert array[0] == array[2]
