"""Checks that the loss of events, which MariaDB and MySQL write into their binary log, is told or mended."""

from __future__ import annotations

import struct

import pytest
from jdbc_log import log_run
from jdbc_server import Server

from connectors.jdbc.log.binlog.packets import INCIDENT, Event
from connectors.jdbc.log.mysql.stream import BinlogStream


def end_reading_of_logs(server: Server) -> None:
    """End each connection that reads the log."""
    found = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%%'"
    with server.engine.connect() as connection:
        numbers = connection.exec_driver_sql(found).scalars().all()
        assert numbers
        for number in numbers:
            connection.exec_driver_sql(f"KILL {number}")


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
@pytest.mark.parametrize("mode", ["initial", "when_needed"])
def test_events_that_the_server_has_lost_are_told_or_the_tables_read_anew(
    server: Server, mode: str, monkeypatch, caplog
):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    # Only builds for debugging write such an event at will. This is its form (LOST_EVENTS, and a text).
    body = struct.pack("<HB", 1, 9) + b"disk full"
    lost = [Event.of(struct.pack("<IBIIIH", 5, INCIDENT, 1, 19 + len(body), 0, 0) + body)]
    read = BinlogStream.next
    with log_run(server, snapshot__mode=mode) as run:
        run.open()
        run.until_events(1)
        monkeypatch.setattr(BinlogStream, "next", lambda stream, wait_s: lost.pop() if lost else read(stream, wait_s))
        run.until(lambda: "The server has lost events of its log (disk full)" in caplog.text)
        server.run("INSERT INTO {t} VALUES (2)")
        run.until_events(2 if mode == "initial" else 3)
        events = [(value["op"], value["after"]["id"]) for _, _, value in run.events]
        if mode == "initial":
            assert "changes are missing" in str(run.store.explained)
            assert events == [("r", 1), ("c", 2)]
            end_reading_of_logs(server)
            server.run("INSERT INTO {t} VALUES (3)")
            run.until_events(3)
            run.poll()
            assert "changes are missing" in str(run.store.explained), "a new connection does not bring them back"
        else:
            assert events[:2] == [("r", 1), ("r", 1)]
            assert events[2][1] == 2
