"""Servers that are killed and started again while they are read, and a standby that takes over: every row once."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import LogRun, log_run
from jdbc_log_writer import MANY
from jdbc_server import DRIVERS, Server
from sql_services import installed

from connect.api.errors import ConfigError, RetriableError
from connect.lib.deadline import Deadline
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService
from connect.tools.services.process.process import Command, run_to_end
from connect.tools.services.sql import SqlEndpoint, as_plain_user

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]
SERVICES = {"postgres": PostgresService, "mariadb": MariaDbService}
ROWS = 30_000
TABLE = "id BIGINT PRIMARY KEY, ts TIMESTAMPTZ NOT NULL"


@contextmanager
def _as_server(name: str, e: SqlEndpoint, table: str) -> Iterator[Server]:
    url = sa.URL.create(DRIVERS[name], e.user, e.password, e.host, e.port, e.database)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    yield Server(name, e, engine, table)
    engine.dispose()


def _read_all(task, store: OffsetStore, enough: Callable[[Counter], bool], at: dict[int, Callable[[], None]]) -> list:
    """Read until there is enough; `at`: what happens when so many rows are there. What was said meanwhile."""
    came: Counter = Counter()
    said: list[str] = []
    deadline = Deadline.after(120)
    while not enough(came):
        assert deadline.wait(0.01), (len(came), said[-3:])
        try:
            came.update(row["id"] for row in rows(batches(task, store, at_most=1)))
        except RetriableError as error:
            said.append(error.message)
        for least in [least for least in at if len(came) >= least]:
            at.pop(least)()
    assert max(came.values()) == 1
    return said


@pytest.mark.parametrize("reader", ["auto", "generic"])
@pytest.mark.parametrize("name", SERVICES)
def test_a_server_that_is_killed_while_a_table_is_read_is_waited_for(name: str, reader: str, unique: str):
    service = installed(SERVICES[name]())
    with service, _as_server(name, service.endpoint, unique) as server:
        server.run(
            "CREATE TABLE {t} (id INT PRIMARY KEY, name VARCHAR(40))",
            f"INSERT INTO {{t}} SELECT i, concat('row ', i) FROM {MANY[name].format(ROWS)}",
        )
        store = OffsetStore()
        task = server.opened(
            store, mode="incrementing", incrementing__column__name="id", batch__max__rows=500, reader=reader
        )

        def restart() -> None:
            service.kill()
            service.start()

        said = _read_all(task, store, lambda came: len(came) == ROWS, {3000: restart, 12_000: restart})
        task.close()
    assert len(said) >= 1, "a restart that nobody noticed shows nothing"


@pytest.mark.parametrize("name", SERVICES)
def test_a_server_that_is_killed_while_its_log_is_read_is_waited_for(name: str, unique: str):
    service = installed(SERVICES[name]())
    with service, _as_server(name, service.endpoint, unique) as server:
        server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (0)")
        with log_run(server, max__batch__size=100) as run:
            run.open()
            run.until_events(1)
            for first in (1, 2001, 4001):
                many = MANY[name].format(2000)
                server.run(f"INSERT INTO {{t}} SELECT {first - 1} + i FROM {many}")
                run.until(lambda first=first: len(run.events) > first + 300)
                service.kill()
                service.start()
            run.until(lambda: len(run.events) >= 6001)
            run.poll(1.0)
            assert sorted(value["after"]["id"] for _, _, value in run.events) == list(range(6001))


@pytest.mark.parametrize("mode", ["incrementing", "timestamp+incrementing"])
def test_a_row_with_the_number_of_a_transaction_that_a_crash_forgot_comes(mode: str, unique: str):
    service = installed(PostgresService())
    with service, _as_server("postgres", service.endpoint, unique) as server:
        server.run(
            "CREATE TABLE {t} (id BIGINT PRIMARY KEY, ts TIMESTAMPTZ NOT NULL)", "INSERT INTO {t} SELECT 1, now()"
        )
        # The log is written out by those who commit alone.
        _said_by(service.endpoint, "ALTER SYSTEM SET wal_writer_delay = '10s'")
        _said_by(service.endpoint, "SELECT pg_reload_conf()")
        store = OffsetStore()
        task = server.opened(
            store, mode=mode, timestamp__column__name="ts" if "timestamp" in mode else None,
            incrementing__column__name="id", timestamp__granularity="micros_long",
        )  # fmt: skip
        assert [row["id"] for row in rows(batches(task, store))] == [1]
        numbers = []
        with server.engine.connect() as connection:
            connection.exec_driver_sql("SELECT 1")
            server.run("INSERT INTO {t} SELECT 2, now()")
            connection.exec_driver_sql(f"INSERT INTO {unique} SELECT 9, now()")
            numbers.append(connection.exec_driver_sql("SELECT pg_current_xact_id()::text").scalar())
            connection.rollback()
        assert [row["id"] for row in rows(batches(task, store))] == [2]
        service.kill()
        service.start()
        with server.engine.begin() as connection:
            connection.exec_driver_sql(f"INSERT INTO {unique} SELECT 3, now()")
            numbers.append(connection.exec_driver_sql("SELECT pg_current_xact_id()::text").scalar())
        assert numbers[0] == numbers[1]
        came: list[int] = []
        deadline = Deadline.after(60)
        while not came:
            assert deadline.wait(0.02)
            with suppress(RetriableError):
                came += [row["id"] for row in rows(batches(task, store))]
        task.close()
    assert came == [3]


def test_a_transaction_that_was_prepared_before_a_crash_of_mariadb_loses_no_row(unique: str):
    service = installed(MariaDbService())
    insert = "INSERT INTO {t} VALUES ({id}, now(6))"
    with service, _as_server("mariadb", service.endpoint, unique) as server:
        server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, ts TIMESTAMP(6) NOT NULL, KEY (ts, id))")
        store, came = OffsetStore(), []
        settings = {**MODES["both"], "timestamp__granularity": "micros_long"}
        raw = server.engine.raw_connection()
        cursor = raw.cursor()
        for statement in ("XA START 'late'", insert.format(t=unique, id=1), "XA END 'late'", "XA PREPARE 'late'"):
            cursor.execute(statement)
        raw.invalidate()
        server.run(insert.replace("{id}", "2"))
        service.kill()
        service.start()
        task = server.opened(store, **settings)
        deadline = Deadline.after(3)
        while deadline.wait(0.02):
            with suppress(RetriableError):
                came += [row["id"] for row in rows(batches(task, store, at_most=1))]
        with server.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("XA COMMIT 'late'")
        deadline = Deadline.after(60)
        while 2 not in came:
            assert deadline.wait(0.02)
            came += [row["id"] for row in rows(batches(task, store, at_most=1))]
        task.close()
    assert came == [1, 2]


class Standby(PostgresService):
    """Follows another PostgreSQL; reads only."""

    def __init__(self, primary: SqlEndpoint) -> None:
        super().__init__()
        self._primary = primary

    def _create(self, folder: Path, data: Path, deadline_s: float) -> None:
        e = self._primary
        (folder / "password").write_text(e.password)
        source = f"host={e.host} port={e.port} user={e.user} password={e.password}"
        binary = max(Path("/usr/lib/postgresql").glob("*/bin/pg_basebackup"))
        argv = [str(binary), "-D", str(data), "-d", source, "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"]
        log = folder / f"{self.name}.log"
        log.touch()
        command = Command(as_plain_user(folder, "postgres", argv), folder, log)
        assert run_to_end(command, deadline_s=deadline_s, doing="pg_basebackup"), log.read_text()


def _said_by(e: SqlEndpoint, statement: str) -> object:
    with psycopg.connect(
        host=e.host, port=e.port, user=e.user, password=e.password, dbname=e.database, autocommit=True
    ) as connection:
        cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
    return row and row[0]


def _wait_for(e: SqlEndpoint, statement: str, wanted: object) -> None:
    deadline = Deadline.after(60)
    while True:
        with suppress(psycopg.OperationalError):
            if _said_by(e, statement) == wanted:
                return
        assert deadline.wait(0.05), statement


MODES = {
    "incrementing": {"mode": "incrementing", "incrementing__column__name": "id"},
    "both": {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"},
}


@pytest.mark.parametrize("mode", MODES)
def test_a_standby_is_read_when_the_primary_dies_and_followed_when_it_takes_over(mode: str, unique: str):
    primary = installed(PostgresService())
    with primary, _as_server("postgres", primary.endpoint, unique) as server:
        server.run(
            "CREATE TABLE {t} (id BIGINT PRIMARY KEY, ts TIMESTAMPTZ NOT NULL)",
            "INSERT INTO {t} SELECT i, now() FROM generate_series(1, 5000) i",
        )
        with Standby(primary.endpoint) as standby:
            second = standby.endpoint
            _wait_for(second, f"SELECT count(*) FROM {unique}", 5000)
            if _said_by(second, "SELECT current_setting('server_version_num')::int") < 160_000:
                with (
                    _as_server("postgres", second, unique) as replica,
                    pytest.raises(ConfigError, match=r"is a standby.*targetServerType=primary"),
                ):
                    replica.connector(mode="log").check(Deadline.after(60))
            store = OffsetStore()
            e = primary.endpoint
            task = server.opened(
                store, **MODES[mode], batch__max__rows=500, timestamp__granularity="micros_long",
                connection__url=f"jdbc:postgresql://{e.host}:{e.port},{second.host}:{second.port}/{e.database}",
            )  # fmt: skip

            def take_over() -> None:
                _said_by(second, "SELECT pg_promote()")
                _wait_for(second, "SELECT pg_is_in_recovery()", False)
                _said_by(second, f"INSERT INTO {unique} SELECT i, now() FROM generate_series(5001, 6000) i RETURNING 1")

            said = _read_all(task, store, lambda came: len(came) == 6000, {1500: primary.kill, 5000: take_over})
            task.close()
            assert said
            assert _said_by(second, "SELECT pg_is_in_recovery()") is False


@pytest.mark.parametrize("mode", MODES)
def test_rows_of_a_standby_that_took_over_without_the_last_transactions_come(mode: str, unique: str):
    """It numbers its transactions anew from where it was, with numbers that were read on the old primary."""
    primary = installed(PostgresService())
    with primary, _as_server("postgres", primary.endpoint, unique) as server:
        server.run(
            "CREATE TABLE {t} (id BIGINT PRIMARY KEY, ts TIMESTAMPTZ NOT NULL)", "INSERT INTO {t} SELECT 1, now()"
        )
        with Standby(primary.endpoint) as standby:
            second, e = standby.endpoint, primary.endpoint
            _wait_for(second, f"SELECT count(*) FROM {unique}", 1)
            store = OffsetStore()
            task = server.opened(
                store, **MODES[mode], timestamp__granularity="micros_long",
                connection__url=f"jdbc:postgresql://{e.host}:{e.port},{second.host}:{second.port}/{e.database}",
            )  # fmt: skip
            _said_by(second, "ALTER SYSTEM SET primary_conninfo = ''")
            _said_by(second, "SELECT pg_reload_conf()")
            _wait_for(second, "SELECT count(*) FROM pg_stat_wal_receiver", 0)
            server.run(*(f"INSERT INTO {{t}} SELECT {i}, now()" for i in range(2, 10)))
            with server.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for i in range(10, 60):
                    connection.exec_driver_sql(f"INSERT INTO {unique} SELECT {i}, now()")

            def take_over() -> None:
                primary.kill()
                _said_by(second, "SELECT pg_promote()")
                _wait_for(second, "SELECT pg_is_in_recovery()", False)
                with psycopg.connect(
                    host=second.host, port=second.port, user=second.user, password=second.password,
                    dbname=second.database, autocommit=True,
                ) as connection:  # fmt: skip
                    for i in range(101, 201):
                        connection.execute(f"INSERT INTO {unique} SELECT {i}, now()")

            wanted = {*range(1, 60), *range(101, 201)}
            came: set[int] = set()
            deadline = Deadline.after(60)
            while not came >= wanted:
                assert deadline.wait(0.01), sorted(wanted - came)
                with suppress(RetriableError):
                    came.update(row["id"] for row in rows(batches(task, store, at_most=1)))
                if primary.running and len(came) == 59:
                    take_over()
            task.close()


class Replica(MariaDbService):
    """Writes a log of its own of what it copies."""

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        return [*super()._command(folder, ports, deadline_s), "--server-id=2", "--log-slave-updates"]


def test_a_log_is_gone_on_with_at_a_replica_of_mariadb_from_within_a_transaction(unique: str):
    first, second = installed(MariaDbService()), Replica()
    with (
        first, second, _as_server("mariadb", first.endpoint, unique) as primary,
        _as_server("mariadb", second.endpoint, unique) as replica,
    ):  # fmt: skip
        e = first.endpoint
        primary.run("RESET MASTER", "CREATE TABLE {t} (id INT PRIMARY KEY, v TEXT)")
        replica.run(
            "SET GLOBAL gtid_slave_pos=''",
            "RESET MASTER",
            f"CHANGE MASTER TO MASTER_HOST='{e.host}', MASTER_PORT={e.port}, MASTER_USER='{e.user}', "
            f"MASTER_PASSWORD='{e.password}', MASTER_USE_GTID=slave_pos",
            "START SLAVE",
        )
        with log_run(primary, max__batch__size=130) as run:
            run.open()
            run.until(lambda: run.batches)
            for page in range(20):
                many = MANY["mariadb"].format(100)
                primary.run(f"INSERT INTO {{t}} SELECT {100 * page} + i, repeat('x', 1000) FROM {many}")
            run.until(lambda: len(run.events) > 500 and "reached" in run.batches[-1].position.offset)
            run.close()
            deadline = Deadline.after(60)
            while True:
                with suppress(sa.exc.ProgrammingError), replica.engine.connect() as connection:
                    if connection.exec_driver_sql(f"SELECT count(*) FROM {unique}").scalar() == 2000:
                        break
                assert deadline.wait(0.05)
            replica.run("STOP SLAVE", "RESET SLAVE ALL", "UPDATE {t} SET v = 'new' WHERE id = 7")
            run.server = replica
            run.open()
            run.until_events(2001)
            run.poll(1.0)
            assert [key["id"] for _, key, _ in run.events] == [*range(1, 2001), 7]


def _offset(run: LogRun) -> dict[str, Any]:
    (text,) = run.store.offsets.values()
    return dict(json.loads(text))


def test_the_log_of_a_server_that_took_over_without_the_last_transactions_is_read_from_there(unique: str, tmp_path):
    """Its files are those that the primary had before, with its slots, as a standby with slots has them."""
    service = installed(PostgresService())
    # Texts that the server cannot compress take as much of the log.
    large = "INSERT INTO {t} SELECT {id}, string_agg(md5(i::text), '') FROM generate_series(1, {words}) i"
    with service, _as_server("postgres", service.endpoint, unique) as server:
        server.run("CREATE TABLE {t} (id INT PRIMARY KEY, pad TEXT)", "INSERT INTO {t} VALUES (1, '')")
        with log_run(server) as run:
            run.open()
            run.until_events(1)
            run.until(lambda: "snapshot" not in _offset(run))
            service.kill()
            data = service.log_path.parent / "data"
            shutil.copytree(data, tmp_path / "standby")
            service.start()
            server.run(large.format(t=unique, id=2, words=10_000))
            run.until_events(2)
            run.poll()
            before = _offset(run)
            service.kill()
            shutil.rmtree(data)
            shutil.move(tmp_path / "standby", data)
            (data / "standby.signal").touch()
            service.start()
            _said_by(service.endpoint, "SELECT pg_promote()")
            _wait_for(service.endpoint, "SELECT pg_is_in_recovery()", False)
            server.run("INSERT INTO {t} VALUES (3, '')", large.format(t=unique, id=4, words=30_000))
            run.until(lambda: "The server took over at" in str(run.store.explained))
            run.until_events(4)
            run.until(lambda: _offset(run)["lsn_commit"] > before["lsn_commit"])
            assert [value["after"]["id"] for _, _, value in run.events] == [1, 2, 3, 4]
            assert (before["timeline"], _offset(run)["timeline"]) == (1, 2)
            # What the connector says that it has is no place of the server before.
            slot = "SELECT confirmed_flush_lsn <= pg_current_wal_lsn() FROM pg_replication_slots"
            assert _said_by(service.endpoint, slot)
