"""Runs mode=log on a real PostgreSQL: no gap, no repeat, types as in the other modes, and errors that say what to
do.
"""

from __future__ import annotations

import time

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import log_run
from jdbc_log_writer import MANY, Writer, content, two_tables
from jdbc_server import Server
from test_jdbc_servers import POSTGRES_TYPES

from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.binlog.position import Place, file_number
from connectors.jdbc.log.mysql.snapshot import log_bytes_after
from connectors.jdbc.log.mysql.snapshot import log_end as log_end_of
from connectors.jdbc.log.shared import log_end

postgres_only = pytest.mark.parametrize("server", ["postgres"], indirect=True)


def test_the_lag_is_the_age_of_what_is_stored_and_next_to_nothing_at_the_end_of_the_log(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    with log_run(server) as run:
        run.open()
        run.until_events(1)
        began_s = time.time()
        run.until(lambda: run.store.caught_up_s > began_s)
        server.run("INSERT INTO {t} VALUES (2)")
        assert run.task is not None
        deadline = Deadline.after(60)
        while (batch := run.task.poll(Deadline.after(0.2))) is None or not len(batch):
            assert not deadline.expired
            if batch is not None:
                run.take(batch)
        stuck_s = run.store.caught_up_s
        more = Deadline.after(2.5)
        while not more.expired:
            beyond = run.task.poll(Deadline.after(0.2))
            assert beyond is None or not len(beyond)
        assert run.store.caught_up_s == stuck_s, "a row that is not stored is lag"
        run.take(batch)
        run.until(lambda: run.store.caught_up_s > stuck_s + 2)


@postgres_only
def test_text_without_case_comes_from_the_first_read_and_from_the_log_and_may_be_the_key(server: Server):
    server.run(
        "CREATE EXTENSION IF NOT EXISTS citext",
        "CREATE TABLE {t} (name citext PRIMARY KEY, other citext[])",
        "INSERT INTO {t} VALUES ('Ab', '{{\"X\"}}'), ('aa', NULL)",
    )
    with log_run(server) as run:
        run.open()
        run.until_events(2)
        server.run("UPDATE {t} SET other = NULL WHERE name = 'AB'", "INSERT INTO {t} VALUES ('B', NULL)")
        run.until_events(4)
        names = [value["after"]["name"] for _, _, value in run.events]
        assert names == ["aa", "Ab", "Ab", "B"]
        assert [key["name"] for _, key, _ in run.events] == names


def test_snapshot_and_log_have_no_gap_while_a_writer_runs_and_readers_crash(server):
    names = two_tables(server, 1200)
    writer = Writer(server, seed=11)
    with log_run(server, *names, max__batch__size=150) as run:
        writer.start()
        for crash_at in (400, 1600, 3200, 4200):
            run.open()
            run.until_events(crash_at)
            run.close()
        run.open()
        # What the first read saw does not come by the log, so that the writer has to go on for a while.
        run.until(lambda: (writer.committed > 20 and _changes(run) > 500) or writer.failure)
        writer.end()
        run.until(lambda: run.poll() is None and all(content(server, n) == _rebuilt(run, n) for n in names))
        # Each change once: offsets were stored with every batch, and batches ended within transactions.
        places = [
            (topic, str(value["source"]), value["op"], str(key), str(value["after"]))
            for topic, key, value in run.events
            if value is not None and value["op"] != "r"
        ]
        assert len(places) > 500
        assert len(set(places)) == len(places)
        read = [(topic, str(key)) for topic, key, value in run.events if value is not None and value["op"] == "r"]
        # MariaDB begins a table of the first read again.
        assert len(set(read)) == len(read) or server.name == "mariadb"


def _changes(run) -> int:
    return sum(value is not None and value["op"] != "r" for _, _, value in run.events)


def _rebuilt(run, table):
    return {row["id"]: (row["version"], row["name"]) for row in run.rebuilt(run.topic(table)).values()}


@postgres_only
def test_types_of_snapshot_and_log_are_those_of_the_other_modes(server):
    columns = ", ".join(f"c{i} {kind} NULL" for i, kind in enumerate(POSTGRES_TYPES))
    values = ", ".join(str(case[0]).replace("{{", "{").replace("}}", "}") for case in POSTGRES_TYPES.values())
    more = {
        "char(4)": "'a'", "money": "'-1234.50'", "bit(1)": "B'1'", "bit(3)": "B'101'", "char(2)": "'é'",
        "float4": "'NaN'", "bytea": "''", "time": "'23:59:59.999'",
    }  # fmt: skip
    columns += "".join(f", d{i} {kind}" for i, kind in enumerate(more))
    values += "".join(f", {value}" for value in more.values())
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, " + columns.replace("{", "{{").replace("}", "}}") + ")")
    with server.engine.begin() as connection:
        connection.exec_driver_sql(f"INSERT INTO {server.table} VALUES (1, {values})".replace("%", "%%"))
    with log_run(server) as run:
        run.open()
        run.until_events(1)
        with server.engine.begin() as connection:
            connection.exec_driver_sql(f"INSERT INTO {server.table} VALUES (2, {values})".replace("%", "%%"))
            connection.exec_driver_sql(f"INSERT INTO {server.table} (id) VALUES (3)")
        snapshot, streamed, empty = (value["after"] for _, _, value in run.until_events(3))
        schema = next(batch for batch in run.batches if len(batch)).values.schema
        store = OffsetStore()
        task = server.opened(store, mode="bulk", timestamp__granularity="micros_long")
        (queried,) = batches(task, store, at_most=1)
        task.close()
    wanted = rows([queried])
    assert str(snapshot) == str(wanted[0])
    assert str({**streamed, "id": 1}) == str(wanted[0])
    assert empty == {**dict.fromkeys(wanted[0]), "id": 3}
    after = schema.field("after")
    assert [(f.name, f.schema) for f in after.fields] == [(f.name, f.schema) for f in queried.values.schema.fields]


@postgres_only
def test_columns_that_change_names_to_and_fro_in_one_transaction_keep_their_values(server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, x TEXT, y TEXT)")
    rename = "ALTER TABLE {{t}} RENAME {} TO {}"
    swap = [rename.format("x", "z"), rename.format("y", "x"), rename.format("z", "y")]
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        server.run("INSERT INTO {t} VALUES (1, 'x1', 'y1')")
        run.until_events(1)
        server.run(
            "INSERT INTO {t} (id, x, y) VALUES (2, 'x2', 'y2')",
            *swap,
            "INSERT INTO {t} (id, x, y) VALUES (3, 'x3', 'y3')",
            *swap,
            "INSERT INTO {t} (id, x, y) VALUES (4, 'x4', 'y4')",
            "ALTER TABLE {t} ADD more INT",
            "INSERT INTO {t} (id, x, y, more) VALUES (5, 'x5', 'y5', 5)",
            "ALTER TABLE {t} DROP more",
            "INSERT INTO {t} (id, x, y) VALUES (6, 'x6', 'y6')",
        )
        rows = [value["after"] for _, _, value in run.until_events(6)]
    assert rows == [{"id": i, "x": f"x{i}", "y": f"y{i}", **({"more": 5} if i == 5 else {})} for i in range(1, 7)]


@postgres_only
def test_a_large_key_stays_the_key_when_other_columns_change(server):
    # PostgreSQL keeps the key out of line, and its log leaves it out of the new row.
    server.run(
        "CREATE TABLE {t} (id TEXT PRIMARY KEY, n INT NOT NULL)", "ALTER TABLE {t} ALTER id SET STORAGE EXTERNAL"
    )
    large = "k" * 2100
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        server.run(f"INSERT INTO {{t}} VALUES ('{large}', 1)", "UPDATE {t} SET n = 2", "UPDATE {t} SET id = 'small'")
        events = run.until_events(5)
    assert [(key["id"], value and value["op"]) for _, key, value in events] == [
        (large, "c"), (large, "u"), (large, "d"), (large, None), ("small", "c"),
    ]  # fmt: skip
    assert events[1][2]["after"] == {"id": large, "n": 2}


@postgres_only
def test_keys_large_values_truncations_and_new_columns(server):
    server.run(
        "CREATE TABLE {t} (id INT, part TEXT, big TEXT, n INT NOT NULL, PRIMARY KEY (part, id))",
        "ALTER TABLE {t} ALTER big SET STORAGE EXTERNAL",
    )
    with log_run(server, skipped__operations="none") as run:
        run.open()
        run.until(lambda: run.batches)
        big = "x" * 3000
        server.run(
            f"INSERT INTO {{t}} VALUES (1, 'a', '{big}', 5)",
            "UPDATE {t} SET n = 6",
            "UPDATE {t} SET id = 2",
            "DELETE FROM {t}",
            "INSERT INTO {t} VALUES (3, 'b', 'small', 7)",
            "ALTER TABLE {t} ADD more INT, DROP big",
            "INSERT INTO {t} VALUES (4, 'b', 8, 9)",
            "TRUNCATE {t}",
        )
        events = run.until_events(10)
        keys = [key for _, key, _ in events]
        first, second = {"id": 1, "part": "a"}, {"id": 2, "part": "a"}
        assert [value and value["op"] for _, _, value in events] == ["c", "u", "d", None, "c", "d", None, "c", "c", "t"]
        assert keys[:7] == [first, first, first, first, second, second, second]
        assert keys[9] is None
        assert events[1][2]["after"] == {"id": 1, "part": "a", "big": "__debezium_unavailable_value", "n": 6}
        assert events[2][2]["before"] == {"id": 1, "part": "a", "big": None, "n": 0}
        assert events[8][2]["after"] == {"id": 4, "part": "b", "n": 8, "more": 9}
        source = events[0][2]["source"]
        assert (source["connector"], source["name"], source["schema"], source["table"], source["snapshot"]) == (
            "postgresql", run.name, "public", server.table, "false",
        )  # fmt: skip
        server.run(
            "ALTER TABLE {t} ADD big TEXT",
            "ALTER TABLE {t} ALTER big SET STORAGE EXTERNAL, REPLICA IDENTITY FULL",
            f"INSERT INTO {{t}} VALUES (1, 'a', 1, 1, '{big}')",
            "UPDATE {t} SET n = 2",
        )
        updated = run.until_events(12)[11][2]
        assert (updated["before"]["n"], updated["after"]["n"], updated["after"]["big"]) == (1, 2, big)


ELSEWHERE_BYTES = 1_000_000


def write_elsewhere(server):
    """More than `ELSEWHERE_BYTES` of log, of a database that the slot has nothing to do with."""
    name = f"{server.table}_elsewhere"
    administrator = server.engine.execution_options(isolation_level="AUTOCOMMIT")
    other = sa.create_engine(server.engine.url.set(database=name))
    with administrator.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        try:
            with other.begin() as there:
                there.exec_driver_sql("CREATE TABLE busy AS SELECT repeat('x', 100) FROM generate_series(1, 20000)")
        finally:
            other.dispose()
            connection.exec_driver_sql(f"DROP DATABASE {name}")


@postgres_only
def test_the_server_forgets_only_what_was_stored_and_an_idle_slot_moves_on(server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "CREATE TABLE {t}_other (id INT PRIMARY KEY)")

    def confirmed() -> int:
        with server.engine.connect() as connection:
            return connection.exec_driver_sql(
                "SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE slot_name = %s",
                (server.table,),
            ).scalar_one()

    with log_run(server, heartbeat__interval__ms=200) as run:
        run.open()
        run.until(lambda: run.batches)
        server.run("INSERT INTO {t} VALUES (1)")
        run.until(lambda: any(value and value.get("op") == "c" for _, _, value in run.events))
        run.until(lambda: confirmed() == int(run.batches[-1].position.offset["lsn_commit"]))
        before = confirmed()
        server.run("INSERT INTO {t}_other SELECT generate_series(1, 1000)")
        run.until(lambda: confirmed() > before)
        before = confirmed()
        write_elsewhere(server)
        run.until(lambda: confirmed() > before + ELSEWHERE_BYTES)
        assert next((k, set(v)) for t, k, v in run.events if t == f"__debezium-heartbeat.{run.name}") == (
            {"serverName": run.name}, {"ts_ms"},
        )  # fmt: skip
        assert "slot_retained_bytes" in run.store.gauges
        run.close()
        stuck = confirmed()
        server.run("INSERT INTO {t} VALUES (2)")
        run.task = None
        run.open()
        batch = None
        deadline = Deadline.after(45)
        while batch is None or not len(batch) or batch.topic != run.topic():
            assert not deadline.expired
            batch = run.task.poll(Deadline.after(0.2))
        assert confirmed() == stuck, "delivered, but not stored"


@postgres_only
def test_changes_that_the_first_read_saw_do_not_come_again_from_a_slot_that_was_there_before_it(server):
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, n INT)",
        "CREATE PUBLICATION {t} FOR TABLE {t}",
        "INSERT INTO {t} VALUES (1, 0)",
    )
    server.run("SELECT pg_create_logical_replication_slot('{t}', 'pgoutput')")
    server.run("INSERT INTO {t} VALUES (2, 0)", "UPDATE {t} SET n = 1")
    with server.engine.connect() as open_before, log_run(server) as run:
        open_before.exec_driver_sql(f"INSERT INTO {server.table} VALUES (3, 0)")
        server.run("INSERT INTO {t} VALUES (4, 0)")
        run.open()
        run.until_events(3)
        server.run("UPDATE {t} SET n = 2 WHERE id = 1")
        open_before.commit()
        server.run("DELETE FROM {t} WHERE id = 4")
        # A crash in between forgets nothing of what was seen.
        run.close()
        run.open()
        run.until_events(7)
        run.until(lambda: "seen_lsn" not in run.batches[-1].position.offset)
        told = [
            (key["id"], value and value["op"], value and (value["after"] or {}).get("n"))
            for _, key, value in run.events
        ]
        assert told == [
            (1, "r", 1), (2, "r", 1), (4, "r", 0), (1, "u", 2), (3, "c", 0), (4, "d", None), (4, None, None),
        ]  # fmt: skip


def test_no_more_changes_per_second_are_given_than_may_be(server):
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY)",
        f"INSERT INTO {{t}} SELECT i FROM {MANY[server.name].format(80)}",
    )
    with log_run(server, max__rows__per__second=100, max__batch__size=20) as run:
        began_s = time.monotonic()
        run.open()
        run.until_events(80)
        # Three pauses of 0.2 s.
        assert time.monotonic() - began_s >= 0.5


def test_the_unread_log_is_told_in_bytes_and_none_is_left_at_its_end(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_end, "MEASURE_S", 0.0)
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, name VARCHAR(200))", "INSERT INTO {t} VALUES (0, 'a')")
    with log_run(server, max__batch__size=100) as run:
        run.open()
        assert "source_lag_bytes" not in run.store.gauges, "nobody has looked yet"
        run.until_events(1)
        run.until(lambda: run.store.gauges.get("source_lag_bytes") == 0)
        run.until(lambda: run.store.gauges.get("source_lag_rows") == 0)
        run.close()
        for first in range(1, 3001, 100):
            rows = ", ".join(f"({i}, '{'x' * 200}')" for i in range(first, first + 100))
            server.run(f"INSERT INTO {{t}} VALUES {rows}")
        run.open()
        run.until(lambda: (run.store.gauges.get("source_lag_bytes") or 0) > 3000 * 200 / 2)
        assert len(run.events) < 3001, "told while it is behind"
        assert "source_lag_rows" not in run.store.gauges, "nobody knows how many rows the unread log holds"
        run.until_events(3001)
        run.until(lambda: run.store.gauges["source_lag_bytes"] == 0)
        run.until(lambda: run.store.gauges["source_lag_rows"] == 0)


def test_rows_that_were_read_and_are_not_stored_are_its_lag_at_the_end_of_the_log(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)")
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.store.gauges.get("source_lag_rows") == 0)
        server.run("INSERT INTO {t} VALUES (1), (2), (3)", "INSERT INTO {t} VALUES (4), (5)")
        assert run.task is not None
        given: list[Batch] = []
        deadline = Deadline.after(60)
        while run.store.gauges.get("source_lag_rows") != 5:
            assert not deadline.expired, (run.store.gauges, given)
            given += filter(None, [run.task.poll(Deadline.after(0.2))])
        for batch in given:
            run.take(batch)
        run.until(lambda: run.store.gauges.get("source_lag_rows") == 0)


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_the_unread_log_counts_over_files_and_is_unknown_without_the_right_to_see_them(server: Server):
    user = f"{server.table}_user"
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", f"CREATE USER {user} IDENTIFIED BY 'p'")
    server.run(f"GRANT SELECT ON {{t}} TO {user}")
    database = Database(server.connector(mode="log")._config)
    here = Place(*log_end_of(database)).order
    server.run("INSERT INTO {t} VALUES (1)", "FLUSH BINARY LOGS", "INSERT INTO {t} VALUES (2)", "FLUSH BINARY LOGS")
    found = log_bytes_after(database, here)
    sizes = {file_number(row[0]): row[1] for row in database.rows(sa.text("SHOW BINARY LOGS"), "asking")}
    assert found == sum(size for number, size in sizes.items() if number >= here[0]) - here[1]
    blind = Database(server.connector(mode="log", connection__user=user, connection__password="p")._config)
    assert log_bytes_after(blind, here) is None
    # The server itself writes a mark into a new file, some time after it has begun it.
    deadline, told = Deadline.after(60), 0
    while told != sizes[max(sizes)] - 4:
        assert not deadline.expired, (told, sizes)
        told = log_bytes_after(blind, (max(sizes), 4)) or 0
        sizes = {file_number(row[0]): row[1] for row in database.rows(sa.text("SHOW BINARY LOGS"), "asking")}
    blind.close()
    database.close()
