"""Writes many rows at the same time, and returns when all of them are written."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from connect.api.errors import ConfigError, ConnectError, RetriableError, SchemaError
from connect.api.optional.rows_of_one_record import RowsOfOneRecord
from connect.api.records import Batch, Record
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.schema_reader import read_schemas
from connectors.cassandra.cql.session import Database
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.sink.config import CassandraSinkConfig
from connectors.cassandra.sink.table_rows import TableRows, UnknownColumnError
from connectors.cassandra.sink.write_statement import Write

_LOOK_S: Final = 0.05
_COLUMNS: Final = "SELECT column_name FROM system_schema.columns WHERE keyspace_name = %s AND table_name = %s"


class Written(Protocol):
    """Waits for a row that was sent to the cluster."""

    def result(self) -> None:
        """Wait for the row to be written, and raise what went wrong. RetriableError: the row may be written or not."""


class Outcome(NamedTuple):
    """Tells what became of a batch: how many rows were written, and the error of each row that could not be, by number.

    `rows` counts neither static values of partitions without rows nor deleted rows.
    """

    rows: int
    bad: Mapping[int, Exception]


class Writetimes:
    """Gives out times in microseconds, each later than the last, so that the later one of two rows of a key wins."""

    def __init__(self) -> None:
        self._last_us = 0

    def next(self) -> int:
        """Return the present time, or a microsecond after the last one."""
        self._last_us = max(self._last_us + 1, time.time_ns() // 1000)
        return self._last_us


class LaneWritetimes:
    """Gives out times that are counted up by a microsecond from the moment at which it was made.

    A writer that froze and wakes up goes on at its own moment, so its rows are older than those of each writer that was
    made later. One writer sends far less than a row in each microsecond, so its count does not reach that moment.
    """

    def __init__(self) -> None:
        self._last_us = time.time_ns() // 1000

    def next(self) -> int:
        """Return the time of a microsecond after the last one."""
        self._last_us += 1
        return self._last_us


class Times(Protocol):
    """Gives out the write times of rows in microseconds: a `Writetimes` or a `LaneWritetimes`."""

    def next(self) -> int:
        """Return a time that is later than the last one."""


class TableWriter:
    """Brings the batches of one task into their tables. Owned by the task thread."""

    def __init__(self, config: CassandraSinkConfig) -> None:
        """Remember the settings. It connects with the first batch."""
        self._config = config
        self._database = Database(config)
        self._tables: Mapping[str, Table] = {}
        self._rows: dict[str, TableRows] = {}
        self._has_looked = False
        """True if it was asked for this batch whether its table was altered."""

    def write(self, batch: Batch, writetimes: Times, deadline: Deadline, chunk: str | None = None) -> Outcome:
        """Write all rows of a batch, and wait for them. `chunk` is the name for the chunk column, if any.

        RetriableError: some rows may not be written. ConfigError: the topic has no table.
        """
        rows = self._rows_of(batch.topic, with_chunks=chunk is not None)
        bad: dict[int, Exception] = {}
        written = 0
        flying: list[Written] = []
        room = threading.Semaphore(self._config.max_in_flight)
        self._has_looked = False
        seen = RowsOfOneRecord(batch.consumed)
        for number, record in enumerate(batch.rows()):
            try:
                writes = self._writes(rows, record, chunk)
                _require_none_lost(seen, number, writes, len(rows.table.primary_key))
                for write in writes:
                    _wait(room, deadline)
                    flying.append(self._begun(write, writetimes, room))
            except SchemaError as error:
                bad[number] = error
            else:
                written += sum(write.is_row for write in writes)
        for _ in range(self._config.max_in_flight):
            _wait(room, deadline)
        _raise_first(flying)
        return Outcome(written, bad)

    def _writes(self, rows: TableRows, record: Record, chunk: str | None) -> Sequence[Write]:
        """Return the statements for a record. SchemaError: the table, as it is now, has no such row."""
        try:
            return rows.writes(record, chunk)
        except UnknownColumnError:
            if self._has_looked or not self._has_other_columns(rows.table):
                raise
        rows.take(self._table(rows.table.name, record.topic))
        return rows.writes(record, chunk)

    def _begun(self, write: Write, writetimes: Times, room: threading.Semaphore) -> Written:
        """Begin a write, for which there is room. SchemaError: a value has no form that could be sent."""
        bound = write.bound(writetimes.next())
        try:
            return self._database.begin_write(write.text, bound, room, is_repeatable=write.is_repeatable)
        except SchemaError:
            room.release()
            raise

    def _has_other_columns(self, table: Table) -> bool:
        """Tell if a table was altered since its columns were read. It is asked once for each batch at most."""
        self._has_looked = True
        found = self._database.rows(
            _COLUMNS, (table.keyspace, table.name), doing=f"asking for columns of {table.title}"
        )
        return {name for (name,) in found} != {column.name for column in table.columns}

    def tables(self) -> Sequence[Table]:
        """Read the keyspace's tables from the cluster and return them."""
        self._tables = read_schemas(self._database).of_keyspace(self._config.keyspace)
        return list(self._tables.values())

    @property
    def database(self) -> Database:
        """Return the connection by which rows are written."""
        return self._database

    def close(self) -> None:
        """Close the connections. May be called twice."""
        self._database.close()

    def _rows_of(self, topic: str, *, with_chunks: bool) -> TableRows:
        name = self._config.table_of(topic)
        if name not in self._rows:
            self._rows[name] = TableRows(
                self._table(name, topic),
                skip_nulls=self._config.nulls == "skip",
                is_by_records=self._config.delete_times == "record",
                chunk_column=self._config.chunk_column if with_chunks else "",
            )
        return self._rows[name]

    def _table(self, name: str, topic: str) -> Table:
        """Read a table's columns. ConfigError: there is no such table for the rows of `topic`."""
        self.tables()
        table = self._tables.get(name)
        if table is None:
            raise ConfigError(
                f"Keyspace {self._config.keyspace} has no table {name} for the rows of topic {topic}.",
                key="topic.tables", fix=f"It has: {', '.join(sorted(self._tables)) or 'none'}.",
            )  # fmt: skip
        return table


def _require_none_lost(seen: RowsOfOneRecord, number: int, writes: Sequence[Write], key_size: int) -> None:
    """Raise SchemaError if a row would replace another one of its record. The values of its key are bound first."""
    if not writes:
        return
    key = writes[0].values[:key_size]
    if not writes[0].is_row:
        seen.deleted(number, key)
    elif (why := seen.wrote(number, key)) is not None:
        raise why


def _wait(room: threading.Semaphore, deadline: Deadline) -> None:
    while not room.acquire(timeout=max(0.001, min(_LOOK_S, deadline.remaining_s))):
        if deadline.expired:
            raise RetriableError("Rows were not written by the deadline.")


def _raise_first(flying: Sequence[Written]) -> None:
    """Raise one of the errors, if there are any: preferably one that another try cannot mend."""
    errors: list[ConnectError] = []
    for one in flying:
        try:
            one.result()
        except ConnectError as error:
            errors.append(error)
    if errors:
        raise min(errors, key=lambda error: isinstance(error, RetriableError))
