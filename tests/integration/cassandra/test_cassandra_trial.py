"""Checks what `connect poc` tries a Cassandra sink on: a keyspace apart that is made, written, read back and
dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from cassandra_node import Node
from cassandra_tables import EVERY_TYPE

from connect.api.errors import ConfigError
from connect.api.records import Batch, Column
from connect.lib.deadline import Deadline
from connectors.cassandra.sink.config import CassandraSinkConfig
from connectors.cassandra.sink.sink import CassandraSinkConnector
from connectors.cassandra.sink.writer import TableWriter, Writetimes

VECTORS = "embedding vector<float, 3>, words vector<text, 2>, "
"""Types of Cassandra 5."""


def columns(node: Node, keyspace: str) -> list[Mapping[str, Any]]:
    rows = node.session.execute("SELECT * FROM system_schema.columns WHERE keyspace_name = %s", (keyspace,))
    return [{name: row[name] for name in ("table_name", "column_name", "kind", "position", "type")} for row in rows]


@pytest.mark.parametrize("version", ["cassandra_node", pytest.param("old_node", marks=pytest.mark.chaos)])
def test_a_trial_has_tables_like_the_real_ones_and_leaves_nothing(
    version: str, request: pytest.FixtureRequest, unique: str
) -> None:
    node: Node = request.getfixturevalue(version)
    node.keyspace(unique)
    node.run(*(text if version == "cassandra_node" else text.replace(VECTORS, "") for text in EVERY_TYPE))
    node.run("CREATE TABLE people (city text, id int, name text, note text static, PRIMARY KEY (city, id))")
    node.run("INSERT INTO people (city, id, name) VALUES ('real', 1, 'stays')")
    given = {**node.contact, "keyspace": unique, "topics": f"{unique}.people,{unique}.orders"}
    sink = CassandraSinkConnector(CassandraSinkConfig.parse(given))
    target = sink.trial_target(f"{unique}-1")
    target.make(Deadline.after(60))
    apart = target.settings["keyspace"]
    assert columns(node, apart) == columns(node, unique)
    if version == "cassandra_node":
        options = node.session.execute("SELECT * FROM system_schema.tables WHERE keyspace_name = %s", (apart,))
        assert {row["allow_auto_snapshot"] for row in options} == {False}, "no snapshot stays on the node's disk"
    people = [{"city": "a", "id": i, "name": f"n{i}"} for i in range(50)]
    writer = TableWriter(CassandraSinkConfig.parse({**given, **target.settings}))
    for _ in range(2):
        writer.write(Batch(f"{unique}.people", Column.from_rows(people, None)), Writetimes(), Deadline.after(60))
    writer.close()
    types = target.column_types(Deadline.after(60))
    assert {name: kind for name, kind in types.items() if name.startswith("people.")} == {
        "people.city": "text", "people.id": "int", "people.name": "text", "people.note": "text",
    }  # fmt: skip
    rows = list(target.rows(Deadline.after(60)))
    assert len(rows) == len(set(rows)) == 50
    assert b'people {"city": "a", "id": 7, "note": null, "name": "n7"}' in rows
    target.remove(Deadline.after(60))
    target.remove(Deadline.after(60))
    assert columns(node, apart) == []
    assert [row["name"] for row in node.json_rows(f"SELECT * FROM {unique}.people")] == ["stays"]


def test_a_topic_without_a_table_is_told_before_anything_is_made(cassandra_node: Node, unique: str) -> None:
    cassandra_node.keyspace(unique)
    cassandra_node.run("CREATE TABLE people (id int PRIMARY KEY)")
    given = {**cassandra_node.contact, "keyspace": unique, "topics": "a.peple"}
    target = CassandraSinkConnector(CassandraSinkConfig.parse(given)).trial_target(f"{unique}-1")
    with pytest.raises(ConfigError, match=r"has no table peple .* It has: people"):
        target.make(Deadline.after(60))
    made = cassandra_node.session.execute("SELECT keyspace_name FROM system_schema.keyspaces")
    assert f"{unique}_1" not in {row["keyspace_name"] for row in made}
    target.remove(Deadline.after(60))
