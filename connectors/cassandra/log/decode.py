"""The bytes of a mutation -> partition updates. Pure.

Source: Mutation, PartitionUpdate, UnfilteredSerializer, Cell.Serializer and Columns.Serializer of Cassandra 4.0 to 5.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from connect.api.errors import ConnectError, SchemaError
from connectors.cassandra.cql_types import CqlType
from connectors.cassandra.cursor import Cursor, signed
from connectors.cassandra.log.mutation import (
    Bound,
    Cell,
    Clustering,
    ComplexColumn,
    Deletion,
    Liveness,
    Marker,
    PartitionUpdate,
    Row,
)
from connectors.cassandra.tables import Table

UNSIGNED_TIMES_VERSION: Final = 8
"""From this version of the commit log on, local deletion times reach to 2106."""
_EPOCH_US: Final = 1_442_880_000_000_000
_EPOCH_S: Final = 1_442_880_000
"""The second from which timestamps and times are counted (EncodingStats): 22 September 2015."""
_NEVER_US: Final = -(2**63)
"""The timestamp that stands for no deletion."""

# Flags of a partition, a row and a cell.
_IS_EMPTY, _PARTITION_DELETED, _HAS_STATIC, _HAS_ESTIMATE = 1, 4, 8, 16
_END, _MARKER, _HAS_TIME, _HAS_TTL, _ROW_DELETED, _ALL_COLUMNS, _COMPLEX_DELETED, _EXTENDED = (1 << i for i in range(8))
_TOMBSTONE, _EXPIRING, _NO_VALUE, _ROW_TIME, _ROW_TTL = (1 << i for i in range(5))


class UnknownTableError(ConnectError):
    """A mutation is of an unknown table, so that what follows in it cannot be read."""

    def __init__(self, table_id: UUID) -> None:
        super().__init__(f"Table {table_id} is not known: it was dropped, or made a moment ago.")
        self.table_id = table_id


class UnknownColumnError(SchemaError):
    """A mutation has a column that the table lacked when its schema was read."""


class _Stats(NamedTuple):
    """The base values that the numbers of an update are deltas to."""

    writetime_us: int
    local_s: int
    ttl_s: int


class _Column(NamedTuple):
    name: str
    type: CqlType
    size: int | None
    multicell: bool


class _Header(NamedTuple):
    """A list of columns, and the bytes it was read from."""

    data: bytes
    columns: list[_Column]


class MutationDecoder:
    """Decodes the mutations of segments of one version. `tables`: those that are known, by id."""

    def __init__(self, tables: Mapping[UUID, Table], version: int) -> None:
        self._tables = {table_id.bytes: table for table_id, table in tables.items()}
        self._unsigned = version >= UNSIGNED_TIMES_VERSION
        self._headers: dict[bytes, _Header] = {}
        """The list of columns that each table's last mutation had: mostly the next one has the same."""

    def decode(self, body: bytes) -> list[PartitionUpdate]:
        """The updates of a mutation, all of one partition key.

        UnknownTableError, UnknownColumnError: read the schema again. TruncatedError: these bytes are no mutation.
        """
        cursor = Cursor(body)
        updates = [self._update(cursor) for _ in range(cursor.vint())]
        if cursor.at != len(body):
            raise ConnectError(f"A mutation of {len(body)} bytes ends after {cursor.at}.")
        return updates

    def _update(self, cursor: Cursor) -> PartitionUpdate:
        table_id = cursor.take(16)
        table = self._tables.get(table_id)
        if table is None:
            raise UnknownTableError(UUID(bytes=table_id))
        key = cursor.vbytes()
        flags = cursor.u8()
        if flags & _IS_EMPTY:
            return PartitionUpdate(table, key, None, None, ())
        stats = _Stats(
            signed(cursor.vint() + _EPOCH_US, 64), self._local(cursor.vint() + _EPOCH_S), signed(cursor.vint(), 32)
        )
        static_columns = _columns(cursor, table) if flags & _HAS_STATIC else []
        columns = self._columns(cursor, table_id, table)
        deletion = self._deletion(cursor, stats) if flags & _PARTITION_DELETED else None
        static = self._static(cursor, static_columns, stats) if flags & _HAS_STATIC else None
        if flags & _HAS_ESTIMATE:
            cursor.vint()
        return PartitionUpdate(table, key, deletion, static, self._rows(cursor, table, columns, stats))

    def _columns(self, cursor: Cursor, table_id: bytes, table: Table) -> list[_Column]:
        header = self._headers.get(table_id)
        if header is not None and cursor.data.startswith(header.data, cursor.at):
            cursor.at += len(header.data)
            return header.columns
        begin = cursor.at
        columns = _columns(cursor, table)
        self._headers[table_id] = _Header(cursor.data[begin : cursor.at], columns)
        return columns

    def _rows(self, cursor: Cursor, table: Table, columns: list[_Column], stats: _Stats) -> list[Row | Marker]:
        rows: list[Row | Marker] = []
        while True:
            flags = cursor.u8()
            if flags & _END:
                return rows
            if flags & _MARKER:
                rows.append(self._marker(cursor, table, stats))
                continue
            if flags & _EXTENDED:
                cursor.u8()
            clustering = _clustering(cursor, table, len(table.clustering))
            rows.append(self._row(cursor, flags, clustering, columns, stats))

    def _static(self, cursor: Cursor, columns: list[_Column], stats: _Stats) -> Row:
        flags = cursor.u8()
        if flags & _EXTENDED:
            cursor.u8()
        return self._row(cursor, flags, (), columns, stats)

    def _row(self, cursor: Cursor, flags: int, clustering: Clustering, columns: list[_Column], stats: _Stats) -> Row:
        liveness = None
        if flags & _HAS_TIME:
            writetime_us = signed(cursor.vint() + stats.writetime_us, 64)
            ttl_s = expires_s = None
            if flags & _HAS_TTL:
                ttl_s = signed(cursor.vint() + stats.ttl_s, 32)
                expires_s = self._local(cursor.vint() + stats.local_s)
            liveness = Liveness(writetime_us, ttl_s, expires_s)
        deletion = self._deletion(cursor, stats) if flags & _ROW_DELETED else None
        present = columns if flags & _ALL_COLUMNS else _subset(cursor, columns)
        found: dict[str, Cell | ComplexColumn] = {}
        if liveness is not None and liveness.ttl_s is None:
            _plain_cells(cursor, present, liveness.writetime_us, found)
        for column in present[len(found) :]:
            if column.multicell:
                complex_deletion = self._deletion(cursor, stats) if flags & _COMPLEX_DELETED else None
                cells = [self._cell(cursor, liveness, column, stats) for _ in range(cursor.vint())]
                found[column.name] = ComplexColumn(complex_deletion, cells)
            else:
                found[column.name] = self._cell(cursor, liveness, column, stats)
        return Row(clustering, liveness, deletion, found)

    def _cell(self, cursor: Cursor, row: Liveness | None, column: _Column, stats: _Stats) -> Cell:
        flags = cursor.u8()
        if row is None and flags & (_ROW_TIME | _ROW_TTL):
            raise ConnectError(f"A cell of column {column.name!r} has the times of its row, which has none.")
        if row is not None and flags & _ROW_TIME:
            writetime_us = row.writetime_us
        else:
            writetime_us = signed(cursor.vint() + stats.writetime_us, 64)
        ttl_s = local_s = None
        if row is not None and flags & _ROW_TTL:
            ttl_s, local_s = row.ttl_s, row.expires_s
        else:
            if flags & (_TOMBSTONE | _EXPIRING):
                local_s = self._local(cursor.vint() + stats.local_s)
            if flags & _EXPIRING:
                ttl_s = signed(cursor.vint() + stats.ttl_s, 32)
        multicell = column.multicell
        path = cursor.vbytes() if multicell else None
        if flags & _NO_VALUE:
            value = None if flags & _TOMBSTONE else b""
        elif column.size is None or multicell:
            value = cursor.vbytes()
        else:
            value = cursor.take(column.size)
        return Cell(writetime_us, value, ttl_s, local_s, path)

    def _marker(self, cursor: Cursor, table: Table, stats: _Stats) -> Marker:
        bound = Bound(cursor.u8())
        prefix = _clustering(cursor, table, cursor.u16())
        first = self._deletion(cursor, stats)
        if bound.is_boundary:
            return Marker(bound, prefix, first, self._deletion(cursor, stats))
        return Marker(bound, prefix, None, first) if bound.is_start else Marker(bound, prefix, first, None)

    def _deletion(self, cursor: Cursor, stats: _Stats) -> Deletion | None:
        writetime_us = signed(cursor.vint() + stats.writetime_us, 64)
        local_s = self._local(cursor.vint() + stats.local_s)
        return None if writetime_us == _NEVER_US else Deletion(writetime_us, local_s)

    def _local(self, seconds: int) -> int:
        return seconds & 0xFFFFFFFF if self._unsigned else signed(seconds, 32)


def _plain_cells(
    cursor: Cursor, columns: list[_Column], writetime_us: int, found: dict[str, Cell | ComplexColumn]
) -> None:
    """The first cells of a row as an INSERT without TTL writes them, up to one that is anything else.

    Nearly all cells there are: read without a call for each of their parts.
    """
    data, at = cursor.data, cursor.at
    least = len(data) - 2
    for name, _, size, multicell in columns:
        if multicell or at > least or data[at] != _ROW_TIME:
            break
        begin = at + 1
        if size is None:
            size = data[begin]  # noqa: PLW2901 - of this cell
            begin += 1
            if size >= 0x80:
                break
        end = begin + size
        if end > len(data):
            break
        found[name] = Cell(writetime_us, data[begin:end])
        at = end
    cursor.at = at


def _columns(cursor: Cursor, table: Table) -> list[_Column]:
    columns = []
    for _ in range(cursor.vint()):
        name = cursor.vbytes().decode()
        kind = table.value_types.get(name)
        if kind is None:
            raise UnknownColumnError(f"Table {table.title} ({table.id}) has no such column.", field=name)
        columns.append(_Column(name, kind, kind.fixed_size, kind.is_multicell))
    return columns


def _subset(cursor: Cursor, columns: list[_Column]) -> list[_Column]:
    """The columns that a row has (Columns.Serializer.deserializeSubset)."""
    encoded = cursor.vint()
    if not encoded:
        return columns
    total = len(columns)
    if total < 64:
        return [column for i, column in enumerate(columns) if not encoded >> i & 1]
    present = total - encoded
    if present < total // 2:
        return [columns[cursor.vint()] for _ in range(present)]
    missing = {cursor.vint() for _ in range(encoded)}
    return [column for i, column in enumerate(columns) if i not in missing]


def _clustering(cursor: Cursor, table: Table, size: int) -> Clustering:
    """Values of the first `size` clustering columns (ClusteringPrefix.Serializer.deserializeValuesWithoutSize)."""
    values: list[bytes | None] = []
    header = 0
    for i, column in enumerate(table.clustering[:size]):
        if i % 32 == 0:
            header = cursor.vint()
        place = 2 * (i % 32)
        if header >> place & 1:
            values.append(b"")
        elif header >> (place + 1) & 1:
            values.append(None)
        else:
            fixed = column.type.fixed_size
            values.append(cursor.vbytes() if fixed is None else cursor.take(fixed))
    return tuple(values)
