"""Reads the tables for the first time, in one snapshot of PostgreSQL. Owned by the reading thread.

Rows come by COPY. Each value comes as the text that the log would hold, so that both ways give the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql

from connect.api.errors import RetriableError
from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.connection.unchecked_text import as_stored
from connectors.jdbc.dialects.postgres.result_types import BOOL, BPCHAR, INET, XML
from connectors.jdbc.log.postgres.tables import LogTable
from connectors.jdbc.log.shared.cells import BYTES_AT_MOST, Buffer, Cells, Mask
from connectors.jdbc.log.shared.position import lsn_of_text
from connectors.jdbc.log.shared.snapshot_segments import EVERY_KEY, KeyRange
from connectors.jdbc.log.shared.snapshot_visibility import SnapshotVisibility
from connectors.jdbc.settings.table_choice import TableName

_SIGNATURE = 19
"""COPY in binary form has this many bytes before its first row: signature, flags, no extension (manual, COPY)."""
# The LSN is where the log in memory ends (insert), not where it is written: with synchronous_commit=off a commit is
# visible before it is written, but not before it is in memory.
_NOW = (
    "SELECT txid_current_snapshot()::text, (extract(epoch FROM clock_timestamp()) * 1e6)::bigint, "
    "(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END)::text"
)
_HERE = "(SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())"
# A session in COMMIT PREPARED waits for the standby, not the prepared transaction. What a session does is told to
# members of pg_read_all_stats alone, its transaction's number to all.
_WAITING = (
    f"SELECT FROM pg_catalog.pg_stat_activity WHERE datid = {_HERE} AND (wait_event = 'SyncRep' OR state IS NULL)"
)
_MAY_WAIT = (
    f"WITH running AS (SELECT backend_xid AS xid FROM pg_catalog.pg_stat_activity WHERE datid = {_HERE} "  # noqa: S608 - constants
    "UNION ALL SELECT transaction FROM pg_catalog.pg_prepared_xacts WHERE database = pg_catalog.current_database()) "
    "SELECT xid::text FROM running "
    "WHERE xid IS NOT NULL AND pg_catalog.current_setting('synchronous_standby_names') <> ''"
)
_UNCOMMITTED = (
    "SELECT backend_xid::text FROM pg_catalog.pg_stat_activity "  # noqa: S608 - constants
    "WHERE backend_xid IS NOT NULL AND state IS NOT NULL AND wait_event IS DISTINCT FROM 'SyncRep' "
    f"UNION ALL SELECT transaction::text FROM pg_catalog.pg_prepared_xacts WHERE NOT EXISTS ({_WAITING})"
)
# The catalog's rows are those of the snapshot, but its functions tell the present state. A partitioned table has no
# file, but its partitions have.
_MOVED = (
    "WITH RECURSIVE tree AS (SELECT %s::regclass::oid AS oid UNION "
    "SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid) "
    "SELECT bool_or(c.relfilenode <> pg_catalog.pg_relation_filenode(c.oid)) "
    "FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid"
)
# From version 17 on this time-out ends transactions, even busy ones.
_UNLIMITED = "SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name = 'transaction_timeout'"
LATER = "Start again: what was read stays, and the rest is read in a later snapshot, with each row and change once."
_END = b"\xff\xff"
_DIGEST_BYTES = 32
_TEXTS = {
    # A cast would cut the blanks that CHAR(n) keeps, and its binary form is its text.
    BPCHAR: sql.SQL("{}"),
    # A cast would say true where the log says t.
    BOOL: sql.SQL("textin(boolout({}))"),
    # A cast would keep the declaration, which the log leaves out.
    XML: sql.SQL("textin(xml_out({}))"),
    # A cast would add digits that the log leaves out.
    INET: sql.SQL("textin(inet_out({}))"),
}


@dataclass(frozen=True, slots=True)
class SnapshotRows:
    """Holds some rows of a table; the next rows are behind `last_key`, which is the key as text.

    `marks` are the values of `snapshot` in the source block of each row, or None if the block has none.
    """

    buffer: Buffer
    cells: Sequence[Cells]
    count: int
    last_key: tuple[str, ...]
    marks: pa.Array | None = None

    def take(self, rows: Mask) -> SnapshotRows:
        """Return these rows."""
        marks = None if self.marks is None else self.marks.filter(pa.array(rows))
        return replace(self, cells=[cells.take(rows) for cells in self.cells], count=int(rows.sum()), marks=marks)


class WrittenAnewError(RetriableError):
    """Says that the table was rewritten since the snapshot, so that only a later snapshot has its rows."""


class TableSnapshot:
    """Reads tables in one transaction, as they were at one moment."""

    def __init__(self, arguments: Mapping[str, Any], errors: ErrorTranslator) -> None:
        self._arguments = arguments
        self._errors = errors
        self._connection: psycopg.Connection[Any] | None = None

    def begin(self, exported: str | None) -> tuple[SnapshotVisibility, int]:
        """Begin the transaction in an exported snapshot, or in a new one (None). Return a description of the snapshot,
        and the server's clock in microseconds.
        """
        with self._errors.translated("beginning the snapshot"):
            self._connection = psycopg.connect(**self._arguments, autocommit=True)
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if exported is not None:
                with self._errors.translated(f"taking up snapshot {exported}, whose session may have ended,", LATER):
                    self._connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(exported)))
            row = self._connection.execute(_NOW).fetchone()
        assert row is not None
        return SnapshotVisibility(str(row[0]), lsn_of_text(row[2])), int(row[1])

    def may_wait_for_standby(self) -> frozenset[int]:
        """Return the transactions that run now in this database, by the lower 32 bits of their numbers, or none if the
        server has no synchronous standby: a commit is over then a moment after the log has it. No snapshot may be open.
        """
        with (
            self._errors.translated("asking which transactions run"),
            psycopg.connect(**self._arguments, autocommit=True) as connection,
        ):
            return frozenset(int(row[0]) for row in connection.execute(_MAY_WAIT))

    def uncommitted(self) -> set[int]:
        """Return the transactions that have surely not begun to commit, by the lower 32 bits of their numbers.

        The server tells of the sessions of other users only with the right pg_read_all_stats.
        """
        assert self._connection is not None
        with self._errors.translated("asking which transactions run"):
            return {int(row[0]) for row in self._connection.execute(_UNCOMMITTED)}

    def export(self) -> str:
        """Return a name by which other sessions may use this snapshot until the transaction ends."""
        assert self._connection is not None
        with self._errors.translated("exporting the snapshot"):
            self._connection.execute(_UNLIMITED)
            row = self._connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        return str(row[0])

    def hold(self, name: TableName) -> None:
        """Keep a table's columns as they are until the transaction ends. RetriableError: the table is gone.
        WrittenAnewError: the table was rewritten since the snapshot, and is empty in it.
        """
        assert self._connection is not None
        table = sql.Identifier(*(part for part in name if part is not None))
        with self._errors.translated(f"reading table {name.full}"):
            try:
                self._connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(table))
            except psycopg.errors.UndefinedTable:
                raise RetriableError(f"Table {name.full} is gone: looking for the tables anew.") from None
            moved = self._connection.execute(_MOVED, [table.as_string(self._connection)]).fetchone()
        if moved is not None and moved[0]:
            text = f"Table {name.full} was written anew while others were read: reading it as it is now."
            raise WrittenAnewError(text)

    def rows(
        self,
        table: LogTable,
        after: Sequence[str],
        limit: int,
        keys: KeyRange = EVERY_KEY,
        *,
        select: str = "",
        at_most: int | None = None,
    ) -> Iterator[SnapshotRows]:
        """Yield the rows behind a key, in the order of the key. A table without a key has the order of a digest of its
        rows.

        `keys` limits the one column of the key. `select` is the query whose rows are taken for the table's, or is empty
        if the table itself is read. At most `at_most` rows are read, or all if that is None.
        """
        connection = self._connection
        assert connection is not None
        doing = f"reading table {table.name.full}"
        statement = _statement(table, _some_of(table, after, keys, select), at_most).as_bytes(connection)
        page = _Page(table, tuple(after), limit)
        with (
            self._errors.translated(doing),
            as_stored(connection),
            connection.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            first = True
            for data in copy:
                content = bytes(data)
                if first:
                    content, first = content[_SIGNATURE:], False
                if content and content != _END:
                    page.add(content)
                if page.is_full:
                    yield from page.taken()
            yield from page.taken(is_last=True)

    def count(self, table: LogTable, after: Sequence[str], keys: KeyRange) -> int:
        """Return the number of rows that `rows` would give, as the server counts them."""
        assert self._connection is not None
        query = sql.SQL("SELECT count(*) FROM {}").format(_some_of(table, after, keys))
        with self._errors.translated(f"counting table {table.name.full}"), as_stored(self._connection):
            row = self._connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def last_key(self, table: LogTable, select: str) -> tuple[str, ...]:
        """Return the last key of a table that has a key, or an empty key if the table has no row.

        `select` is as in `rows`.
        """
        assert self._connection is not None
        texts, key = _columns(table), table.events.key
        query = sql.SQL("SELECT {} FROM {} ORDER BY {} LIMIT 1").format(
            sql.SQL(", ").join(texts[name] for name in key),
            _some_of(table, (), EVERY_KEY, select),
            sql.SQL(", ").join(sql.SQL("{} DESC").format(sql.Identifier("t", name)) for name in key),
        )
        with self._errors.translated(f"reading table {table.name.full}"), as_stored(self._connection):
            row = self._connection.execute(query).fetchone()
        return () if row is None else tuple(map(str, row))

    def close(self) -> None:
        """End the transaction."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def interrupt(self) -> None:
        """Break off a running statement. For any thread."""
        connection = self._connection
        if connection is not None and not connection.closed:
            connection.cancel()


class _Page:
    """Collects rows for a page, and cuts the page at a row whose key tells where the next page begins."""

    def __init__(self, table: LogTable, last_key: tuple[str, ...], limit: int) -> None:
        self._columns = len(table.relation.columns)
        self._keys = [[c.name for c in table.relation.columns].index(name) for name in table.events.key]
        self._last_key = last_key
        self._limit = limit
        self._rows: list[bytes] = []
        self._size = 0

    def add(self, row: bytes) -> None:
        """Add the next row."""
        self._rows.append(row)
        self._size += len(row)

    @property
    def is_full(self) -> bool:
        """Return True if the rows are enough for a batch."""
        return len(self._rows) >= self._limit or self._size > BYTES_AT_MOST

    def taken(self, *, is_last: bool = False) -> Iterator[SnapshotRows]:
        """Yield the rows so far without those at the end whose digest further rows may have."""
        rows, kept = self._rows, 0
        if not self._keys and not is_last:
            kept = next((n for n, row in enumerate(reversed(rows)) if _digest(row) != _digest(rows[-1])), 0)
        ready = rows[: len(rows) - kept]
        self._rows = rows[len(rows) - kept :]
        self._size = sum(map(len, self._rows))
        if ready:
            yield self._made(ready, is_whole=bool(self._keys) or is_last or kept > 0)

    def _made(self, rows: Sequence[bytes], *, is_whole: bool) -> SnapshotRows:
        buffer = Buffer(b"".join(rows))
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        # The digest column is behind the table's columns, and is not read as one of them.
        cells, _ = buffer.copied(np.cumsum(sizes) - sizes + 2, self._columns)
        if self._keys:
            last = buffer.values([cells[place].take(np.array([len(rows) - 1])) for place in self._keys])
            self._last_key = tuple(value[0].as_py().decode() for value in last)
        elif is_whole:
            # If all rows of a page have one digest, they come again if the read is broken off behind the page.
            self._last_key = (_digest(rows[-1]).decode(),)
        return SnapshotRows(buffer, cells, len(rows), self._last_key)


def _digest(row: bytes) -> bytes:
    return row[-_DIGEST_BYTES:]


def _statement(table: LogTable, source: sql.Composed, at_most: int | None) -> sql.Composed:
    columns = list(_columns(table).values())
    key = _key_of(table)
    if not table.events.key:
        columns.append(key)
    query = sql.SQL("SELECT {} FROM {} ORDER BY {}").format(sql.SQL(", ").join(columns), source, key)
    if at_most is not None:
        query += sql.SQL(" LIMIT {}").format(sql.Literal(at_most))
    return sql.SQL("COPY ({}) TO STDOUT (FORMAT BINARY)").format(query)


def _columns(table: LogTable) -> dict[str, sql.Composed]:
    """Return SQL that makes the text of each column as the log has it."""
    return {
        column.name: text_as_logged(base, sql.Identifier(column.name))
        for column, base in zip(table.relation.columns, table.bases, strict=True)
    }


def text_as_logged(base: int, value: sql.Composable) -> sql.Composed:
    """Return SQL that makes the text of a value as the log has it; `base` is the number of the value's type (oid)."""
    return _TEXTS.get(base, sql.SQL("{}::text")).format(value)


def _key_of(table: LogTable) -> sql.Composed:
    # A bare name in ORDER BY would mean the text that is selected.
    key = sql.SQL(", ").join(sql.Identifier("t", name) for name in table.events.key)
    return key if table.events.key else _digest_of(table)


def _some_of(table: LogTable, after: Sequence[str], keys: KeyRange, select: str = "") -> sql.Composed:
    """Return SQL that selects from the table, named t, the rows of a range behind a key."""
    name: sql.Composable = sql.Identifier(*(part for part in table.name if part is not None))
    if select:
        # The end of a line ends a comment.
        name = sql.SQL("({}\n)").format(sql.SQL(select.strip().rstrip(";")))
    source = sql.SQL("{} AS t").format(name)
    key = _key_of(table)
    conditions = []
    if after:
        values = sql.SQL(", ").join(map(sql.Literal, after))
        conditions.append(sql.SQL("ROW({}) > ROW({})").format(key, values))
    for compared, limit in ((">=", keys.begin), ("<", keys.end)):
        if limit is not None:
            conditions.append(sql.SQL("{} " + compared + " {}").format(key, sql.Literal(limit)))
    return source + sql.SQL(" WHERE ") + sql.SQL(" AND ").join(conditions) if conditions else source


def _digest_of(table: LogTable) -> sql.Composed:
    """Return SQL that makes a digest of the texts of a row as the log has them (as in `log/postgres/segments.py`)."""
    texts = []
    for column, base in zip(table.relation.columns, table.bases, strict=True):
        value = sql.Identifier("t", column.name)
        is_padded = base == BPCHAR
        texts.append(sql.SQL("textin(bpcharout({}))").format(value) if is_padded else text_as_logged(base, value))
    return sql.SQL('md5(to_jsonb(ARRAY[{}]::text[])::text) COLLATE "C"').format(sql.SQL(", ").join(texts))
