"""The first read of the tables, in one snapshot of PostgreSQL. Owned by the reading thread.

Rows come by COPY, each value as the same text that the log would hold, so that both ways give the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from connectors.jdbc.errors import Border
from connectors.jdbc.log.cells import BYTES_AT_MOST, Buffer, Cells
from connectors.jdbc.log.pg_tables import LogTable
from connectors.jdbc.log.position import Seen, lsn_of_text
from connectors.jdbc.postgres_types import BPCHAR, INET

_SIGNATURE = 19
"""Bytes before the first row of COPY in binary form: signature, flags, no extension (PostgreSQL's manual, COPY)."""
# A commit that is not waited for is visible before it is written, but not before it is in the log's memory.
_NOW = (
    "SELECT txid_current_snapshot()::text, (extract(epoch FROM clock_timestamp()) * 1e6)::bigint, "
    "(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END)::text"
)
_END = b"\xff\xff"
_TEXTS = {
    # A cast would cut the blanks that CHAR(n) keeps, and its binary form is its text.
    BPCHAR: sql.SQL("{}"),
    # A cast would add digits that the log leaves out.
    INET: sql.SQL("textin(inet_out({}))"),
}


@dataclass(frozen=True, slots=True)
class SnapshotRows:
    """Some rows of a table; `last_key` is the text of the last one's key."""

    buffer: Buffer
    cells: Sequence[Cells]
    count: int
    last_key: tuple[str, ...]


class TableSnapshot:
    """A transaction that reads tables as they were at one moment."""

    def __init__(self, arguments: Mapping[str, Any], border: Border) -> None:
        self._arguments = arguments
        self._border = border
        self._connection: psycopg.Connection[Any] | None = None

    def begin(self, exported: str | None) -> tuple[Seen, int]:
        """Take up an exported snapshot, or one of now; gives what it sees, and the server's clock in microseconds."""
        with self._border.translated("beginning the snapshot"):
            self._connection = psycopg.connect(**self._arguments, autocommit=True)
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if exported is not None:
                self._connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(exported)))
            row = self._connection.execute(_NOW).fetchone()
        assert row is not None
        return Seen(str(row[0]), lsn_of_text(row[2])), int(row[1])

    def rows(self, table: LogTable, after: Sequence[str], limit: int) -> Iterator[SnapshotRows]:
        """The rows in the order of the key, behind a key; in any order where there is none."""
        assert self._connection is not None
        doing = f"reading table {table.name.full}"
        statement = _statement(table, after)
        keys = [[c.name for c in table.relation.columns].index(name) for name in table.events.key]
        with self._border.translated(doing), self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            found: list[bytes] = []
            first, size = True, 0
            for data in copy:
                content = bytes(data)
                if first:
                    content, first = content[_SIGNATURE:], False
                if content and content != _END:
                    found.append(content)
                    size += len(content)
                if len(found) == limit or size > BYTES_AT_MOST:
                    yield _made(found, len(table.relation.columns), keys)
                    found, size = [], 0
            if found:
                yield _made(found, len(table.relation.columns), keys)

    def close(self) -> None:
        """End the transaction."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def interrupt(self) -> None:
        """Break off what runs; for any thread."""
        connection = self._connection
        if connection is not None and not connection.closed:
            connection.cancel()


def _statement(table: LogTable, after: Sequence[str]) -> sql.Composed:
    columns = []
    for column, base in zip(table.relation.columns, table.bases, strict=True):
        name = sql.Identifier(column.name)
        columns.append(_TEXTS.get(base, sql.SQL("{}::text")).format(name))
    source = sql.Identifier(*(part for part in table.name if part is not None))
    query = sql.SQL("SELECT {} FROM {} AS t").format(sql.SQL(", ").join(columns), source)
    # A bare name in ORDER BY would mean the text that is selected.
    key = sql.SQL(", ").join(sql.Identifier("t", name) for name in table.events.key)
    if after:
        values = sql.SQL(", ").join(map(sql.Literal, after))
        query += sql.SQL(" WHERE ROW({}) > ROW({})").format(key, values)
    if table.events.key:
        query += sql.SQL(" ORDER BY {}").format(key)
    return sql.SQL("COPY ({}) TO STDOUT (FORMAT BINARY)").format(query)


def _made(rows: Sequence[bytes], columns: int, keys: Sequence[int]) -> SnapshotRows:
    buffer = Buffer(b"".join(rows))
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    cells, _ = buffer.copied(np.cumsum(sizes) - sizes + 2, columns)
    last = buffer.values([cells[place].take(np.array([len(rows) - 1])) for place in keys])
    return SnapshotRows(buffer, cells, len(rows), tuple(value[0].as_py().decode() for value in last))
