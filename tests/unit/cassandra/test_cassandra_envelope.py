"""Events in Debezium's form: the same from columns with a schema and from rows without one."""

from __future__ import annotations

from typing import Any

import pytest
from test_cassandra_events import KEY, NODE, OF_EACH, number, row, shape

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connect.plugins.catalog import Catalog
from connectors.cassandra.envelope import DebeziumEnvelope
from connectors.cassandra.envelope_config import EnvelopeConfig
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
from connectors.cassandra.log.events.update_events import Events


def batch() -> Batch:
    """An event of every kind."""
    made = Events(shape(OF_EACH), NODE)
    rows = [
        row({"v": Cell(9000, b"x"), "st": ComplexColumn(Deletion(8000, 1), [Cell(9000, b"", path=number(7))])},
            liveness=Liveness(9000)),
        row({"v": Cell(9001, None, local_s=5)}),
        row(deletion=Deletion(9999, 1)),
        Marker(Bound.INCL_START, (number(1),), None, Deletion(12000, 1)),
        Marker(Bound.INCL_END, (number(2),), Deletion(12000, 1), None),
    ]  # fmt: skip
    static = Row((), None, None, {"s": Cell(9000, b"static")})
    made.add(PartitionUpdate(OF_EACH, KEY, Deletion(7000, 1), static, rows), 3, 77)
    keys, values = made.columns()
    return Batch("raw.ks.t", values, keys=keys)


def shown(given: Batch, **settings: str) -> list[dict[str, Any]]:
    transform = DebeziumEnvelope(EnvelopeConfig.parse(settings))
    (made,) = transform.apply(given)
    return list(made.values.rows())


def schemaless(given: Batch) -> Batch:
    return Batch(given.topic, Column.from_rows(given.values.rows(), None))


@pytest.mark.parametrize("columns", ["cells", "values"])
def test_columns_and_rows_give_the_same(columns: str) -> None:
    given = batch()
    assert shown(given, columns=columns) == shown(schemaless(given), columns=columns)


def test_each_kind_of_event_in_debeziums_form() -> None:
    found = shown(batch())
    assert [(row["op"], row["source"]["event"]) for row in found] == [
        ("d", "partition_delete"), ("u", "static"), ("c", "insert"), ("u", "update"), ("d", "delete"),
        ("d", "range_delete"),
    ]  # fmt: skip
    partition, static, insert, update, delete, deleted_range = found
    assert partition["before"] == {"k": 5, "a": None, "b": None}
    assert (partition["after"], insert["before"]) == (None, None)
    assert static["after"]["s"] == {"value": "static", "deletion_ts": None, "set": True}
    assert insert["after"]["v"] == {"value": "x", "deletion_ts": None, "set": True}
    assert insert["after"]["st"]["value"]["cleared_us"] == 8000
    assert insert["after"]["m"] is None, "not written"
    assert {name: insert["after"][name] for name in ("k", "a", "b")} == {"k": 5, "a": 1, "b": 2}
    assert update["after"]["v"] == {"value": None, "deletion_ts": 5000, "set": True}
    assert delete["before"] == {"k": 5, "a": 1, "b": 2}
    assert deleted_range["range"]["start"] == {"a": 1, "b": None}
    source = insert["source"]
    assert (source["keyspace"], source["table"], source["snapshot"], source["node"]) == ("ks", "t", "false", "n")
    assert (insert["ts_ms"], source["ts_ms"]) == (9, 9)
    assert source["event_id"]


@pytest.mark.parametrize("columns", ["cells", "values"])
def test_a_row_that_is_replaced_tells_up_to_when_its_former_values_are_gone(columns: str) -> None:
    made = Events(shape(OF_EACH), NODE)
    replaced = row({"v": Cell(10, b"x")}, liveness=Liveness(10), deletion=Deletion(9, 7))
    made.add(PartitionUpdate(OF_EACH, KEY, None, None, [replaced, row({"v": Cell(11, b"y")})]), 3, 77)
    keys, values = made.columns()
    first, second = shown(Batch("raw.ks.t", values, keys=keys), columns=columns)
    assert (first["op"], first["deletion"]) == ("c", {"writetime_us": 9, "local_s": 7})
    assert (second["op"], second["deletion"]) == ("u", None)


def test_the_envelope_can_have_values_alone() -> None:
    _, static, insert, update, *_ = shown(batch(), columns="values")
    assert (static["after"]["s"], insert["after"]["v"], update["after"]["v"]) == ("static", "x", None)


def test_what_is_no_event_is_a_bad_row() -> None:
    good = batch().values.rows()[0]
    with pytest.raises(RejectedRowsError) as caught:
        shown(Batch("t", Column.from_rows([good, {"a": 1}, "text"], None)))
    assert set(caught.value.rows) == {1, 2}
    other = Batch("t", Column.from_rows([{"k": 5}], shape(OF_EACH).key))
    with pytest.raises(SchemaError, match="lacks op"):
        shown(other)


def test_the_envelope_leaves_tombstones_as_they_are() -> None:
    assert shown(Batch("t", Column.from_rows([None], None))) == [None]


def test_it_is_found_by_its_name() -> None:
    names = {plugin.name for plugin in Catalog.installed().plugins()}
    assert "connect.cassandra.DebeziumEnvelope" in names
