"""Makes statements that change databases and tables of MariaDB and MySQL, and compares the events of two connectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MODES: Mapping[str, Mapping[str, str]] = {
    "all": {},
    "own": {
        "schema.history.internal.store.only.captured.tables.ddl": "true", "include.schema.comments": "true",
        "table.include.list": "shop.orders,shop.l.*",
    },
}  # fmt: skip
"""Maps the name of each choice of statements to its settings."""
_LAST = {"all": "CREATE TABLE zz_end (id int PRIMARY KEY)", "own": "ALTER TABLE l3 DROP PRIMARY KEY"}
KNOWN = ("RENAME TABLE shop.nokey TO shop.l2",)
"""Only our connector tells the columns of these statements: Debezium did not know the table by its other name."""
_OF_NOW = frozenset({"ts_ms", "ts_us", "ts_ns"})
_OF_ONE_SERVER = _OF_NOW | {"file", "pos", "gtid", "server_id", "thread"}


SETUP = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "CREATE DATABASE away",
    (
        "CREATE TABLE shop.orders (id int NOT NULL AUTO_INCREMENT, name varchar(40) CHARACTER SET latin1 "
        "DEFAULT 'a''b' COMMENT 'who', price decimal(10,2) unsigned NOT NULL DEFAULT '1.50', "
        "kind enum('a','b','c,d') DEFAULT 'b', flags set('x','y'), at timestamp(3) NOT NULL "
        "DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), b bit(3) DEFAULT b'101', note text, "
        "tiny tinyint(1) DEFAULT 1, big bigint unsigned zerofill, dbl double(7,3), blobby varbinary(8) DEFAULT 'zz', "
        "doc json, y year, d date DEFAULT '2020-01-02', dt datetime DEFAULT '2020-01-02 03:04:05', t time(6), "
        "gen int GENERATED ALWAYS AS (tiny + 1) STORED, shape geometry, PRIMARY KEY (id), KEY by_name (name)) "
        "ENGINE=InnoDB COMMENT='all of it'"
    ),
    ("CREATE TABLE shop.two_keys (b int, a varchar(9) NOT NULL, c char(3), PRIMARY KEY (b, a)) DEFAULT CHARSET=latin1"),
    "CREATE TABLE shop.nokey (a int, u int UNIQUE NOT NULL)",
    "CREATE TABLE away.other (id int PRIMARY KEY)",
    "INSERT INTO shop.nokey VALUES (1,1)",
)
"""These statements make the databases and tables of the first read."""
STATEMENTS = (
    "CREATE TABLE shop.later (id int PRIMARY KEY, v varchar(10) DEFAULT 'q')",
    "/* hi */ ALTER TABLE shop.later ADD COLUMN w decimal(5,1) NOT NULL DEFAULT 2.5 AFTER id, MODIFY v varchar(20)",
    "ALTER TABLE shop.later RENAME COLUMN w TO ww",
    "ALTER TABLE shop.later DROP COLUMN ww",
    "CREATE INDEX vi ON shop.later (v)",
    "DROP INDEX vi ON shop.later",
    "CREATE UNIQUE INDEX vu ON shop.later (v)",
    "ALTER TABLE shop.later ADD INDEX vj (v)",
    "TRUNCATE TABLE shop.later",
    "RENAME TABLE shop.later TO shop.latest",
    "RENAME TABLE shop.latest TO shop.l1, shop.nokey TO shop.l2",
    "ALTER TABLE shop.l1 RENAME TO shop.l3",
    "CREATE TABLE shop.liked LIKE shop.orders",
    "CREATE TABLE shop.chosen AS SELECT * FROM shop.two_keys",
    "DROP TABLE shop.liked, shop.chosen",
    "DROP TABLE IF EXISTS shop.never",
    "CREATE VIEW shop.vw AS SELECT * FROM shop.orders",
    "DROP VIEW shop.vw",
    "CREATE TABLE away.more (id int PRIMARY KEY)",
    "ALTER TABLE away.more ADD x int",
    "DROP TABLE away.more",
    "CREATE DATABASE third",
    "ALTER DATABASE shop CHARACTER SET latin1",
    "DROP DATABASE third",
    "CREATE USER 'u1'@'%' IDENTIFIED BY 'topsecret'",
    "CREATE PROCEDURE shop.p() SELECT 1",
    "CREATE TRIGGER shop.tr BEFORE INSERT ON shop.l3 FOR EACH ROW SET NEW.v = 'x'",
    "ANALYZE TABLE shop.l3",
    "USE shop",
    "ALTER TABLE l3 COMMENT 'unqualified'",
    "ALTER TABLE l3 DROP PRIMARY KEY",
    "CREATE TABLE IF NOT EXISTS l3 (id int)",
    "CREATE TEMPORARY TABLE tmp1 (id int)",
    "SET @x = 1",
    *("BEGIN", "INSERT INTO shop.l2 VALUES (2,2)", "COMMIT"),
    "DROP DATABASE away",
    "CREATE TABLE `we``ird` (`a b` int PRIMARY KEY, `é` varchar(3))",
    _LAST["all"],
)
"""The log has these statements after the first read."""


def has_first_read(records: Sequence[Mapping[str, Any]]) -> bool:
    """Tell if an event of a table of the first read has come; its place in the log is known then."""
    return any(_ddl(record).startswith("CREATE TABLE `orders`") for record in records)


def is_at_end(records: Sequence[Mapping[str, Any]], mode: str) -> bool:
    """Tell if the event of the last statement that a mode tells has come."""
    return any(_ddl(record) == _LAST[mode] for record in records)


def _ddl(record: Mapping[str, Any]) -> str:
    return str(record["value"]["payload"]["ddl"])


def comparable(records: Sequence[Mapping[str, Any]], *, of_one_log: bool) -> list[Any]:
    """Return what must be the same in the events of two connectors. `of_one_log` says that both read the log of the
    same server.
    """
    made = []
    for record in records:
        payload = record["value"]["payload"]
        is_read = payload["source"]["snapshot"] != "false"
        left_out = {"version", "name", "snapshot", *(_OF_NOW if is_read else ())}
        left_out |= set() if of_one_log else _OF_ONE_SERVER
        source = {name: value for name, value in payload["source"].items() if name not in left_out}
        headers = [name for name, _ in record["headers"]]
        if any(known in payload["ddl"] for known in KNOWN):
            payload = {**payload, "tableChanges": None}
        schemas = (record["key"]["schema"], record["value"]["schema"])
        told = {**payload, "source": source, "ts_ms": type(payload["ts_ms"]).__name__}
        made.append((is_read, record["key"]["payload"], told, headers, schemas))
    return made
