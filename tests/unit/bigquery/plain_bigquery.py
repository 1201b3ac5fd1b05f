"""Models BigQuery's rules for tables and jobs in plain Python, which no emulator keeps; `plain_bigquery_client.py` asks
it.

A job's id is taken once. A statement reads the tables as they were when it began, and writes when it ends: where
another one has changed its table meanwhile it fails, unless both only added rows; then the rows of both are there. No
record stands for one with other members, as it does in DuckDB. A table has a version, and a change that names an old
one is refused. DuckDB runs the text of the statements; nothing of the sink is used.
"""

from __future__ import annotations

import io
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

import duckdb
import pyarrow.parquet as pq
from google.api_core import exceptions as api
from google.cloud import bigquery

PROJECT: Final = "p"
DATASET: Final = "d"
_TYPES: Final = {
    "INTEGER": "BIGINT", "STRING": "VARCHAR", "BOOLEAN": "BOOLEAN", "TIMESTAMP": "TIMESTAMPTZ", "FLOAT": "DOUBLE",
}  # fmt: skip
_JOB_FAULTS: Final = ("backendError", "jobRateLimitExceeded", "quotaExceeded")


@dataclass
class StoredTable:
    """A table's description, the number of its last change of rows, and whether that one only added rows."""

    resource: dict[str, Any]
    version: int = 0
    changes: list[bool] = field(default_factory=list)
    counted: tuple[int, str] = (0, "0")
    """A version, and its number of rows."""


@dataclass
class StoredJob:
    """A job. left: how often it is asked for until it ends. end: what it does then; returns its error or None."""

    job_id: str
    labels: dict[str, str]
    left: int
    end: Callable[[], dict[str, str] | None]
    counts: Any = None
    rows: int = 0
    billed: int = 0
    found: list[dict[str, Any]] = field(default_factory=list)
    state: str = "RUNNING"
    error_result: dict[str, str] | None = None


class PlainBigQuery:
    """The service: what all clients see. `faults`: how likely a request is refused or loses its answer.

    `billed`: when a job was submitted, its id, and the bytes that it is billed for.
    """

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.faults = 0.0
        self.streamed: dict[str, int] = {}
        self.billed: list[tuple[float, str, int]] = []
        self.changed_by: list[tuple[str, dict[str, str], str]] = []
        """Each statement that changes rows: its table, the labels of that when it began, and its text."""
        self.now_s: Callable[[], float] = time.time
        self.lock = threading.RLock()
        self.tables: dict[str, StoredTable] = {}
        self.views: dict[str, bigquery.Table] = {}
        self.jobs: dict[str, StoredJob] = {}
        self.running: list[StoredJob] = []
        self.database = duckdb.connect()
        self.database.execute(f"SET TimeZone = 'UTC'; SET threads = 1; ATTACH ':memory:' AS {PROJECT}")
        # The optimizer of DuckDB 2.0.0 loses rows of a LEFT JOIN whose right side is empty by a join of its own.
        self.database.execute("PRAGMA disable_optimizer")
        self.database.execute(f"CREATE SCHEMA {PROJECT}.{DATASET}; CREATE SCHEMA {PROJECT}.work")

    def rows(self, table: str) -> list[dict[str, Any]]:
        with self.lock:
            return self.database.sql(f"SELECT * FROM {sql_of(table)}").to_arrow_table().to_pylist()

    def size(self, table: str) -> str:
        stored = self.tables[table]
        if stored.counted[0] != stored.version:
            stored.counted = stored.version, str(self._count(f"SELECT * FROM {sql_of(table)}"))
        return stored.counted[1]

    def rest(self) -> None:
        """Let time pass until all jobs have ended."""
        with self.lock:
            while self.running:
                self.tick()

    def tick(self) -> None:
        """Time passes: jobs go on, and rows leave the streaming buffer."""
        for job in [job for job in self.running if job.state == "RUNNING"]:
            job.left -= 1
            if job.left <= 0:
                job.state, job.error_result = "DONE", job.end()
                self.running.remove(job)
        self.streamed = {name: left - 1 for name, left in self.streamed.items() if left > 1}

    def stored(self, name: str) -> StoredTable:
        if name not in self.tables:
            raise api.NotFound(f"Not found: Table {PROJECT}:{DATASET}.{name}")
        return self.tables[name]

    def cost_of(self, sql: str) -> int:
        """What a statement is billed for: a mebibyte for each row of the tables that it names, ten for a table.

        A view is made for nothing.
        """
        if sql.startswith("CREATE"):
            return 0
        named = [table for table in self.tables if sql_of(table) in sql]
        return sum(max(10, int(self.size(table))) << 20 for table in named)

    def submit(self, job_id: str, labels: dict[str, str], begin: Callable[[StoredJob], None]) -> StoredJob:
        """Take an id, or refuse it; `begin` says what the job does at its end."""
        if job_id in self.jobs:
            raise api.Conflict(f"Already Exists: Job {PROJECT}:{job_id}")
        job = StoredJob(job_id, dict(labels), self.draw.choice([0, 0, 1, 3, 8, 40]), lambda: None)
        begin(job)
        if self.faults and self.draw.random() < self.faults / 2:
            reason = self.draw.choice(_JOB_FAULTS)
            job.end = lambda: {"reason": reason, "message": "It passes."}
        self.jobs[job_id] = job
        self.running.append(job)
        return job

    def answer(self, sql: str) -> list[dict[str, Any]]:
        """Run what changes no rows: a query, or a view that is made anew."""
        try:
            found = self.database.execute(sql)
        except duckdb.CatalogException as error:
            raise api.NotFound(f"Not found: {error}") from error
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def define(self, sql: str) -> list[dict[str, Any]]:
        """Run a query, or make a view anew, which is listed then."""
        rows = self.answer(sql)
        if sql.startswith("CREATE"):
            name = sql.split()[4].replace('"', "")
            self.views[name.rpartition(".")[2]] = view = bigquery.Table(name)
            view.view_query = sql
        return rows

    def write(self, name: str, sql: str, job: StoredJob) -> None:
        """Run a statement on a copy of its table as it is now; the copy's rows are the table's when the job ends."""
        table, database = self.stored(name), self.database
        self.changed_by.append((name, dict(table.resource.get("labels") or {}), sql))
        copy = f"{PROJECT}.work.w{len(self.jobs)}"
        before = table.version
        database.execute(f"CREATE TABLE {copy}_old AS SELECT * FROM {sql_of(name)}")
        database.execute(f"CREATE TABLE {copy} AS SELECT * FROM {copy}_old")
        assert sql.count(sql_of(name)) == 1, "a statement names its table once"
        database.execute(sql.replace(sql_of(name), copy))
        kept = self._count(f"SELECT * FROM {copy}_old INTERSECT ALL SELECT * FROM {copy}")
        old, new = self._count(f"SELECT * FROM {copy}_old"), self._count(f"SELECT * FROM {copy}")
        only_adds, is_same = kept == old, kept == old == new
        job.counts = SimpleNamespace(
            inserted_row_count=max(0, new - old), updated_row_count=old - kept, deleted_row_count=max(0, old - new)
        )

        def end() -> dict[str, str] | None:
            try:
                return self._end(name, copy, before, only_adds=only_adds, is_same=is_same)
            finally:
                database.execute(f"DROP TABLE {copy}; DROP TABLE {copy}_old")

        job.end = end

    def misfit(self, name: str, sql: str) -> str | None:
        """Why a statement into a table is refused whose other tables have records with other members."""
        wanted = {column["name"]: column_of(column) for column in self.stored(name).resource["schema"]["fields"]}
        for other in (table for table in self.tables if sql_of(table) in sql):
            for column in self.stored(other).resource["schema"]["fields"]:
                given = column_of(column)
                if column["type"] == "RECORD" and given != wanted.get(column["name"], given):
                    return f"Value of type {given} cannot be assigned to {wanted[column['name']]}"
        return None

    def _end(self, name: str, copy: str, before: int, *, only_adds: bool, is_same: bool) -> dict[str, str] | None:
        table = self.tables.get(name)
        if table is None:
            return {"reason": "notFound", "message": f"Not found: Table {PROJECT}:{DATASET}.{name}"}
        if is_same:
            return None
        if not only_adds and name in self.streamed:
            words = "UPDATE or DELETE statement over table would affect rows in the streaming buffer"
            return {"reason": "invalidQuery", "message": words}
        meanwhile = table.changes[before:]
        if meanwhile and not (only_adds and all(meanwhile)):
            return {"reason": "invalidQuery", "message": "Could not serialize access to table due to concurrent update"}
        columns = self.database.sql(f"SELECT * FROM {copy}").columns
        names = ", ".join(f'"{column}"' for column in columns)
        if meanwhile:
            added = f"SELECT {names} FROM {copy} EXCEPT ALL SELECT {names} FROM {copy}_old"
            self.database.execute(f"INSERT INTO {sql_of(name)} ({names}) {added}")
        else:
            self.database.execute(f"DELETE FROM {sql_of(name)}")
            self.database.execute(f"INSERT INTO {sql_of(name)} ({names}) SELECT {names} FROM {copy}")
        self.changed(name, only_adds=only_adds)
        return None

    def load(self, name: str, parquet: bytes, job: StoredJob, *, replaces: bool) -> None:
        """Add the rows of a Parquet file, or put them in place of all, when the job ends."""

        def end() -> dict[str, str] | None:
            if name not in self.tables:
                return {"reason": "notFound", "message": f"Not found: Table {PROJECT}:{DATASET}.{name}"}
            rows = pq.read_table(io.BytesIO(parquet))
            if replaces:
                self.database.execute(f"DELETE FROM {sql_of(name)}")
            names = ", ".join(f'"{column}"' for column in rows.column_names)
            self.database.execute(f"INSERT INTO {sql_of(name)} ({names}) SELECT {names} FROM rows")
            self.changed(name, only_adds=not replaces)
            job.rows = len(rows)
            return None

        job.end = end

    def insert(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Add rows at once, as insertAll does; a value that a row does not name is NULL."""
        self.stored(name)
        for row in rows:
            names, places = ", ".join(f'"{column}"' for column in row), ", ".join("?" for _ in row)
            self.database.execute(f"INSERT INTO {sql_of(name)} ({names}) VALUES ({places})", list(row.values()))
        self.changed(name, only_adds=True)

    def changed(self, name: str, *, only_adds: bool) -> None:
        table = self.tables[name]
        table.version += 1
        table.changes.append(only_adds)

    def drop(self, name: str) -> None:
        del self.tables[name]
        self.database.execute(f"DROP TABLE {sql_of(name)}")

    def _count(self, sql: str) -> int:
        ((count,),) = self.database.execute(f"SELECT COUNT(*) FROM ({sql})").fetchall()
        return int(count)


def sql_of(table: str) -> str:
    """Return a table's name as DuckDB reads it."""
    return f'"{PROJECT}"."{DATASET}"."{table}"'


def column_of(column: dict[str, Any]) -> str:
    """Return the name and type that a column of BigQuery has in DuckDB."""
    return f'"{column["name"]}" {type_of(column)}'


def type_of(column: dict[str, Any]) -> str:
    """Return the type that a column of BigQuery has in DuckDB."""
    members = ", ".join(map(column_of, column.get("fields", ())))
    kind = f"STRUCT({members})" if column["type"] == "RECORD" else _TYPES[column["type"]]
    return f"{kind}[]" if column.get("mode") == "REPEATED" else kind
