"""Rows of MariaDB that come in several packets are read as they are, by each reader."""

from __future__ import annotations

from hashlib import md5

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_server import Server

from connectors.jdbc.dialects.mysql import arrow as mysql_arrow

PACKET = 0xFFFFFF
SIZES = [10, 20_000_000, 3, PACKET - 10, PACKET - 9, PACKET - 8, 2 * PACKET + 5, 7]
"""A number, its length and the bits that say what is NULL make packets that are just full, or not quite."""


def _large(server: Server) -> None:
    with server.engine.connect() as connection:
        before = connection.exec_driver_sql("SELECT @@global.max_allowed_packet").scalar()
        connection.exec_driver_sql("SET GLOBAL max_allowed_packet = 268435456")
    server.engine.dispose()
    try:
        server.run("CREATE TABLE {t} (first LONGTEXT, id INT PRIMARY KEY, last LONGTEXT)")
        for number, size in enumerate(SIZES):
            column = "first" if number % 2 else "last"
            server.run(f"INSERT INTO {{t}} (id, {column}) VALUES ({number}, repeat('{number % 10}', {size}))")
    finally:
        with server.engine.connect() as connection:
            connection.exec_driver_sql(f"SET GLOBAL max_allowed_packet = {before}")
        server.engine.dispose()


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
@pytest.mark.parametrize("reader", ["native", pytest.param("python", marks=pytest.mark.chaos)])
def test_rows_of_more_than_a_packet_come_whole(server: Server, reader: str, monkeypatch: pytest.MonkeyPatch):
    _large(server)
    if reader == "python":
        monkeypatch.setattr(mysql_arrow, "module", lambda: None)
    task = server.opened(OffsetStore(), mode="bulk", poll__interval__ms=600_000)
    read = {}
    for batch in batches(task, OffsetStore(), quiet_s=5):
        for row in rows([batch]):
            text = row["first"] or row["last"]
            read[row["id"]] = (len(text), md5(text.encode(), usedforsecurity=False).hexdigest())
    task.close()
    assert read == {
        number: (size, md5(str(number % 10).encode() * size, usedforsecurity=False).hexdigest())
        for number, size in enumerate(SIZES)
    }
