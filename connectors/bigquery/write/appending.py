"""Adds rows as they come, without dedup: by insertAll, the Storage Write API or load jobs. Threads call it.

All three add rows twice if a crash comes between writing them and committing their offsets. insertAll sends an id with
each row. By it BigQuery drops the repeated rows of about the last minute, without a promise that it drops all.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from connect.api.errors import ConnectError, RetriableError
from connectors.bigquery.dedup.rules import INSERT_ID, IS_APPEND, IS_DELETE, SOFT_DELETED
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.merge.halving import write_by_halves
from connectors.bigquery.merge.staging import batch_id, parquet_of
from connectors.bigquery.merge.staging_tables import StagingTables
from connectors.bigquery.rows.sizes import ROW_BYTES, parts, too_large
from connectors.bigquery.rows.table_schema import Columns, by_name
from connectors.bigquery.warehouse.job_facts import RowError
from connectors.bigquery.warehouse.storage import StorageWriter
from connectors.bigquery.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)
_ROWS_PER_REQUEST: Final = 500
_REQUEST_BYTES: Final = 4 * 1024 * 1024
"""insertAll takes 10 MB and 50,000 rows; Google recommends 500 rows. JSON is larger than the columns it is made of."""
_INSERT_ID_CHARACTERS: Final = 128
_SCHEMA_TEXTS: Final = ("no such field", "not found")


class Writer(Protocol):
    """Adds rows to tables by one of BigQuery's APIs."""

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Write the rows of a batch, and return the refused ones once all others are in the table.

        `rows` are the batch's rows. They have only columns of the table, and INSERT_ID.

        Raise RetriableError if rows may be missing; then the same call is made again.
        """

    def close(self) -> None:
        """Close the connections. May be called twice."""


class Appending:
    """Adds each batch by the writer of its table. Its methods block, and several threads call them."""

    def __init__(
        self,
        writer: Writer,
        others: Mapping[str, Writer],
        report: Callable[[Mapping[str, int]], None],
        *,
        at_once: int,
        left_behind: StagingTables | None = None,
    ) -> None:
        """Take the writers. `others` has the writers of some tables by name; `writer` writes all other tables.

        `report` is called with the figures of each batch, on any thread. At most `at_once` tables are written at a
        time. `left_behind` finds the staging tables of a mode that merged before; None: there was no such mode.
        """
        self._writer = writer
        self._others = others
        self._report = report
        self._at_once = at_once
        self._left_behind = left_behind

    @property
    def threads(self) -> int:
        """Return the most threads that call `write` at a time."""
        return self._at_once

    def doing(self, target: str) -> str:  # noqa: ARG002 - of all tables alike
        """Return in words what happens to a batch that is being written."""
        return "it is written"

    def write(self, batch: SealedBatch) -> Refusals:
        """Write a batch, and return the refused rows once all others are in the table.

        Raise RetriableError if rows may be missing; then the same call is made again.
        """
        started_s = time.monotonic()
        refused = self._others.get(batch.target, self._writer).write(batch, rows_of(batch))
        added, took_s = len(batch) - len(refused), time.monotonic() - started_s
        _log.info("Added %d rows to table %s in %.1f s; %d refused.", added, batch.target, took_s, len(refused))
        self._report(Counter(appends_total=1, appended_rows_total=added))
        return refused

    def sweep(self) -> None:
        """Drop the staging tables of a mode that merged before, so that a MERGE that still comes finds no rows."""
        if self._left_behind is not None:
            self._left_behind.sweep_all()

    @property
    def collects(self) -> bool:
        """Return False, as there are no rows of other tasks to write."""
        return False

    def collect(self) -> None:
        """Do nothing, as there are no rows of other tasks to write."""

    def stop(self) -> None:
        """Do nothing, as each request ends at its own time limit."""

    def close(self) -> None:
        """Close the writers."""
        for writer in (self._writer, *self._others.values()):
            writer.close()


class InsertAll:
    """Adds rows by calls of tabledata.insertAll, as the Java connector does.

    The API takes JSON, so a row becomes a Python object here.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Add the rows, and return those that BigQuery refuses once the others are in the table."""
        refused = too_large(rows, ROW_BYTES, as_json=True)
        for start, stop in parts(rows, _REQUEST_BYTES, _ROWS_PER_REQUEST, leave_out=refused):
            part = rows.slice(start, stop - start)
            ids = [_short(text) for text in part[INSERT_ID].to_pylist()]
            values = [_json_row(row) for row in part.drop_columns([INSERT_ID]).to_pylist()]
            errors = self._warehouse.insert_all(batch.target, values, ids)
            refused |= {start + row: error for row, error in _refused(batch.target, errors).items()}
        return refused

    def close(self) -> None:
        """Do nothing: the writer has no connection of its own."""


class DefaultStream:
    """Adds rows by the default stream of the Storage Write API, in Arrow, so that rows stay columns."""

    def __init__(self, storage: StorageWriter) -> None:
        self._storage = storage

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Append the rows, and return those that BigQuery refuses."""
        return self._storage.append(batch.target, rows.drop_columns([INSERT_ID]))

    def close(self) -> None:
        """Close the channel."""
        self._storage.close()


class LoadJobs:
    """Adds each batch by a load job. Load jobs cost nothing, and a table takes 1,500 a day."""

    def __init__(self, warehouse: Warehouse, connector: str) -> None:
        self._warehouse = warehouse
        self._connector = connector

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Load the batch, unless an earlier run of the task loaded the same one. Return the refused rows."""
        del rows
        return write_by_halves(batch, self._load)

    def _load(self, batch: SealedBatch) -> None:
        columns, content = loadable(batch)
        table = self._warehouse.table(batch.target)
        if table is None:
            raise RetriableError(f"Table {batch.target} is gone; it is made again.")
        # The time of the table's creation is part of the id, as a table that was made anew has none of the loaded rows.
        name = batch_id(f"{self._connector} {table.created_ms}", batch, memoryview(content))
        self._warehouse.append(batch.target, columns, content, f"kafka-connect-load-{name}")

    def close(self) -> None:
        """Do nothing: the writer has no connection of its own."""


def loadable(batch: SealedBatch) -> tuple[Columns, pa.Buffer]:
    """Return what a load job takes of a batch: the columns, and a Parquet file of the rows."""
    known = by_name(batch.columns)
    rows = rows_of(batch).drop_columns([INSERT_ID])
    return tuple(known[name.lower()] for name in rows.column_names), parquet_of([rows])


def rows_of(batch: SealedBatch) -> pa.Table:
    """Return the batch's rows without the columns that mark them for dedup.

    The column SOFT_DELETED stays where dedup.mode=view adds it, and says which rows are deletes.
    """
    import pyarrow as pa

    rows = pa.concat_tables(batch.tables, promote_options="default")
    if SOFT_DELETED in rows.column_names:
        rows = rows.set_column(rows.column_names.index(SOFT_DELETED), SOFT_DELETED, rows[IS_DELETE])
    return rows.drop_columns([IS_DELETE, IS_APPEND])


def _short(text: str | None) -> str | None:
    if text is None or len(text) <= _INSERT_ID_CHARACTERS:
        return text
    return hashlib.sha256(text.encode()).hexdigest()


def _json_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON for insertAll. Nulls are left out, as a REPEATED column takes no null."""
    return {name: _json_value(value) for name, value in row.items() if value is not None}


def _json_value(value: Any) -> Any:
    match value:
        case dict():
            return _json_row(value)
        case list():
            return [_json_value(part) for part in value]
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return f"{value:f}"
        case datetime() | date() | time_of_day():
            return value.isoformat()
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _refused(target: str, errors: Sequence[RowError]) -> dict[int, Exception]:
    """Return the bad rows of a request. Raise RetriableError if the table does not show a new column yet."""
    refused: dict[int, Exception] = {}
    for error in errors:
        if error.reason == "stopped":
            continue
        message = f"Table {target} refused the row; column {error.location or '?'}: {error.message}"
        if any(text in error.message.lower() for text in _SCHEMA_TEXTS):
            # A column that was just added is seen by insertAll only some seconds to minutes later.
            raise RetriableError(f"{message}. A new column is not seen at once.")
        refused.setdefault(error.row, ConnectError(message))
    return refused
