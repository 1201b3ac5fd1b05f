"""BigQuery: tables and jobs. The only module that talks to it; errors leave as the contract's.

A job is given its id by us, so that a submission whose answer was lost is found again. The retries of Google's client
are off: the framework tries again, with its own backoff, and knows when to stop.
"""

from __future__ import annotations

import hashlib
import io
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connectors.bigquery.errors import job_error, translated
from connectors.bigquery.job_facts import Changed, Counts, RowError
from connectors.bigquery.table_schema import Columns, ColumnSchema

if TYPE_CHECKING:
    from google.cloud import bigquery

_FIRST_LOOK_S: Final = 0.05
_LAST_LOOK_S: Final = 2.0
_LEAST_S: Final = 0.05
LIFE_LABEL: Final = "kafka-connect-life"
"""Of a job: the life of the task that submitted it."""
STATEMENT_LABEL: Final = "kafka-connect-statement"
"""Of a job that runs a statement: which one, as other statements may be submitted under the same id."""
_AGAIN_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table as it is now."""

    name: str
    columns: Columns
    labels: Mapping[str, str]
    description: str
    primary_key: tuple[str, ...] = ()
    created_ms: int = 0


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table to create. partition_by: a column; None with a `partitioning`: by the time of arrival.

    partitioning: HOUR, DAY, MONTH or YEAR; None: no partitions. max_staleness_s: how old what queries see may be.
    """

    name: str
    columns: Columns
    partitioning: str | None = None
    partition_by: str | None = None
    expiration_ms: int | None = None
    cluster_by: Sequence[str] = ()
    labels: Mapping[str, str] | None = None
    description: str | None = None
    expires_after_s: int | None = None
    primary_key: Sequence[str] = ()
    max_staleness_s: int | None = None


class Warehouse:
    """One dataset. Used by several threads of a task: Google's client allows that."""

    def __init__(self, client: Any, project: str, dataset: str, *, timeout_s: float) -> None:
        """`client`: a google.cloud.bigquery.Client, whose annotations allow no `retry=None`, though it means none."""
        self._client = client
        self._project = project
        self._dataset = dataset
        self._timeout_s = timeout_s
        self._location: str | None = None
        # Ids of jobs are those of a whole project, and are known for months.
        self._scope = hashlib.sha256(f"{project}.{dataset}".encode()).hexdigest()[:8]
        self._life = secrets.token_hex(8)
        self._unanswered: set[str] = set()
        self._stop = threading.Event()
        self._calls = threading.local()

    @contextmanager
    def within(self, deadline: Deadline) -> Iterator[None]:
        """Requests of this thread end by the deadline: RetriableError where one would take longer."""
        self._calls.deadline = deadline
        try:
            yield
        finally:
            self._calls.deadline = None

    @property
    def _limit_s(self) -> float:
        deadline: Deadline | None = getattr(self._calls, "deadline", None)
        return self._timeout_s if deadline is None else min(self._timeout_s, max(_LEAST_S, deadline.remaining_s))

    @property
    def _again(self) -> Any:
        """Of reads and of writes that may be made twice: an idle connection that was closed meanwhile costs nothing."""
        from google.api_core.retry import Retry, if_exception_type
        from requests.exceptions import ConnectionError as LostError

        return Retry(predicate=if_exception_type(LostError), initial=0.05, maximum=0.5, timeout=_AGAIN_S)

    def stop(self) -> None:
        """End every wait for a job: RetriableError where somebody waits. Jobs go on."""
        self._stop.set()

    def close(self) -> None:
        """Release the connections."""
        self._client.close()

    def path(self, table: str) -> str:
        """The table in SQL."""
        return f"`{self._project}`.`{self._dataset}`.`{table}`"

    def look(self) -> None:
        """Ask for the dataset: ConfigError when it is missing or may not be seen."""
        with self._translated("looking at the dataset"):
            found = self._client.get_dataset(
                f"{self._project}.{self._dataset}", retry=self._again, timeout=self._limit_s
            )
        self._location = found.location

    def table(self, name: str) -> TableFacts | None:
        """The table; None when there is none."""
        from google.api_core.exceptions import NotFound

        with self._translated(f"looking at table {name}"):
            try:
                found = self._client.get_table(self._id(name), retry=self._again, timeout=self._limit_s)
            except NotFound:
                return None
        columns = tuple(ColumnSchema.from_json(field.to_api_repr()) for field in found.schema)
        constraints = found.table_constraints
        primary = constraints.primary_key if constraints is not None else None
        keys = tuple(primary.columns) if primary is not None else ()
        created_ms = int(found.created.timestamp() * 1000) if found.created is not None else 0
        return TableFacts(name, columns, dict(found.labels), found.description or "", keys, created_ms)

    def create(self, table: NewTable) -> bool:
        """Create the table; False when it is there already."""
        from google.api_core.exceptions import Conflict

        with self._translated(f"creating table {table.name}"):
            try:
                self._client.create_table(self._resource(table), retry=self._again, timeout=self._limit_s)
            except Conflict:
                return False
        return True

    def replace_view(self, name: str, sql: str) -> None:
        """Make the view of a query, or make it anew. ConnectError: a table has its name."""
        with self._translated(f"making view {name}"):
            self._client.query(
                f"CREATE OR REPLACE VIEW {self.path(name)} AS\n{sql}", location=self._location, retry=self._again,
                job_retry=None, timeout=self._limit_s,
            ).result(retry=self._again, timeout=self._limit_s)  # fmt: skip

    def change_columns(self, name: str, change: Callable[[Columns], Columns]) -> Columns:
        """Replace the table's columns by what `change` makes of them now, unless that is the same; the new columns.

        RetriableError when somebody else changed the table at the same time.
        """
        with self._translated(f"changing the columns of table {name}"):
            table = self._client.get_table(self._id(name), retry=self._again, timeout=self._limit_s)
            before = tuple(ColumnSchema.from_json(field.to_api_repr()) for field in table.schema)
            after = change(before)
            if after != before:
                table.schema = _fields(after)
                self._client.update_table(table, ["schema"], retry=None, timeout=self._limit_s)
        return after

    def label(self, name: str, labels: Mapping[str, str], *, description: str | None = None) -> None:
        """Add labels to a table, and replace its description."""
        with self._translated(f"labelling table {name}"):
            table = self._client.get_table(self._id(name), retry=self._again, timeout=self._limit_s)
            table.labels = {**table.labels, **labels}
            if description is not None:
                table.description = description
            changed = ["labels"] if description is None else ["labels", "description"]
            self._client.update_table(table, changed, retry=None, timeout=self._limit_s)

    def drop(self, name: str) -> None:
        """Drop a table; no error when it is gone."""
        with self._translated(f"dropping table {name}"):
            self._client.delete_table(self._id(name), not_found_ok=True, retry=self._again, timeout=self._limit_s)

    def labelled(self, labels: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, str]]]:
        """The tables that have these labels, with all that they have."""
        with self._translated("listing tables"):
            dataset = f"{self._project}.{self._dataset}"
            for table in self._client.list_tables(dataset, retry=self._again, timeout=self._limit_s):
                if labels.items() <= table.labels.items():
                    yield table.table_id, dict(table.labels)

    def insert_all(self, name: str, rows: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> list[RowError]:
        """Add rows in the JSON of insertAll; those that it refuses, once the others are there."""
        with self._translated(f"inserting into table {name}"):
            answer = self._client.insert_rows_json(
                self._id(name), rows, row_ids=ids, skip_invalid_rows=True, retry=None, timeout=self._limit_s
            )
        return [
            RowError(part["index"], str(e.get("reason", "")), str(e.get("location", "")), str(e.get("message", "")))
            for part in answer
            for e in part["errors"]
        ]

    def append(self, name: str, columns: Columns, parquet: Any, job_id: str) -> int:
        """Add the rows of a Parquet file to a table, by one job, once for its id: whole or not at all.

        How many rows the job added: those of an earlier call, where that one did it.
        """
        return int(self._load(name, columns, parquet, job_id, Counts.ALWAYS).output_rows or 0)

    def fill(self, name: str, columns: Columns, parquet: Any, job_id: str, *, is_new: bool) -> None:
        """Replace a table's rows by those of a Parquet file, by one job: whole or not at all.

        `is_new`: the table was just made, so what an earlier job loaded is not in it.
        """
        self._load(name, columns, parquet, job_id, Counts.NEVER if is_new else Counts.LOST)

    def _load(self, name: str, columns: Columns, parquet: Any, job_id: str, counts: Counts) -> Any:
        from google.cloud import bigquery

        options: Any = bigquery.ParquetOptions()  # type: ignore[no-untyped-call]
        options.enable_list_inference = True
        config = bigquery.LoadJobConfig(
            source_format=bigquery.SourceFormat.PARQUET,
            write_disposition="WRITE_APPEND" if counts is Counts.ALWAYS else "WRITE_TRUNCATE",
            create_disposition=bigquery.CreateDisposition.CREATE_NEVER,
            schema=_fields(columns),
            parquet_options=options,
            labels={LIFE_LABEL: self._life},
        )

        def submit(attempt_id: str) -> Any:
            return self._client.load_table_from_file(
                io.BytesIO(parquet),
                self._id(name),
                size=len(parquet),
                num_retries=0,
                job_id=attempt_id,
                location=self._location,
                job_config=config,
                timeout=self._limit_s,
            )

        return self._once(job_id, submit, config, f"loading into table {name}", counts)

    def run(
        self, sql: str, job_id: str, doing: str, counts: Counts = Counts.LOST, *, first_attempt: int = 0
    ) -> Changed:
        """Run one statement to its end, as a job whose id is `job_id`, the dataset's mark and a number.

        Where a job of that id is there already, it is waited for, and `counts` says whether it was this statement; if
        not, the next number is tried. `first_attempt`: the first number.
        RefusedJobError: BigQuery does not take the statement. RetriableError: nobody knows whether it ran.
        """
        from google.cloud import bigquery

        statement = hashlib.sha256(sql.encode()).hexdigest()[:32]
        config = bigquery.QueryJobConfig(labels={LIFE_LABEL: self._life, STATEMENT_LABEL: statement})

        def submit(attempt_id: str) -> Any:
            return self._client.query(
                sql, job_id=attempt_id, job_config=config, location=self._location, retry=None, job_retry=None,
                timeout=self._limit_s,
            )  # fmt: skip

        job = self._once(job_id, submit, config, doing, counts, attempt=first_attempt)
        attempt = int(job.job_id.rpartition("-")[2])
        stats = job.dml_stats
        billed = job.total_bytes_billed or 0
        if stats is None:
            return Changed(billed_bytes=billed, attempt=attempt)
        return Changed(stats.inserted_row_count, stats.updated_row_count, stats.deleted_row_count, billed, attempt)

    def has_attempt(self, job_id: str, attempt: int) -> bool:
        """Whether a job was ever submitted under this id and number."""
        from google.api_core.exceptions import NotFound

        with self._translated(f"looking at job {job_id}"):
            try:
                self._client.get_job(
                    f"{job_id}-{self._scope}-{attempt}", location=self._location, retry=self._again,
                    timeout=self._limit_s,
                )  # fmt: skip
            except NotFound:
                return False
        return True

    def rows(self, sql: str, doing: str) -> list[Mapping[str, Any]]:
        """The rows of a query, which changes nothing."""
        with self._translated(doing):
            job = self._client.query(
                sql, location=self._location, retry=self._again, job_retry=None, timeout=self._limit_s
            )
            return [dict(row) for row in job.result(retry=self._again, timeout=self._limit_s)]

    def scanned_bytes(self, sql: str) -> int:
        """What a statement would read, by a dry run."""
        from google.cloud import bigquery

        config = bigquery.QueryJobConfig(dry_run=True, use_query_cache=False)
        with self._translated("a dry run"):
            job = self._client.query(
                sql, job_config=config, location=self._location, retry=None, job_retry=None, timeout=self._limit_s
            )
        return int(job.total_bytes_processed or 0)

    def _once(
        self, job_id: str, submit: Callable[[str], Any], config: Any, doing: str, counts: Counts, *, attempt: int = 0
    ) -> Any:
        """The job under an id of ours, once it has ended: submitted now, or found. See `run`.

        `config`: the job's, whose labels tell it from others of its id.
        """
        from google.api_core.exceptions import Conflict

        while True:
            attempt_id = f"{job_id}-{self._scope}-{attempt}"
            was_lost = attempt_id in self._unanswered
            self._unanswered.add(attempt_id)
            with self._translated(doing):
                try:
                    job = submit(attempt_id)
                except Conflict:
                    job = self._client.get_job(
                        attempt_id, location=self._location, retry=self._again, timeout=self._limit_s
                    )
                    is_lost = was_lost and config.labels.items() <= job.labels.items()
                    is_done = counts is Counts.ALWAYS or (counts is Counts.LOST and is_lost)
                    self._waited(job)
                    self._unanswered.discard(attempt_id)
                    if job.error_result or not is_done:
                        attempt += 1
                        continue
                    return job
                self._waited(job)
                self._unanswered.discard(attempt_id)
            if job.error_result:
                raise job_error(job.error_result, doing)
            return job

    def _waited(self, job: Any) -> Any:
        """The job once it has ended, without or with an error."""
        pause_s = _FIRST_LOOK_S
        while job.state != "DONE":
            if self._stop.wait(pause_s):
                raise RetriableError(f"Job {job.job_id} was still running when the task was stopped.")
            pause_s = min(2 * pause_s, _LAST_LOOK_S)
            job.reload(retry=None, timeout=self._limit_s)
        return job

    def _resource(self, table: NewTable) -> bigquery.Table:
        from google.cloud import bigquery
        from google.cloud.bigquery import table as table_constraints

        found = bigquery.Table(self._id(table.name), schema=_fields(table.columns))
        if table.partitioning is not None:
            found.time_partitioning = bigquery.TimePartitioning(
                type_=table.partitioning, field=table.partition_by, expiration_ms=table.expiration_ms
            )
        if table.cluster_by:
            found.clustering_fields = list(table.cluster_by)
        if table.labels:
            found.labels = dict(table.labels)
        if table.expires_after_s is not None:
            found.expires = datetime.now(UTC) + timedelta(seconds=table.expires_after_s)
        if table.primary_key:
            key = table_constraints.PrimaryKey(columns=list(table.primary_key))
            found.table_constraints = table_constraints.TableConstraints(primary_key=key, foreign_keys=None)
        if table.max_staleness_s is not None:
            found.max_staleness = f"0-0 0 0:0:{table.max_staleness_s}"
        found.description = table.description
        return found

    def _id(self, table: str) -> str:
        return f"{self._project}.{self._dataset}.{table}"

    def _translated(self, doing: str) -> Any:
        return translated(doing, project=self._project, dataset=self._dataset)


def _fields(columns: Columns) -> list[Any]:
    from google.cloud import bigquery

    return [bigquery.SchemaField.from_api_repr(column.as_json()) for column in columns]
