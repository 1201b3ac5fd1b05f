"""The native code's Avro is byte for byte that of the Python code, which fastavro reads elsewhere in these tests."""

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect import native
from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.convert.avro.encode import encoder
from connect.convert.avro.from_connect import avro_of
from connect.convert.avro.native_plan import plan_of
from connect.convert.avro.settings import AvroSettings
from connect.convert.vectors.pieces import joined

pytestmark = pytest.mark.skipif(
    native.module() is None, reason="NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install"
)
PREFIX = b"\x00\x00\x00\x00\x07"


def whole(bits):
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


LEAVES = [
    (s.INT8, whole(8)), (s.INT16, whole(16)), (s.INT32, whole(32)), (s.INT64, whole(64)),
    (s.FLOAT32, st.floats(width=32)), (s.FLOAT64, st.floats()), (s.BOOLEAN, st.booleans()),
    (s.STRING, st.text(max_size=200)), (s.BYTES, st.binary(max_size=200)), (s.DATE_SCHEMA, st.dates()),
    (s.TIMESTAMP_SCHEMA, whole(48)), (s.TIME_SCHEMA, st.integers(0, 86_399_999)),
]  # fmt: skip


@st.composite
def records(draw, depth=2):
    fields, values = {}, {}
    for i in range(draw(st.integers(1, 5))):
        if depth and draw(st.integers(0, 3)) == 0:
            schema, value = draw(records(depth - 1))
            schema = s.struct(
                {f.name: f.schema for f in schema.fields}, name=f"r{depth}{i}{draw(st.integers(0, 10**9))}"
            )
        else:
            schema, value = draw(st.sampled_from(LEAVES))
        optional = draw(st.booleans())
        fields[f"f{i}"] = schema.as_optional(optional)
        values[f"f{i}"] = st.none() | value if optional else value
    return s.struct(fields, name="top"), st.fixed_dictionaries(values)


@st.composite
def tables(draw):
    schema, row = draw(records())
    return schema, draw(st.lists(row, min_size=1, max_size=5)), draw(st.integers(0, 1))


def array_of(rows, schema):
    return pa.array(rows, arrow_type(schema))


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(tables())
def test_bytes_are_those_of_the_python_code(table):
    schema, rows, start = table
    array = array_of(rows * 2, schema)[start:]
    avro = avro_of(schema, AvroSettings())
    plan = plan_of(schema, avro, AvroSettings())
    assert plan is not None
    ours = native.encode_avro(array, plan, prefix=PREFIX)
    ours.validate(full=True)
    parts = encoder(schema, avro, AvroSettings())(array)
    assert ours.to_pylist() == joined([pa.scalar(PREFIX), *parts, pa.array([b""] * len(array))]).to_pylist()


def test_a_missing_value_is_left_to_the_code_that_names_it():
    schema = s.struct({"a": s.STRING, "b": s.INT32.as_optional()}, name="t")
    array = pa.StructArray.from_arrays([pa.array(["x", None]), pa.array([1, None], pa.int32())], names=["a", "b"])
    avro = avro_of(schema, AvroSettings())
    assert native.encode_avro(array, plan_of(schema, avro, AvroSettings()), prefix=b"") is None
    with pytest.raises(SchemaError) as caught:
        encoder(schema, avro, AvroSettings())(array)
    assert caught.value.field == "a"


@pytest.mark.parametrize(
    "schema",
    [
        s.INT32, s.struct({"a": replace(s.INT32, default=3)}, name="t"), s.struct({"a": s.decimal(2)}, name="t"),
        s.struct({"a": s.array(s.INT32)}, name="t"), s.struct({"a": s.map_of(s.STRING, s.INT32)}, name="t"),
    ],
)  # fmt: skip
def test_other_types_have_no_plan(schema):
    assert plan_of(schema, avro_of(schema, AvroSettings()), AvroSettings()) is None


@pytest.mark.parametrize(
    ("plan", "kind"),
    [(b"", pa.int32()), (b"r", pa.int32()), (b"r\x00\x01\x00\x05i", pa.int32()), (b"r\x00\x01\x00\x00f", pa.int32()),
     (b"r\x00\x01\x00\x00ii", pa.int32()), (b"r\x00\x01\x00\x00s", pa.large_string()),
     (b"r\x00\x01\x00\x00?", pa.int32()),
     (b"r\x00\x01\x00\x00x", pa.int32())],
)  # fmt: skip
def test_a_plan_that_does_not_go_with_the_columns_writes_nothing(plan, kind):
    array = pa.StructArray.from_arrays([pa.nulls(2, kind)], names=["a"])
    assert native.encode_avro(array, plan, prefix=b"") is None
