"""Replicas, which get the rows late and do not see what is open on their primary: every row comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches, rows
from jdbc_server import Server
from sql_services import installed
from test_jdbc_failover import TABLE, Standby, _as_server, _said_by, _wait_for

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService
from connect.tools.services.sql import SqlEndpoint
from connectors.jdbc.dialects.mysql import settled as mysql_settled
from connectors.jdbc.dialects.postgres import settled as postgres_settled
from connectors.jdbc.source.task import JdbcSourceTask

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]
BOTH = {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"}


class Replica(MariaDbService):
    """Follows another MariaDB by its GTIDs; reads only."""

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        argv = [part.replace("--server-id=1", "--server-id=2") for part in super()._command(folder, ports, deadline_s)]
        return [*argv, "--read-only=1"]

    def follow(self, replica: Server, primary: SqlEndpoint, *, delay_s: int) -> None:
        replica.run(
            "SET GLOBAL gtid_slave_pos=''",
            f"CHANGE MASTER TO MASTER_HOST='{primary.host}', MASTER_PORT={primary.port}, MASTER_USER='{primary.user}', "
            f"MASTER_PASSWORD='{primary.password}', MASTER_USE_GTID=slave_pos, MASTER_DELAY={delay_s}",
            "START SLAVE",
        )


@contextmanager
def _replicated(unique: str, delay_s: int) -> Iterator[tuple[Server, Server, MariaDbService]]:
    primary, replica = installed(MariaDbService()), Replica()
    with (
        primary, replica, _as_server("mariadb", primary.endpoint, unique) as first,
        _as_server("mariadb", replica.endpoint, unique) as second,
    ):  # fmt: skip
        first.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, ts TIMESTAMP(6) NOT NULL, KEY (ts, id))")
        replica.follow(second, primary.endpoint, delay_s=delay_s)
        deadline = Deadline.after(60)
        while not sa.inspect(second.engine).has_table(unique):
            assert deadline.wait(0.05)
        yield first, second, primary


def _read(task: JdbcSourceTask, store: OffsetStore, wanted: set[int], came: list[int], within_s: float = 40) -> None:
    deadline = Deadline.after(within_s)
    while not wanted <= set(came):
        assert deadline.wait(0.01), came
        with suppress(RetriableError):
            came += [row["id"] for row in rows(batches(task, store, at_most=1))]


@pytest.mark.parametrize("mode", ["incrementing", "timestamp+incrementing"])
def test_rows_that_a_delayed_replica_gets_out_of_order_come(mode: str, unique: str, monkeypatch: pytest.MonkeyPatch):
    for settled in (mysql_settled, postgres_settled):
        monkeypatch.setattr(settled, "REPLICA_US", 2_000_000)
    settings = BOTH | {"mode": mode, "timestamp__granularity": "micros_long", "settle__time__ms": 1000}
    if mode == "incrementing":
        del settings["timestamp__column__name"]
    with _replicated(unique, delay_s=6) as (first, second, _):
        store, came = OffsetStore(), []
        task = second.opened(store, **settings)
        with first.engine.begin() as late:
            late.exec_driver_sql(f"INSERT INTO {unique} VALUES (1, now(6))")
            first.run("INSERT INTO {t} VALUES (2, now(6))")
            with pytest.raises(AssertionError):
                _read(task, store, {2}, came, within_s=1.5)
        first.run("INSERT INTO {t} VALUES (3, now(6))")
        _read(task, store, {1, 2, 3}, came)
        task.close()
    assert came == [1, 2, 3]


def test_rows_wait_while_replication_stands_and_come_when_the_replica_takes_over(
    unique: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    for settled in (mysql_settled, postgres_settled):
        monkeypatch.setattr(settled, "REPLICA_US", 0)
    with _replicated(unique, delay_s=0) as (first, second, primary):
        store, came = OffsetStore(), []
        task = second.opened(store, **BOTH, timestamp__granularity="micros_long", settle__time__ms=1000)
        first.run("INSERT INTO {t} VALUES (1, now(6))")
        _read(task, store, {1}, came)
        second.run("STOP SLAVE SQL_THREAD")
        first.run("INSERT INTO {t} VALUES (2, now(6))")
        with pytest.raises(AssertionError):
            _read(task, store, {2}, came, within_s=3)
        assert "Replication does not run" in caplog.text
        second.run("START SLAVE SQL_THREAD")
        _read(task, store, {2}, came)
        first.run("INSERT INTO {t} VALUES (3, now(6))")
        deadline = Deadline.after(60)
        with second.engine.connect() as connection:
            while connection.exec_driver_sql(f"SELECT count(*) FROM {unique}").scalar() != 3:
                connection.rollback()
                assert deadline.wait(0.05)
        primary.kill()
        second.run("STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only=0")
        second.run("INSERT INTO {t} VALUES (4, now(6))")
        _read(task, store, {3, 4}, came)
        task.close()
    assert came == [1, 2, 3, 4]


@pytest.mark.parametrize("mode", ["incrementing", "timestamp+incrementing"])
def test_a_row_of_a_transaction_that_is_long_open_on_the_primary_comes_from_the_standby(
    mode: str, unique: str, monkeypatch: pytest.MonkeyPatch
):
    for settled in (mysql_settled, postgres_settled):
        monkeypatch.setattr(settled, "REPLICA_US", 0)
    settings = BOTH | {"mode": mode, "timestamp__granularity": "micros_long"}
    if mode == "incrementing":
        del settings["timestamp__column__name"]
    primary = installed(PostgresService())
    with primary, _as_server("postgres", primary.endpoint, unique) as first:
        first.run(f"CREATE TABLE {{t}} ({TABLE})", "CREATE INDEX {t}_ts ON {t} (ts, id)")
        with Standby(primary.endpoint) as standby, _as_server("postgres", standby.endpoint, unique) as second:
            _wait_for(standby.endpoint, f"SELECT count(*) FROM {unique}", 0)
            store, came = OffsetStore(), []
            task = second.opened(store, **settings)
            first.run("INSERT INTO {t} VALUES (1, now())")
            _read(task, store, {1}, came)
            with first.engine.begin() as late:
                late.exec_driver_sql(f"INSERT INTO {unique} VALUES (2, now())")
                for number in range(3, 8):
                    first.run(f"INSERT INTO {{t}} VALUES ({number}, now())")
                    _read(task, store, {number}, came)
                    assert not rows(batches(task, store))
            _wait_for(standby.endpoint, f"SELECT count(*) FROM {unique}", 7)
            _read(task, store, {2}, came)
            task.close()
            assert _said_by(standby.endpoint, "SELECT pg_is_in_recovery()")
    assert sorted(came) == [1, 2, 3, 4, 5, 6, 7]
