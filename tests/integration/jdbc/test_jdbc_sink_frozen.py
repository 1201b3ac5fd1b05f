"""A task is frozen in its transaction, another gets its partition: no old value wins, and no row of theirs is bad."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa
from jdbc_server import Server
from jdbc_sink_target import batch, made, opened, put, rows
from sqlalchemy import event

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.testing.fakes import FakeSinkContext
from connectors.jdbc.sink.sink import JdbcSinkTask

pytestmark = pytest.mark.integration
UPSERT = {"insert__mode": "upsert", "pk__mode": "record_key", "delete__enabled": "true"}
OLD = [(1, 1), (2, 1), 3]
NEW = [(1, 2), (2, 2), (3, 2)]


@pytest.fixture
def table(server: Server) -> Iterator[Server]:
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, v BIGINT)")
    yield server
    server.run("DROP TABLE {t}")


class Freezer:
    """Stops a task at an event of its database until it is thawed."""

    def __init__(self, task: JdbcSinkTask, at: str) -> None:
        self.reached, self.thawed = threading.Event(), threading.Event()
        engine: sa.Engine = task._database._link.engine
        event.listen(engine, at, self._freeze)

    def _freeze(self, *_: Any) -> None:
        self.reached.set()
        assert self.thawed.wait(60)


@pytest.mark.parametrize("settings", [UPSERT, UPSERT | {"exactly__once": "true"}], ids=["asked", "once"])
def test_an_old_value_never_replaces_a_newer_one(table: Server, settings):
    ctx = FakeSinkContext()
    frozen, place = made(table, ctx, **settings), TopicPartition(table.table, 0)
    assert put(frozen, batch(table, [(3, 0)])) == {}
    freezer = Freezer(frozen, "begin")
    with ThreadPoolExecutor(1) as pool, opened(table, **settings) as owner:
        late = pool.submit(put, frozen, batch(table, OLD, 1))
        assert freezer.reached.wait(30)
        ctx.lost.add(place)
        put(owner, batch(table, OLD, 1))
        put(owner, batch(table, NEW, 4))
        freezer.thawed.set()
        refused = late.exception(60)
    assert isinstance(refused, RetriableError) == (settings == UPSERT), refused
    frozen.close()
    assert rows(table) == NEW


def test_rows_that_another_task_wrote_meanwhile_are_not_bad(table: Server):
    pairs = [(n, n % 7 or None) for n in range(1000)]
    with opened(table, insert__mode="insert") as task:
        put(task, batch(table, pairs[:700]))
    with opened(table, insert__mode="insert") as task:
        assert put(task, batch(table, [*pairs, (5, 6)])).keys() == {1000}
    assert rows(table) == pairs


def test_values_of_other_types_that_are_there_are_not_bad(server: Server):
    kind = "DOUBLE PRECISION" if server.name == "postgres" else "FLOAT"
    server.run(f"CREATE TABLE {{t}} (id BIGINT PRIMARY KEY, v {kind})")
    for _ in range(2):
        with opened(server, insert__mode="insert") as task:
            assert put(task, batch(server, [(1, 5), (2, None), (3, 16777217)])) == {}
    assert len(rows(server)) == 3
