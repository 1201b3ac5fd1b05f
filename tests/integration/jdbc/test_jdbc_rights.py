"""Checks what an evaluation says of a user's rights and of its cursor, on real servers: each statement it gives mends
it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jdbc_log import LogRun, log_run
from jdbc_server import Server
from test_jdbc_faults import cut_off

from connect.api.errors import ConfigError, RetriableError
from connect.api.optional.findings import Aspect, Finding, Weight
from connect.lib.deadline import Deadline

PASSWORD = "hunter-2222"
BY_ID = {"mode": "incrementing", "incrementing__column__name": "id"}
BY_TIME = {"mode": "timestamp", "timestamp__column__name": "ts", "validate__non__null": "false"}
TABLE = "CREATE TABLE {t} (id BIGINT PRIMARY KEY, ts TIMESTAMP(3) NULL)"


def found(server: Server, aspect: Aspect, **settings: object) -> list[Finding]:
    return [one for one in server.connector(**settings).examine(Deadline.after(60)) if one.aspect is aspect]


@pytest.fixture
def stranger(server: Server) -> Iterator[dict[str, object]]:
    """A user who may log in and no more, as settings."""
    name = f"{server.table} s"
    quoted = {"postgres": f'"{name}"', "mariadb": f"'{name}'@'%%'"}[server.name]
    made = {"postgres": "LOGIN PASSWORD", "mariadb": "IDENTIFIED BY"}[server.name]
    server.run(TABLE, f"CREATE USER {quoted} {made} '{PASSWORD}'")
    yield {"connection__user": name, "connection__password": PASSWORD}
    if server.name == "postgres":
        server.run(f"DROP OWNED BY {quoted}")
    server.run("DROP TABLE {t}", f"DROP USER {quoted}")


def paste(server: Server, findings: list[Finding]) -> None:
    for finding in findings:
        assert finding.weight is Weight.FAILS
        server.run(finding.remedy.rstrip(";").replace("%", "%%"))


def test_the_statement_that_is_given_gives_the_right_to_read(server: Server, stranger: dict[str, object]) -> None:
    missing = found(server, Aspect.REACH, **BY_ID, **stranger)
    assert len(missing) == 1
    assert missing[0].remedy.startswith("GRANT SELECT ON ")
    assert server.table in missing[0].remedy
    with pytest.raises(ConfigError) as refused:
        server.connector(**BY_ID, **stranger).check(Deadline.after(60))
    assert PASSWORD not in str(refused.value)
    paste(server, missing)
    assert found(server, Aspect.REACH, **BY_ID, **stranger) == []
    server.connector(**BY_ID, **stranger).check(Deadline.after(60))


def test_the_rights_to_read_the_log_are_named(server: Server, stranger: dict[str, object]) -> None:
    """PostgreSQL's tables are published by who owns them, so an administrator publishes them here."""
    settings = {"mode": "log", "publication__name": server.table, "slot__name": server.table, **stranger}
    if server.name == "mariadb":
        settings |= {"publication__name": None, "slot__name": None}
        paste(server, found(server, Aspect.REACH, **BY_ID, **stranger))
    missing = found(server, Aspect.REACH, **settings)
    wanted = {
        "postgres": ["GRANT SELECT", "ALTER ROLE", "CREATE PUBLICATION"],
        "mariadb": ["GRANT REPLICATION SLAVE", "GRANT BINLOG MONITOR"],
    }[server.name]
    assert [one.remedy[: len(text)] for one, text in zip(missing, wanted, strict=True)] == wanted
    paste(server, missing)
    assert found(server, Aspect.REACH, **settings) == []
    if server.name == "postgres":
        server.run(f'DROP PUBLICATION "{server.table}"')


def test_a_right_that_is_missing_for_a_moment_loses_no_change(server: Server, caplog) -> None:
    user = f"{server.table}_user"
    is_postgres = server.name == "postgres"
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY)", "CREATE TABLE {t}_b (id INT PRIMARY KEY)",
        f"CREATE USER {user} " + ("REPLICATION PASSWORD" if is_postgres else "IDENTIFIED BY") + f" '{PASSWORD}'",
        f"GRANT SELECT, INSERT ON {{t}} TO {user}", f"GRANT SELECT ON {{t}}_b TO {user}",
        "CREATE PUBLICATION {t} FOR TABLE {t}, {t}_b" if is_postgres
        else f"GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO {user}",
        "INSERT INTO {t} VALUES (1)",
    )  # fmt: skip
    login = {
        "connection__user": user, "connection__password": PASSWORD, "publication__autocreate__mode": "disabled",
    }  # fmt: skip
    with log_run(server, server.table, f"{server.table}_b", **login) as run:
        run.open()
        run.until_events(1)
        server.run("INSERT INTO {t} VALUES (2)")
        run.until_events(2)
        # The table is made anew by another job, say, and the connection breaks before the right is there again.
        server.run(f"REVOKE SELECT ON {{t}} FROM {user}")
        cut_off(server, user)
        server.run("INSERT INTO {t} VALUES (3)")
        if is_postgres:
            run.until(lambda: f"{server.table} may not be read any more; its log is followed" in caplog.text)
        else:
            with pytest.raises(RetriableError, match=rf"may not read connect\.{server.table} any more.*grant SELECT"):
                _until_told(run)
            server.run(f"GRANT SELECT ON {{t}} TO {user}")
        run.until_events(3)
        assert [value["after"]["id"] for _, _, value in run.events] == [1, 2, 3]


@pytest.mark.parametrize("server", ["mariadb", "mysql"], indirect=True)
def test_a_table_that_the_server_hides_for_a_moment_loses_no_change(server: Server) -> None:
    user = f"{server.table}_user"
    monitor = "BINLOG MONITOR" if server.name == "mariadb" else "REPLICATION CLIENT"
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY)", "CREATE TABLE {t}_b (id INT PRIMARY KEY)",
        f"CREATE USER {user} IDENTIFIED BY '{PASSWORD}'", f"GRANT SELECT ON {{t}} TO {user}",
        f"GRANT SELECT ON {{t}}_b TO {user}", f"GRANT RELOAD, REPLICATION SLAVE, {monitor} ON *.* TO {user}",
        "INSERT INTO {t} VALUES (1)",
    )  # fmt: skip
    login = {"connection__user": user, "connection__password": PASSWORD}
    with log_run(server, server.table, f"{server.table}_b", **login) as run:
        run.open()
        run.until_events(1)
        server.run("INSERT INTO {t} VALUES (2)")
        run.until_events(2)
        # Without any right to it the table is not in the catalog that the user sees.
        server.run(f"REVOKE SELECT ON {{t}} FROM {user}")
        cut_off(server, user)
        server.run("INSERT INTO {t} VALUES (3)")
        with pytest.raises(RetriableError, match=rf"may not read connect\.{server.table} any more.*grant SELECT"):
            _until_told(run)
        server.run(f"GRANT SELECT ON {{t}} TO {user}")
        run.until_events(3)
        assert [value["after"]["id"] for _, _, value in run.events] == [1, 2, 3]


def _until_told(run: LogRun) -> None:
    """Poll until an error tells of a right."""
    assert run.task is not None
    deadline = Deadline.after(60)
    while not deadline.expired:
        try:
            run.task.poll(Deadline.after(0.2))
        except RetriableError as error:
            if "may not read" in error.message:
                raise


def test_rows_that_the_cursor_never_reads_are_counted(server: Server) -> None:
    rows = ["(1, '2024-01-01')", "(2, '2024-01-01')", "(3, NULL)", "(4, NULL)", "(5, '2037-01-01')"]
    server.run(TABLE, f"INSERT INTO {{t}} VALUES {', '.join(rows)}", "CREATE INDEX {t}_ts ON {t} (ts)")
    said = {one.text.partition(": ")[2]: one.weight for one in found(server, Aspect.CURSOR, **BY_TIME)}
    assert said["2 rows have NULL in ts, and are never read."] is Weight.FAILS
    (ahead,) = (text for text in said if "more than a day ahead of now" in text)
    assert (ahead.split(" ")[0], said[ahead]) == ("1", Weight.WARNS)
    assert said["among its newest rows several share a value of ts."] is Weight.TOLD
    assert said["deleted rows are not seen with mode=timestamp."] is Weight.TOLD
    server.run("DELETE FROM {t} WHERE id > 1")
    left = [one.text for one in found(server, Aspect.CURSOR, **BY_TIME) if one.weight is Weight.FAILS]
    assert left == []
