"""Checks insert.mode, pk.mode and the tables they make, on SQLite; a table is as if its records had come one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jdbc_sink_rows import KEY, ROW, TOPIC, SqliteTable, batch, opened, put

from connect.api import schema as s
from connect.api.errors import ConnectError
from connect.api.records import Consumed, TopicPartition

UPSERT = {"insert__mode": "upsert", "pk__mode": "record_key", "delete__enabled": "true", "auto__create": "true"}


@pytest.fixture
def table(tmp_path: Path) -> SqliteTable:
    return SqliteTable(tmp_path)


def rows(*pairs: tuple[int, str | None]) -> list[dict[str, Any]]:
    return [{"id": n, "name": name} for n, name in pairs]


def test_insert_adds_every_row_and_upsert_keeps_the_last_of_a_key(table: SqliteTable):
    with opened(table.config(auto__create="true")) as task:
        assert put(task, batch(rows((1, "a"), (1, "b")))) == {}
    assert table.rows() == [(1, "a"), (1, "b")]
    table.run(f"DROP TABLE {TOPIC}")
    with opened(table.config(**UPSERT)) as task:
        put(task, batch(rows((1, "a"), (1, "b"), (2, "c"))))
        put(task, batch(rows((2, "d"))))
    assert table.rows() == [(1, "b"), (2, "d")]


def test_update_changes_rows_that_are_there_and_adds_none(table: SqliteTable):
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT)")
    table.run(f"INSERT INTO {TOPIC} VALUES (1, 'old')")
    with opened(table.config(insert__mode="update", pk__mode="record_value", pk__fields="id")) as task:
        assert put(task, batch(rows((1, "new"), (2, "none")))) == {}
    assert table.rows() == [(1, "new")]


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.integers(0, 3), st.none() | st.text("ab", max_size=2)), min_size=1, max_size=12),
    st.integers(1, 12),
)
def test_a_table_is_as_if_records_had_come_one_by_one(tmp_path_factory, changes, cut):
    table = SqliteTable(tmp_path_factory.mktemp("t"))
    # `extra` has a default, which a row gets back when its key is deleted and comes again.
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT, extra TEXT DEFAULT 'none')")
    model: dict[int, tuple[str, str]] = {}
    with opened(table.config(**UPSERT)) as task:
        for first in range(0, len(changes), cut):
            part = changes[first : first + cut]
            values = [None if name is None else {"id": n, "name": name} for n, name in part]
            assert put(task, batch(values, first=first, keys=[{"id": n} for n, _ in part])) == {}
            for n, name in part:
                if name is None:
                    model.pop(n, None)
                else:
                    model[n] = (name, model[n][1] if n in model else "none")
            for n in model:
                table.run(f"UPDATE {TOPIC} SET extra = 'kept' WHERE id = {n}")
                model[n] = (model[n][0], "kept")
    assert table.rows("id, name, extra") == sorted((n, *row) for n, row in model.items())


@pytest.mark.parametrize(
    ("settings_given", "columns", "found"),
    [
        ({"pk__mode": "kafka"}, "__connect_topic, __connect_partition, __connect_offset, id", (TOPIC, 0, 0, 7)),
        ({"pk__mode": "kafka", "pk__fields": "t,p,o"}, "t, p, o, name", (TOPIC, 0, 0, "x")),
        ({"pk__mode": "record_value", "pk__fields": "id", "insert__mode": "upsert"}, "id, name", (7, "x")),
        ({"pk__mode": "record_key", "fields__whitelist": "name"}, "id, name", (7, "x")),
        ({"fields__whitelist": "id"}, "*", (7,)),
        ({"table__name__format": "kafka_${topic}_x"}, "(SELECT count(*) FROM kafka_orders_x)", (1,)),
        ({"topics__to__tables__mapping": "orders:mapped"}, "(SELECT count(*) FROM mapped)", (1,)),
    ],
)
def test_the_key_and_the_name_of_a_table_that_is_made(table: SqliteTable, settings_given, columns, found):
    with opened(table.config(auto__create="true", **settings_given)) as task:
        put(task, batch(rows((7, "x"))))
    source = "sqlite_master LIMIT 1" if columns.startswith("(") else TOPIC
    assert table.run(f"SELECT {columns} FROM {source}") == [found]


def test_a_key_that_is_no_struct_goes_into_the_column_of_pk_fields(table: SqliteTable):
    with opened(table.config(**UPSERT, pk__fields="code")) as task:
        put(task, batch(rows((7, "x")), keys=["k7"], key_schema=s.STRING))
        put(task, batch([None], keys=["k7"], key_schema=s.STRING, first=1))
        put(task, batch(rows((8, "y")), keys=["k8"], key_schema=s.STRING, first=2))
    assert table.rows("code, id, name") == [("k8", 8, "y")]


def test_columns_are_added_where_that_is_allowed_and_rows_are_bad_where_not(table: SqliteTable):
    wider = s.struct({"id": s.INT64, "name": s.STRING, "more": s.STRING.as_optional()}, optional=True)
    row = {"id": 2, "name": "b", "more": "m"}
    with opened(table.config(**UPSERT)) as task:
        put(task, batch(rows((1, "a"))))
        assert put(task, batch([row], schema=wider, first=1)).keys() == {0}
    with opened(table.config(**UPSERT, auto__evolve="true")) as task:
        assert put(task, batch([row], schema=wider, first=1)) == {}
        required = s.struct({"id": s.INT64, "must": s.STRING}, optional=True)
        (why,) = put(task, batch([{"id": 3, "must": "m"}], schema=required, first=2)).values()
    assert "neither optional nor has a default" in why
    assert table.rows("id, name, more") == [(1, "a", None), (2, "b", "m")]


def test_a_column_that_is_added_beside_the_sink_is_seen_without_a_restart(table: SqliteTable):
    wider = s.struct({"id": s.INT64, "more": s.STRING.as_optional()}, optional=True)
    with opened(table.config(**UPSERT)) as task:
        put(task, batch(rows((1, "a"))))
        table.run(f"ALTER TABLE {TOPIC} ADD COLUMN more TEXT")
        assert put(task, batch([{"id": 1, "more": "m"}], schema=wider, first=1)) == {}
    assert table.rows("id, name, more") == [(1, "a", "m")]


def test_a_missing_table_stops_the_task_and_no_row_is_blamed(table: SqliteTable):
    with opened(table.config()) as task, pytest.raises(ConnectError, match=r"no table orders.*auto\.create=true"):
        put(task, batch(rows((1, "a"))))


def test_rows_without_a_schema_go_into_a_table_that_is_there(table: SqliteTable):
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT)")
    with opened(table.config(insert__mode="upsert", pk__mode="record_value", pk__fields="id")) as task:
        given = [{"id": 1, "name": "a"}, {"id": 2}, {"id": 3, "name": "c", "other": 1}]
        assert put(task, batch(given, schema=None, keys=["k"] * 3, key_schema=s.STRING)).keys() == {2}
    assert table.rows() == [(1, "a"), (2, None)]


@pytest.mark.parametrize("mode", ["insert", "upsert", "update"])
def test_a_row_without_a_schema_with_a_field_that_the_table_lacks_is_bad_alone(table: SqliteTable, mode):
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT)")
    with opened(table.config(insert__mode=mode, pk__mode="record_value", pk__fields="id")) as task:
        given = [{"id": 1, "name": "a"}, {"id": 2, "other": 1}]
        assert put(task, batch(given, schema=None)).keys() == {1}
    assert table.rows() == ([] if mode == "update" else [(1, "a")])


def test_rows_without_a_schema_are_bad_where_the_table_lacks_the_key(table: SqliteTable):
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT)")
    with opened(table.config(insert__mode="upsert", pk__mode="record_value", pk__fields="number")) as task:
        bad = put(task, batch([{"id": 1, "number": 1, "name": "a"}, {"id": 2, "number": 2}], schema=None))
    assert bad.keys() == {0, 1}
    assert "no column number" in str(bad[0])


BESIDE = {"id": 9, "name": "i", "age": 9}
"""A row with all fields, beside which others lack some."""


@pytest.mark.parametrize("beside", [[], [BESIDE]], ids=["alone", "beside a row with all fields"])
def test_a_field_that_a_row_without_a_schema_lacks_keeps_its_value(table: SqliteTable, beside):
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)")
    table.run(f"INSERT INTO {TOPIC} VALUES (1, 'a', 1), (2, 'b', 2)")
    with opened(table.config(insert__mode="upsert", pk__mode="record_value", pk__fields="id")) as task:
        given = [[{"id": 1, "age": 5}, *beside, {"id": 2, "name": "z"}], [{"id": 2, "age": 7}, {"id": 2, "name": None}]]
        for first, some in enumerate(given):
            assert put(task, batch(some, first=first * 3, schema=None)) == {}
    assert table.rows("id, name, age")[:2] == [(1, "a", 5), (2, None, 7)]


@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_a_field_that_a_row_without_a_schema_lacks_has_the_columns_default(table: SqliteTable, mode):
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT DEFAULT 'new')")
    with opened(table.config(insert__mode=mode, pk__mode="record_value", pk__fields="id")) as task:
        assert put(task, batch([{"id": 1}, {"id": 2, "name": "b"}, {"id": 3}], schema=None)) == {}
    assert table.rows() == [(1, "new"), (2, "b"), (3, "new")]


def test_rows_without_a_schema_and_deletes_keep_their_order(table: SqliteTable):
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)")
    given = [None, {"id": 1, "age": 5}, {"id": 2, "name": "b"}, None, {"id": 1, "name": "z"}]
    keys = [{"id": n} for n in (2, 1, 2, 1, 1)]
    with opened(table.config(**UPSERT)) as task:
        assert put(task, batch(given, keys=keys, schema=None)) == {}
    assert table.rows("id, name, age") == [(1, "z", None), (2, "b", None)]


def test_bad_rows_are_left_out_alone(table: SqliteTable):
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT NOT NULL CHECK (name <> 'refused'))")
    with opened(table.config(insert__mode="upsert", pk__mode="record_key")) as task:
        given = [*rows((1, "a"), (2, None), (3, "refused"), (4, "d")), None, {"id": 6, "name": "f"}]
        keys = [*({"id": n} for n in range(1, 6)), None]
        bad = put(task, batch(given, keys=keys, key_schema=KEY.as_optional()))
    assert bad.keys() == {1, 2, 4, 5}
    assert "NOT NULL" in bad[1]
    assert "CHECK" in bad[2]
    assert "delete.enabled" in bad[4]
    assert "no key" in bad[5]
    assert table.rows() == [(1, "a"), (4, "d")]


def test_nulls_become_defaults_unless_that_is_not_wanted(table: SqliteTable):
    named = s.Schema(s.Type.STRING, optional=True, default="unnamed")
    schema = s.struct({"id": s.INT64, "name": named}, optional=True)
    for wanted, settings_given in (("unnamed", {}), (None, {"replace__null__with__default": "false"})):
        with opened(table.config(**UPSERT, **settings_given)) as task:
            put(task, batch(rows((1, None)), schema=schema))
        assert table.rows() == [(1, wanted)]
    assert ROW.fields[1].schema.default is None


@pytest.mark.parametrize("topic", ["a\0b", "", " ", "a.\0", "\0.a"])
def test_a_topic_that_is_no_tables_name_makes_bad_rows(table: SqliteTable, topic: str):
    with opened(table.config(auto__create="true")) as task:
        told = put(task, replace(batch(rows((1, "a"), (2, "b"))), topic=topic))
        assert put(task, batch(rows((3, "c")))) == {}
    assert set(told) == {0, 1}
    assert f"Topic {topic!r} becomes table" in told[0]
    assert table.rows() == [(3, "c")]


@pytest.mark.parametrize("is_there", [True, False], ids=["table is there", "table is made"])
@pytest.mark.parametrize("name", ["", "  ", "a\0b"])
def test_a_field_that_is_no_columns_name_makes_bad_rows(table: SqliteTable, name: str, is_there: bool):
    schema = s.struct({"id": s.INT64, name: s.STRING.as_optional()}, optional=True)
    with opened(table.config(auto__create="true", auto__evolve="true")) as task:
        if is_there:
            assert put(task, batch(rows((1, "a")))) == {}
        told = put(task, batch([{"id": 2, name: "b"}], first=1, schema=schema))
        assert put(task, batch(rows((3, "c")), first=2)) == {}
    assert list(told) == [0]
    assert f"A field becomes column {name!r}" in told[0]
    assert table.rows() == [*([(1, "a")] if is_there else []), (3, "c")]


@pytest.mark.parametrize("mode", ["upsert", "update"])
@pytest.mark.parametrize("key", [{"pk__mode": "kafka"}, {"pk__mode": "record_value", "pk__fields": "id"}])
def test_rows_of_one_record_replace_none_of_each_other(table: SqliteTable, mode, key):
    """A transform made three rows of the record at offset 4, of which two have one key in each way of keys or more."""
    records = batch(rows((1, "a"), (7, "b"), (7, "c"), (8, "d"), (7, "e")))
    place = Consumed(TopicPartition(TOPIC, 0), pa.array([3, 4, 4, 4, 5]), 6, row_numbers=pa.array([0, 1, 2, 3, 0]))
    configured = table.config(auto__create="true", insert__mode=mode, **key)
    with opened(configured) as task:
        bad = put(task, replace(records, consumed=place))
    assert list(bad) == ([2, 3] if key["pk__mode"] == "kafka" else [2])
    assert all("another one of them has the same key" in why for why in bad.values())
    written = [(1, "a"), (7, "b"), (7, "e")] if key["pk__mode"] == "kafka" else [(1, "a"), (7, "e"), (8, "d")]
    assert table.rows() == (written if mode == "upsert" else [])


def test_a_row_behind_the_delete_of_its_key_may_be_of_the_same_record(table: SqliteTable):
    records = batch([*rows((1, "a")), None, *rows((1, "b"))], keys=[{"id": 1}] * 3)
    place = Consumed(TopicPartition(TOPIC, 0), pa.array([4, 4, 4]), 5, row_numbers=pa.array([1, 2, 3]))
    with opened(table.config(**UPSERT)) as task:
        assert put(task, replace(records, consumed=place)) == {}
    assert table.rows() == [(1, "b")]


def test_a_key_of_lists_tells_rows_of_one_record_apart(table: SqliteTable):
    schema = s.struct({"id": s.INT64, "tags": s.array(s.STRING)})
    records = batch([{"id": 1, "tags": ["a"]}, {"id": 1, "tags": ["b"]}, {"id": 1, "tags": ["a"]}], schema=schema)
    place = Consumed(TopicPartition(TOPIC, 0), pa.array([4, 4, 4]), 5, row_numbers=pa.array([1, 2, 3]))
    configured = table.config(insert__mode="upsert", pk__mode="record_value", auto__create="true")
    with opened(configured) as task:
        assert put(task, replace(records, consumed=place)).keys() == {2}
    assert table.rows("id, tags") == [(1, '["a"]'), (1, '["b"]')]
