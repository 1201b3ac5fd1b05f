"""Runs mode=log on a real MariaDB: types as in the other modes, Debezium's members, and a place that the server has
lost.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import log_run
from jdbc_server import Server
from test_jdbc_servers import MARIADB_TYPES

from connect.api.errors import ConnectError
from connect.api.schema import Schema

pytestmark = pytest.mark.parametrize("server", ["mariadb"], indirect=True)
with_both = pytest.mark.parametrize("metadata", ["NO_LOG", "FULL"], indirect=True)
MORE = {
    "mediumint": "-8388608", "mediumint unsigned": "16777215", "decimal(30,12)": "-123456789012345678.000000000009",
    "decimal(5,0)": "-1", "varchar(3) character set latin1": "'é€x'", "char(3)": "'ab'", "char(200)": "'é'",
    "varchar(300)": "repeat('y', 300)", "set('a','b','c')": "'a,c'", "enum('x','y')": "'x'", "year": "1999",
    "time": "'00:00:01'", "datetime": "'1000-01-01 00:00:00'", "timestamp(6) null": "'2038-01-19 03:14:07.999999'",
    "datetime(1)": "'2024-02-29 12:34:56.7'", "bit(1)": "b'1'", "binary(3)": "x'0001ff'",
    "mediumblob": "repeat('z', 70000)", "binary(4)": "x'00010000'", "varbinary(4)": "x'00010000'",
    "uuid ": "'123e4567-e89b-62d3-a456-4266141740a0'", "uuid  ": "'00000000-0000-0000-0000-000000000000'",
    "uuid   ": "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "inet4": "'10.1.0.0'", "inet6 ": "'2001:db8::ff00:0:8329'",
    "inet6  ": "'::ffff:1.2.3.4'", "inet6   ": "'::'", "inet6    ": "'::1.2.3.4'", "inet6     ": "'1::1:0:0:1:0'",
    "varchar(9) character set latin2": "'ŁódźŐ'", "text character set koi8r": "'Жук'",
    "varchar(9) character set utf16": "'é漢😀'", "char(9) character set gbk": "'漢字'",
    "text character set sjis": "'漢字'",
    "enum('it''s','\\\\')": "'it''s'", "enum('x','\\\\','é')": "'\\\\'", "tinyint(1)": "1", "geometry": "point(1, 2)",
}  # fmt: skip


@pytest.fixture
def metadata(request: pytest.FixtureRequest, server: Server) -> Iterator[None]:
    """What the log tells of columns while the test runs: FULL has their names and types."""
    _set_metadata(server, request.param)
    yield
    _set_metadata(server, "NO_LOG")


def _set_metadata(server: Server, metadata: str) -> None:
    with server.engine.connect() as connection:
        connection.exec_driver_sql(f"SET GLOBAL binlog_row_metadata = {metadata}")
    # It holds for sessions that begin after it.
    server.engine.dispose()


@with_both
def test_types_of_the_first_read_and_the_log_are_those_of_the_other_modes(server, metadata):
    cases = {k: str(v[0]).replace("{{", "{").replace("}}", "}") for k, v in MARIADB_TYPES.items()}
    columns = [*cases.items(), *MORE.items()]
    declared = ", ".join(f"c{i} {kind}" for i, (kind, _) in enumerate(columns))
    values = ", ".join(value for _, value in columns)
    with server.engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE {server.table} (id INT PRIMARY KEY, {declared})")
        connection.exec_driver_sql(f"INSERT INTO {server.table} VALUES (1, {values})")
    with log_run(server) as run:
        run.open()
        run.until_events(1)
        with server.engine.begin() as connection:
            connection.exec_driver_sql(f"INSERT INTO {server.table} VALUES (2, {values})")
            connection.exec_driver_sql(f"INSERT INTO {server.table} (id) VALUES (3)")
        snapshot, streamed, empty = (value["after"] for _, _, value in run.until_events(3))
        schema, *others = (batch.values.schema for batch in run.batches if len(batch))
        assert not [
            pair
            for other in others
            for pair in zip(_columns(schema), _columns(other), strict=True)
            if pair[0] != pair[1]
        ]
        store = OffsetStore()
        task = server.opened(store, mode="bulk", timestamp__granularity="micros_long")
        (queried,) = batches(task, store, at_most=1)
        task.close()
    wanted = rows([queried])
    assert snapshot == wanted[0]
    assert {**streamed, "id": 1} == wanted[0]
    assert empty == {**dict.fromkeys(wanted[0]), "id": 3}
    assert _columns(schema) == [(f.name, f.schema) for f in queried.values.schema.fields]


def _columns(schema: Schema) -> list[tuple[str, Schema]]:
    return [(f.name, f.schema) for f in schema.field("after").fields]


def test_keys_sources_and_offsets_are_debeziums(server):
    server.run("CREATE TABLE {t} (id INT, part VARCHAR(5), n INT NOT NULL, PRIMARY KEY (part, id))")
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        server.run(
            "INSERT INTO {t} VALUES (1, 'a', 5)", "UPDATE {t} SET n = 6", "UPDATE {t} SET id = 2", "DELETE FROM {t}"
        )
        events = run.until_events(7)
        assert [value and value["op"] for _, _, value in events] == ["c", "u", "d", None, "c", "d", None]
        assert [key["id"] for _, key, _ in events] == [1, 1, 1, 1, 2, 2, 2]
        assert (events[1][2]["before"]["n"], events[1][2]["after"]["n"]) == (5, 6)
        source = events[0][2]["source"]
        assert (source["connector"], source["db"], source["table"]) == ("mariadb", "connect", server.table)
        assert source["gtid"].startswith("0-1-")
        server.run("INSERT INTO {t} VALUES (9, 'c', 1)", "ALTER TABLE {t} ADD extra INT", "ALTER TABLE {t} DROP extra")
        server.run("INSERT INTO {t} VALUES (10, 'c', 2)")
        assert [value["after"]["id"] for _, _, value in run.until_events(9)[7:]] == [9, 10]
        run.until(lambda: "reached" not in run.batches[-1].position.offset)
        offset = run.batches[-1].position.offset
        assert (set(offset) >= {"file", "pos", "gtids", "event", "row", "server_id", "ts_sec"}, offset["event"]) == (
            True,
            0,
        )
        run.close()
        server.run(
            "INSERT INTO {t} VALUES (3, 'b', 7)",
            "ALTER TABLE {t} ADD more INT",
            "INSERT INTO {t} VALUES (4, 'b', 8, 9)",
        )
        run.open()
        behind = [value["after"] for _, _, value in run.until_events(11)[9:]]
        assert behind == [{"id": 3, "part": "b", "n": 7}, {"id": 4, "part": "b", "n": 8, "more": 9}]


def test_a_place_that_the_server_has_lost_is_told_or_read_anew(server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    with log_run(server) as run:
        run.open()
        run.until(lambda: len(run.batches) >= 2)
        run.close()
        server.run("INSERT INTO {t} VALUES (2)")
        (partition,) = (key for key in run.store.offsets if "kind" not in key)
        run.store.offsets[partition] = '{"file": "binlog.999999", "pos": 4}'
        run.open()
        with pytest.raises(ConnectError, match=r"binary log.*snapshot\.mode=when_needed"):
            run.until(lambda: False)
        run.close()
        run.open(snapshot__mode="when_needed")
        run.until_events(3)
        assert [(value["op"], value["after"]["id"]) for _, _, value in run.events] == [("r", 1), ("r", 1), ("r", 2)]


def test_a_table_made_of_a_query_is_whole_when_the_reader_starts_anew_within_it(server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, text CHAR(200))")
    server.run("INSERT INTO {t} SELECT seq, repeat('x', 200) FROM seq_1_to_99")
    made = f"{server.table}_made"
    tables = f"connect\\.{server.table}.*"
    with log_run(server, table__whitelist=None, table__include__list=tables, max__batch__size=20) as run:
        run.open()
        run.until_events(99)
        with server.engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE TABLE {made} (PRIMARY KEY (id)) SELECT * FROM {server.table}")
            connection.exec_driver_sql(f"INSERT INTO {server.table} (id) SELECT seq FROM seq_100_to_199")
        while len(run.events) < 298:
            before = len(run.events)
            run.until(lambda before=before: len(run.events) > before)
            run.close()
            run.open()
        server.run(f"DROP TABLE {made}")
        for table, count in ((made, 99), (server.table, 199)):
            assert sorted(row["id"] for row in run.rebuilt(run.topic(table)).values()) == list(range(1, count + 1))


def test_compressed_events_are_read(server):
    # SHOW BINLOG EVENTS fails in a file that has an event larger than max_allowed_packet, as other tests write.
    server.run("FLUSH BINARY LOGS", "CREATE TABLE {t} (id INT PRIMARY KEY, text LONGTEXT)")
    with log_run(server) as run, server.engine.connect() as connection:
        run.open()
        run.until(lambda: run.batches)
        # A session takes over the server's setting when it begins.
        connection.exec_driver_sql("SET GLOBAL log_bin_compress = ON")
        try:
            server.engine.dispose()
            server.run(
                "INSERT INTO {t} VALUES (1, repeat('x', 100000)), (2, 'short')",
                "UPDATE {t} SET text = repeat('y', 1000)",
                "DELETE FROM {t} WHERE id = 2",
                "CREATE TABLE {t}_b (id INT) COMMENT '" + "c" * 800 + "'",
                "INSERT INTO {t} VALUES (3, repeat('z', 70000))",
            )
        finally:
            connection.exec_driver_sql("SET GLOBAL log_bin_compress = OFF")
        events = [value for _, _, value in run.until_events(7)]
        sizes = [value and len((value["after"] or value["before"])["text"]) for value in events]
        assert [value and value["op"] for value in events] == ["c", "c", "u", "u", "d", None, "c"]
        assert sizes == [100_000, 5, 1000, 1000, 1000, None, 70_000]
        assert events[2]["before"]["text"] == "x" * 100_000
        kinds = {row[2] for row in connection.exec_driver_sql(f"SHOW BINLOG EVENTS IN '{events[6]['source']['file']}'")}
        assert any("compressed" in kind.lower() for kind in kinds), kinds


@with_both
def test_rows_are_read_by_the_types_that_the_columns_had_while_the_connector_was_away(server, metadata):
    kinds = {
        "INT": ("-2", -2, "INT UNSIGNED"),
        "INT UNSIGNED": ("4294967294", 4294967294, "INT"),
        "ENUM('a','b','c')": ("'c'", "c", "ENUM('c','b','a')"),
        "SET('a','b')": ("'a'", "a", "SET('b','a')"),
        "ENUM('é','ü') CHARACTER SET latin1": ("'ü'", "ü", "ENUM('ü','é') CHARACTER SET latin1"),
        "VARCHAR(9) CHARACTER SET latin1": ("'é'", "é", "VARCHAR(9) CHARACTER SET utf8mb4"),
        "DATETIME": ("'2024-02-29 01:02:03'", 1709168523000000 - 3600_000_000, "TIMESTAMP NULL"),
        "VARBINARY(3)": ("x'00'", b"\0", "INT"),
    }
    declared = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
    server.run(f"CREATE TABLE {{t}} (id INT PRIMARY KEY, {declared})")
    with log_run(server, db__timezone="Europe/Berlin") as run:
        run.open()
        run.until(lambda: run.batches)
        run.close()
        server.run(f"INSERT INTO {{t}} VALUES (1, {', '.join(text for text, *_ in kinds.values())})")
        server.run("UPDATE {t} SET c0 = 2, c1 = 2, c6 = NULL, c7 = NULL")
        server.run("ALTER TABLE {t} " + ", ".join(f"MODIFY c{i} {kind[2]}" for i, kind in enumerate(kinds.values())))
        server.run("INSERT INTO {t} (id, c0, c2) VALUES (2, 4294967293, 'c')")
        run.open()
        events = [value["after"] for _, _, value in run.until_events(3)]
    assert events[0] == {"id": 1, **{f"c{i}": value for i, (_, value, _) in enumerate(kinds.values())}}
    assert (events[2]["c0"], events[2]["c2"]) == (4294967293, "c")


@with_both
def test_rows_are_read_by_the_columns_that_the_table_had_while_the_connector_was_away(server, metadata):
    gone = {
        "tinyint unsigned": ("200", 200), "mediumint": ("-5", -5), "bigint unsigned": ("7", 7),
        "decimal(7,2)": ("1.50", Decimal("1.50")), "varchar(9) character set latin1": ("'é'", "é"),
        "char(3) character set utf8mb3": ("'ab'", "ab"), "longtext": ("repeat('x', 70000)", "x" * 70000),
        "varbinary(4)": ("x'0001'", b"\0\1"), "binary(3)": ("x'010000'", b"\1\0\0"), "blob": ("x'ff'", b"\xff"),
        "enum('a','é')": ("'é'", "é"), "set('a','b','c')": ("'a,c'", "a,c"), "double": ("1.25", 1.25),
        "float": ("0.5", 0.5),
        "date": ("'2024-02-29'", dt.date(2024, 2, 29)), "datetime(3)": ("'2024-02-29 01:02:03.004'", 1709168523004000),
        "year": ("1999", 1999), "bit(1)": ("b'1'", 1), "bit(9)": ("b'100000001'", b"\1\1"),
        "smallint unsigned": ("65535", 65535),
    }  # fmt: skip
    declared = ", ".join(f"c{i} {kind}" for i, kind in enumerate(gone))
    server.run(f"CREATE TABLE {{t}} (id INT PRIMARY KEY, a INT, b INT, {declared})")
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        run.close()
        server.run(
            f"INSERT INTO {{t}} VALUES (1, 10, 20, {', '.join(text for text, _ in gone.values())})",
            "INSERT INTO {t} (id, a, b) VALUES (2, 11, 21)",
            "ALTER TABLE {t} CHANGE a was_a INT AFTER b, " + ", ".join(f"DROP c{i}" for i in range(len(gone))),
            "INSERT INTO {t} VALUES (3, 22, 12)",
            "ALTER TABLE {t} DROP b, ADD b TEXT NOT NULL DEFAULT 'new'",
            "ALTER TABLE {t} DROP PRIMARY KEY, ADD PRIMARY KEY (id, was_a)",
            "INSERT INTO {t} VALUES (4, 13, 'text')",
        )
        run.open()
        first, second, third, fourth = (value["after"] for _, _, value in run.until_events(4))
        assert first == {
            "id": 1,
            "a": 10,
            "b": 20,
            **{f"c{i}": value for i, (_, value) in enumerate(gone.values())},
        }
        assert second == {"id": 2, "a": 11, "b": 21, **{f"c{i}": None for i in range(len(gone))}}
        assert third == {"id": 3, "b": 22, "was_a": 12}
        assert fourth == {"id": 4, "was_a": 13, "b": "text"}
        assert [key for _, key, _ in run.events] == [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4, "was_a": 13}]
