"""Writes rows into tables that change, and values that no column can hold, on a real node."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from typing import Any

import pyarrow as pa
from cassandra_node import Node

from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connectors.cassandra.sink.config import CassandraSinkConfig
from connectors.cassandra.sink.writer import Outcome, TableWriter, Writetimes


def written(writer: TableWriter, *rows: dict[str, Any]) -> Outcome:
    return writer.write(Batch("t", Column.from_rows(list(rows), None)), Writetimes(), Deadline.after(60))


def test_a_column_that_was_added_while_the_sink_runs_is_written(cassandra_node: Node, unique: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, v int)")
    with closing(TableWriter(CassandraSinkConfig.parse({**node.contact, "keyspace": unique}))) as writer:
        assert not written(writer, {"k": 1, "v": 1}).bad
        assert [*written(writer, {"k": 2, "v": 2, "more": 2}).bad] == [0], "the table has no such column"
        node.run("ALTER TABLE t ADD more int")
        # The first row of the batch has the columns that the writer knows.
        outcome = written(writer, {"k": 3, "v": 3}, {"k": 4, "v": 4, "more": 4}, {"k": 5, "v": 5, "other": 5})
        assert ([*outcome.bad], outcome.rows) == ([2], 2)
    found = {row["k"]: row["more"] for row in node.json_rows("SELECT k, more FROM t")}
    assert found == {1: None, 3: None, 4: 4}


def test_a_value_that_the_driver_cannot_send_is_a_bad_row_and_the_others_are_written(
    cassandra_node: Node, unique: str
) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, a ascii, f float, d decimal, n list<int>, s list<text>)")
    with closing(TableWriter(CassandraSinkConfig.parse({**node.contact, "keyspace": unique}))) as writer:
        outcome = written(
            writer, {"k": 1, "a": "é"}, {"k": 2, "a": "e"}, {"k": 3, "f": 1e300}, {"k": 4, "d": Decimal("NaN")},
            {"k": 5, "n": [1, None]}, {"k": 6, "s": ["a", None]}, {"k": 7, "f": 0.5},
        )  # fmt: skip
    assert ([*outcome.bad], outcome.rows) == ([0, 2, 3, 4, 5], 2)
    assert "Field 'a'" in str(outcome.bad[0])
    found = {row["k"]: (row["a"], row["f"]) for row in node.json_rows("SELECT k, a, f FROM t")}
    assert found == {2: ("e", None), 7: (None, 0.5)}


def test_a_row_that_would_replace_another_one_of_its_record_is_bad(cassandra_node: Node, unique: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int, c int, v int, s int static, PRIMARY KEY (k, c))")
    rows = [(1, 1, 1), (1, 1, 2), (1, 1, 3), (1, 2, 4), (1, None, None)]
    values = Column.from_rows([{"k": k, "c": c, "v": v, "s": 9} for k, c, v in rows], None)
    offsets, numbers = pa.array([3, 4, 4, 4, 4]), pa.array([0, 1, 2, 3, 4])
    consumed = Consumed(TopicPartition("t", 0), offsets, 5, row_numbers=numbers)
    with closing(TableWriter(CassandraSinkConfig.parse({**node.contact, "keyspace": unique}))) as writer:
        outcome = writer.write(Batch("t", values, consumed=consumed), Writetimes(), Deadline.after(60))
    assert ([*outcome.bad], outcome.rows) == ([2], 3)
    assert {(row["c"], row["v"]) for row in node.json_rows("SELECT c, v FROM t")} == {(1, 2), (2, 4)}
