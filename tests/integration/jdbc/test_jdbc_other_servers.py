"""Names several MariaDB servers in one URL: queries and the log use the first one that is there."""

from __future__ import annotations

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import log_run
from jdbc_server import Server

from connect.tools.services.process.ports import free_ports

pytestmark = pytest.mark.parametrize("server", ["mariadb"], indirect=True)


def _url(server: Server, way: str = "") -> str:
    e = server.endpoint
    nobody = free_ports(1)[0]
    return f"jdbc:mariadb:{way}//{e.host}:{nobody},{e.host}:{e.port}/{e.database}"


@pytest.mark.parametrize("reader", ["auto", "generic"])
@pytest.mark.parametrize("way", ["", "sequential:", "replication:"])
def test_the_next_server_is_taken_where_the_first_is_not_there(server: Server, way: str, reader: str):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1), (2)")
    store = OffsetStore()
    task = server.opened(store, mode="bulk", reader=reader, connection__url=_url(server, way))
    assert [row["id"] for row in rows(batches(task, store, at_most=1))] == [1, 2]
    task.close()


def test_the_log_is_read_from_the_next_server(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    with log_run(server, connection__url=_url(server)) as run:
        run.open()
        run.until_events(1)
        server.run("INSERT INTO {t} VALUES (2)")
        assert [value["after"]["id"] for _, _, value in run.until_events(2)] == [1, 2]
