"""Checks columns and batches: both forms hold the same values, and parts keep their place in the log."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Consumed, Header, SourcePosition, TopicPartition
from connect.testing.equality import difference
from connect.testing.strategies import TYPE_CASES, columns

TP = TopicPartition("orders", 3)


def log_batch(size: int, *, rows: bool = False) -> Batch:
    """Rows 0..size-1 of a partition at offsets 100, 102, … with a gap after the last."""
    values = Column.from_rows(list(range(size)), s.INT64)
    return Batch(
        "orders",
        values=values if rows else Column.from_arrow(values.arrow(), s.INT64),
        keys=Column.from_rows([f"k{i}" for i in range(size)], s.STRING),
        headers=[[Header("h", i)] for i in range(size)],
        timestamps_ms=pa.array(range(size), pa.int64()),
        partition=3,
        position=SourcePosition({"p": 1}, {"o": size}),
        consumed=Consumed(TP, pa.array([100 + 2 * i for i in range(size)], pa.int64()), 100 + 2 * size, "an id"),
    )


@pytest.mark.thorough
@settings(deadline=None)
@given(columns())
def test_rows_come_back_the_same_through_arrow(column: tuple) -> None:
    schema, rows = column
    array = Column.from_rows(rows, schema).arrow()
    assert array.type == arrow_type(schema)
    assert len(array) == len(rows)
    assert difference(rows, list(Column.from_arrow(array, schema).rows())) is None


@pytest.mark.thorough
@settings(deadline=None)
@given(columns(), st.data())
def test_a_part_holds_the_same_rows_in_both_forms(column: tuple, data: st.DataObject) -> None:
    schema, rows = column
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    by_rows = Column.from_rows(rows, schema)
    by_arrow = Column.from_arrow(by_rows.arrow(), schema)
    for whole in (Column.from_rows(rows, schema), by_arrow):
        assert difference(rows[start:stop], list(whole.slice(start, stop).rows())) is None
        assert difference(rows[start:stop], list(whole.take(range(start, stop)).rows())) is None
        assert (
            difference(rows[start:stop], whole.slice(start, stop).arrow().to_pylist(maps_as_pydicts="strict")) is None
        )


@pytest.mark.parametrize("name", TYPE_CASES)
def test_edge_values_are_kept(name: str) -> None:
    case = TYPE_CASES[name]
    array = Column.from_rows(list(case.values), case.schema).arrow()
    assert difference(list(case.values), list(Column.from_arrow(array, case.schema).rows())) is None


LOSSY = {
    "a fraction in int32": (s.INT32, 1.5),
    "an int32 too large": (s.INT32, 2**31),
    "an int64 too large for float64": (s.FLOAT64, 2**53 + 1),
    "a truth value in int32": (s.INT32, True),
    "a number in a string": (s.STRING, 1),
    "bytes that are no text": (s.STRING, b"\xff"),
    "a float64 beyond float32": (s.FLOAT32, 1e300),
    "a decimal with more digits": (s.decimal(2), __import__("decimal").Decimal("1.555")),
    "a time finer than milliseconds": (s.TIME_SCHEMA, time(1, 2, 3, 456789)),
    "a moment finer than milliseconds": (s.TIMESTAMP_SCHEMA, datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
    "a moment in a date": (s.DATE_SCHEMA, datetime(2020, 1, 1, 12, tzinfo=UTC)),
    "a field the struct has not": (s.struct({"a": s.INT32}), {"a": 1, "b": 2}),
    "a required field that is missing": (s.struct({"a": s.INT32}), {}),
    "a null in a required field": (s.struct({"a": s.INT32}), {"a": None}),
    "a null in an array of required items": (s.array(s.INT32), [None]),
}


@pytest.mark.parametrize("name", LOSSY)
def test_a_value_that_would_lose_something_is_a_schema_error(name: str) -> None:
    schema, value = LOSSY[name]
    with pytest.raises(SchemaError):
        Column.from_rows([value], schema).arrow()


@pytest.mark.parametrize("value", [1.5, True, 2**31, None])
def test_what_would_be_lost_is_told_with_its_field(value: object) -> None:
    schema = s.struct({"a": s.struct({"b": s.INT32})})
    with pytest.raises(SchemaError) as caught:
        Column.from_rows([{"a": {"b": 1}}, {"a": {"b": value}}], schema).arrow()
    assert caught.value.field == "a.b"


HALF, DAY, MOMENT = 0.5, date(2020, 1, 1), datetime(2020, 1, 1, 5, tzinfo=UTC)
UNLIKE = {
    "a truth value beside a fraction": [{"v": False}, {"v": HALF}],
    "a fraction beside a truth value": [{"v": HALF}, {"v": True}],
    "in one list": [{"v": [HALF, True]}],
    "in lists": [{"v": [True]}, {"v": [HALF]}],
    "in a struct": [{"v": {"a": True}}, {"v": {"a": HALF}}],
    "in structs of lists": [{"v": [{"a": True}]}, {"v": [{"a": HALF}]}],
    "a whole number that no double holds": [{"v": 2**53 + 1}, {"v": HALF}],
    "a text beside bytes": [{"v": "x"}, {"v": b"x"}],
    "a number beside a date": [{"v": DAY}, {"v": 1}],
    "a moment beside a date": [{"v": DAY}, {"v": MOMENT}],
    "a fraction beside a moment": [{"v": MOMENT}, {"v": HALF}],
    "no struct at all": [HALF, True],
}


@pytest.mark.parametrize("name", UNLIKE)
def test_schemaless_values_of_unlike_kinds_do_not_become_each_other(name: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Column.from_rows(UNLIKE[name], None).arrow()
    assert caught.value.fix is not None


def test_schemaless_values_that_one_type_keeps_are_one_column() -> None:
    rows = [{"v": 1, "l": [1, None]}, {"v": HALF, "l": None}, {"v": None, "l": [HALF]}, {}]
    assert Column.from_rows(rows, None).arrow().field("v").to_pylist() == [1.0, HALF, None, None]


def test_a_column_makes_each_form_once_and_only_when_asked() -> None:
    made: list[str] = []

    def make_arrow() -> pa.Array:
        made.append("arrow")
        return pa.array([1, 2])

    column = Column(s.INT64, 2, arrow=make_arrow)
    assert len(column) == 2
    assert column.is_arrow
    assert made == []
    assert list(column.rows()) == [1, 2]
    assert column.arrow() is column.arrow()
    assert made == ["arrow"]


def test_a_column_with_both_makers_does_not_convert() -> None:
    column = Column(s.INT64, 1, arrow=lambda: pa.array([1]), rows=lambda: ["made as rows"])
    assert column.rows() == ["made as rows"]
    assert column.arrow().to_pylist() == [1]


def test_a_column_needs_a_maker() -> None:
    with pytest.raises(ValueError, match="needs a maker"):
        Column(s.INT64, 1)


def test_a_schemaless_column_infers_its_arrow_type_and_tells_what_does_not_agree() -> None:
    assert Column.from_rows([{"a": 1}, {"b": "x"}], None).arrow().to_pylist() == [
        {"a": 1, "b": None},
        {"a": None, "b": "x"},
    ]
    with pytest.raises(SchemaError, match="one type per field"):
        Column.from_rows([{"a": 1}, {"a": "x"}], None).arrow()


def test_nulls_are_nulls_of_the_schema() -> None:
    column = Column.nulls(3, s.INT64)
    assert column.arrow().null_count == 3
    assert list(column.rows()) == [None] * 3


@pytest.mark.parametrize("rows", [True, False])
def test_take_keeps_every_member_of_the_rows(rows: bool) -> None:
    taken = log_batch(5, rows=rows).take([0, 3])
    assert [r.value for r in taken.rows()] == [0, 3]
    assert [r.key for r in taken.rows()] == ["k0", "k3"]
    assert [r.headers for r in taken.rows()] == [[Header("h", 0)], [Header("h", 3)]]
    assert [r.timestamp_ms for r in taken.rows()] == [0, 3]
    assert [r.offset for r in taken.rows()] == [100, 106]


def test_take_keeps_the_position_of_the_whole_batch() -> None:
    whole = log_batch(5)
    taken = whole.take([1])
    assert taken.position == whole.position
    assert taken.consumed is not None
    assert taken.consumed.next_offset == 110
    assert taken.partition == 3


@given(st.integers(0, 6), st.data())
def test_slices_of_a_batch_are_its_rows_in_order(size: int, data: st.DataObject) -> None:
    whole = log_batch(size)
    cut = data.draw(st.integers(0, size))
    first, second = whole.slice(0, cut), whole.slice(cut, size)
    assert len(first) + len(second) == size
    assert [*first.rows(), *second.rows()] == whole.rows()
    assert {part.consumed.topic_id for part in (first, second) if part.consumed} == {"an id"}


def test_a_slice_that_leaves_rows_behind_claims_only_what_it_holds() -> None:
    whole = log_batch(4)
    first, last = whole.slice(0, 2), whole.slice(2, 4)
    assert first.consumed is not None
    assert last.consumed is not None
    assert first.consumed.next_offset == 104
    assert last.consumed.next_offset == 108


@pytest.mark.thorough
@given(st.integers(0, 6).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, max(n - 1, 0))))))
def test_without_is_every_other_row(case: tuple[int, set[int]]) -> None:
    size, gone = case
    whole = log_batch(size)
    rest = whole.without(gone)
    assert [r.value for r in rest.rows()] == [i for i in range(size) if i not in gone]
    assert rest.consumed is not None
    assert rest.consumed.next_offset == 100 + 2 * size


def test_without_nothing_is_the_same_batch() -> None:
    batch = log_batch(2)
    assert batch.without([]) is batch


def test_a_batch_without_rows_still_moves_the_position() -> None:
    batch = log_batch(3).take([])
    assert len(batch) == 0
    assert batch.rows() == []
    assert batch.position == SourcePosition({"p": 1}, {"o": 3})


def test_members_of_different_length_are_refused() -> None:
    values = Column.from_rows([1, 2], s.INT64)
    with pytest.raises(ValueError, match="1 keys for 2 values"):
        Batch("t", values, keys=Column.from_rows(["a"], s.STRING))
    with pytest.raises(ValueError, match="3 offsets for 2 values"):
        Batch("t", values, consumed=Consumed(TP, pa.array([1, 2, 3]), 4))


def test_a_struct_is_one_column_per_field_and_any_other_value_one_column() -> None:
    rows = [{"a": 1, "b": "x"}, None]
    structs = Batch("t", Column.from_rows(rows, s.struct({"a": s.INT64, "b": s.STRING}, optional=True)))
    assert structs.arrow().schema.names == ["a", "b"]
    assert structs.arrow().to_pylist() == [{"a": 1, "b": "x"}, {"a": None, "b": None}]
    assert structs.values.arrow().is_null().to_pylist() == [False, True]
    assert Batch("t", Column.from_rows(["x"], s.STRING)).arrow().to_pylist() == [{"value": "x"}]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None, "\u00e9\x00"]), pa.array([b"", None, b"\xff"]), pa.array([2**63 - 1, -(2**63)]),
        pa.array([1, None]), pa.array([0.1, -0.0, float("nan")]), pa.array([True, False]), pa.array([None], pa.bool_()),
        pa.array([1.5], pa.float32()), pa.array([{"a": 1, "b": None}, None, {"a": None, "b": "x"}]),
        pa.array([[1], None]), pa.array([{"m": [("k", 1)]}], pa.struct([("m", pa.map_(pa.string(), pa.int64()))])),
    ],
)  # fmt: skip
def test_rows_are_what_arrow_says_value_by_value(array: pa.Array) -> None:
    found, wanted = Column.from_arrow(array).rows(), array.to_pylist(maps_as_pydicts="strict")
    assert repr(found) == repr(wanted)
    assert [type(value) for value in found] == [type(value) for value in wanted]


def test_text_that_is_not_utf8_is_told_so() -> None:
    buffers = [None, pa.py_buffer(b"\x00\x00\x00\x00\x01\x00\x00\x00"), pa.py_buffer(b"\xff")]
    with pytest.raises(SchemaError, match="can't decode byte 0xff"):
        Column.from_arrow(pa.Array.from_buffers(pa.string(), 1, buffers)).rows()


def test_a_part_of_schemaless_rows_has_no_fields_that_a_row_lacks() -> None:
    rows = [{"a": 1}, {"b": 2.5}, None, {"a": 3, "b": 4.0}]
    texts = pa.array([b'{"a":1}', b'{"b":2.5}', None, b'{"a":3,"b":4.0}'], pa.binary())
    array = pa.array(rows, pa.struct([("a", pa.int64()), ("b", pa.float64())]))
    for cut, wanted in ((lambda c: c.slice(1, 4), [1, 2, 3]), (lambda c: c.take([0, 3]), [0, 3])):
        whole = Column(None, 4, arrow=lambda: array, rows=lambda: rows, json=lambda: texts)
        part = cut(whole)
        assert part.schema is None
        assert list(part.rows()) == [rows[i] for i in wanted]
        assert part.arrow().to_pylist() == array.take(wanted).to_pylist()
        assert part.json_texts().to_pylist() == texts.take(wanted).to_pylist()
    assert Column.from_rows(rows, None).json_texts() is None
