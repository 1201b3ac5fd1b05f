"""Writes rows again after a crash or a freeze: those that are there are not bad, and no old one wins."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jdbc_sink_rows import TOPIC, SqliteTable, batch, put

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.testing.fakes import FakeSinkContext
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.sink import JdbcSinkConnector, JdbcSinkTask

PLACE = TopicPartition(TOPIC, 0)


def named(*pairs: tuple[int, str]) -> list[dict[str, Any]]:
    return [{"id": n, "name": name} for n, name in pairs]


@pytest.fixture
def table(tmp_path: Path) -> SqliteTable:
    made = SqliteTable(tmp_path)
    made.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT CHECK (name <> 'refused'))")
    return made


def begun(table: SqliteTable, ctx: FakeSinkContext | None = None, **settings: str) -> JdbcSinkTask:
    config = {**table.config(**settings), **EVERYWHERE}
    task = JdbcSinkConnector(JdbcSinkConfig.parse(config)).task(config)
    task.open(ctx or FakeSinkContext())
    task.assigned([PLACE])
    return task


def test_rows_of_an_earlier_try_are_done_and_others_are_bad(table: SqliteTable):
    rows = named((1, "a"), (2, "b"), (3, "refused"), (4, "d"), (1, "other"))
    first = begun(table)
    assert put(first, batch(rows)).keys() == {2, 4}
    first.close()
    again = begun(table)  # as after a crash before the offsets were committed, with reads of other sizes
    assert put(again, batch(rows[:3])).keys() == {2}
    assert put(again, batch([*rows[3:], *named((5, "e"))], first=3)).keys() == {1}
    assert put(again, batch(named((6, "f"), (7, "g")), first=6)) == {}
    assert put(again, batch(named((8, "h"), (7, "g")), first=8)).keys() == {1}, "by now it is a second record"
    again.revoked([PLACE])
    again.assigned([PLACE])
    assert put(again, batch(named((8, "h")), first=8)) == {}
    again.close()
    assert table.rows() == [(1, "a"), (2, "b"), (4, "d"), (5, "e"), (6, "f"), (7, "g"), (8, "h")]


def test_rows_without_a_schema_of_an_earlier_try_are_done_whatever_fields_they_lack(table: SqliteTable):
    table.run(f"ALTER TABLE {TOPIC} ADD COLUMN age INTEGER DEFAULT 7")
    rows = [{"id": 1, "name": "a"}, {"id": 2, "age": 5}, {"id": 3}]
    first = begun(table)
    assert put(first, batch(rows, schema=None)) == {}
    first.close()
    again = begun(table)
    assert put(again, batch([*rows, {"id": 2, "age": 6}], schema=None)).keys() == {3}
    again.close()
    assert table.rows("id, name, age") == [(1, "a", 7), (2, None, 5), (3, None, 7)]


def test_a_row_behind_a_delete_of_its_key_is_written_again(table: SqliteTable):
    settings = {"pk__mode": "record_key", "delete__enabled": "true"}
    given, keys = [*named((1, "a")), None, *named((1, "b"), (2, "c"))], [{"id": n} for n in (1, 1, 1, 2)]
    for _ in range(2):
        task = begun(table, **settings)
        assert put(task, batch(given, keys=keys)) == {}
        task.close()
    assert table.rows() == [(1, "b"), (2, "c")]


@pytest.mark.parametrize("settings", [{"insert__mode": "upsert"}, {"delete__enabled": "true"}], ids=["u", "d"])
def test_what_another_task_owns_by_now_is_not_committed(table: SqliteTable, settings):
    ctx = FakeSinkContext()
    task = begun(table, ctx, pk__mode="record_key", max__retries="0", **settings)
    put(task, batch(named((1, "mine"))))
    ctx.lost.add(PLACE)
    for _ in range(3):  # no try of `max.retries`: the task has not failed
        with pytest.raises(RetriableError, match="another task's"):
            put(task, batch(named((2, "old")), first=1))
    task.close()
    assert table.rows() == [(1, "mine")]


def test_records_that_are_alike_are_each_a_row_where_no_key_refuses_them(tmp_path: Path):
    table = SqliteTable(tmp_path)
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER, name TEXT UNIQUE CHECK (name <> 'refused'))")
    table.run(f"CREATE UNIQUE INDEX of_some ON {TOPIC} (id) WHERE name = 'x'")
    given = [{"id": 1, "name": None}, {"id": 2, "name": "b"}, *named((3, "refused"))]
    for _ in range(2):
        task = begun(table)
        assert put(task, batch(given)).keys() == {2}
        task.close()
    assert Counter(table.rows()) == {(1, None): 2, (2, "b"): 1}


def test_a_task_that_lost_its_partition_gives_up_no_row(table: SqliteTable):
    ctx = FakeSinkContext()
    task = begun(table, ctx)
    for n in (1, 2):  # rows are new from here on
        assert put(task, batch(named((n, "a")), first=n)) == {}
    table.run(f"INSERT INTO {TOPIC} VALUES (3, 'of the next owner')")
    ctx.lost.add(PLACE)
    with pytest.raises(RetriableError, match="another task's"):
        put(task, batch(named((3, "of the next owner")), first=3))
    task.close()
