"""Reads the binary log of MariaDB or MySQL over one connection. Owned by the reading thread.

Source: MariaDB's documentation, "Replication protocol": COM_BINLOG_DUMP. A packet is a head of four bytes and its
content.
"""

# ruff: noqa: SLF001 - PyMySQL shows its socket nowhere else; its version is pinned

from __future__ import annotations

import random
import select
import struct
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.dialects.mysql.tls import connect
from connectors.jdbc.log.binlog.gtid_set import GtidSet, gtid_parts
from connectors.jdbc.log.binlog.inflated import LARGEST_BYTES
from connectors.jdbc.log.binlog.packets import TRANSACTION, Event, unpacked
from connectors.jdbc.log.binlog.position import BinlogPosition

_LONGEST = 0xFFFFFF
_READ_BYTES = 1 << 18
_COM_BINLOG_DUMP, _COM_BINLOG_DUMP_GTID = 0x12, 0x1E
_THROUGH_GTID = 4
_KIND_AT, _FORMAT = 5, 15
_HEARTBEAT_S = 5
_LOST_PLACE = 1236
_LOST_FIX = (
    "The server has removed this part of its log (expire_logs_days, binlog_expire_logs_seconds). Reset the connector's "
    "offsets, so that the tables are read anew, or set snapshot.mode=when_needed."
)

_OTHER_FIX = (
    "Name the server that the connector read before, or a replica of it. Else reset the connector's offsets, so that "
    "the tables are read anew, or set snapshot.mode=when_needed."
)


class PositionLostError(ConnectError):
    """Says that the server no longer has the log from the connector's place on."""


class BinlogStream:
    """Reads the events of a log from a place on."""

    def __init__(self, arguments: Mapping[str, Any], errors: ErrorTranslator, stopping: threading.Event) -> None:
        """Connect later, with PyMySQL's `arguments`; `stopping` ends every wait."""
        self._arguments = arguments
        self._errors = errors
        self._stopping = stopping
        self._connection: Any = None
        self._buffer = bytearray()
        self._at = 0
        self._dropped = 0
        self._checksums = False
        self._transaction: Iterator[Event] = iter(())

    def start(self, position: BinlogPosition, *, mariadb: bool) -> None:
        """Ask for the log from a position on: by GTID if it has one, as the server may then be another one than
        before.
        """
        by_gtid = bool(position.gtids)
        with self._errors.translated("reading the binary log", "Grant the user REPLICATION SLAVE."):
            self._connection = connect(**self._arguments, autocommit=True)
            with self._connection.cursor() as cursor:
                cursor.execute("SET @master_binlog_checksum = @@global.binlog_checksum")
                cursor.execute("SELECT @@global.binlog_checksum")
                self._checksums = cursor.fetchone()[0] != "NONE"
                cursor.execute("SET @master_heartbeat_period = %s", (_HEARTBEAT_S * 1_000_000_000,))
                if mariadb:
                    cursor.execute("SET @mariadb_slave_capability = 4")
                elif by_gtid:
                    by_gtid = self._has_gtids(cursor)
                    if by_gtid:
                        self._check_servers(cursor, position.gtids)
                if mariadb and by_gtid:
                    state = ",".join(position.gtids[domain] for domain in sorted(position.gtids))
                    cursor.execute("SET @slave_connect_state = %s", (state,))
                    cursor.execute("SET @slave_gtid_strict_mode = 0")
                    cursor.execute("SET @slave_gtid_ignore_duplicates = 0")
            file, pos = ("", 4) if by_gtid else (position.file, position.pos)
            # The connection registers as a replica with a unique id, as the server ends an older one with the same id.
            server_id = random.randrange(1 << 30, 1 << 31)
            if by_gtid and not mariadb:
                body = _from_set(GtidSet(position.gtids), server_id)
            else:
                body = struct.pack("<BIHI", _COM_BINLOG_DUMP, pos, 0, server_id) + file.encode()
            self._connection._sock.sendall(struct.pack("<I", len(body)) + body)
        self._buffer, self._at, self._transaction = bytearray(), 0, iter(())

    @staticmethod
    def _has_gtids(cursor: Any) -> bool:
        # MySQL 5.5 has no gtid_mode, and selecting it would be an error.
        cursor.execute("SHOW GLOBAL VARIABLES LIKE 'gtid_mode'")
        found = cursor.fetchone()
        return found is not None and found[1] == "ON"

    @staticmethod
    def _check_servers(cursor: Any, gtids: Mapping[str, str]) -> None:
        """Raise PositionLostError if the server has none of the transactions before the place: it would send all it
        has.
        """
        cursor.execute("SELECT @@global.gtid_executed")
        if not gtid_parts(cursor.fetchone()[0]).keys() & gtids.keys():
            raise PositionLostError(
                f"The server has no transaction of {', '.join(gtids)}, whose log the offset is of.", fix=_OTHER_FIX
            )

    def next(self, wait_s: float) -> Event | None:
        """Return the next event; None if none came within `wait_s` seconds."""
        within = next(self._transaction, None)
        if within is not None:
            return within
        packet = self._packet(wait_s)
        if packet is None:
            return None
        if packet[0] == 0:
            event = self._event(packet)
            if event.kind != TRANSACTION:
                return event
            self._transaction = unpacked(event)
            return next(self._transaction)
        if packet[0] == 0xFF:
            self._fail(bytes(packet))
        raise RetriableError(self._errors.failed("reading the binary log", ConnectionError("the server ended it")))

    def _event(self, packet: bytes) -> Event:
        if packet[_KIND_AT] == _FORMAT:
            # This event ends with the kind of checksum that later events have, and with its own checksum.
            self._checksums = packet[-5] == 1
            return Event.of(packet[1:])
        return Event.of(packet[1:-4] if self._checksums else packet[1:])

    def _packet(self, wait_s: float) -> bytes | None:
        whole = b""
        at = self._at
        while True:
            while len(self._buffer) - at < 4 or len(self._buffer) - at - 4 < self._size(at):
                if not self._receive(wait_s):
                    return None
                at -= self._dropped
            size = self._size(at)
            whole += self._buffer[at + 4 : at + 4 + size]
            if len(whole) > LARGEST_BYTES + _LONGEST:
                raise ConnectError("The server sends an event of its binary log that has no end.")
            at += 4 + size
            if size < _LONGEST:
                self._at = at
                return whole

    def _size(self, at: int) -> int:
        return int.from_bytes(self._buffer[at : at + 3], "little")

    def _receive(self, wait_s: float) -> bool:
        self._dropped = 0
        if self._at > _READ_BYTES:
            del self._buffer[: self._at]
            self._dropped, self._at = self._at, 0
        socket = self._connection._sock
        pending = getattr(socket, "pending", lambda: 0)()
        if not pending and not select.select([socket], [], [], wait_s)[0]:
            return False
        try:
            data = socket.recv(_READ_BYTES)
        except OSError as error:
            raise RetriableError(self._errors.failed("reading the binary log", error)) from None
        if not data:
            raise RetriableError(self._errors.failed("reading the binary log", ConnectionError("connection lost")))
        self._buffer += data
        return True

    def _fail(self, packet: bytes) -> None:
        from pymysql.err import raise_mysql_exception

        (code,) = struct.unpack_from("<H", packet, 1)
        if code == _LOST_PLACE:
            text = packet[9:].decode("utf-8", "replace")
            raise PositionLostError(f"The binary log cannot be read: {text}.", fix=_LOST_FIX)
        with self._errors.translated("reading the binary log", "Grant the user REPLICATION SLAVE."):
            raise_mysql_exception(packet)

    def close(self) -> None:
        """Close the stream. A connection that is already gone does not matter."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection._force_close()


def _from_set(gtids: GtidSet, server_id: int) -> bytes:
    """Return the command that asks MySQL for all transactions that a set lacks, from the server's first log on."""
    executed = gtids.encoded()
    head = struct.pack("<BHIIQI", _COM_BINLOG_DUMP_GTID, _THROUGH_GTID, server_id, 0, 4, len(executed))
    return head + executed
