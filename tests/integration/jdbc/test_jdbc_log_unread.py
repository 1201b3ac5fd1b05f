"""Checks that a table with a column whose values in the log are not read is left aside by name, on real servers."""

from __future__ import annotations

import pytest
from jdbc_log import log_run
from jdbc_server import Server

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline

UNREAD = {"mariadb": "VARCHAR(500) COMPRESSED", "mysql": "VECTOR(3)"}


@pytest.mark.parametrize("server", UNREAD, indirect=True)
def test_a_table_with_a_column_that_is_not_read_from_the_log_stops_no_other(server: Server):
    with server.engine.connect() as connection:
        if server.name == "mysql" and (connection.dialect.server_version_info or (0,)) < (9,):
            pytest.skip("VECTOR is of MySQL 9")
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, kind ENUM('COMPRESSED', 'vector'))",
        f"CREATE TABLE {{t}}_b (id INT PRIMARY KEY, far {UNREAD[server.name]})",
        "INSERT INTO {t} VALUES (1, 'vector')",
    )
    names = [server.table, f"{server.table}_b"]
    told = f"connect.{names[1]}: The log's values of far ("
    notes = server.connector(mode="log", table__whitelist=",".join(names)).check(Deadline.after(60))
    assert any("The log's values of far (" in note and names[1] in note for note in notes or ()), notes
    with log_run(server, *names) as run:
        run.open()
        run.until_events(1)
        server.run("INSERT INTO {t}_b (id) VALUES (1)", "INSERT INTO {t} VALUES (2, 'COMPRESSED')")
        run.until_events(2)
        assert told in str(run.store.explained)
        assert [value["after"]["id"] for _, _, value in run.events] == [1, 2]
    with pytest.raises(ConfigError, match="leave the table out of the filter"):
        server.connector(mode="log", table__whitelist=names[1]).check(Deadline.after(60))
