"""Change events out of what the log holds: what a statement did, no more and no less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from cdc_fixtures import segment_bytes, table, tables, updates

from connectors.cassandra.cql.cql_types import CqlType, parse_type, user_types_of
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.cql.values import UnknownFieldError
from connectors.cassandra.log.events.event_columns import EventShape, Node
from connectors.cassandra.log.events.event_schema import event_schema, partition_key_schema
from connectors.cassandra.log.events.mutation import (
    Bound,
    Cell,
    ComplexColumn,
    Deletion,
    Liveness,
    Marker,
    PartitionUpdate,
    Row,
)
from connectors.cassandra.log.events.update_events import Events, composite

INT, TEXT = CqlType("int"), CqlType("text")
PLACE = user_types_of("ks", {"place": (("street", "number"), ("text", "int"))})
OF_EACH = Table(
    UUID(int=1),
    "ks",
    "t",
    [TableColumn("k", INT)],
    [TableColumn("a", INT), TableColumn("b", INT, descending=True)],
    [TableColumn("s", TEXT)],
    [
        TableColumn("v", TEXT),
        TableColumn("l", parse_type("list<int>", {})),
        TableColumn("st", parse_type("set<int>", {})),
        TableColumn("m", parse_type("map<text, int>", {})),
        TableColumn("u", parse_type("place", PLACE)),
    ],
    dropped={"gone": INT},
)
KEY = (5).to_bytes(4, "big")
NODE = Node("c", "d", "n")


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def row(columns: dict[str, Any] | None = None, **more: Any) -> Row:
    return replace(Row((number(1), number(2)), None, None, columns or {}), **more)


def shape(table: Table) -> EventShape:
    return EventShape(table, partition_key_schema(table), event_schema(table))


def events(*rows: Row | Marker, deletion: Deletion | None = None, static: Row | None = None) -> list[dict[str, Any]]:
    """The values of the events of an update, as rows."""
    made = Events(shape(OF_EACH), NODE)
    made.add(PartitionUpdate(OF_EACH, KEY, deletion, static, rows), 3, 77)
    keys, values = made.columns()
    found = list(values.rows())
    assert keys.rows() == [{"k": 5}] * len(found)
    source = {"cluster": "c", "datacenter": "d", "node": "n", "table_id": str(OF_EACH.id), "segment": 3, "position": 77}
    assert [event["source"] for event in found] == [source] * len(found)
    return found


@pytest.mark.parametrize(
    ("changes", "op"),
    [
        (row({"v": Cell(9, b"x")}, liveness=Liveness(9)), "insert"),
        (row(liveness=Liveness(9)), "insert"),
        (row({"v": Cell(9, b"x")}), "update"),
        (row({"v": Cell(9, None, local_s=1)}), "update"),
        (row(deletion=Deletion(9, 1)), "delete"),
        (row({"v": Cell(9, b"x")}, deletion=Deletion(8, 1)), "update"),
    ],
)
def test_a_row_event_says_what_the_statement_was(changes: Row, op: str) -> None:
    (event,) = events(changes)
    assert (event["op"], event["writetime_us"]) == (op, 9)
    assert event["key"] == {"k": 5, "a": 1, "b": 2}


def test_a_cell_tells_its_value_its_end_and_its_removal() -> None:
    (event,) = events(row({"v": Cell(9, b"x", ttl_s=60, local_s=160)}, liveness=Liveness(7, 60, 160)))
    value = {"value": "x", "writetime_us": 9, "ttl_s": 60, "local_deletion_s": 160, "deleted": False}
    assert event["columns"]["v"] == value
    assert event["columns"]["l"] is None
    assert event["liveness"] == {"writetime_us": 7, "ttl_s": 60, "expires_s": 160}
    (event,) = events(row({"v": Cell(9, None, local_s=100)}))
    removed = {"value": None, "writetime_us": 9, "ttl_s": None, "local_deletion_s": 100, "deleted": True}
    assert event["columns"]["v"] == removed


def test_collections_tell_added_and_removed_elements_apart_and_a_replacement_from_an_addition() -> None:
    position = UUID("8dcf9644-e675-11f1-81a1-c7e77562358d")
    (event,) = events(
        row(
            {
                "l": ComplexColumn(None, [Cell(9, None, local_s=3, path=position.bytes)]),
                "st": ComplexColumn(Deletion(8, 3), [Cell(9, b"", path=number(4))]),
                "m": ComplexColumn(None, [Cell(9, number(1), path=b"in"), Cell(9, None, local_s=3, path=b"out")]),
                "u": ComplexColumn(None, [Cell(9, number(7), path=b"\x00\x01")]),
            }
        )
    )
    times = {"writetime_us": 9, "ttl_s": None, "local_deletion_s": None}
    gone = {"writetime_us": 9, "local_deletion_s": 3}
    assert event["columns"]["l"] == {"cleared_us": None, "set": [], "removed": [{"position": str(position), **gone}]}
    assert event["columns"]["st"] == {"cleared_us": 8, "set": [{"element": 4, **times}], "removed": []}
    changed = {"set": [{"key": "in", "value": 1, **times}], "removed": [{"key": "out", **gone}]}
    assert event["columns"]["m"] == {"cleared_us": None, **changed}
    fields = {"street": None, "number": {"value": 7, **times, "deleted": False}}
    assert event["columns"]["u"] == {"cleared_us": None, "fields": fields}


def test_a_field_that_was_added_since_the_schema_was_read_is_not_left_out() -> None:
    with pytest.raises(UnknownFieldError, match="has field 3 of a type with 2 fields"):
        events(row({"u": ComplexColumn(None, [Cell(9, b"", path=b"\x00\x02")])}))


def test_what_a_dropped_column_held_is_left_out() -> None:
    (event,) = events(row({"gone": Cell(9, number(1)), "v": Cell(9, b"x")}))
    assert "gone" not in event["columns"]


def test_one_update_may_hold_a_partition_deletion_a_static_row_and_rows() -> None:
    found = events(row({"v": Cell(9, b"x")}), deletion=Deletion(5, 1), static=Row((), None, None, {"s": Cell(8, b"y")}))
    assert [event["op"] for event in found] == ["partition_delete", "static", "update"]
    assert found[0]["deletion"] == {"writetime_us": 5, "local_s": 1}
    assert [event["key"] for event in found[:2]] == [{"k": 5, "a": None, "b": None}] * 2


def deleted(start: Bound, low: tuple[int, ...], end: Bound, high: tuple[int, ...]) -> dict[str, Any]:
    at = Deletion(9, 1)
    (event,) = events(Marker(start, tuple(map(number, low)), None, at), Marker(end, tuple(map(number, high)), at, None))
    assert (event["op"], event["deletion"]["writetime_us"]) == ("range_delete", 9)
    return event["range"]


def bound(a: int | None = None, b: int | None = None) -> dict[str, int | None] | None:
    return None if a is None else {"a": a, "b": b}


def test_ranges_are_told_in_the_natural_order_of_values() -> None:
    assert deleted(Bound.INCL_START, (1,), Bound.EXCL_END, (4,)) == {
        "start": bound(1), "start_inclusive": True, "end": bound(4), "end_inclusive": False
    }  # fmt: skip
    # b runs backwards: 7 comes before 3.
    assert deleted(Bound.INCL_START, (1, 7), Bound.EXCL_END, (1, 3)) == {
        "start": bound(1, 3), "start_inclusive": False, "end": bound(1, 7), "end_inclusive": True
    }  # fmt: skip
    # a = 1 AND b >= 3
    assert deleted(Bound.INCL_START, (1,), Bound.INCL_END, (1, 3)) == {
        "start": bound(1, 3), "start_inclusive": True, "end": bound(1), "end_inclusive": True
    }  # fmt: skip
    assert deleted(Bound.INCL_START, (2,), Bound.INCL_END, ()) == {
        "start": bound(2), "start_inclusive": True, "end": None, "end_inclusive": True
    }  # fmt: skip


def test_a_boundary_ends_one_range_and_begins_the_next() -> None:
    first, second = Deletion(8, 1), Deletion(9, 1)
    found = events(
        Marker(Bound.INCL_START, (number(1),), None, first),
        Marker(Bound.EXCL_END_INCL_START, (number(3),), first, second),
        Marker(Bound.INCL_END, (number(5),), second, None),
    )
    assert [event["deletion"]["writetime_us"] for event in found] == [8, 9]
    inclusive = [(event["range"]["start_inclusive"], event["range"]["end_inclusive"]) for event in found]
    assert inclusive == [(True, False), (True, True)]


def test_ids_tell_changes_apart_and_not_how_they_were_packed() -> None:
    one, other = row({"v": Cell(9, b"x"), "l": ComplexColumn(None, [])}), row({"v": Cell(9, b"y")})
    alone = events(one)[0]["event_id"]
    assert events(other, one)[1]["event_id"] == alone
    assert events(replace(one, columns=dict(reversed(one.columns.items()))))[0]["event_id"] == alone
    again = Deletion(9, 1)
    different = [
        one,
        other,
        row({"v": Cell(8, b"x")}),
        row({"v": Cell(9, b"x", ttl_s=5, local_s=5)}),
        row({"v": Cell(9, None, local_s=5)}),
        # A statement that is sent again with the same USING TIMESTAMP and TTL lets its values live for longer.
        row({"v": Cell(9, b"x", ttl_s=5, local_s=6)}),
        row({"v": Cell(9, b"x")}, liveness=Liveness(9, 5, 14)),
        row({"v": Cell(9, b"x")}, liveness=Liveness(9, 5, 15)),
        row({"v": Cell(9, b"x")}, liveness=Liveness(9)),
        row({"v": Cell(9, b"x")}, deletion=again),
        row({"v": Cell(9, b"x")}, clustering=(number(1), number(3))),
    ]
    ids = [event["event_id"] for event in events(*different, deletion=again)]
    assert len(set(ids)) == len(different) + 1
    # When a tombstone was taken may differ between replicas.
    assert events(row({"v": Cell(9, None, local_s=6)}))[0]["event_id"] == ids[5]


def test_keys_of_several_columns() -> None:
    assert composite(bytes.fromhex("0004000000010000017000")) == [number(1), b"p"]
    assert composite(bytes.fromhex("00000000016200")) == [b"", b"b"]


@pytest.mark.parametrize("kind", ["plain", "lz4"])
def test_events_of_a_recorded_segment_are_the_same_alone_and_among_others(kind: str) -> None:
    found: dict[UUID, list[tuple[int, PartitionUpdate]]] = {}
    for position, update in updates(segment_bytes(kind)):
        if update.table.name != "cnt":
            found.setdefault(update.table.id, []).append((position, update))
    for table_id, changes in found.items():
        together = Events(shape(tables()[table_id]), NODE)
        rows = []
        for position, update in changes:
            together.add(update, 1, position)
            alone = Events(shape(tables()[table_id]), NODE)
            alone.add(update, 1, position)
            rows += alone.columns()[1].rows() if len(rows) < 25 else [None] * len(alone)
        keys, values = together.columns()
        assert len(keys) == len(values) == len(rows) == len(together)
        assert list(values.rows())[: min(len(rows), 25)] == rows[:25]


def test_an_insert_of_every_type_is_told_value_by_value() -> None:
    wanted = table("t")
    first = next(update for _, update in updates(segment_bytes("plain")) if update.table is wanted)
    made = Events(shape(wanted), NODE)
    made.add(first, 1, 1)
    events_ = made.columns()[1].rows()
    columns = {name: cell for name, cell in events_[1]["columns"].items() if cell is not None}
    values = {name: cell["value"] for name, cell in columns.items() if "value" in cell}
    assert events_[1]["key"] == {"pk1": 1, "pk2": "p", "c1": 1577836800000, "c2": "x"}
    assert values == {
        "Wei Rd": "q", "a": "asc", "b": b"\xde\xad\xbe\xef", "bi": 123456789012, "bo": True, "d": 18661, "de": "1.2345",
        "do": 2.5, "du": {"months": 1, "days": 2, "nanoseconds": 10_800_000_000_000}, "f": 1.5, "fl": [9, 8],
        "fu": {"street": "T", "number": 2}, "i": "127.0.0.1", "n": 42, "si": 7, "ti": 45296789000000,
        "tp": {"field1": 1, "field2": "z"}, "ts": 1643760000000, "tu": "50554d6e-29bb-11e5-b345-feff819cdc9f", "ty": 3,
        "u": "123e4567-e89b-12d3-a456-426614174000", "v": "123456789012345678901234567890",
    }  # fmt: skip
    assert [event["op"] for event in events_] == ["static", "insert"]


def test_of_a_column_that_was_added_again_only_what_was_written_since_it_was_dropped_counts() -> None:
    again = replace(OF_EACH, dropped_us={"v": 100, "l": 100, "st": 100, "m": 100, "u": 100})
    set_at = [Cell(100, b"", path=number(1)), Cell(101, b"", path=number(2)), Cell(99, None, local_s=1, path=number(3))]
    changes = {
        "v": Cell(100, b"old"),
        "st": ComplexColumn(Deletion(100, 1), set_at),
        "m": ComplexColumn(Deletion(101, 1), [Cell(100, number(1), path=b"a")]),
        "u": ComplexColumn(Deletion(100, 1), [Cell(90, number(1), path=b"\0\1")]),
    }
    made = Events(shape(again), NODE)
    made.add(PartitionUpdate(again, KEY, None, None, [row(changes), row({"v": Cell(101, b"new")})]), 3, 77)
    first, second = made.columns()[1].rows()
    assert first["columns"]["v"] is None
    assert first["columns"]["u"] is None
    assert first["columns"]["st"]["cleared_us"] is None
    assert [element["element"] for element in first["columns"]["st"]["set"]] == [2]
    assert first["columns"]["st"]["removed"] == []
    assert first["columns"]["m"] == {"cleared_us": 101, "set": [], "removed": []}
    assert second["columns"]["v"]["value"] == "new"
    (as_written,) = events(row(changes))
    assert as_written["event_id"] == first["event_id"], "replicas that read the schema at other times have the same id"
