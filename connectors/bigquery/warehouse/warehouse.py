"""Calls BigQuery's API for tables and jobs, and raises errors of `connect.api.errors`. No other module calls it.

The sink chooses the id of each job, so that a job whose submission got no answer is found again. The retries of
Google's client are off: the framework tries again, with its own backoff, and knows when to stop.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connectors.bigquery.rows.table_schema import Columns, ColumnSchema
from connectors.bigquery.settings.job_terms import JobTerms
from connectors.bigquery.warehouse.dataset_calls import DatasetCalls
from connectors.bigquery.warehouse.job_facts import UNMETERED, Changed, Counts, Metering, RowError
from connectors.bigquery.warehouse.jobs import Jobs
from connectors.bigquery.warehouse.resources import encryption_of, fields_of, lengthened, resource_of
from connectors.bigquery.warehouse.service_clock import ServiceClock
from connectors.bigquery.warehouse.table_facts import NewTable, TableFacts

if TYPE_CHECKING:
    from google.cloud import bigquery

STATEMENT_LABEL: Final = "kafka-connect-statement"
"""This label of a job has a hash of its statement, as other statements may be submitted under the same id."""

NO_TERMS: Final = JobTerms()
_LASTING_S: Final = 100 * 365 * 86_400
"""Tables that must not expire by their dataset's default expire after so many seconds."""
_PAGE_TABLES: Final = 1000
"""A request lists at most so many tables; BigQuery's default is 50."""


class Warehouse:
    """Reads and changes the tables of one dataset, and runs jobs there. Several threads of a task may use it."""

    def __init__(
        self, client: Any, project: str, dataset: str, *, timeout_s: float, terms: JobTerms = NO_TERMS,
        clock: ServiceClock | None = None,
    ) -> None:  # fmt: skip
        """Take a google.cloud.bigquery.Client. Its annotations do not allow `retry=None`, which means no retry."""
        self._client = client
        self._calls = DatasetCalls(client, project, dataset, timeout_s, terms.location or None)
        self._terms = terms
        self.side_by_side = self._calls.side_by_side
        self.jobs = Jobs(self._calls, terms.labels)
        self.clock = clock or ServiceClock()
        self.loads = 0
        """Counts the load jobs that have ended."""
        self.location: str | None = None
        """The location of the dataset; None before `look` was called."""
        self.on_load: Callable[[str | None], None] = lambda _: None
        """It is called before each load job, with the table's name, or None if the table is made for this job."""
        self._has_default_expiration = False

    def within(self, deadline: Deadline) -> AbstractContextManager[None]:
        """Bound the requests of this thread in the body by a deadline: one that takes longer raises RetriableError."""
        return self._calls.within(deadline)

    def stop(self) -> None:
        """End every wait for a job, and refuse further requests: both raise RetriableError. The jobs go on."""
        self._calls.stopped.set()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def path(self, table: str) -> str:
        """Return the name of a table for SQL."""
        return f"`{self._calls.project}`.`{self._calls.dataset}`.`{table}`"

    def look(self) -> None:
        """Ask for the dataset. Raise ConfigError if it is missing, may not be read, or is in another location."""
        with self._calls.translated("looking at the dataset"):
            found = self._client.get_dataset(self._calls.path, retry=self._calls.again, timeout=self._calls.limit_s)
        self._calls.location = self.location = found.location
        self._has_default_expiration = bool(getattr(found, "default_table_expiration_ms", None))
        wanted = self._terms.location
        if wanted and wanted.lower() != (found.location or "").lower():
            raise ConfigError(
                f"Dataset {self._calls.path} is in {found.location}, and jobs run where their dataset is.",
                key="bigquery.location",
                fix=f"Name a dataset in {wanted}, set bigquery.location={found.location}, or leave it out.",
            )

    def table(self, name: str) -> TableFacts | None:
        """Ask for a table and return its facts; None if it does not exist."""
        from google.api_core.exceptions import NotFound

        with self._calls.translated(f"looking at table {name}"):
            try:
                found = self._client.get_table(
                    self._calls.table_id(name), retry=self._calls.again, timeout=self._calls.limit_s
                )
            except NotFound:
                return None
        columns = tuple(ColumnSchema.from_json(field.to_api_repr()) for field in found.schema)
        constraints = found.table_constraints
        primary = constraints.primary_key if constraints is not None else None
        keys = tuple(primary.columns) if primary is not None else ()
        created_ms = int(found.created.timestamp() * 1000) if found.created is not None else 0
        parts = found.time_partitioning
        return TableFacts(
            name, columns, dict(found.labels), found.description or "", keys, created_ms,
            rows=int(found.num_rows or 0), total_bytes=int(found.num_bytes or 0),
            partitioning=None if parts is None else parts.type_, partition_by=None if parts is None else parts.field,
            cluster_by=tuple(found.clustering_fields or ()), view_query=found.view_query,
        )  # fmt: skip

    def create(self, table: NewTable) -> bool:
        """Create a table. Return False if it exists already.

        A table beside another one, whose name begins with _, does not expire by the dataset's default.
        """
        from google.api_core.exceptions import Conflict

        if self._has_default_expiration and table.name.startswith("_") and table.expires_after_s is None:
            table = replace(table, expires_after_s=_LASTING_S)
        with self._calls.translated(f"creating table {table.name}"):
            try:
                self._client.create_table(
                    resource_of(self._calls.table_id(table.name), table, self._terms.kms_key),
                    retry=self._calls.again,
                    timeout=self._calls.limit_s,
                )
            except Conflict:
                return False
        return True

    def define(self, name: str, statement: str) -> None:
        """Run a statement that creates or replaces a view. Raise ConnectError if a table has its name."""
        with self._calls.translated(f"making view {name}"):
            job = self._client.query(
                statement, location=self._calls.location, retry=self._calls.again, job_retry=None,
                timeout=self._calls.limit_s,
            )  # fmt: skip
            job.result(retry=self._calls.again, timeout=self._calls.limit_s)

    def change_columns(
        self, name: str, change: Callable[[Columns], Columns], *, expiration_ms: int | None = None
    ) -> Columns:
        """Replace a table's columns by those that `change` returns for the columns of now, and return the new ones.

        Partitions that expire sooner than after `expiration_ms` expire after so many milliseconds. Raise RetriableError
        if somebody else changed the table at the same time.
        """
        with self._calls.translated(f"changing the columns of table {name}"):
            table = self._client.get_table(
                self._calls.table_id(name), retry=self._calls.again, timeout=self._calls.limit_s
            )
            told = [field.to_api_repr() for field in table.schema]
            before = tuple(map(ColumnSchema.from_json, told))
            after, changed = change(before), []
            if after != before:
                table.schema = fields_of(after, told)
                changed.append("schema")
            if expiration_ms is not None and lengthened(table, expiration_ms):
                changed.append("time_partitioning")
            if changed:
                self._client.update_table(table, changed, retry=None, timeout=self._calls.limit_s)
        return after

    def label(self, name: str, labels: Mapping[str, str], *, description: str | None = None) -> None:
        """Add labels to a table, and replace its description if one is given."""
        self.relabel(name, lambda now: {**now, **labels}, description=description)

    def relabel(
        self,
        name: str,
        change: Callable[[Mapping[str, str]], Mapping[str, str] | None],
        *,
        description: str | None = None,
    ) -> bool:
        """Replace a table's labels by those that `change` returns for the labels of now, and the description if given.

        Return False if `change` returns None. Raise RetriableError if somebody else changed the table at the same time.
        """
        with self._calls.translated(f"labelling table {name}"):
            table = self._client.get_table(
                self._calls.table_id(name), retry=self._calls.again, timeout=self._calls.limit_s
            )
            changed = change(dict(table.labels))
            if changed is None:
                return False
            table.labels = changed
            fields = ["labels"]
            if description is not None:
                table.description = description
                fields.append("description")
            self._client.update_table(table, fields, retry=None, timeout=self._calls.limit_s)
        return True

    def describe(self, name: str, change: Callable[[str], str]) -> None:
        """Replace a table's description by the text that `change` returns for it, unless that is equal.

        Raise RetriableError if somebody else changed the table at the same time.
        """
        with self._calls.translated(f"describing table {name}"):
            table = self._client.get_table(
                self._calls.table_id(name), retry=self._calls.again, timeout=self._calls.limit_s
            )
            before = table.description or ""
            after = change(before)
            if after != before:
                table.description = after
                self._client.update_table(table, ["description"], retry=None, timeout=self._calls.limit_s)

    def drop(self, name: str) -> None:
        """Drop a table, if it is still there."""
        with self._calls.translated(f"dropping table {name}"):
            self._client.delete_table(
                self._calls.table_id(name), not_found_ok=True, retry=self._calls.again, timeout=self._calls.limit_s
            )

    def labelled(self, labels: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield the tables that have these labels, each with all its labels."""
        with self._calls.translated("listing tables"):
            dataset = self._calls.path
            tables = self._client.list_tables(
                dataset, retry=self._calls.again, timeout=self._calls.limit_s, page_size=_PAGE_TABLES
            )
            for table in tables:
                if labels.items() <= table.labels.items():
                    yield table.table_id, dict(table.labels)

    def insert_all(self, name: str, rows: Sequence[Mapping[str, Any]], ids: Sequence[str | None]) -> list[RowError]:
        """Add rows in the JSON of insertAll, each with its insertId or None.

        Return the refused ones once the others are in the table.
        """
        with self._calls.translated(f"inserting into table {name}"):
            answer = self._client.insert_rows_json(
                self._calls.table_id(name),
                rows,
                row_ids=ids,
                skip_invalid_rows=True,
                retry=None,
                timeout=self._calls.limit_s,
            )
        return [
            RowError(part["index"], str(e.get("reason", "")), str(e.get("location", "")), str(e.get("message", "")))
            for part in answer
            for e in part["errors"]
        ]

    def append(self, name: str, columns: Columns, parquet: Any, job_id: str, counts: Counts = Counts.ALWAYS) -> int:
        """Add all rows of a Parquet file to a table by one job, or none of them. Return how many rows the job added.

        Nothing is loaded again if `counts` lets an earlier job count.
        """
        return int(self._load(name, columns, parquet, job_id, counts, replaces=False).output_rows or 0)

    def fill(self, name: str, columns: Columns, parquet: Any, job_id: str, *, is_new: bool) -> None:
        """Replace a table's rows by all those of a Parquet file, by one job, or leave them as they are.

        With `is_new` the table was just made, so the rows that an earlier job loaded are not in it.
        """
        self._load(name, columns, parquet, job_id, Counts.NEVER if is_new else Counts.LOST, replaces=True)

    def _load(self, name: str, columns: Columns, parquet: Any, job_id: str, counts: Counts, *, replaces: bool) -> Any:
        from google.cloud import bigquery

        options: Any = bigquery.ParquetOptions()  # type: ignore[no-untyped-call]  # the library has no types there
        options.enable_list_inference = True
        config = bigquery.LoadJobConfig(
            source_format=bigquery.SourceFormat.PARQUET,
            write_disposition="WRITE_TRUNCATE" if replaces else "WRITE_APPEND",
            create_disposition=bigquery.CreateDisposition.CREATE_NEVER,
            schema=fields_of(columns),
            parquet_options=options,
            labels=self.jobs.labels,
        )
        # A job that appends names no encryption key: the rows are encrypted by the table's.
        if replaces and self._terms.kms_key:
            config.destination_encryption_configuration = encryption_of(self._terms.kms_key)

        def submit(attempt_id: str) -> Any:
            self.on_load(None if replaces else name)
            return self._client.load_table_from_file(
                io.BytesIO(parquet),
                self._calls.table_id(name),
                size=len(parquet),
                num_retries=0,
                job_id=attempt_id,
                location=self._calls.location,
                job_config=config,
                timeout=self._calls.limit_s,
            )

        job = self.jobs.once(job_id, submit, f"loading into table {name}", counts, config.labels)
        self.loads += 1
        return job

    def run(
        self,
        sql: str,
        job_id: str,
        doing: str,
        counts: Counts = Counts.LOST,
        *,
        first_attempt: int = 0,
        metering: Metering = UNMETERED,
        reads: bool = False,
    ) -> Changed:
        """Run one statement to its end, as a job whose id is `job_id`, the dataset's mark and a number.

        If a job of that id is there already, it is waited for, and `counts` says if it was this statement; if not, the
        next number is tried. `first_attempt` is the first number. `metering` says what the jobs may be billed for. With
        `reads` the statement is a query, and its rows are returned.

        Raise RefusedJobError if BigQuery refuses the statement, and RetriableError if nobody knows whether it ran.
        """
        from google.cloud import bigquery

        statement = hashlib.sha256(sql.encode()).hexdigest()[:32]
        config = bigquery.QueryJobConfig(labels={**self.jobs.labels, STATEMENT_LABEL: statement})
        if reads:
            self._encrypt_answer(config)

        def submit(attempt_id: str) -> Any:
            if (limit_bytes := metering.limit_bytes(attempt_id)) is not None:
                config.maximum_bytes_billed = limit_bytes
            return self._client.query(
                sql, job_id=attempt_id, job_config=config, location=self._calls.location, retry=None, job_retry=None,
                timeout=self._calls.limit_s,
            )  # fmt: skip

        job = self.jobs.once(
            job_id, submit, doing, counts, config.labels, first_attempt=first_attempt, metering=metering
        )
        attempt = int(job.job_id.rpartition("-")[2])
        stats = job.dml_stats
        billed = job.total_bytes_billed or 0
        if reads:
            with self._calls.translated(doing):
                found = job.result(retry=self._calls.again, timeout=self._calls.limit_s)
                return Changed(billed_bytes=billed, attempt=attempt, rows=[dict(row) for row in found])
        if stats is None:
            return Changed(billed_bytes=billed, attempt=attempt)
        return Changed(stats.inserted_row_count, stats.updated_row_count, stats.deleted_row_count, billed, attempt)

    def has_attempt(self, job_id: str, attempt: int) -> bool:
        """Tell if a job was ever submitted under this id and number."""
        return self.jobs.has_attempt(job_id, attempt)

    def wait_for(self, job_id: str, attempt: int) -> None:
        """Wait until the job of this id and number has ended, even with an error. Return at once if there is none."""
        self.jobs.wait_for(job_id, attempt)

    def rows(self, sql: str, doing: str) -> list[Mapping[str, Any]]:
        """Run a query that changes nothing; return its rows."""
        from google.cloud import bigquery

        config = bigquery.QueryJobConfig()
        self._encrypt_answer(config)
        with self._calls.translated(doing):
            job = self._client.query(
                sql, job_config=config, location=self._calls.location, retry=self._calls.again, job_retry=None,
                timeout=self._calls.limit_s,
            )  # fmt: skip
            return [dict(row) for row in job.result(retry=self._calls.again, timeout=self._calls.limit_s)]

    def _encrypt_answer(self, config: bigquery.QueryJobConfig) -> None:
        """Set the key that encrypts the table in which BigQuery keeps the rows of a query for a day."""
        if self._terms.kms_key:
            config.destination_encryption_configuration = encryption_of(self._terms.kms_key)

    def scanned_bytes(self, sql: str) -> int:
        """Return the bytes that a statement would read, by a dry run."""
        from google.cloud import bigquery

        config = bigquery.QueryJobConfig(dry_run=True, use_query_cache=False)
        with self._calls.translated("a dry run"):
            job = self._client.query(
                sql, job_config=config, location=self._calls.location, retry=None, job_retry=None,
                timeout=self._calls.limit_s,
            )  # fmt: skip
        return int(job.total_bytes_processed or 0)
