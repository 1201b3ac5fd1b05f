"""Checks the record keys of mode=log on real servers: the columns and their order are Debezium's."""

from __future__ import annotations

import pytest
from jdbc_log import log_run

postgres_only = pytest.mark.parametrize("server", ["postgres"], indirect=True)


def _keys(run) -> list[list[tuple[str, object]]]:
    return [list(key.items()) for _, key, _ in run.events]


def test_a_composite_key_has_the_order_of_the_primary_key_in_the_first_read_and_the_log(server):
    server.run(
        "CREATE TABLE {t} (id INT NOT NULL, part VARCHAR(5) NOT NULL, n INT, PRIMARY KEY (part, id))",
        "INSERT INTO {t} VALUES (1, 'a', 5)",
    )
    with log_run(server) as run:
        run.open()
        run.until_events(1)
        server.run("INSERT INTO {t} VALUES (2, 'a', 5)", "DELETE FROM {t} WHERE id = 2")
        run.until_events(4)
        one, two = ([("part", "a"), ("id", number)] for number in (1, 2))
        assert _keys(run) == [one, two, two, two]


def test_the_first_unique_index_without_nulls_stands_for_a_primary_key_that_is_not_there(server):
    server.run(
        "CREATE TABLE {t} (n INT, b INT NOT NULL, a INT NOT NULL)",
        "CREATE UNIQUE INDEX {t}_1 ON {t} (n)",
        "CREATE UNIQUE INDEX {t}_2 ON {t} (a, b)",
        "CREATE UNIQUE INDEX {t}_3 ON {t} (b)",
        "INSERT INTO {t} VALUES (NULL, 1, 2), (NULL, 2, 3)",
    )
    if server.name == "postgres":
        server.run("ALTER TABLE {t} REPLICA IDENTITY FULL")
    with log_run(server) as run:
        run.open()
        run.until_events(2)
        server.run("DELETE FROM {t} WHERE b = 1")
        run.until_events(4)
        first, second = [("a", 2), ("b", 1)], [("a", 3), ("b", 2)]
        assert _keys(run) == [first, second, first, first]
        assert run.events[3][2] is None


@postgres_only
def test_columns_beside_a_key_are_none_of_it_and_a_replica_identity_by_index_is_one(server):
    server.run(
        "CREATE TABLE {t} (b INT NOT NULL, a INT NOT NULL, id INT, PRIMARY KEY (id) INCLUDE (a))",
        "CREATE UNIQUE INDEX {t}_ab ON {t} (a, b)",
        "INSERT INTO {t} VALUES (1, 2, 3)",
    )
    with log_run(server) as run:
        run.open()
        run.until_events(1)
        server.run("UPDATE {t} SET b = 7")
        run.until_events(2)
        server.run("ALTER TABLE {t} REPLICA IDENTITY USING INDEX {t}_ab", "DELETE FROM {t}")
        run.until_events(4)
        by_id, by_index = [("id", 3)], [("a", 2), ("b", 7)]
        assert _keys(run) == [by_id, by_id, by_index, by_index]
