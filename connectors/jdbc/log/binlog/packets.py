"""Reads events of MariaDB's and MySQL's binary log: their heads, tables and rows. Pure; no I/O.

Source: MariaDB's documentation, "Replication protocol"; integers are little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

from connect.api.errors import ConnectError
from connectors.jdbc.log.binlog.inflated import LARGEST_BYTES, inflated
from connectors.jdbc.log.binlog.metadata import ColumnMetadata, number_at, read_metadata
from connectors.jdbc.log.binlog.values import meta_size

HEAD = 19
QUERY, ROTATE, XID, TABLE_MAP, GTID, MYSQL_GTID, XA_PREPARE = 2, 4, 16, 19, 162, 33, 38
ANONYMOUS, PREVIOUS_GTIDS, TAGGED = 34, 35, 42
"""These kinds of events begin a transaction without a GTID, list the GTIDs of all earlier files, or begin a
transaction whose GTID has a tag.
"""
TRANSACTION = 40
"""This kind of event holds a whole transaction, compressed (MySQL 8.0.20)."""
_QUERY_COMPRESSED = 165
QUERIES = frozenset({QUERY, _QUERY_COMPRESSED})
_WITH_EXTRA = {30, 31, 32, 169, 170, 171}
_ROWS_COMPRESSED = frozenset(range(166, 172))
_REFUSED = {39: "binlog_row_value_options=PARTIAL_JSON"}
_PAYLOAD_END, _PAYLOAD_FORM, _PAYLOAD_BYTES = 0, 2, 3
_ZSTD, _PLAIN = 0, 255
_STANDALONE = 1
_TABLE_NAME = 8
"""A table map has the names of database and table from here on."""
INCIDENT = 26
"""By this kind of event the server says that it has lost events."""
HISTORY: tuple[str, str] = ("row_start", "row_end")
"""MariaDB gives these columns to a table WITH SYSTEM VERSIONING that declares none: they are the last ones in the log,
and no catalog lists them.
"""
_HISTORY_KINDS, _HISTORY_METAS = bytes((17, 17)), (b"\x06", b"\x06")
_COMMITTED_AT, _COMMITTED_BYTES, _ELSEWHERE = 42, 7, 1 << 55
"""These say where MySQL's GTID event has its commit time. If its highest bit is set, another server's time follows."""


_STATUS_SQL_MODE, _STATUS_CHARSET = 1, 4
_STATUS_SIZES = {0: 4, _STATUS_SQL_MODE: 8, 3: 4, _STATUS_CHARSET: 6, 5: 0, 6: 0}
"""Holds the sizes of a statement's status variables up to the last one that is needed; 0: its first byte tells it."""
_ANSI_QUOTES, _NO_BACKSLASH_ESCAPES = 1 << 2, 1 << 20


class Operation(IntEnum):
    """What was done to rows."""

    INSERT = 0
    UPDATE = 1
    DELETE = 2

    @property
    def images(self) -> int:
        """Return how many row images tell of one changed row."""
        return 2 if self is Operation.UPDATE else 1


_OPERATIONS = {
    kind: operation
    for operation, kinds in (
        (Operation.INSERT, (23, 30, 166, 169)),
        (Operation.UPDATE, (24, 31, 167, 170)),
        (Operation.DELETE, (25, 32, 168, 171)),
    )
    for kind in kinds
}
ROWS = frozenset(_OPERATIONS)
CHANGES = ROWS | QUERIES | {XID, XA_PREPARE}
"""These kinds of events are changes, or end the transaction that made them."""


@dataclass(frozen=True, slots=True)
class Event:
    """Holds one event. `end` is the position in the log file behind it, and 0 if the server made it up.

    `size` is the number of its bytes in the file.
    """

    kind: int
    second: int
    server_id: int
    end: int
    body: bytes
    size: int = 0

    @property
    def start(self) -> int:
        """Return the position in the log file at which it begins."""
        return self.end - self.size

    @classmethod
    def of(cls, packet: bytes) -> Event:
        """Read the event of a packet without its first byte. Raise ConnectError if it is of a kind that is not read.

        The error names the server's setting that turns such events off.
        """
        second, kind, server_id, size, end, _ = struct.unpack_from("<IBIIIH", packet)
        if kind in _REFUSED:
            raise ConnectError(
                f"The binary log holds events that are not read here ({kind}).",
                fix=f"Turn {_REFUSED[kind]} off on the server.",
            )
        return cls(kind, second, server_id, end, packet[HEAD:], size)


@dataclass(frozen=True, slots=True)
class Gtid:
    """Holds the identifier of a transaction. `domain` is MariaDB's, or the server's UUID on MySQL.

    `stands_alone`: the transaction is one statement without an end event (DDL).
    """

    text: str
    domain: str
    number: int
    stands_alone: bool


class QuerySession(NamedTuple):
    """Says how a statement's text is read: by sql_mode, and by a collation's number for its client's character set."""

    quotes_names: bool
    escapes: bool
    collation: int


@dataclass(frozen=True, slots=True)
class TableMap:
    """Describes a table for the rows that follow in the log. `number` is the log's own number for it.

    `told` has the columns' names and more, with binlog_row_metadata=FULL. `nullable` has an entry for each column;
    `unsigned` are the indices of columns without a sign, with MINIMAL.
    """

    number: int
    schema: str
    table: str
    kinds: bytes
    metas: tuple[bytes, ...]
    told: ColumnMetadata | None = None
    nullable: tuple[bool, ...] = ()
    unsigned: frozenset[int] | None = None

    def has_columns_of(self, other: TableMap) -> bool:
        """Tell if both maps have the same columns, of the same types."""
        return self._columns == other._columns

    @property
    def ends_with_history(self) -> bool:
        """Return True if the last two columns are as those by which MariaDB keeps the history of a table's rows."""
        return self.kinds[-2:] == _HISTORY_KINDS and self.metas[-2:] == _HISTORY_METAS and not any(self.nullable[-2:])

    def without_history(self) -> TableMap:
        """Return the description without the last two columns, by which MariaDB keeps the history of rows."""
        told, kept = self.told, len(self.kinds) - 2
        if told is not None:
            key = tuple(number for number in told.key if number < kept)
            told = replace(told, names=told.names[:kept], key=key, kinds=told.kinds[:kept])
        return replace(self, kinds=self.kinds[:kept], metas=self.metas[:kept], nullable=self.nullable[:kept], told=told)

    @property
    def _columns(self) -> tuple[object, ...]:
        return self.kinds, self.metas, self.told, self.nullable


@dataclass(frozen=True, slots=True)
class RowsOfEvent:
    """Holds the bytes of an event's rows. Those of an update come in pairs: the row before and the row after."""

    operation: Operation
    content: bytes


def rotated(event: Event) -> tuple[str, int]:
    """Return the name of the next log file, and the position in it."""
    return event.body[8:].decode(), struct.unpack_from("<Q", event.body)[0]


def incident(event: Event) -> str:
    """Return what the server says of events that it has lost, or an empty text."""
    return event.body[3 : 3 + event.body[2]].decode("utf-8", "replace") if len(event.body) > 2 else ""


def gtid(event: Event) -> Gtid:
    """Return the transaction's global identifier."""
    if event.kind == GTID:
        number, domain, flags = struct.unpack_from("<QIB", event.body)
        return Gtid(f"{domain}-{event.server_id}-{number}", str(domain), number, bool(flags & _STANDALONE))
    source = event.body[1:17].hex()
    number = struct.unpack_from("<Q", event.body, 17)[0]
    parts = (source[:8], source[8:12], source[12:16], source[16:20], source[20:])
    return Gtid(f"{'-'.join(parts)}:{number}", "-".join(parts), number, False)


def committed_us(event: Event) -> int | None:
    """Return when a transaction of MySQL was first committed, in epoch microseconds; None: the event does not tell."""
    if event.kind != MYSQL_GTID or len(event.body) < _COMMITTED_AT + _COMMITTED_BYTES:
        return None
    immediate = int.from_bytes(event.body[_COMMITTED_AT : _COMMITTED_AT + _COMMITTED_BYTES], "little")
    if not immediate & _ELSEWHERE:
        return immediate
    return int.from_bytes(event.body[_COMMITTED_AT + _COMMITTED_BYTES :][:_COMMITTED_BYTES], "little")


def thread_of(event: Event) -> int:
    """Return the server's number of the session in which a statement was run."""
    return int(struct.unpack_from("<I", event.body)[0])


def query(event: Event) -> str:
    """Return the text of an event's statement, read as UTF-8."""
    return query_bytes(event).decode("utf-8", "replace")


def query_bytes(event: Event) -> bytes:
    """Return the statement of an event, in the character set of its client."""
    schema, _, status = struct.unpack_from("<BHH", event.body, 8)
    text = event.body[13 + status + schema + 1 :]
    return inflated(text) if event.kind == _QUERY_COMPRESSED else text


def query_schema(event: Event) -> str:
    """Return the database that the statement was run in."""
    size, _, status = struct.unpack_from("<BHH", event.body, 8)
    return event.body[13 + status : 13 + status + size].decode("utf-8", "replace")


def query_session(event: Event) -> QuerySession:
    """Return the settings with which a statement was run.

    Source: MySQL's source documentation of Query_event ("status variables"); MariaDB writes the same ones.
    """
    status = struct.unpack_from("<BHH", event.body, 8)[2]
    at, end, mode, collation = 13, 13 + status, 0, 0
    while at < end and event.body[at] in _STATUS_SIZES:
        name, at = event.body[at], at + 1
        if name == _STATUS_SQL_MODE:
            mode = struct.unpack_from("<Q", event.body, at)[0]
        if name == _STATUS_CHARSET:
            collation = struct.unpack_from("<H", event.body, at)[0]
        at += _STATUS_SIZES[name] or event.body[at] + 1
    return QuerySession(bool(mode & _ANSI_QUOTES), not mode & _NO_BACKSLASH_ESCAPES, collation)


def table_name(event: Event) -> tuple[str, str]:
    """Return the database and the name of the table to which the rows that follow belong."""
    schema, at = _text_at(event.body, _TABLE_NAME)
    return schema, _text_at(event.body, at)[0]


def _text_at(body: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + body[at]
    return body[at + 1 : end].decode(), end + 1


def table_map(event: Event) -> TableMap:
    """Read the description of the table to which the rows that follow belong."""
    body = event.body
    number = int.from_bytes(body[:6], "little")
    schema, at = _text_at(body, _TABLE_NAME)
    table, at = _text_at(body, at)
    count, at = number_at(body, at)
    kinds, at = body[at : at + count], at + count
    _, at = number_at(body, at)
    metas = []
    for kind in kinds:
        size = meta_size(kind)
        metas.append(body[at : at + size])
        at += size
    found = read_metadata(body[at:], kinds, metas)
    return TableMap(number, schema, table, kinds, tuple(metas), found.told, found.nullable, found.unsigned)


def rows(event: Event) -> RowsOfEvent:
    """Return the rows of an event. Raise ConnectError when the server leaves columns out (binlog_row_image)."""
    body = event.body
    at = 8
    if event.kind in _WITH_EXTRA:
        at += struct.unpack_from("<H", body, at)[0]
    count, at = number_at(body, at)
    size = (count + 7) // 8
    operation = _OPERATIONS[event.kind]
    whole = (1 << count) - 1
    for _ in range(operation.images):
        if int.from_bytes(body[at : at + size], "little") & whole != whole:
            raise ConnectError("The binary log leaves columns out.", fix="Set binlog_row_image=FULL on the server.")
        at += size
    content = body[at:]
    return RowsOfEvent(operation, inflated(content) if event.kind in _ROWS_COMPRESSED else content)


def unpacked(event: Event) -> Iterator[Event]:
    """Yield the events of a compressed transaction, one by one.

    Raise ConnectError when it is compressed in a way that is not known.
    """
    form, size, at = _PLAIN, 0, 0
    while (field := number_at(event.body, at))[0] != _PAYLOAD_END:
        length, start = number_at(event.body, field[1])
        value = number_at(event.body, start)[0]
        form = value if field[0] == _PAYLOAD_FORM else form
        size = value if field[0] == _PAYLOAD_BYTES else size
        at = start + length
    payload = pa.BufferReader(event.body[field[1] :])
    if form not in {_ZSTD, _PLAIN}:
        raise ConnectError(
            f"The binary log holds a transaction that is compressed in a way not known here ({form}).",
            fix="Turn binlog_transaction_compression off on the server.",
        )
    # As a stream: a transaction may be larger than memory ought to be.
    with payload if form == _PLAIN else pa.CompressedInputStream(payload, "zstd") as stream:
        while head := stream.read(HEAD):
            second, kind, server_id, length = struct.unpack_from("<IBII", head)
            if not HEAD <= length <= LARGEST_BYTES:
                raise ConnectError(f"The binary log holds an event of {length} bytes, which no server writes.")
            # The place behind any of them is the place behind all.
            yield Event(kind, second, server_id, event.end, stream.read(length - HEAD))


def table_number(event: Event) -> int:
    """Return the number of the table (`TableMap.number`) to which an event's rows belong."""
    return int.from_bytes(event.body[:6], "little")
