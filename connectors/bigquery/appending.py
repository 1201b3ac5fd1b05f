"""Rows that are added as they come, without dedup: by insertAll, the Storage Write API or load jobs. On threads.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from connect.api.errors import ConnectError, RetriableError
from connectors.bigquery.dedup import INSERT_ID, IS_APPEND, IS_DELETE
from connectors.bigquery.merging import SealedBatch
from connectors.bigquery.staging import batch_id, parquet_of
from connectors.bigquery.storage import StorageWriter
from connectors.bigquery.table_schema import by_name
from connectors.bigquery.warehouse import RowError, Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)
_ROWS_PER_REQUEST: Final = 500
_REQUEST_BYTES: Final = 4 * 1024 * 1024
"""insertAll takes 10 MB and 50,000 rows; Google recommends 500 rows. JSON is larger than the columns it is made of."""
_INSERT_ID_CHARACTERS: Final = 128
_SCHEMA_TEXTS: Final = ("no such field", "not found")


class Writer(Protocol):
    """One way to add rows to a table."""

    def write(self, batch: SealedBatch, rows: pa.Table) -> None:
        """Return once the rows are there. `rows`: the batch's, with the columns of the table alone but for INSERT_ID.

        RetriableError: they may be, and the same call is made again.
        """

    def close(self) -> None:
        """Release the connections; idempotent."""


class Appending:
    """Adds batches by the writer of their table. Its methods block, and are called by several threads."""

    def __init__(
        self, writer: Writer, others: Mapping[str, Writer], report: Callable[[Mapping[str, int]], None]
    ) -> None:
        """`others`: writers of tables that `writer` does not write. `report`: hears the figures of each batch, on any
        thread."""
        self._writer = writer
        self._others = others
        self._report = report

    def land(self, batch: SealedBatch) -> None:
        """Return once the rows are in the table. RetriableError: they may be, and the same call is made again."""
        import pyarrow as pa

        started_s = time.monotonic()
        rows = pa.concat_tables(batch.tables, promote_options="default").drop_columns([IS_DELETE, IS_APPEND])
        self._others.get(batch.target, self._writer).write(batch, rows)
        took_s = time.monotonic() - started_s
        _log.info("Added %d rows to table %s in %.1f s.", len(rows), batch.target, took_s)
        self._report(Counter(appends_total=1, appended_rows_total=len(rows)))

    def sweep(self) -> None:
        """Nothing of an earlier life is left."""

    def collect(self) -> None:
        """No task does another's work."""

    def stop(self) -> None:
        """Requests end at their own limit."""

    def close(self) -> None:
        """Close the writers."""
        for writer in (self._writer, *self._others.values()):
            writer.close()


class InsertAll:
    """tabledata.insertAll, as the Java connector. The API takes JSON, so a row becomes a Python object here."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse

    def write(self, batch: SealedBatch, rows: pa.Table) -> None:
        """Raise for the first row that BigQuery refuses, once the others are there."""
        for part in _parts(rows):
            ids = [_short(text) for text in part[INSERT_ID].to_pylist()]
            values = [_json_row(row) for row in part.drop_columns([INSERT_ID]).to_pylist()]
            errors = self._warehouse.insert_all(batch.target, values, ids)
            if errors:
                raise _refused(batch.target, errors)

    def close(self) -> None:
        """It has no connection of its own."""


class DefaultStream:
    """The Storage Write API's default stream, in Arrow: rows stay columns."""

    def __init__(self, storage: StorageWriter) -> None:
        self._storage = storage

    def write(self, batch: SealedBatch, rows: pa.Table) -> None:
        """Append all rows."""
        self._storage.append(batch.target, rows.drop_columns([INSERT_ID]))

    def close(self) -> None:
        """Close the channel."""
        self._storage.close()


class LoadJobs:
    """A load job per batch, straight into the table; it costs nothing, and a table takes 1,500 a day."""

    def __init__(self, warehouse: Warehouse, connector: str) -> None:
        self._warehouse = warehouse
        self._connector = connector

    def write(self, batch: SealedBatch, rows: pa.Table) -> None:
        """The same batch of an earlier life, loaded already, is not loaded again."""
        known = by_name(batch.columns)
        rows = rows.drop_columns([INSERT_ID])
        columns = tuple(known[name.lower()] for name in rows.column_names)
        content = parquet_of([rows])
        name = batch_id(self._connector, batch.target, batch.ranges, memoryview(content))
        self._warehouse.load(batch.target, columns, content, f"kafka-connect-load-{name}", appends=True)

    def close(self) -> None:
        """It has no connection of its own."""


def _parts(rows: pa.Table) -> Iterator[pa.Table]:
    """Runs of rows that one request takes."""
    per_row = max(1, rows.nbytes // max(1, len(rows)))
    size = max(1, min(_ROWS_PER_REQUEST, _REQUEST_BYTES // per_row))
    for start in range(0, len(rows), size):
        yield rows.slice(start, size)


def _short(text: str) -> str:
    return text if len(text) <= _INSERT_ID_CHARACTERS else hashlib.sha256(text.encode()).hexdigest()


def _json_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row in insertAll's JSON; a null is left out, as for a REPEATED column it is no value."""
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


def _refused(target: str, errors: Sequence[RowError]) -> ConnectError:
    first = next((error for error in errors if error.reason != "stopped"), errors[0])
    message = f"Table {target} refused {len(errors)} rows; column {first.location or '?'}: {first.message}"
    if any(text in first.message.lower() for text in _SCHEMA_TEXTS):
        # A column that was just added is seen by insertAll only some seconds to minutes later.
        return RetriableError(f"{message}. A new column is not seen at once.")
    return ConnectError(message, fix="Compare the column's type with the field's.")
