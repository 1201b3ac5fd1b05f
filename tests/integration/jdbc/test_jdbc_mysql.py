"""Checks what is MySQL's own and not MariaDB's, on a real MySQL: signing in, types, keys, hidden columns, its log."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import LogRun, log_run
from jdbc_server import Server
from test_jdbc_log_bulk import read_and_follow
from test_jdbc_log_mariadb import MORE
from test_jdbc_servers import MARIADB_TYPES

from connect.api.errors import ConfigError
from connect.api.optional.bulk import SplitSize
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.parametrize("server", ["mysql"], indirect=True)
DOCUMENTS = [
    "'[1, -70000, 5000000000, 18446744073709551615, 1.5, 1e100, true, null]'",
    """'{"b": [], "a": {"é": "\\\\u0001\\\\"\\\\n😀"}}'""",
    "'[]'", "'\"text\"'", "'null'", "CAST(1.50 AS JSON)", "CAST(DATE'2024-02-29' AS JSON)",
    "CAST(TIMESTAMP'2024-02-29 12:34:56.123456' AS JSON)", "CAST(TIME'-12:34:56.5' AS JSON)",
    "JSON_OBJECT('big', REPEAT('x', 70000), 'small', 1)", "CAST(1636257250011481.8e0 AS JSON)",
    "CAST(x'00ff' AS JSON)",
]  # fmt: skip
OTHERS = {
    "int(5) zerofill": "42", "decimal(10,2) zerofill": "1.5", "bigint(20) unsigned zerofill": "7",
    "geometry srid 4326": "ST_GeomFromText('POINT(1 2)', 4326)", "multipoint": "ST_GeomFromText('MULTIPOINT(1 1)')",
    "varchar(9) collate utf8mb4_0900_as_cs": "'É'", "varchar(9) collate utf8mb4_bin": "'é'",
    "varchar(9) character set binary": "'a'", "boolean": "true", "real": "0.1",
}  # fmt: skip


def _version(server: Server) -> tuple[int, ...]:
    with server.engine.connect() as connection:
        return connection.dialect.server_version_info or ()


def _columns(server: Server) -> list[tuple[str, str]]:
    shared = {kind: str(case[0]).replace("{{", "{").replace("}}", "}") for kind, case in MARIADB_TYPES.items()}
    none_of = (
        "uuid",
        "inet",
        *(("geometry srid", "varchar(9) collate utf8mb4_0900") if _version(server) < (8,) else ()),
    )
    theirs = [(kind, value) for kind, value in {**shared, **MORE, **OTHERS}.items() if not kind.startswith(none_of)]
    return [*theirs, *(("json", document) for document in DOCUMENTS)]


@pytest.mark.parametrize("fenced", [True, False])
def test_a_bulk_read_and_the_log_behind_it_are_the_table_with_each_change_once(server: Server, fenced: bool):
    read_and_follow(server, fenced=fenced)


def test_the_plan_of_a_bulk_read_tells_of_the_lock_in_which_each_snapshot_begins(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)")
    planned = server.connector(mode="log", topic__prefix=server.table)
    (statement,) = planned.plan_bulk(SplitSize(100, 2**20), Deadline.after(60)).statements
    assert "FLUSH TABLES WITH READ LOCK" in statement


@pytest.mark.parametrize("metadata", ["MINIMAL", "FULL"])
def test_types_of_the_first_read_and_the_log_are_those_of_the_other_modes(server: Server, metadata: str):
    columns = _columns(server)
    declared = ", ".join(f"c{i} {kind} NULL" for i, (kind, _) in enumerate(columns))
    values = ", ".join(value for _, value in columns)
    with server.engine.begin() as connection:
        if _version(server) >= (8,):
            connection.exec_driver_sql(f"SET GLOBAL binlog_row_metadata = {metadata}")
        connection.exec_driver_sql(f"CREATE TABLE {server.table} (id INT PRIMARY KEY, {declared})")
        connection.exec_driver_sql(f"INSERT INTO {server.table} VALUES (1, {values})")
    with log_run(server) as run:
        run.open()
        run.until_events(1)
        with server.engine.begin() as connection:
            connection.exec_driver_sql(f"INSERT INTO {server.table} VALUES (2, {values})")
            connection.exec_driver_sql(f"INSERT INTO {server.table} (id) VALUES (3)")
        snapshot, streamed, empty = (value["after"] for _, _, value in run.until_events(3))
    read = {}
    for reader in ("auto", "generic"):
        task = server.opened(OffsetStore(), mode="bulk", timestamp__granularity="micros_long", reader=reader)
        (queried,) = batches(task, OffsetStore(), at_most=1)
        task.close()
        read[reader] = rows([queried])[0]
    assert read["auto"] == read["generic"] == snapshot == {**streamed, "id": 1}
    assert empty == {**dict.fromkeys(snapshot), "id": 3}


@pytest.mark.parametrize("secured", ["sslMode=DISABLED&allowPublicKeyRetrieval=true", "sslMode=REQUIRED", ""])
def test_a_user_with_a_sha2_password_signs_in_over_tls_and_without(server: Server, secured: str):
    user = f"{server.table}_{len(secured)}"
    server.run(
        f"CREATE USER {user} IDENTIFIED WITH {'caching_' * (_version(server) >= (8,))}sha2_password BY 'pw'".replace(
            "WITH sha2", "WITH sha256"
        ),
        f"GRANT SELECT, PROCESS ON *.* TO {user}",
        "CREATE TABLE {t} (id INT PRIMARY KEY)",
        "INSERT INTO {t} VALUES (1)",
    )
    e = server.endpoint
    signed_in = {
        "connection__url": f"jdbc:mysql://{e.host}:{e.port}/{e.database}?{secured}",
        "connection__user": user,
        "connection__password": "pw",
    }
    task = server.opened(OffsetStore(), mode="bulk", **signed_in)
    assert rows(batches(task, OffsetStore(), at_most=1)) == [{"id": 1}]
    task.close()


def test_a_package_that_is_missing_for_a_password_without_tls_is_named(server: Server, monkeypatch: pytest.MonkeyPatch):
    user = f"{server.table}_u"
    kind = "caching_sha2_password" if _version(server) >= (8,) else "sha256_password"
    server.run(f"CREATE USER {user} IDENTIFIED WITH {kind} BY 'canary-4711'")
    monkeypatch.setattr(sys.modules["pymysql._auth"], "_have_cryptography", False)
    e = server.endpoint
    plain = {
        "connection__url": f"jdbc:mysql://{e.host}:{e.port}/{e.database}?sslMode=DISABLED&allowPublicKeyRetrieval=true",
        "connection__user": user,
        "connection__password": "canary-4711",
        "connection__attempts": 1,
    }
    with pytest.raises(ConfigError, match=r"sslMode=REQUIRED.*cryptography") as error:
        server.connector(mode="bulk", **plain).check(Deadline.after(60))
    assert "canary-4711" not in str(error.value)


@pytest.mark.parametrize("reader", ["auto", "generic"])
def test_pages_by_a_text_key_follow_its_collation(server: Server, reader: str):
    if _version(server) < (8,):
        pytest.skip("utf8mb4_0900_ai_ci is of MySQL 8")
    keys = [
        "a",
        "B",
        "ä2",
        "Z",
        "ß",
        "é",
        "E2",
        "日本",
        "本",
        "😀",
        "😁",
        "",
        "a b",
        "a  b",
        "Å1",
        "x'y",
        "x\\y",
        "100%",
    ]
    server.run("CREATE TABLE {t} (k VARCHAR(20) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY)")
    with server.engine.begin() as connection:
        for key in keys:
            connection.exec_driver_sql(f"INSERT INTO {server.table} VALUES (%s)", (key,))
    store, read = OffsetStore(), []
    while len(read) < len(keys):
        task = server.opened(store, mode="bulk", batch__max__rows=3, reader=reader)
        found = rows(batches(task, store, at_most=1))
        task.close()
        assert found
        read += [row["k"] for row in found]
    assert sorted(read) == sorted(keys)


def test_a_key_that_the_server_makes_and_hides_orders_the_rows(server: Server):
    if _version(server) < (8, 0, 30):
        pytest.skip("sql_generate_invisible_primary_key is of MySQL 8.0.30")
    with server.engine.begin() as connection:
        connection.exec_driver_sql("SET sql_generate_invisible_primary_key = ON")
        connection.exec_driver_sql(f"CREATE TABLE {server.table} (a VARCHAR(9), hidden INT INVISIBLE DEFAULT 7)")
        connection.exec_driver_sql(f"INSERT INTO {server.table} (a) VALUES ('x'), ('y'), ('z')")
    store = OffsetStore()
    for wanted in (["x", "y"], ["z"]):
        task = server.opened(store, mode="bulk", batch__max__rows=2, key__mode="primary_key")
        (batch,) = batches(task, store, at_most=1)
        task.close()
        assert [row["a"] for row in rows([batch])] == wanted
        assert batch.keys is not None
        assert [list(key) for key in batch.keys.rows()] == [["my_row_id"]] * len(wanted)
    with log_run(server) as run:
        run.open()
        run.until_events(3)
        server.run("INSERT INTO {t} (a) VALUES ('new')")
        _, key, value = run.until_events(4)[3]
    assert key == {"my_row_id": 4}
    assert value["after"] == {"my_row_id": 4, "a": "new", "hidden": 7}


def test_columns_behind_an_index_on_expressions_are_not_taken_for_the_tables(server: Server):
    if _version(server) < (8, 0, 17):
        pytest.skip("indexes on expressions and on arrays are of MySQL 8.0.17")
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, j JSON, a VARCHAR(9), n INT AS (id * 2) VIRTUAL,"
        " m INT AS (id + 1) STORED, INDEX ((lower(a))), INDEX ((CAST(j->'$.tags' AS UNSIGNED ARRAY))))",
        "INSERT INTO {t} (id, j, a) VALUES (1, '{{\"tags\": [1, 2]}}', 'X')",
    )
    wanted = {"id": 1, "j": '{"tags": [1, 2]}', "a": "X", "n": 2, "m": 2}
    with log_run(server) as run:
        run.open()
        run.until_events(1)
        server.run("INSERT INTO {t} (id, j, a) VALUES (2, '{{\"tags\": [3]}}', 'Y')", "DELETE FROM {t} WHERE id = 1")
        first, second, gone, _ = (value for _, _, value in run.until_events(4))
    assert first["after"] == gone["before"] == wanted
    assert second["after"] == {"id": 2, "j": '{"tags": [3]}', "a": "Y", "n": 4, "m": 3}


def test_a_place_that_counts_the_files_of_another_server_is_told(server: Server, caplog):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    with server.engine.connect() as connection:
        uuid = connection.exec_driver_sql("SELECT @@server_uuid").scalar_one()
    with log_run(server) as run:
        run.open()
        run.until_events(1)
        run.until(lambda: "snapshot" not in _place(run)[1])
        for number, stored in ((2, uuid), (3, "another")):
            run.close()
            partition, offset = _place(run)
            offset.pop("gtids", None)
            run.store.offsets[partition] = json.dumps({**offset, "server_uuid": stored})
            run.open()
            server.run(f"INSERT INTO {{t}} VALUES ({number})")
            run.until_events(number)
            run.poll()
            assert ("UUID" in str(run.store.explained)) == (stored == "another")
    assert f"The server's UUID is {uuid}, and the place" in str(run.store.explained)
    assert "is of another: another server has other changes there" in caplog.text


def _place(run: LogRun) -> tuple[str, dict[str, Any]]:
    """Return the partition of the place in the log, and its offset."""
    found = {partition: json.loads(text) for partition, text in run.store.offsets.items()}
    return next((partition, offset) for partition, offset in found.items() if "file" in offset)


def _with_gtids(server: Server) -> None:
    with server.engine.connect() as connection:
        connection.exec_driver_sql("SET GLOBAL enforce_gtid_consistency = ON")
        for mode in ("OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"):
            now = connection.exec_driver_sql("SELECT @@global.gtid_mode").scalar()
            if now != "ON":
                connection.exec_driver_sql(f"SET GLOBAL gtid_mode = {mode}")


def _offset(run: LogRun) -> dict[str, Any]:
    (partition,) = run.store.offsets
    return dict(json.loads(run.store.offsets[partition]))


def test_the_log_goes_on_by_gtid_where_file_and_place_are_another_servers(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    _with_gtids(server)
    # Before it there is no identifier that the log could go on from.
    server.run("INSERT INTO {t} VALUES (2)")
    with log_run(server) as run:
        run.open()
        run.until_events(2)
        server.run("INSERT INTO {t} VALUES (3)", "INSERT INTO {t} VALUES (4)")
        events = run.until_events(4)
        server_uuid, _, number = events[3][2]["source"]["gtid"].partition(":")
        run.until(lambda: _offset(run).get("gtids", "").endswith(f"-{number}"))
        assert _offset(run)["gtids"].startswith(f"{server_uuid}:")
        for compressed in ("OFF", "ON"):
            run.close()
            (partition,) = run.store.offsets
            elsewhere = {"file": "other.000077", "pos": 4711}
            run.store.offsets[partition] = json.dumps(_offset(run) | elsewhere)
            with server.engine.begin() as connection:
                if _version(server) >= (8, 0, 20):
                    connection.exec_driver_sql(f"SET SESSION binlog_transaction_compression = {compressed}")
                first = len(run.events) + 1
                connection.exec_driver_sql(f"INSERT INTO {server.table} VALUES ({first}), ({first + 1})")
            run.open()
            run.until_events(first + 1)
            run.until(lambda: _offset(run)["file"] != "other.000077")
        assert [value["after"]["id"] for _, _, value in run.events] == list(range(1, 9))
