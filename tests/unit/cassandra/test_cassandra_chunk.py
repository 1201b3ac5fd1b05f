"""Mutations into batches: by table, in order, and one that cannot be read is one that cannot be read."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from connectors.cassandra.cql_types import CqlType, parse_type, user_types_of
from connectors.cassandra.log.chunk import Located, batches
from connectors.cassandra.log.events import Node
from connectors.cassandra.log.mutation import Cell, PartitionUpdate, Row
from connectors.cassandra.log.watched import Watched
from connectors.cassandra.schema_reader import Schemas
from connectors.cassandra.tables import Table, TableColumn

NODE = Node("c", "d", "n")


def table(number: int, *columns: TableColumn) -> Table:
    key = [TableColumn("k", CqlType("int"))]
    return Table(
        UUID(int=number), "ks", f"t{number}", key, regular=columns or [TableColumn("v", CqlType("text"))], cdc=True
    )


ONE, TWO = table(1), table(2)


def located(of: Table, position: int, value: bytes = b"x") -> Located:
    row = Row((), None, None, {"v": Cell(9, value)})
    return Located(PartitionUpdate(of, position.to_bytes(4, "big"), None, None, [row]), 1, position)


def made(found: list[Located], *versions: list[Table]) -> tuple[dict[str, list[int]], list[str], Watched]:
    """Positions by topic, what was kept, and what is watched."""
    schemas = [Schemas(tables, {}) for tables in versions]
    watched = Watched(lambda: schemas.pop(0) if len(schemas) > 1 else schemas[0], (), "p.")
    kept: list[str] = []
    positions = {
        batch.topic: [row["source"]["position"] for row in batch.values.rows()]
        for batch in batches(found, watched, NODE, kept.append)
    }
    return positions, kept, watched


def test_events_are_in_the_order_of_the_log_by_table() -> None:
    found = [located(ONE, 1), located(TWO, 2), located(ONE, 3), located(TWO, 4)]
    assert made(found, [ONE, TWO])[:2] == ({"p.ks.t1": [1, 3], "p.ks.t2": [2, 4]}, [])


def test_a_mutation_that_cannot_be_read_is_kept_and_the_others_are_sent() -> None:
    found = [located(ONE, 1), located(ONE, 2, b"\xff not UTF-8"), located(ONE, 3), located(TWO, 4)]
    positions, kept, _ = made(found, [ONE, TWO])
    assert positions == {"p.ks.t1": [1, 3], "p.ks.t2": [4]}
    assert len(kept) == 1
    assert kept[0].startswith("The mutation of ks.t1 before position 2 cannot be read: Field 'v':")


def test_nothing_is_sent_of_a_table_none_of_whose_mutations_can_be_read() -> None:
    positions, kept, _ = made([located(ONE, 1, b"\xff"), located(ONE, 2, b"\xfe")], [ONE])
    assert (positions, len(kept)) == ({}, 2)


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
