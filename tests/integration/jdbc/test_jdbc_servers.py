"""Checks the readers on real PostgreSQL and MariaDB: modes, restarts, types, broken connections."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from time import monotonic

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import log_run
from jdbc_server import FULL, Server

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, RetriableError, SchemaError
from connect.api.records import Batch
from connect.lib.deadline import Deadline


@pytest.fixture
def filled(server: Server) -> Server:
    """60 rows, six to a timestamp of microseconds."""
    server.run("CREATE TABLE {t} (id BIGINT NOT NULL PRIMARY KEY, ts TIMESTAMP(6) NOT NULL, name VARCHAR(20))")
    values = ",".join(f"({i}, '2024-01-01 00:00:{(i - 1) // 6:02d}.123456', 'row {i}')" for i in range(1, 61))
    server.run(f"INSERT INTO {{t}} VALUES {values}")
    return server


MODES = {
    "bulk": {"mode": "bulk", "poll__interval__ms": 600_000},
    "incrementing": {"mode": "incrementing", "incrementing__column__name": "id"},
    "timestamp": {"mode": "timestamp", "timestamp__column__name": "ts"},
    "both": {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"},
}
MICROS = {"timestamp__granularity": "micros_long"}
both_readers = pytest.mark.parametrize("reader", ["auto", "generic"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("batch_rows", [9, 100])
def test_a_restart_after_every_batch_gives_each_row_once(filled, mode, batch_rows):
    store, read = OffsetStore(), []
    while True:
        task = filled.opened(store, **MODES[mode], **MICROS, batch__max__rows=batch_rows)
        found = batches(task, store, at_most=1)
        task.close()
        if not found:
            break
        read += [row["id"] for row in rows(found)]
    assert read == list(range(1, 61))
    (partition,) = (json.loads(key) for key in store.offsets)
    assert partition == {"protocol": "1", "table": FULL[filled.name].format(filled.table)}


@pytest.mark.parametrize("mode", ["incrementing", "timestamp", "both"])
def test_only_what_is_new_is_read_later(filled, mode):
    store = OffsetStore()
    task = filled.opened(store, **MODES[mode], **MICROS)
    assert len(rows(batches(task, store))) == 60
    filled.run("INSERT INTO {t} VALUES (61, '2024-01-02 00:00:00.000001', 'new')")
    deadline, found = Deadline.after(60), []
    while not found and deadline.wait(0.02):
        found = rows(batches(task, store))
    task.close()
    assert [(r["id"], r["ts"]) for r in found] == [(61, 1704153600000001)]


def test_microseconds_are_refused_on_request_with_the_fix(filled):
    task = filled.opened(OffsetStore(), **MODES["bulk"], microsecond__handling="fail")
    with pytest.raises(SchemaError, match=r"ts.*micros_long"):
        batches(task, OffsetStore())
    task.close()


@both_readers
def test_microseconds_are_cut_off_with_a_word_and_the_place_keeps_them(filled, reader, caplog):
    filled.run("ALTER TABLE {t} ADD COLUMN at TIME(6)", "UPDATE {t} SET at = '12:34:56.123456'")
    store = OffsetStore()
    settings = {**MODES["both"], "batch__max__rows": 7, "reader": reader}
    read = []
    for _ in range(9):
        task = filled.opened(store, **settings)
        read += rows(batches(task, store, at_most=1))
        task.close()
    assert [r["id"] for r in read] == list(range(1, 61))
    assert read[0]["ts"] == datetime(2024, 1, 1, 0, 0, 0, 123000, UTC)
    assert read[0]["at"] == time(12, 34, 56, 123000)
    said = [record.message for record in caplog.records if "microseconds are cut off" in record.message]
    assert [("ts becomes" in text, "at becomes" in text) for text in said[:2]] == [(True, False), (False, True)]


def test_a_query_is_wrapped(filled):
    store = OffsetStore()
    query = (
        f"SELECT id, upper(name) AS loud, id * 1.50 AS price FROM {filled.table} WHERE name LIKE '%5%' ORDER BY name"
        " -- loud ones"
    )
    settings = {**MODES["incrementing"], "query": query, "table__whitelist": None, "topic__prefix": "loud"}
    task = filled.opened(store, **settings)
    read = rows(batches(task, store))
    task.close()
    # PostgreSQL's products of NUMERIC have no fixed digits.
    price = {"postgres": "7.50", "mariadb": Decimal("7.50")}[filled.name]
    assert read[0] == {"id": 5, "loud": "ROW 5", "price": price}
    assert [r["id"] for r in read] == sorted(i for i in range(1, 61) if "5" in str(i))


QUERY_TYPES = {
    "postgres": {
        "i INTEGER": s.INT32, "s SMALLINT": s.INT16, "r REAL": s.FLOAT32, "n NUMERIC(9,3)": s.decimal(3, precision=9),
        "ts TIMESTAMP(3)": s.TIMESTAMP_SCHEMA, "j JSON": s.STRING, "b BYTEA": s.BYTES, "o BOOLEAN": s.BOOLEAN,
    },
    "mariadb": {
        "i INT": s.INT32, "u INT UNSIGNED": s.INT64, "t TINYINT": s.INT8, "r FLOAT": s.FLOAT32, "j JSON": s.STRING,
        "n DECIMAL(9,3)": s.decimal(3, precision=9), "ts DATETIME(3)": s.TIMESTAMP_SCHEMA, "b BLOB": s.BYTES,
        "e ENUM('a')": s.STRING, "y YEAR": s.INT16, "p POINT": s.BYTES,
    },
}  # fmt: skip


def test_a_querys_types_are_the_columns_whatever_rows_there_are(server):
    types = QUERY_TYPES[server.name]
    server.run(f"CREATE TABLE {{t}} (id BIGINT PRIMARY KEY, {', '.join(types)})")
    query = f"SELECT * FROM {server.table}"
    settings = {"mode": "incrementing", "incrementing__column__name": "id", "query": query, "table__whitelist": None}
    task = server.opened(OffsetStore(), **settings)
    assert not batches(task, OffsetStore(), at_most=1)
    server.run("INSERT INTO {t} (id) VALUES (1)")
    found: list[Batch] = []
    deadline = Deadline.after(60)
    while not found and deadline.wait(0.02):
        found = batches(task, OffsetStore(), at_most=1)
    task.close()
    schema = found[0].values.schema
    fields = {f.name: f.schema for f in schema.fields}
    assert fields == {"id": s.INT64} | {n.split()[0]: k.as_optional() for n, k in types.items()}
    # As Confluent's: a query's rows have no name.
    assert schema.name is None


def test_a_querys_columns_are_not_null_where_its_tables_are(filled):
    t = filled.table
    query = f"SELECT a.id, a.name, b.ts AS other FROM {t} a {{}} {t} b ON b.id = a.id + 1"
    for join, other in (("JOIN", False), ("LEFT JOIN", True)):
        settings = {**MODES["bulk"], "query": query.format(join), "table__whitelist": None}
        task = filled.opened(OffsetStore(), **settings, microsecond__handling="truncate")
        found = batches(task, OffsetStore())
        task.close()
        assert len(rows(found)) == (60 if other else 59)
        optional = {f.name: f.schema.optional for f in found[0].values.schema.fields}
        # PostgreSQL does not tell which columns an outer join leaves out.
        assert optional == {"id": other and filled.name == "postgres", "name": True, "other": other}


@pytest.mark.parametrize("column", ["name", "id"])
def test_a_timestamp_column_holds_timestamps(filled, column):
    with pytest.raises(ConfigError, match=f"{column} holds .*, not a timestamp"):
        filled.opened(OffsetStore(), mode="timestamp", timestamp__column__name=column, validate__non__null="false")


@both_readers
def test_a_lost_connection_is_retriable_and_loses_nothing(filled, reader):
    store = OffsetStore()
    task = filled.opened(store, **MODES["incrementing"], **MICROS, batch__max__rows=10, reader=reader)
    read = rows(batches(task, store, at_most=2))
    mine = {
        "postgres": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'",
        "mariadb": "SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND command <> 'Daemon'",
    }[filled.name]
    with filled.engine.begin() as connection:
        for (process,) in connection.exec_driver_sql(mine).all():
            if filled.name == "mariadb":
                connection.exec_driver_sql(f"KILL {process}")
    lost, quiet = 0, False
    while not quiet:
        try:
            found = batches(task, store, at_most=1)
        except RetriableError:
            lost += 1
            continue
        read += rows(found)
        quiet = not found
    assert lost >= 1
    task.close()
    assert [r["id"] for r in read] == list(range(1, 61))


def test_a_wrong_password_names_the_keys_and_not_the_password(server):
    with pytest.raises(ConfigError) as error:
        server.connector(mode="bulk", connection__password="canary-4711", connection__attempts=1).check(
            Deadline.after(60)
        )
    assert error.value.key == "connection.url"
    assert "connection.password" in str(error.value)
    assert "canary-4711" not in str(error.value)


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_a_table_that_cannot_be_read_does_not_keep_the_others_from_being_checked(server):
    # Without quotes PostgreSQL looks for a name in lower case, which is not there.
    name = server.table
    server.run(f'CREATE TABLE "A{name}" (id INT PRIMARY KEY)', "CREATE TABLE {t} (id INT PRIMARY KEY)")
    settings = {"mode": "bulk", "table__whitelist": f"A{name},{name}", "quote__sql__identifiers": "never"}
    (note,) = server.connector(**settings).check(Deadline.after(60))
    assert f"A{name}" in note
    assert "left aside" in note


def test_a_missing_table_is_named(server):
    with pytest.raises(ConfigError, match=r"none_such.*table\.whitelist"):
        server.connector(mode="bulk", table__whitelist="none_such").check(Deadline.after(60))


POSTGRES_TYPES = {
    "smallint": ("32767", 32767, "int16"),
    "integer": ("2147483647", 2147483647, "int32"),
    "bigint": ("9223372036854775807", 9223372036854775807, "int64"),
    "oid": ("4294967295", 4294967295, "int64"),
    "real": ("1.5", 1.5, "float32"),
    "double precision": ("0.1", 0.1, "float64"),
    "numeric(12,2)": ("-9999999999.99", Decimal("-9999999999.99"), "bytes"),
    "numeric(38,10)": ("1234567890123456789012345678.0123456789",) * 2 + ("bytes",),
    "boolean": ("true", True, "boolean"),
    "text": ("'é漢😀'", "é漢😀", "string"),
    "varchar(5)": ("'a'", "a", "string"),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "string"),
    "jsonb": ("""'{{"a": 1.10}}'""", '{"a": 1.10}', "string"),
    "bytea": ("'\\x00ff'", b"\x00\xff", "bytes"),
    "date": ("'2024-02-29'", date(2024, 2, 29), "int32"),
    "time": ("'12:34:56.123'", time(12, 34, 56, 123000), "int32"),
    "timestamp": ("'2024-02-29 12:34:56.123'", datetime(2024, 2, 29, 12, 34, 56, 123000, UTC), "int64"),
    "timestamptz": ("'2024-02-29 13:34:56.123+01'", datetime(2024, 2, 29, 12, 34, 56, 123000, UTC), "int64"),
    "integer[]": ("'{{1,2}}'", "{1,2}", "string"),
    "interval": ("'1 day 02:00'", "1 day 02:00:00", "string"),
    "inet": ("'10.0.0.1/8'", "10.0.0.1/8", "string"),
    "int4range": ("'[1,5)'", "[1,5)", "string"),
}
MARIADB_TYPES = {
    "tinyint": ("127", 127, "int8"),
    "tinyint(1)": ("127", 127, "int8"),
    "tinyint unsigned": ("255", 255, "int16"),
    "smallint unsigned": ("65535", 65535, "int32"),
    "int unsigned": ("4294967295", 4294967295, "int64"),
    "bigint unsigned": ("9223372036854775807", 9223372036854775807, "int64"),
    "float": ("1.5", 1.5, "float32"),
    "double": ("0.1", 0.1, "float64"),
    "decimal(12,2)": ("-9999999999.99", Decimal("-9999999999.99"), "bytes"),
    "varchar(5)": ("'é漢😀'", "é漢😀", "string"),
    "json": ("""'{{"a": 1.10}}'""", '{"a": 1.10}', "string"),
    "enum('a','b')": ("'b'", "b", "string"),
    "varbinary(3)": ("x'00ff'", b"\x00\xff", "bytes"),
    "blob": ("x'00ff'", b"\x00\xff", "bytes"),
    "bit(9)": ("b'100000001'", b"\x01\x01", "bytes"),
    "date": ("'2024-02-29'", date(2024, 2, 29), "int32"),
    "time(3)": ("'12:34:56.123'", time(12, 34, 56, 123000), "int32"),
    "datetime(3)": ("'2024-02-29 12:34:56.123'", datetime(2024, 2, 29, 12, 34, 56, 123000, UTC), "int64"),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "string"),
    "inet6": ("'::1'", "::1", "string"),
}


def _check_types(server: Server, cases: dict, reader: str) -> None:
    columns = ", ".join(f"c{i} {kind} NULL" for i, kind in enumerate(cases))
    server.run(f"CREATE TABLE {{t}} (id INT NOT NULL PRIMARY KEY, {columns})")
    server.run(f"INSERT INTO {{t}} VALUES (1, {', '.join(str(case[0]) for case in cases.values())})")
    server.run("INSERT INTO {t} (id) VALUES (2)")
    task = server.opened(OffsetStore(), **MODES["bulk"], reader=reader)
    (batch,) = batches(task, OffsetStore())
    task.close()
    first, second = batch.values.rows()
    assert second == {"id": 2} | {f"c{i}": None for i in range(len(cases))}
    types = {kind: str(batch.values.schema.field(f"c{i}").type) for i, kind in enumerate(cases)}
    assert types == {kind: case[2] for kind, case in cases.items()}
    expected = {kind: Decimal(c[1]) if kind == "numeric(38,10)" else c[1] for kind, c in cases.items()}
    assert {kind: first[f"c{i}"] for i, kind in enumerate(cases)} == expected


@both_readers
@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_each_postgresql_type_keeps_its_value(server, reader):
    _check_types(server, POSTGRES_TYPES, reader)


@both_readers
@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_each_mariadb_type_keeps_its_value(server, reader):
    _check_types(server, MARIADB_TYPES, reader)


@both_readers
def test_many_rows_come_in_batches_of_the_asked_size(server, reader):
    count = 50_000
    many = {
        "postgres": f"INSERT INTO {{t}} SELECT i, 'row ' || i FROM generate_series(1, {count}) i",
        "mariadb": f"INSERT INTO {{t}} SELECT seq, concat('row ', seq) FROM seq_1_to_{count}",
    }
    server.run("CREATE TABLE {t} (id INT NOT NULL PRIMARY KEY, name TEXT)", many[server.name])
    task = server.opened(OffsetStore(), **MODES["bulk"], batch__max__rows=7000, reader=reader)
    read = batches(task, OffsetStore())
    task.close()
    assert [len(batch) for batch in read] == [7000] * 7 + [1000]
    assert read[-1].values.rows()[-1] == {"id": count, "name": f"row {count}"}


def test_a_statement_that_runs_too_long_is_ended_by_the_server_and_tried_again(server: Server):
    sleep = "pg_sleep(20)" if server.name == "postgres" else "sleep(20)"
    query = f"SELECT 1 AS id, a FROM (SELECT {sleep} AS a) t WHERE a IS NOT NULL"
    settings = {"query": query, "table__whitelist": None, "mode": "bulk", "statement__timeout__ms": 200}
    planned = server.connector(**settings)
    task = planned.task({**planned.task_configs(1)[0], **EVERYWHERE})
    store = OffsetStore()

    def read() -> None:
        task.open(store)
        batches(task, store)

    with pytest.raises(RetriableError, match=r"(?i)statement timeout|max_statement_time|execution time"):
        read()
    task.close()


@pytest.mark.parametrize("mode", ["bulk", "both", "log"])
def test_a_first_read_takes_as_long_as_its_rows_per_second_and_comes_in_pages_of_a_second(server: Server, mode: str):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, ts TIMESTAMP(6) NOT NULL)")
    values = ", ".join(f"({i}, '2024-01-01 00:00:00')" for i in range(200))
    server.run(f"INSERT INTO {{t}} VALUES {values}")
    limits = {"max__rows__per__second": 80, "batch__max__rows": 20_000}
    with log_run(server, **limits, **({} if mode == "log" else MODES[mode])) as run:
        began_s = monotonic()
        run.open()
        run.until_events(200)
        took_s = monotonic() - began_s
    assert max(len(batch) for batch in run.batches) <= 80
    # The first 80 rows come at once, and the next two times 80 a second later each.
    assert 1.9 <= took_s < 20
