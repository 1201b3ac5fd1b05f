"""Checks what validation says of a JDBC sink, and what becomes of one whose database is away, on PostgreSQL and
MariaDB.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jdbc_server import JDBC, Server

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, RetriableError
from connect.lib.deadline import Deadline
from connectors.jdbc.sink.check import check
from connectors.jdbc.sink.database import DeniedError, TargetDatabase
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.sink import JdbcSinkConnector

pytestmark = pytest.mark.integration
PASSWORD = "c0rrect-horse"


def parsed(server: Server, user: str = "", **settings: str) -> JdbcSinkConfig:
    e = server.endpoint
    given = {
        "connection.url": f"jdbc:{JDBC[server.name]}://{e.host}:{e.port}/{e.database}", "topics": server.table,
        "connection.user": user or e.user, "connection.password": PASSWORD if user else e.password,
    }  # fmt: skip
    return JdbcSinkConfig.parse(
        {**given, **EVERYWHERE, **{name.replace("__", "."): value for name, value in settings.items()}}
    )


@pytest.fixture
def reader(server: Server) -> Iterator[str]:
    """A user who may read the table alone."""
    name = f"r{server.table[-8:]}"
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, name VARCHAR(20))")
    if server.name == "postgres":
        server.run(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'", f"GRANT SELECT ON {{t}} TO {name}")
    else:
        server.run(f"CREATE USER {name} IDENTIFIED BY '{PASSWORD}'", f"GRANT SELECT ON connect.{{t}} TO {name}")
    yield name
    server.run("DROP TABLE {t}", f"DROP {'ROLE' if server.name == 'postgres' else 'USER'} {name}")


UPSERT = {"insert__mode": "upsert", "pk__mode": "record_value", "pk__fields": "id"}


def test_rights_that_lack_are_named_with_their_grants_all_at_once(server: Server, reader: str):
    config = parsed(server, reader, insert__mode="upsert", pk__mode="record_key", delete__enabled="true")
    with pytest.raises(ConfigError) as caught:
        check(config, Deadline.after(20))
    with pytest.raises(ConfigError, match="GRANT INSERT"):
        JdbcSinkConnector(config).trial_target("trial-rights").make(Deadline.after(20))
    told = [problem.message for problem in caught.value.problems]
    assert [text.partition("GRANT ")[2].partition(" ON")[0] for text in told] == [
        "INSERT", "SELECT, UPDATE", "SELECT, DELETE",
    ]  # fmt: skip
    for text in told:  # the statement can be pasted
        statement = text.partition(": GRANT ")[2].removesuffix(";")
        server.run(f"GRANT {statement}".replace("{", "{{").replace("%", "%%"))
    assert check(config, Deadline.after(20)) == []


def test_a_right_that_is_taken_away_fails_the_task_by_name(server: Server, reader: str):
    database = TargetDatabase(parsed(server, reader))
    with pytest.raises(DeniedError, match="GRANT the user"), database.transaction("writing") as connection:
        connection.exec_driver_sql(f"INSERT INTO {server.table} (id) VALUES (1)")
    database.close()


def test_an_upsert_without_a_unique_key_is_refused_where_the_database_needs_one(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT, name VARCHAR(20))")
    config = parsed(server, **UPSERT)
    if server.name == "mariadb":
        assert check(config, Deadline.after(20)) == []
        return
    with pytest.raises(ConfigError, match="unique index of exactly id"):
        check(config, Deadline.after(20))
    server.run("CREATE UNIQUE INDEX ON {t} (id)")
    assert check(config, Deadline.after(20)) == []


def test_a_table_that_is_missing_is_a_note_and_a_database_that_is_away_an_error(server: Server):
    (note,) = check(parsed(server), Deadline.after(20))
    assert f"no table {server.table}" in note
    assert check(parsed(server, auto__create="true"), Deadline.after(20)) == []
    away = parsed(server, connection__url=f"jdbc:{JDBC[server.name]}://127.0.0.1:1/connect", connection__attempts="1")
    with pytest.raises(ConfigError, match="Check that the database runs"):
        check(away, Deadline.after(20))
    with pytest.raises(RetriableError):
        _ = TargetDatabase(away).connection


def test_a_trial_has_tables_like_the_real_ones_and_leaves_nothing(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, name VARCHAR(20) NOT NULL)", "INSERT INTO {t} VALUES (1, 'a')")
    config = parsed(server, **UPSERT, exactly__once="true")
    trial = JdbcSinkConnector(config).trial_target(f"trial-{server.table[-6:]}")
    trial.make(Deadline.after(20))
    apart = JdbcSinkConfig.parse({**EVERYWHERE, **config.originals, **trial.settings})
    assert check(apart, Deadline.after(20)) == [], "with the key that an upsert needs"
    (name,) = [apart.table_name_format.strip('"').replace("${topic}", server.table)]
    server.run(f"INSERT INTO {name} VALUES (7, 'trial')", f"CREATE TABLE {apart.offsets_table} (base BIGINT)")
    assert list(trial.rows(Deadline.after(20))) == [repr((server.table, (7, "trial"))).encode()]
    types = trial.column_types(Deadline.after(20))
    assert {name: kind.partition("(")[0] for name, kind in types.items()} == {
        f"{server.table}.id": "bigint", f"{server.table}.name": "varchar",
    }  # fmt: skip
    for _ in range(2):
        trial.remove(Deadline.after(20))
    assert list(trial.rows(Deadline.after(20))) == []
    assert (trial.is_once, trial.merges) == (True, True)
    with server.engine.connect() as connection:
        assert connection.exec_driver_sql(f"SELECT id, name FROM {server.table}").fetchall() == [(1, "a")]
