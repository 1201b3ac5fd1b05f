"""Runs sources as public configurations have them, on the servers that run here: the rows of tables are in topics."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from debezium_bed import server_of_many_slots
from e2e_worker import WorkerProcess
from public_bed import FEW, Draw, Public, Trial, agree, failures, local, runnable
from public_rows import Topics, told
from public_tables import Tables

from connect.tools.services.sql import SqlEndpoint

Make = Callable[[Public, str], tuple[dict[str, str], Tables]]
"""Makes the tables of a configuration, and tells the keys that name them."""
DRIVERS = {"mysql": "mysql+pymysql", "mariadb": "mysql+pymysql", "postgresql": "postgresql+psycopg"}
COLUMNS = {"incrementing.column.name": "id", "timestamp.column.name": "updated"}
"""The corpus has one neutral name for both."""
ORDERS = {
    "type": "record", "name": "Order",
    "fields": [{"name": "orders", "type": "long"}, {"name": "product", "type": "string"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def many_slots() -> Iterator[SqlEndpoint]:
    with server_of_many_slots() as endpoint:
        yield endpoint


def engine_of(system: str, endpoint: SqlEndpoint, database: str = "") -> sa.Engine:
    user, password, host, port = endpoint.user, endpoint.password, endpoint.host, endpoint.port
    return sa.create_engine(
        sa.URL.create(DRIVERS[system], user, password, host, port, database or endpoint.database),
        poolclass=sa.NullPool,
    )


def own_database(system: str, endpoint: SqlEndpoint, name: str) -> sa.Engine:
    with engine_of(system, endpoint).connect().execution_options(isolation_level="AUTOCOMMIT") as session:
        session.exec_driver_sql(f"CREATE DATABASE {name.replace('-', '_')}")
    return engine_of(system, endpoint, name.replace("-", "_"))


def active(worker: WorkerProcess, name: str) -> list[str]:
    return list(worker.call("GET", name, "/topics").json()[name]["topics"])


def order_of(value: Any) -> Mapping[str, Any] | None:
    """Return the row that a record tells of; None if it tells of none."""
    value = json.loads(value) if isinstance(value, str) else value
    row = value.get("after") if isinstance(value, dict) and "after" in value else value
    return row if isinstance(row, dict) and "id" in row else None


def tables_trial(worker: WorkerProcess, topics: Topics, unique: str, public: Public, make: Make) -> Trial:
    """Return a configuration that reads tables, which have rows before and get more later."""
    name = f"{unique}_{public.name}".replace("-", "_")
    keys, tables = make(public, name)
    config = {**local(public.config, topics), **keys}

    def found() -> list[tuple[int, str]]:
        values = topics.read(active(worker, name), config)
        return told(row for value in values if (row := order_of(value)) is not None)

    return Trial(public.name, name, config, lambda: told(tables.rows()), found, tables.insert)


def jdbc_tables(system: str, endpoint: SqlEndpoint) -> Make:
    def make(public: Public, name: str) -> tuple[dict[str, str], Tables]:
        engine = own_database(system, endpoint, name)
        at = f"{endpoint.host}:{endpoint.port}/{name.replace('-', '_')}"
        login = {"connection.user": endpoint.user, "connection.password": endpoint.password}
        return {**keys_of_tables(public, name), **login, "connection.url": f"jdbc:{system}://{at}"}, filled(
            Tables(engine, names_of_tables(public))
        )

    return make


def sqlite_tables(folder: Path) -> Make:
    def make(public: Public, name: str) -> tuple[dict[str, str], Tables]:
        path = folder / f"{name}.db"
        tables = filled(Tables(sa.create_engine(f"sqlite:///{path}"), names_of_tables(public)))
        return {**keys_of_tables(public, name), "connection.url": f"jdbc:sqlite:{path}"}, tables

    return make


def keys_of_tables(public: Public, name: str) -> dict[str, str]:
    return {"topic.prefix": f"{name}-", **{key: to for key, to in COLUMNS.items() if key in public.config}}


def names_of_tables(public: Public) -> list[tuple[str | None, str]]:
    return [(None, table) for table in public.config.get("table.whitelist", "orders").split(",")]


def filled(tables: Tables) -> Tables:
    tables.make()
    tables.insert()
    return tables


def debezium_login(endpoint: SqlEndpoint, name: str) -> dict[str, str]:
    return {
        "database.hostname": endpoint.host, "database.port": str(endpoint.port), "database.user": endpoint.user,
        "database.password": endpoint.password, "topic.prefix": name, "database.server.name": name,
    }  # fmt: skip


def postgres_tables(endpoint: SqlEndpoint) -> Make:
    def make(public: Public, name: str) -> tuple[dict[str, str], Tables]:
        database = name.replace("-", "_")
        given = dict(public.config)
        if "table.include.list" in given and "schema.include.list" in given:
            given["schema.include.list"] = "shop"  # The corpus has neutral names, which contradict each other here.
        names = [(schema, f"orders{n}") for schema in ("shop", "orders") for n in ("", 2, 3, 4, 5)]
        is_outbox = "io.debezium.transforms.outbox.EventRouter" in given.values()
        tables = filled(Tables(own_database("postgresql", endpoint, name), names, is_outbox))
        keys = {**debezium_login(endpoint, name), "database.dbname": database, "slot.name": database}
        if "signal.data.collection" in given:
            keys["signal.data.collection"] = "shop.signals"
            with tables.engine.begin() as session:
                session.exec_driver_sql("CREATE TABLE shop.signals (id text PRIMARY KEY, type text, data text)")
        changed = {key: value for key, value in given.items() if public.config[key] != value}
        return {**changed, **keys}, tables.among(captured(given, "schema.include.list"))

    return make


def binlog_tables(system: str, endpoint: SqlEndpoint) -> Make:
    tables = filled(Tables(engine_of(system, endpoint), [("shop", "orders"), ("orders", "orders")]))

    def make(public: Public, name: str) -> tuple[dict[str, str], Tables]:
        databases = {"database.include.list", "database.whitelist"} & set(public.config)
        return debezium_login(endpoint, name), tables.among(captured(public.config, *databases))

    return make


def captured(config: Mapping[str, str], schemas: str = "") -> re.Pattern[str]:
    """Return what full names of tables the lists of a configuration want."""
    tables = config.get("table.include.list", config.get("table.whitelist", ".*"))
    return re.compile(f"(?=({config.get(schemas, '.*')})[.])({tables.replace(',', '|')})")


def run(worker: WorkerProcess, topics: Topics, unique: str, make: Make, some: Sequence[Public]) -> dict[str, str]:
    """Return what failed of these configurations."""
    assert some
    return failures(worker, [tables_trial(worker, topics, unique, public, make) for public in some])


@FEW
def test_jdbc_sources(
    drawn: Draw, worker: WorkerProcess, topics: Topics, tmp_path: Path, request: pytest.FixtureRequest, unique: str
) -> None:
    wrong: dict[str, str] = {}
    for system in ("postgresql", "mysql", "mariadb", "sqlite"):
        service = {"postgresql": "postgres"}.get(system, system)
        make = sqlite_tables(tmp_path) if system == "sqlite" else jdbc_tables(system, request.getfixturevalue(service))
        wrong |= run(worker, topics, unique, make, drawn(runnable("JdbcSourceConnector", f"jdbc:{system}:")))
    agree(wrong)


@FEW
def test_debezium_on_postgres(
    drawn: Draw, worker: WorkerProcess, topics: Topics, many_slots: SqlEndpoint, unique: str
) -> None:
    agree(run(worker, topics, unique, postgres_tables(many_slots), drawn(runnable("PostgresConnector"))))


@FEW
def test_debezium_on_mysql(drawn: Draw, worker: WorkerProcess, topics: Topics, mysql: SqlEndpoint, unique: str) -> None:
    agree(run(worker, topics, unique, binlog_tables("mysql", mysql), drawn(runnable("MySqlConnector"))))


def test_debezium_on_mariadb(worker: WorkerProcess, topics: Topics, mariadb: SqlEndpoint, unique: str) -> None:
    make = binlog_tables("mariadb", mariadb)
    agree(run(worker, topics, unique, make, list(runnable("MariaDbConnector"))))


@FEW
def test_datagen(drawn: Draw, worker: WorkerProcess, topics: Topics, tmp_path: Path, unique: str) -> None:
    schema = tmp_path / "schema.avsc"
    schema.write_text(json.dumps(ORDERS))

    def trial(public: Public) -> Trial:
        name = f"{unique}-{public.name}"
        places = {"schema.filename": str(schema), "schema.string": json.dumps(ORDERS)}
        places["topic.creation.default.replication.factor"] = "1"
        config = {
            **local(public.config, topics), "kafka.topic": name,
            **{key: value for key, value in places.items() if key in public.config},
        }  # fmt: skip
        iterations = int(config.get("iterations", -1))
        is_all = 0 < iterations * int(config.get("max.interval", 500)) < 25_000
        count = iterations if is_all else 2

        def found() -> list[int]:
            rows = len(topics.read(active(worker, name), config))
            return [rows if is_all else min(rows, count)]

        return Trial(public.name, name, config, lambda: [count], found)

    agree(failures(worker, [trial(public) for public in drawn(runnable("DatagenConnector"))]))


@FEW
def test_file_sources(drawn: Draw, worker: WorkerProcess, topics: Topics, tmp_path: Path, unique: str) -> None:
    def trial(public: Public) -> Trial:
        name = f"{unique}-{public.name}"
        file = tmp_path / name
        file.write_text("first\nsecond é\n")
        config = {**local(public.config, topics), "topic": name, "file": str(file)}

        def write_more() -> None:
            with file.open("a") as lines:
                lines.write("third\n")

        return Trial(
            public.name, name, config, lambda: file.read_text().splitlines(),
            lambda: topics.read(active(worker, name), config), write_more,
        )  # fmt: skip

    agree(failures(worker, [trial(public) for public in drawn(runnable("FileStreamSourceConnector"))]))
