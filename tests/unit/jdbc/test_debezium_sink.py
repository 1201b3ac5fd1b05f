"""Debezium's JDBC sink does to a table what each event says, by Debezium's settings."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from debezium_sink_rows import EVENT, ROW, TOPIC, batch, event, opened, put, row, rows

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError
from connect.api.records import Column, Header, TopicPartition
from connect.lib.deadline import Deadline
from connect.lib.javatext.timed_pattern import PatternTimeoutError
from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig
from connectors.jdbc.sink.debezium.value_forms import value_forms

TABLE = "shop_public_Orders"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.db"


def test_events_change_the_row_of_their_key(path: Path) -> None:
    with opened(path, delete__enabled="true") as task:
        given = [event("r", 1, "a"), event("c", 2, "b"), event("u", 1, "c"), event("d", 2, "b"), None]
        assert put(task, batch(given, keys=[1, 2, 1, 2, 2])) == {}
        assert task.flush(Deadline.after(1)) == {TopicPartition(TOPIC, 0): 5}
        assert rows(path) == [(1, "c")]
        assert put(task, batch([event("c", 2, "d"), event("d", 1, "c")], first=5)) == {}
    assert rows(path) == [(2, "d")]
    assert [column[1:3] for column in rows(path, f"PRAGMA table_info({TABLE})")] == [
        ("id", "INTEGER"),
        ("name", "TEXT"),
    ]


def test_deletes_and_truncations_are_left_out_unless_they_are_enabled(path: Path) -> None:
    with opened(path) as task:
        given = [event("c", 1, "a"), event("d", 1, "a"), None, event("t", None)]
        assert put(task, batch(given, keys=[1, 1, 1, None])) == {}
    assert rows(path) == [(1, "a")]


def test_a_truncation_empties_the_table_between_its_neighbours(path: Path) -> None:
    with opened(path, truncate__enabled="true") as task:
        assert put(task, batch([event("t", None)], keys=[None])) == {}  # there is no table yet
        given = [event("c", 1, "a"), event("c", 2, "b"), event("t", None), event("c", 2, "c")]
        assert put(task, batch(given, first=1)) == {}
    assert rows(path) == [(2, "c")]


def test_plain_records_are_rows_and_their_nulls_deletes(path: Path) -> None:
    with opened(path, delete__enabled="true", quote__identifiers="true") as task:
        assert put(task, batch([row(1, "a"), row(2, "b"), None], ROW, keys=[1, 2, 1])) == {}
        assert put(task, batch([None], None, keys=[2], first=3)) == {}
    assert rows(path) == []
    assert [column[1] for column in rows(path, f"PRAGMA table_info({TABLE})")] == ["Id", "Name"]


@pytest.mark.parametrize(
    ("settings", "columns", "found"),
    [
        ({"primary__key__mode": "none"}, {"id": 0, "name": 0}, [(1, "a"), (1, "b")]),
        (
            {"primary__key__mode": "kafka"},
            {"__connect_topic": 1, "__connect_partition": 2, "__connect_offset": 3, "id": 0, "name": 0},
            [(TOPIC, 0, 0, 1, "a"), (TOPIC, 0, 1, 1, "b")],
        ),
        (
            {"primary__key__mode": "record_value", "primary__key__fields": "Name"},
            {"name": 1, "id": 0},
            [("a", 1), ("b", 1)],
        ),
        ({"primary__key__mode": "record_value"}, {"id": 1, "name": 2}, [(1, "a"), (1, "b")]),
        ({"primary__key__mode": "record_header"}, {"h": 1, "id": 0, "name": 0}, [("x", 1, "a"), ("y", 1, "b")]),
    ],
)  # fmt: skip
def test_keys_of_each_mode(path: Path, settings: dict[str, str], columns: dict[str, int], found: list[Any]) -> None:
    given = replace(
        batch([event("c", 1, "a"), event("c", 1, "b")]),
        headers=[[Header("h", "x", s.STRING)], [Header("h", "y", s.STRING)]],
    )
    with opened(path, insert__mode="insert", **settings) as task:
        assert put(task, given) == {}
    assert rows(path, f"SELECT * FROM {TABLE} ORDER BY name") == found
    assert {name: key for _, name, _, _, _, key in rows(path, f"PRAGMA table_info({TABLE})")} == columns


def test_a_key_that_is_no_struct_gets_its_column(path: Path) -> None:
    given = replace(batch([event("c", 1, "a")]), keys=Column.from_rows([7], s.INT64))
    with opened(path) as task:
        [why] = put(task, given).values()
        assert "primary.key.fields must have the one name of its column; it has 0" in why
    with opened(path, primary__key__fields="pk") as task:
        assert put(task, given) == {}
    assert rows(path) == [(7, 1, "a")]


def test_headers_that_a_record_lacks_are_no_key(path: Path) -> None:
    given = replace(batch([event("c", 1), event("c", 2)]), headers=[[Header("h", "x", s.STRING)], []])
    with opened(path, primary__key__mode="record_header") as task:
        assert put(task, given) == {1: "The record has no header, and primary.key.mode=record_header needs some."}
    assert rows(path) == [("x", 1, None)]


def test_tables_are_named_by_topic_and_source(path: Path) -> None:
    given = [
        event("c", 1, table="a"),
        event("c", 2, table="b"),
        event("c", 3, table="a"),
        event("c", 4, table=None),
        None,
    ]
    with opened(path, delete__enabled="true", table__name__format="x_${source.table}") as task:
        assert put(task, batch(given, keys=[1, 2, 3, 4, 1])) == {
            3: "The event's source lacks a text that the table is named by."
        }
    assert rows(path, "SELECT id FROM x_a ORDER BY 1") == [(1,), (3,)]
    assert rows(path, "SELECT id FROM x_b") == [(2,)]
    with opened(path, collection__name__format="x_${source.table}_${topic}") as task:
        assert put(task, batch([event("c", 1, table="a")])) == {}
    assert rows(path, f"SELECT id FROM x_a_{TABLE}") == [(1,)]


@pytest.mark.parametrize(
    ("settings", "columns"),
    [
        ({"field__include__list": "Id"}, ["id"]),
        ({"field__include__list": f"{TOPIC}:Id,other:Name"}, ["id"]),
        ({"field__exclude__list": f"{TOPIC}:Name"}, ["id"]),
        ({"field__exclude__list": "other:Name,name"}, ["id", "name"]),
    ],
)
def test_fields_are_chosen_by_their_names(path: Path, settings: dict[str, str], columns: list[str]) -> None:
    with opened(path, **settings) as task:
        assert put(task, batch([event("c", 1, "a")])) == {}
    assert [column[1] for column in rows(path, f"PRAGMA table_info({TABLE})")] == columns


def test_schemas_evolve_only_where_they_may(path: Path) -> None:
    with opened(path, schema__evolution="none") as task:
        with pytest.raises(ConnectError, match=r"There is no table .*schema\.evolution=basic") as caught:
            put(task, batch([event("c", 1, "a")]))
        assert caught.value.key == "schema.evolution"
    wider = replace(ROW, fields=(*ROW.fields, s.Field("note", s.STRING.as_optional())))
    envelope = replace(EVENT, fields=(s.Field("before", wider), s.Field("after", wider), *EVENT.fields[2:]))
    with opened(path) as task:
        assert put(task, batch([event("c", 1, "a")])) == {}
        added = event("u", 1, "a") | {"after": {**row(1, "a"), "note": "n"}}
        assert put(task, batch([added], envelope, first=1)) == {}
    assert rows(path) == [(1, "a", "n")]


def test_a_bad_event_is_one_bad_row(path: Path) -> None:
    with opened(path) as task:
        given = [event("c", 1, "a"), event("u", None), event("c", 2, "b")]
        assert put(task, batch(given, keys=[1, 9, None])) == {
            1: "The event of operation 'u' has no row after the change.",
            2: "The record has no key, which primary.key.mode=record_key needs.",
        }
    assert rows(path) == [(1, "a")]


def test_changes_of_schemas_are_no_rows(path: Path) -> None:
    schema = s.struct({"ddl": s.STRING}, name="io.debezium.connector.mysql.SchemaChangeValue")
    with opened(path) as task:
        assert put(task, batch([{"ddl": "DROP TABLE a"}], schema, keys=[None])) == {}
    assert rows(path, "SELECT name FROM sqlite_master") == []


def test_decimals_of_any_scale_are_numbers(path: Path) -> None:
    kind = s.struct({"scale": s.INT32, "value": s.BYTES}, name="io.debezium.data.VariableScaleDecimal", optional=True)
    schema = s.struct({"Id": s.INT64, "n": kind, "more": s.struct({"a": s.INT64})})
    more = {"more": {"a": 1}}
    values = [
        {"Id": 1, "n": {"scale": 2, "value": (-1234).to_bytes(2, signed=True)}, **more}, {"Id": 2, "n": None, **more},
        {"Id": 3, "n": {"scale": -(2**31), "value": b"\x01"}, **more},
    ]  # fmt: skip
    with opened(path) as task:
        [(number, why)] = put(task, batch(values, schema)).items()
    assert number == 2
    assert "Field 'n': A value of io.debezium.data.VariableScaleDecimal is none" in why
    assert [n if n is None else Decimal(str(n)) for _, n, _ in rows(path)] == [Decimal("-12.34"), None]


@pytest.mark.parametrize("settings", [{"primary__key__fields": "nope"}, {"field__exclude__list": "Id"}])
def test_a_key_without_a_field_finds_no_row(path: Path, settings: dict[str, str]) -> None:
    with opened(path, **settings) as task:
        with pytest.raises(ConnectError, match=rf"The key of rows of topic {TOPIC} has no field") as caught:
            put(task, batch([event("c", 1, "a")]))
        assert caught.value.key == "primary.key.fields"
    with opened(path, insert__mode="insert", **settings) as task:
        assert put(task, batch([event("c", 1, "a"), event("c", 1, "a")])) == {}
    assert len(rows(path)) == 2


def test_defaults_of_times_and_bits_are_those_of_new_columns(path: Path) -> None:
    bits = replace(s.BYTES, name="io.debezium.data.Bits", parameters={"length": "5"}, default=b"\x13")
    day = replace(s.INT32, name="io.debezium.time.Date", default=19_000)
    moment = replace(s.TIMESTAMP_SCHEMA, default=dt.datetime(2024, 7, 1, tzinfo=dt.UTC))
    schema = s.struct({"Id": s.INT64, "day": day, "moment": moment})
    with opened(path) as task:
        assert put(task, batch([{"Id": 1, "day": 0, "moment": moment.default}], schema)) == {}
    defaults = {name: default for _, name, _, _, default, _ in rows(path, f"PRAGMA table_info({TABLE})")}
    assert defaults == {"id": None, "day": "19000", "moment": "1719792000000"}
    for url, values in (("jdbc:postgresql://h/d", ("10011", "10011")), ("jdbc:mariadb://h/d", (19, 19))):
        given = Column.from_rows([{"b": b"\x13"}], s.struct({"b": bits}))
        formed = value_forms(
            DebeziumSinkConfig.parse({"connection.url": url, "connection.username": "u", "topics": "a"})
        ).formed(given, given.schema)
        assert (formed.schema.field("b").default, next(iter(formed.rows()))["b"]) == values


def test_headers_of_several_types_are_keys_each(path: Path) -> None:
    """Java's default converter of headers makes the smallest integer of each text."""

    def headers(number: int, schema: s.Schema) -> tuple[Header, ...]:
        return (Header("key", number, schema),)

    given = [headers(1, s.INT8), headers(300, s.INT16), headers(2, s.INT8), (), headers(1, s.INT8) * 2]
    records = replace(batch([row(number) for number in range(5)], ROW), headers=given)
    with opened(path, primary__key__mode="record_header") as task:
        assert put(task, records) == {
            3: "The record has no header, and primary.key.mode=record_header needs some.",
            4: "A header of the record comes twice, and a column of the key has one value.",
        }
    assert rows(path) == [(1, 0, None), (2, 2, None), (300, 1, None)]


def test_fields_that_differ_in_case_alone_are_a_bad_row_unless_case_is_kept(path: Path) -> None:
    schema = s.struct({"A": s.INT64, "a": s.INT64})
    with opened(path) as task:
        assert "Two fields become column a." in put(task, batch([{"A": 1, "a": 2}], schema, keys=[1]))[0]


def test_a_topic_may_begin_with_deletes_of_rows_that_never_came(path: Path) -> None:
    with opened(path, delete__enabled="true") as task:
        assert put(task, batch([None, None], None, keys=[1, 2])) == {}
        assert put(task, batch([event("c", 1, "a"), None], keys=[1, 2], first=2)) == {}
    assert rows(path) == [(1, "a")]


def _cloud(data: s.Schema, name: str = "shop.public.CloudEvents.Envelope") -> s.Schema:
    return s.struct({"id": s.STRING, "source": s.STRING, "data": data}, name=name, optional=True)


def test_the_data_of_cloud_events_are_rows_or_change_events(path: Path) -> None:
    named = replace(ROW, name="shop.Data")
    with opened(path, delete__enabled="true") as task:
        given = [{"id": "1", "source": "s", "data": row(number, "a")} for number in (1, 2)]
        assert put(task, batch([*given, None], _cloud(named), keys=[1, 2, 2])) == {}
        changed = {"id": "2", "source": "s", "data": event("u", 1, "b")}
        assert put(task, batch([changed], _cloud(EVENT), keys=[1], first=3)) == {}
        bare = [{"id": "3", "source": "s", "data": None}, {"id": "4", "source": "s", "data": row(3, "c")}]
        assert put(task, batch(bare, _cloud(named), keys=[1, 3], first=4)) == {
            0: "Field 'data': The CloudEvent has no data."
        }
        [why] = put(task, batch([{"id": "", "source": "", "data": b""}], _cloud(s.BYTES), keys=[1], first=6)).values()
        assert "The data of the CloudEvent is no struct." in why
    assert rows(path) == [(1, "b"), (3, "c")]
    with opened(path, cloud__events__schema__name__pattern="mine", primary__key__mode="none", insert__mode="insert",
                collection__name__format="own") as task:  # fmt: skip
        assert (
            put(task, batch([{"id": "1", "source": "s", "data": row(9, "a")}], _cloud(named, "mine"), keys=[1])) == {}
        )
    assert rows(path, "SELECT id FROM own") == [(9,)]


@pytest.mark.timeout(60)
def test_a_pattern_of_cloud_events_that_takes_for_ever_is_given_up(path: Path) -> None:
    named = _cloud(ROW, "a" * 60 + "c")
    with (
        opened(path, cloud__events__schema__name__pattern="(a|aa)+b") as task,
        pytest.raises(PatternTimeoutError, match="was given up after 1 s"),
    ):
        put(task, batch([{"id": "1", "source": "s", "data": row(1, "a")}], named, keys=[1]))


@pytest.mark.parametrize("schema", [ROW, None])
def test_updates_without_a_key_change_each_row(path: Path, schema: s.Schema | None) -> None:
    with opened(path) as task:
        assert put(task, batch([row(1, "a"), row(2, "b")], ROW)) == {}
    own = {"insert__mode": "update", "primary__key__mode": "none", "field__include__list": "Name"}
    given = {"connection.url": f"jdbc:sqlite:{path}", "topics": "a", "insert.mode": "update", **EVERYWHERE}
    assert "primary.key.mode" in [note.key for note in DebeziumSinkConfig.parse(given).notes()]
    with opened(path, **own) as task:
        changes = [row(1, "c"), row(2, "d")] if schema else [{"Name": "c"}, {"Name": "d"}]
        assert put(task, batch(changes, schema, keys=[1, 2], first=2)) == {}
        assert rows(path) == [(1, "d"), (2, "d")]
        assert put(task, batch([], schema, keys=[], first=4)) == {}


def test_rows_of_several_tables_that_a_killed_task_wrote_are_not_bad(path: Path) -> None:
    own = {"insert__mode": "insert", "collection__name__format": "x_${source.table}"}
    given = [event("c", 1, table="b"), event("c", 2, table="a"), event("c", 3, table="b")]
    with opened(path, **own) as task:  # it was killed behind the rows of the first table
        assert put(task, batch([given[0], given[2]])) == {}
    with opened(path, **own) as task:
        for offset, one in enumerate(given):
            assert put(task, batch([one], first=offset)) == {}
    assert rows(path, "SELECT id FROM x_b ORDER BY 1") == [(1,), (3,)]
    assert rows(path, "SELECT id FROM x_a") == [(2,)]
