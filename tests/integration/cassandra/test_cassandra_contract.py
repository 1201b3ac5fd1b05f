"""The Cassandra source keeps the contract of sources; the table is filled and read by the driver alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from cassandra_node import Node

from connect.api.records import Record
from connect.testing.drivers import Row
from connect.testing.source import SourceSuite
from connectors.cassandra.plugin import SOURCE

KEYSPACE = "contract"


class NewRows:
    """A table read by the time at which its rows were written."""

    def __init__(self, node: Node) -> None:
        self._node = node
        node.keyspace(KEYSPACE)
        node.run(
            "CREATE TABLE rows (tie bigint, id bigint, text text, whole bigint, number double, at timestamp, "
            "PRIMARY KEY (tie, id))"
        )
        self._insert = node.session.prepare(
            "INSERT INTO rows (tie, id, text, whole, number, at) VALUES (?, ?, ?, ?, ?, toTimestamp(now()))"
        )

    def config(self) -> Mapping[str, str]:
        return {
            **self._node.contact, "keyspace": KEYSPACE, "tables": "rows", "mode": "timestamp",
            "incremental.columns": "at", "settle.time.ms": "50", "poll.interval.ms": "50", "fetch.size": "3",
            "table.splits": "4",
        }  # fmt: skip

    def reset(self) -> None:
        for row in self.expected():
            self._node.run(f"DELETE FROM rows WHERE tie = {row['tie']}")

    def insert(self, rows: Sequence[Row]) -> None:
        for row in rows:
            values = [row[name] for name in ("tie", "id", "text", "whole", "number")]
            self._node.session.execute(self._insert, values)

    def expected(self) -> Sequence[Row]:
        return list(self._node.session.execute("SELECT id, tie, text, whole, number FROM rows"))

    def row_of(self, record: Record) -> Row:
        return {name: value for name, value in record.value.items() if name != "at"}


@pytest.fixture(scope="module")
def new_rows(cassandra_node: Node) -> Iterator[NewRows]:
    yield NewRows(cassandra_node)
    cassandra_node.run(f"DROP KEYSPACE {KEYSPACE}")


class TestCassandraSource(SourceSuite):
    """Declared as exactly once."""

    plugin = SOURCE
    patience_s: ClassVar[float] = 40.0

    @pytest.fixture
    def driver(self, new_rows: NewRows) -> Any:
        return new_rows
