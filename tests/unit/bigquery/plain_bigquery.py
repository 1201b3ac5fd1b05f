"""BigQuery's rules for tables and jobs in plain Python, beside Google's client: what an emulator does not keep.

A job's id is taken once. A statement reads the tables as they were when it began, and writes when it ends: where
another one has changed its table meanwhile it fails, unless both only added rows; then the rows of both are there. No
record stands for one with other members, as it does in DuckDB. A table has a version, and a change that names an old
one is refused. Whatever is asked may be refused for now, or be done and its answer lost. DuckDB runs the text of the
statements; nothing of the sink is used.
"""

from __future__ import annotations

import io
import random
import threading
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

import duckdb
import pyarrow.parquet as pq
import requests
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
            return self.database.sql(f"SELECT * FROM {_sql(table)}").to_arrow_table().to_pylist()

    def size(self, table: str) -> str:
        stored = self.tables[table]
        if stored.counted[0] != stored.version:
            stored.counted = stored.version, str(self._count(f"SELECT * FROM {_sql(table)}"))
        return stored.counted[1]

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
        """What a statement is billed for: a mebibyte for each row of the tables that it names, ten for a table."""
        named = [table for table in self.tables if _sql(table) in sql]
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

    def write(self, name: str, sql: str, job: StoredJob) -> None:
        """Run a statement on a copy of its table as it is now; the copy's rows are the table's when the job ends."""
        table, database = self.stored(name), self.database
        copy = f"{PROJECT}.work.w{len(self.jobs)}"
        before = table.version
        database.execute(f"CREATE TABLE {copy}_old AS SELECT * FROM {_sql(name)}")
        database.execute(f"CREATE TABLE {copy} AS SELECT * FROM {copy}_old")
        assert sql.count(_sql(name)) == 1, "a statement names its table once"
        database.execute(sql.replace(_sql(name), copy))
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
        wanted = {column["name"]: _column(column) for column in self.stored(name).resource["schema"]["fields"]}
        for other in (table for table in self.tables if _sql(table) in sql):
            for column in self.stored(other).resource["schema"]["fields"]:
                given = _column(column)
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
            self.database.execute(f"INSERT INTO {_sql(name)} ({names}) {added}")
        else:
            self.database.execute(f"DELETE FROM {_sql(name)}")
            self.database.execute(f"INSERT INTO {_sql(name)} ({names}) SELECT {names} FROM {copy}")
        self.changed(name, only_adds=only_adds)
        return None

    def load(self, name: str, parquet: bytes, job: StoredJob, *, replaces: bool) -> None:
        """Add the rows of a Parquet file, or put them in place of all, when the job ends."""

        def end() -> dict[str, str] | None:
            if name not in self.tables:
                return {"reason": "notFound", "message": f"Not found: Table {PROJECT}:{DATASET}.{name}"}
            rows = pq.read_table(io.BytesIO(parquet))
            if replaces:
                self.database.execute(f"DELETE FROM {_sql(name)}")
            names = ", ".join(f'"{column}"' for column in rows.column_names)
            self.database.execute(f"INSERT INTO {_sql(name)} ({names}) SELECT {names} FROM rows")
            self.changed(name, only_adds=not replaces)
            job.rows = len(rows)
            return None

        job.end = end

    def changed(self, name: str, *, only_adds: bool) -> None:
        table = self.tables[name]
        table.version += 1
        table.changes.append(only_adds)

    def drop(self, name: str) -> None:
        del self.tables[name]
        self.database.execute(f"DROP TABLE {_sql(name)}")

    def _count(self, sql: str) -> int:
        ((count,),) = self.database.execute(f"SELECT COUNT(*) FROM ({sql})").fetchall()
        return int(count)


class PlainClient:
    """What one process has of Google's client. It dies at a request, or stands still, as it is told.

    calls_left: requests until it dies, None: it lives. Whoever stands still goes on when `awake` is set.
    """

    def __init__(self, service: PlainBigQuery) -> None:
        self._service = service
        self.calls_left: int | None = None
        self.awake = threading.Event()
        self.awake.set()

    # What the sink asks for; each request may fail before it is done, or lose its answer.

    def get_dataset(self, _: str, **__: Any) -> Any:
        return self._asked(lambda: SimpleNamespace(location="EU"))

    def get_table(self, name: str, **_: Any) -> bigquery.Table:
        def found() -> bigquery.Table:
            if _short(name) in self._service.views:
                return self._service.views[_short(name)]
            stored = self._service.stored(_short(name))
            return bigquery.Table.from_api_repr(
                {**deepcopy(stored.resource), "numRows": self._service.size(_short(name))}
            )

        return self._asked(found)

    def create_table(self, table: bigquery.Table, **_: Any) -> None:
        def create() -> None:
            service = self._service
            if table.table_id in service.tables:
                raise api.Conflict(f"Already Exists: Table {table.table_id}")
            resource = {**table.to_api_repr(), "etag": "0"}
            resource.setdefault("schema", {"fields": []})
            service.tables[table.table_id] = StoredTable(resource)
            columns = ", ".join(_column(column) for column in resource["schema"]["fields"])
            service.database.execute(f"CREATE TABLE {_sql(table.table_id)} ({columns})")

        self._asked(create)

    def update_table(self, table: bigquery.Table, fields: list[str], **_: Any) -> None:
        def update() -> None:
            stored = self._service.stored(table.table_id)
            if table.etag != stored.resource["etag"]:
                raise api.PreconditionFailed("The table was changed meanwhile.")
            given = table.to_api_repr()
            if "schema" in fields:
                known = {column["name"].lower(): column for column in stored.resource["schema"]["fields"]}
                for column in given["schema"]["fields"]:
                    before, change = known.get(column["name"].lower()), f"ADD COLUMN {_column(column)}"
                    if before is not None:
                        change = f'ALTER "{column["name"]}" TYPE {_type(column)}'
                    if before is None or _type(before) != _type(column):
                        self._service.database.execute(f"ALTER TABLE {_sql(table.table_id)} {change}")
            stored.resource |= {name: given.get(name) for name in fields}
            stored.resource["etag"] = str(int(stored.resource["etag"]) + 1)

        self._asked(update)

    def delete_table(self, name: str, **_: Any) -> None:
        self._asked(lambda: _short(name) in self._service.tables and self._service.drop(_short(name)))

    def list_tables(self, _: str, **__: Any) -> Iterator[Any]:
        def listed(name: str, table: StoredTable) -> Any:
            return SimpleNamespace(table_id=name, labels=dict(table.resource.get("labels") or {}))

        return self._asked(lambda: iter([listed(*item) for item in self._service.tables.items()]))

    def load_table_from_file(self, file: Any, name: str, *, job_id: str, job_config: Any, **_: Any) -> Any:
        replaces, parquet = job_config.write_disposition == "WRITE_TRUNCATE", file.read()

        def begin(job: StoredJob) -> None:
            self._service.load(_short(name), parquet, job, replaces=replaces)

        return self._job(self._asked(lambda: self._service.submit(job_id, job_config.labels, begin)))

    def query(self, sql: str, *, job_id: str | None = None, job_config: Any = None, **_: Any) -> Any:
        if job_config is not None and job_config.dry_run:
            text = sql.replace("`", '"')
            return SimpleNamespace(total_bytes_processed=self._asked(lambda: self._service.cost_of(text)))
        text = sql.replace("`", '"').replace("CURRENT_TIMESTAMP()", "now()")
        if job_id is None:
            assert text.startswith(("SELECT ", "CREATE OR REPLACE VIEW ")), f"an unexpected statement: {sql}"
            rows = self._asked(lambda: self._service.answer(text))
            if text.startswith("CREATE"):
                name = text.split()[4].replace('"', "")
                self._service.views[_short(name)] = view = bigquery.Table(name)
                view.view_query = text
            return SimpleNamespace(result=lambda **_: rows)
        target = text.split()[2].replace('"', "").rpartition(".")[2]
        assert text.startswith(("MERGE INTO ", "DELETE FROM ", "SELECT ")), f"an unexpected statement: {sql}"

        def begin(job: StoredJob) -> None:
            cost = self._service.cost_of(text)
            if job_config.maximum_bytes_billed is not None and cost > job_config.maximum_bytes_billed:
                words = {"reason": "bytesBilledLimitExceeded", "message": f"{cost} or higher required."}
                job.end = lambda: words
                return
            job.billed = cost
            self._service.billed.append((self._service.now_s(), job.job_id, cost))
            try:
                if text.startswith("SELECT "):
                    job.found = self._service.answer(text)
                    return
                if (message := self._service.misfit(target, text)) is not None:
                    job.end = lambda: {"reason": "invalidQuery", "message": message}
                    return
                self._service.write(target, text, job)
            except (api.NotFound, duckdb.CatalogException) as error:
                message = f"Not found: {error}"
                job.end = lambda: {"reason": "notFound", "message": message}

        return self._job(self._asked(lambda: self._service.submit(job_id, job_config.labels, begin)))

    def get_job(self, job_id: str, **_: Any) -> Any:
        def find() -> StoredJob:
            if job_id not in self._service.jobs:
                raise api.NotFound(f"Not found: Job {job_id}")
            return self._service.jobs[job_id]

        return self._job(self._asked(find))

    def close(self) -> None: ...

    def _job(self, job: StoredJob) -> Any:
        def reload(**_: Any) -> None:
            self._asked(lambda: None)
            seen.state, seen.error_result = job.state, job.error_result

        seen = SimpleNamespace(
            job_id=job.job_id, labels=job.labels, state=job.state, error_result=job.error_result, reload=reload,
            dml_stats=job.counts, output_rows=job.rows, total_bytes_billed=job.billed,
            result=lambda **_: self._asked(lambda: job.found),
        )  # fmt: skip
        return seen

    def _asked(self, do: Callable[[], Any]) -> Any:
        self._live()
        service = self._service
        with service.lock:
            service.tick()
            fault = service.draw.random() if service.faults else 1.0
            if fault < service.faults / 2:
                kind = service.draw.choice([api.ServiceUnavailable, api.TooManyRequests, _quota])
                raise kind("rateLimitExceeded")
            answer = do()
        self._live()
        if service.faults / 2 <= fault < service.faults:
            raise requests.exceptions.ConnectionError("the answer was lost")
        return answer

    def _live(self) -> None:
        """Stand still while told to; die when it is time, and stay dead."""
        self.awake.wait()
        if self.calls_left is not None:
            self.calls_left -= 1
            if self.calls_left < 0:
                raise ProcessDiedError


class ProcessDiedError(BaseException):
    """The process is dead: no handler of the product may see it."""


def _quota(message: str) -> api.Forbidden:
    return api.Forbidden(message, errors=[{"reason": "quotaExceeded"}])


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _sql(table: str) -> str:
    return f'"{PROJECT}"."{DATASET}"."{table}"'


def _column(column: dict[str, Any]) -> str:
    return f'"{column["name"]}" {_type(column)}'


def _type(column: dict[str, Any]) -> str:
    members = ", ".join(map(_column, column.get("fields", ())))
    kind = f"STRUCT({members})" if column["type"] == "RECORD" else _TYPES[column["type"]]
    return f"{kind}[]" if column.get("mode") == "REPEATED" else kind
