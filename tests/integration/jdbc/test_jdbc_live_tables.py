"""Checks tables that change, vanish or refuse while others are read; record keys; names and offsets that try to be
SQL.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches, opened, rows, run_sql
from jdbc_server import FULL, Server

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError, SchemaError
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.pages import Pages
from connectors.jdbc.dialects.postgres.copy import PostgresCopy
from connectors.jdbc.native import libpq_module
from connectors.jdbc.source.task import JdbcSourceTask

BY_ID = {"mode": "incrementing", "incrementing__column__name": "id"}


def until(task: JdbcSourceTask, store: OffsetStore, enough: Callable[[list[Batch]], bool]) -> list[Batch]:
    """Batches until there are enough."""
    deadline, read = Deadline.after(60), []
    while not enough(read):
        assert deadline.wait(0.02), rows(read)
        read += batches(task, store, at_most=1)
    return read


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ({"region": "eu", "id": 1}, {"key__mode": "primary_key"}),
        ({"name": "a"}, {"key__mode": "primary_key", "key__fields": "name"}),
        (None, {}),
    ],
)
def test_the_primary_key_becomes_the_record_key_when_asked_for(server: Server, key, settings):
    server.run(
        "CREATE TABLE {t} (name VARCHAR(9) NOT NULL, region VARCHAR(9), id BIGINT, PRIMARY KEY (region, id))",
        "INSERT INTO {t} VALUES ('a', 'eu', 1)",
    )
    task = server.opened(OffsetStore(), **BY_ID, **settings, topic__name__format="${prefix}${schema}.${table}")
    batch = batches(task, OffsetStore())[0]
    task.close()
    assert (None if batch.keys is None else batch.keys.rows()[0]) == key
    assert batch.topic == "db-" + FULL[server.name].format(server.table)


def test_a_table_without_rights_is_left_aside_until_it_is_granted(server: Server):
    names = [f"{server.table}_{i}" for i in range(4)]
    user, refused = f"{server.table}_user", names[1]
    for name in names:
        server.run(f"CREATE TABLE {name} (id BIGINT PRIMARY KEY)", f"INSERT INTO {name} VALUES (1)")
    server.run(
        f"CREATE USER {user} {'PASSWORD' if server.name == 'postgres' else 'IDENTIFIED BY'} 'canary-4711'",
        *(f"GRANT SELECT ON {name} TO {user}" for name in names if name != refused),
    )
    if server.name == "mariadb":
        # Without any right on it the table would not even be listed.
        server.run(f"GRANT INSERT ON {refused} TO {user}")
    store = OffsetStore()
    task = server.opened(
        store, **BY_ID, table__whitelist=",".join(names), connection__user=user, connection__password="canary-4711",
        table__poll__interval__ms=300, offset__mode="confluent",
    )  # fmt: skip
    topics = {b.topic for b in until(task, store, lambda read: len(read) >= 3)}
    assert topics == {f"db-{name}" for name in names if name != refused}
    assert store.gauges["tables_failed"] == 1
    assert store.explained.startswith("1 table is left aside, looked at again every 0.3 s; the others go on.")
    assert f"{refused}: " in store.explained
    assert "denied" in store.explained
    assert "canary" not in store.explained
    server.run(f"GRANT SELECT ON {refused} TO {user}")
    (batch,) = until(task, store, lambda read: len(read) >= 1)
    task.close()
    assert store.explained is None
    assert batch.topic == f"db-{refused}"


def test_the_lag_is_the_age_of_the_last_pass_whose_rows_are_stored(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    store = OffsetStore()
    task = server.opened(store, **BY_ID, offset__mode="confluent")
    opened_s = store.caught_up_s
    read = until(task, store, lambda read: len(rows(read)) == 1)
    more = Deadline.after(0.5)
    while not more.expired:
        assert task.poll(Deadline.after(0.1)) is None
    assert store.caught_up_s == opened_s, "a row that is not stored is lag"
    task.stored([batch.position for batch in read])
    assert store.caught_up_s > opened_s
    stored_s = store.caught_up_s
    deadline = Deadline.after(60)
    while store.caught_up_s < stored_s + 0.5:
        assert not deadline.expired
        assert task.poll(Deadline.after(0.1)) is None
    task.close()


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_text_without_case_is_read_without_a_setting(server: Server):
    server.run(
        "CREATE EXTENSION IF NOT EXISTS citext",
        "CREATE DOMAIN {t}_name AS citext",
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, name citext NOT NULL, other {t}_name)",
        "INSERT INTO {t} VALUES (1, 'Ab', 'Cd'), (2, 'aB', NULL)",
    )
    store = OffsetStore()
    task = server.opened(store, **BY_ID)
    read = rows(batches(task, store))
    task.close()
    assert read == [{"id": 1, "name": "Ab", "other": "Cd"}, {"id": 2, "name": "aB", "other": None}]


def test_a_dropped_table_stops_itself_only(server: Server):
    other = f"{server.table}_other"
    for name in (server.table, other):
        server.run(f"CREATE TABLE {name} (id BIGINT PRIMARY KEY)", f"INSERT INTO {name} VALUES (1)")
    store = OffsetStore()
    task = server.opened(store, **BY_ID, table__whitelist=f"{server.table},{other}")
    # A batch without rows may move a table's mark.
    until(task, store, lambda read: len(rows(read)) >= 2)
    server.run("DROP TABLE {t}", f"INSERT INTO {other} VALUES (2)")
    read = until(task, store, lambda read: len(rows(read)) >= 1)
    deadline = Deadline.after(60)
    while store.gauges.get("tables_failed") != 1:
        assert deadline.wait(0.02)
        batches(task, store, at_most=1)
    assert rows(read) == [{"id": 2}]
    server.run(f"DROP TABLE {other}")
    with pytest.raises(ConnectError, match=r"does not exist|doesn't exist"):
        until(task, store, lambda read: False)
    task.close()


def test_columns_that_come_go_and_widen_change_the_schema_and_lose_no_row(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, name VARCHAR(9), size SMALLINT)")
    server.run("INSERT INTO {t} VALUES (1, 'a', 1)")
    store = OffsetStore()
    task = server.opened(store, **BY_ID)
    read = until(task, store, lambda read: len(rows(read)) >= 1)
    widen = "ALTER COLUMN size TYPE BIGINT" if server.name == "postgres" else "MODIFY size BIGINT"
    server.run("ALTER TABLE {t} ADD COLUMN extra INT", f"ALTER TABLE {{t}} {widen}", "ALTER TABLE {t} DROP COLUMN name")
    server.run("INSERT INTO {t} (id, size, extra) VALUES (2, 5000000000, 7)")
    read += until(task, store, lambda read: any(row["id"] == 2 for row in rows(read)))
    task.close()
    # PostgreSQL writes every row anew to widen a column, so the first one may come again.
    assert [row for row in rows(read) if row != {"id": 1, "size": 1, "extra": None}] == [
        {"id": 1, "name": "a", "size": 1},
        {"id": 2, "size": 5000000000, "extra": 7},
    ]


@pytest.mark.parametrize("mode", ["bulk", "incrementing"])
def test_a_column_that_is_added_to_sqlite_is_in_the_next_row(tmp_path, mode):
    path, store = tmp_path / "x.db", OffsetStore()
    run_sql(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, gone TEXT)", "INSERT INTO t VALUES (1, 'a')")
    task = opened(path, store, mode=mode, table__whitelist="t", poll__interval__ms=10)
    until(task, store, lambda read: len(rows(read)) >= 1)
    run_sql(path, "ALTER TABLE t ADD COLUMN more INT", "ALTER TABLE t DROP COLUMN gone", "INSERT INTO t VALUES (2, 7)")
    read = until(task, store, lambda read: any(row["id"] == 2 for row in rows(read)))
    task.close()
    assert {"id": 2, "more": 7} in rows(read)


def test_names_and_offsets_are_never_sql(server: Server):
    quote = '"' if server.name == "postgres" else "`"
    evil = f"""x'; DROP TABLE {server.table}; -- {quote}{quote}:p %s"""
    column = f"id' :q %(q)s {quote}{quote}"
    server.run("CREATE TABLE {t} (id INT)")
    with server.engine.begin() as connection:
        for statement in (
            f"CREATE TABLE {quote}{evil}{quote} ({quote}{column}{quote} VARCHAR(60) PRIMARY KEY)",
            f"INSERT INTO {quote}{evil}{quote} VALUES ('a'), ('b'' OR 1=1; --')",
        ):
            connection.execute(sa.text(statement.replace(":", "\\:")))
    name = evil.replace(quote * 2, quote)
    table = '"' + name.replace('"', '""') + '"'
    schema = FULL[server.name].partition(".")[0]
    store = OffsetStore()
    partition = {"protocol": "1", "table": f"{schema}.{name}"}
    payload = "a' UNION SELECT 'stolen'; DROP TABLE x; -- \\"
    store.offsets[json.dumps(partition)] = json.dumps({"bulk_last_key": json.dumps([payload]), "rows": 1})
    planned = server.connector(
        mode="bulk", poll__interval__ms=600_000, table__whitelist=None, table__include__list=f".*{server.table}; -- .*"
    )
    (config,) = planned.task_configs(1)
    assert table in config["tables"]
    task = planned.task({**config, **EVERYWHERE})
    task.open(store)
    read = rows(batches(task, store))
    task.close()
    assert [list(row.values()) for row in read] == [["b' OR 1=1; --"]]
    with server.engine.connect() as connection:
        assert connection.exec_driver_sql(f"SELECT count(*) FROM {server.table}").scalar() == 0


SPECIAL = {
    "postgres": ("TIMESTAMP NULL", "DATE NULL", ["'infinity', '-infinity'", "'0044-03-15 BC', '0044-03-15 BC'"]),
    "mariadb": ("DATETIME NULL", "DATE NULL", ["'0000-00-00 00:00:00', '0000-00-00'", "'2024-00-15', '2024-02-00'"]),
}


@pytest.mark.parametrize(("handling", "given"), [("null", None), ("epoch", 0)])
def test_dates_that_are_none_become_what_the_setting_says(server: Server, handling, given):
    moment, day, values = SPECIAL[server.name]
    server.run(f"CREATE TABLE {{t}} (id INT PRIMARY KEY, ts {moment}, d {day})")
    with server.engine.begin() as connection:
        if server.name == "mariadb":
            connection.exec_driver_sql("SET sql_mode='ALLOW_INVALID_DATES'")
        connection.exec_driver_sql(f"INSERT INTO {server.table} VALUES (1, {values[0]}), (2, {values[1]})")
    settings = {"mode": "bulk", "timestamp__granularity": "micros_long", "poll__interval__ms": 600_000}
    task = server.opened(OffsetStore(), **settings, zero__date__handling=handling)
    (batch,) = batches(task, OffsetStore())
    task.close()
    moments, days = batch.arrow()["ts"].to_pylist(), batch.arrow()["d"].cast("int32").to_pylist()
    assert (moments[0], days[0]) == (given, given)
    if server.name == "postgres":
        # 44 BC is the year -43, and a date like any other.
        assert (moments[1], days[1]) == (-63517824000000000, -735160)
    else:
        assert (moments[1], days[1]) == (given, given)
    task = server.opened(OffsetStore(), **settings)
    with pytest.raises(SchemaError, match=r"'(ts|d)'.*zero.date.handling"):
        batches(task, OffsetStore())
    task.close()


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_text_of_a_type_without_a_letter_is_read_in_order_without_the_driver_for_arrow(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    if libpq_module() is None:
        pytest.skip("NOT CHECKED: connectors.jdbc.native was not built; it needs a C++17 compiler at install")
    monkeypatch.setattr("connectors.jdbc.dialects.postgres.reader.is_installed", lambda: False)
    statements, begin_to_read = [], PostgresCopy.pages

    def pages(reader: PostgresCopy, sql: str, *given: Any) -> Pages:
        statements.append(sql)
        return begin_to_read(reader, sql, *given)

    monkeypatch.setattr(PostgresCopy, "pages", pages)
    server.run(
        """CREATE TABLE {t} (id INT PRIMARY KEY, mark "char", name TEXT)""",
        "INSERT INTO {t} SELECT 41 - g, nullif(chr(64 + mod(g, 3)), '@')::\"char\", 'n' || g "
        "FROM generate_series(1, 40) g",
    )
    store = OffsetStore()
    task = server.opened(store, **BY_ID, batch__max__rows=7)
    read = rows(batches(task, store))
    task.close()
    assert statements
    expected = [{"id": i, "mark": (None, "A", "B")[(41 - i) % 3], "name": f"n{41 - i}"} for i in range(1, 41)]
    assert read == expected
