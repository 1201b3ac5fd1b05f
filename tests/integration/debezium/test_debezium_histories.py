"""Draws random histories of Debezium's connectors against a plain model: each committed change comes, in order, as it
was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from binlog_servers import binlog_server
from debezium_bed import connected, server_of_many_slots
from debezium_model import check
from debezium_ours import OurRun
from debezium_peer import Found, free_slot, postgres_config
from debezium_writer import Writer
from histories import History, run_histories

pytestmark = pytest.mark.timeout(600)
Config = dict[str, str]
Statement = Callable[[str], None]


@contextmanager
def _postgres() -> Iterator[tuple[Statement, Config]]:
    with server_of_many_slots() as server, connected(server) as database:
        config = postgres_config(server, "drawn", **{"publication.autocreate.mode": "all_tables"})
        try:
            yield lambda sql: _executed(database.execute, sql.encode()), config
        finally:
            free_slot(database, "drawn")


@contextmanager
def _binlog(kind: str) -> Iterator[tuple[Statement, Config]]:
    with binlog_server(kind) as server:
        server.run("CREATE DATABASE drawn", "USE drawn")
        yield server.run, server.config("drawn", **{"database.include.list": "drawn"})


def _executed(execute: Callable[[bytes], object], sql: bytes) -> None:
    execute(sql)


def _place(source: Mapping[str, Any]) -> object:
    """Return where a change stands in its log."""
    return source["lsn"] if "lsn" in source else (source["file"], source["pos"], source["row"])


@pytest.mark.histories
@pytest.mark.parametrize("kind", ["postgres", "mariadb", "mysql"])
def test_every_change_comes_in_random_histories(kind: str) -> None:
    def one_history(history: History) -> None:
        with _postgres() if kind == "postgres" else _binlog(kind) as (run, config):
            _history(history, run, config, is_postgres=kind == "postgres")

    run_histories(f"debezium-{kind}", one_history, short=1)


def _history(history: History, run: Statement, config: Config, *, is_postgres: bool) -> None:
    draw, schema = history.draw, "public" if is_postgres else "drawn"
    writer = Writer(history, run, is_postgres=is_postgres)
    for name in ("one", "two"):
        writer.create(name, replica_identity_full=draw.random() < 0.5)
    found: Found = {}
    life = _life(history, config, found, {})
    for _ in range(draw.choice((10, 40, 80))):
        if draw.random() < 0.6:
            writer.step()
        elif draw.random() < 0.85:
            life.poll()
        else:
            history.note("crash", offsets=life.offsets)
            life.close()
            if "snapshot" in str(life.offsets or "snapshot") or draw.random() < 0.5:
                _roll_back(found, life)
            life = _life(history, config, found, life.offsets)
    try:
        _until_followed(life, found, writer, schema)
    finally:
        life.close()
    for table in writer.tables:
        check(table, {table.name: found.get(f"{schema}.{table.name}", [])}, _place)
    history.note("compared", records={topic: len(records) for topic, records in found.items()})


def _life(history: History, config: Config, found: Found, offsets: Mapping[str, Mapping[str, object]]) -> OurRun:
    # Else JSON says the default of a column where it is NULL, as Apache Kafka's converter does.
    as_it_is = {"replace.null.with.default": "false"}
    life = OurRun(config, offsets, lambda: history.draw.random() < 0.3, as_it_is)
    life.found = found
    return life


def _roll_back(found: Found, life: OurRun) -> None:
    """Forget the records whose position was not stored, as a transaction that is not committed does.

    Without one, rows of a first read that is broken off stay, and their deletions before it goes on are not told.
    """
    for topic, records in life.unstored.items():
        del found[topic][-records:]


def _until_followed(life: OurRun, found: Found, writer: Writer, schema: str) -> None:
    """Read until a row that is written now has come from the log, and so all that was written before it.

    A first read that goes on late may find that row in its table.
    """
    operations: set[str] = {"r"}
    while "r" in operations:
        last = {f"{schema}.{table}": key for table, key in writer.last().items()}
        life.until_true(lambda _, last=last: all(_operations(found, topic, key) for topic, key in last.items()))
        operations = set().union(*(_operations(found, topic, key) for topic, key in last.items()))


def _operations(found: Found, topic: str, key: int) -> set[str]:
    """Return the operations of a row that a topic tells."""
    told = (record for record in found.get(topic, ()) if record["value"])
    return {record["value"]["payload"]["op"] for record in told if _key(record) == key}


def _key(record: Mapping[str, Any]) -> int:
    key: int = record["key"]["payload"]["id"]
    return key
