"""Decodes the bytes of a mutation into partition updates. Pure.

A mutation names the columns of its tables, but neither their types nor where an update ends. So the changes of a
dropped table are passed over by its remembered layout or, without one, by a search for the next known table's update.

Source: Mutation, PartitionUpdate, UnfilteredSerializer, Cell.Serializer and Columns.Serializer of Cassandra 4.0 to 5.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from connect.api.errors import ConnectError, SchemaError
from connectors.cassandra.cql.cursor import Cursor, TruncatedError, signed
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.log.events.layout import Layout
from connectors.cassandra.log.events.mutation import (
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

Sizes = Sequence[int | None]
"""It holds the size of the values of each clustering column; None: each value has its size before it."""
_ID_SIZE: Final = 16
UNSIGNED_TIMES_VERSION: Final = 8
"""From this version of the commit log on, local deletion times may reach to the year 2106."""
_EPOCH_US: Final = 1_442_880_000_000_000
_EPOCH_S: Final = 1_442_880_000
"""The second from which timestamps and times are counted (EncodingStats): 22 September 2015."""
_NEVER_US: Final = -(2**63)
"""The timestamp that stands for no deletion."""

# Flags of a partition, a row and a cell.
_IS_EMPTY, _PARTITION_DELETED, _HAS_STATIC, _HAS_ESTIMATE = 1, 4, 8, 16
_END, _MARKER, _HAS_TIME, _HAS_TTL, _ROW_DELETED, _ALL_COLUMNS, _COMPLEX_DELETED, _EXTENDED = (1 << i for i in range(8))
_TOMBSTONE, _EXPIRING, _NO_VALUE, _ROW_TIME, _ROW_TTL = (1 << i for i in range(5))


class Decoded(NamedTuple):
    """Holds the updates of a mutation. `left_out` are the ids of dropped or unknown tables that it changes, too."""

    updates: Sequence[PartitionUpdate]
    left_out: Sequence[UUID]


class UnknownColumnError(SchemaError):
    """Says that a mutation has a column that the table lacked when its schema was read."""


class _Stats(NamedTuple):
    """The base values that the numbers of an update are deltas to."""

    writetime_us: int
    local_s: int
    ttl_s: int


class _Known(NamedTuple):
    """A table that can be decoded; `table` is None where it is gone, and its changes are passed over."""

    table: Table | None
    layout: Layout


class _Column(NamedTuple):
    name: str
    size: int | None
    multicell: bool


class _Header(NamedTuple):
    """A list of columns, and the bytes it was read from."""

    data: bytes
    columns: list[_Column]


class MutationDecoder:
    """Decodes the mutations of segments of one version."""

    def __init__(self, tables: Mapping[UUID, Table], version: int, gone: Mapping[UUID, Layout] | None = None) -> None:
        """Take the tables that exist, by id. `gone` has the layouts of dropped tables, as far as they are known."""
        self._known = {number.bytes: _Known(None, layout) for number, layout in (gone or {}).items()}
        self._known |= {number.bytes: _Known(table, Layout.of(table)) for number, table in tables.items()}
        self._unsigned = version >= UNSIGNED_TIMES_VERSION
        self._headers: dict[bytes, _Header] = {}
        """The list of columns that each table's last mutation had: mostly the next one has the same."""

    def decode(self, body: bytes) -> Decoded:
        """Return the updates of a mutation, all of one partition key.

        UnknownColumnError: the schema has to be read again. TruncatedError, ConnectError: the bytes are no mutation.
        """
        cursor = Cursor(body)
        count = cursor.vint()
        updates: list[PartitionUpdate] = []
        left_out: list[UUID] = []
        read = 0
        while read < count and cursor.at < len(body):
            read += 1
            table_id = cursor.take(_ID_SIZE)
            known = self._known.get(table_id)
            update = None if known is None else self._known_update(cursor, table_id, known, is_last=read == count)
            if known is None:
                self._pass_over(cursor, is_last=read == count)
            if update is None:
                left_out.append(UUID(bytes=table_id))
            else:
                updates.append(update)
        if read < count and not left_out:
            raise TruncatedError(f"The bytes end behind {read} updates, of which there are {count}.")
        if cursor.at != len(body):
            raise ConnectError(f"A mutation of {len(body)} bytes ends after {cursor.at}.")
        return Decoded(updates, left_out)

    def _pass_over(self, cursor: Cursor, *, is_last: bool) -> None:
        """Go on at the next update of a known table, or behind the last one: where this one ends is not known.

        All updates of a mutation have the same partition key. So one of a known table begins with its id and this key;
        where they are not found the mutation has no further one.
        """
        begin = cursor.at
        cursor.vbytes()
        key = cursor.data[begin : cursor.at]
        found = len(cursor.data) if is_last else cursor.at + _ID_SIZE
        while (found := cursor.data.find(key, found)) >= 0:
            if cursor.data[found - _ID_SIZE : found] in self._known:
                cursor.at = found - _ID_SIZE
                return
            found += 1
        cursor.at = len(cursor.data)

    def _known_update(self, cursor: Cursor, table_id: bytes, known: _Known, *, is_last: bool) -> PartitionUpdate | None:
        """Return the update; None: of a table that is gone."""
        if known.table is not None:
            return self._update(cursor, table_id, known)
        begin = cursor.at
        try:
            return self._update(cursor, table_id, known)
        except UnknownColumnError:
            # A column that came after its layout was learned.
            cursor.at = begin
            self._pass_over(cursor, is_last=is_last)
            return None

    def _update(self, cursor: Cursor, table_id: bytes, known: _Known) -> PartitionUpdate | None:
        table, layout = known
        key = cursor.vbytes()
        flags = cursor.u8()
        if flags & _IS_EMPTY:
            return None if table is None else PartitionUpdate(table, key, None, None, ())
        stats = _Stats(
            signed(cursor.vint() + _EPOCH_US, 64), self._local(cursor.vint() + _EPOCH_S), signed(cursor.vint(), 32)
        )
        static_columns = _columns(cursor, layout) if flags & _HAS_STATIC else []
        columns = self._columns(cursor, table_id, layout)
        deletion = self._deletion(cursor, stats) if flags & _PARTITION_DELETED else None
        static = self._static(cursor, static_columns, stats) if flags & _HAS_STATIC else None
        if flags & _HAS_ESTIMATE:
            cursor.vint()
        rows = self._rows(cursor, layout.clustering, columns, stats)
        return None if table is None else PartitionUpdate(table, key, deletion, static, rows)

    def _columns(self, cursor: Cursor, table_id: bytes, layout: Layout) -> list[_Column]:
        header = self._headers.get(table_id)
        if header is not None and cursor.data.startswith(header.data, cursor.at):
            cursor.at += len(header.data)
            return header.columns
        begin = cursor.at
        columns = _columns(cursor, layout)
        self._headers[table_id] = _Header(cursor.data[begin : cursor.at], columns)
        return columns

    def _rows(self, cursor: Cursor, sizes: Sizes, columns: list[_Column], stats: _Stats) -> list[Row | Marker]:
        rows: list[Row | Marker] = []
        while True:
            flags = cursor.u8()
            if flags & _END:
                return rows
            if flags & _MARKER:
                rows.append(self._marker(cursor, sizes, stats))
                continue
            if flags & _EXTENDED:
                cursor.u8()
            clustering = _clustering(cursor, sizes)
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

    def _marker(self, cursor: Cursor, sizes: Sizes, stats: _Stats) -> Marker:
        bound = Bound(cursor.u8())
        prefix = _clustering(cursor, sizes[: cursor.u16()])
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
    """Read the first cells of a row that an INSERT without TTL wrote, and stop at the first cell of another kind.

    Nearly all cells are such. They are read here without a call for each of their parts.
    """
    data, at = cursor.data, cursor.at
    least = len(data) - 2
    for name, size, multicell in columns:
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


def _columns(cursor: Cursor, layout: Layout) -> list[_Column]:
    columns = []
    for _ in range(cursor.vint()):
        name = cursor.vbytes().decode()
        column = layout.columns.get(name)
        if column is None:
            raise UnknownColumnError(f"Table {layout.title} has no such column.", field=name)
        columns.append(_Column(name, *column))
    return columns


def _subset(cursor: Cursor, columns: list[_Column]) -> list[_Column]:
    """Return the columns that a row has (Columns.Serializer.deserializeSubset)."""
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


def _clustering(cursor: Cursor, sizes: Sizes) -> Clustering:
    """Return values of clustering columns of these sizes (ClusteringPrefix.Serializer.deserializeValuesWithoutSize)."""
    values: list[bytes | None] = []
    header = 0
    for i, fixed in enumerate(sizes):
        if i % 32 == 0:
            header = cursor.vint()
        place = 2 * (i % 32)
        if header >> place & 1:
            values.append(b"")
        elif header >> (place + 1) & 1:
            values.append(None)
        else:
            values.append(cursor.vbytes() if fixed is None else cursor.take(fixed))
    return tuple(values)
