"""Checks schemas of the Protobuf converter: what is registered, and what is read from .proto files written by
others.
"""

from __future__ import annotations

import base64
import datetime as dt
import tempfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest
from proto_codec import NULLABLE, compiled, decoded, descriptors, encoded, peer, rows_of

from connect.api import schema as s
from connect.api.errors import RetriableError, SchemaError
from connect.convert.protobuf.compile import compile_proto
from connect.convert.protobuf.converter import index_bytes
from connect.convert.protobuf.from_connect import proto_text
from connect.convert.protobuf.logical import decimals_of
from connect.convert.protobuf.settings import ProtobufSettings
from connect.convert.protobuf.to_connect import connect_of
from connect.convert.vectors.cursor import Cursor

PLAIN = ProtobufSettings()
FOREIGN = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Other { int32 x = 1; }
message Row {
  enum Color { NONE = 0; RED = 1; BLUE = 5; }
  message Part { string name = 1; repeated int32 sizes = 2; message Deep { bool on = 1; } }
  sint64 signed = 1; fixed32 fixed = 2; uint64 large = 3; Color color = 4; repeated Part parts = 5;
  map<int64, Part> by_id = 6; google.protobuf.Timestamp at = 7; google.protobuf.StringValue wrapped = 8;
  oneof choice { string text = 9; Part part = 10; }
  optional int32 maybe = 11; repeated string tags = 12; repeated Color colors = 13; bytes raw = 14;
}
"""


def _row_and_peer() -> tuple[Any, Any]:
    return compiled(FOREIGN).named("shop.Row"), peer(FOREIGN, "shop.Row")


def _full(kind: Any) -> Any:
    message = kind(
        signed=-3, fixed=2**32 - 1, large=2**63 - 1, color=5, tags=["a", ""], colors=[1, 0], raw=b"\x00", maybe=0
    )
    message.parts.add(name="p", sizes=[1, -1])
    message.by_id[7].name = "seven"
    message.at.FromDatetime(dt.datetime(2024, 2, 29, 1, 2, 3, 4000, dt.UTC))
    message.wrapped.value = "w"
    message.part.sizes.append(300)
    return message


def test_every_kind_of_field_that_others_write_is_read() -> None:
    row, kind = _row_and_peer()
    empty = {"signed": 0, "fixed": 0, "large": 0, "color": "NONE", "parts": [], "by_id": {}, "at": None,
             "wrapped": None, "choice_0": None, "maybe": None, "tags": [], "colors": [], "raw": b""}  # fmt: skip
    schema, array, failures = decoded(row, [_full(kind).SerializeToString(), b""], PLAIN)
    assert failures == {}
    assert rows_of(array) == [
        {
            "signed": -3, "fixed": 2**32 - 1, "large": 2**63 - 1, "color": "BLUE",
            "parts": [{"name": "p", "sizes": [1, -1]}], "by_id": {7: {"name": "seven", "sizes": []}},
            "at": dt.datetime(2024, 2, 29, 1, 2, 3, 4000, dt.UTC), "wrapped": {"value": "w"},
            "choice_0": {"text": None, "part": {"name": "", "sizes": [300]}}, "maybe": 0, "tags": ["a", ""],
            "colors": ["RED", "NONE"], "raw": b"\x00",
        },
        empty,
    ]  # fmt: skip
    assert schema.name == "Row"
    assert schema.field("choice_0").name == "io.confluent.connect.protobuf.Union.choice"
    assert schema.field("color").parameters["io.confluent.connect.protobuf.Enum.BLUE"] == "5"


def test_what_was_read_is_written_as_the_same_bytes() -> None:
    row, kind = _row_and_peer()
    full = _full(kind).SerializeToString(deterministic=True)
    schema, array, _ = decoded(row, [full, b""], PLAIN)
    assert encoded(schema, rows_of(array), PLAIN, row) == [full, b""]


def test_a_number_that_an_open_enum_has_no_symbol_of_is_read_as_in_java() -> None:
    row, kind = _row_and_peer()
    data = [kind(color=number, colors=[1, number]).SerializeToString() for number in (5, 7, -2)]
    _, array, errors = decoded(row, data, PLAIN)
    assert errors == {}
    assert [(one["color"], one["colors"]) for one in rows_of(array)] == [
        ("BLUE", ["RED", "BLUE"]),
        ("UNKNOWN_ENUM_VALUE_Color_7", ["RED", "UNKNOWN_ENUM_VALUE_Color_7"]),
        ("UNKNOWN_ENUM_VALUE_Color_-2", ["RED", "UNKNOWN_ENUM_VALUE_Color_-2"]),
    ]
    numbers = rows_of(decoded(row, data, ProtobufSettings(int_for_enums=True))[1])
    assert [one["color"] for one in numbers] == [5, 7, -2]


def test_a_number_that_a_closed_enum_has_no_symbol_of_is_a_bad_row() -> None:
    text = 'syntax = "proto2"; message Row { enum Color { NONE = 0; } optional Color color = 1; }'
    _, _, errors = decoded(compiled(text).first, [b"\x08\x00", b"\x08\x07"], PLAIN)
    assert list(errors) == [1]


def test_wrappers_unions_and_enums_are_read_as_the_settings_say() -> None:
    row, kind = _row_and_peer()
    data = [_full(kind).SerializeToString(deterministic=True)]
    wrapped = ProtobufSettings(wrapper_for_nullables=True)
    schema, array, _ = decoded(row, data, wrapped)
    assert schema.field("wrapped") == replace(
        s.STRING, optional=True, parameters=MappingProxyType({"io.confluent.connect.protobuf.Tag": "8"})
    )
    assert rows_of(array)[0]["wrapped"] == "w"
    assert encoded(schema, rows_of(array), wrapped, row) == data
    flat = rows_of(decoded(row, data, ProtobufSettings(flatten_unions=True))[1])[0]
    assert (flat["text"], flat["part"]["sizes"]) == (None, [300])
    assert rows_of(decoded(row, data, ProtobufSettings(int_for_enums=True))[1])[0]["color"] == 5
    assert connect_of(row, ProtobufSettings(enhanced=True)).name == "shop.Row"
    bare = ProtobufSettings(index_for_unions=False)
    assert "choice" in connect_of(row, bare).field_index


def test_the_last_value_of_a_field_and_of_a_oneof_counts_and_unknown_fields_are_skipped() -> None:
    message = compiled('syntax="proto3"; message A { int32 a = 1; oneof u { int32 b = 2; string c = 3; } }').first
    twice, both, unknown = b"\x08\x01\x08\x02", b"\x10\x05\x1a\x01x", b"\x28\x07\x32\x01z\x08\x03\x39" + b"\x00" * 8
    _, array, failures = decoded(message, [twice, both, unknown], PLAIN)
    assert failures == {}
    assert [(row["a"], row["u_0"]) for row in rows_of(array)] == [
        (2, None), (0, {"b": None, "c": "x"}), (3, None),
    ]  # fmt: skip


def test_a_field_of_the_number_zero_is_no_end_of_its_message() -> None:
    message = compiled('syntax="proto3"; message A { B b = 1; message B { int32 x = 1; int32 y = 2; } }').first
    cut = b"\x0a\x05\x08\x01\x00\x10\x02"
    _, _, failures = decoded(message, [b"\x0a\x04\x08\x01\x10\x02", cut, b"\x00", b"\x0a\x02\x08\x01\x00"], PLAIN)
    assert failures == dict.fromkeys((1, 2, 3), "a field has the number 0")


def test_a_oneof_with_two_values_is_refused_as_readers_drop_one() -> None:
    text = 'syntax="proto3"; message A { oneof u { int32 b = 2; string c = 3; } }'
    message = compiled(text).first
    schema = connect_of(message, PLAIN)
    assert encoded(schema, [{"u_0": {"b": 5, "c": None}}, {"u_0": None}], PLAIN, message) == [b"\x10\x05", b""]
    with pytest.raises(SchemaError, match="more than one of its members") as told:
        encoded(schema, [{"u_0": {"b": 5, "c": "x"}}], PLAIN, message)
    assert told.value.field == "u_0"


def test_lists_of_numbers_are_read_packed_or_not() -> None:
    message = compiled('syntax="proto3"; message A { repeated int32 a = 1; }').first
    rows = rows_of(decoded(message, [b"\x0a\x02\x01\x02", b"\x08\x01\x08\x02", b"\x0a\x01\x01\x08\x02"])[1])
    assert rows == [{"a": [1, 2]}] * 3


def test_proto2_defaults_to_null_and_required_fields_must_be_there() -> None:
    message = compiled('syntax="proto2"; message A { optional int32 a = 1; required string b = 2; }').first
    schema, array, _ = decoded(message, [b"\x12\x01x"], PLAIN)
    assert rows_of(array) == [{"a": None, "b": "x"}]
    assert encoded(schema, rows_of(array), PLAIN, message) == [b"\x12\x01x"]
    with pytest.raises(SchemaError, match="requires this field"):
        encoded(s.struct({"a": s.INT32}), [{"a": 1}], PLAIN, message)


def test_a_schema_is_written_as_protobuf() -> None:
    schema = s.struct(
        {
            "id": s.INT64, "small": s.INT8, "note": s.STRING.as_optional(), "price": s.decimal(2, precision=9),
            "day": s.DATE_SCHEMA, "tags": s.array(s.STRING), "counts": s.map_of(s.STRING, s.INT32),
            "place": s.struct({"x": s.FLOAT64}, name="shop.Place"),
        },
        name="shop.Row",
    )  # fmt: skip
    expected = """syntax = "proto3";
package shop;

import "confluent/meta.proto";
import "confluent/type/decimal.proto";
import "google/type/date.proto";

message Row {
  int64 id = 1;
  int32 small = 2 [(confluent.field_meta) = {params: [{key: "connect.type", value: "int8"}]}];
  optional string note = 3;
  confluent.type.Decimal price = 4 [(confluent.field_meta) = {params: [OPTIONS]}];
  google.type.Date day = 5;
  repeated string tags = 6;
  map<string, int32> counts = 7;
  Place place = 8;
  message Place {
    double x = 1;
  }
}
"""
    options = '{key: "precision", value: "9"}, {key: "scale", value: "2"}'
    assert proto_text(schema, NULLABLE) == expected.replace("OPTIONS", options)
    message = compiled(proto_text(schema, NULLABLE)).first
    read = connect_of(message, NULLABLE)
    assert read.field("small").type is s.Type.INT8
    assert read.field("price").parameters["connect.decimal.precision"] == "9"


def test_a_null_that_protobuf_could_not_keep_is_refused_or_lost_on_demand() -> None:
    schema = s.struct({"a": s.INT32.as_optional(), "b": s.array(s.INT32, optional=True)})
    with pytest.raises(SchemaError, match=r"Field 'a': Protobuf cannot tell this null from a zero.*optional.for.null"):
        encoded(schema, [{"a": None, "b": []}], PLAIN)
    with pytest.raises(SchemaError, match="Field 'b': Protobuf cannot tell this null from an empty list"):
        encoded(schema, [{"a": 1, "b": None}], PLAIN)
    assert encoded(schema, [{"a": None, "b": None}], ProtobufSettings(java=True)) == [b""]
    assert encoded(schema, [{"a": None, "b": [1]}], NULLABLE) == [b"\x12\x01\x01"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (s.INT32, "A Protobuf message is a struct.*HoistField"),
        (s.struct({"a": s.array(s.array(s.INT32))}), "Field 'a': Protobuf has no list of lists"),
        (s.struct({"a": s.map_of(s.FLOAT64, s.INT32)}), "Field 'a': A map's key cannot be float64"),
        (s.struct({"a-b": s.INT32}), "Field 'a-b': 'a-b' is no name in Protobuf"),
    ],
)
def test_what_protobuf_has_no_place_for_is_refused(schema: s.Schema, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        proto_text(schema, PLAIN)
    assert "a_b" in proto_text(s.struct({"a-b": s.INT32}), ProtobufSettings(scrub_invalid_names=True))


def test_a_text_that_is_no_schema_is_refused() -> None:
    with pytest.raises(SchemaError, match='"Gone" is not defined'):
        compile_proto('syntax="proto3"; message T { Gone next = 1; }')


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x08", "ends too early"), (b"\x1a\x05ab", "ends too early"), (b"\x1a\x02\xff\xfe", "not UTF-8"),
        (b"\x0f", "wire type"), (b"\x12\x02\x08\x0d", "no date"),
        (b"\x22\x06\x10\x80\x94\xeb\xdc\x03", "is out of range"),
        (b"\x22\x02\x10\x01", "finer than milliseconds"),
    ],
)  # fmt: skip
def test_a_damaged_message_fails_its_row_alone(data: bytes, reason: str) -> None:
    message = compiled(
        'syntax="proto3"; import "google/type/date.proto"; import "google/protobuf/timestamp.proto";'
        "message A { int32 a = 1; google.type.Date d = 2; string t = 3; google.protobuf.Timestamp m = 4; }"
    ).first
    _, array, failures = decoded(message, [b"\x08\x01", data, b"\x08\x01"], PLAIN)
    assert set(failures) == {1}
    assert reason in failures[1]
    assert array[0] == array[2]


@pytest.mark.parametrize(
    ("data", "moment_ms"),
    [(b"\x22\x02\x10\x01", 0), (b"\x22\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x81\x89z", -998)],
    ids=["nanosecond", "before 1970"],
)
def test_java_cuts_a_time_that_is_finer_than_milliseconds(data: bytes, moment_ms: int) -> None:
    message = compiled(
        'syntax="proto3"; import "google/protobuf/timestamp.proto"; message A { google.protobuf.Timestamp m = 4; }'
    ).first
    _, array, failures = decoded(message, [data], ProtobufSettings(java=True))
    assert not failures
    assert array.field("m").cast(pa.int64()).to_pylist() == [moment_ms]


def test_message_indexes_are_those_of_confluent() -> None:
    schema = compiled(FOREIGN)
    assert index_bytes(schema.named("shop.Other")) == b"\x00"
    assert index_bytes(schema.named("shop.Row")) == b"\x02\x02"
    assert index_bytes(schema.named("shop.Row.Part.Deep")) == b"\x06\x02\x00\x00"
    assert schema.at((1, 0, 0)).name == "shop.Row.Part.Deep"


def test_a_serialized_descriptor_is_a_schema_too() -> None:
    file = descriptors(FOREIGN).file[-1]
    schema = compile_proto(base64.b64encode(file.SerializeToString()).decode())
    assert [f.name for f in schema.named("shop.Row").fields][:3] == ["signed", "fixed", "large"]
    assert schema.named("shop.Row").fields[6].message.name == "google.protobuf.Timestamp"


PACKED: dict[str, tuple[list[Any], bytes]] = {
    "bool": ([True] * 20_000, b"\x01" * 20_000), "sfixed32": ([7] * 20_000, b"\x07\0\0\0" * 20_000),
    "int64": ([-1, 0, 300], b"\xff" * 9 + b"\x01" + b"\0" + b"\xac\x02"), "double": ([], b""),
}  # fmt: skip


@pytest.mark.parametrize("kind", PACKED)
def test_packed_numbers_of_a_row_are_read_at_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, a row of a megabyte took a minute and gigabytes."""
    reads = []
    for name in ("varints", "fixed"):
        real = getattr(Cursor, name)
        monkeypatch.setattr(Cursor, name, lambda *a, real=real: reads.append(a) or real(*a))
    numbers, packed = PACKED[kind]
    message = compiled(f'syntax="proto3"; message T {{ repeated {kind} x = 1; string y = 2; }}').first
    wire = b"\x0a" + _varint(len(packed)) + packed
    _, array, failures = decoded(message, [wire, b"", wire + wire, b"\x0a\x03\x01\x02\xff"])
    assert array.to_pylist()[:3] == [{"x": x, "y": ""} for x in (numbers, [], numbers * 2)]
    assert list(failures) == [3]
    assert len(reads) < 30


def _varint(number: int) -> bytes:
    groups = []
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


@pytest.mark.parametrize("scale", [-(2**31), -1000, -101, 1000, 2**31 - 1])
@pytest.mark.parametrize(("unscaled", "fits"), [(b"\x05", False), (b"\0", True), (b"", True), (b"\x7f" * 400, False)])
def test_a_decimal_of_a_wild_scale_is_one_bad_row(scale: int, unscaled: bytes, fits: bool) -> None:
    cursor = Cursor.over(pa.array([b"a", b"b"]))
    columns = [pa.array([unscaled, b"\x07"]), pa.array([1, 1]), pa.array([scale, 2], pa.int32())]
    array = decimals_of(columns, cursor, pa.decimal128(38, 2))
    assert array[1].as_py() == Decimal("0.07")
    assert list(cursor.failures) == ([] if fits else [0])


def test_decimals_of_another_scale_are_rescaled_when_nothing_is_lost() -> None:
    schema = s.struct({"p": s.decimal(2)})
    message = compiled(proto_text(schema, NULLABLE)).first
    wider = compiled(proto_text(s.struct({"p": s.decimal(3)}), NULLABLE)).first
    data = encoded(s.struct({"p": s.decimal(3)}), [{"p": Decimal("1.500")}, {"p": Decimal("1.501")}], NULLABLE, wider)
    _, array, failures = decoded(message, data)
    assert array[0].as_py() == {"p": Decimal("1.50")}
    assert "does not fit" in failures[1]


def test_a_disk_without_room_is_no_bad_schema(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(RetriableError, match=r"no temporary file can be written: .*No such file") as told:
        compile_proto('syntax="proto3"; message T { int32 n = 1; }')
    assert "TMPDIR" in str(told.value)


@pytest.mark.parametrize(
    "name",
    [
        "grpc_tools.py", "a.proto/../b.proto", "../up.proto", "/etc/x.proto", ".hidden.proto", "a/.x/b.proto",
        "a//b.proto", "./a.proto", "a\\b.proto", "--python_out=x.proto", "-Ix/a.proto", "@args.proto", "a\n.proto",
        "a\x00.proto", "", ".proto", "a" * 300 + ".proto", "a/" * 300 + "b.proto",
    ],
)  # fmt: skip
def test_a_reference_is_a_proto_file_below_the_schemas_or_refused(name: str, tmp_path: Path) -> None:
    text = 'syntax="proto3"; message T { int32 n = 1; }'
    with pytest.raises(SchemaError, match=r"no relative path of a \.proto file") as told:
        compile_proto(text, [(name, text)])
    assert len(str(told.value)) < 400


def test_a_dependency_of_a_descriptor_is_no_option_of_the_compiler(tmp_path: Path) -> None:
    file = descriptors(FOREIGN).file[-1]
    file.dependency.append(f"--descriptor_set_out={tmp_path}/written.proto")
    with pytest.raises(SchemaError, match=r"no relative path of a \.proto file"):
        compile_proto(base64.b64encode(file.SerializeToString()).decode())
    assert list(tmp_path.iterdir()) == []


def test_schemas_that_are_file_and_folder_at_once_are_no_full_disk() -> None:
    text = 'syntax="proto3"; message T { int32 n = 1; }'
    with pytest.raises(SchemaError, match="a file and a folder"):
        compile_proto(text, [("a.proto", text), ("a.proto/b.proto", text)])
    with pytest.raises(SchemaError, match="is no Unicode"):
        compile_proto(text, [("a.proto", "// \ud800")])
