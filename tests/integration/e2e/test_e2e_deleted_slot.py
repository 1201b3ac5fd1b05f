"""A connector deleted over REST takes its replication slot along where it says so, whatever becomes of the database."""

from __future__ import annotations

import secrets
from contextlib import closing

import psycopg
import pytest
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services.postgres import PostgresService

pytestmark = pytest.mark.chaos
GIVES_UP_S = 180
"""A minute of tries, and what a loaded machine adds."""


@pytest.fixture
def postgres(own_postgres: PostgresService) -> PostgresService:
    """A database with a table of one row."""
    run(own_postgres, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    return own_postgres


def connected(postgres: PostgresService) -> psycopg.Connection[tuple[object, ...]]:
    e = postgres.endpoint
    return psycopg.connect(
        host=e.host, port=e.port, user=e.user, password=e.password, dbname=e.database, autocommit=True
    )


def run(postgres: PostgresService, *statements: str) -> None:
    with closing(connected(postgres)) as connection:
        for statement in statements:
            connection.execute(statement)


def slots(postgres: PostgresService) -> set[object]:
    with closing(connected(postgres)) as connection:
        return {name for (name,) in connection.execute("SELECT slot_name FROM pg_replication_slots")}


def started(worker: WorkerProcess, postgres: PostgresService, **keys: str) -> str:
    """The name of a new connector that reads the log, and of its slot."""
    name, e = f"slot_{secrets.token_hex(3)}", postgres.endpoint
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "mode": "log", "topic.prefix": name,
        "connection.url": f"jdbc:postgresql://{e.host}:{e.port}/{e.database}", "connection.user": e.user,
        "connection.password": e.password, "table.whitelist": "t", "slot.name": name, "publication.name": name, **keys,
    }  # fmt: skip
    assert worker.create(name, config).status_code == 201
    wait_for(lambda: name in slots(postgres), 60, f"slot {name}")
    return name


def tells_the_command(worker: WorkerProcess, slot: str) -> bool:
    lines = worker.log_path.read_text().splitlines()
    return any(slot in line and "SELECT pg_drop_replication_slot(" in line for line in lines)


def test_a_slot_goes_with_its_connector_where_the_configuration_says_so(
    worker: WorkerProcess, postgres: PostgresService
) -> None:
    dropped = started(worker, postgres, **{"slot.drop.on.delete": "true"})
    assert worker.call("DELETE", dropped).status_code == 204
    wait_for(lambda: dropped not in slots(postgres), 60, f"the end of slot {dropped}")
    kept = started(worker, postgres)
    assert worker.call("DELETE", kept).status_code == 204
    wait_for(lambda: tells_the_command(worker, kept), 60, f"what is to be done about slot {kept}")
    assert slots(postgres) == {kept}


def test_a_database_that_is_down_holds_up_no_deletion_and_the_log_has_the_command(
    worker: WorkerProcess, postgres: PostgresService
) -> None:
    names = [started(worker, postgres, **{"slot.drop.on.delete": "true"}) for _ in range(2)]
    postgres.kill()
    for name in names:
        answer = worker.call("DELETE", name)
        assert (answer.status_code, answer.elapsed.total_seconds() < 30) == (204, True)
    for name in names:
        wait_for(lambda name=name: tells_the_command(worker, name), GIVES_UP_S, f"what is to be done about slot {name}")
