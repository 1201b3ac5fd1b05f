"""Events of MariaDB's and MySQL's binary log: their heads, tables and rows. Pure; no I/O.

Source: MariaDB's documentation, "Replication protocol"; integers are little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from connect.api.errors import ConnectError
from connectors.jdbc.log.binlog_values import meta_size

HEAD = 19
QUERY, ROTATE, XID, TABLE_MAP, HEARTBEAT, GTID, MYSQL_GTID, XA_PREPARE = 2, 4, 16, 19, 27, 162, 33, 38
_WITH_EXTRA = {30, 31, 32}
_REFUSED = {
    165: "log_bin_compress", 166: "log_bin_compress", 167: "log_bin_compress", 168: "log_bin_compress",
    169: "log_bin_compress", 170: "log_bin_compress", 171: "log_bin_compress", 40: "binlog_transaction_compression",
    39: "binlog_row_value_options",
}  # fmt: skip
_STANDALONE = 1


class Operation(IntEnum):
    """What was done to rows."""

    INSERT = 0
    UPDATE = 1
    DELETE = 2

    @property
    def images(self) -> int:
        """How many rows tell of one."""
        return 2 if self is Operation.UPDATE else 1


_OPERATIONS = {
    23: Operation.INSERT, 30: Operation.INSERT, 24: Operation.UPDATE, 31: Operation.UPDATE, 25: Operation.DELETE,
    32: Operation.DELETE,
}  # fmt: skip
ROWS = frozenset(_OPERATIONS)


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `end`: the place in the log file behind it, 0 for what the server makes up."""

    kind: int
    second: int
    server_id: int
    end: int
    body: bytes

    @classmethod
    def of(cls, packet: bytes) -> Event:
        """Of a packet behind its first byte. ConnectError: an event that a setting of the server must turn off."""
        second, kind, server_id, _, end, _ = struct.unpack_from("<IBIIIH", packet)
        if kind in _REFUSED:
            raise ConnectError(
                f"The binary log holds events that are not read here ({kind}).",
                fix=f"Turn {_REFUSED[kind]} off on the server.",
            )
        return cls(kind, second, server_id, end, packet[HEAD:])


@dataclass(frozen=True, slots=True)
class Gtid:
    """Begins a transaction. `stands_alone`: one statement without an end event (DDL). `domain` 0 and text on MySQL."""

    text: str
    domain: str
    stands_alone: bool


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table as the rows behind hold it."""

    number: int
    schema: str
    table: str
    kinds: bytes
    metas: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class RowsOfEvent:
    """The rows of an event, from `content` on. Those of an update come in pairs, before and after."""

    operation: Operation
    content: bytes


def rotated(event: Event) -> tuple[str, int]:
    """The file that goes on, and where in it."""
    return event.body[8:].decode(), struct.unpack_from("<Q", event.body)[0]


def gtid(event: Event) -> Gtid:
    """The transaction's global identifier."""
    if event.kind == GTID:
        number, domain, flags = struct.unpack_from("<QIB", event.body)
        return Gtid(f"{domain}-{event.server_id}-{number}", str(domain), bool(flags & _STANDALONE))
    source = event.body[1:17].hex()
    number = struct.unpack_from("<Q", event.body, 17)[0]
    parts = (source[:8], source[8:12], source[12:16], source[16:20], source[20:])
    return Gtid(f"{'-'.join(parts)}:{number}", "-".join(parts), False)


def query(event: Event) -> str:
    """The statement's text."""
    schema, _, status = struct.unpack_from("<BHH", event.body, 8)
    return event.body[13 + status + schema + 1 :].decode("utf-8", "replace")


def query_schema(event: Event) -> str:
    """The database that the statement was run in."""
    size, _, status = struct.unpack_from("<BHH", event.body, 8)
    return event.body[13 + status : 13 + status + size].decode("utf-8", "replace")


def table_map(event: Event) -> TableMap:
    """Which table the rows behind are of."""
    body = event.body
    number = int.from_bytes(body[:6], "little")
    at = 8
    size = body[at]
    schema, at = body[at + 1 : at + 1 + size].decode(), at + size + 2
    size = body[at]
    table, at = body[at + 1 : at + 1 + size].decode(), at + size + 2
    count, at = _length(body, at)
    kinds, at = body[at : at + count], at + count
    _, at = _length(body, at)
    metas = []
    for kind in kinds:
        size = meta_size(kind)
        metas.append(body[at : at + size])
        at += size
    return TableMap(number, schema, table, kinds, tuple(metas))


def rows(event: Event) -> RowsOfEvent:
    """The rows of an event. ConnectError: the server leaves columns out (binlog_row_image)."""
    body = event.body
    at = 8
    if event.kind in _WITH_EXTRA:
        at += struct.unpack_from("<H", body, at)[0]
    count, at = _length(body, at)
    size = (count + 7) // 8
    operation = _OPERATIONS[event.kind]
    whole = (1 << count) - 1
    for _ in range(operation.images):
        if int.from_bytes(body[at : at + size], "little") & whole != whole:
            raise ConnectError("The binary log leaves columns out.", fix="Set binlog_row_image=FULL on the server.")
        at += size
    return RowsOfEvent(operation, body[at:])


def table_number(event: Event) -> int:
    """Which table map the rows are of."""
    return int.from_bytes(event.body[:6], "little")


def _length(body: bytes, at: int) -> tuple[int, int]:
    first = body[at]
    if first < 0xFB:
        return first, at + 1
    size = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(body[at + 1 : at + 1 + size], "little"), at + 1 + size
