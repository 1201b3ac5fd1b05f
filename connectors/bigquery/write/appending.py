"""Add rows as they come, without dedup: by insertAll, the Storage Write API or load jobs. On threads.

All three repeat rows when a crash comes between writing them and committing their offsets. insertAll carries an id per
row, by which BigQuery drops repeats of about the last minute, as well as it can.
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
    """A way in which rows are added to a table."""

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Return once the rows are there, but for those refused. `rows`: the batch's, with the columns of the table
        alone but for INSERT_ID.

        RetriableError: they may be, and the same call is made again.
        """

    def close(self) -> None:
        """Close the connections. May be called twice."""


class Appending:
    """Adds batches by the writer of their table. Its methods block, and are called by several threads."""

    def __init__(
        self,
        writer: Writer,
        others: Mapping[str, Writer],
        report: Callable[[Mapping[str, int]], None],
        *,
        at_once: int,
        left_behind: StagingTables | None = None,
    ) -> None:
        """`others` write the tables that `writer` does not. `report` is called with the figures of each batch, on any
        thread. at_once: the most tables that are written at a time. left_behind: what a mode that merged has staged;
        None: there was no such mode.
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
        """Return what a batch on its way waits for."""
        return "it is written"

    def write(self, batch: SealedBatch) -> Refusals:
        """Return once the rows are in the table, but for those refused. RetriableError: they may be, and the same call
        is made again."""
        started_s = time.monotonic()
        refused = self._others.get(batch.target, self._writer).write(batch, rows_of(batch))
        added, took_s = len(batch) - len(refused), time.monotonic() - started_s
        _log.info("Added %d rows to table %s in %.1f s; %d refused.", added, batch.target, took_s, len(refused))
        self._report(Counter(appends_total=1, appended_rows_total=added))
        return refused

    def sweep(self) -> None:
        """Drop what a mode that merged has staged: a MERGE that was frozen since finds no rows, and changes none."""
        if self._left_behind is not None:
            self._left_behind.sweep_all()

    @property
    def collects(self) -> bool:
        """Return False, as no task writes another's rows."""
        return False

    def collect(self) -> None:
        """Do nothing: no task writes another's rows."""

    def stop(self) -> None:
        """Do nothing: requests end at their own limit."""

    def close(self) -> None:
        """Close the writers."""
        for writer in (self._writer, *self._others.values()):
            writer.close()


class InsertAll:
    """A writer that calls tabledata.insertAll, as the Java connector does.

    The API takes JSON, so a row becomes a Python object here.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Add the rows; those that BigQuery refuses, once the others are in the table."""
        refused = too_large(rows, ROW_BYTES)
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
        """Append all rows but those that BigQuery refuses."""
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
        """Load the batch, unless an earlier life of the task loaded the same batch."""
        del rows
        return write_by_halves(batch, self._load)

    def _load(self, batch: SealedBatch) -> None:
        columns, content = loadable(batch)
        table = self._warehouse.table(batch.target)
        if table is None:
            raise RetriableError(f"Table {batch.target} is gone; it is made again.")
        # In a table that was made anew nothing is loaded already.
        name = batch_id(f"{self._connector} {table.created_ms}", batch, memoryview(content))
        self._warehouse.append(batch.target, columns, content, f"kafka-connect-load-{name}")

    def close(self) -> None:
        """Do nothing: the writer has no connection of its own."""


def loadable(batch: SealedBatch) -> tuple[Columns, pa.Buffer]:
    """Return a batch as a load job takes it: its columns, and a Parquet file of its rows."""
    known = by_name(batch.columns)
    rows = rows_of(batch).drop_columns([INSERT_ID])
    return tuple(known[name.lower()] for name in rows.column_names), parquet_of([rows])


def rows_of(batch: SealedBatch) -> pa.Table:
    """Return the batch's rows without the marks of dedup; under a view, a mark still tells which are deletes."""
    import pyarrow as pa

    rows = pa.concat_tables(batch.tables, promote_options="default")
    if SOFT_DELETED in rows.column_names:
        rows = rows.set_column(rows.column_names.index(SOFT_DELETED), SOFT_DELETED, rows[IS_DELETE])
    return rows.drop_columns([IS_DELETE, IS_APPEND])


def _short(text: str) -> str:
    return text if len(text) <= _INSERT_ID_CHARACTERS else hashlib.sha256(text.encode()).hexdigest()


def _json_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in insertAll's JSON, without nulls, as null is no value of a REPEATED column."""
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
    """Return the bad rows of a request. RetriableError: the table does not show a new column yet."""
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
