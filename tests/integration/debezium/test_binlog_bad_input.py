"""What keeps Debezium's MySQL and MariaDB connectors from reading is told, each with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from binlog_servers import BinlogServer, binlog_server
from debezium_ours import OurRun

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connectors.jdbc.log.mysql.stream import PositionLostError

pytestmark = pytest.mark.timeout(300)
Found = Mapping[str, Sequence[Any]]
ROWS = ("CREATE DATABASE shop", "CREATE TABLE shop.orders (id int PRIMARY KEY)", "INSERT INTO shop.orders VALUES (1)")


@pytest.fixture(params=["mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> Iterator[BinlogServer]:
    with binlog_server(request.param) as running:
        running.run(*ROWS)
        yield running


def _run(server: BinlogServer, offsets: Mapping[str, Mapping[str, object]] | None = None, **settings: str) -> OurRun:
    return OurRun(server.config("bad", **{"database.include.list": "shop", **settings}), offsets)


def _has(rows: int) -> Callable[[Found], bool]:
    return lambda found: len(found.get("shop.orders", ())) >= rows


def _followed(server: BinlogServer) -> dict[str, Mapping[str, object]]:
    """Return the offsets of a connector that has read a row of the log."""
    run = _run(server)
    run.until_true(_has(1))
    server.run("INSERT INTO shop.orders VALUES (2)")
    run.until_true(_has(2))
    run.close()
    return run.offsets


def _purge(server: BinlogServer) -> None:
    server.run("INSERT INTO shop.orders VALUES (3)", "FLUSH BINARY LOGS", "INSERT INTO shop.orders VALUES (4)")
    newest = _logs(server)[-1]
    deadline = Deadline.after(60)
    # A server keeps a log, with a warning alone, until the thread that sent it has found that its reader is gone.
    server.run(f"PURGE BINARY LOGS TO '{newest}'")
    while len(_logs(server)) > 1:
        assert deadline.wait(0.1), _logs(server)
        server.run(f"PURGE BINARY LOGS TO '{newest}'")


def _logs(server: BinlogServer) -> list[str]:
    with server.session.cursor() as cursor:
        cursor.execute("SHOW BINARY LOGS")
        return [row[0] for row in cursor.fetchall()]


def test_a_place_in_a_log_that_is_purged_is_told_or_read_anew(server: BinlogServer) -> None:
    offsets = _followed(server)
    _purge(server)
    stopped = _run(server, offsets)
    with pytest.raises(PositionLostError, match="cannot be read") as caught:
        stopped.until_true(_has(1))
    stopped.close()
    assert "snapshot.mode=when_needed" in (caught.value.fix or "")
    anew = _run(server, offsets, **{"snapshot.mode": "when_needed"})
    found = anew.until_true(_has(4))
    anew.close()
    payloads = [record["value"]["payload"] for record in found["shop.orders"]]
    assert [(payload["op"], payload["after"]["id"]) for payload in payloads] == [("r", n) for n in range(1, 5)]


def test_offsets_of_another_server_are_told(server: BinlogServer) -> None:
    offsets = _followed(server)
    with binlog_server(server.kind) as other:
        other.run(*ROWS)
        run = _run(other, offsets)
        with pytest.raises(PositionLostError) as caught:
            run.until_true(_has(1))
        run.close()
    assert "eset the connector's offsets" in (caught.value.fix or "")


def test_a_log_that_leaves_columns_out_is_refused_before_it_is_read(server: BinlogServer) -> None:
    server.run("SET GLOBAL binlog_row_image = MINIMAL")
    with pytest.raises(ConfigError) as caught:
        _run(server)
    (problem,) = caught.value.problems
    assert problem.key == "database.hostname"
    assert "binlog_row_image=FULL" in problem.message
