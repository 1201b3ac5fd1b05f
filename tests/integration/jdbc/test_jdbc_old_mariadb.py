"""A MariaDB whose handshake says 5.5.5-10.x keeps its microseconds: no driver may take it for a MySQL 5.5."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_old_handshake import VERSION, OldHandshake
from jdbc_server import Server

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.parametrize("server", ["mariadb"], indirect=True)
MODE = {"mode": "timestamp", "timestamp__column__name": "ts", "timestamp__granularity": "micros_long"}


@pytest.fixture
def old(server: Server) -> Iterator[Server]:
    with OldHandshake(server.endpoint.port) as relay:
        yield replace(server, endpoint=replace(server.endpoint, port=relay.port))


@pytest.mark.parametrize("kind", ["TIMESTAMP(6)", "DATETIME(6)"])
@pytest.mark.parametrize("reader", ["auto", "generic"])
def test_rows_a_microsecond_apart_are_each_read_once(old: Server, kind: str, reader: str) -> None:
    old.run(f"CREATE TABLE {{t}} (id INT NOT NULL PRIMARY KEY, ts {kind} NOT NULL)")
    values = ",".join(f"({i}, '2024-01-01 00:00:00.{123456 + i}')" for i in range(9))
    old.run(f"INSERT INTO {{t}} VALUES {values}")
    store, read = OffsetStore(), []
    while True:
        task = old.opened(store, **MODE, reader=reader, batch__max__rows=2)
        found = rows(batches(task, store, at_most=1))
        task.close()
        if not found:
            break
        read += found
    assert [r["id"] for r in read] == list(range(9))
    assert [r["ts"] % 1_000_000 for r in read] == [123456 + i for i in range(9)]
    task = old.opened(store, **MODE, reader=reader)
    old.run("INSERT INTO {t} VALUES (9, '2024-01-01 00:00:00.123465')")
    deadline, new = Deadline.after(60), []
    while not new and deadline.wait(0.02):
        new = rows(batches(task, store))
    task.close()
    assert [r["id"] for r in new] == [9]


def test_the_relay_shows_the_driver_an_old_server(old: Server) -> None:
    import pymysql

    e = old.endpoint
    with pymysql.connect(host=e.host, port=e.port, user=e.user, password=e.password or "") as connection:
        assert connection.server_version == VERSION.decode()


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("ends", ["the task", "the connection"])
def test_a_streamed_result_that_is_not_read_to_its_end_is_let_go_of_in_silence(
    server: Server, ends: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.run(
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, name TEXT)",
        "INSERT INTO {t} SELECT seq, repeat('x', 500) FROM seq_1_to_40000",
    )
    with OldHandshake(server.endpoint.port) as relay:
        old = replace(server, endpoint=replace(server.endpoint, port=relay.port))
        task = old.opened(OffsetStore(), mode="bulk", reader="generic", batch__max__rows=1000)
        assert len(rows(batches(task, OffsetStore(), at_most=1))) == 1000
        if ends == "the connection":
            relay.close()
            with pytest.raises(RetriableError):
                batches(task, OffsetStore())
        task.close()
    del task
    gc.collect()
    assert "closing cursor" not in caplog.text
