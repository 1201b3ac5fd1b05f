"""With snapshot.mode=never the log of MariaDB and MySQL is read from where it begins, as Debezium 1 and 2 read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from binlog_servers import binlog_server
from debezium_ours import OurRun

from connectors.jdbc.log.binlog.position import BinlogPosition
from connectors.jdbc.log.mysql.stream import BinlogStream

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL"])
def test_the_log_is_read_from_its_beginning(kind: str, metadata: str) -> None:
    with binlog_server(kind, metadata) as server:
        server.run(
            *("CREATE DATABASE shop", "CREATE TABLE shop.orders (id int PRIMARY KEY)"),
            *("INSERT INTO shop.orders VALUES (1)", "FLUSH BINARY LOGS", "INSERT INTO shop.orders VALUES (2)"),
        )
        config = server.config("whole", **{"database.include.list": "shop", "snapshot.mode": "never"})
        run = OurRun(config)
        run.until_true(lambda found: len(_ids(found)) >= 2)
        run.close()
        server.run("INSERT INTO shop.orders VALUES (3)")
        again = OurRun(config, run.offsets)
        found = again.until_true(lambda found: 3 in _ids(found))
        again.close()
    assert _ids(run.found) == [1, 2]
    assert _ids(found) == [3]
    assert {record["value"]["payload"]["op"] for record in (*run.found["shop.orders"], *found["shop.orders"])} == {"c"}


def test_the_log_is_looked_through_once_and_not_for_each_table(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    start = BinlogStream.start

    def counted(self: BinlogStream, position: BinlogPosition, *, mariadb: bool) -> None:
        begun.append(position.pos)
        start(self, position, mariadb=mariadb)

    monkeypatch.setattr(BinlogStream, "start", counted)
    names = [f"t{number}" for number in range(8)]
    with binlog_server("mariadb", "MINIMAL") as server:
        server.run(
            "CREATE DATABASE shop",
            *(f"CREATE TABLE shop.{name} (id int PRIMARY KEY)" for name in names),
            "FLUSH BINARY LOGS",
            *(f"INSERT INTO shop.{name} VALUES (1)" for name in names),
        )
        run = OurRun(server.config("looked", **{"database.include.list": "shop", "snapshot.mode": "never"}))
        run.until_true(lambda found: all(found.get(f"shop.{name}") for name in names))
        run.close()
    assert len(begun) <= 3


def _ids(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[int]:
    return [record["value"]["payload"]["after"]["id"] for record in found.get("shop.orders", ())]
