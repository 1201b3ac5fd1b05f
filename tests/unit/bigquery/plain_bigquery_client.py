"""Stands in for Google's client beside `PlainBigQuery`: a request may be refused for now, or be done and its answer
lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import duckdb
import requests
from google.api_core import exceptions as api
from google.cloud import bigquery
from plain_bigquery import PlainBigQuery, StoredJob, StoredTable, column_of, sql_of, type_of


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
            columns = ", ".join(column_of(column) for column in resource["schema"]["fields"])
            service.database.execute(f"CREATE TABLE {sql_of(table.table_id)} ({columns})")

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
                    before, change = known.get(column["name"].lower()), f"ADD COLUMN {column_of(column)}"
                    if before is not None:
                        change = f'ALTER "{column["name"]}" TYPE {type_of(column)}'
                    if before is None or type_of(before) != type_of(column):
                        self._service.database.execute(f"ALTER TABLE {sql_of(table.table_id)} {change}")
            stored.resource |= {name: given.get(name) for name in map(_resource_name, fields)}
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

    def insert_rows_json(self, name: str, rows: list[dict[str, Any]], **_: Any) -> list[Any]:
        def insert() -> list[Any]:
            self._service.insert(_short(name), rows)
            return []

        return self._asked(insert)

    def query(self, sql: str, *, job_id: str | None = None, job_config: Any = None, **_: Any) -> Any:
        if job_config is not None and job_config.dry_run:
            text = sql.replace("`", '"')
            return SimpleNamespace(total_bytes_processed=self._asked(lambda: self._service.cost_of(text)))
        text = sql.replace("`", '"').replace("CURRENT_TIMESTAMP()", "now()")
        if job_id is None:
            assert text.startswith(("SELECT ", "CREATE OR REPLACE VIEW ")), f"an unexpected statement: {sql}"
            rows = self._asked(lambda: self._service.define(text))
            return SimpleNamespace(result=lambda **_: rows)
        target = text.split()[2].replace('"', "").rpartition(".")[2]
        kinds = ("MERGE INTO ", "DELETE FROM ", "SELECT ", "CREATE OR REPLACE VIEW ")
        assert text.startswith(kinds), f"an unexpected statement: {sql}"

        def begin(job: StoredJob) -> None:
            cost = self._service.cost_of(text)
            if job_config.maximum_bytes_billed is not None and cost > job_config.maximum_bytes_billed:
                words = {"reason": "bytesBilledLimitExceeded", "message": f"{cost} or higher required."}
                job.end = lambda: words
                return
            job.billed = cost
            self._service.billed.append((self._service.now_s(), job.job_id, cost))
            try:
                if text.startswith(("SELECT ", "CREATE ")):
                    job.found = self._service.define(text)
                    return
                if (message := self._service.misfit(target, text)) is not None:
                    job.end = lambda: {"reason": "invalidQuery", "message": message}
                    return
                self._service.write(target, text, job)
            except (api.NotFound, duckdb.CatalogException) as error:
                message = f"Not found: {error}"
                job.end = lambda: {"reason": "notFound", "message": message}
            except duckdb.BinderException as error:
                if "does not have a column" not in str(error):
                    raise
                message = f"Unrecognized name: {error}"
                job.end = lambda: {"reason": "invalidQuery", "message": message}

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


def _resource_name(field: str) -> str:
    return {"time_partitioning": "timePartitioning"}.get(field, field)


def _short(name: str) -> str:
    return name.rpartition(".")[2]
