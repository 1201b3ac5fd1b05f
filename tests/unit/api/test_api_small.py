"""Checks deadlines, errors and the type table."""

from __future__ import annotations

import threading
import time
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.arrow import arrow_schema, arrow_type, connect_schema
from connect.api.errors import ConfigError, ConfigProblem, ConnectError, RejectedRowsError, SchemaError
from connect.api.time_types import time_type
from connect.lib.deadline import Deadline
from connect.lib.nearest import nearest
from connect.testing.strategies import schemas


def test_a_deadline_has_time_left_until_it_is_over() -> None:
    deadline = Deadline.after(60.0)
    assert 59.0 < deadline.remaining_s <= 60.0
    assert not deadline.expired
    assert Deadline.after(0.0).expired
    assert Deadline.after(-5.0).remaining_s == 0.0


def test_stop_ends_a_wait_early_and_leaves_no_time() -> None:
    stop = threading.Event()
    deadline = Deadline.after(60.0, stop)
    threading.Timer(0.05, stop.set).start()
    started_s = time.monotonic()
    assert deadline.wait(30.0) is False
    assert time.monotonic() - started_s < 10.0
    assert deadline.remaining_s == 0.0


def test_a_wait_stays_inside_the_budget() -> None:
    assert Deadline.after(0.02).wait(30.0) is False
    assert Deadline.after(30.0).wait(0.01) is True


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_sooner_deadline_wins_and_keeps_the_stop(first_s: float, second_s: float) -> None:
    whole = Deadline.after(first_s)
    part = whole.sooner(second_s)
    assert part.at_s <= whole.at_s
    assert part.remaining_s <= second_s
    assert part.stop is whole.stop


@pytest.mark.parametrize(
    ("name", "near"), [("shopp", "shop"), ("SHOP", "shop"), ("Sale", "Sales"), ("customers", None), ("", None)]
)
def test_the_nearest_name_is_the_known_one_that_is_written_almost_alike(name: str, near: str | None) -> None:
    assert nearest(name, ["Sales", "shop", "shops"]) == near


def test_an_error_says_what_to_do() -> None:
    error = ConnectError("The table is gone.", key="table", fix="Name another.")
    assert str(error) == "The table is gone. Name another."
    assert (error.message, error.key, error.fix) == ("The table is gone.", "table", "Name another.")


def test_a_schema_error_names_the_field() -> None:
    assert str(SchemaError("Too large.", field="a.b")) == "Field 'a.b': Too large."
    assert str(SchemaError("Too large.")) == "Too large."


def test_a_config_error_lists_every_problem() -> None:
    error = ConfigError([ConfigProblem("a", "A is bad."), ConfigProblem("b", "B is bad.")])
    assert str(error) == "A is bad.\nB is bad."
    assert error.key == "a"
    assert ConfigError("C is bad.", key="c").problems == (ConfigProblem("c", "C is bad."),)
    mended = ConfigError("D is bad.", key="d", fix="Set it to 1.")
    assert (str(mended), mended.problems) == ("D is bad. Set it to 1.", (ConfigProblem("d", "D is bad. Set it to 1."),))
    with pytest.raises(ValueError, match="at least one problem"):
        ConfigError([])


def test_rejected_rows_are_at_least_one_and_kept_by_index() -> None:
    error = RejectedRowsError({3: ValueError("bad"), 7: ValueError("worse")})
    assert str(error) == "2 rows were rejected; row 3: ValueError: bad"
    assert set(error.rows) == {3, 7}
    with pytest.raises(ValueError, match="at least one row"):
        RejectedRowsError({})


def plain(schema: s.Schema) -> s.Schema:
    """The schema without what Arrow has no place for: the precision of a Decimal, and the names of Debezium's times."""
    fields = tuple(s.Field(f.name, plain(f.schema)) for f in schema.fields)
    items, keys = (member and plain(member) for member in (schema.items, schema.keys))
    name = None if time_type(schema.name) is not None else schema.name
    return s.Schema(schema.type, schema.optional, name, fields=fields, items=items, keys=keys)


@given(schemas())
def test_the_type_table_leads_there_and_back(schema: s.Schema) -> None:
    arrow = arrow_type(schema)
    back = connect_schema(arrow, optional=schema.optional)
    assert arrow_type(back) == arrow
    assert plain(back) == plain(schema)


@pytest.mark.parametrize("unsigned", [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()], ids=str)
def test_unsigned_numbers_widen(unsigned: pa.DataType) -> None:
    top = 2**unsigned.bit_width - 1
    wide = arrow_type(connect_schema(unsigned))
    assert pa.array([top], unsigned).cast(wide).to_pylist() == [top]


@pytest.mark.parametrize(
    "finer", [pa.timestamp("us"), pa.timestamp("ns", tz="UTC"), pa.time64("us"), pa.duration("s")], ids=str
)
def test_a_type_without_a_lossless_form_is_named(finer: pa.DataType) -> None:
    with pytest.raises(SchemaError, match=r"a\.b") as caught:
        connect_schema(pa.struct([("a", pa.struct([("b", finer)]))]))
    assert caught.value.field == "a.b"


def test_a_value_that_is_no_struct_is_one_column() -> None:
    assert arrow_schema(s.STRING).names == ["value"]
    assert arrow_schema(s.struct({"a": s.INT8, "b": s.STRING.as_optional()})) == pa.schema(
        [pa.field("a", pa.int8(), nullable=False), pa.field("b", pa.utf8())]
    )


def test_a_decimal_without_its_scale_is_named() -> None:
    broken = s.struct({"price": s.Schema(s.Type.BYTES, name=s.DECIMAL)})
    with pytest.raises(SchemaError) as caught:
        arrow_type(broken)
    assert caught.value.field == "price"


@pytest.mark.parametrize("scale", [-77, -1000, -(10**9), -(2**31), 77, 2**31])
def test_a_decimal_of_more_digits_than_arrow_has_is_named(scale: int) -> None:
    with pytest.raises(SchemaError) as caught:
        arrow_type(s.struct({"price": s.decimal(scale)}))
    assert caught.value.field == "price"


@pytest.mark.parametrize("scale", [2**31 - 1, -(2**31), 10_001])
def test_a_scale_whose_digits_would_fill_the_memory_is_none(scale: int) -> None:
    with pytest.raises(ValueError, match="-10000 to 10000"):
        assert s.decimal(scale).decimal_scale


@pytest.mark.parametrize("scale", [-1, -5, -30, 38, 76])
def test_a_decimal_keeps_its_zeros(scale: int) -> None:
    value = Decimal((0, (7,), -scale))
    assert pa.array([value], arrow_type(s.decimal(scale))).to_pylist() == [value]


def test_schemas_of_the_same_parts_are_equal() -> None:
    assert s.struct({"a": s.INT8}) == s.struct({"a": s.INT8})
    assert hash(s.decimal(2)) == hash(s.decimal(2))
    assert s.decimal(2) != s.decimal(3)
    assert s.STRING.as_optional().optional
    assert s.struct({"a": s.INT8}).field("a") == s.INT8
    assert s.struct({"a": s.INT8}).field("b") is None


def test_a_schema_that_lacks_its_members_is_refused() -> None:
    with pytest.raises(ValueError, match="items"):
        s.Schema(s.Type.ARRAY)
    with pytest.raises(ValueError, match="keys"):
        s.Schema(s.Type.MAP, items=s.STRING)
    with pytest.raises(ValueError, match="unique"):
        s.struct([s.Field("a", s.INT8), s.Field("a", s.INT8)])
