"""Reads files of DuckDB into records."""

from __future__ import annotations

import resource
import subprocess
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from jdbc_drive import OffsetStore, batches, rows

from connect.api import schema as s
from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.connector import JdbcSourceConnector
from connectors.jdbc.source.task import JdbcSourceTask

TYPES = """
  id BIGINT PRIMARY KEY, ti TINYINT, ut UTINYINT, ub UBIGINT, hu HUGEINT, de DECIMAL(18,4), f FLOAT, d DOUBLE,
  bo BOOLEAN, v VARCHAR, b BLOB, dd DATE, tt TIME, ts TIMESTAMP, tz TIMESTAMPTZ, tn TIMESTAMP_NS, u UUID, j JSON,
  e ENUM('a', 'b'), l INTEGER[], st STRUCT(x INTEGER)
"""
VALUES = """
  1, -128, 255, 9223372036854775807, 170141183460469231731687303715884105727, -99999999999999.9999, 0.5, 0.1, true,
  'Straße 🙂', '\\x00\\xFF'::BLOB, '2024-02-29', '23:59:59.999', '2024-02-29 12:34:56.789', '2024-02-29 12:00:00+02',
  '2024-02-29 12:34:56.789', '3f333df6-90a4-4fda-8dd3-9485d27cee36', '{"a": 1}', 'b', [1, 2], {'x': 1}
"""


def run(path: Path, *statements: str) -> None:
    """Write to the file, which is closed behind it."""
    with duckdb.connect(str(path)) as session:
        for statement in statements:
            session.execute(statement)


def config(path: Path, **more: object) -> JdbcSourceConfig:
    given = {
        "connection.url": f"jdbc:duckdb:{path}", "topic.prefix": "db-", "poll.interval.ms": "20",
        "poll.linger.ms": "60", "allowed.paths": str(path.parent),
        **{name.replace("__", "."): str(value) for name, value in more.items()},
    }  # fmt: skip
    return JdbcSourceConfig.parse(given)


def opened(path: Path, store: OffsetStore, **more: object) -> JdbcSourceTask:
    settings = config(path, **more)
    planned = JdbcSourceConnector(settings)
    planned.check(Deadline.after(60))
    (task_config,) = planned.task_configs(1)
    task = planned.task({**task_config, "allowed.paths": str(path.parent)})
    task.open(store)
    return task


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "o'clock.duckdb"


@pytest.mark.parametrize("reader", ["auto", "generic"])
def test_every_type_comes_without_loss(file: Path, reader: str) -> None:
    run(file, f"CREATE TABLE t ({TYPES})", f"INSERT INTO t VALUES ({VALUES})", "INSERT INTO t (id) VALUES (2)")
    store = OffsetStore()
    task = opened(file, store, mode="bulk", poll__interval__ms=600_000, table__whitelist="t", reader=reader)
    read = batches(task, store)
    task.close()
    full, empty = rows(read)
    at = datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC)
    full |= {name: full[name].replace(tzinfo=UTC) for name in ("ts", "tz", "tn")}
    assert full == {
        "id": 1, "ti": -128, "ut": 255, "ub": 2**63 - 1, "hu": str(2**127 - 1), "de": Decimal("-99999999999999.9999"),
        "f": 0.5, "d": 0.1, "bo": True, "v": "Straße 🙂", "b": b"\x00\xff", "dd": date(2024, 2, 29),
        "tt": time(23, 59, 59, 999000), "ts": at, "tz": datetime(2024, 2, 29, 10, tzinfo=UTC), "tn": at,
        "u": "3f333df6-90a4-4fda-8dd3-9485d27cee36", "j": '{"a": 1}', "e": "b", "l": "[1, 2]", "st": "{'x': 1}",
    }  # fmt: skip
    assert set(empty.values()) == {2, None}
    kinds = {field.name: field.schema.type for field in read[0].values.schema.fields}
    assert [kinds[name] for name in ("ti", "ut", "ub", "f", "d")] == [
        s.Type.INT8, s.Type.INT16, s.Type.INT64, s.Type.FLOAT32, s.Type.FLOAT64,
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["BIGINT", "VARCHAR"])
def test_a_bulk_read_goes_on_behind_its_last_key(file: Path, key: str) -> None:
    run(file, f"CREATE TABLE t (id {key} PRIMARY KEY, v INTEGER)", "INSERT INTO t SELECT i, i FROM range(10, 40) r(i)")
    store = OffsetStore()
    settings = {"mode": "bulk", "poll__interval__ms": 600_000, "batch__max__rows": 7, "table__whitelist": "t"}
    task = opened(file, store, **settings)
    first = batches(task, store, at_most=2)
    task.close()
    task = opened(file, store, **settings)
    rest = batches(task, store)
    task.close()
    assert [row["v"] for row in rows([*first, *rest])] == list(range(10, 40))
    assert len(first) == 2


@pytest.mark.parametrize("reader", ["auto", "generic"])
@pytest.mark.parametrize("mode", ["timestamp", "timestamp+incrementing"])
def test_rows_ordered_by_nanoseconds_come_once(file: Path, reader: str, mode: str) -> None:
    run(file, "CREATE TABLE t (id INTEGER PRIMARY KEY, ts TIMESTAMP_NS)", "INSERT INTO t (id) VALUES (90)")
    falling = "('2024-01-01 00:00:00.00000100' || (10 - i))::TIMESTAMP_NS"
    run(file, f"INSERT INTO t SELECT i, {falling} FROM range(1, 9) r(i)")
    store = OffsetStore()
    more = {
        "mode": mode, "timestamp__column__name": "ts", "table__whitelist": "t", "reader": reader,
        "batch__max__rows": 3, "validate__non__null": "false", "timestamp__granularity": "micros_long",
    } | ({"incrementing__column__name": "id"} if "incrementing" in mode else {})  # fmt: skip
    came = []
    for later in ("'2024-01-01 00:00:00.000001999'", "'2024-01-01 00:00:00.000003001'"):
        task = opened(file, store, **more)
        came.append([(row["id"], row["ts"] - 1704067200000000) for row in rows(batches(task, store))])
        task.close()
        run(file, f"INSERT INTO t SELECT max(id) + 1, {later} FROM t")
    assert came == [[(number, 1) for number in range(1, 9)], [(91, 2)]]


def test_new_and_changed_rows_come_once_and_others_write_between_passes(file: Path) -> None:
    run(file, "CREATE TABLE t (id INTEGER, ts TIMESTAMP NOT NULL)")
    run(file, "INSERT INTO t SELECT i, TIMESTAMP '2024-01-01' + INTERVAL (i // 3) SECOND FROM range(1, 9) r(i)")
    store = OffsetStore()
    both = {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"}
    task = opened(file, store, **both, batch__max__rows=3, table__whitelist="t", validate__non__null="false")
    assert [row["id"] for row in rows(batches(task, store))] == list(range(1, 9))
    writer = (
        f"import duckdb\nwith duckdb.connect({str(file)!r}) as c:\n"
        " c.execute(\"UPDATE t SET ts = '2024-01-02' WHERE id = 4; INSERT INTO t VALUES (9, '2024-01-03')\")"
    )
    done = subprocess.run([sys.executable, "-c", writer], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert [row["id"] for row in rows(batches(task, store))] == [4, 9]
    task.close()


def test_a_file_that_another_process_writes_is_waited_for(file: Path) -> None:
    run(file, "CREATE TABLE t (id INTEGER)")
    holds = f"import duckdb, sys\nc = duckdb.connect({str(file)!r})\nprint('holds', flush=True)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"holds\n"
        database = Database(config(file, mode="bulk", table__whitelist="t"))
        with pytest.raises(RetriableError, match="Could not set lock"):
            database.connection  # noqa: B018 - connects
        writer.communicate()
    assert not database.connection.closed
    database.close()


def test_a_million_rows_cost_little_more_than_their_columns(file: Path) -> None:
    run(file, "CREATE TABLE t AS SELECT range AS id, 'customer ' || range AS v, range * 0.5 AS d FROM range(1_000_000)")
    store = OffsetStore()
    task = opened(file, store, mode="bulk", poll__interval__ms=600_000, batch__max__rows=20_000, table__whitelist="t")
    before = resource.getrusage(resource.RUSAGE_SELF)
    read = 0
    while read < 1_000_000:
        batch = task.poll(Deadline.after(30))
        if batch is not None:
            store.store(batch)
            read += len(batch)
    task.close()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert read == 1_000_000
    assert cpu_s < 3, "300,000 rows in a second of CPU time are the least; it takes about a tenth of that"
