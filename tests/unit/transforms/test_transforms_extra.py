"""The transforms that Java lacks: what they make, and that rows and columns give the same."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from both_forms import NUMBERS, PLUGINS, batch_of, both, build, numbers, result, same, values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_transforms_forms import structs

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.api.schema import Schema
from connect.plugins.catalog import Catalog
from connect.testing.equality import same_value
from connect.transforms.settings.extra_config import ThrottleConfig
from connect.transforms.throttle import Throttle

ORDER = s.struct({"id": s.INT64, "tags": s.array(s.STRING).as_optional(), "note": s.STRING.as_optional()}, name="order")


ORDERS = [
    {"id": 1, "tags": ["a", "b"], "note": None},
    {"id": 2, "tags": [], "note": "x"},
    None,
    {"id": 3, "tags": None, "note": "y"},
    {"id": 4, "tags": ["c"], "note": "z"},
]


def test_explode_keeps_order_keys_headers_and_places() -> None:
    found = same("Explode$Value", ORDERS, ORDER.as_optional(), field="tags", index_field="i")
    assert [(k, v and (v["id"], v["tags"], v["i"]), o, h) for _, k, v, o, h, _ in found] == [
        ("k0", (1, "a", 0), 7, [0]),
        ("k0", (1, "b", 1), 7, [0]),
        ("k1", (2, None, None), 8, [1]),
        ("k2", None, 9, [2]),
        ("k3", (3, None, None), 10, [3]),
        ("k4", (4, "c", 0), 11, [4]),
    ]
    assert found[0][5].field("tags") == s.STRING.as_optional()
    assert found[0][5].name == "order"


def test_explode_can_drop_rows_without_elements_but_no_tombstone() -> None:
    dropped = {"empty_arrays": "drop"}
    found = same("Explode$Value", ORDERS, ORDER.as_optional(), field="tags", output="element", **dropped)
    assert values(found) == ["a", "b", None, "c"]


def test_explode_reaches_nested_arrays_and_schemaless_rows() -> None:
    line = s.struct({"sku": s.STRING, "n": s.INT32})
    nested = s.struct({"cart": s.struct({"lines": s.array(line), "cur": s.STRING}), "id": s.INT64})
    rows = [{"cart": {"lines": [{"sku": "x", "n": 1}, {"sku": "y", "n": 2}], "cur": "EUR"}, "id": 5}]
    found = same("Explode$Value", rows, nested, field="cart.lines")
    assert values(found)[1] == {"cart": {"lines": {"sku": "y", "n": 2}, "cur": "EUR"}, "id": 5}
    (made,) = build("Explode$Value", field="cart.lines").apply(batch_of(Column.from_rows(rows, None)))
    assert made.values.rows()[0] == {"cart": {"lines": {"sku": "x", "n": 1}, "cur": "EUR"}, "id": 5}
    with pytest.raises(RejectedRowsError, match="Only arrays can be exploded, found: str"):
        build("Explode$Value", field="a").apply(batch_of(Column.from_rows([{"a": "text"}], None)))
    assert result(build("Explode$Value", field="nope"), both(rows, nested)[1]) == "Unknown field: nope"


SALE = s.struct(
    {
        "id": s.INT64, "price": s.decimal(2, precision=20), "at": s.TIMESTAMP_SCHEMA, "qty": s.INT32.as_optional(),
        "m": s.map_of(s.STRING, s.INT64), "b": s.BYTES, "t": s.TIME_SCHEMA.as_optional(),
    },
    name="sale",
)  # fmt: skip
SALES = [
    {
        "id": i, "price": Decimal(f"{i}.25"), "at": datetime(2020, 1, 1, 0, 0, i, 1000, tzinfo=UTC),
        "qty": None if i == 2 else i, "m": {"k": 2**53 + i}, "b": b"\x00\xff", "t": None,
    }
    for i in range(6)
]  # fmt: skip


def test_sql_filters_and_computes_and_keeps_types() -> None:
    found = same(
        "Sql$Value", [*SALES[:3], None, *SALES[3:]], SALE.as_optional(),
        select="* EXCLUDE (b), price * qty AS total, m['k'] AS k, upper('é') AS e", where="id <> 1",
    )  # fmt: skip
    assert [(k, o) for _, k, _, o, _, _ in found] == [
        ("k0", 7),
        ("k2", 9),
        ("k3", 10),
        ("k4", 11),
        ("k5", 12),
        ("k6", 13),
    ]
    last, schema = found[-1][2], found[-1][5]
    assert last == {
        **{name: value for name, value in SALES[5].items() if name != "b"},
        "total": Decimal("26.25"), "k": 2**53 + 5, "e": "É",
    }  # fmt: skip
    assert found[2][2] is None
    assert schema.name == "sale"
    assert [schema.field(name) for name in ("id", "price", "at", "m")] == [
        SALE.field(name) for name in ("id", "price", "at", "m")
    ]
    assert schema.field("total").decimal_scale == 2


def test_sql_keeps_the_order_of_rows_whatever_the_query_does() -> None:
    found = same("Sql$Value", SALES, SALE, select="id, row_number() OVER (ORDER BY id DESC) AS back")
    assert [(row[2]["id"], row[2]["back"]) for row in found] == [(i, 6 - i) for i in range(6)]


@pytest.mark.thorough
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=structs())
def test_sql_passes_every_type_through(drawn: tuple[Schema, list[Any]]) -> None:
    schema, rows = drawn
    _, by_column = both(rows, schema)
    (made,) = build("Sql$Value").apply(by_column)
    assert made.values.schema.fields == schema.fields
    assert same_value(list(made.values.rows()), list(by_column.values.rows()))


def test_sql_that_drops_a_row_and_makes_two_of_another_keeps_their_offsets() -> None:
    schema = s.struct({"items": s.array(s.INT64)})
    offsets = pa.array([5, 6], pa.int64())
    batch = Batch(
        "t", Column.from_rows([{"items": []}, {"items": [1, 2]}], schema), keys=Column.from_rows(["a", "b"], s.STRING),
        consumed=Consumed(TopicPartition("t", 0), offsets, 7),
    )  # fmt: skip
    (made,) = build("Sql$Value", select="unnest(items) AS item").apply(batch)
    assert made.keys is not None
    assert made.consumed is not None
    assert made.keys.rows() == ["b", "b"]
    assert made.consumed.offsets.to_pylist() == [6, 6]


def test_sql_says_what_is_wrong_and_reads_no_file() -> None:
    _, batch = both(SALES, SALE)
    assert 'Referenced column "nope" not found' in result(build("Sql$Value", select="nope"), batch)
    assert "disabled" in result(build("Sql$Value", where="id IN (SELECT 1 FROM read_csv('/etc/passwd'))"), batch)
    assert "required field" in result(build("Sql$Value", select="NULLIF(id, 3) AS id"), batch)
    (made,) = build("Sql$Value", select="a + 1 AS b", where="a > 1").apply(
        batch_of(Column.from_rows([{"a": 1}, None, {"a": 2}], None))
    )
    assert (made.values.schema, list(made.values.rows())) == (None, [None, {"b": 3}])


PERSON = s.struct(
    {
        "name": s.STRING, "age": s.INT32, "home": s.struct({"street": s.STRING, "zip": s.STRING.as_optional()}),
        "cards": s.array(s.struct({"card_no": s.STRING, "ok": s.BOOLEAN})), "extra": s.map_of(s.STRING, s.STRING),
    }
)  # fmt: skip
PEOPLE = [
    {
        "name": "Ann", "age": 41, "home": {"street": "A", "zip": None},
        "cards": [{"card_no": "1", "ok": True}, {"card_no": "2", "ok": False}], "extra": {"Zip": "9", "k": "v"},
    },
    {"name": "Bob", "age": 0, "home": {"street": "B", "zip": "12"}, "cards": [], "extra": {}},
]  # fmt: skip


def test_redact_reaches_fields_at_any_depth() -> None:
    found = values(same("Redact$Value", PEOPLE, PERSON, fields="home\\.zip,card.*,age,extra.zip"))
    assert found[0] == {
        "name": "Ann", "age": 0, "home": {"street": "A", "zip": None},
        "cards": [], "extra": {"Zip": "***", "k": "v"},
    }  # fmt: skip
    assert found[1]["home"] == {"street": "B", "zip": "***"}
    found = values(same("Redact$Value", PEOPLE, PERSON, fields="card_no,zip", action="null"))
    assert found[0]["cards"] == [{"card_no": None, "ok": True}, {"card_no": None, "ok": False}]
    assert found[0]["extra"] == {"Zip": None, "k": "v"}


def test_redact_hashes_with_a_salt() -> None:
    found = same("Redact$Value", PEOPLE, PERSON, fields="name,age", action="hash")
    assert found[0][2]["name"] == hashlib.sha256(b"Ann").hexdigest()
    assert found[0][2]["age"] == hashlib.sha256(b"41").hexdigest()
    assert found[0][5].field("age") == s.STRING
    salted = values(same("Redact$Value", PEOPLE, PERSON, fields="name", action="hash", hash_salt="pepper"))
    assert salted[0]["name"] not in {hashlib.sha256(b"Ann").hexdigest(), "Ann"}


@pytest.mark.thorough
@pytest.mark.parametrize("action", ["null", "mask", "hash"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=structs())
def test_redacted_rows_and_columns_are_the_same(action: str, drawn: tuple[Schema, list[Any]]) -> None:
    schema, rows = drawn
    same("Redact$Value", rows, schema, fields="[a-e].*", action=action)


ROW = s.struct({"id": s.INT64, "name": s.STRING.as_optional()}, name="db.t.Value")
ENVELOPE = s.struct(
    {
        "before": ROW.as_optional(), "after": ROW.as_optional(),
        "source": s.struct({"table": s.STRING, "lsn": s.INT64}), "op": s.STRING, "ts_ms": s.INT64.as_optional(),
    },
    name="db.t.Envelope", optional=True,
)  # fmt: skip


def event(op: str, before: int | None, after: int | None) -> dict[str, Any]:
    def state(n: int | None) -> Any:
        return None if n is None else {"id": n, "name": f"n{n}"}

    return {
        "before": state(before), "after": state(after), "source": {"table": "t", "lsn": 9}, "op": op, "ts_ms": 5
    }  # fmt: skip


TRUNCATED = event("t", None, None)
EVENTS = [event("c", None, 1), event("u", 1, 2), event("d", 2, None), None, TRUNCATED, event("r", None, 3)]
A, B, C, D = ({"id": n, "name": f"n{n}"} for n in (1, 2, 2, 3))


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({}, [A, B, None, D]),
        ({"delete_tombstone_handling_mode": "drop"}, [A, B, D]),
        ({"delete_tombstone_handling_mode": "delete-to-tombstone"}, [A, B, None, D]),
        ({"delete_tombstone_handling_mode": "rewrite"}, [(A, 0), (B, 0), (C, 1), (D, 0)]),
        ({"delete_tombstone_handling_mode": "rewrite-with-tombstone"}, [(A, 0), (B, 0), (C, 1), None, (D, 0)]),
        ({"drop_tombstones": "false"}, [A, B, None, D]),
        ({"delete_handling_mode": "rewrite"}, [(A, 0), (B, 0), (C, 1), (D, 0)]),
        ({"delete_handling_mode": "none", "drop_tombstones": "false"}, [A, B, None, None, D]),
    ],
)
def test_unwrap_treats_deletes_as_told(config: dict[str, str], wanted: list[Any]) -> None:
    rows = [{**one[0], "__deleted": "true" if one[1] else "false"} if isinstance(one, tuple) else one for one in wanted]
    found = same("ExtractNewRecordState", EVENTS, ENVELOPE, **config)
    assert values(found) == rows
    assert found[0][5].name == "db.t.Value"
    (made,) = build("ExtractNewRecordState", **config).apply(batch_of(Column.from_rows(EVENTS, None)))
    assert list(made.values.rows()) == rows


def test_unwrap_adds_fields_and_headers_and_routes() -> None:
    found = same(
        "ExtractNewRecordState", EVENTS[:2], ENVELOPE, add_fields="op,source.table,source.lsn:at,table,lsn,ts_ms,nope",
        add_headers="op", route_by_field="name",
    )  # fmt: skip
    topic, _, row, offset, headers, schema = found[1]
    of_source = {"__source_table": "t", "__at": 9, "__table": "t", "__lsn": 9}
    assert row == {**B, "__op": "u", **of_source, "__ts_ms": 5, "__nope": None}
    assert (topic, offset, headers) == ("n2", 8, [1, "u"])
    assert schema.field("__at") == s.INT64.as_optional()


def test_unwrap_leaves_alone_what_is_no_change_event() -> None:
    assert values(same("ExtractNewRecordState", numbers(1), NUMBERS)) == numbers(1)
    others = [{"op": "t"}, {"op": "d", "id": 1}]
    plain = build("ExtractNewRecordState", delete_tombstone_handling_mode="drop")
    (made,) = plain.apply(batch_of(Column.from_rows(others, None)))
    assert list(made.values.rows()) == others
    found = Catalog.installed().find("io.debezium.transforms.ExtractNewRecordState", PLUGINS["ValueToKey"].kind)
    assert found is not None


@settings(max_examples=25, deadline=None)
@given(
    ops=st.lists(st.sampled_from("crudt") | st.none(), max_size=6),
    mode=st.sampled_from(["drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"]),
)
def test_unwrapped_rows_and_columns_are_the_same(ops: list[str | None], mode: str) -> None:
    rows = [op and event(op, i, None if op in "dt" else i + 1) for i, op in enumerate(ops)]
    same("ExtractNewRecordState", rows, ENVELOPE, delete_tombstone_handling_mode=mode, add_fields="ts_ms")


def test_errors_name_the_field_of_explode_that_is_no_array() -> None:
    with pytest.raises(SchemaError, match="Only arrays can be exploded, found: string"):
        build("Explode$Value", field="note").apply(both(ORDERS[:1], ORDER)[1])


class Clock:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.now_s += seconds


def test_throttle_lets_so_many_rows_a_second_through():
    clock = Clock()
    throttle = Throttle(ThrottleConfig.parse({"rows.per.second": "100"}), clock, clock.wait)
    batch = Batch("t", Column.from_rows([1] * 50, s.INT64))
    assert all(throttle.apply(batch) == [batch] for _ in range(10))
    assert clock.now_s == pytest.approx(104.0), "five seconds of rows, of which one second was free at the start"
    clock.wait(3600)
    before_s = clock.now_s
    assert [throttle.apply(batch) for _ in range(10)]
    assert clock.now_s - before_s == pytest.approx(4.0), "an hour of rest is not made up for"
