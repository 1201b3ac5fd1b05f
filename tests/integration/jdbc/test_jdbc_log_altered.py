"""Runs mode=log on a MariaDB that logs no names and types of columns: rows are as they were written, or the task
stops.
"""

from __future__ import annotations

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jdbc_log import LogRun, log_run
from jdbc_server import Server

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError
from connect.lib.deadline import Deadline
from connectors.jdbc.log.shared.session import LogSession
from connectors.jdbc.settings.config import JdbcTaskConfig
from connectors.jdbc.settings.table_choice import TableName, from_text

pytestmark = pytest.mark.parametrize("server", ["mariadb"], indirect=True)
KINDS = {
    "INT": ("-2", "7"), "INT UNSIGNED": ("4294967294", "1"), "TINYINT UNSIGNED": ("255",), "TINYINT": ("-1",),
    "ENUM('a','b','c')": ("'c'", "'a'"), "ENUM('c','b','a')": ("'c'",), "SET('a','b')": ("'a'", "'a,b'"),
    "SET('b','a')": ("'a'",), "VARCHAR(9) CHARACTER SET latin1": ("'é'",), "VARCHAR(9) CHARACTER SET utf8mb4": ("'é'",),
    "BIGINT UNSIGNED": ("18",), "VARCHAR(9) COLLATE koi8r_general_ci": ("'Ж'",),
}  # fmt: skip


class Altered:
    """A table that is written to and altered by chance; `wanted`: each row as it was read when it was written."""

    def __init__(self, server: Server, seed: int) -> None:
        self._server, self._draw = server, random.Random(seed)
        self._columns = {"a": "INT", "b": "INT"}
        self._count = 0
        self.wanted: list[dict[str, Any]] = []
        server.run("CREATE TABLE {t} (id INT PRIMARY KEY, a INT, b INT)")

    def step(self) -> None:
        if self._draw.random() < 0.4:
            self._alter()
        else:
            self._insert()

    def _insert(self) -> None:
        self._count += 1
        values = ", ".join(self._draw.choice(KINDS[kind]) for kind in self._columns.values())
        names = ", ".join(self._columns)
        with self._server.engine.begin() as connection:
            connection.exec_driver_sql(
                f"INSERT INTO {self._server.table} (id, {names}) VALUES ({self._count}, {values})"
            )
            row = connection.exec_driver_sql(f"SELECT * FROM {self._server.table} WHERE id = {self._count}").one()
        self.wanted.append(dict(row._mapping))

    def _alter(self) -> None:
        draw = self._draw
        column, kind = draw.choice(list(self._columns)), draw.choice(list(KINDS))
        place = draw.choice(["", "FIRST", "AFTER id"])
        self._count += 1
        new = f"c{self._count}"
        match draw.choice(["modify", "change", "add", "drop", "swap", "empty"]):
            case "modify":
                part, after = f"MODIFY {column} {kind} {place}", {**self._columns, column: kind}
            case "change":
                part, after = f"CHANGE {column} {new} {kind} {place}", {**self._without(column), new: kind}
            case "add":
                part, after = f"ADD {new} {kind} {place}", {**self._columns, new: kind}
            case "drop":
                part, after = f"DROP {column}", self._without(column)
            case "swap":
                # Another column of the same name and, to the log, of the same type.
                part = f"RENAME COLUMN {column} TO {new}"
                after = {**self._without(column), new: self._columns[column]}
            case _:
                return
        if after:
            # Values that do not fit their new type are not what this is about.
            self._server.run("SET SESSION sql_mode = ''", f"ALTER TABLE {{t}} {part}")
            self._columns = after

    def _without(self, column: str) -> dict[str, str]:
        return {name: kind for name, kind in self._columns.items() if name != column}


def _inserted(run: LogRun) -> list[dict[str, Any]]:
    return [value["after"] for _, _, value in run.events if value is not None and value["op"] == "c"]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_rows_are_as_they_were_written_however_the_table_is_altered_while_the_connector_reads_or_is_away(server, seed):
    check_altered(server, seed, steps=60)


@pytest.mark.chaos
def test_rows_are_as_they_were_written_for_many_seeds(server):
    for seed in range(100, 160):
        check_altered(server, seed, steps=80)
        server.run("DROP TABLE {t}")


def check_altered(server: Server, seed: int, steps: int) -> None:
    altered, draw = Altered(server, seed), random.Random(-seed)
    with log_run(server, max__batch__size=draw.choice([3, 1000])) as run:
        run.open()
        run.until(lambda: run.batches)
        is_open = True
        for _ in range(steps):
            altered.step()
            if is_open:
                run.poll(0.02)
            if draw.random() < 0.1:
                run.close() if is_open else run.open()
                is_open = not is_open
        if not is_open:
            run.open()
        run.until(lambda: len(_inserted(run)) >= len(altered.wanted))
        assert _inserted(run) == altered.wanted, f"seed {seed}"


def _altered_without_a_statement(server: Server, run: LogRun, *behind: str) -> None:
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, n INT)")
    run.open()
    run.until(lambda: run.batches)
    run.close()
    server.run("SET SESSION sql_log_bin = 0", "ALTER TABLE {t} MODIFY n INT UNSIGNED", "SET SESSION sql_log_bin = 1")
    server.run("INSERT INTO {t} VALUES (1, 4294967295)", *behind)
    run.open()


def test_a_table_altered_without_a_statement_in_the_log_is_read_as_the_catalog_has_it(server):
    with log_run(server) as run:
        _altered_without_a_statement(server, run)
        run.until_events(1)
        assert _inserted(run) == [{"id": 1, "n": 4294967295}]


def test_a_table_altered_without_a_statement_stops_the_task_where_its_rows_may_have_been_misread(server):
    with log_run(server) as run:
        # The end of the log is too far away to look at it for each row.
        _altered_without_a_statement(server, run, "FLUSH BINARY LOGS")
        with pytest.raises(ConnectError, match="the catalog has other columns than the statements"):
            run.until(lambda: False)


def test_what_a_statement_does_that_is_not_understood_is_learned_from_the_catalog(server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, n INT)")
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        run.close()
        server.run(
            "INSERT INTO {t} VALUES (1, 1)",
            "ALTER TABLE {t} ADD m INT UNSIGNED /*!80000 INVISIBLE */ /*M!100000 NULL */, MODIFY n INT UNSIGNED FIRST",
            "INSERT INTO {t} VALUES (4294967295, 2, 4294967294)",
        )
        run.open()
        run.until_events(2)
        assert _inserted(run) == [{"id": 1, "n": 1}, {"n": 4294967295, "id": 2, "m": 4294967294}]


NOT_UNDERSTOOD = "ALTER TABLE {t} MODIFY n INT UNSIGNED /*M!100500 COMMENT 'x' */"


def test_rows_between_statements_that_are_not_understood_stop_the_task_and_can_be_read_anew(server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, n INT)")
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        run.close()
        server.run(
            "INSERT INTO {t} VALUES (1, 1)", NOT_UNDERSTOOD, "INSERT INTO {t} VALUES (2, 4294967295)",
            "ALTER TABLE {t} MODIFY n BIGINT", "INSERT INTO {t} VALUES (3, 3)",
        )  # fmt: skip
        run.open()
        with pytest.raises(ConnectError, match=r"Which columns .* is not known.*COMMENT.*altered since.*") as error:
            run.until(lambda: False)
        assert "SET GLOBAL binlog_row_metadata=FULL" in str(error.value.fix)
        assert "snapshot.mode=when_needed" in str(error.value.fix)
        assert [row["id"] for row in _inserted(run)] in ([], [1]), "nothing that is guessed"
        run.close()
        run.open(snapshot__mode="when_needed")
        run.until_events(len(run.events) + 3)
        assert [value["after"]["n"] for _, _, value in run.events[-3:]] == [1, 4294967295, 3]


@pytest.mark.parametrize("altered", [False, True])
def test_an_offset_of_debezium_is_gone_on_from_where_no_table_was_altered_behind_it(server, altered):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, n INT UNSIGNED)")
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        run.close()
        # Debezium's offset has no member of ours, and nothing is known of the tables at its place.
        run.store.offsets = {key: _without_ours(text) for key, text in run.store.offsets.items() if "kind" not in key}
        server.run("INSERT INTO {t} VALUES (1, 4294967295)")
        if altered:
            server.run("ALTER TABLE {t} MODIFY n BIGINT", "INSERT INTO {t} VALUES (2, -1)")
        run.open()
        if altered:
            with pytest.raises(ConnectError, match="did not follow it before; and it was altered since"):
                run.until(lambda: False)
            assert _inserted(run) == []
        else:
            run.until_events(1)
            assert _inserted(run) == [{"id": 1, "n": 4294967295}]


def _without_ours(text: str) -> str:
    return json.dumps({name: value for name, value in json.loads(text).items() if name != "history"})


def test_a_table_that_changes_places_with_one_that_was_altered_aside_is_read_by_its_columns(server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, n INT)")
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        run.close()
        server.run(
            "CREATE TABLE {t}_new LIKE {t}", "ALTER TABLE {t}_new MODIFY n INT UNSIGNED FIRST",
            "INSERT INTO {t} VALUES (1, -1)", "INSERT INTO {t}_new VALUES (4294967295, 2)",
            "RENAME TABLE {t} TO {t}_old, {t}_new TO {t}", "INSERT INTO {t} VALUES (4294967294, 3)",
            "ALTER TABLE {t} MODIFY n BIGINT", "DROP TABLE {t}_old", "INSERT INTO {t} VALUES (-5, 4)",
        )  # fmt: skip
        run.open()
        run.until_events(3)
        assert _inserted(run) == [{"id": 1, "n": -1}, {"n": 4294967294, "id": 3}, {"n": -5, "id": 4}]


@pytest.mark.parametrize("kind", ["ENUM('a','ß','Ж') {}", "SET('a','ß','Ж') {}"])
def test_members_that_their_character_set_lacks_are_as_the_server_keeps_them(server, kind):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY) CHARACTER SET greek")
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        run.close()
        charsets = ["", *(f"CHARACTER SET {name}" for name in ("latin1", "koi8r", "ascii", "utf8mb4"))]
        wanted = []
        for number, charset in enumerate(charsets):
            change = "ADD" if number == 0 else "MODIFY"
            server.run("SET SESSION sql_mode = ''", f"ALTER TABLE {{t}} {change} e {kind.format(charset)}")
            for member in (2, 3 if kind.startswith("ENUM") else 4):
                server.run(f"INSERT INTO {{t}} VALUES ({len(wanted)}, {member})")
                with server.engine.connect() as connection:
                    where = f"WHERE id = {len(wanted)}"
                    wanted.append(connection.exec_driver_sql(f"SELECT e FROM {server.table} {where}").scalar())
        assert [*wanted[:4], *wanted[-2:]] == ["?", "?", "ß", "?", "ß", "Ж"]
        run.open()
        run.until_events(len(wanted))
        assert [row["e"] for row in _inserted(run)] == wanted


def test_a_check_and_the_status_say_what_a_log_without_types_risks(server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)")
    with log_run(server) as run:
        (note,) = [n for n in server.connector(**run.settings).check(Deadline.after(60)) if "NO_LOG" in n]
        assert "SET GLOBAL binlog_row_metadata=FULL" in note
        run.open()
        run.until(lambda: run.batches)
        run.until(lambda: "NO_LOG" in str(run.store.explained))
        assert "SET GLOBAL binlog_row_metadata=FULL" in str(run.store.explained)


@pytest.mark.parametrize("chosen", [{}, {"table__whitelist": None, "table__include__list": "connect.*"}])
def test_a_table_that_is_altered_while_tables_are_listed_is_there(server, chosen):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, n INT)")
    ended = threading.Event()

    def alter() -> None:
        while not ended.is_set():
            server.run(*(f"ALTER TABLE {{t}} MODIFY n {kind}, ALGORITHM=COPY" for kind in ("BIGINT", "INT")))

    table = TableName("connect", server.table)
    settings = server.connector(mode="log", **chosen)._config.originals
    session = LogSession(JdbcTaskConfig.parse({**settings, **EVERYWHERE}), [table], ended)
    altering = threading.Thread(target=alter)
    altering.start()
    try:
        for _ in range(300):
            session.look_at_tables()
            assert session.tables == [table]
    finally:
        ended.set()
        altering.join()
        session.database.close()


@pytest.mark.parametrize("mode", ["log", "bulk"])
def test_a_table_that_no_name_tells_is_planned_while_it_is_altered(server, mode):
    """ALTER TABLE takes the file away, by which the server lists the table, and puts a new one there."""
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "CREATE TABLE {t}x (id INT PRIMARY KEY)")
    chosen = {"table__whitelist": None, "table__include__list": rf"connect\.{server.table}x?"}
    connector = server.connector(mode=mode, **chosen)
    with server.engine.connect() as asking, ThreadPoolExecutor(1) as pool:
        lists = "SHOW GLOBAL STATUS LIKE 'Com_show_tables'"
        before = asking.exec_driver_sql(lists).one()[1]
        folder = asking.exec_driver_sql("SELECT @@datadir").scalar_one()
        file = Path(folder, "connect", f"{server.table}.frm")
        away = file.rename(file.with_suffix(".away"))
        planned = pool.submit(connector.task_configs, 1)
        while asking.exec_driver_sql(lists).one()[1] == before:
            assert not planned.done(), planned.result()
        away.rename(file)
        server.run("DROP TABLE {t}x")
        (config,) = planned.result()
    assert from_text(config["tables"]) == [TableName("connect", server.table)]
