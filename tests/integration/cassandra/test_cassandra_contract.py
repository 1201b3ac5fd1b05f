"""The Cassandra source keeps the contract of sources; the table is filled and read by the driver alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from cassandra_node import Node
from server_relay import ServerRelay

from connect.api.records import Record
from connect.testing.drivers import Row
from connect.testing.source import SourceSuite
from connect.tools.services.process.ports import free_ports
from connectors.cassandra.cql.session import Database
from connectors.cassandra.plugin import SOURCE
from connectors.cassandra.source import task
from connectors.cassandra.source.config import CassandraTaskConfig

KEYSPACE, TABLE, OTHER_TABLE = "contract", "rows", "others"
COLUMNS = ("tie", "id", "text", "whole", "number")


class NewRows:
    """Tables read by the time at which their rows were written. The connector reaches the node by the relay alone."""

    def __init__(self, node: Node, relay: ServerRelay) -> None:
        self._node = node
        self._relay = relay
        node.keyspace(KEYSPACE)
        for table in (TABLE, OTHER_TABLE):
            node.run(
                f"CREATE TABLE {table} (tie bigint, id bigint, text text, whole bigint, number double, at timestamp, "
                "PRIMARY KEY (tie, id))"
            )
        self._added = False

    def config(self) -> Mapping[str, str]:
        return {
            **self._node.contact, "port": str(self._relay.port), "keyspace": KEYSPACE, "tables": TABLE,
            "mode": "timestamp", "incremental.columns": "at", "settle.time.ms": "300", "poll.interval.ms": "50",
            "fetch.size": "3", "table.splits": "4", "read.timeout.ms": "3000", "connect.timeout.ms": "10000",
        }  # fmt: skip

    def reset(self) -> None:
        for table in (TABLE, OTHER_TABLE):
            for row in self._rows(table):
                self._node.run(f"DELETE FROM {table} WHERE tie = {row['tie']}")

    def insert(self, rows: Sequence[Row]) -> None:
        self._insert(TABLE, rows, {"added": "'added'"} if self._added else {})

    def expected(self) -> Sequence[Row]:
        return self._rows(TABLE)

    def row_of(self, record: Record) -> Row:
        return {name: record.value[name] for name in COLUMNS}

    def topics_config(self) -> Mapping[str, str]:
        return {**self.config(), "tables": f"{TABLE},{OTHER_TABLE}"}

    def insert_other(self, rows: Sequence[Row]) -> None:
        self._insert(OTHER_TABLE, rows, {})

    def add_column(self) -> None:
        self._node.run(f"ALTER TABLE {TABLE} ADD added text")
        self._added = True

    def drop_column(self) -> None:
        self._node.run(f"ALTER TABLE {TABLE} DROP added")
        self._added = False

    def break_connection(self) -> None:
        self._relay.cut()

    def heal(self) -> None:
        self._relay.start()

    def _insert(self, table: str, rows: Sequence[Row], more: Mapping[str, str]) -> None:
        names, values = (*COLUMNS, "at", *more), (*("?" for _ in COLUMNS), "toTimestamp(now())", *more.values())
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(values)})"
        prepared = self._node.session.prepare(statement)
        for row in rows:
            self._node.session.execute(prepared, [row[name] for name in COLUMNS])

    def _rows(self, table: str) -> Sequence[Row]:
        return list(self._node.session.execute(f"SELECT {', '.join(COLUMNS)} FROM {table}"))


@pytest.fixture(scope="module")
def new_rows(cassandra_node: Node) -> Iterator[NewRows]:
    relay = ServerRelay(*free_ports(1), cassandra_node.endpoint.port)
    relay.start()
    try:
        yield NewRows(cassandra_node, relay)
    finally:
        relay.cut()
        cassandra_node.run(f"DROP KEYSPACE {KEYSPACE}")


@pytest.fixture(autouse=True)
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that crashes takes its connections along; those of tasks that are dropped here are closed behind it."""
    made: list[Database] = []

    class Kept(Database):
        def __init__(self, config: CassandraTaskConfig) -> None:
            super().__init__(config)
            made.append(self)

    monkeypatch.setattr(task, "Database", Kept)
    yield
    for database in made:
        database.close()


class TestCassandraSource(SourceSuite):
    """Declared as exactly once."""

    plugin = SOURCE
    patience_s: ClassVar[float] = 40.0

    @pytest.fixture
    def driver(self, new_rows: NewRows) -> Any:
        return new_rows
