"""Rows and columns give the same result, for any schema and values; rejected rows are the same too."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from drawn_cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.errors import ConnectError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.api.schema import Schema, Type
from connect.plugins.catalog import Catalog
from connect.testing.equality import same_value
from connect.testing.strategies import scalar_schemas, struct_schemas, values
from connect.transforms.plugin import connect_plugins
from connect.transforms.settings.cast_spec import TARGETS
from connect.transforms.time.moments import Form

pytestmark = pytest.mark.thorough

PLUGINS = {p.name.rpartition(".")[2]: p for p in connect_plugins()}
TIMES = (s.DATE_SCHEMA, s.TIME_SCHEMA, s.TIMESTAMP_SCHEMA, s.INT64, s.STRING)
ODD_TEXTS = ("1", "-0", "1.5", "007", "+3", "x", "", "1e3", "NaN", "300", "99999999999", "TRUE")
TEXTS = st.sampled_from(ODD_TEXTS) | st.integers(-(2**70), 2**70).map(str) | st.floats().map(repr)
PATTERN = "yyyy-MM-dd HH:mm:ss.SSS"


def build(name: str, config: dict[str, str]) -> Any:
    return Catalog.load(PLUGINS[name])(PLUGINS[name].config.parse(config))


def batches(schema: Schema, rows: list[Any]) -> tuple[Batch, Batch]:
    """The same rows as Python values and as Arrow."""
    by_row = Column.from_rows(rows, schema)
    by_column = Column.from_arrow(by_row.arrow(), schema)
    # Both start from what Arrow holds, so that only the transform can make a difference.
    started = Column.from_rows(list(Column.from_arrow(by_column.arrow(), schema).rows()), schema)
    return batch_of(started), batch_of(by_column)


def batch_of(column: Column) -> Batch:
    offsets = pa.array(range(7, 7 + len(column)), pa.int64())
    consumed = Consumed(TopicPartition("t", 2), offsets, 7 + len(column))
    times = pa.array([1000 * i for i in range(len(column))], pa.int64())
    return Batch("t", column, timestamps_ms=times, partition=2, consumed=consumed)


def result(name: str, config: dict[str, str], batch: Batch) -> Any:
    """What comes out, or what is said of the rows that cannot be changed."""
    try:
        (made,) = build(name, config).apply(batch)
    except RejectedRowsError as error:
        return {i: str(e) for i, e in error.rows.items()}
    except ConnectError as error:
        return str(error)
    keys = None if made.keys is None else (made.keys.schema, list(made.keys.rows()))
    headers = None if made.headers is None else [[tuple(h) for h in row] for row in made.headers]
    return made.values.schema, list(made.values.rows()), keys, headers


def assert_same(name: str, config: dict[str, str], schema: Schema, rows: list[Any]) -> None:
    by_row, by_column = batches(schema, rows)
    left, right = result(name, config, by_row), result(name, config, by_column)
    if isinstance(left, tuple) and isinstance(right, tuple):
        assert left[0] == right[0]
        assert same_value(list(left[1]), list(right[1])), (left[1], right[1])
        assert same_value(repr(left[2:]), repr(right[2:]))
    else:
        assert left == right


@st.composite
def structs(draw: st.DrawFn, members: st.SearchStrategy[Schema] | None = None) -> tuple[Schema, list[Any]]:
    schema = draw(struct_schemas(members)).as_optional()
    return schema, draw(st.lists(values(schema), min_size=1, max_size=5))


CONFIGS = {
    "ReplaceField$Value": lambda f: {"exclude": f[-1], "renames": f"{f[0]}:renamed"},
    "InsertField$Value": lambda f: {
        "topic.field": "_t!", "partition.field": "_p", "offset.field": "_o", "timestamp.field": "_ts",
        "static.field": "_s", "static.value": "x",
    },
    "MaskField$Value": lambda f: {"fields": ",".join(f)},
    "ExtractField$Value": lambda f: {"field": f[0]},
    "HoistField$Value": lambda f: {"field": "whole"},
    "Flatten$Value": lambda f: {},
    "HeaderFrom$Value": lambda f: {"fields": f[0], "headers": "h", "operation": "move"},
    "SetSchemaMetadata$Value": lambda f: {"schema.name": "n", "schema.version": "3"},
    "ValueToKey": lambda f: {"fields": f[0]},
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=cases(15, drawn=300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=structs(scalar_schemas() | struct_schemas()))
def test_rows_and_columns_give_the_same(name: str, drawn: tuple[Schema, list[Any]]) -> None:
    schema, rows = drawn
    assert_same(name, CONFIGS[name]([f.name for f in schema.fields]), schema, rows)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=cases(15, drawn=300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=structs())
def test_casts_of_rows_and_columns_are_the_same(target: Type, drawn: tuple[Schema, list[Any]]) -> None:
    schema, rows = drawn
    assert_same("Cast$Value", {"spec": ",".join(f"{f.name}:{target}" for f in schema.fields)}, schema, rows)


@pytest.mark.parametrize("target", [t for t in TARGETS if t is not Type.STRING])
@settings(max_examples=cases(15, drawn=300), deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_casts_of_texts_are_the_same(target: Type, texts: list[str]) -> None:
    assert_same("Cast$Value", {"spec": f"a:{target}"}, s.struct({"a": s.STRING}), [{"a": text} for text in texts])


@pytest.mark.parametrize("precision", ["seconds", "milliseconds", "microseconds", "nanoseconds"])
@pytest.mark.parametrize("target", list(Form))
@settings(max_examples=cases(8, drawn=100), deadline=None)
@given(data=st.data())
def test_moments_of_rows_and_columns_are_the_same(target: Form, precision: str, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(TIMES)).as_optional()
    text = st.sampled_from(["2023-11-14 22:13:20.123", "0001-01-03 00:00:00.000", "x"])
    one = (
        text
        if source.type is Type.STRING
        else st.integers(-6 * 10**10, 6 * 10**10)
        if source.name is None
        else values(source)
    )
    rows = [{"ts": value} for value in data.draw(st.lists(st.none() | one, min_size=1, max_size=4))]
    config = {"field": "ts", "target.type": target, "format": PATTERN, "unix.precision": precision}
    assert_same("TimestampConverter$Value", config, s.struct({"ts": source}), rows)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("Cast$Value", {"spec": "a:int8"}),
        ("TimestampConverter$Value", {"field": "a", "target.type": "unix", "format": PATTERN}),
    ],
)
def test_what_stands_below_a_tombstone_is_no_value(name: str, config: dict[str, str]) -> None:
    schema = s.struct({"a": s.STRING}, optional=True)
    below = pa.array(["garbage"], pa.string())
    field = pa.field("a", pa.string(), nullable=False)
    tombstone = pa.StructArray.from_arrays([below], fields=[field], mask=pa.array([True]))
    text = "5" if name.startswith("Cast") else "2023-11-14 22:13:20.123"
    row = Column.from_rows([{"a": text}], schema).arrow()
    (made,) = build(name, config).apply(batch_of(Column.from_arrow(pa.concat_arrays([tombstone, row]), schema)))
    assert made.values.rows()[0] is None
    assert made.values.rows()[1] is not None


def test_a_bad_row_is_named_and_the_others_can_go_on() -> None:
    schema = s.struct({"a": s.STRING})
    batch = batch_of(Column.from_arrow(Column.from_rows([{"a": "1"}, {"a": "x"}], schema).arrow(), schema))
    with pytest.raises(RejectedRowsError) as caught:
        build("Cast$Value", {"spec": "a:int8"}).apply(batch)
    assert {i: str(e) for i, e in caught.value.rows.items()} == {
        1: "Value (x) was out of range for requested data type"
    }
    assert isinstance(caught.value.rows[1], SchemaError)
