"""What statements of the log do to tables is what a real MariaDB's catalog has behind them, or is called unknown."""

from __future__ import annotations

import os

import pytest
import sqlalchemy as sa
from jdbc_server import Server
from jdbc_statements import StatementDraw

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.ddl.statements import UnknownTable
from connectors.jdbc.log.ddl.tables import PastTable
from connectors.jdbc.log.ddl.tokens import Statement
from connectors.jdbc.log.mysql.catalog import catalog_table, schema_charsets
from connectors.jdbc.log.mysql.schema_history import SchemaHistory
from connectors.jdbc.settings.table_choice import TableName

SCHEMA = "connect"
STATEMENTS = 60


@pytest.fixture
def database(server: Server) -> Database:
    return Database(server.connector(mode="log")._config)


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tables_are_followed_through_drawn_statements(server, database, seed):
    understood = follow(server, database, seed)
    assert understood > STATEMENTS / 3


@pytest.mark.chaos
@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_tables_are_followed_through_many_drawn_statements(server, database):
    first = int(os.environ.get("CONNECT_SEED", "1000"))
    for seed in range(first, first + int(os.environ.get("CONNECT_SEEDS", "100"))):
        follow(server, database, seed)


def follow(server: Server, database: Database, seed: int) -> int:
    """Run drawn statements and compare after each; how many the server took and the history understood."""
    names = {name: TableName(SCHEMA, name) for name in (f"{server.table}_{seed}_{i}" for i in range(3))}
    history = SchemaHistory(set(names.values()).__contains__)
    history.begin({}, schema_charsets(database))
    draw, understood = StatementDraw(seed, SCHEMA, list(names)), 0
    with server.engine.connect() as connection:
        for _ in range(STATEMENTS):
            statement = draw.next(_columns(history, names))
            try:
                connection.execute(sa.text(statement.replace(":", r"\:")))
            except sa.exc.DBAPIError:
                continue
            history.follow(Statement(statement, SCHEMA))
            for name in names.values():
                then, now = history.tables.get(name), catalog_table(database, name)
                if isinstance(then, UnknownTable):
                    history.learn({name: now})
                else:
                    understood += 1
                    assert then == now, f"seed {seed}: {statement}"
        for name in names:
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")
    database.close()
    return understood


def _columns(history: SchemaHistory, names: dict[str, TableName]) -> dict[str, list[str]]:
    found = {name: history.tables.get(table) for name, table in names.items()}
    return {n: [c.name for c in table.columns] for n, table in found.items() if isinstance(table, PastTable)}
