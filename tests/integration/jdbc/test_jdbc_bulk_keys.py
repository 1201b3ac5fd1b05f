"""Reads tables in bulk with every kind of key, and with none: each row comes once, wherever reading is broken off."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from jdbc_server import Server

from connect.api.optional.bulk import BulkPlan, Split, SplitSize
from connect.lib.deadline import Deadline
from connectors.jdbc.source import bulk
from connectors.jdbc.source.connector import JdbcSourceConnector

MODES = {
    "incrementing": {"mode": "incrementing", "incrementing__column__name": "id"},
    "timestamp": {"mode": "timestamp", "timestamp__column__name": "ts"},
    "both": {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"},
}
OLD = "TIMESTAMP '2024-01-01 00:00:00'"
PAGE = 7


def planned(server: Server, mode: str, **settings: object) -> tuple[JdbcSourceConnector, BulkPlan]:
    connector = server.connector(**MODES[mode], settle__time__ms=None, batch__max__rows=5, **settings)
    return connector, connector.plan_bulk(SplitSize(20, 2**20), Deadline.after(60))


def read(connector: JdbcSourceConnector, split: Split) -> list[Any]:
    """What a reader gives that is thrown away wherever it may be, and goes on in another one behind what it gave."""
    kept: list[Any] = []
    after = None
    while True:
        reader = connector.bulk_reader()
        part: list[Any] = []
        for batch in reader.read(split, after):
            rows = [row.get("after") or row for row in batch.values.rows()]
            part += [(row["id"], row["v"]) for row in rows]
            assert batch.position is not None
            if batch.position.offset is not None:
                after = dict(batch.position.offset)
                break
        reader.close()
        kept += part
        if not part or (after is not None and "range_finished" in after):
            return kept


def came(connector: JdbcSourceConnector, plan: BulkPlan) -> Counter[Any]:
    return Counter(row for split in plan.splits for row in read(connector, split))


def there(server: Server) -> Counter[Any]:
    with server.engine.connect() as connection:
        return Counter((row[0], row[1]) for row in connection.exec_driver_sql(f"SELECT id, v FROM {server.table}"))


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PAGE_ROWS", PAGE)


@pytest.mark.parametrize("mode", MODES)
def test_a_table_without_a_key_is_read_once(server: Server, mode: str):
    server.run("CREATE TABLE {t} (id BIGINT NOT NULL, ts TIMESTAMP(6) NOT NULL, v VARCHAR(20))")
    rows = ", ".join(f"({i}, {OLD} + INTERVAL '{i // 9}' SECOND, 'v{i}')" for i in range(1, 101))
    server.run(f"INSERT INTO {{t}} VALUES {rows}")
    connector, plan = planned(server, mode)
    assert (len(plan.splits) > 1) is (mode != "timestamp"), "ranges of the id"
    assert came(connector, plan) == there(server)


def test_rows_alike_in_all_that_orders_them_are_read_once(server: Server):
    server.run(
        "CREATE TABLE {t} (id BIGINT, ts TIMESTAMP(6) NOT NULL, v VARCHAR(20))",
        "INSERT INTO {t} VALUES " + ", ".join([f"(1, {OLD}, 'same')"] * 30),
        "INSERT INTO {t} VALUES " + ", ".join(f"({i}, {OLD} + INTERVAL '1' SECOND, 'v')" for i in range(25)),
    )
    connector, plan = planned(server, "timestamp")
    assert came(connector, plan) == there(server)
    server.run("UPDATE {t} SET id = 5 WHERE v = 'v'")
    connector, plan = planned(server, "incrementing", validate__non__null="false")
    assert came(connector, plan) == there(server)


def test_the_log_of_a_table_without_a_key_begins_behind_each_row_once(server: Server):
    server.run(
        "CREATE TABLE {t} (id BIGINT, v VARCHAR(20))",
        "INSERT INTO {t} VALUES " + ", ".join(["(1, 'same')"] * 30 + [f"({i}, 'v')" for i in range(25)]),
    )
    if server.name == "postgres":
        server.run("ALTER TABLE {t} REPLICA IDENTITY FULL")
    connector = server.connector(mode="log", max__batch__size=4, slot__name=server.table)
    plan = connector.plan_bulk(SplitSize(20, 2**20), Deadline.after(60))
    assert came(connector, plan) == there(server)


@pytest.mark.parametrize("mode", MODES)
def test_negative_ids_and_times_before_1970_are_read_unless_the_configuration_begins_later(server: Server, mode: str):
    early = "1969-07-20 20:17:40" if server.name == "postgres" else "1971-07-20 20:17:40"
    server.run(
        "CREATE TABLE {t} (id BIGINT NOT NULL PRIMARY KEY, ts DATETIME(6) NOT NULL, v VARCHAR(20))"
        if server.name == "mariadb"
        else "CREATE TABLE {t} (id BIGINT NOT NULL PRIMARY KEY, ts TIMESTAMP NOT NULL, v VARCHAR(20))",
        "INSERT INTO {t} VALUES " + ", ".join(f"({i}, TIMESTAMP '{early}', 'v')" for i in range(-40, 40, 3)),
    )
    connector, plan = planned(server, mode)
    assert came(connector, plan) == there(server)
    if mode == "incrementing":
        connector, plan = planned(server, mode, incrementing__initial=5)
        assert min(row[0] for row in came(connector, plan)) == 8


KEYS = {
    "both": {
        "text": ("VARCHAR(10)", [f"'n{i}'" for i in range(40)]),
        "text of any case": ("VARCHAR(10)", [f"'{c}{i}'" for i in range(20) for c in "aZ"]),
        "blanks": ("CHAR(10)", [f"'n{i} '" for i in range(40)]),
        "decimal": ("NUMERIC(20, 2)", [f"{i}.{i:02}" for i in range(-20, 20)]),
        "date": ("DATE", [f"'2024-01-{i:02}'" for i in range(1, 31)]),
        "instant": ("TIMESTAMP(6)", [f"'2024-01-01 00:00:00.{i:06}'" for i in range(1, 31)]),
        "negative": ("SMALLINT", [str(i) for i in range(-20, 20)]),
        "umlauts": ("VARCHAR(20)", [f"'{c}{i}'" for i in range(5) for c in ("ä", "o", "ß", "ü", "Z", "é", "😀")]),
    },
    "postgres": {
        "uuid": ("UUID", [f"'00000000-0000-4000-8000-{i * 7919 % 997:012}'" for i in range(40)]),
        "enum": ("kind_{t}", [f"'k{i}'" for i in range(12)]),
        "float": ("DOUBLE PRECISION", ["'NaN'", "'-Infinity'", "'Infinity'", *(f"{i}.5" for i in range(20))]),
        "bytes": ("BYTEA", [rf"'\x{i:02x}ff'" for i in range(40)]),
    },
    "mariadb": {
        "uuid": ("UUID", [f"'00000000-0000-4000-8000-{i * 7919 % 997:012}'" for i in range(40)]),
        "enum": ("ENUM('z','y','b','a','q')", ["'z'", "'y'", "'b'", "'a'", "'q'"]),
        "unsigned": ("BIGINT UNSIGNED", [*map(str, range(20)), *(str(2**63 - 5 + i) for i in range(5))]),
        "bytes": ("VARBINARY(10)", [f"x'{i:02x}ff'" for i in range(40)]),
    },
}


@pytest.mark.parametrize(
    ("server", "kind"),
    [(name, kind) for name in ("postgres", "mariadb") for kind in KEYS["both"] | KEYS[name]],
    indirect=["server"],
)
def test_a_key_of_any_type_is_read_once(server: Server, kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bulk, "PAGE_ROWS", 2)
    type_, values = (KEYS["both"] | KEYS[server.name])[kind]
    if kind == "enum" and server.name == "postgres":
        labels = ", ".join(f"'k{i * 5 % 12}'" for i in range(12))
        server.run(f"CREATE TYPE kind_{{t}} AS ENUM ({labels})")
    server.run(
        f"CREATE TABLE {{t}} (id {type_} PRIMARY KEY, ts TIMESTAMP(6) NOT NULL, v VARCHAR(20))",
        *(f"INSERT INTO {{t}} VALUES ({value}, {OLD}, 'v{i}')" for i, value in enumerate(values)),
    )
    connector = server.connector(
        **MODES["timestamp"], settle__time__ms=None, batch__max__rows=1, numeric__mapping="precision_only"
    )
    plan = connector.plan_bulk(SplitSize(5, 2**20), Deadline.after(60))
    found = came(connector, plan)
    assert Counter(v for _, v in found.elements()) == Counter(f"v{i}" for i in range(len(values)))


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
@pytest.mark.parametrize("mode", MODES)
def test_rows_of_a_table_that_inherits_may_have_ids_of_the_parent_and_come_once(server: Server, mode: str):
    server.run(
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, ts TIMESTAMP(6) NOT NULL, v VARCHAR(20))",
        "CREATE TABLE {t}_heir () INHERITS ({t})",
        *(
            f"INSERT INTO {{t}}{heir} SELECT i, {OLD} + i / 9 * INTERVAL '1 second', 'v{heir}' || i "
            "FROM generate_series(1, 50) i"
            for heir in ("", "_heir")
        ),
    )
    connector, plan = planned(server, mode)
    assert came(connector, plan) == there(server)
