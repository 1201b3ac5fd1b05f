"""Checks what the JDBC source says of its columns' types: as the database's catalog writes them, and what its rows
lose.
"""

from __future__ import annotations

from pathlib import Path

from jdbc_drive import OffsetStore, batches, connector, rows, run_sql
from jdbc_server import Server

from connect.lib.deadline import Deadline
from connectors.jdbc.source.connector import JdbcSourceConnector

CUT = "digits of a second behind the third are cut off"
TYPED, LESS, IN_PART = "with its type", "in a type that says less", "in part"
Told = tuple[str, str, str]
COLUMNS: dict[str, dict[str, tuple[str, str, str]]] = {
    "postgres": {
        "id": ("bigint", TYPED, ""),
        "tags": ("text[]", LESS, "its elements are one text, such as {a,b}"),
        "grid": ("numeric(9,2)[]", LESS, "its elements are one text, such as {a,b}"),
        "doc": ("jsonb", LESS, "its members are one text"),
        "span": ("int4range", LESS, "its bounds are one text"),
        "free": ("numeric", LESS, ""),
        "exact": ("numeric(20,0)", TYPED, ""),
        "name": ("character varying(40)", TYPED, ""),
        "code": ("uuid", LESS, ""),
        "micros": ("timestamp without time zone", IN_PART, CUT),
        "six": ("timestamp(6) with time zone", IN_PART, CUT),
        "three": ("timestamp(3) without time zone", TYPED, ""),
        "clock": ("time without time zone", IN_PART, CUT),
        "day": ("date", TYPED, ""),
        "bits": ("bit(3)", LESS, ""),
    },
    "mariadb": {
        "id": ("bigint(20)", TYPED, ""),
        "huge": ("bigint(20) unsigned", IN_PART, "rows with values above 9223372036854775807 are refused"),
        "exact": ("decimal(20,0)", TYPED, ""),
        "kind": ("enum('a','b')", LESS, ""),
        "name": ("varchar(40)", TYPED, ""),
        "note": ("mediumtext", TYPED, ""),
        "six": ("datetime(6)", IN_PART, CUT),
        "whole": ("datetime", TYPED, ""),
        "data": ("longblob", TYPED, ""),
        "year": ("year(4)", TYPED, ""),
    },
}


def told(source: JdbcSourceConnector) -> dict[str, Told]:
    found = list(source.origin_columns(Deadline.after(30)))
    assert len({column.topic for column in found}) == 1
    return {column.field: (column.type, column.kept.value, column.lost) for column in found}


def test_types_are_those_of_the_catalog_with_what_the_rows_lose(server: Server) -> None:
    columns = COLUMNS[server.name]
    server.run(f"CREATE TABLE {{t}} ({', '.join(f'{name} {kind}' for name, (kind, *_) in columns.items())})")
    assert told(server.connector(mode="bulk")) == columns


def test_what_is_said_to_be_lost_is_lost_and_nothing_else(server: Server) -> None:
    written = {
        "postgres": ["1", "'{a,b}'", "'{1.50}'", "'{\"a\": 1}'", "'[1,5)'", "1.50", "12345678901234567890", "'x'",
                     "'00000000-0000-0000-0000-000000000001'", *["'2024-02-29 12:34:56.123456'"] * 2,
                     "'2024-02-29 12:34:56.123'", "'12:34:56.123456'", "'2024-02-29'", "B'101'"],
        "mariadb": ["1", "18446744073709551615", "12345678901234567890", "'a'", "'x'", "'y'",
                    "'2024-02-29 12:34:56.123456'", "'2024-02-29 12:34:56'", "x'00ff'", "2024"],
    }[server.name]  # fmt: skip
    columns = COLUMNS[server.name]
    for (name, (kind, kept, _)), value in zip(columns.items(), written, strict=True):
        inserted = f"INSERT INTO {{t}} VALUES ({value.replace('{', '{{').replace('}', '}}')})"
        server.run("DROP TABLE IF EXISTS {t}", f"CREATE TABLE {{t}} ({name} {kind})", inserted)
        as_text, refused = text_of(server, name)
        is_whole = not refused and as_text == text_in_database(server, name)
        assert is_whole == (kept != IN_PART), f"{name} {kind}: {as_text}"


def text_of(server: Server, name: str) -> tuple[str, bool]:
    """The value as the source gives it, in the database's words; and whether it was refused."""
    store = OffsetStore()
    store.tolerates = True
    task = server.opened(store, mode="bulk", poll__interval__ms=600_000)
    read = rows(batches(task, store))
    task.close()
    if not read:
        return "", bool(store.rejected)
    value = read[0][name]
    if hasattr(value, "isoformat"):
        found = value.isoformat(" ") if hasattr(value, "year") and hasattr(value, "hour") else value.isoformat()
        return found.removesuffix("+00:00"), False
    return (value.hex() if isinstance(value, bytes) else str(value)), False


def text_in_database(server: Server, name: str) -> str:
    column = {"data": "lower(hex(data))", "six": "six"}.get(name, name)
    if server.name == "postgres":
        column = f"({name} AT TIME ZONE 'UTC')::text" if name == "six" else f"{name}::text"
    with server.engine.connect() as connection:
        text = str(connection.exec_driver_sql(f"SELECT {column} FROM {server.table}").scalar())
    return f"{text}000" if name == "three" else text


def test_settings_that_keep_the_digits_lose_nothing(server: Server) -> None:
    server.run("CREATE TABLE {t} (at TIMESTAMP(6), free DECIMAL(9,2))")
    kept = told(server.connector(mode="bulk", timestamp__granularity="micros_long"))
    assert kept["at"][1:] == (TYPED, "")
    refused = told(server.connector(mode="bulk", microsecond__handling="fail"))
    assert refused["at"][1:] == (IN_PART, "rows with digits of a second behind the third are refused")
    rounded = told(server.connector(mode="bulk", numeric__mapping="best_fit_eager_double"))
    if server.name == "postgres":
        assert rounded["free"][1:] == (IN_PART, "a double rounds what has more than 15 digits")


def test_the_domain_of_a_column_is_told_with_what_is_below_it(server: Server) -> None:
    if server.name == "postgres":
        server.run("CREATE DOMAIN {t}_d AS numeric(12,2)", "CREATE TABLE {t} (price {t}_d)")
        assert told(server.connector(mode="bulk"))["price"] == (f"{server.table}_d (numeric(12,2))", TYPED, "")
        server.run("DROP TABLE {t}", "DROP DOMAIN {t}_d")


def test_a_query_of_postgres_has_types_too(server: Server) -> None:
    if server.name == "postgres":
        server.run("CREATE TABLE {t} (id bigint, tags text[])")
        query = f"SELECT id, tags, now() AS at FROM {server.table}"
        columns = told(server.connector(mode="bulk", query=query, table__whitelist=None))
        assert {name: one[0] for name, one in columns.items()} == {
            "id": "bigint", "tags": "text[]", "at": "timestamp with time zone",
        }  # fmt: skip


def test_sqlite_tells_the_types_as_they_were_declared(tmp_path: Path) -> None:
    path = tmp_path / "types.db"
    run_sql(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, at TIMESTAMP, note VARCHAR(9), anything)")
    found = told(connector(path, mode="bulk", table__whitelist="t"))
    assert found["id"] == ("integer", TYPED, "")
    assert found["at"] == ("timestamp", IN_PART, CUT)
    assert found["note"] == ("varchar(9)", TYPED, "")
    assert found["anything"][0] == "not told by the database"
