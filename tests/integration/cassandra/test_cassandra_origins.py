"""Checks what the Cassandra source says of its columns' types: as system_schema writes them, and what its rows lose."""

from __future__ import annotations

from cassandra_node import Node

from connect.lib.deadline import Deadline
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector

LESS, TYPED = "in a type that says less", "with its type"
COLUMNS = {
    "id": ("int", TYPED), "amount": ("decimal", LESS), "at": ("timestamp", TYPED), "big": ("varint", LESS),
    "code": ("uuid", LESS), "names": ("map<text, frozen<list<int>>>", TYPED), "prices": ("frozen<list<decimal>>", LESS),
    "tags": ("set<text>", LESS), "home": ("frozen<address>", TYPED),
}  # fmt: skip


def told(node: Node, keyspace: str, **settings: str) -> dict[str, tuple[str, str]]:
    given = {**node.contact, "keyspace": keyspace, "topic.prefix": "c-", **settings}
    source = CassandraSourceConnector(CassandraSourceConfig.parse(given))
    columns = list(source.origin_columns(Deadline.after(30)))
    assert {column.topic for column in columns} == {f"c-{keyspace}.things"}
    return {column.field: (column.type, column.kept.value) for column in columns}


def test_types_are_those_of_system_schema(cassandra_node: Node, unique: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run(
        "CREATE TYPE address (street text, number int)",
        f"CREATE TABLE things ({', '.join(f'{n} {kind}' for n, (kind, _) in COLUMNS.items())}, PRIMARY KEY (id))",
    )
    assert told(node, unique) == COLUMNS
    events = told(node, unique, output="events")
    assert (events["key.id"], events["columns.tags"]) == (("int", TYPED), ("set<text>", LESS))
