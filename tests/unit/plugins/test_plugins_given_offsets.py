"""Each source refuses offsets that it could not go on from, names what is wrong, and takes those that it writes."""

from __future__ import annotations

from typing import Any

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.connector import OffsetsConnector
from connect.api.errors import ConfigError
from connect.api.plugin import PluginKind
from connect.api.records import SourcePosition
from connect.plugins.catalog import Catalog

JDBC = {
    "connector.class": "JdbcSource", "connection.url": "jdbc:postgresql://h/db", "topic.prefix": "shop-",
    "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "public.orders",
}  # fmt: skip
LOG = {"connector.class": "JdbcSource", "topic.prefix": "shop", "mode": "log", "table.whitelist": "public.orders"}
POSTGRES = LOG | {"connection.url": "jdbc:postgresql://h/db", "slot.name": "s", "publication.name": "p"}
MARIADB = LOG | {"connection.url": "jdbc:mariadb://h/db"}
DEBEZIUM = {
    "topic.prefix": "shop", "database.hostname": "h", "database.user": "u", "database.password": "p",
    "table.include.list": "public.orders",
}  # fmt: skip
DEBEZIUMS_POSTGRES = DEBEZIUM | {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "database.dbname": "d",
    "plugin.name": "pgoutput",
}  # fmt: skip
DEBEZIUMS_MYSQL = DEBEZIUM | {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector", "database.server.id": "7",
    "schema.history.internal.kafka.bootstrap.servers": "h:1", "schema.history.internal.kafka.topic": "t",
}  # fmt: skip
CASSANDRA = {"connector.class": "CassandraSource", "connect.cassandra.kcql": "INSERT INTO t SELECT * FROM rows",
             "connect.cassandra.contact.points": "h", "connect.cassandra.key.space": "shop"}  # fmt: skip
DEDUP = {"connector.class": "connect.cassandra.CassandraDedupConnector", "topics": "raw.a", "input.prefix": "raw."}
FILES = {"connector.class": "DataFilesSource", "folder": "/tmp/in", "files": "*.json", "format": "json", "topic": "t"}
DATAGEN = {"connector.class": "Datagen", "kafka.topic": "t", "quickstart": "users"}

TABLE, SERVER = {"protocol": "1", "table": "public.orders"}, {"server": "shop"}
SPLIT = {"protocol": "1", "keyspace": "shop", "table": "rows", "table_id": "x", "after": -10, "upto": 10}
WRONG: list[tuple[dict[str, str], dict[str, Any], dict[str, Any], list[str]]] = [
    (JDBC, TABLE, {"incrementing": "7"}, ["offset.incrementing"]),
    (JDBC, TABLE, {"incrementing": 7.0, "timestamp": [1], "timestamp_nanos": -1},
     ["offset.incrementing", "offset.timestamp", "offset.timestamp_nanos"]),
    (JDBC, TABLE, {"incrementing": {"at": 7}}, ["offset.incrementing"]),
    (JDBC, TABLE, {"incrementng": 7}, ["offset"]),
    (JDBC, TABLE, {}, ["offset"]),
    (JDBC, {"tabel": "public.orders"}, {"incrementing": 7}, ["partition"]),
    (JDBC | {"mode": "timestamp", "timestamp.column.name": "at"}, TABLE, {"timestamp": 2**62}, ["offset.timestamp"]),
    (POSTGRES, SERVER, {"lsn": "0/16B3748"}, ["offset"]),
    (POSTGRES, SERVER, {"lsn": -1}, ["offset"]),
    (POSTGRES, SERVER, {"lsn": 1, "ahead": "[7]"}, ["offset"]),
    (POSTGRES, {"server": "ship"}, {"lsn": 1}, ["partition"]),
    (MARIADB, SERVER, {"file": 7, "pos": 4}, ["offset"]),
    (MARIADB, SERVER, {"file": "binlog.000001", "pos": 4, "reached": "[1]"}, ["offset"]),
    (DEBEZIUMS_POSTGRES, SERVER, {"lsn": "0/16B3748"}, ["offset"]),
    (DEBEZIUMS_MYSQL, SERVER, {"file": "binlog.000001", "pos": "4"}, ["offset"]),
    (CASSANDRA, SPLIT, {"token": 11}, ["offset.token"]),
    (CASSANDRA, SPLIT, {"token": 1.5, "partition_key": "??", "sweep": "x"},
     ["offset.token", "offset.partition_key", "offset.sweep"]),
    (CASSANDRA, SPLIT, {"token": 1, "after_ms": 5}, ["offset.upto_ms"]),
    (CASSANDRA, {"table": "rows"}, {"token": 1}, ["partition"]),
    (DEDUP, {"topic": "raw", "partition": 0}, {"next_offset": "7"}, ["offset.next_offset"]),
    (FILES, {"file": "/tmp/in/a.json"}, {"place": "end", "is_read": True}, ["offset.place", "offset.size"]),
    (FILES, {"path": "/tmp/in/a.json"}, {"place": 0}, ["partition"]),
    (DATAGEN, {"task.id": 0}, {"current.iteration": -1}, ["offset.current.iteration"]),
]  # fmt: skip
RIGHT: list[tuple[dict[str, str], dict[str, Any], dict[str, Any] | None]] = [
    (JDBC, TABLE, {"incrementing": -7, "timestamp": 1_700_000_000_000, "timestamp_nanos": 5}),
    (JDBC, {"query": "query"}, {"incrementing": 7, "of another release": "x"}),
    (JDBC, {"table": "orders"}, {"timestamp": 0}),
    (JDBC, {"anything": 1}, None),
    (POSTGRES, SERVER, {"lsn": 24023128, "lsn_proc": 24023128, "txId": 555, "ts_usec": 1, "transaction_id": None}),
    (POSTGRES, SERVER, {"snapshot": True, "last_snapshot_record": False}),
    (MARIADB, SERVER, {"file": "binlog.000001", "pos": 4, "gtids": "0-1-7"}),
    (MARIADB, {"server": "shop", "kind": "history"}, {"history": "kept by itself"}),
    (DEBEZIUMS_POSTGRES, SERVER, {"lsn": 24023128, "lsn_proc": 24023128, "messageType": "INSERT", "txId": 555}),
    (DEBEZIUMS_MYSQL, SERVER, {"file": "binlog.000001", "pos": 4, "ts_sec": 1, "row": 1, "event": 2}),
    (CASSANDRA, SPLIT, {"token": 10, "finished": True, "sweep": 3, "after_ms": 1, "upto_ms": 2}),
    (CASSANDRA, SPLIT, {"token": -10, "finished": False, "partition_key": "AAAB"}),
    (DEDUP, {"topic": "raw", "partition": 0}, {"next_offset": 0}),
    (FILES, {"file": "/tmp/in/a.json"}, {"place": 7, "size": 9, "is_read": False}),
    (DATAGEN, {"task.id": 0}, {"current.iteration": 0}),
]  # fmt: skip


def connector(config: dict[str, str]) -> OffsetsConnector:
    """The connector of a configuration, which has connected to nothing."""
    plugin = Catalog.installed().find(config["connector.class"], PluginKind.SOURCE)
    assert plugin is not None
    made = Catalog.load(plugin)(plugin.config.parse(plugin.config.with_leave({"name": "c", **config}, EVERYWHERE)))
    assert isinstance(made, OffsetsConnector)
    return made


@pytest.mark.parametrize(("config", "partition", "offset", "keys"), WRONG, ids=str)
def test_an_offset_that_is_no_place_is_refused_with_every_member_that_is_wrong(
    config: dict[str, str], partition: dict[str, Any], offset: dict[str, Any], keys: list[str]
) -> None:
    with pytest.raises(ConfigError) as refused:
        connector(config).alter_offsets([SourcePosition(partition, offset)])
    assert [problem.key for problem in refused.value.problems] == keys
    assert all(problem.message.startswith(problem.key) for problem in refused.value.problems)


@pytest.mark.parametrize(("config", "partition", "offset"), RIGHT, ids=str)
def test_an_offset_that_a_source_of_ours_or_javas_writes_is_taken(
    config: dict[str, str], partition: dict[str, Any], offset: dict[str, Any] | None
) -> None:
    connector(config).alter_offsets([SourcePosition(partition, offset), SourcePosition(partition, None)])
