"""Makes batches of mutations: by table, in order, and one that cannot be read spoils no other one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from mutation_writer import frames_of, mutation

from connectors.cassandra.cql.cql_types import CqlType, parse_type, user_types_of
from connectors.cassandra.cql.schema_reader import Schemas
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.log.events import event_batches
from connectors.cassandra.log.events.event_batches import batches
from connectors.cassandra.log.events.event_columns import Node
from connectors.cassandra.log.events.mutation import Cell, PartitionUpdate, Row
from connectors.cassandra.log.events.native_events import Plan, gather
from connectors.cassandra.log.events.watched_tables import Watched
from connectors.cassandra.log.segments.segment import Frames
from connectors.cassandra.native import module

NODE = Node("c", "d", "n")


def table(number: int, *columns: TableColumn) -> Table:
    key = [TableColumn("k", CqlType("int"))]
    return Table(
        UUID(int=number), "ks", f"t{number}", key, regular=columns or [TableColumn("v", CqlType("text"))], cdc=True
    )


ONE, TWO = table(1), table(2)
SCHEMA_TABLE = replace(table(9), keyspace="system_schema", name="tables", cdc=False)


@pytest.fixture(autouse=True, params=["native", "twin"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Native code and its twin tell the same apart."""
    if request.param == "twin":
        monkeypatch.setattr(event_batches, "module", lambda: None)


def located(of: Table, key: int, value: bytes = b"x") -> PartitionUpdate:
    row = Row((), None, None, {"v": Cell(9, value)})
    return PartitionUpdate(of, key.to_bytes(4, "big"), None, None, [row])


Found = Sequence[PartitionUpdate | list[PartitionUpdate]]
"""An update, or those of one mutation."""


def frames(found: Found) -> Frames:
    return frames_of([mutation([one] if isinstance(one, PartitionUpdate) else one) for one in found])


def schema_change() -> PartitionUpdate:
    """A mutation of the node's own tables, as ALTER TABLE leaves it in the commit log."""
    return located(SCHEMA_TABLE, 1)


def made(found: Found, *versions: list[Table]) -> tuple[dict[str, list[int]], list[str], Watched]:
    """Partition keys by topic, what was kept, and what is watched."""
    schemas = [Schemas(tables, {}) for tables in versions]
    watched = Watched(lambda: schemas.pop(0) if len(schemas) > 1 else schemas[0], (), "p.")
    kept: list[str] = []
    keys: dict[str, list[int]] = {}
    for batch in batches(frames(found), watched, NODE, kept.append):
        keys.setdefault(batch.topic, []).extend(row["key"]["k"] for row in batch.values.rows())
        positions = [row["source"]["position"] for row in batch.values.rows()]
        assert positions == sorted(positions)
        assert set(positions) <= set(frames(found).ends.tolist())
    return keys, kept, watched


def test_events_are_in_the_order_of_the_log_by_table() -> None:
    found = [located(ONE, 1), located(TWO, 2), located(ONE, 3), located(TWO, 4)]
    assert made(found, [ONE, TWO])[:2] == ({"p.ks.t1": [1, 3], "p.ks.t2": [2, 4]}, [])


def test_a_mutation_that_cannot_be_read_is_kept_and_the_others_are_sent() -> None:
    found = [located(ONE, 1), located(ONE, 2, b"\xff not UTF-8"), located(ONE, 3), located(TWO, 4)]
    positions, kept, _ = made(found, [ONE, TWO])
    assert positions == {"p.ks.t1": [1, 3], "p.ks.t2": [4]}
    assert len(kept) == 1
    assert re.match(r"The mutation of ks\.t1 before position \d+ cannot be read: Field 'v':", kept[0])


def test_nothing_is_sent_of_a_table_none_of_whose_mutations_can_be_read() -> None:
    positions, kept, _ = made([located(ONE, 1, b"\xff"), located(ONE, 2, b"\xfe")], [ONE])
    assert (positions, len(kept)) == ({}, 2)


def test_a_partition_key_of_another_number_of_columns_is_kept_too() -> None:
    two = replace(ONE, partition_key=[TableColumn(name, CqlType("int")) for name in ("k", "l")])
    whole = b"".join(b"\0\4" + number.to_bytes(4, "big") + b"\0" for number in (1, 2))
    found = [replace(located(two, 0), key=key) for key in (whole[:7], whole, whole + whole[:7])]
    positions, kept, _ = made(found, [two])
    assert positions == {"p.ks.t1": [1]}
    assert [text.partition("cannot be read: ")[2] for text in kept] == [
        "A partition key of 7 bytes has 1 values instead of 2.",
        "A partition key of 21 bytes has 3 values instead of 2.",
    ]


def place(*fields: str) -> Table:
    types = user_types_of("ks", {"place": (fields, ("int",) * len(fields))})
    return table(1, TableColumn("v", replace(parse_type("place", types), frozen=True)))


def test_a_value_with_a_field_that_was_added_since_is_read_by_the_new_schema() -> None:
    value = b"".join((4).to_bytes(4, "big") + number.to_bytes(4, "big") for number in (7, 8))
    positions, kept, watched = made([located(ONE, 1, value)], [place("a")], [place("a", "b")])
    assert (positions, kept) == ({"p.ks.t1": [1]}, [])
    assert watched.tables[ONE.id].shape.table.regular[0].type.fields == ("a", "b")


def test_changes_of_a_table_that_is_gone_when_they_do_not_fit_are_gone_too() -> None:
    assert made([located(ONE, 1, b"\xff")], [ONE], [TWO])[:2] == ({}, [])


def test_what_native_code_leaves_to_the_twin_stands_between_the_others() -> None:
    def two(key: int) -> list[PartitionUpdate]:
        """A mutation as no node writes it: two updates of one table."""
        return [located(ONE, key), located(ONE, key + 1)]

    found: Found = [two(0), located(ONE, 2), located(ONE, 3), two(4), located(TWO, 6), two(7), located(ONE, 9)]
    assert made(found, [ONE, TWO])[:2] == ({"p.ks.t1": [0, 1, 2, 3, 4, 5, 7, 8, 9], "p.ks.t2": [6]}, [])
    native = module()
    assert native is None or gather(native, frames(found), Plan.of([ONE, TWO], [])).odd.tolist() == [0, 3, 5]


def test_a_table_whose_cdc_is_turned_on_is_watched_from_the_change_of_the_schema_on() -> None:
    before, after = [replace(ONE, cdc=False), TWO, SCHEMA_TABLE], [ONE, TWO, SCHEMA_TABLE]
    keys, kept, _ = made([located(TWO, 1), schema_change(), located(ONE, 2), located(TWO, 3)], before, after)
    assert keys == {"p.ks.t1": [2], "p.ks.t2": [1, 3]}
    assert kept == []
