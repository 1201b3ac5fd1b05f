"""Checks that a copy has the writetimes and times to live of its original, cell by cell."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest
from cassandra_node import Node
from test_cassandra_sink import copy

from connect.api.records import Batch, Column
from connect.backfill.engines.local import LocalEngine
from connect.backfill.job.states import JobState
from connect.backfill.verify.verify import verify
from connect.lib.deadline import Deadline
from connect.tools.services import KafkaEndpoint
from connectors.cassandra.sink.config import CassandraSinkConfig
from connectors.cassandra.sink.writer import TableWriter, Writetimes

OLD_US = 1_600_000_000_000_000
ROWS = 60
# Of seconds that pass between the two readings, and of Cassandra's own rounding.
SLACK_S = 60


def written(node: Node, table: str, value: str, *, elements: bool) -> dict[tuple[int, int | None], dict[str, Any]]:
    """Each row with the writetimes and times to live of its cells; `value`: the name of column v."""
    cells = ["s", value, "w", "home", *(["tags"] if elements else [])]
    times = ", ".join(f"writetime({name}), ttl({name})" for name in cells)
    rows = node.json_rows(f"SELECT k, c, {', '.join(cells)}, {times} FROM {table}")
    return {(row["k"], row["c"]): {name.replace(value, "v") if name != "s" else name: v for name, v in row.items()}
            for row in rows}  # fmt: skip


@pytest.mark.parametrize("version", ["cassandra_node", pytest.param("old_node", marks=pytest.mark.chaos)])
def test_a_copy_has_each_cells_writetime_and_time_to_live(
    request: pytest.FixtureRequest, version: str, kafka: KafkaEndpoint, unique: str
) -> None:
    node: Node = request.getfixturevalue(version)
    target, is_new = f"{unique}_new", version == "cassandra_node"
    columns = "s text static, w int, home frozen<set<int>>, tags set<text>"
    node.keyspace(target)
    node.run(f"CREATE TABLE t (k int, c int, renamed text, chunk text, {columns}, PRIMARY KEY (k, c))")
    node.run("ALTER TABLE t WITH default_time_to_live = 500")
    node.keyspace(unique)
    node.run(f"CREATE TABLE t (k int, c int, v text, {columns}, PRIMARY KEY (k, c))")
    for i in range(ROWS):
        row = f"k = {i % 7} AND c = {i}"
        node.run(
            f"INSERT INTO t (k, c, v, home) VALUES ({i % 7}, {i}, 'v{i}', {{{i}}}) USING TIMESTAMP {OLD_US + i}",
            f"UPDATE t USING TIMESTAMP {OLD_US + 500 + i} AND TTL {5000 + i} SET w = {i} WHERE {row}",
            f"UPDATE t USING TIMESTAMP {OLD_US + 900 + i % 7} SET s = 's{i % 7}' WHERE k = {i % 7}",
            f"UPDATE t USING TIMESTAMP {OLD_US + 700 + i} AND TTL 7000 SET tags = tags + {{'a'}} WHERE {row}",
        )
    # Of the new table: what is newer than the copy stays, and a row that was deleted since does not come back.
    node.run(
        f"UPDATE {target}.t USING TIMESTAMP {OLD_US + 10_000} SET renamed = 'newer', w = 99 WHERE k = 0 AND c = 0",
        f"UPDATE {target}.t USING TIMESTAMP {OLD_US - 10} SET renamed = 'older' WHERE k = 1 AND c = 1",
        f"DELETE FROM {target}.t USING TIMESTAMP {OLD_US + 10_000} WHERE k = 2 AND c = 2",
    )
    source = {
        "keyspace": unique, "write.times": "true", "transforms": "rename",
        "transforms.rename.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.rename.renames": "v:renamed,writetime(v):writetime(renamed),ttl(v):ttl(renamed)",
    }  # fmt: skip
    with copy(kafka, node, unique, source, {"keyspace": target}) as driver:
        assert driver.run(LocalEngine(1, 2)).state is JobState.COPIED
        verdict = verify(driver)
    assert verdict.is_good, list(verdict.lines())
    before = written(node, f"{unique}.t", "v", elements=is_new)
    after = written(node, f"{target}.t", "renamed", elements=is_new)
    assert (len(before), len(after)) == (ROWS, ROWS), "a chunk's mark alone is left of the deleted row"
    assert after.pop((0, 0))["v"] == "newer"
    assert after.pop((2, 2))["v"] is None
    for key, row in after.items():
        for name, value in row.items():
            expected = before[key][name]
            if name.startswith("ttl("):
                assert _close(value, expected), (key, name, value, expected)
            else:
                assert value == expected, (key, name)
    assert all(row["ttl(v)"] is None and row["ttl(w)"] is not None for row in after.values())


def test_rows_that_are_written_twice_hold_what_they_held(cassandra_node: Node, unique: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, l list<int>, s set<int>, m map<int, int>)")
    values = {"l": [1, 2], "s": [1, 2], "m": {1: 2}}
    timed = {f"writetime({name})": OLD_US for name in values} | {f"ttl({name})": None for name in values}
    rows = [{"k": 1, **values}, {"k": 2, **values, **timed}]
    writer = TableWriter(CassandraSinkConfig.parse({**node.contact, "keyspace": unique}))
    with closing(writer):
        for _ in range(2):
            outcome = writer.write(Batch("t", Column.from_rows(rows, None)), Writetimes(), Deadline.after(60))
            assert not outcome.bad
    found = {row["k"]: row for row in node.json_rows("SELECT * FROM t")}
    assert found == {k: {"k": k, **values, "m": {"1": 2}} for k in (1, 2)}


def test_a_row_that_came_back_behind_its_tombstone_is_there(cassandra_node: Node, unique: str) -> None:
    node, deleted_ms = cassandra_node, OLD_US // 1000 + 100
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, v int, l list<int>)")

    def timed(k: int, value: int, at_us: int) -> dict[str, Any]:
        times = {f"{what}({name})": told for name in "vl" for what, told in (("writetime", at_us), ("ttl", None))}
        return {"k": k, "v": value, "l": [value], **times}

    before, after = OLD_US, OLD_US + 200_000
    values = [timed(1, 1, before), timed(2, 1, before), None, None, timed(1, 2, after)]
    keys = [{"k": k} for k in (1, 2, 1, 2, 1)]
    batch = Batch(
        "t", Column.from_rows(values, None), keys=Column.from_rows(keys, None),
        timestamps_ms=pa.array([deleted_ms] * len(keys), pa.int64()),
    )  # fmt: skip
    writer = TableWriter(CassandraSinkConfig.parse({**node.contact, "keyspace": unique, "delete.times": "record"}))
    with closing(writer):
        assert not writer.write(batch, Writetimes(), Deadline.after(60)).bad
    assert node.json_rows("SELECT k, v, l, writetime(v) FROM t") == [{"k": 1, "v": 2, "l": [2], "writetime(v)": after}]


def _close(one: Any, other: Any) -> bool:
    """Two times to live, or those of two collections' elements."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    return one is other is None or (one is not None and other is not None and abs(one - other) < SLACK_S)
