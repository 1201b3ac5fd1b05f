"""Breaks off a first read of mode=log: what changed in between comes once, and nothing goes back in time."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from jdbc_log import PATIENCE_S, LogRun, log_run
from jdbc_server import Server

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline

mariadb = pytest.mark.parametrize("server", ["mariadb"], indirect=True)
MANY = {"postgres": "generate_series(1, 40) AS s(i)", "mariadb": "(SELECT seq AS i FROM seq_1_to_40) s"}
"""Numbers as `i`."""
KEYS = {
    "postgres": {
        "BIGINT": "{}",
        "TEXT": "'k{:03d}'",
        'TEXT COLLATE "C"': "'{:03d}-é'",
        "NUMERIC": "{}.5",
        "CHAR(9)": "'Ab{}'",
    },
    "mariadb": {
        "BIGINT": "{}",
        "VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_swedish_ci": "'{:03d}-ä'",
        "VARCHAR(9) CHARACTER SET latin1": "'Éb{}'",
        "DECIMAL(9,1)": "{}.5",
        "VARBINARY(9)": "x'{:04d}ff'",
        "DATETIME(3)": "'2024-01-02 03:04:05.{:03d}'",
        "UUID": "'00000000-0000-0000-0000-{:012d}'",
    },
}
IGNORED = {"postgres": "INSERT INTO {0} ON CONFLICT (id) DO NOTHING", "mariadb": "INSERT IGNORE INTO {0}"}
"""An insert that leaves a row that is there as it is."""


def _break_off(run: LogRun, batches: int) -> None:
    """Read so many batches more, and leave what was not stored."""
    assert run.task is not None
    wanted = len(run.batches) + batches
    run.until(lambda: len(run.batches) >= wanted)
    run.close()


@pytest.mark.parametrize(
    ("server", "kind"), [(name, kind) for name, kinds in KEYS.items() for kind in kinds], indirect=["server"]
)
def test_rows_with_a_key_never_go_back_in_time(server: Server, kind: str):
    key = KEYS[server.name][kind]
    server.run(f"CREATE TABLE {{t}} (id {kind} PRIMARY KEY, version INT NOT NULL)")
    draw, version = random.Random(3), 0
    for number in range(60):
        server.run(f"INSERT INTO {{t}} VALUES ({key.format(number * 3)}, 0)")
    with log_run(server, max__batch__size=7) as run:
        for _ in range(5):
            run.open()
            _break_off(run, 2)
            for _ in range(25):
                version += 1
                one, other = key.format(draw.randrange(180)), key.format(draw.randrange(180))
                where = f"WHERE id = {one} AND NOT EXISTS (SELECT 1 FROM (SELECT id FROM {{t}}) x WHERE id = {other})"
                server.run(
                    *draw.choice(
                        [
                            [IGNORED[server.name].format(f"{{t}} VALUES ({one}, {version})")],
                            [f"UPDATE {{t}} SET version = {version} WHERE id = {one}"],
                            [f"DELETE FROM {{t}} WHERE id = {one}"],
                            [f"DELETE FROM {{t}} WHERE id = {one}", f"INSERT INTO {{t}} VALUES ({one}, {version})"],
                            [f"UPDATE {{t}} SET id = {other}, version = {version} {where}"],
                        ]
                    )
                )
        run.open()
        wanted = {_id(id_): version for id_, version in _rows(server, server.table)}
        run.until(lambda: {_id(r["id"]): r["version"] for r in run.rebuilt(run.topic()).values()} == wanted)
        _require_order(run)


def _id(value: object) -> str:
    if isinstance(value, datetime):
        value = round(value.replace(tzinfo=UTC).timestamp() * 1_000_000)
    return str(value)


def _require_order(run: LogRun, table: str | None = None) -> None:
    """No row is older than what its key had before it, and each delete takes what is there."""
    there: dict[str, int] = {}
    for topic, key, value in run.events:
        if value is None or topic != run.topic(table):
            continue
        text = str(key["id"])
        if value["op"] == "d":
            assert text in there, f"{text} is deleted, and is not there"
            del there[text]
        else:
            now = value["after"]["version"]
            assert there.get(text, -1) < now, f"{text} goes from {there[text]} to {now}"
            assert (text in there) == (value["op"] == "u"), f"{text}: {value}"
            there[text] = now


BARE = {
    "postgres": [
        "CREATE TABLE {t} (a INT, b TEXT, c NUMERIC, d CHAR(4), e INET, f TIMESTAMPTZ)",
        "ALTER TABLE {t} REPLICA IDENTITY FULL",
        (
            "INSERT INTO {t} SELECT i / 2, nullif('row ' || i / 2, 'row 7'), i / 2 * 1.50, 'x', '10.0.0.1', now() "
            "FROM generate_series(0, 119) i"
        ),
    ],
    "mariadb": [
        (
            "CREATE TABLE {t} (a INT ZEROFILL, b TEXT, c DECIMAL(9,2) ZEROFILL, d CHAR(4) CHARACTER SET latin1, "
            "e BINARY(3), f TIMESTAMP(6), g ENUM('é', 'b'), h BIGINT UNSIGNED, i DOUBLE, j DATE, k BLOB)"
        ),
        (
            "INSERT INTO {t} SELECT seq DIV 2, nullif(concat('row ', seq DIV 2), 'row 7'), seq DIV 2 * 1.50, 'é', 'e', "
            "now(6), 'é', 18446744073709551000 + seq DIV 2, seq / 7, nullif('2024-02-29', '2024-02-30'), x'00ff' "
            "FROM seq_0_to_119"
        ),
    ],
}


@pytest.mark.parametrize("server", ["postgres", "mariadb"], indirect=True)
def test_rows_without_a_key_come_once(server: Server):
    server.run(*BARE[server.name])
    draw = random.Random(4)
    with log_run(server, max__batch__size=9, bigint__unsigned__handling__mode="precise") as run:
        for _ in range(5):
            run.open()
            _break_off(run, 2)
            for number in range(20):
                one = draw.randrange(60)
                server.run(
                    draw.choice(
                        [
                            f"INSERT INTO {{t}} (a, b) VALUES ({one}, 'new {number}')",
                            f"UPDATE {{t}} SET c = c + 1 WHERE a = {one}",
                            f"DELETE FROM {{t}} WHERE a = {one}",
                        ]
                    )
                )
        run.open()
        wanted = Counter(f"{a} {b} {c}" for a, b, c, *_ in _rows(server, server.table))
        run.until(lambda: _counted(run) == wanted)


def _counted(run: LogRun, table: str | None = None) -> Counter[str]:
    there: Counter[str] = Counter()
    for value in (value for topic, _, value in run.events if topic == run.topic(table)):
        if value["before"] is not None:
            there[_shown(value["before"])] -= 1
            assert there[_shown(value["before"])] >= 0, "a row is deleted that is not there"
        if value["after"] is not None:
            there[_shown(value["after"])] += 1
    return +there


def _shown(row: dict[str, Any]) -> str:
    return f"{row['a']} {row['b']} {row['c']}"


@pytest.mark.parametrize("server", ["postgres", "mariadb"], indirect=True)
def test_a_table_altered_while_others_are_read_is_read_as_it_is_now(server: Server):
    other = f"{server.table}_b"
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, old INT)",
        f"INSERT INTO {{t}} SELECT i, i FROM {MANY[server.name]}",
        f"CREATE TABLE {other} (id INT PRIMARY KEY, gone INT, n INT)",
        f"INSERT INTO {other} SELECT i, i, i FROM {MANY[server.name]}",
    )
    with log_run(server, server.table, other, max__batch__size=2) as run:
        run.open()
        run.until(lambda: run.batches)
        # Few batches are read ahead, so the second table is still to be read; this writes it anew.
        kind = "ALTER n TYPE TEXT" if server.name == "postgres" else "MODIFY n TEXT"
        server.run(f"ALTER TABLE {other} DROP gone, {kind}", f"UPDATE {other} SET n = 'x' WHERE id = 40")
        run.until(lambda: len(run.rebuilt(run.topic(other))) == 40)
        rows = list(run.rebuilt(run.topic(other)).values())
        assert rows[:39] == [{"id": i, "n": str(i)} for i in range(1, 40)]
        run.until(lambda: list(run.rebuilt(run.topic(other)).values())[39] == {"id": 40, "n": "x"})
        assert len(run.rebuilt(run.topic())) == 40


@pytest.mark.parametrize("server", ["postgres", "mariadb"], indirect=True)
def test_a_first_read_goes_on_beside_a_table_that_is_dropped(server: Server):
    other = f"{server.table}_b"
    for name in (server.table, other):
        server.run(f"CREATE TABLE {name} (id INT PRIMARY KEY)", f"INSERT INTO {name} SELECT i FROM {MANY[server.name]}")
    with log_run(server, server.table, other, max__batch__size=2) as run:
        run.open()
        run.until(lambda: run.batches)
        server.run(f"DROP TABLE {other}")
        assert other in _refused(run)
        server.run("INSERT INTO {t} VALUES (99)")
        run.until(lambda: len(run.rebuilt(run.topic())) == 41)


def _refused(run: LogRun) -> str:
    """Poll until an error that passes."""
    deadline = Deadline.after(PATIENCE_S)
    assert run.task is not None
    while not deadline.expired:
        try:
            batch = run.task.poll(deadline)
        except RetriableError as error:
            return error.message
        if batch is not None:
            run.take(batch)
    return ""


@mariadb
def test_tables_that_are_read_after_a_break_have_no_change_from_before_it_again(server: Server):
    keyed, bare = f"{server.table}_k", f"{server.table}_w"
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, version INT NOT NULL)",
        f"INSERT INTO {{t}} SELECT i, 0 FROM {MANY['mariadb']}",
        f"CREATE TABLE {keyed} (id INT PRIMARY KEY, version INT NOT NULL)",
        f"INSERT INTO {keyed} SELECT i, 0 FROM {MANY['mariadb']}",
        f"CREATE TABLE {bare} (a INT, b INT, c INT)",
        f"INSERT INTO {bare} SELECT i / 2, 1, 0 FROM {MANY['mariadb']}",
    )
    with log_run(server, server.table, keyed, bare, max__batch__size=7) as run:
        for version in range(1, 4):
            run.open()
            _break_off(run, 2)
            server.run(
                f"UPDATE {keyed} SET version = {version} WHERE id < 20",
                f"UPDATE {{t}} SET version = {version} WHERE id < 20",
                f"DELETE FROM {bare} WHERE a = {version}",
                f"DELETE FROM {keyed} WHERE id = {version}",
                f"DELETE FROM {{t}} WHERE id = {version}",
                f"INSERT INTO {bare} VALUES (100, {version}, 0)",
                f"UPDATE {bare} SET c = c + 1 WHERE a < 9",
            )
        run.open()
        wanted = {"t": dict(_rows(server, server.table)), "k": dict(_rows(server, keyed))}
        counted = Counter(f"{a} {b} {c}" for a, b, c in _rows(server, bare))
        run.until(
            lambda: (
                {"t": _versions(run, server.table), "k": _versions(run, keyed)} == wanted
                and _counted(run, bare) == counted
            )
        )
        server.run(f"UPDATE {keyed} SET version = 9", f"DELETE FROM {bare}")
        run.until(lambda: set(_versions(run, keyed).values()) == {9} and not _counted(run, bare))
        _require_order(run, keyed)


@mariadb
def test_rows_that_nothing_tells_apart_come_again_after_a_break_and_no_change_is_twice(server: Server, caplog):
    # No text of a double is the same for the server and for us.
    server.run(
        "CREATE TABLE {t} (a DOUBLE, b DOUBLE, c DOUBLE)", f"INSERT INTO {{t}} SELECT i, 1, 0 FROM {MANY['mariadb']}"
    )
    again = f"The rows of table connect.{server.table} come again where its first read is broken off"
    settings = {"mode": "log", "topic__prefix": server.table}
    assert [note for note in server.connector(**settings).check(Deadline.after(60)) if note.startswith(again)]
    (other,) = server.connector(**settings, snapshot__mode="no_data").check(Deadline.after(60))
    assert "binlog_row_metadata" in other
    with log_run(server, max__batch__size=7) as run:
        run.open()
        _break_off(run, 2)
        assert run.store.explained is not None
        assert run.store.explained.startswith(again)
        first = [value["after"]["a"] for *_, value in run.events]
        server.run("UPDATE {t} SET c = 1", "INSERT INTO {t} VALUES (99, 1, 0)")
        run.open()
        server.run("DELETE FROM {t} WHERE a > 20")
        wanted = Counter(f"{a} {b} {c}" for a, b, c in _rows(server, server.table))
        wanted += Counter(f"{a} 1.0 0.0" for a in first)
        run.until(lambda: _counted(run, server.table) == wanted)
        run.until(lambda: again not in str(run.store.explained))
    assert "its rows come again" in caplog.text


def _rows(server: Server, table: str) -> list[tuple[Any, ...]]:
    with server.engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(f"SELECT * FROM {table}")]


def _versions(run: LogRun, table: str) -> dict[int, int]:
    return {row["id"]: row["version"] for row in run.rebuilt(run.topic(table)).values()}
