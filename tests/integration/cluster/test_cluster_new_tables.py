"""Checks that a worker follows a database whose tables come and go while it runs the connector over them."""

import sqlite3
from contextlib import closing

from cluster_worker import eventually
from kafka_records import values


def run_sql(path, *statements):
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def made(table):
    return f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)", f"INSERT INTO {table} VALUES (1)"


def test_new_tables_are_read_and_dropped_ones_forgotten_without_a_restart(worker, kafka, unique, tmp_path):
    path = tmp_path / "shop.db"
    run_sql(path, *made("a"), *made("b"))
    config = {
        "name": unique,
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": f"jdbc:sqlite:{path}",
        "mode": "incrementing",
        "table.include.list": ".*",
        "topic.prefix": f"{unique}-",
        "table.poll.interval.ms": "1000",
        "poll.interval.ms": "100",
        "tasks.max": "2",
    }
    assert worker.call("PUT", f"/connectors/{unique}/config", config).status_code == 201

    def read(table):
        return [row["id"] for row in values(kafka, f"{unique}-{table}")]

    def tables():
        return [task["config"]["tables"] for task in worker.get(f"/connectors/{unique}/tasks")]

    eventually(lambda: read("a") == read("b") == [1])

    run_sql(path, *made("c"))
    eventually(lambda: read("c") == [1])
    eventually(worker.runs(unique))

    run_sql(path, "DROP TABLE a")
    eventually(lambda: tables() == ['"b"', '"c"'])
    eventually(worker.runs(unique))
    run_sql(path, "INSERT INTO b VALUES (2)", "INSERT INTO c VALUES (2)")
    eventually(lambda: read("b") == read("c") == [1, 2])
