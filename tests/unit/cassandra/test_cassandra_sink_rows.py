"""Makes statements of rows: every type, what is refused, and what is bound."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from cassandra.util import Date, Duration, Time

from connect.api import schema as s
from connect.api.errors import ConfigError, SchemaError
from connect.api.optional.bulk import OrderedBulkSink
from connect.api.records import Record
from connectors.cassandra.cql.bound_values import bind_of
from connectors.cassandra.cql.cql_types import CqlType, parse_type, user_types_of
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.sink.config import CassandraSinkConfig
from connectors.cassandra.sink.sink import CassandraSinkConnector
from connectors.cassandra.sink.table_rows import TableRows

INT, TEXT = CqlType("int"), CqlType("text")
TABLE = Table(
    UUID(int=1), "ks", "t", [TableColumn("k", INT)], [TableColumn("c", TEXT)], [TableColumn("s", TEXT)],
    [TableColumn("v", INT), TableColumn("Odd", TEXT), TableColumn("chunk", TEXT)],
)  # fmt: skip
PLACE = user_types_of("ks", {"place": (("street", "number"), ("text", "int"))})
ID = "11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(
    ("cql", "logical", "value", "bound"),
    [
        ("int", None, 7, 7), ("varint", None, "12345678901234567890", 12345678901234567890),
        ("varint", None, Decimal(7), 7), ("decimal", None, "1.50", Decimal("1.50")), ("uuid", None, ID, UUID(ID)),
        ("timestamp", "io.debezium.time.Timestamp", 1500, 1500),
        ("timestamp", "io.debezium.time.MicroTimestamp", 1_500_000, 1500),
        ("timestamp", None, datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC), 1500),
        ("timestamp", "io.debezium.time.Date", 2, 172_800_000), ("timestamp", None, date(1970, 1, 3), 172_800_000),
        ("timestamp", "of.another.source", 1500, 1500),
        ("date", "io.debezium.time.Date", -1, Date(-1)), ("date", None, date(1969, 12, 31), Date(-1)),
        ("date", "io.debezium.time.Timestamp", 172_800_000, Date(2)), ("date", None, -(2**31), Date(-(2**31))),
        ("date", "io.debezium.time.MicroTimestamp", -86_400_000_000, Date(-1)),
        ("date", None, datetime(1969, 12, 31, tzinfo=UTC), Date(-1)),
        ("time", "io.debezium.time.NanoTime", 5, Time(5)), ("time", "io.debezium.time.MicroTime", 5, Time(5000)),
        ("duration", None, {"months": 1, "days": 2, "nanoseconds": 3}, Duration(1, 2, 3)),
        ("inet", None, "127.0.0.1", "127.0.0.1"), ("blob", None, b"x", b"x"), ("boolean", None, True, True),
        ("list<int>", None, [1, 2], [1, 2]), ("map<text, varint>", None, {"a": "1"}, {"a": 1}),
        ("set<uuid>", None, [ID], [UUID(ID)]), ("vector<float, 2>", None, [1, 2.5], [1.0, 2.5]),
        ("tuple<int, text>", None, {"field1": 1, "field2": "a"}, (1, "a")),
        ("place", None, {"street": "a"}, ("a", None)), ("int", None, None, None),
    ],
)  # fmt: skip
def test_a_value_of_each_type(cql: str, logical: str | None, value: Any, bound: Any) -> None:
    schema = None if logical is None else s.Schema(s.Type.INT64, name=logical)
    assert bind_of(parse_type(cql, PLACE), "f", schema)(value) == bound


MICROS, MILLIS = (s.Schema(s.Type.INT64, name=f"io.debezium.time.{name}") for name in ("MicroTimestamp", "Time"))
VISIT = user_types_of("ks", {"visit": (("at", "stays"), ("timestamp", "frozen<list<time>>"))})


@pytest.mark.parametrize(
    ("cql", "schema", "value", "bound"),
    [
        ("list<timestamp>", s.array(MICROS), [1_500_000, 2000], [1500, 2]),
        ("set<time>", s.array(MILLIS), [5], [Time(5_000_000)]),
        ("map<timestamp, time>", s.map_of(MICROS, MILLIS), {2000: 5}, {2: Time(5_000_000)}),
        ("tuple<int, timestamp>", s.struct({"field1": s.INT32, "field2": MICROS}), {"field1": 1, "field2": 2000},
         (1, 2)),
        ("visit", s.struct({"at": MICROS, "stays": s.array(MILLIS)}), {"at": 2000, "stays": [5]},
         (2, [Time(5_000_000)])),
    ],
)  # fmt: skip
def test_times_inside_of_a_value_have_the_units_of_their_own_schemas(
    cql: str, schema: s.Schema, value: Any, bound: Any
) -> None:
    assert bind_of(parse_type(cql, VISIT), "f", schema)(value) == bound


@pytest.mark.parametrize(
    ("cql", "value"),
    [
        ("int", 2**31), ("int", 1.5), ("int", True), ("tinyint", 128), ("text", 5), ("uuid", "x"), ("decimal", "x"),
        ("boolean", 1), ("blob", "text"), ("list<int>", "123"), ("list<int>", ["a"]), ("place", {"other": 1}),
        ("timestamp", "2024"), ("timestamp", datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)), ("inet", "nowhere"),
        ("duration", {"months": 1}), ("double", "1.5"), ("varint", Decimal("1.5")), ("map<text, int>", [1]),
        ("date", "2024-01-01"), ("date", datetime(2024, 1, 2, 3, tzinfo=UTC)), ("date", 2**31), ("time", -1),
        ("timestamp", 2**63), ("timestamp", -(2**63) - 1),
        # The driver sends these nulls as empty bytes: to the server an empty text, or for an int an error of its own.
        ("list<text>", ["a", None]), ("set<text>", [None]), ("map<text, int>", {None: 1}), ("list<int>", [1, None]),
        ("map<text, int>", {"a": None}), ("list<frozen<list<int>>>", [None]), ("list<frozen<list<int>>>", [[None]]),
        ("vector<int, 2>", [1, None]),
    ],
)  # fmt: skip
def test_a_value_without_a_form_names_its_field(cql: str, value: Any) -> None:
    with pytest.raises(SchemaError, match="'f'"):
        bind_of(parse_type(cql, PLACE), "f")(value)


@pytest.mark.parametrize(
    ("cql", "logical", "value"),
    [
        # Read as numbers without a unit these would be moments in January 1970, and days in a far future.
        ("timestamp", "Time", 1), ("timestamp", "MicroTime", 1000), ("timestamp", "NanoTime", 1_000_000),
        ("timestamp", "Year", 2024), ("date", "Timestamp", 1), ("date", "NanoTime", 1), ("date", "Year", 2024),
        ("time", "Timestamp", 1), ("time", "Date", 1),
    ],
)  # fmt: skip
def test_a_time_of_another_kind_is_no_time_of_this_one(cql: str, logical: str, value: int) -> None:
    schema = s.Schema(s.Type.INT64, name=f"io.debezium.time.{logical}")
    with pytest.raises(SchemaError, match="'f'"):
        bind_of(parse_type(cql, PLACE), "f", schema)(value)


def rows(**settings: Any) -> TableRows:
    return TableRows(TABLE, **{"skip_nulls": False, **settings})


def test_a_row_is_written_with_all_columns_that_it_may_have() -> None:
    (write,) = rows().writes(Record("t", value={"k": 1, "c": "a", "v": None, "Odd": "o"}))
    assert write.text == (
        'INSERT INTO "ks"."t" ("k", "c", "v", "Odd", "chunk") VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?'
    ), "a null of the partition's static value is not this row's to write"
    assert write.bound(99) == [1, "a", None, "o", None, 99]


def test_nulls_may_be_left_out_and_keys_may_come_from_the_key() -> None:
    record = Record("t", key={"k": 1, "c": "a", "v": 5}, value={"v": 7})
    (write,) = rows(skip_nulls=True).writes(record)
    assert write.text == 'INSERT INTO "ks"."t" ("k", "c", "v") VALUES (?, ?, ?) USING TIMESTAMP ?'
    assert write.bound(99) == [1, "a", 7, 99]


def test_a_tombstone_deletes_by_the_key() -> None:
    (write,) = rows().writes(Record("t", key={"k": 1, "c": "a"}))
    assert write.text == 'DELETE FROM "ks"."t" USING TIMESTAMP ? WHERE "k" = ? AND "c" = ?'
    assert write.bound(99) == [99, 1, "a"]


def test_static_values_alone_are_written_to_their_partition() -> None:
    (write,) = rows(skip_nulls=True, chunk_column="chunk").writes(
        Record("t", value={"k": 1, "c": None, "s": "x"}), "job/1"
    )
    assert not write.is_row, "there is none that a chunk could mark"
    assert write.text == 'INSERT INTO "ks"."t" ("k", "s") VALUES (?, ?) USING TIMESTAMP ?'


def test_the_nulls_of_static_values_alone_are_written() -> None:
    table = dataclasses.replace(TABLE, static=[TableColumn("s", TEXT), TableColumn("s2", TEXT)])
    (write,) = TableRows(table, skip_nulls=False).writes(Record("t", value={"k": 1, "s": "x", "s2": None}))
    assert write.text == 'INSERT INTO "ks"."t" ("k", "s", "s2") VALUES (?, ?, ?) USING TIMESTAMP ?'


def test_a_chunk_marks_its_rows() -> None:
    (write,) = rows(chunk_column="chunk", skip_nulls=True).writes(Record("t", value={"k": 1, "c": "a"}), "job/1")
    assert write.bound(99) == [1, "a", "job/1", 99]


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (Record("t", value={"k": 1, "c": "a", "other": 1}), "no column other"),
        (Record("t", value={"c": "a"}), "has no k"),
        (Record("t", value={"k": 1, "c": None, "v": 1}), "has no c"),
        (Record("t", value="text"), "no row of ks.t"),
        (Record("t", key="text"), "no key of fields"),
        (Record("t", key={"k": 1}), "has no c"),
        (Record("t", value={"k": 1, "c": "a", "v": "x"}), "'v'"),
    ],
)
def test_a_record_that_is_no_row_says_why(record: Record, text: str) -> None:
    with pytest.raises(SchemaError, match=text):
        rows().writes(record)


def test_the_rows_own_schema_tells_the_unit() -> None:
    table = dataclasses.replace(TABLE, regular=[TableColumn("v", CqlType("timestamp"))], static=())
    micro = s.Schema(s.Type.INT64, name="io.debezium.time.MicroTimestamp")
    schema = s.struct({"k": s.INT32, "c": s.STRING, "v": micro})
    (write,) = TableRows(table, skip_nulls=False).writes(
        Record("t", value={"k": 1, "c": "a", "v": 5000}, value_schema=schema)
    )
    assert write.values[-1] == 5


def test_a_records_schema_is_not_taken_for_that_of_the_one_before() -> None:
    table = dataclasses.replace(TABLE, regular=[TableColumn("v", CqlType("timestamp"))], static=())
    found = TableRows(table, skip_nulls=False)
    for name, bound in (("MicroTimestamp", 5), ("Timestamp", 5000), ("MicroTimestamp", 5)):
        timed = s.Schema(s.Type.INT64, name=f"io.debezium.time.{name}")
        schema = s.struct({"k": s.INT32, "c": s.STRING, "v": timed})
        (write,) = found.writes(Record("t", value={"k": 1, "c": "a", "v": 5000}, value_schema=schema))
        assert write.values[-1] == bound


@pytest.mark.parametrize(
    ("table", "settings", "key"),
    [
        (dataclasses.replace(TABLE, regular=[TableColumn("n", CqlType("counter"))]), {}, "topic.tables"),
        (TABLE, {"chunk_column": "nowhere"}, "chunk.column"), (TABLE, {"chunk_column": "v"}, "chunk.column"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_written_so_is_refused(table: Table, settings: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TableRows(table, skip_nulls=False, **settings)
    assert caught.value.key == key


def test_the_table_of_a_topic() -> None:
    config = CassandraSinkConfig.parse({"contact.points": "a", "keyspace": "k", "topic.tables": "x.orders:kept,a:b:c"})
    found = [config.table_of(topic) for topic in ("x.orders", "y.shop.orders", "plain", "a:b")]
    assert found == ["kept", "orders", "plain", "c"]


def test_one_lane_of_a_backfill_writes_all_chunks_of_a_partition_in_their_order() -> None:
    sink = CassandraSinkConnector(CassandraSinkConfig.parse({"contact.points": "a", "keyspace": "k"}))
    assert isinstance(sink, OrderedBulkSink)
    assert sink.chunks_in_order, "else the older of two records of a key may be written later, and stay"
