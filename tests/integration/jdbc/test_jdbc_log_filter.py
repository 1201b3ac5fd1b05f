"""A table that leaves the filter while a transaction is half delivered takes no row of another table with it."""

from __future__ import annotations

import json

import pytest
from jdbc_log import log_run
from jdbc_server import FULL, Server

ROWS = 300


@pytest.mark.parametrize("server", ["mariadb", "mysql"], indirect=True)
def test_rows_of_a_table_come_once_where_another_one_left_the_filter_within_their_transaction(server: Server) -> None:
    one, two = f"{server.table}_one", f"{server.table}_two"
    server.run(*(f"CREATE TABLE {table} (id INT PRIMARY KEY, v TEXT)" for table in (one, two)))
    with log_run(server, one, two, max__batch__size=130) as run:
        run.open()
        run.until(lambda: run.batches)
        with server.engine.begin() as connection:
            for page in range(4):
                for table in (one, two):
                    rows = ", ".join(f"({ROWS * page + i}, repeat('x', 1000))" for i in range(1, ROWS + 1))
                    connection.exec_driver_sql(f"INSERT INTO {table} VALUES {rows}")

        def is_within() -> bool:
            ahead = json.loads(run.batches[-1].position.offset.get("ahead") or "{}")
            return any(name.endswith(two) for name in ahead) and len(run.events) > 3 * ROWS

        run.until(is_within)
        told = sum(topic == run.topic(two) for topic, _, _ in run.events)
        assert 0 < told < 4 * ROWS
        run.close()
        run.open(table__whitelist=FULL[server.name].format(two))
        server.run(f"INSERT INTO {two} VALUES (9999, 'end')")
        run.until(lambda: run.events[-1][1] == {"id": 9999})
        ids = [key["id"] for topic, key, _ in run.events if topic == run.topic(two)]
        assert ids == [*range(1, 4 * ROWS + 1), 9999]
