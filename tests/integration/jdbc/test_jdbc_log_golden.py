"""Reads every column type of the golden tables, by the first read and by the log: each is what a query gives, or
refused as by it.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from jdbc_drive import OffsetStore, batches
from jdbc_golden import MARIADB, POSTGRES, SETUP, GoldenTable, made_tables
from jdbc_log import log_run
from jdbc_server import Server
from test_jdbc_golden import _expected

from connect.api.errors import SchemaError

CASES = {"postgres": POSTGRES, "mariadb": MARIADB}
LATER = 1000


def test_each_golden_type_is_by_log_what_it_is_by_query(server: Server) -> None:
    tables = made_tables(server, CASES[server.name], _expected(server.name))
    for table in tables:
        if table.cases[0].settings.get("reader") == "generic":
            continue
        _compare(server, table)


def _compare(server: Server, table: GoldenTable) -> None:
    settings = {name.replace(".", "__"): value for name, value in table.cases[0].settings.items()}
    settings = {"timestamp__granularity": None, **settings}
    with log_run(server, table.name, **settings) as run:
        run.open()
        with pytest.raises(SchemaError) if table.is_refused else nullcontext():
            run.until_events(1)
        if table.is_refused:
            assert not run.events, table.cases
            return
        _insert_again(server, table)
        store = OffsetStore()
        task = server.opened(store, **{**settings, "mode": "bulk", "table__whitelist": table.name})
        wanted = [row for batch in batches(task, store, at_most=1) for row in batch.values.rows()]
        task.close()
        came = [value["after"] for _, _, value in run.until_events(len(wanted))]
        different = {
            (row["id"], case.kind, str(row[f"c{place}"]), str(wanted_row[f"c{place}"]))
            for row, wanted_row in zip(came, wanted, strict=True)
            for place, case in enumerate(table.cases)
            if str(row[f"c{place}"]) != str(wanted_row[f"c{place}"])
        }
        assert not different
        assert [row["id"] for row in came] == [row["id"] for row in wanted]
        ops = [value["op"] for _, _, value in run.events]
        assert ops == ["r"] * (len(wanted) // 2) + ["c"] * (len(wanted) // 2)


def _insert_again(server: Server, table: GoldenTable) -> None:
    columns = ", ".join(f"c{place}" for place in range(len(table.cases)))
    with server.engine.begin() as connection:
        for statement in SETUP[server.name]:
            if statement.startswith("SET "):
                connection.exec_driver_sql(statement)
        connection.exec_driver_sql(
            f"INSERT INTO {table.name} SELECT id + {LATER}, {columns} FROM {table.name} ORDER BY id"
        )
